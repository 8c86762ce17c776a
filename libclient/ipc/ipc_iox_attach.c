/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attachment of this module: claimed, started, attached, over. RouDi's answers are awaited on one thread of the
 * module, the worker, while the caller waits with a time limit; whatever fails there, the caller gets its errno.
 *
 * Thread: any; att.lock guards the status and the one job, att.state_lock the address of the state word.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "iox_plane.h"
#include "ipc_iox_int.h"

#define MSG_TERMINATION     18
#define WORKER_SPARE_DUR_NS (PROC_SPARE_DUR_NS + INT64_C(1000000000)) /* longer than the worker's own limit */

enum att_status { ATT_FREE, ATT_IN_USE, ATT_SPENT };

/* The one attachment of this module. */
static struct {
	pthread_mutex_t lock; /* guards the following members */
	pthread_cond_t cond;  /* a job was posted or is done */
	enum att_status status;
	bool worker_runs, stuck;
	bool late; /* the caller of the job did not wait for it, and may ask again */
	bool slow; /* the last job was late too: hardly wait for the next one */
	int64_t late_done_mono_ns;
	pthread_t worker;
	pid_t worker_tid; /* 0: it has not run yet */
	struct iox_job job;
	char name[128];
	char plane[PLANE_MAX]; /* fixed once the worker runs */
	/* errno for which the start waits in iox_start_lacks() to be continued; 0: it does not wait */
	int lacks;
	char lacks_what[160];
	_Atomic bool started, dead, prompt;
	_Atomic pid_t roudi; /* 0: no process whose lack of a CPU is excused */
	/* Locked for a few instructions at a time, also inside hooks: it keeps the state word's page mapped. */
	pthread_mutex_t state_lock;
	_Atomic uint32_t *state; /* state word of the attached ipc, NULL none */
} att = { .lock = PTHREAD_MUTEX_INITIALIZER, .state_lock = PTHREAD_MUTEX_INITIALIZER };

static void set_state_word(_Atomic uint32_t *state)
{
	pthread_mutex_lock(&att.state_lock);
	att.state = state;
	pthread_mutex_unlock(&att.state_lock);
}

/* Whether the attached ipc was abandoned, but not detached yet. */
static bool state_is_over(void)
{
	bool over;

	pthread_mutex_lock(&att.state_lock);
	over = att.state && atomic_load(att.state) != IPC_LIVE;
	pthread_mutex_unlock(&att.state_lock);
	return over;
}

static void state_to_stale(void)
{
	uint32_t live = IPC_LIVE;

	pthread_mutex_lock(&att.state_lock);
	if (att.state)
		atomic_compare_exchange_strong(att.state, &live, IPC_STALE);
	pthread_mutex_unlock(&att.state_lock);
}

/* ---- the end of an attachment ---- */

/* Called from any thread, also from inside iceoryx. */
void iox_attachment_over(void)
{
	atomic_store(&att.dead, true);
	iox_set_quiet(true);
	state_to_stale();
	iox_wake_waiters();
}

void iox_roudi_gone(void)
{
	if (atomic_load(&att.started))
		iox_attachment_over();
}

static _Noreturn void park(void)
{
	for (;;)
		pause();
}

/*
 * Whether the error ends the attachment: a reply that did not come may still come, and would be taken for the next
 * one's, so nothing more can be created.
 */
static bool ends_attachment(int r)
{
	return r == -ETIMEDOUT || r == -ESTALE || r == -EIO;
}

/* The errno of what the hooks saw. */
int iox_error_of(int fallback)
{
	const char *e = iox_error_name(atomic_load(&iox_report.error));

	if (atomic_load(&iox_report.unanswered))
		return -ETIMEDOUT;
	if (strstr(e, "SAME_NAME") || strstr(e, "FILE_LOCK"))
		return -EEXIST;
	if (strstr(e, "LIST_FULL"))
		return -EMFILE;
	if (strstr(e, "NO_WRITABLE_SHM_SEGMENT") || strstr(e, "MORE_THAN_ONE_WRITE_SEGMENT"))
		return -EACCES;
	if (strstr(e, "REG_ROUDI_NOT_AVAILABLE") || strstr(e, "NO_RESPONSE"))
		return -ETIMEDOUT;
	if (atomic_load(&att.dead))
		return -ESTALE;
	return fallback;
}

_Noreturn void iox_fatal_unguarded(void)
{
	if (att.worker_runs && pthread_equal(pthread_self(), att.worker)) {
		pthread_mutex_lock(&att.lock);
		att.stuck = true;
		att.job.result = iox_error_of(-EIO);
		att.job.done = true;
		pthread_cond_broadcast(&att.cond);
		pthread_mutex_unlock(&att.lock);
	}
	iox_attachment_over();
	park();
}

/* ---- resources that are missing during the start ---- */

/* iceoryx would end the process for lack of any of these, and its runtime cannot be started twice. */
static bool is_want(int e)
{
	return e == ENOSPC || e == EDQUOT || e == EROFS || e == EACCES || e == EPERM || e == EMFILE || e == ENFILE ||
	       e == ENOMEM || e == ENOBUFS || e == EAGAIN;
}

bool iox_start_lacks(int e, const char *what)
{
	if (!is_want(e) || atomic_load(&att.started) || !att.worker_runs || !pthread_equal(pthread_self(), att.worker))
		return false;
	pthread_mutex_lock(&att.lock);
	att.lacks = e;
	snprintf(att.lacks_what, sizeof(att.lacks_what), "%s", what);
	pthread_cond_broadcast(&att.cond);
	while (att.lacks)
		pthread_cond_wait(&att.cond, &att.lock);
	pthread_mutex_unlock(&att.lock);
	return true;
}

/* ---- the worker ---- */

static void *worker_main(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "sim-ipc");
	pthread_mutex_lock(&att.lock);
	att.worker_tid = gettid();
	for (;;) {
		bool over;
		int r;

		while (att.job.kind == JOB_NONE || att.job.done)
			pthread_cond_wait(&att.cond, &att.lock);
		pthread_mutex_unlock(&att.lock);
		atomic_store(&iox_report.error, 0);
		atomic_store(&iox_report.unanswered, false);
		r = iox_run_job(&att.job);
		if (att.job.kind == JOB_START)
			atomic_store(&att.started, true);
		pthread_mutex_lock(&att.lock);
		att.job.result = r;
		att.job.done = true;
		att.late_done_mono_ns = iox_mono_now_ns();
		pthread_cond_broadcast(&att.cond);
		over = att.late && ends_attachment(r);
		pthread_mutex_unlock(&att.lock);
		if (over)
			iox_attachment_over();
		pthread_mutex_lock(&att.lock);
	}
	return NULL;
}

/*
 * Starts the worker with all signals blocked, as are those of the threads that iceoryx starts from it: they belong to
 * the host program.
 */
static int start_worker(void)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int r;

	if (att.worker_runs)
		return 0;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&att.cond, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	att.worker_runs = true;
	r = pthread_create(&att.worker, NULL, worker_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r) {
		att.worker_runs = false;
		return -r;
	}
	pthread_detach(att.worker);
	return 0;
}

void iox_wait_begin(struct proc_wait *w, int64_t bound_ms, bool excused)
{
	*w = (struct proc_wait){ .pid = { atomic_load(&att.roudi) } };
	proc_wait_begin(w, iox_mono_now_ns(), bound_ms * 1000000, excused ? PROC_SPARE_DUR_NS : 0);
}

/*
 * Whether the worker's delay is excused: it waits for RouDi, which has a limit of its own, or it is ready to run
 * without a CPU. att.lock held.
 */
static bool worker_excused(void)
{
	struct proc_cpu c = { 0 };
	char tid[16];

	if (atomic_load(&iox_report.waits) || !att.worker_tid)
		return true;
	snprintf(tid, sizeof(tid), "%d", (int)att.worker_tid);
	proc_cpu_add(&c, getpid(), tid);
	return c.ready;
}

/*
 * Whether a prompt caller stops waiting early for a RouDi that is ready to run: the caller will ask for the same again.
 */
static bool goes_early(int64_t waited_dur_ns)
{
	return atomic_load(&att.prompt) &&
	       waited_dur_ns >= (att.slow ? IOX_SLOW_MS : IOX_PROMPT_MS) * INT64_C(1000000) &&
	       proc_cpu_now(atomic_load(&att.roudi)).ready;
}

/* att.lock held. -ETIMEDOUT: the job still runs. */
static int await_job(uint32_t timeout_ms)
{
	int64_t begin = iox_mono_now_ns(), end = begin + (int64_t)timeout_ms * 1000000 + WORKER_SPARE_DUR_NS;
	struct proc_wait w;

	iox_wait_begin(&w, timeout_ms, !atomic_load(&att.prompt));
	while (!att.job.done) {
		int64_t now = iox_mono_now_ns(), next;
		bool over = proc_wait_over(&w, now);
		struct timespec until;

		if (att.lacks)
			return -att.lacks;
		if (goes_early(now - begin) || (over && (atomic_load(&att.prompt) || now >= end || !worker_excused())))
			return -ETIMEDOUT;
		next = over ? now + PROC_SLICE_DUR_NS : proc_wait_until(&w);
		if (att.slow && next > begin + IOX_SLOW_MS * INT64_C(1000000))
			next = now + IOX_SLOW_MS * INT64_C(1000000);
		until = (struct timespec){ next / 1000000000, next % 1000000000 };
		pthread_cond_timedwait(&att.cond, &att.lock, &until);
	}
	return att.job.result;
}

static const char *create_refusal(int r)
{
	switch (r) {
	case -ETIMEDOUT:
		return "RouDi did not answer; it is stopped or stuck, attach again when simd has restarted it";
	case -EMFILE:
		return "the data plane has no port of this kind left; it has 506 for publishers, 1024 for subscribers";
	case -EACCES:
		return "this user may not write to the payload segment; join its writer group";
	case -ESTALE:
		return "RouDi has exited; attach again";
	case -EAGAIN:
		return "RouDi has no CPU to answer, this machine is overloaded; it is still waited for, try again in a moment";
	case -EIO:
		return "RouDi's answers are out of step; attach again";
	default:
		return "iceoryx refused";
	}
}

/* ---- creations that their callers no longer wait for ---- */

/*
 * Whether the job may finish after its caller left: RouDi, or this worker, would answer if it had a CPU. att.lock held.
 */
static bool may_be_late(void)
{
	return atomic_load(&att.prompt) && (att.job.kind == JOB_PUB || att.job.kind == JOB_SUB) && worker_excused();
}

static bool same_port(const struct iox_job *a, const struct iox_job *b)
{
	return a->kind == b->kind && a->depth == b->depth && a->history == b->history &&
	       strcmp(a->service, b->service) == 0 && strcmp(a->instance, b->instance) == 0 &&
	       strcmp(a->event, b->event) == 0;
}

static void drop_late(void)
{
	if (att.late && att.job.result == 0 && !atomic_load(&att.dead))
		iox_drop_port(&att.job);
	att.late = false;
}

/*
 * Returns 1: the late job is what j asks for, and j has its result; 0: there is no late job any more; -EAGAIN: the
 * worker is busy with one. att.lock held.
 */
static int take_late(struct iox_job *j)
{
	if (!att.late)
		return 0;
	if (!att.job.done && !atomic_load(&att.prompt))
		(void)await_job(IOX_CREATE_MS);
	if (!att.job.done)
		return -EAGAIN;
	if (!same_port(&att.job, j)) {
		if (iox_mono_now_ns() - att.late_done_mono_ns < IOX_KEEP_MS * INT64_C(1000000))
			return -EAGAIN; /* else two callers would keep dropping each other's */
		drop_late();
		return 0;
	}
	att.late = false;
	*j = att.job;
	return 1;
}

/* att.lock held. */
static int run_job(const struct iox_job *j)
{
	int r;

	att.job = *j;
	pthread_cond_broadcast(&att.cond);
	r = await_job(IOX_CREATE_MS);
	att.slow = r == -ETIMEDOUT;
	if (r != -ETIMEDOUT || att.job.done || !may_be_late())
		return r;
	att.late = true;
	return -EAGAIN;
}

/*
 * Runs a creation on the worker. If it is not answered the attachment ends: its late reply would be taken for the next
 * creation's, which would then use another's port. The same if the answer does not belong to it.
 */
int iox_create(struct iox_job *j, struct ipc_text *why, const char *what)
{
	bool busy;
	int r;

	pthread_mutex_lock(&att.lock);
	busy = att.stuck || (att.job.kind != JOB_NONE && !att.job.done && !att.late);
	r = busy ? -ESTALE : take_late(j);
	if (r < 0)
		j->out = NULL;
	else
		r = r == 1 ? j->result : run_job(j);
	pthread_mutex_unlock(&att.lock);
	if (r < 0)
		snprintf(why->s, sizeof(why->s), "%s %.99s: %s (iceoryx: %s)", what, j->instance, create_refusal(r),
			 iox_error_name(atomic_load(&iox_report.error)));
	if (ends_attachment(r))
		iox_attachment_over();
	return r == -EIO ? -ESTALE : r;
}

/* ---- attach and detach ---- */

/*
 * Nothing is attached any more and the worker is not inside iceoryx, so it reads no shared memory. Its segments have no
 * name any more, and are freed when their last mapping goes. att.lock held.
 */
static void give_back(void)
{
	if (!att.stuck && (att.job.kind == JOB_NONE || att.job.done))
		iox_seg_drop();
}

int iox_reserve(void)
{
	bool over;
	int r = 0;

	if (!iox_own_process())
		return -EPERM;
	pthread_mutex_lock(&att.lock);
	over = atomic_load(&att.dead) || att.stuck || state_is_over();
	if (att.status == ATT_FREE && (over || (atomic_load(&att.started) && !iox_seg_current()))) {
		att.status = ATT_SPENT;
		give_back();
	} else if (over) {
		att.status = ATT_SPENT; /* the ipc that is attached to it frees it */
	}
	if (att.status == ATT_IN_USE)
		r = -EEXIST;
	else if (att.status == ATT_SPENT)
		r = -ESTALE;
	else
		att.status = ATT_IN_USE;
	pthread_mutex_unlock(&att.lock);
	return r;
}

bool iox_registered(void)
{
	return iox_own_process() && atomic_load(&att.started) && !atomic_load(&att.dead);
}

static const char *attach_refusal(int r)
{
	switch (r) {
	case -ETIMEDOUT:
		return "RouDi is there but does not answer; it is stopped or stuck: simd restarts it, or end it with SIGKILL";
	case -EEXIST:
		return "an application of this name is attached already; give each its own name";
	case -EACCES:
		return "this process may not use the payload segment; join its reader and writer group";
	case -ESTALE:
		return "RouDi was replaced meanwhile; attach again";
	default:
		return "RouDi refused this process";
	}
}

/* att.lock held. */
static int start_attachment(const struct ipc_start *start)
{
	int r = start_worker();

	if (r < 0)
		return r;
	if (att.job.kind == JOB_NONE) {
		snprintf(att.name, sizeof(att.name), "%s", start->name);
		snprintf(att.plane, sizeof(att.plane), "%s", start->plane);
		snprintf(att.job.instance, sizeof(att.job.instance), "%s", start->name);
		att.job.kind = JOB_START;
	}
	att.lacks = 0;
	pthread_cond_broadcast(&att.cond);
	/* Otherwise this is the start of an attach that gave up: it may still succeed, or has. */
	return atomic_load(&att.started) ? 0 : await_job(start->timeout_ms);
}

/* Deregisters from RouDi, which frees what it keeps of this attachment; removes this process's files. */
static void farewell(void)
{
	const struct sockaddr_un a = iox_roudi_address();
	char msg[160], path[160];
	int n = snprintf(msg, sizeof(msg), "%d,%s,", MSG_TERMINATION, att.name);
	int fd;

	if (iox_seg_current()) { /* not if RouDi has never known this attachment */
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd >= 0) {
			sendto(fd, msg, (size_t)n + 1, MSG_NOSIGNAL, (const struct sockaddr *)&a, sizeof(a));
			close(fd);
		}
	}
	(void)plane_file(att.plane, att.name, path, sizeof(path));
	unlink(path);
	strcat(path, ".lock");
	unlink(path);
}

static void say_refusal(int r, int lacks, struct ipc_text *why)
{
	if (lacks)
		snprintf(why->s, sizeof(why->s), "%s: %s; attach again when there is", att.lacks_what, strerror(lacks));
	else if (att.job.kind == JOB_NONE)
		snprintf(why->s, sizeof(why->s), "no thread to attach with: %s; attach again when there is",
			 strerror(-r));
	else
		snprintf(why->s, sizeof(why->s), "%s (iceoryx: %s)", attach_refusal(r),
			 iox_error_name(atomic_load(&iox_report.error)));
}

/*
 * Whether the same attachment can serve the next attach: it has not begun, or its start waits for a resource. att.lock
 * held.
 */
static bool is_unspent(int r)
{
	return att.job.kind == JOB_NONE || att.lacks || (r == -ETIMEDOUT && !att.stuck);
}

int iox_attach(const struct ipc_start *start, struct ipc_text *why, void **ret)
{
	struct iox_seg seg;
	int r;

	pthread_mutex_lock(&att.lock);
	set_state_word(start->state);
	atomic_store(&att.roudi, start->roudi);
	atomic_store(&att.prompt, false);
	r = start_attachment(start);
	if (r == 0 && !iox_seg_current())
		r = -ESTALE; /* the mapped memory is not that of the RouDi that answered, or RouDi is going away */
	if (r == 0 && iox_seg_payload(&seg) < 0)
		r = -EACCES;
	if (r < 0) {
		set_state_word(NULL);
		att.status = is_unspent(r) ? ATT_FREE : ATT_SPENT;
		say_refusal(r, att.lacks, why);
		/*
		 * the worker is parked inside iceoryx with its files; files of that name that belong to another
		 * application are left alone
		 */
		if (att.stuck && r != -EEXIST)
			farewell();
	}
	pthread_mutex_unlock(&att.lock);
	if (r == -ESTALE)
		iox_attachment_over();
	if (r < 0)
		return r;
	*ret = &att; /* only a token: the module has this one attachment */
	return 0;
}

void iox_be_prompt(void *back)
{
	(void)back;
	atomic_store(&att.prompt, true);
}

void iox_detach(void *back, bool dead)
{
	(void)back;
	if (dead)
		iox_attachment_over();
	pthread_mutex_lock(&att.lock);
	set_state_word(NULL);
	if (att.job.done)
		drop_late();
	if (atomic_load(&att.dead)) {
		att.status = ATT_SPENT;
		farewell();
		give_back();
	} else {
		att.status = ATT_FREE;
	}
	pthread_mutex_unlock(&att.lock);
}

/* At exit of the host process; iceoryx's own destructors do not run. */
__attribute__((destructor)) static void at_exit(void)
{
	if (!iox_own_process() || !atomic_load(&att.started) || att.status == ATT_SPENT)
		return;
	state_to_stale(); /* threads that still run must not enter ports that RouDi frees now */
	iox_set_quiet(true);
	farewell();
}

int iox_segment(void *back, struct ipc_segment *ret)
{
	struct iox_seg seg;
	int r = iox_seg_payload(&seg);

	(void)back;
	if (r == 0)
		*ret = (struct ipc_segment){ .base = seg.base, .size = seg.size };
	return r;
}

const char *iox_end_error(void *back)
{
	(void)back;
	if (atomic_load(&iox_report.unanswered))
		return "no answer from RouDi in time";
	return iox_error_name(atomic_load(&iox_report.error));
}

/* Checked while no creation waits for an answer: under the lock none can begin. */
bool iox_stray(void *back)
{
	struct pollfd p = { .fd = iox_own_socket(), .events = POLLIN };
	bool yes;

	(void)back;
	pthread_mutex_lock(&att.lock);
	yes = p.fd >= 0 && (att.job.kind == JOB_NONE || att.job.done) && poll(&p, 1, 0) > 0;
	pthread_mutex_unlock(&att.lock);
	return yes;
}

int iox_prefault(void *back, uint64_t at, uint64_t bytes, int64_t until_mono_ns)
{
	(void)back;
	return iox_seg_prefault(at, bytes, until_mono_ns);
}

bool iox_attachment_started(void)
{
	return atomic_load_explicit(&att.started, memory_order_relaxed);
}

const char *iox_plane(void)
{
	return att.plane;
}

bool iox_plane_lacks(int e)
{
	return iox_start_lacks(e, "the user database");
}

const char *iox_runtime_name(void)
{
	return att.name;
}

bool iox_attachment_dead(void)
{
	return atomic_load_explicit(&att.dead, memory_order_relaxed);
}
