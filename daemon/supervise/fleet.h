/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of the rigs: bridges with "start": "simd", and everything under "processes". Bridges start
 * first and stop last, so that what sources still publish is delivered. Besides, the process that drives a time
 * source in a foreign protocol ("ss2"), while that source is active.
 *
 * Thread: simd-main.
 */
#ifndef SUPERVISE_FLEET_H
#define SUPERVISE_FLEET_H

#include "conf.h"
#include "supervise/spawn.h"
#include "supervise/state.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct exec;
struct fleet;

struct fleet_options {
	struct exec *x;
	const struct conf *conf;
	const struct spawn_ops *ops;
	void *user;                 /* of the ops */
	const char *bin_dir;        /* where bare names are looked for first; NULL: only PATH. Copied */
	const char *socket;         /* simd's control socket, told in SIMD_SOCKET. Copied */
	void (*started)(void *arg); /* one of them has been started; may be NULL */
	void *arg;
};

int fleet_create(const struct fleet_options *o, struct fleet **ret);
/* Kills what still runs. NULL is fine. */
void fleet_destroy(struct fleet *f);
void fleet_start(struct fleet *f);
/* That time source is active: the process that drives it runs, those of others do not. */
void fleet_source(struct fleet *f, const char *name);

enum fleet_part { FLEET_PROCESSES, FLEET_BRIDGES };
/* Stop one part, in the reverse order of its start; done runs once all of it has ended, perhaps before this returns. */
void fleet_stop(struct fleet *f, enum fleet_part part, void (*done)(void *arg), void *arg);

/* Those that run, at most max of them; how many were written. */
unsigned fleet_children(const struct fleet *f, struct state_proc *ret, unsigned max);

/* For core's ops. */
/* now, or after process.stop_ms when it has not ended by then. False: not ours. */
bool fleet_bridge_kill(struct fleet *f, const char *name, const char *why, bool now);
int fleet_bridge_restart(struct fleet *f, const char *name);
uint32_t fleet_bridge_restarts(const struct fleet *f, const char *name);
/* Why it was given up; NULL: it was not. */
const char *fleet_bridge_permanent(const struct fleet *f, const char *name);
/* Of the processes: a new JSON array of {"name","why"}. */
json_t *fleet_given_up(const struct fleet *f);
/* Rig of the process with that pid (or whose child it is); NULL: none of ours. */
const char *fleet_rig_of(const struct fleet *f, pid_t pid);

#endif
