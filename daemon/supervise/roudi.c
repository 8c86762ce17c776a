/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs RouDi; contract in roudi.h.
 *
 * RouDi is never stopped with SIGTERM, which it would forward to every client, only with SIGKILL; simd then removes its
 * leftovers. A RouDi that simd did not start is used if it suits, and never stopped.
 * Thread: simd-main; probe and attach run as jobs on simd-help.
 */
#include "roudi.h"

#include "exec.h"
#include "err.h"
#include "fd.h"
#include "ipc.h"
#include "log.h"
#include "mem.h"
#include "segment_commit.h"
#include "segment_reclaim.h"
#include "helper.h"
#include "memory_room.h"
#include "process.h"
#include "roudi_files.h"
#include "roudi_job.h"
#include "roudi_room.h"
#include "timeutil.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

LOG_TOPIC("roudi");

#define EARLY_END_DUR_NS (1 * NS_PER_S) /* the last RouDi may still be ending: not a failure */
#define RETRY_DUR_NS     (50 * NS_PER_MS)
#define RETRY_MAX_DUR_NS (5 * NS_PER_S)
#define FAILURES_MAX     5 /* failed starts in a row before the first generation; later roudi.retry_ms counts */
#define DOUBLINGS_MAX    7
#define DYING_TRIES      40
/* spare bytes: for what clients write to the old management segment meanwhile, and for files */
#define ROOM_SPARE    (1 << 20)
#define SOON_DUR_NS   (50 * NS_PER_MS)
#define STARVED_MAX   30                /* probes during which RouDi was not given a CPU */
#define AGAIN_MS      200               /* timeout of the second probe, sent after one without an answer */
#define ROOM_DUR_NS   (500 * NS_PER_MS) /* how often room in /dev/shm is checked */
#define RETURN_DUR_NS (10 * NS_PER_S)   /* by then the clients of a killed simd are back */
#define ALONE_DUR_NS \
	(1 * NS_PER_S) /* by then clients without a simd have noticed that RouDi is dead: iceoryx's 300 ms heartbeat */

enum phase { ABSENT, STARTING, UP };

struct roudi {
	struct exec *x;
	struct helper *helper;
	const struct spawn_ops *ops;
	void *user;
	struct roudi_events ev;
	void *arg;
	struct pools pools;
	const char *plane; /* "": RouDi uses the default names, and simd did not start it */
	char *dir, *app, *config, *output, *output_before;
	size_t output_read;     /* bytes of its output that were read */
	const char *path, *log; /* borrowed from the configuration */
	uint32_t ready_ms, probe_ms, probe_timeout_ms;
	int64_t retry_dur_ns;

	enum phase phase;
	bool owned, adopted, first, stopping;
	bool inherits; /* an earlier simd was killed; its clients may hold memory of its RouDi */
	struct roudi_room room;
	int64_t put_by_mono_ns; /* when memory is first reserved for a restart */
	bool robust;            /* a killed client leaves no lock that RouDi would wait for */
	struct state_proc proc;
	int pidfd;
	bool is_child; /* simd must reap it */
	struct exec_io exit_io;
	struct exec_timer timer; /* next probe, or next start */
	struct roudi_job *job;   /* in progress */
	uint32_t generation, failures;
	uint32_t starved; /* probes in a row during which RouDi was not given a CPU */
	bool unprobed;    /* simd lacks resources for a probe, and has logged that */
	bool asked_again; /* the running probe is the second one, after one without an answer */
	uint64_t config_hash;
	struct {
		struct state_proc proc;
		bool owned;
		uint64_t hash;
	} left; /* from an earlier simd */
	int64_t started_mono_ns;
	int64_t failing_mono_ns;        /* start of this series of failures */
	int64_t oom;                    /* memory_oom_kills() when RouDi started */
	struct segment_commit commit;   /* memory of the present generation */
	struct segment_reclaim reclaim; /* memory of earlier ones */
};

/* ---- memory ---- */

static int commit(void *arg, unsigned cls, uint32_t slots)
{
	return segment_commit_slots(&((struct roudi *)arg)->commit, cls, slots);
}

static int64_t room(void *arg, const char **ret_whose)
{
	(void)arg;
	return memory_room("", ret_whose);
}

static int64_t aside(void *arg)
{
	return ((struct roudi *)arg)->commit.ballast;
}

static const struct pool_memory memory = { .commit = commit, .room = room, .aside = aside };

/* All pages of a RouDi that simd did not start are allocated already. */
static int begin_memory(struct roudi *r, struct pools *p)
{
	int rc;

	if (!r->owned) {
		r->commit.payload_fd = roudi_open_segment(r->plane);
		if (r->commit.payload_fd < 0)
			log_warn("%s: its memory cannot be freed after a restart", err_why());
		return 0;
	}
	rc = segment_commit_begin(&r->commit, r->plane, p);
	if (rc < 0 || !p->fixed) {
		p->memory = &memory;
		p->memory_arg = r;
		p->found = r->adopted;
		return rc;
	}
	for (unsigned i = 0; i < p->n && rc == 0; i++)
		rc = segment_commit_slots(&r->commit, i, p->c[i].count);
	return rc < 0 ? err_sys(rc, "\"pools\" need %lld MiB of /dev/shm", (long long)(pools_need(p) >> 20)) : 0;
}

/* Reserves memory for the next generation, once the clients of a killed simd had time to get theirs. */
static void put_by(struct roudi *r)
{
	if (exec_now(r->x) >= r->put_by_mono_ns)
		segment_commit_ballast(&r->commit, r->plane);
}

/* Frees old segments, and reserves memory for the next generation now and again soon: RouDi may die again. */
void roudi_all_moved(struct roudi *r)
{
	if (r->phase != UP || list_empty(&r->reclaim.segments))
		return;
	segment_reclaim_now(&r->reclaim);
	if (!r->owned)
		return;
	put_by(r);
	if (!r->job)
		exec_timer_at(&r->timer, exec_now(r->x) + SOON_DUR_NS);
}

/* ---- jobs ---- */

static void on_attached(struct roudi *r, struct roudi_job *j);
static void on_probed(struct roudi *r, struct roudi_job *j);

static void job_done(struct helper_job *hj)
{
	struct roudi_job *j = container_of(hj, struct roudi_job, job);
	struct roudi *r = j->r;

	if (!r) {
		ipc_detach(j->ipc);
	} else {
		r->job = NULL;
		if (j->attach)
			on_attached(r, j);
		else
			on_probed(r, j);
	}
	mem_free(j);
}

static void job_forget(struct roudi *r)
{
	if (!r->job)
		return;
	atomic_store(&r->job->cancel, true);
	r->job->r = NULL;
	r->job = NULL;
}

static int job_start(struct roudi *r, bool attach, uint32_t timeout_ms)
{
	struct roudi_job *j = MEM_NEW(struct roudi_job);

	if (!j)
		return err_nomem();
	j->job = (struct helper_job){ .run = roudi_job_run, .done = job_done };
	j->r = r;
	j->attach = attach;
	j->foreign = attach && !r->owned;
	j->fresh = attach && r->is_child;
	j->pid = r->proc.pid;
	j->timeout_ms = timeout_ms;
	snprintf(j->app, sizeof(j->app), "%s", r->app);
	j->plane = r->plane;
	r->job = j;
	helper_post(r->helper, &j->job);
	return 0;
}

/* ---- the end of a generation ---- */

static void forget_process(struct roudi *r)
{
	int status;

	exec_io_del(&r->exit_io);
	if (r->is_child)
		(void)r->ops->reap(r->user, r->proc.pid, r->pidfd, &status);
	r->pidfd = fd_close(r->pidfd);
	r->proc = (struct state_proc){ 0 };
	r->is_child = false;
}

static void kill_process(struct roudi *r)
{
	if (r->proc.pid <= 0 || !r->owned)
		return;
	(void)r->ops->signal(r->user, r->proc.pid, r->pidfd, SIGKILL, false);
	(void)fd_pidfd_wait(r->pidfd, 5 * NS_PER_S);
}

static void give_up(struct roudi *r, int err)
{
	r->phase = ABSENT;
	r->ev.failed(r->arg, err);
}

/* Takes over the dead generations that an earlier simd has set aside. */
static void inherit(struct roudi *r)
{
	segment_reclaim_inherit(&r->reclaim, r->left.hash == r->config_hash ? &r->pools : NULL);
}

static void end_generation(struct roudi *r, const char *why)
{
	bool was_up = r->phase == UP;
	struct segment_commit dead;

	exec_timer_cancel(&r->timer);
	job_forget(r);
	r->phase = ABSENT;
	if (was_up)
		r->ev.lost(r->arg, why);
	kill_process(r);
	forget_process(r);
	dead = segment_commit_end(&r->commit);
	if (r->owned && (was_up || r->adopted))
		roudi_set_aside(r->plane, r->generation);
	if (was_up)
		segment_reclaim_add(&r->reclaim, &dead, r->generation);
	else
		segment_commit_close(&dead); /* no client of this simd has it */
	/* RouDi was ending while it was taken over: clients of the earlier simd hold the segments */
	if (!was_up && r->adopted)
		inherit(r);
	if (r->owned)
		roudi_clean(r->plane);
	r->adopted = false;
}

/* Pause until the next try; 0 right after a generation that worked. */
static int64_t pause_of(const struct roudi *r)
{
	uint32_t doublings = r->failures > DOUBLINGS_MAX ? DOUBLINGS_MAX : r->failures ? r->failures - 1 : 0;
	int64_t pause = r->failures ? RETRY_DUR_NS << doublings : 0;

	return pause < RETRY_MAX_DUR_NS ? pause : RETRY_MAX_DUR_NS;
}

static void restart(struct roudi *r, const char *why)
{
	end_generation(r, why);
	if (!r->stopping)
		exec_timer_at(&r->timer, exec_now(r->x) + pause_of(r));
}

void roudi_broken(struct roudi *r, const char *why)
{
	char text[ERR_WHY_MAX];

	if (r->phase != UP || r->stopping)
		return;
	snprintf(text, sizeof(text), "%s", why); /* why may be err_why() itself */
	roudi_log_stopped(r->output, &r->output_read);
	log_error("iox-roudi is unresponsive: %s", text);
	restart(r, text);
}

/* Counts one more failure and returns whether it is the last. After a generation that worked, retries last longer. */
static bool gives_up(struct roudi *r)
{
	int64_t now = exec_now(r->x);

	if (!r->failures++)
		r->failing_mono_ns = now;
	return r->first ? r->failures > FAILURES_MAX : now - r->failing_mono_ns >= r->retry_dur_ns;
}

/* RouDi could not be started or used; err_why() says why. */
static void start_failed(struct roudi *r, int rc, bool for_good)
{
	char why[ERR_WHY_MAX];

	snprintf(why, sizeof(why), "%s", err_why());
	if (for_good) {
		end_generation(r, why);
		give_up(r, err_set(rc, "%s", why));
		return;
	}
	log_error("the data plane is unavailable: %s; retrying", why);
	restart(r, "it could not be used");
}

/* ---- watching ---- */

/* Reaps RouDi if it is simd's child; only then is its exit status known. */
static const char *how_it_ended(struct roudi *r, char ret[PROCESS_END_TEXT])
{
	int status = PROCESS_END_UNSEEN;

	if (r->is_child)
		(void)r->ops->reap(r->user, r->proc.pid, r->pidfd, &status);
	r->is_child = false;
	return process_end_text(status, r->oom, memory_oom_kills(""), ret);
}

static void on_exit_fd(void *arg, uint32_t events)
{
	struct roudi *r = (struct roudi *)arg;
	bool early = r->phase == STARTING && exec_now(r->x) - r->started_mono_ns < EARLY_END_DUR_NS;
	char text[PROCESS_END_TEXT];
	const char *how = how_it_ended(r, text);
	bool last = r->phase == STARTING && gives_up(r);

	(void)events;
	log_at(early && r->failures == 1 && !last ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, "iox-roudi (pid %d) exited: %s",
	       (int)r->proc.pid, how);
	if (!early || last || r->failures == FAILURES_MAX + 1)
		roudi_log_output(r->output);
	if (last) {
		(void)err_set(-ECHILD, "iox-roudi exits right after its start (%s); its last lines are in the log",
			      how);
		start_failed(r, -ECHILD, true);
		return;
	}
	restart(r, "iox-roudi exited");
}

static int watch(struct roudi *r, int pidfd)
{
	int rc;

	r->pidfd = pidfd;
	rc = exec_io_add(r->x, &r->exit_io, pidfd, EPOLLIN, on_exit_fd, r);
	return rc < 0 ? err_set(rc, "iox-roudi cannot be watched: %s", err_text(rc)) : 0;
}

static bool cannot_probe(struct roudi *r, const struct roudi_job *j)
{
	bool yes = err_is_lack(j->result);

	if (yes && !r->unprobed)
		log_error("the health of iox-roudi (pid %d) cannot be checked: %s; trying again every %u ms",
			  (int)r->proc.pid, j->why, r->probe_ms);
	r->unprobed = yes;
	return yes;
}

/* Whether a probe without an answer is excused. Limited: a RouDi that never gets a CPU serves no client. */
static bool excused(struct roudi *r, const struct roudi_job *j)
{
	if (cannot_probe(r, j))
		return true;
	r->starved = j->starved ? r->starved + 1 : 0;
	if (r->starved == 1)
		log_warn("iox-roudi (pid %d) was not given a CPU for %u ms: this machine is overloaded. This does not "
			 "count as unresponsive",
			 (int)r->proc.pid, j->timeout_ms);
	return r->starved && r->starved < STARVED_MAX;
}

/*
 * Starts a second probe after one without an answer. On an overloaded machine RouDi may get a CPU just as the first
 * probe ends, and sleep again when simd checks whether it was ready to run: it looks stuck, although it answers now.
 */
static bool ask_again(struct roudi *r, const struct roudi_job *j)
{
	r->asked_again = j->result == -ETIMEDOUT && !j->starved && !r->asked_again;
	return r->asked_again &&
	       job_start(r, false, r->probe_timeout_ms < AGAIN_MS ? r->probe_timeout_ms : AGAIN_MS) == 0;
}

static void on_probed(struct roudi *r, struct roudi_job *j)
{
	if (ask_again(r, j))
		return;
	if (j->result < 0 && !excused(r, j)) {
		roudi_broken(r, j->why);
		return;
	}
	if (j->result == 0) {
		r->starved = 0;
		r->unprobed = false;
	}
	roudi_log_stopped(r->output, &r->output_read);
	if (r->owned)
		put_by(r);
	exec_timer_at(&r->timer, exec_now(r->x) + r->probe_ms * NS_PER_MS);
}

/* ---- the beginning of a generation ---- */

/* RouDi exited or was replaced during the attach: the next one may work. */
static bool is_passing(int rc)
{
	return rc == -ETIMEDOUT || rc == -ENOENT || rc == -ECONNREFUSED || rc == -ESTALE || rc == -EAGAIN;
}

/* RouDi lives, so only the attach is repeated: a new RouDi would not help simd's lack of resources. */
static void attach_later(struct roudi *r)
{
	struct segment_commit none = segment_commit_end(&r->commit);

	segment_commit_close(&none);
	log_error("the data plane is unavailable: %s; retrying", err_why());
	if (!r->stopping)
		exec_timer_at(&r->timer, exec_now(r->x) + pause_of(r));
}

static void on_attached(struct roudi *r, struct roudi_job *j)
{
	struct pools pools = r->pools;
	int rc = j->result;

	if (rc < 0) {
		err_set(rc, "%s", j->why);
	} else if (!r->owned) {
		rc = roudi_foreign_pools(j->ipc, &r->pools, &pools);
		if (rc < 0)
			ipc_detach(j->ipc);
	}
	if (rc == 0) {
		rc = begin_memory(r, &pools);
		if (rc < 0)
			ipc_detach(j->ipc);
	}
	if (rc == 0) {
		r->phase = UP;
		if (r->first && r->inherits && !r->adopted)
			r->put_by_mono_ns = exec_now(r->x) + RETURN_DUR_NS;
		r->robust = roudi_is_robust(r->proc.pid);
		if (r->first && !r->robust)
			log_warn("the locks of iox-roudi (pid %d) are not robust: a program that is killed while it publishes can "
				 "leave one behind, which ends this generation of the data plane",
				 (int)r->proc.pid);
		rc = r->ev.up(r->arg, j->ipc, r->generation, &pools);
	}
	if (rc < 0) { /* -ENOTRECOVERABLE: this process has used up its attachments, so retrying does not help */
		bool room = r->inherits && rc == -ENOSPC;
		bool for_good =
			(r->first && !is_passing(rc) && !room) || rc == -ENOTRECOVERABLE || !r->owned || gives_up(r);

		if (!for_good && r->phase == STARTING && (err_is_lack(rc) || rc == -EAGAIN || rc == -ESTALE))
			attach_later(r);
		else
			start_failed(r, rc, for_good);
		return;
	}
	if (r->owned)
		put_by(r);
	r->first = false;
	r->failures = 0;
	r->ev.changed(r->arg);
	exec_timer_at(&r->timer, exec_now(r->x) + r->probe_ms * NS_PER_MS);
}

static int spawn_roudi(struct roudi *r)
{
	const char *argv[] = { r->path, "-c", r->config, "-m", "off", "-l", r->log, NULL };
	char *env[ROUDI_ENV_MAX] = { NULL };
	struct spawn s = { .argv = argv, .env = (const char *const *)env, .output = r->output, .outlive = true };
	struct spawned child;
	int rc = roudi_environment(r->plane, env);

	if (rc == 0)
		rc = r->ops->start(r->user, &s, &child);
	for (unsigned i = 0; i < ROUDI_ENV_MAX; i++)
		mem_free(env[i]);
	if (rc < 0)
		return err_prefix(rc, "RouDi (package iceoryx)");
	r->output_read = 0;
	r->owned = true;
	r->is_child = true;
	r->proc = state_proc_of(child.pid);
	r->proc.pid = child.pid;
	r->started_mono_ns = exec_now(r->x);
	r->oom = memory_oom_kills("");
	r->generation++; /* counted although the generation is not in use yet: this RouDi may outlive simd */
	r->ev.changed(r->arg);
	log_info("iox-roudi started, pid %d", (int)child.pid);
	return watch(r, child.pidfd);
}

static int begin(struct roudi *r)
{
	int rc = spawn_roudi(r);

	r->phase = STARTING;
	if (rc == 0)
		rc = job_start(r, true, r->ready_ms);
	return rc;
}

/* The first start needs no memory reserve: the killed simd's is gone, and the new one is made later. */
static int64_t bytes_to_start(const struct roudi *r)
{
	return r->ev.need(r->arg) + ROOM_SPARE - (r->first ? POOL_ASIDE_BYTES : 0);
}

/* A simd that inherits nothing has no older generation to wait for, so it starts at once. */
static bool has_room(struct roudi *r)
{
	int64_t known_dur_ns = r->first ? ALONE_DUR_NS : ROOM_DUR_NS;

	if ((r->first && !r->inherits) || roudi_room_look(&r->room, exec_now(r->x), bytes_to_start(r)))
		return true;
	if (exec_now(r->x) - r->room.full_mono_ns >= known_dur_ns)
		segment_reclaim_for_room(&r->reclaim);
	r->failures = 0; /* counting starts at 0 once there is room */
	return false;
}

/* Starts the next RouDi as soon as /dev/shm has room for it. */
static int begin_with_room(struct roudi *r)
{
	int64_t bound_dur_ns = r->first ? r->retry_dur_ns : INT64_MAX;

	if (has_room(r))
		return begin(r);
	if (roudi_room_over(&r->room, exec_now(r->x), bytes_to_start(r), bound_dur_ns))
		give_up(r, -ENOSPC);
	else
		exec_timer_at(&r->timer, exec_now(r->x) + ROOM_DUR_NS);
	return 0;
}

static void on_timer(void *arg)
{
	struct roudi *r = (struct roudi *)arg;
	int rc;

	if (r->phase == UP) {
		if (job_start(r, false, r->probe_timeout_ms) < 0)
			exec_timer_at(&r->timer, exec_now(r->x) + r->probe_ms * NS_PER_MS);
		return;
	}
	if (r->phase == STARTING) {
		rc = job_start(r, true, r->ready_ms);
		if (rc < 0)
			start_failed(r, rc, gives_up(r));
		return;
	}
	if (!r->owned) {
		give_up(r,
			err_set(-ENOENT,
				"the RouDi that simd used has exited, and simd did not start it; start it again, then simd"));
		return;
	}
	rc = begin_with_room(r);
	if (rc < 0)
		start_failed(r, rc, gives_up(r));
}

/* ---- one that runs already ---- */

static int use_present(struct roudi *r, pid_t pid, bool owned)
{
	int rc, fd = fd_pidfd_open(pid);

	if (fd < 0)
		return err_prefix(fd, "iox-roudi (pid %d)", (int)pid);
	r->owned = owned;
	r->proc = state_proc_of(pid);
	rc = watch(r, fd);
	if (rc < 0)
		return rc;
	r->phase = STARTING;
	r->started_mono_ns = exec_now(r->x) - EARLY_END_DUR_NS;
	log_info("iox-roudi (pid %d) runs already%s", (int)pid,
		 owned ? ", left by an earlier simd" : "; it is used, and not stopped");
	return job_start(r, true, 4000);
}

/* Starts the next RouDi. Sets dead segments aside: a killed simd's clients hold them until they have moved. */
static int succeed(struct roudi *r)
{
	r->owned = true;
	roudi_set_aside(r->plane, r->generation);
	inherit(r);
	roudi_clean(r->plane);
	return begin_with_room(r);
}

static int replace(struct roudi *r, struct state_proc proc, const char *why)
{
	log_info("replacing iox-roudi (pid %d), left by an earlier simd: it %s", (int)proc.pid, why);
	r->owned = true;
	r->proc = proc;
	r->pidfd = fd_pidfd_open(proc.pid);
	if (r->pidfd >= 0)
		kill_process(r);
	forget_process(r);
	return succeed(r);
}

/* Keeps the RouDi of a killed simd if it has the same pools; otherwise replaces it. */
static int adopt(struct roudi *r)
{
	if (r->left.hash != r->config_hash)
		return replace(r, r->left.proc,
			       "does not have the configured pools, or belonged to a simd of another wire version");
	if (ipc_probe(r->plane, r->probe_timeout_ms) < 0)
		return replace(r, r->left.proc, "does not answer");
	r->adopted = true;
	inherit(r);
	r->oom = memory_oom_kills("");
	return use_present(r, r->left.proc.pid, true);
}

static int use_external(struct roudi *r)
{
	pid_t pid;
	int rc = 0;

	/* a RouDi that was just killed serves its socket until the kernel has ended it */
	while (!(pid = roudi_find(r->plane, NULL)) && rc++ < DYING_TRIES && ipc_probe(r->plane, 200) == 0)
		(void)fd_wait(-1, 0, RETRY_DUR_NS);
	rc = ipc_probe(r->plane, 200);
	if (rc == -EACCES && roudi_runs())
		return err_set(rc, "%s", ipc_why());
	if (!pid && rc < 0)
		return err_set(
			-ENOENT,
			"no iox-roudi runs, and roudi.start is \"external\"; start one with -m off, or set \"simd\"");
	if (pid == 0)
		return err_set(
			-EPROTO,
			"a process serves /tmp/roudi, but no iox-roudi process is visible; stop it, then start simd");
	rc = roudi_suits(pid);
	if (rc < 0)
		return rc;
	/* clients of an earlier simd are attached to it: for them it is the same generation */
	r->adopted = r->left.proc.pid == pid && state_proc_alive(&r->left.proc) && r->generation > 0;
	r->generation += !r->adopted;
	return use_present(r, pid, false);
}

int roudi_start(struct roudi *r)
{
	pid_t pid;

	if (!*r->plane)
		return use_external(r);
	if (r->left.owned && state_proc_alive(&r->left.proc) && !state_proc_ending(r->left.proc.pid) &&
	    roudi_is_ours(r->left.proc.pid, r->config))
		return adopt(r);
	/* a RouDi of this runtime directory, started by a simd that was killed before it had recorded that */
	pid = roudi_find(r->plane, r->config);
	if (pid)
		return replace(r, state_proc_of(pid), "is in no state file");
	return succeed(r);
}

/* ---- making and ending ---- */

/*
 * Generation numbers grow across restarts of simd, also after orderly stops that leave no state file: a client takes an
 * equal number for the generation that it knows. So the first number comes from the clock of this boot, in tenths of a
 * second, which grows faster than generations can follow each other.
 */
static uint32_t first_generation(const struct roudi *r)
{
	return (uint32_t)(exec_now(r->x) / (100 * NS_PER_MS));
}

static int copy_options(struct roudi *r, const struct roudi_options *o)
{
	struct conf_view v = conf_object(conf_root(o->conf), "roudi");

	r->ready_ms = (uint32_t)conf_int(v, "ready_ms");
	r->probe_ms = (uint32_t)conf_int(v, "probe_ms");
	r->probe_timeout_ms = (uint32_t)conf_int(v, "probe_timeout_ms");
	r->retry_dur_ns = conf_int(v, "retry_ms") * NS_PER_MS;
	r->path = conf_string(v, "path");
	r->log = conf_string(v, "log");
	r->app = mem_strdup(o->app);
	r->plane = o->plane;
	r->dir = mem_strdup(o->runtime_dir);
	r->output = mem_printf("%s/roudi.log", o->runtime_dir);
	r->output_before = mem_printf("%s/roudi.log.1", o->runtime_dir);
	if (!r->app || !r->dir || !r->output || !r->output_before)
		return err_nomem();
	if (o->state) {
		r->generation = o->state->generation;
		r->left.proc = o->state->roudi;
		r->left.owned = o->state->roudi_owned;
		r->left.hash = o->state->roudi_hash;
		r->inherits = true;
	}
	return 0;
}

int roudi_create(const struct roudi_options *o, struct roudi **ret)
{
	struct roudi *r = MEM_NEW(struct roudi);
	int rc;

	if (!r)
		return err_nomem();
	r->x = o->x;
	r->helper = o->helper;
	r->ops = o->ops;
	r->user = o->user;
	r->ev = o->events;
	r->arg = o->arg;
	r->pools = *o->pools;
	r->pidfd = -1;
	segment_commit_init(&r->commit);
	r->first = true;
	exec_timer_init(&r->timer, r->x, on_timer, r);
	segment_reclaim_init(&r->reclaim, r->x, o->plane);
	rc = copy_options(r, o);
	if (r->generation == 0)
		r->generation = first_generation(r);
	if (rc == 0)
		rc = roudi_write_config(r->dir, &r->pools, &r->config, &r->config_hash);
	if (rc < 0) {
		roudi_destroy(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void roudi_closing(struct roudi *r)
{
	r->stopping = true;
}

void roudi_destroy(struct roudi *r)
{
	if (!r)
		return;
	r->stopping = true;
	if (r->phase != ABSENT) {
		r->phase = STARTING; /* no lost() event */
		end_generation(r, "simd ends");
	}
	exec_timer_cancel(&r->timer);
	segment_reclaim_finish(&r->reclaim);
	if (r->config)
		(void)unlink(r->config);
	if (r->output)
		(void)unlink(r->output);
	if (r->output_before)
		(void)unlink(r->output_before);
	mem_free(r->config);
	mem_free(r->output);
	mem_free(r->output_before);
	mem_free(r->app);
	mem_free(r->dir);
	mem_free(r);
}

void roudi_info(const struct roudi *r, struct roudi_info *ret)
{
	*ret = (struct roudi_info){
		.proc = r->proc,
		.owned = r->owned,
		.generation = r->generation,
		.config_hash = r->config_hash,
		.adopted = r->adopted,
		.robust = r->robust,
	};
}
