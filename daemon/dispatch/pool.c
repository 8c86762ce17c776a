/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatch thread pool: see pool.h. Only this file of dispatch makes threads.
 *
 * The descriptor of each loop is in the pool's epoll, one-shot: the thread that gets its event owns the loop, and
 * returns it by arming the descriptor again, which at once reports events that came meanwhile. The epoll keeps ready
 * loops in the order in which they became ready. So a loop that is taken became ready after every loop taken before it
 * was last armed: that bounds its waiting time, without a time stamp in the queue.
 *
 * Thread: serve() and the functions it calls: the pool's threads; the others: the owner's. `lock` is a leaf.
 */
#include "pool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "thread.h"
#include "timeutil.h"

LOG_TOPIC("dispatch");

#define NO_WAIT_NS (20 * NS_PER_US) /* a wait that ends sooner found the event already there */

struct loop {
	struct exec *x;
	struct exec_post first;        /* a first turn, which sets its alarm */
	_Atomic int64_t armed_mono_ns; /* when it was last returned to the epoll */
};

struct pool {
	struct pool_options o;
	int epoll_fd, stop_fd;
	unsigned max, n_threads; /* numbers of threads */
	pthread_t threads[POOL_THREADS_MAX];
	struct loop loops[POOL_EXECS_MAX];

	pthread_mutex_t lock;
	pthread_cond_t wanted;  /* with lock: granted or stopping */
	unsigned granted;       /* wake-ups that no thread has taken yet; guarded by lock */
	int64_t woken_mono_ns;  /* time of the last one; guarded by lock */
	bool stopping;          /* guarded by lock */
	_Atomic unsigned awake; /* written under lock */

	/* load, as the tick sees it */
	atomic_bool ticking, calm; /* calm: a thread has found nothing to do since the last tick */
	_Atomic uint64_t turns;
	struct exec_post tick_on;
	struct exec_timer tick;
	uint64_t turns_seen; /* used by the owner */
};

/* ---- waking and sleeping ---- */

/* Wakes one thread at a time: the last one must have had time to take what waits. */
static void wake_one(struct pool *p, int64_t now_mono_ns)
{
	if (atomic_load_explicit(&p->awake, memory_order_relaxed) >= p->max)
		return;
	pthread_mutex_lock(&p->lock);
	if (p->awake < p->max && now_mono_ns - p->woken_mono_ns > p->o.backlog_dur_ns) {
		p->woken_mono_ns = now_mono_ns;
		p->awake++;
		p->granted++;
		pthread_cond_signal(&p->wanted);
	}
	pthread_mutex_unlock(&p->lock);
}

/* False: it is the last one, and stays awake. */
static bool may_sleep(struct pool *p)
{
	bool yes;

	pthread_mutex_lock(&p->lock);
	yes = p->awake > 1;
	p->awake -= yes;
	pthread_mutex_unlock(&p->lock);
	return yes;
}

/* False: the pool ends. */
static bool sleep_until_wanted(struct pool *p)
{
	bool stop;

	pthread_mutex_lock(&p->lock);
	while (!p->granted && !p->stopping)
		pthread_cond_wait(&p->wanted, &p->lock);
	stop = p->stopping;
	p->granted -= !stop;
	pthread_mutex_unlock(&p->lock);
	return !stop;
}

/* ---- the tick, armed while a thread has been busy for longer than the backlog ---- */

static void on_load(struct pool *p)
{
	if (!atomic_exchange(&p->ticking, true))
		exec_post(&p->tick_on);
}

static void tick_again(void *arg)
{
	struct pool *p = arg;

	exec_timer_at(&p->tick, exec_now(p->o.owner) + p->o.backlog_dur_ns);
}

static bool somebody_waits(const struct pool *p)
{
	struct pollfd f = { .fd = p->epoll_fd, .events = POLLIN };

	return poll(&f, 1, 0) > 0;
}

/* If a loop is ready and no turn has ended for a whole tick, all threads are inside long turns, or wait for a CPU. */
static void on_tick(void *arg)
{
	struct pool *p = arg;
	uint64_t turns = atomic_load(&p->turns);
	bool calm = atomic_exchange(&p->calm, false);

	if (!calm && turns == p->turns_seen && somebody_waits(p))
		wake_one(p, exec_now(p->o.owner));
	p->turns_seen = turns;
	if (calm)
		atomic_store(&p->ticking, false);
	else
		tick_again(p);
}

/* ---- serving ---- */

struct shift {                 /* what a thread knows since it was woken */
	int64_t since_mono_ns; /* a loop taken now became ready after that */
	int64_t busy_mono_ns;  /* when it last found the epoll empty */
	int64_t ended_mono_ns; /* end of its last turn */
	bool idle;             /* it had to wait for the last event */
};

static int hand_back(struct pool *p, struct loop *l, int op, int64_t now_mono_ns)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLONESHOT, .data.ptr = l };

	atomic_store_explicit(&l->armed_mono_ns, now_mono_ns, memory_order_relaxed);
	return epoll_ctl(p->epoll_fd, op, exec_fd(l->x), &ev) < 0 ? -errno : 0;
}

static void take_turn(struct pool *p, struct loop *l, struct shift *s)
{
	int64_t now = mono_now_ns(), armed = atomic_load_explicit(&l->armed_mono_ns, memory_order_relaxed), due;
	int r;

	if (armed > s->since_mono_ns)
		s->since_mono_ns = armed;
	if (now - s->since_mono_ns > p->o.backlog_dur_ns)
		wake_one(p, now);
	if (now - s->busy_mono_ns > p->o.backlog_dur_ns)
		on_load(p);
	r = exec_turn(l->x, &due);
	s->ended_mono_ns = mono_now_ns();
	if (r < 0 || hand_back(p, l, EPOLL_CTL_MOD, s->ended_mono_ns) < 0)
		log_error("a dispatch loop has failed: %s", err_why());
	atomic_fetch_add_explicit(&p->turns, 1, memory_order_relaxed);
}

/*
 * Polls without waiting first only under load, when an event is likely; otherwise that would cost each message one more
 * system call. A wait that ended at once shows that load begins.
 */
static int wait_ready(struct pool *p, struct epoll_event *ev, struct shift *s)
{
	int n = s->idle ? 0 : epoll_wait(p->epoll_fd, ev, 1, 0);
	int64_t now;

	if (n)
		return n;
	n = epoll_wait(p->epoll_fd, ev, 1, (int)(p->o.idle_dur_ns / NS_PER_MS));
	now = mono_now_ns();
	if (s->idle && now - s->ended_mono_ns < NO_WAIT_NS) {
		s->idle = false;
		return n;
	}
	s->idle = true;
	s->since_mono_ns = s->busy_mono_ns = now;
	atomic_store_explicit(&p->calm, true, memory_order_relaxed);
	return n;
}

/* The next ready loop. 0: none within the idle time; -1: the pool ends. */
static int next_loop(struct pool *p, struct loop **ret, struct shift *s)
{
	struct epoll_event ev;
	int n = wait_ready(p, &ev, s);

	if (n < 0)
		return errno == EINTR ? 1 : -1;
	*ret = n ? ev.data.ptr : NULL;
	return n && !ev.data.ptr ? -1 : n;
}

/* Runs loops until there is no work for the idle time. False: the pool ends. */
static bool serve(struct pool *p)
{
	int64_t now = mono_now_ns();
	struct shift s = { .since_mono_ns = now, .busy_mono_ns = now, .ended_mono_ns = now };

	for (;;) {
		struct loop *l = NULL;
		int n = next_loop(p, &l, &s);

		if (n < 0)
			return false;
		if (l)
			take_turn(p, l, &s);
		else if (n == 0 && may_sleep(p))
			return true;
	}
}

static void *work(void *arg)
{
	struct pool *p = arg;

	if (p->o.begin)
		p->o.begin(p->o.arg);
	while (sleep_until_wanted(p) && serve(p))
		continue;
	return NULL;
}

static void *work_alone(void *arg)
{
	struct pool *p = arg;

	if (p->o.begin)
		p->o.begin(p->o.arg);
	if (exec_run(p->loops[0].x) < 0)
		log_error("the dispatch loop has failed: %s", err_why());
	return NULL;
}

/* ---- making and ending ---- */

static void nothing(void *arg)
{
	(void)arg;
}

static int watch_loops(struct pool *p)
{
	struct epoll_event stop = { .events = EPOLLIN };
	int r;

	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	p->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->epoll_fd < 0 || p->stop_fd < 0 || epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, p->stop_fd, &stop) < 0)
		return err_sys(-errno, "dispatch threads have nothing to wait on");
	for (unsigned i = 0; i < p->o.n; i++) {
		struct loop *l = &p->loops[i];

		exec_post_init(&l->first, l->x, nothing, NULL);
		exec_post(&l->first);
		r = hand_back(p, l, EPOLL_CTL_ADD, mono_now_ns());
		if (r < 0)
			return err_sys(r, "the loop of shard %u cannot be watched", i);
	}
	return 0;
}

static int start(struct pool *p, void *(*body)(void *))
{
	for (; p->n_threads < p->max; p->n_threads++) {
		char name[24];
		int r;

		snprintf(name, sizeof(name), "simd-work.%u", p->n_threads);
		r = thread_start(&p->threads[p->n_threads], name, body, p);
		if (r < 0)
			return err_sys(r, "cannot start %s", name);
	}
	return 0;
}

static bool good(const struct pool_options *o)
{
	return o->execs && o->n && o->n <= POOL_EXECS_MAX && o->threads && o->threads <= POOL_THREADS_MAX && o->owner &&
	       o->backlog_dur_ns > 0 && o->idle_dur_ns >= NS_PER_MS;
}

int pool_create(const struct pool_options *o, struct pool **ret)
{
	struct pool *p;
	int r = 0;

	if (!good(o))
		return err_set(-EINVAL, "the dispatch thread pool is given no loops, or no threads");
	p = MEM_NEW(struct pool);
	if (!p)
		return err_nomem();
	p->o = *o;
	p->epoll_fd = p->stop_fd = -1;
	p->awake = p->granted = 1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wanted, NULL);
	exec_post_init(&p->tick_on, o->owner, tick_again, p);
	exec_timer_init(&p->tick, o->owner, on_tick, p);
	for (unsigned i = 0; i < o->n; i++)
		p->loops[i].x = o->execs[i];
	p->max = o->threads < o->n ? o->threads : o->n; /* more threads would have nothing to run */
	if (o->n > 1)
		r = watch_loops(p);
	if (r == 0)
		r = start(p, o->n > 1 ? work : work_alone);
	if (r < 0) {
		pool_destroy(p);
		return r;
	}
	*ret = p;
	return 0;
}

static void stop(struct pool *p)
{
	static const uint64_t one = 1;

	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->wanted);
	pthread_mutex_unlock(&p->lock);
	if (p->stop_fd >= 0)
		(void)!write(p->stop_fd, &one, sizeof(one));
	else
		exec_quit(p->loops[0].x);
}

void pool_destroy(struct pool *p)
{
	if (!p)
		return;
	if (p->n_threads)
		stop(p);
	while (p->n_threads)
		pthread_join(p->threads[--p->n_threads], NULL);
	exec_post_cancel(&p->tick_on);
	exec_timer_cancel(&p->tick);
	for (unsigned i = 0; i < p->o.n; i++)
		exec_post_cancel(&p->loops[i].first);
	fd_close(p->stop_fd);
	fd_close(p->epoll_fd);
	pthread_cond_destroy(&p->wanted);
	pthread_mutex_destroy(&p->lock);
	mem_free(p);
}

unsigned pool_awake(const struct pool *p)
{
	return p ? atomic_load_explicit(&p->awake, memory_order_relaxed) : 1;
}
