/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor connects RouDi's generations, the processes of the rigs, the state file and the leftovers of an
 * earlier simd with struct simd, and stops all of them in order.
 *
 *     stop: no new connections, clients notified -> processes -> dispatch empty -> bridges -> stopped()
 *
 * Thread: simd-main.
 */
#ifndef SUPERVISE_SUPERVISOR_H
#define SUPERVISE_SUPERVISOR_H

#include "simd.h"
#include "spawn_ops.h"

#include <stdbool.h>

struct supervisor;
struct runtime;

struct supervisor_options {
	struct exec *x;
	const struct conf *conf;
	const struct pools *pools; /* copied */
	const struct runtime *rt;  /* borrowed */
	const char *bin_dir;       /* directory of simd's program; NULL: unknown. Copied */
	uint64_t id;               /* of this simd */
	const struct spawn_ops *ops;
	void *ops_user;
	/* The first generation is up (0), or unavailable (negative, with err_why() set). */
	void (*ready)(void *arg, int r);
	/* The stop begins: accept no more connections. */
	void (*closing)(void *arg);
	/*
	 * Everything has stopped: the loop can end. r: 0: a stop was requested; negative: the data plane is lost for
	 * good. reexec: this process cannot attach again; it should execute itself again.
	 */
	void (*stopped)(void *arg, int r, bool reexec);
	void *arg;
};

int supervisor_create(const struct supervisor_options *o, struct supervisor **ret);
/* Ends RouDi if simd started it, and the processes. To be called before registry_destroy(). NULL is fine. */
void supervisor_destroy(struct supervisor *k);
void supervisor_free(struct supervisor *k); /* To be called after registry_destroy(), which still uses the ops. */

/* For registry_create(): ops table and user. */
const struct simd_ops *supervisor_ops(void);

/* Finds or starts RouDi and attaches to it; ready() follows unless this fails. Keeps s. */
int supervisor_start(struct supervisor *k, struct simd *s);
/* Starts bridges and processes; the control socket must listen already. */
void supervisor_start_processes(struct supervisor *k);
/* Begins the orderly stop; may be called more than once. */
void supervisor_stop(struct supervisor *k);

#endif
