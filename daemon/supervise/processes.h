/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of the rigs: bridges with "start": "simd", and everything under "processes". Bridges start first and
 * stop last, so that what sources still publish is delivered. Also the process that drives a time source in a foreign
 * protocol ("ss2"), while that source is active.
 *
 * Thread: simd-main.
 */
#ifndef SUPERVISE_PROCESSES_H
#define SUPERVISE_PROCESSES_H

#include "conf.h"
#include "spawn_ops.h"
#include "state.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct exec;
struct processes;

struct processes_options {
	struct exec *x;
	const struct conf *conf;
	const struct spawn_ops *ops;
	void *user;                 /* of the ops */
	const char *bin_dir;        /* where bare names are looked for first; NULL: only PATH. Copied */
	const char *socket;         /* simd's control socket, passed in SIMD_SOCKET. Copied */
	void (*started)(void *arg); /* called when a process has been started; may be NULL */
	void *arg;
};

int processes_create(const struct processes_options *o, struct processes **ret);
/* Kills the processes that still run. NULL is fine. */
void processes_destroy(struct processes *f);
void processes_start(struct processes *f);
/* Time source `name` is active now: starts the process that drives it, and stops those that drive other sources. */
void processes_source(struct processes *f, const char *name);

enum processes_part { PART_PROCESSES, PART_BRIDGES };
/* Stops one part, in the reverse order of its start. done runs when all have exited, perhaps before this returns. */
void processes_stop(struct processes *f, enum processes_part part, void (*done)(void *arg), void *arg);

/* Writes the running processes, at most max, and returns how many were written. */
unsigned processes_children(const struct processes *f, struct state_proc *ret, unsigned max);

/* For the registry's ops. */
/* Kills the bridge: now, or if it has not exited after process.stop_ms. False: simd does not start that bridge. */
bool processes_bridge_kill(struct processes *f, const char *name, const char *why, bool now);
int processes_bridge_restart(struct processes *f, const char *name);
/*
 * Whether process pid may register as that bridge. 0: simd started that process for the bridge, or its parent (up to 3
 * levels), or simd does not start the bridge. Else -EPERM.
 */
int processes_bridge_may(const struct processes *f, const char *name, pid_t pid);
uint32_t processes_bridge_restarts(const struct processes *f, const char *name);
/* Why the bridge was given up; NULL: it was not. */
const char *processes_bridge_permanent(const struct processes *f, const char *name);
/* Restarts a process of a rig, also if it was given up or has exited. -ENOENT; -EOPNOTSUPP: it is stopped. */
int processes_restart(struct processes *f, const char *name);
/* The processes that were given up, as a new JSON array of {"name","why"}. */
json_t *processes_given_up(const struct processes *f);
/* The rig of the process with that pid (or of a near ancestor of it); NULL: simd did not start it. */
const char *processes_rig_of(const struct processes *f, pid_t pid);
/* Likewise the name in the configuration. */
const char *processes_name_of(const struct processes *f, pid_t pid);

#endif
