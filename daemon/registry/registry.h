/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry as a whole: makes, drains and ends struct simd. Here dispatch and time are connected: both get
 * callbacks, and know neither the registry nor each other.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_REGISTRY_H
#define REGISTRY_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

struct conf;
struct exec;
struct pools;
struct simd;
struct simd_ops;

struct registry_options {
	struct exec *x;                 /* borrowed; simd-main */
	struct exec *dx;                /* borrowed; of dispatch; may be the same as x */
	const struct conf *conf;        /* borrowed */
	const struct pools *pools;      /* copied */
	const char *runtime_dir;        /* copied; for GetInfo */
	const char *plane;              /* borrowed; directory of the data plane (plane.h), for Hello */
	const char *const *plugin_dirs; /* directories of time source plug-ins, ended by NULL; borrowed; NULL: none */
	uint64_t id;                    /* random number of this run of simd */
	const struct simd_ops *ops;     /* borrowed; may be NULL */
	void *user;                     /* of the ops */
};

int registry_create(const struct registry_options *o, struct simd **ret);
/* Closes the sessions and unmaps the pages. The execs must have stopped. NULL is fine. */
void registry_destroy(struct simd *s);

/* Completes all accepted messages; now: at once, with false. fn runs when that is done, perhaps before this returns. */
void registry_drain(struct simd *s, bool now, void (*fn)(void *arg), void *arg);
/* simd stops: notifies clients, answers service requests, refuses new sessions. */
void registry_close(struct simd *s);
/* Ends all sessions and refuses new ones. Their descriptors stay with their connections. */
void registry_close_sessions(struct simd *s);

#endif
