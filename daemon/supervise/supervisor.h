/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor ties the supervised things to struct simd: RouDi's generations, the processes of the rigs, the state
 * file, leftovers of an earlier simd, and the order in which all of it stops.
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
	const struct runtime *rt;  /* keeps */
	const char *bin_dir;       /* of simd's program; NULL: unknown. Copied */
	uint64_t id;               /* of this simd */
	const struct spawn_ops *ops;
	void *ops_user;
	/* The first generation is up, or unavailable (negative, err_why()). */
	void (*ready)(void *arg, int r);
	/* The stop begins: admit no new connection. */
	void (*closing)(void *arg);
	/*
	 * Everything that was to be stopped has stopped: end the loop. r: 0: it was asked to; negative: the data plane is lost for good.
	 * reexec: this process cannot attach again, execute it again.
	 */
	void (*stopped)(void *arg, int r, bool reexec);
	void *arg;
};

int supervisor_create(const struct supervisor_options *o, struct supervisor **ret);
/* Ends RouDi and what else is ours. Before registry_destroy(). NULL is fine. */
void supervisor_destroy(struct supervisor *k);
void supervisor_free(struct supervisor *k); /* after registry_destroy(): its ops are used until then */

/* For registry_create(): ops table and user. */
const struct simd_ops *supervisor_ops(void);

/* Find or start RouDi and attach; ready() follows unless this fails. Takes note of simd for later. */
int supervisor_start(struct supervisor *k, struct simd *s);
/* Start bridges and processes: the control socket listens. */
void supervisor_start_processes(struct supervisor *k);
/* Begin the orderly stop; more than once is fine. */
void supervisor_stop(struct supervisor *k);

#endif
