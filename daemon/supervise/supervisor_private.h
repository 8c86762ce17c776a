/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by supervisor.c, supervisor_state.c and supervisor_orphans.c. Thread: simd-main. */
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

/* A process from the time of an earlier simd that has not exited yet. */
struct wait {
	struct list link; /* supervisor::waits or orphans */
	struct supervisor *k;
	void (*exited)(struct wait *w); /* called when the process has exited; frees w */
	struct state_app app;           /* of an orphan only the process is set */
	struct exec_io io;
	int pidfd;
	bool old;  /* its ports went with an earlier RouDi; only its files are left */
	bool idle; /* a bridge that has reported that it holds no slot of the old simd */
	bool back; /* its clients have connected to this simd */
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
	struct state *left;  /* state of an earlier simd; NULL: none */
	struct list waits;   /* applications whose ports are freed when they exit */
	struct list orphans; /* children of the earlier simd: simd is not ready before they have exited */
	uint32_t lives;      /* generations of the data plane in this simd's run */
	bool up, notified_ready, stopping, drained, reexec;
	int result; /* passed to stopped() */
	bool old_app_freed;
	struct exec_timer save_timer, broken_timer, drain_timer, sweep_timer, orphan_timer;
	char broken_why[ERR_WHY_MAX];
};

void supervisor_free_app(void *user, const char *app, bool old);
/* As supervisor_free_app(), for an application found by its lock file: tests the lock again before freeing it. */
void supervisor_free_swept(struct supervisor *k, const char *app, bool old);
void supervisor_on_sweep_timer(void *arg);
void supervisor_sweep(void *user);

int supervisor_load_state(struct supervisor *k);
void supervisor_save_state(struct supervisor *k);
void supervisor_on_save_timer(void *arg);
void supervisor_remove_state(struct supervisor *k);
/* A process has started: writes the state file at once, so that a simd killed next has recorded its children. */
void supervisor_child_started(void *arg);
/* Sessions have changed: writes the state file after a short delay. */
void supervisor_sessions_changed(void *user);

/* RouDi is up: frees what dead applications of the earlier simd's time left, and the earlier simd's own ports. */
void supervisor_adopt(struct supervisor *k);
void supervisor_bridge_idle(void *user, uint32_t id);
/*
 * Whether each client of the earlier simd has come back or exited. If all clients have also moved, no process reads the
 * memory of the earlier RouDi.
 */
bool supervisor_all_came_back(struct supervisor *k);
void supervisor_forget_waits(struct supervisor *k);
/* fd: its pidfd; owned unless this fails. */
int wait_create(struct list *all, const struct wait *like, int fd);
void wait_free(struct wait *w);

/* Calls ready(), once, when RouDi is up and the children of the earlier simd have exited. */
void supervisor_maybe_ready(struct supervisor *k);
void supervisor_end_orphans(struct supervisor *k);
void supervisor_on_orphan_timer(void *arg);
void supervisor_forget_orphans(struct supervisor *k);

#endif
