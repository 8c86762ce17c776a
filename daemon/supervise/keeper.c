/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper; contract in keeper.h. The state file is in keeper_state.c.
 * Thread: simd-main.
 */
#include "supervise/keeper.h"

#include "core/bridge.h"
#include "core/client.h"
#include "core/event.h"
#include "core/plane.h"
#include "core/timekeeper.h"
#include "err.h"
#include "fd.h"
#include "ipc.h"
#include "log.h"
#include "mem.h"
#include "supervise/keeper_private.h"
#include "supervise/roudi_files.h"
#include "timeutil.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

LOG_TOPIC("keeper");

#define DRAIN_DUR_NS (2 * NS_PER_S) /* how long accepted messages may take to leave at the end */

/* ---- jobs that free a dead application ---- */

struct free_job {
	struct helper_job job;
	char app[STATE_APP_MAX];
	bool gone, swept;
	int result;
};

static void free_run(struct helper_job *hj)
{
	struct free_job *j = container_of(hj, struct free_job, job);

	/* one that was just beginning when its lock was looked at lives, and has ports by now */
	if (j->swept && !roudi_app_dead(j->app))
		return;
	j->result = j->gone ? 0 : ipc_free_app(j->app);
	roudi_forget_app(j->app);
	for (int i = 1; i <= 16; i++) { /* an application name stands for all its lives */
		char name[STATE_APP_MAX + 8];

		snprintf(name, sizeof(name), "%s.%d", j->app, i);
		roudi_forget_app(name);
	}
}

static void free_done(struct helper_job *hj)
{
	struct free_job *j = container_of(hj, struct free_job, job);

	if (j->result < 0 && j->result != -ENOENT && j->result != -ECONNREFUSED) /* without RouDi there are none */
		log_warn("the ports of %s could not be freed: %s", j->app, err_text(j->result));
	mem_free(j);
}

static void post_free(struct keeper *k, const char *app, bool gone, bool swept)
{
	struct free_job *j;

	if (!k->helper) /* RouDi has ended already, or is somebody else's and simd goes */
		return;
	j = MEM_NEW(struct free_job);
	if (!j) {
		log_error("no memory to free the ports of %s", app);
		return;
	}
	j->job = (struct helper_job){ .run = free_run, .done = free_done };
	j->gone = gone;
	j->swept = swept;
	snprintf(j->app, sizeof(j->app), "%s", app);
	helper_post(k->helper, &j->job);
}

void keeper_free_app(void *user, const char *app, bool gone)
{
	post_free((struct keeper *)user, app, gone, false);
}

void keeper_free_swept(struct keeper *k, const char *app, bool gone)
{
	post_free(k, app, gone, true);
}

/* ---- core's ops ---- */

static int op_peer_exit_fd(void *user, pid_t pid)
{
	(void)user;
	return fd_pidfd_open(pid);
}

static void op_shutdown(void *user)
{
	keeper_stop((struct keeper *)user);
}

static bool op_bridge_kill(void *user, const char *name, const char *why, bool now)
{
	return fleet_bridge_kill(((struct keeper *)user)->fleet, name, why, now);
}

static int op_bridge_restart(void *user, const char *name)
{
	return fleet_bridge_restart(((struct keeper *)user)->fleet, name);
}

static uint32_t op_bridge_restarts(void *user, const char *name)
{
	return fleet_bridge_restarts(((struct keeper *)user)->fleet, name);
}

static const char *op_bridge_permanent(void *user, const char *name)
{
	return fleet_bridge_permanent(((struct keeper *)user)->fleet, name);
}

static json_t *op_given_up(void *user)
{
	return fleet_given_up(((struct keeper *)user)->fleet);
}

static const char *op_process_rig(void *user, pid_t pid)
{
	return fleet_rig_of(((struct keeper *)user)->fleet, pid);
}

static void op_plane_broken(void *user, const char *why)
{
	struct keeper *k = (struct keeper *)user;

	/* from inside a call of core: RouDi is looked after when that has returned */
	snprintf(k->broken_why, sizeof(k->broken_why), "%s", why);
	exec_timer_at(&k->broken_timer, exec_now(k->x));
}

static void on_broken(void *arg)
{
	struct keeper *k = (struct keeper *)arg;

	if (k->roudi)
		roudi_broken(k->roudi, k->broken_why);
}

static void op_client_attached(void *user)
{
	struct keeper *k = (struct keeper *)user;

	if (k->roudi && k->s && client_all_attached(k->s))
		roudi_all_moved(k->roudi);
}

static void op_source_changed(void *user, const char *name)
{
	struct keeper *k = (struct keeper *)user;

	fleet_source(k->fleet, name);
}

static const struct simd_ops ops = {
	.peer_exit_fd = op_peer_exit_fd,
	.shutdown = op_shutdown,
	.bridge_kill = op_bridge_kill,
	.bridge_restart = op_bridge_restart,
	.bridge_restarts = op_bridge_restarts,
	.bridge_permanent = op_bridge_permanent,
	.given_up = op_given_up,
	.process_rig = op_process_rig,
	.free_app = keeper_free_app,
	.sessions_changed = keeper_sessions_changed,
	.client_attached = op_client_attached,
	.bridge_idle = keeper_bridge_idle,
	.plane_broken = op_plane_broken,
	.source_changed = op_source_changed,
};

const struct simd_ops *keeper_ops(void)
{
	return &ops;
}

/* ---- RouDi's events ---- */

static int on_up(void *arg, struct ipc *ipc, uint32_t generation, const struct pools *pools)
{
	struct keeper *k = (struct keeper *)arg;
	bool first = !k->up;
	int r;

	if (first)
		k->s->pools = *pools; /* nothing is reserved yet */
	snprintf(k->runtime_name, sizeof(k->runtime_name), "%s", ipc_runtime_name(ipc));
	r = plane_up(k->s, ipc, generation);
	if (r < 0)
		return r;
	k->up = true;
	if (first) {
		keeper_adopt(k);
		keeper_maybe_ready(k);
	}
	return 0;
}

void keeper_maybe_ready(struct keeper *k)
{
	if (!k->up || !list_empty(&k->orphans) || k->told_ready)
		return;
	k->told_ready = true;
	k->o.ready(k->o.arg, 0);
}

static void on_lost(void *arg, const char *why)
{
	plane_lost(((struct keeper *)arg)->s, why);
}

static void on_failed(void *arg, int r)
{
	struct keeper *k = (struct keeper *)arg;

	if (!k->told_ready) {
		k->told_ready = true;
		k->o.ready(k->o.arg, r);
		return;
	}
	log_error("there is no data plane any more: %s", err_why());
	k->reexec = r == -EMFILE;
	keeper_stop(k);
}

static void on_changed(void *arg)
{
	struct keeper *k = (struct keeper *)arg;
	struct roudi_info info;

	roudi_info(k->roudi, &info);
	k->s->plane.roudi_pid = (int)info.proc.pid;
	k->s->plane.roudi_owned = info.owned;
	keeper_save_state(k);
}

/* ---- making ---- */

static int make_parts(struct keeper *k)
{
	struct fleet_options fo = {
		.x = k->x,
		.conf = k->o.conf,
		.ops = k->o.ops,
		.user = k->o.ops_user,
		.bin_dir = k->bin_dir,
		.socket = k->o.rt->socket,
		.started = keeper_child_started,
		.arg = k,
	};
	struct roudi_options ro = {
		.x = k->x,
		.conf = k->o.conf,
		.pools = k->o.pools,
		.runtime_dir = k->o.rt->dir,
		.app = k->app,
		.ops = k->o.ops,
		.user = k->o.ops_user,
		.arg = k,
		.events = { .up = on_up, .lost = on_lost, .failed = on_failed, .changed = on_changed },
	};
	int r = helper_create(k->x, &k->helper);

	if (r == 0)
		r = fleet_create(&fo, &k->fleet);
	if (r < 0)
		return r;
	ro.helper = k->helper;
	ro.state = k->left;
	return roudi_create(&ro, &k->roudi);
}

int keeper_create(const struct keeper_options *o, struct keeper **ret)
{
	struct keeper *k = MEM_NEW(struct keeper);
	int r;

	if (!k)
		return err_nomem();
	k->o = *o;
	k->x = o->x;
	k->o.bin_dir = NULL;
	snprintf(k->app, sizeof(k->app), "simd-%08llx", (unsigned long long)(o->id >> 32));
	list_init(&k->waits);
	list_init(&k->orphans);
	exec_timer_init(&k->save_timer, k->x, keeper_on_save_timer, k);
	exec_timer_init(&k->sweep_timer, k->x, keeper_on_sweep_timer, k);
	exec_timer_init(&k->orphan_timer, k->x, keeper_on_orphan_timer, k);
	exec_timer_init(&k->broken_timer, k->x, on_broken, k);
	exec_timer_init(&k->drain_timer, k->x, keeper_on_drain_timer, k);
	k->bin_dir = mem_strdup(o->bin_dir);
	r = o->bin_dir && !k->bin_dir ? err_nomem() : keeper_load_state(k);
	if (r == 0)
		r = make_parts(k);
	if (r < 0) {
		keeper_destroy(k);
		keeper_free(k);
		return r;
	}
	*ret = k;
	return 0;
}

static void forget_files(void *arg, const char *app)
{
	(void)arg;
	roudi_forget_app(app);
}

void keeper_destroy(struct keeper *k)
{
	if (!k)
		return;
	exec_timer_cancel(&k->save_timer);
	exec_timer_cancel(&k->broken_timer);
	exec_timer_cancel(&k->drain_timer);
	exec_timer_cancel(&k->sweep_timer);
	keeper_forget_waits(k);
	keeper_forget_orphans(k);
	fleet_destroy(k->fleet);
	if (k->s)
		plane_finish(k->s);
	roudi_destroy(k->roudi);
	helper_destroy(k->helper);
	k->fleet = NULL;
	k->roudi = NULL;
	k->helper = NULL;
	/* an attach that was cut short keeps its files as long as this process lives */
	roudi_forget_own(k->app);
	/* whoever was killed at the end has not cleaned up, nor who was still dying when we took over */
	roudi_dead_apps(forget_files, NULL);
	keeper_remove_state(k);
	k->s = NULL;
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	mem_free(k->left);
	mem_free(k->bin_dir);
	mem_free(k);
}

/* ---- starting and stopping ---- */

int keeper_start(struct keeper *k, struct simd *s)
{
	k->s = s;
	keeper_end_orphans(k);
	return roudi_start(k->roudi);
}

void keeper_start_processes(struct keeper *k)
{
	fleet_start(k->fleet);
	fleet_source(k->fleet, timekeeper_source(k->s->time));
}

static void on_bridges_stopped(void *arg)
{
	struct keeper *k = (struct keeper *)arg;

	exec_timer_cancel(&k->drain_timer);
	k->o.stopped(k->o.arg, k->reexec);
}

static void on_drained(void *arg)
{
	struct keeper *k = (struct keeper *)arg;

	if (k->drained)
		return;
	k->drained = true;
	exec_timer_cancel(&k->drain_timer);
	fleet_stop(k->fleet, FLEET_BRIDGES, on_bridges_stopped, k);
}

static void ignore(void *arg)
{
	(void)arg;
}

void keeper_on_drain_timer(void *arg)
{
	struct keeper *k = (struct keeper *)arg;

	log_warn("bridges still hold messages; they complete with false");
	simd_drain(k->s, true, ignore, NULL);
	on_drained(k);
}

static void on_processes_stopped(void *arg)
{
	struct keeper *k = (struct keeper *)arg;

	exec_timer_at(&k->drain_timer, exec_now(k->x) + DRAIN_DUR_NS);
	simd_drain(k->s, false, on_drained, k);
}

void keeper_stop(struct keeper *k)
{
	if (k->stopping)
		return;
	k->stopping = true;
	log_info("stopping");
	k->s->stopping = true;
	roudi_closing(k->roudi);
	k->o.closing(k->o.arg);
	event_shutdown(k->s);
	service_all_close(k->s);
	fleet_stop(k->fleet, FLEET_PROCESSES, on_processes_stopped, k);
}
