/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: what a process has in simd between Hello and the close of its control socket, or its exit, if a child that
 * it forked keeps the socket open. Then its publishers, subscribers, tokens, credits and driver lease are freed at
 * once; its ports in RouDi once the process has exited (reaper.h).
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_SESSION_H
#define REGISTRY_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct client;
struct simd;

struct session_hello {
	const char *name, *role;
	pid_t pid;
	uid_t uid;
	int sock; /* borrowed until return */
	int64_t connected_mono_ns;
};

/*
 * Descriptors of a new session, in the order in which Hello lists them; of the doorbell, in Advertise. The caller
 * closes them.
 */
struct session_fds {
	int v[5];
	const char *name[5];
	unsigned n;
};

/* -EINVAL: name or role; -EMFILE: too many clients; -ESRCH: the process has exited. ret: freed by session_end(). */
int session_create(struct simd *s, const struct session_hello *h, struct client **ret, struct session_fds *ret_fds);
/* The control socket has closed (or simd stops). Frees the client. */
void session_end(struct client *cl);
int session_attached(struct client *cl, uint32_t generation, const char *runtime_name);

/* Whether every client has moved to the present generation of the data plane. */
bool session_all_attached(const struct simd *s);

#endif
