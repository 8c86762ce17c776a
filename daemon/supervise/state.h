/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a simd that was killed leaves to the next one: RouDi, the generation, the applications whose
 * ports have to be freed, and the processes that it had started. A JSON file in the runtime directory, replaced whole.
 *
 * Processes are named by pid and start time, so that a number that was used again is not mistaken.
 * Thread: simd-main.
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
	pid_t pid;     /* 0: none */
	int64_t start; /* ticks since boot, as in /proc/<pid>/stat */
};

struct state_app {
	char app[STATE_APP_MAX];
	bool bridge; /* it may hold slots that simd took for it */
	bool client; /* it was here when simd was killed: not one that had left, or that had not come back */
	struct state_proc proc;
};

struct state {
	char simd_app[STATE_APP_MAX]; /* simd's own name in the data plane; "" none */
	struct state_proc simd;
	uint32_t generation;
	struct state_proc roudi;
	bool roudi_owned;
	uint64_t roudi_hash; /* of its configuration */
	struct state_app apps[STATE_APPS_MAX];
	unsigned n_apps;
	struct state_proc children[STATE_CHILDREN_MAX]; /* bridges and processes of the rigs that simd started */
	unsigned n_children;
};

/* 0; -ENOENT there is none; -EINVAL it cannot be read, with a sentence. */
int state_load(const char *path, struct state *ret);
int state_save(const char *path, const struct state *s);

/* Start time of a living process; negative: there is none. */
int64_t state_proc_start(pid_t pid);
/* Whether a thread of it stands still: stopped, traced, or frozen with its cgroup. A process whose threads cannot be read counts as stopped. */
bool state_proc_stopped(pid_t pid);
/* Whether the kernel is taking it down: it may still hold locks and sockets, but does nothing any more. */
bool state_proc_ending(pid_t pid);
struct state_proc state_proc_of(pid_t pid);
bool state_proc_alive(const struct state_proc *p);
/* Its pidfd; -ESRCH when it does not run any more, others of pidfd_open(). */
int state_proc_open(const struct state_proc *p);
/* Negative: unknown. */
pid_t state_proc_parent(pid_t pid);
/* Its effective user; false: there is no such process. The owner of its folder in /proc it can choose (PR_SET_DUMPABLE). */
bool state_proc_user(pid_t pid, uid_t *ret);

#endif
