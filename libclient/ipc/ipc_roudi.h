/* SPDX-License-Identifier: Apache-2.0 */
/* RouDi from outside: private to ipc*.c. All return 0 or a negative errno with a sentence in why. plane: plane.h. */
#ifndef IPC_ROUDI_H
#define IPC_ROUDI_H

#include "ipc_ops.h"

#define IPC_ATTACHMENTS_MAX 16 /* runtime names of one application: <app>.1 to <app>.16 */

/* Checks that it runs, is reachable, and its group includes this process: -ENOENT, -ECONNREFUSED, -EACCES. */
int roudi_check(const char *plane, struct ipc_text *why);
/* -EEXIST: a process holds a runtime name of app. own: bit n set: attachment n belongs to this process. */
int roudi_check_name(const char *plane, const char *app, unsigned int own, struct ipc_text *why);
/* Checks that its message loop runs. name: a runtime name known to RouDi, NULL: only whether the socket is served. */
int roudi_probe(const char *plane, const char *name, uint32_t timeout_ms, struct ipc_text *why);
/* Frees the ports and slots of a dead application. Done when it returns. */
int roudi_free_app(const char *plane, const char *app, struct ipc_text *why);

/* The pid of the RouDi that holds the plane's lock; 0: none, or not visible from here. */
pid_t roudi_pid(const char *plane);

/* As ipc_peers(). */
int roudi_peers(const char *plane, struct ipc_peer *ret, unsigned int max);

/*
 * Removes sockets and locks that killed programs of this user left in /tmp: /tmp is sticky, so simd, which runs as
 * another user, cannot remove them. simd removes those of its own user. Only for the plain names: a plane is simd's
 * directory.
 */
void roudi_sweep_own(void);

#endif
