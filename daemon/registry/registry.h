/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry as a whole: struct simd made, drained, ended. Here dispatch and time meet: they are handed what they need,
 * and what implements them sees neither the registry nor each other.
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
	struct exec *x;                 /* keeps; simd-main */
	struct exec *dx;                /* keeps; dispatch; may be the same */
	const struct conf *conf;        /* keeps */
	const struct pools *pools;      /* copied */
	const char *runtime_dir;        /* copied; for GetInfo */
	const char *plane;              /* borrows; of the data plane, plane.h; for Hello */
	const char *const *plugin_dirs; /* where time sources are looked for, NULL ends; borrows; NULL: nowhere */
	uint64_t id;                    /* random, of this run of simd */
	const struct simd_ops *ops;     /* keeps; may be NULL */
	void *user;                     /* of the ops */
};

int registry_create(const struct registry_options *o, struct simd **ret);
/* Sessions are closed, pages unmapped. The execs must not run any more. NULL is fine. */
void registry_destroy(struct simd *s);

/* Complete what was accepted; now: with false. fn runs when that is done, perhaps before this returns. */
void registry_drain(struct simd *s, bool now, void (*fn)(void *arg), void *arg);
/* simd stops: clients are notified, requests of services are answered, no session is admitted. */
void registry_close(struct simd *s);
/* End all sessions; no new ones are admitted. Their descriptors stay with their connections. */
void registry_close_sessions(struct simd *s);

#endif
