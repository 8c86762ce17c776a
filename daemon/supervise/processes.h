/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of the rigs: bridges with "start": "simd", and everything under "processes". Bridges start
 * first and stop last, so that what sources still publish is delivered. Besides, the process that drives a time
 * source in a foreign protocol ("ss2"), while that source is active.
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
	void (*started)(void *arg); /* one of them has been started; may be NULL */
	void *arg;
};

int processes_create(const struct processes_options *o, struct processes **ret);
/* Kills what still runs. NULL is fine. */
void processes_destroy(struct processes *f);
void processes_start(struct processes *f);
/* That time source is active: the process that drives it runs, those of others do not. */
void processes_source(struct processes *f, const char *name);

enum processes_part { PART_PROCESSES, PART_BRIDGES };
/* Stop one part, in the reverse order of its start; done runs once all of it has exited, perhaps before this returns. */
void processes_stop(struct processes *f, enum processes_part part, void (*done)(void *arg), void *arg);

/* Those that run, at most max of them; how many were written. */
unsigned processes_children(const struct processes *f, struct state_proc *ret, unsigned max);

/* For the registry's ops. */
/* now, or after process.stop_ms when it has not exited by then. False: not ours. */
bool processes_bridge_kill(struct processes *f, const char *name, const char *why, bool now);
int processes_bridge_restart(struct processes *f, const char *name);
/* 0: that process is the one that was started for the bridge, or a child of it, or simd does not start the bridge. -EPERM. */
int processes_bridge_may(const struct processes *f, const char *name, pid_t pid);
uint32_t processes_bridge_restarts(const struct processes *f, const char *name);
/* Why it was given up; NULL: it was not. */
const char *processes_bridge_permanent(const struct processes *f, const char *name);
/* Start a process of a rig again, also one that was given up or has ended. -ENOENT; -EOPNOTSUPP it is not to run now. */
int processes_restart(struct processes *f, const char *name);
/* Of the processes: a new JSON array of {"name","why"}. */
json_t *processes_given_up(const struct processes *f);
/* Rig of the process with that pid (or whose child it is); NULL: none of ours. */
const char *processes_rig_of(const struct processes *f, pid_t pid);
/* Likewise its name in the configuration. */
const char *processes_name_of(const struct processes *f, pid_t pid);

#endif
