/* SPDX-License-Identifier: Apache-2.0 */
/* What keeper.c and keeper_state.c share. Thread: simd-main. */
#ifndef SUPERVISE_KEEPER_PRIVATE_H
#define SUPERVISE_KEEPER_PRIVATE_H

#include "core/exec.h"
#include "err.h"
#include "list.h"
#include "supervise/fleet.h"
#include "supervise/helper.h"
#include "supervise/keeper.h"
#include "supervise/roudi.h"
#include "supervise/runtime.h"
#include "supervise/state.h"

/* A process that an earlier simd knew: its ports are freed when it ends. */
struct wait {
	struct list link; /* keeper::waits */
	struct keeper *k;
	struct state_app app;
	struct exec_io io;
	int pidfd;
	bool gone; /* its ports went with an earlier RouDi: only files are left */
	bool idle; /* a bridge that has told us that it holds nothing of the old simd */
};

struct keeper {
	struct keeper_options o;
	struct exec *x;
	struct simd *s; /* from keeper_start() on */
	char *bin_dir;
	char app[64], runtime_name[STATE_APP_MAX];
	struct helper *helper;
	struct fleet *fleet;
	struct roudi *roudi;
	struct state *left; /* by an earlier simd; NULL: none */
	struct list waits, orphans;
	bool up, told_ready, stopping, drained, reexec;
	bool old_app_freed;
	struct exec_timer save_timer, broken_timer, drain_timer, sweep_timer, orphan_timer;
	char broken_why[ERR_WHY_MAX];
};

void keeper_free_app(void *user, const char *app, bool gone);
/* The same for one that was found by its lock: looked at once more before it is freed. */
void keeper_free_swept(struct keeper *k, const char *app, bool gone);
void keeper_on_drain_timer(void *arg);
void keeper_on_sweep_timer(void *arg);

int keeper_load_state(struct keeper *k);
void keeper_save_state(struct keeper *k);
void keeper_on_save_timer(void *arg);
void keeper_remove_state(struct keeper *k);
/* Of a process: written at once, as a simd that is killed next must have written whom it leaves. */
void keeper_child_started(void *arg);
/* A change that can wait a moment to be written. */
void keeper_sessions_changed(void *user);

/* RouDi has been taken over: free what the dead of the earlier simd's time have left, and the earlier simd itself. */
void keeper_adopt(struct keeper *k);
void keeper_bridge_idle(void *user, uint32_t id);
void keeper_forget_waits(struct keeper *k);

/* Once: RouDi is up, and what the earlier simd had started has ended. */
void keeper_maybe_ready(struct keeper *k);
void keeper_end_orphans(struct keeper *k);
void keeper_on_orphan_timer(void *arg);
void keeper_forget_orphans(struct keeper *k);

#endif
