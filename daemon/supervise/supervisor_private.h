/* SPDX-License-Identifier: Apache-2.0 */
/* What supervisor.c and supervisor_state.c share. Thread: simd-main. */
#ifndef SUPERVISE_SUPERVISOR_PRIVATE_H
#define SUPERVISE_SUPERVISOR_PRIVATE_H

#include "exec.h"
#include "err.h"
#include "list.h"
#include "processes.h"
#include "helper.h"
#include "supervisor.h"
#include "roudi.h"
#include "runtime.h"
#include "state.h"

/* A process of an earlier simd's time that has not exited yet. */
struct wait {
	struct list link; /* supervisor::waits or orphans */
	struct supervisor *k;
	void (*exited)(struct wait *w); /* frees it */
	struct state_app app;           /* of an orphan: its process alone */
	struct exec_io io;
	int pidfd;
	bool old;  /* its ports went with an earlier RouDi: only files are left */
	bool idle; /* a bridge that has reported that it holds nothing of the old simd */
	bool back; /* it has been seen at this simd */
};

struct supervisor {
	struct supervisor_options o;
	struct exec *x;
	struct simd *s; /* from supervisor_start() on */
	char *bin_dir;
	char app[64], runtime_name[STATE_APP_MAX];
	struct helper *helper;
	struct processes *processes;
	struct roudi *roudi;
	struct state *left;  /* by an earlier simd; NULL: none */
	struct list waits;   /* applications: their ports are freed */
	struct list orphans; /* children: nothing is ready before they have exited */
	uint32_t lives;      /* of the data plane, at this simd */
	bool up, notified_ready, stopping, drained, reexec;
	int result; /* of stopped() */
	bool old_app_freed;
	struct exec_timer save_timer, broken_timer, drain_timer, sweep_timer, orphan_timer;
	char broken_why[ERR_WHY_MAX];
};

void supervisor_free_app(void *user, const char *app, bool old);
/* The same for one that was found by its lock: looked at once more before it is freed. */
void supervisor_free_swept(struct supervisor *k, const char *app, bool old);
void supervisor_on_sweep_timer(void *arg);
void supervisor_sweep(void *user);

int supervisor_load_state(struct supervisor *k);
void supervisor_save_state(struct supervisor *k);
void supervisor_on_save_timer(void *arg);
void supervisor_remove_state(struct supervisor *k);
/* Of a process: written at once, as a simd that is killed next must have written whom it leaves. */
void supervisor_child_started(void *arg);
/* A change that can wait a moment to be written. */
void supervisor_sessions_changed(void *user);

/* RouDi has been taken over: free what the dead of the earlier simd's time have left, and the earlier simd itself. */
void supervisor_adopt(struct supervisor *k);
void supervisor_bridge_idle(void *user, uint32_t id);
/* Each client of the earlier simd has come back or died. If all clients here have moved, too, no process reads the memory of its RouDi. */
bool supervisor_all_came_back(struct supervisor *k);
void supervisor_forget_waits(struct supervisor *k);
/* fd: its pidfd, taken unless this fails. */
int wait_create(struct list *all, const struct wait *like, int fd);
void wait_free(struct wait *w);

/* Once: RouDi is up, and what the earlier simd had started has exited. */
void supervisor_maybe_ready(struct supervisor *k);
void supervisor_end_orphans(struct supervisor *k);
void supervisor_on_orphan_timer(void *arg);
void supervisor_forget_orphans(struct supervisor *k);

#endif
