/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor; contract in supervisor.h. The state file is in supervisor_state.c.
 * Thread: simd-main.
 */
#include "supervisor.h"

#include "dataplane.h"
#include "reaper.h"
#include "registry.h"
#include "session.h"
#include "slot_reclaim.h"
#include "timekeeper.h"
#include "err.h"
#include "fd.h"
#include "ipc.h"
#include "log.h"
#include "mem.h"
#include "supervisor_private.h"
#include "roudi_files.h"
#include "timeutil.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

LOG_TOPIC("supervisor");

#define PROBE_MS     1000
#define DRAIN_DUR_NS (2 * NS_PER_S) /* time limit for accepted messages to be delivered at the end */

/* ---- jobs that free a dead application ---- */

struct free_job {
	struct helper_job job;
	struct simd *s;
	const char *plane; /* borrowed from the runtime */
	char app[STATE_APP_MAX];
	bool old, swept;
	int result;
};

static void free_run(struct helper_job *hj)
{
	struct free_job *j = container_of(hj, struct free_job, job);

	/* an application that was starting when its lock was tested may have ports by now */
	if (j->swept && !roudi_app_dead(j->plane, j->app)) {
		j->result = -ENOENT;
		return;
	}
	j->result = j->old ? 0 : ipc_free_app(j->plane, j->app);
	if (j->result == 0 && !j->old)
		/* an answer shows that RouDi has also handled the request before it */
		j->result = ipc_probe(j->plane, PROBE_MS);
	roudi_forget_app(j->plane, j->app, !j->swept);
}

static void free_done(struct helper_job *hj)
{
	struct free_job *j = container_of(hj, struct free_job, job);

	if (j->result == 0 && !j->old)
		slot_reclaim_forgotten(j->s, j->app);
	reaper_freed(j->s, j->app, j->result == 0 && !j->old);
	if (j->result < 0 && j->result != -ENOENT && j->result != -ECONNREFUSED) /* without RouDi there are no ports */
		log_warn("the ports of %s could not be freed: %s", j->app, err_text(j->result));
	mem_free(j);
}

static void post_free(struct supervisor *k, const char *app, bool old, bool swept)
{
	struct free_job *j;

	if (!k->helper) /* RouDi has exited already, or simd did not start it and stops now */
		return;
	j = MEM_NEW(struct free_job);
	if (!j) {
		log_error("no memory to free the ports of %s", app);
		return;
	}
	j->job = (struct helper_job){ .run = free_run, .done = free_done };
	j->s = k->s;
	j->plane = k->o.rt->plane;
	j->old = old;
	j->swept = swept;
	snprintf(j->app, sizeof(j->app), "%s", app);
	helper_post(k->helper, &j->job);
}

void supervisor_free_app(void *user, const char *app, bool old)
{
	post_free((struct supervisor *)user, app, old, false);
}

void supervisor_free_swept(struct supervisor *k, const char *app, bool old)
{
	post_free(k, app, old, true);
}

/* ---- the registry's ops ---- */

static int op_peer_exit_fd(void *user, int sock, int64_t connected_mono_ns)
{
	(void)user;
	return fd_peer_pidfd(sock, connected_mono_ns);
}

static bool op_has_name(void *user, pid_t pid, const char *runtime_name)
{
	const struct supervisor *k = (const struct supervisor *)user;

	return roudi_has_lock(k->o.rt->plane, pid, runtime_name);
}

static void op_shutdown(void *user)
{
	supervisor_stop((struct supervisor *)user);
}

static bool op_bridge_kill(void *user, const char *name, const char *why, bool now)
{
	return processes_bridge_kill(((struct supervisor *)user)->processes, name, why, now);
}

static int op_bridge_may(void *user, const char *name, pid_t pid)
{
	return processes_bridge_may(((struct supervisor *)user)->processes, name, pid);
}

static int op_bridge_restart(void *user, const char *name)
{
	return processes_bridge_restart(((struct supervisor *)user)->processes, name);
}

static uint32_t op_bridge_restarts(void *user, const char *name)
{
	return processes_bridge_restarts(((struct supervisor *)user)->processes, name);
}

static const char *op_bridge_permanent(void *user, const char *name)
{
	return processes_bridge_permanent(((struct supervisor *)user)->processes, name);
}

static int op_process_restart(void *user, const char *name)
{
	return processes_restart(((struct supervisor *)user)->processes, name);
}

static json_t *op_given_up(void *user)
{
	return processes_given_up(((struct supervisor *)user)->processes);
}

static const char *op_process_rig(void *user, pid_t pid)
{
	return processes_rig_of(((struct supervisor *)user)->processes, pid);
}

static const char *op_process_name(void *user, pid_t pid)
{
	return processes_name_of(((struct supervisor *)user)->processes, pid);
}

static bool op_process_stopped(void *user, pid_t pid)
{
	(void)user;
	return state_proc_stopped(pid);
}

static void op_dataplane_broken(void *user, const char *why)
{
	struct supervisor *k = (struct supervisor *)user;

	/* called from inside the registry: RouDi is ended after that call has returned */
	snprintf(k->broken_why, sizeof(k->broken_why), "%s", why);
	exec_timer_at(&k->broken_timer, exec_now(k->x));
}

static void on_broken(void *arg)
{
	struct supervisor *k = (struct supervisor *)arg;

	if (k->roudi)
		roudi_broken(k->roudi, k->broken_why);
}

static void op_client_attached(void *user)
{
	struct supervisor *k = (struct supervisor *)user;

	if (k->roudi && k->s && session_all_attached(k->s) && supervisor_all_came_back(k))
		roudi_all_moved(k->roudi);
}

static void op_source_changed(void *user, const char *name)
{
	struct supervisor *k = (struct supervisor *)user;

	processes_source(k->processes, name);
}

static const struct simd_ops ops = {
	.peer_exit_fd = op_peer_exit_fd,
	.shutdown = op_shutdown,
	.bridge_kill = op_bridge_kill,
	.bridge_may = op_bridge_may,
	.bridge_restart = op_bridge_restart,
	.bridge_restarts = op_bridge_restarts,
	.bridge_permanent = op_bridge_permanent,
	.process_restart = op_process_restart,
	.given_up = op_given_up,
	.process_rig = op_process_rig,
	.process_name = op_process_name,
	.free_app = supervisor_free_app,
	.has_name = op_has_name,
	.sweep = supervisor_sweep,
	.sessions_changed = supervisor_sessions_changed,
	.client_attached = op_client_attached,
	.bridge_idle = supervisor_bridge_idle,
	.process_stopped = op_process_stopped,
	.dataplane_broken = op_dataplane_broken,
	.source_changed = op_source_changed,
};

const struct simd_ops *supervisor_ops(void)
{
	return &ops;
}

/* ---- RouDi's events ---- */

static int on_up(void *arg, struct ipc *ipc, uint32_t generation, const struct pools *pools)
{
	struct supervisor *k = (struct supervisor *)arg;
	bool first = !k->up;
	int r;

	if (first)
		dataplane_set_pools(k->s, pools);
	snprintf(k->runtime_name, sizeof(k->runtime_name), "%s", ipc_runtime_name(ipc));
	r = dataplane_up(k->s, ipc, generation);
	if (r < 0)
		return r;
	k->up = true;
	k->lives++;
	if (first) {
		supervisor_adopt(k);
		supervisor_maybe_ready(k);
	}
	return 0;
}

void supervisor_maybe_ready(struct supervisor *k)
{
	if (!k->up || !list_empty(&k->orphans) || k->notified_ready)
		return;
	k->notified_ready = true;
	k->o.ready(k->o.arg, 0);
}

static int64_t on_need(void *arg)
{
	return pools_bytes(&((struct supervisor *)arg)->s->pools);
}

static void on_lost(void *arg, const char *why)
{
	dataplane_lost(((struct supervisor *)arg)->s, why);
}

static void on_failed(void *arg, int r)
{
	struct supervisor *k = (struct supervisor *)arg;

	if (!k->notified_ready) {
		k->notified_ready = true;
		k->o.ready(k->o.arg, r);
		return;
	}
	log_error("the data plane is lost for good: %s", err_why());
	k->reexec = r == -ENOTRECOVERABLE;
	k->result = r;
	supervisor_stop(k);
}

static void on_changed(void *arg)
{
	struct supervisor *k = (struct supervisor *)arg;
	struct roudi_info info;

	roudi_info(k->roudi, &info);
	dataplane_set_roudi(k->s, info.proc.pid, info.owned, info.robust);
	supervisor_save_state(k);
}

/* ---- stopping ---- */

static void on_bridges_stopped(void *arg)
{
	struct supervisor *k = (struct supervisor *)arg;

	exec_timer_cancel(&k->drain_timer);
	k->o.stopped(k->o.arg, k->result, k->reexec);
}

static void on_drained(void *arg)
{
	struct supervisor *k = (struct supervisor *)arg;

	if (k->drained)
		return;
	k->drained = true;
	exec_timer_cancel(&k->drain_timer);
	processes_stop(k->processes, PART_BRIDGES, on_bridges_stopped, k);
}

static void ignore(void *arg)
{
	(void)arg;
}

static void on_drain_timer(void *arg)
{
	struct supervisor *k = (struct supervisor *)arg;

	log_warn("bridges still hold messages at shutdown; these messages complete with false");
	registry_drain(k->s, true, ignore, NULL);
	on_drained(k);
}

/* ---- making ---- */

static int make_parts(struct supervisor *k)
{
	struct processes_options fo = {
		.x = k->x,
		.conf = k->o.conf,
		.ops = k->o.ops,
		.user = k->o.ops_user,
		.bin_dir = k->bin_dir,
		.socket = k->o.rt->socket,
		.started = supervisor_child_started,
		.arg = k,
	};
	struct roudi_options ro = {
		.x = k->x,
		.conf = k->o.conf,
		.pools = k->o.pools,
		.runtime_dir = k->o.rt->dir,
		.plane = k->o.rt->plane,
		.app = k->app,
		.ops = k->o.ops,
		.user = k->o.ops_user,
		.arg = k,
		.events = { .up = on_up, .need = on_need, .lost = on_lost, .failed = on_failed, .changed = on_changed },
	};
	int r = helper_create(k->x, &k->helper);

	if (r == 0)
		r = processes_create(&fo, &k->processes);
	if (r < 0)
		return r;
	ro.helper = k->helper;
	ro.state = k->left;
	return roudi_create(&ro, &k->roudi);
}

int supervisor_create(const struct supervisor_options *o, struct supervisor **ret)
{
	struct supervisor *k = MEM_NEW(struct supervisor);
	int r;

	if (!k)
		return err_nomem();
	k->o = *o;
	k->x = o->x;
	k->o.bin_dir = NULL;
	snprintf(k->app, sizeof(k->app), "simd-%08llx", (unsigned long long)(o->id >> 32));
	list_init(&k->waits);
	list_init(&k->orphans);
	exec_timer_init(&k->save_timer, k->x, supervisor_on_save_timer, k);
	exec_timer_init(&k->sweep_timer, k->x, supervisor_on_sweep_timer, k);
	exec_timer_init(&k->orphan_timer, k->x, supervisor_on_orphan_timer, k);
	exec_timer_init(&k->broken_timer, k->x, on_broken, k);
	exec_timer_init(&k->drain_timer, k->x, on_drain_timer, k);
	k->bin_dir = mem_strdup(o->bin_dir);
	r = o->bin_dir && !k->bin_dir ? err_nomem() : supervisor_load_state(k);
	if (r == 0)
		r = make_parts(k);
	if (r < 0) {
		supervisor_destroy(k);
		supervisor_free(k);
		return r;
	}
	*ret = k;
	return 0;
}

void supervisor_destroy(struct supervisor *k)
{
	if (!k)
		return;
	exec_timer_cancel(&k->save_timer);
	exec_timer_cancel(&k->broken_timer);
	exec_timer_cancel(&k->drain_timer);
	exec_timer_cancel(&k->sweep_timer);
	supervisor_forget_waits(k);
	supervisor_forget_orphans(k);
	processes_destroy(k->processes);
	if (k->s)
		dataplane_finish(k->s);
	roudi_destroy(k->roudi);
	helper_destroy(k->helper);
	k->processes = NULL;
	k->roudi = NULL;
	k->helper = NULL;
	/* also the files of an interrupted attach, which stay locked until this process exits */
	roudi_forget_own(k->o.rt->plane, k->app);
	/* processes killed during the stop, or still exiting when simd took over, have left their files */
	roudi_forget_dead(k->o.rt->plane);
	supervisor_remove_state(k);
	k->s = NULL;
}

void supervisor_free(struct supervisor *k)
{
	if (!k)
		return;
	mem_free(k->left);
	mem_free(k->bin_dir);
	mem_free(k);
}

/* ---- starting and stopping ---- */

int supervisor_start(struct supervisor *k, struct simd *s)
{
	k->s = s;
	supervisor_end_orphans(k);
	return roudi_start(k->roudi);
}

void supervisor_start_processes(struct supervisor *k)
{
	processes_start(k->processes);
	processes_source(k->processes, timekeeper_source(k->s->time));
}

static void on_processes_stopped(void *arg)
{
	struct supervisor *k = (struct supervisor *)arg;

	exec_timer_at(&k->drain_timer, exec_now(k->x) + DRAIN_DUR_NS);
	registry_drain(k->s, false, on_drained, k);
}

void supervisor_stop(struct supervisor *k)
{
	if (k->stopping)
		return;
	k->stopping = true;
	log_info("stopping");
	roudi_closing(k->roudi);
	k->o.closing(k->o.arg);
	registry_close(k->s);
	processes_stop(k->processes, PART_PROCESSES, on_processes_stopped, k);
}
