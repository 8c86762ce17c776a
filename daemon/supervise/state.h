/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a killed simd leaves to the next one: RouDi, the generation, the applications whose ports must be freed, and the
 * processes that it had started. A JSON file in the runtime directory, replaced atomically.
 *
 * Processes are identified by pid and start time, so that a reused pid is not mistaken for the old process. Thread:
 * simd-main.
 */
#ifndef SUPERVISE_STATE_H
#define SUPERVISE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STATE_APPS_MAX     320
#define STATE_APP_MAX      112
#define STATE_CHILDREN_MAX 320

struct state_proc {
	pid_t pid;     /* 0: no process */
	int64_t start; /* ticks since boot, as in /proc/<pid>/stat */
};

struct state_app {
	char app[STATE_APP_MAX];
	bool bridge; /* it may hold slots that simd took for it */
	/* it had a session when the state was saved */
	bool client;
	struct state_proc proc;
};

struct state {
	char simd_app[STATE_APP_MAX]; /* simd's own name in the data plane; "": none */
	struct state_proc simd;
	uint32_t generation;
	struct state_proc roudi;
	bool roudi_owned;
	uint64_t roudi_hash; /* of RouDi's configuration and WIRE_ABI */
	struct state_app apps[STATE_APPS_MAX];
	unsigned n_apps;
	struct state_proc children[STATE_CHILDREN_MAX]; /* bridges and processes of the rigs that simd started */
	unsigned n_children;
};

/* Returns 0. -ENOENT: no such file; -EINVAL: invalid; -EPERM: other users may write to it; with err_why() set. */
int state_load(const char *path, struct state *ret);
int state_save(const char *path, const struct state *s);

/* Start time of a living process; negative: no such process. */
int64_t state_proc_start(pid_t pid);
/*
 * Whether a thread of the process is stopped or traced, or the process is frozen with its cgroup. If its threads cannot
 * be read, it counts as stopped.
 */
bool state_proc_stopped(pid_t pid);
/*
 * Whether the kernel is ending the process: it may still hold locks and sockets, but runs no more code. Also true if
 * there is no such process.
 */
bool state_proc_ending(pid_t pid);
struct state_proc state_proc_of(pid_t pid);
bool state_proc_alive(const struct state_proc *p);
/* Opens a pidfd of it. -ESRCH: it does not run any more; other errors of pidfd_open(). */
int state_proc_open(const struct state_proc *p);
/* Its parent's pid; negative: unknown. */
pid_t state_proc_parent(pid_t pid);
/*
 * Its effective user; false: no such process. (The owner of its directory in /proc is not reliable: the process can
 * change it with PR_SET_DUMPABLE.)
 */
bool state_proc_user(pid_t pid, uid_t *ret);

#endif
