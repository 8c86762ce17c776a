/* SPDX-License-Identifier: Apache-2.0 */
/* RouDi from outside: private to ipc*.c. All return 0 or a negative errno with a sentence in why. plane: plane.h. */
#ifndef IPC_ROUDI_H
#define IPC_ROUDI_H

#include "ipc_ops.h"

#define IPC_ATTACHMENTS_MAX 16 /* runtime names of one application: <app>.1 to <app>.16 */

/* There, reachable, and in our group: -ENOENT, -ECONNREFUSED, -EACCES. */
int roudi_check(const char *plane, struct ipc_text *why);
/* -EEXIST: a process holds a runtime name of app. own: bit n set: attachment n is of this process. */
int roudi_check_name(const char *plane, const char *app, unsigned int own, struct ipc_text *why);
/* Its message loop runs. name: a runtime name known to RouDi, NULL: only whether the socket is served. */
int roudi_probe(const char *plane, const char *name, uint32_t timeout_ms, struct ipc_text *why);
/* Ports and slots of a dead application go back. Done when it returns. */
int roudi_free_app(const char *plane, const char *app, struct ipc_text *why);

/* Whose it is, by its lock; 0: nobody's, or not seen from here. */
pid_t roudi_pid(const char *plane);

/* As ipc_peers(). */
int roudi_peers(const char *plane, struct ipc_peer *ret, unsigned int max);

/*
 * Sockets and locks that programs of this user left in /tmp when they were killed: /tmp is sticky, so simd, which is another
 * user, cannot remove them. Those of simd's own user are simd's affair. Only of the plain names: a plane is simd's directory.
 */
void roudi_sweep_own(void);

#endif
