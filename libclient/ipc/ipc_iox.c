/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_iox: the iceoryx 2.0.3 backend of the data plane, the only file that includes iceoryx. It is
 * linked into the module ipc_iox.so, which ipc_load.c loads into a fresh link namespace per life.
 *
 * Threads: everything that RouDi has to answer (start, creating ports and condition variables) runs on
 *          one thread of this module, the worker, while the caller waits with a time limit; whatever
 *          goes wrong in there, the caller gets its errno. The data path runs on the caller's thread
 *          inside a guard.
 * Never:   thread_local, pthread keys (they collide across namespaces), iceoryx's static destructors.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "iceoryx_binding_c/api.h"

#include "ipc_iox_int.h"

#define SERVICE "sim"
#define EVENT   "msg"
#define WAITER_EVENTS 65            /* 64 subscribers and the wake-up */
#define TRIGGER_ID 0u
#define SUB_ID     1u
#define MSG_TERMINATION 18

enum life_status { LIFE_FREE, LIFE_IN_USE, LIFE_SPENT };

enum job_kind { JOB_NONE, JOB_START, JOB_PUB, JOB_SUB, JOB_WAITER, JOB_POOLS };

/* One request to the worker. Its strings live here, so a caller may give up waiting. */
struct job {
	enum job_kind kind;
	bool     done;
	int      result;
	uint32_t depth, history;
	char     service[16], instance[128], event[16];
	void    *out;
};

struct port {
	struct iox_guard guard;
	union {
		iox_pub_t pub;
		iox_sub_t sub;
	};
	union {
		iox_pub_storage_t pub_storage;
		iox_sub_storage_t sub_storage;
	};
};

struct waiter {
	struct iox_guard   guard;
	iox_ws_t           ws;
	iox_user_trigger_t trigger;
	iox_ws_storage_t   ws_storage;
	iox_user_trigger_storage_t trigger_storage;
	struct waiter     *next;        /* life.waiters */
};

/* The one life of this module. */
static struct {
	pthread_mutex_t   lock;         /* guards what follows */
	pthread_cond_t    cond;         /* a job was posted or is done */
	enum life_status  status;
	bool              worker_runs, stuck;
	pthread_t         worker;
	struct job        job;
	char              name[128];
	struct waiter    *waiters;
	struct port      *pools_sub;
	unsigned int      n_pools;
	struct ipc_pool   pools[32];
	_Atomic bool      started, dead;
	/* Locked for a few instructions at a time, also inside hooks: it keeps the state word's page in place. */
	pthread_mutex_t   state_lock;
	_Atomic uint32_t *state;        /* of the ipc that is attached, NULL none */
} life = { .lock = PTHREAD_MUTEX_INITIALIZER, .state_lock = PTHREAD_MUTEX_INITIALIZER };

static void set_state_word(_Atomic uint32_t *state)
{
	pthread_mutex_lock(&life.state_lock);
	life.state = state;
	pthread_mutex_unlock(&life.state_lock);
}

/* An ipc is attached that has been abandoned, but not detached yet. */
static bool state_is_over(void)
{
	bool over;

	pthread_mutex_lock(&life.state_lock);
	over = life.state && atomic_load(life.state) != IPC_LIVE;
	pthread_mutex_unlock(&life.state_lock);
	return over;
}

static void state_to_stale(void)
{
	uint32_t live = IPC_LIVE;

	pthread_mutex_lock(&life.state_lock);
	if (life.state)
		atomic_compare_exchange_strong(life.state, &live, IPC_STALE);
	pthread_mutex_unlock(&life.state_lock);
}

/* ---- the end of a life ---- */

static void wake_waiters(void)
{
	for (struct waiter *w = life.waiters; w; w = w->next)
		iox_user_trigger_trigger(w->trigger);
}

/* From any thread, also from inside iceoryx; never with life.lock held. */
static void life_over(void)
{
	atomic_store(&life.dead, true);
	iox_set_quiet(true);
	state_to_stale();
	pthread_mutex_lock(&life.lock);
	wake_waiters();
	pthread_mutex_unlock(&life.lock);
}

void iox_roudi_gone(void)
{
	if (atomic_load(&life.started))
		life_over();
}

static _Noreturn void park(void)
{
	for (;;)
		pause();
}

/* errno of what the hooks saw. */
static int error_of(int fallback)
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
	if (atomic_load(&life.dead))
		return -ESTALE;
	return fallback;
}

_Noreturn void iox_fatal_unguarded(void)
{
	if (life.worker_runs && pthread_equal(pthread_self(), life.worker)) {
		pthread_mutex_lock(&life.lock);
		life.stuck = true;
		life.job.result = error_of(-EIO);
		life.job.done = true;
		pthread_cond_broadcast(&life.cond);
		pthread_mutex_unlock(&life.lock);
	}
	life_over();
	park();
}

/* A FATAL error inside a guard: the life is over, its data stays readable. */
static int guard_died(struct iox_guard *g)
{
	iox_guard_leave(g);
	life_over();
	return -ESTALE;
}

/* ---- the worker ---- */

static void silence(void)
{
	int fd;

	if (getenv("SIM_IPC_DEBUG")) {
		iox_set_loglevel(Iceoryx_LogLevel_Debug);
		return;
	}
	iox_set_loglevel(Iceoryx_LogLevel_Off);
	/* What goes to std::cerr cannot be switched off: a kilobyte for every loan from an empty pool. This FILE is ours alone. */
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		stderr->_fileno = fd;
}

static int do_start(void)
{
	silence();
	iox_runtime_init(life.name);
	atomic_store(&life.started, true);
	return 0;
}

static int refused(void *handle)
{
	/* The handle's first member is the port; NULL is the only sign of a refused creation. */
	if (handle && *(void **)handle)
		return 0;
	return error_of(-EIO);
}

static int do_pub(struct job *j, struct port *p)
{
	iox_pub_options_t o;

	iox_pub_options_init(&o);
	o.historyCapacity = j->history;
	o.subscriberTooSlowPolicy = ConsumerTooSlowPolicy_DISCARD_OLDEST_DATA;
	p->pub = iox_pub_init(&p->pub_storage, j->service, j->instance, j->event, &o);
	return refused(p->pub);
}

static int do_sub(struct job *j, struct port *p)
{
	iox_sub_options_t o;

	iox_sub_options_init(&o);
	o.queueCapacity = j->depth;
	o.historyRequest = j->history;
	o.queueFullPolicy = QueueFullPolicy_DISCARD_OLDEST_DATA;
	p->sub = iox_sub_init(&p->sub_storage, j->service, j->instance, j->event, &o);
	return refused(p->sub);
}

static int do_waiter(struct waiter *w)
{
	w->ws = iox_ws_init(&w->ws_storage);
	if (atomic_load(&iox_report.error) || atomic_load(&iox_report.unanswered))
		return error_of(-EIO);
	w->trigger = iox_user_trigger_init(&w->trigger_storage);
	if (iox_ws_attach_user_trigger_event(w->ws, w->trigger, TRIGGER_ID, NULL) != WaitSetResult_SUCCESS)
		return -EIO;
	return 0;
}

static int run_job(struct job *j)
{
	atomic_store(&iox_report.error, 0);
	atomic_store(&iox_report.unanswered, false);
	switch (j->kind) {
	case JOB_START:
		return do_start();
	case JOB_PUB:
		return do_pub(j, j->out);
	case JOB_SUB:
	case JOB_POOLS:
		return do_sub(j, j->out);
	case JOB_WAITER:
		return do_waiter(j->out);
	default:
		return -EINVAL;
	}
}

static void *worker_main(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "sim-ipc");
	pthread_mutex_lock(&life.lock);
	for (;;) {
		int r;

		while (life.job.kind == JOB_NONE || life.job.done)
			pthread_cond_wait(&life.cond, &life.lock);
		pthread_mutex_unlock(&life.lock);
		r = run_job(&life.job);
		pthread_mutex_lock(&life.lock);
		life.job.result = r;
		life.job.done = true;
		pthread_cond_broadcast(&life.cond);
	}
	return NULL;
}

/* The host's signals are none of this thread's business, nor of those iceoryx starts from it. */
static int start_worker(void)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int r;

	if (life.worker_runs)
		return 0;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&life.cond, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	life.worker_runs = true;
	r = pthread_create(&life.worker, NULL, worker_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r) {
		life.worker_runs = false;
		return -r;
	}
	pthread_detach(life.worker);
	return 0;
}

static struct timespec deadline(uint32_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* life.lock held. -ETIMEDOUT: the job still runs. */
static int await_job(uint32_t timeout_ms)
{
	struct timespec until = deadline(timeout_ms);

	while (!life.job.done)
		if (pthread_cond_timedwait(&life.cond, &life.lock, &until) == ETIMEDOUT && !life.job.done)
			return -ETIMEDOUT;
	return life.job.result;
}

/* Runs a creation on the worker. A creation that is not answered ends the life: its late reply would be taken for the next one's. */
static int create(const struct job *j, struct ipc_text *why, const char *what)
{
	int r;

	pthread_mutex_lock(&life.lock);
	if (life.stuck || (life.job.kind != JOB_NONE && !life.job.done)) {
		r = -ESTALE;
	} else {
		life.job = *j;
		pthread_cond_broadcast(&life.cond);
		r = await_job(IOX_CREATE_MS);
	}
	pthread_mutex_unlock(&life.lock);
	if (r < 0)
		snprintf(why->s, sizeof(why->s), "%s %.99s: %s (iceoryx: %s)", what, j->instance,
			 r == -ETIMEDOUT ? "RouDi did not answer; it is stopped or stuck, attach again when simd has restarted it" :
			 r == -EMFILE ? "the data plane has no port of this kind left; it has 506 for publishers and 1024 for "
			 "subscribers" :
			 r == -EACCES ? "this user may not write to the payload segment; join its writer group" :
			 r == -ESTALE ? "RouDi is gone; attach again" : "iceoryx refused",
			 iox_error_name(atomic_load(&iox_report.error)));
	if (r == -ETIMEDOUT || r == -ESTALE)
		life_over();
	return r;
}

/* ---- attach and detach ---- */

static int reserve(void)
{
	int r = 0;

	if (!iox_own_process())
		return -EPERM;
	pthread_mutex_lock(&life.lock);
	if (atomic_load(&life.dead) || life.stuck || state_is_over())
		life.status = LIFE_SPENT;
	if (life.status == LIFE_FREE && atomic_load(&life.started) && !iox_seg_current())
		life.status = LIFE_SPENT;
	if (life.status == LIFE_IN_USE)
		r = -EEXIST;
	else if (life.status == LIFE_SPENT)
		r = -ESTALE;
	else
		life.status = LIFE_IN_USE;
	pthread_mutex_unlock(&life.lock);
	return r;
}

static bool registered(void)
{
	return iox_own_process() && atomic_load(&life.started) && !atomic_load(&life.dead);
}

static int attach_failed(int r, const struct ipc_start *start, struct ipc_text *why)
{
	snprintf(why->s, sizeof(why->s), "%s (iceoryx: %s)",
		 r == -ETIMEDOUT ? "RouDi is there but does not answer; it is stopped or stuck: simd restarts it, or end it "
		 "with SIGKILL" :
		 r == -EEXIST ? "an application of this name is attached already; give each its own name" :
		 r == -EACCES ? "this process may not use the payload segment; join its reader and writer group" :
		 "RouDi refused this process", iox_error_name(atomic_load(&iox_report.error)));
	(void)start;
	return r;
}

/* life.lock held. */
static int start_life(const struct ipc_start *start)
{
	int r = start_worker();

	if (r < 0)
		return r;
	if (life.job.kind == JOB_NONE) {
		snprintf(life.name, sizeof(life.name), "%s", start->name);
		life.job.kind = JOB_START;
		pthread_cond_broadcast(&life.cond);
	}
	/* Else the start of an attach that gave up: it may still succeed, or has. */
	return atomic_load(&life.started) ? 0 : await_job(start->timeout_ms);
}

static int attach(const struct ipc_start *start, struct ipc_text *why, void **ret)
{
	struct iox_seg seg;
	int r;

	pthread_mutex_lock(&life.lock);
	set_state_word(start->state);
	r = start_life(start);
	if (r == 0 && iox_seg_payload(&seg) < 0)
		r = -EACCES;
	if (r < 0) {
		set_state_word(NULL);
		life.status = r == -ETIMEDOUT && !life.stuck ? LIFE_FREE : LIFE_SPENT;
	}
	pthread_mutex_unlock(&life.lock);
	if (r < 0)
		return attach_failed(r, start, why);
	*ret = &life;
	return 0;
}

/* RouDi frees what it keeps of this life; our own files go. */
static void farewell(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "/tmp/roudi" };
	char msg[160], path[160];
	int n = snprintf(msg, sizeof(msg), "%d,%s,", MSG_TERMINATION, life.name);
	int fd;

	if (iox_seg_current()) {     /* not to a RouDi that never knew us */
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd >= 0) {
			sendto(fd, msg, (size_t)n + 1, MSG_NOSIGNAL, (const struct sockaddr *)&a, sizeof(a));
			close(fd);
		}
	}
	snprintf(path, sizeof(path), "/tmp/%s", life.name);
	unlink(path);
	snprintf(path, sizeof(path), "/tmp/%s.lock", life.name);
	unlink(path);
}

static void detach(void *back, bool dead)
{
	(void)back;
	if (dead)
		life_over();
	pthread_mutex_lock(&life.lock);
	set_state_word(NULL);
	if (atomic_load(&life.dead)) {
		life.status = LIFE_SPENT;
		farewell();
	} else {
		life.status = LIFE_FREE;
	}
	pthread_mutex_unlock(&life.lock);
}

/* At exit of the process that loaded us; iceoryx's own destructors do not run. */
__attribute__((destructor)) static void at_exit(void)
{
	if (!iox_own_process() || !atomic_load(&life.started) || life.status == LIFE_SPENT)
		return;
	state_to_stale();     /* threads that still run stay out of the ports RouDi frees now */
	iox_set_quiet(true);
	farewell();
}

static int segment(void *back, struct ipc_segment *ret)
{
	struct iox_seg seg;
	int r = iox_seg_payload(&seg);

	(void)back;
	if (r == 0)
		*ret = (struct ipc_segment){ .base = seg.base, .size = seg.size };
	return r;
}

static int prefault(void *back, int64_t until_mono_ns)
{
	(void)back;
	return iox_seg_prefault(until_mono_ns);
}

/* ---- publishers ---- */

static void set_names(struct job *j, const char *service, const char *instance, const char *event)
{
	snprintf(j->service, sizeof(j->service), "%s", service);
	snprintf(j->instance, sizeof(j->instance), "%s", instance);
	snprintf(j->event, sizeof(j->event), "%s", event);
}

/* A port that RouDi refused, or may still answer for, is left to its life: destroying it would dereference NULL. */
static int create_port(struct job *j, struct ipc_text *why, const char *what, void **ret)
{
	struct port *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	j->out = p;
	r = create(j, why, what);
	if (r < 0)
		return r;
	iox_guard_add(&p->guard);
	*ret = p;
	return 0;
}

static int pub_create(void *back, const char *channel, uint32_t history, struct ipc_text *why, void **ret)
{
	struct job j = { .kind = JOB_PUB, .history = history };

	(void)back;
	set_names(&j, SERVICE, channel, EVENT);
	return create_port(&j, why, "publisher of channel", ret);
}

static void pub_destroy(void *back)
{
	struct port *p = back;

	if (__builtin_setjmp(p->guard.env)) {
		guard_died(&p->guard);
	} else {
		iox_guard_enter(&p->guard);
		iox_pub_deinit(p->pub);
		iox_guard_leave(&p->guard);
	}
	iox_guard_del(&p->guard);
	free(p);
}

static int loan_result(enum iox_AllocationResult r)
{
	switch (r) {
	case AllocationResult_RUNNING_OUT_OF_CHUNKS:
		return -ENOMEM;
	case AllocationResult_TOO_MANY_CHUNKS_ALLOCATED_IN_PARALLEL:
		return -ENOBUFS;
	default:
		return -EMSGSIZE;     /* the SEVERE "chunk is too large", answered with an empty result */
	}
}

static int loan(void *back, size_t size, void **ret)
{
	struct port *p = back;
	enum iox_AllocationResult r;
	void *slot;

	if (__builtin_setjmp(p->guard.env))
		return guard_died(&p->guard);
	iox_guard_enter(&p->guard);
	r = iox_pub_loan_aligned_chunk(p->pub, &slot, (uint32_t)size, IPC_ALIGN);
	iox_guard_leave(&p->guard);
	if (__builtin_expect(r != AllocationResult_SUCCESS, 0))
		return loan_result(r);
	*ret = slot;
	return 0;
}

static int unloan(void *back, void *slot)
{
	struct port *p = back;

	if (__builtin_setjmp(p->guard.env))
		return guard_died(&p->guard);
	iox_guard_enter(&p->guard);
	iox_pub_release_chunk(p->pub, slot);
	iox_guard_leave(&p->guard);
	return 0;
}

static int publish(void *back, void *slot)
{
	struct port *p = back;

	if (__builtin_setjmp(p->guard.env))
		return guard_died(&p->guard);
	iox_guard_enter(&p->guard);
	iox_pub_publish_chunk(p->pub, slot);
	iox_guard_leave(&p->guard);
	return 0;
}

static bool has_subscribers(const void *back)
{
	return iox_pub_has_subscribers(((const struct port *)back)->pub);
}

/* ---- subscribers ---- */

static int sub_create(void *back, const char *channel, uint32_t depth, bool history, struct ipc_text *why, void **ret)
{
	struct job j = { .kind = JOB_SUB, .depth = depth, .history = history };

	(void)back;
	set_names(&j, SERVICE, channel, EVENT);
	return create_port(&j, why, "subscriber of channel", ret);
}

static void sub_close(void *back)
{
	struct port *p = back;

	if (__builtin_setjmp(p->guard.env)) {
		guard_died(&p->guard);
		return;
	}
	iox_guard_enter(&p->guard);
	iox_sub_unsubscribe(p->sub);
	iox_sub_release_queued_chunks(p->sub);
	iox_guard_leave(&p->guard);
}

static void sub_destroy(void *back)
{
	struct port *p = back;

	if (__builtin_setjmp(p->guard.env)) {
		guard_died(&p->guard);
	} else {
		iox_guard_enter(&p->guard);
		iox_sub_deinit(p->sub);
		iox_guard_leave(&p->guard);
	}
	iox_guard_del(&p->guard);
	free(p);
}

static int take(void *back, const void **ret)
{
	struct port *p = back;
	enum iox_ChunkReceiveResult r;
	const void *slot;

	if (__builtin_setjmp(p->guard.env))
		return guard_died(&p->guard);
	iox_guard_enter(&p->guard);
	r = iox_sub_take_chunk(p->sub, &slot);
	iox_guard_leave(&p->guard);
	if (r != ChunkReceiveResult_SUCCESS)
		return r == ChunkReceiveResult_NO_CHUNK_AVAILABLE ? -EAGAIN : -ENOBUFS;
	*ret = slot;
	return 0;
}

/* A dead life's payload may have been given back to the kernel: iceoryx must not look at its chunk headers. */
static int release(void *back, const void *slot)
{
	struct port *p = back;

	if (__builtin_expect(atomic_load_explicit(&life.dead, memory_order_relaxed), 0))
		return 0;
	if (__builtin_setjmp(p->guard.env))
		return guard_died(&p->guard);
	iox_guard_enter(&p->guard);
	iox_sub_release_chunk(p->sub, slot);
	iox_guard_leave(&p->guard);
	return 0;
}

static bool lost(void *back)
{
	return iox_sub_has_lost_chunks(((struct port *)back)->sub);
}

static bool has_data(const void *back)
{
	return iox_sub_has_chunks(((const struct port *)back)->sub);
}

/* ---- waiters ---- */

static int waiter_create(void *back, struct ipc_text *why, void **ret)
{
	struct job j = { .kind = JOB_WAITER };
	struct waiter *w = calloc(1, sizeof(*w));
	int r;

	(void)back;
	if (!w)
		return -ENOMEM;
	j.out = w;
	r = create(&j, why, "waiter");
	if (r < 0)
		return r;
	iox_guard_add(&w->guard);
	pthread_mutex_lock(&life.lock);
	w->next = life.waiters;
	life.waiters = w;
	pthread_mutex_unlock(&life.lock);
	*ret = w;
	return 0;
}

static void waiter_destroy(void *back)
{
	struct waiter *w = back, **at = &life.waiters;

	pthread_mutex_lock(&life.lock);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	pthread_mutex_unlock(&life.lock);
	if (__builtin_setjmp(w->guard.env)) {
		guard_died(&w->guard);
	} else {
		iox_guard_enter(&w->guard);
		iox_ws_detach_user_trigger_event(w->ws, w->trigger);
		iox_user_trigger_deinit(w->trigger);
		iox_ws_deinit(w->ws);
		iox_guard_leave(&w->guard);
	}
	iox_guard_del(&w->guard);
	free(w);
}

static int waiter_add(void *back, void *sub)
{
	struct waiter *w = back;
	enum iox_WaitSetResult r;

	if (__builtin_setjmp(w->guard.env))
		return guard_died(&w->guard);
	iox_guard_enter(&w->guard);
	r = iox_ws_attach_subscriber_event(w->ws, ((struct port *)sub)->sub, SubscriberEvent_DATA_RECEIVED, SUB_ID, NULL);
	iox_guard_leave(&w->guard);
	return r == WaitSetResult_SUCCESS ? 0 : r == WaitSetResult_ALREADY_ATTACHED ? -EEXIST : -ENOSPC;
}

static void waiter_del(void *back, void *sub)
{
	struct waiter *w = back;

	if (__builtin_setjmp(w->guard.env)) {
		guard_died(&w->guard);
		return;
	}
	iox_guard_enter(&w->guard);
	iox_ws_detach_subscriber_event(w->ws, ((struct port *)sub)->sub, SubscriberEvent_DATA_RECEIVED);
	iox_guard_leave(&w->guard);
}

static int waiter_wait(void *back, int64_t timeout_dur_ns)
{
	struct waiter *w = back;
	iox_notification_info_t info[WAITER_EVENTS];
	struct timespec t = { .tv_sec = timeout_dur_ns / 1000000000, .tv_nsec = timeout_dur_ns % 1000000000 };
	uint64_t n, missed;

	if (__builtin_setjmp(w->guard.env))
		return guard_died(&w->guard);
	iox_guard_enter(&w->guard);
	n = timeout_dur_ns < 0 ? iox_ws_wait(w->ws, info, WAITER_EVENTS, &missed)
			       : iox_ws_timed_wait(w->ws, t, info, WAITER_EVENTS, &missed);
	iox_guard_leave(&w->guard);
	for (uint64_t i = 0; i < n; i++)
		if (iox_notification_info_get_notification_id(info[i]) == SUB_ID)
			return 1;
	return 0;
}

static void waiter_wake(void *back)
{
	iox_user_trigger_trigger(((struct waiter *)back)->trigger);
}

/* ---- gauges: RouDi's introspection topic, whose layout is pinned to 2.0.3 (facts §8) ---- */

struct intro_pool {
	uint32_t used, min_free, total, chunk_size, payload_size;
};

struct intro_segment {
	uint32_t id;
	char     pad[4];
	char     writer[48], reader[48];
	struct intro_pool pool[32];
	uint64_t n_pools;
};

struct intro_mem {
	struct intro_segment seg[101];
	uint64_t n_segs;
};

_Static_assert(sizeof(struct intro_segment) == 752, "layout of iceoryx 2.0.3");
_Static_assert(sizeof(struct intro_mem) == 75960, "layout of iceoryx 2.0.3");

static void read_intro(const struct intro_mem *m)
{
	for (uint64_t s = 0; s < m->n_segs && s < 101; s++) {
		const struct intro_segment *seg = &m->seg[s];

		if (seg->id == 0)     /* RouDi's own pool, for introspection */
			continue;
		life.n_pools = (unsigned int)(seg->n_pools < 32 ? seg->n_pools : 32);
		for (unsigned int i = 0; i < life.n_pools; i++)
			life.pools[i] = (struct ipc_pool){ .size = seg->pool[i].payload_size, .total = seg->pool[i].total,
				.used = seg->pool[i].used, .min_free = seg->pool[i].min_free };
		return;
	}
}

static int pools(void *back, struct ipc_pool *ret, unsigned int max)
{
	struct job j = { .kind = JOB_POOLS, .depth = 1, .history = 1 };
	struct ipc_text why;
	const void *slot;
	void *port;
	int r;

	(void)back;
	if (!life.pools_sub) {
		set_names(&j, "Introspection", "RouDi_ID", "MemPool");
		r = create_port(&j, &why, "introspection", &port);
		if (r < 0)
			return r;
		life.pools_sub = port;
	}
	while (take(life.pools_sub, &slot) == 0) {
		read_intro(slot);
		release(life.pools_sub, slot);
	}
	for (unsigned int i = 0; i < life.n_pools && i < max; i++)
		ret[i] = life.pools[i];
	return life.n_pools ? (int)(life.n_pools < max ? life.n_pools : max) : -EAGAIN;
}

/* ---- the table ---- */

static const struct ipc_ops ops = {
	.abi = IPC_OPS_ABI, .size = sizeof(struct ipc_ops), .name = "iox", .blocking = true,
	.reserve = reserve, .registered = registered,
	.attach = attach, .detach = detach, .segment = segment, .prefault = prefault, .pools = pools,
	.pub_create = pub_create, .pub_destroy = pub_destroy, .loan = loan, .unloan = unloan, .publish = publish,
	.has_subscribers = has_subscribers,
	.sub_create = sub_create, .sub_close = sub_close, .sub_destroy = sub_destroy, .take = take,
	.release = release, .lost = lost, .has_data = has_data,
	.waiter_create = waiter_create, .waiter_destroy = waiter_destroy, .waiter_add = waiter_add,
	.waiter_del = waiter_del, .waiter_wait = waiter_wait, .waiter_wake = waiter_wake,
};

__attribute__((visibility("default"))) const struct ipc_ops *ipc_iox_ops(void);

const struct ipc_ops *ipc_iox_ops(void)
{
	return &ops;
}
