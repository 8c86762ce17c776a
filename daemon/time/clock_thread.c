/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock thread: waits for the deadlines of clock_ticks.c, reads the page, passes the sample to the sink.
 *
 * Thread: `simd-clock` runs the fields under clk; the owner sets the sink and
 *         reads the statistics. The lock is held for one publish or one assignment, with priority inheritance.
 */
#include "clock_thread.h"

#include "clock_ticks.h"
#include "page.h"

#include "err.h"
#include "futex.h"
#include "mem.h"
#include "thread.h"
#include "timeutil.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define RATE_DEFAULT_HZ     100
#define SPIN_DEFAULT_DUR_NS (100 * NS_PER_US)

struct clock_thread {
	const struct sim_clock_page *page;
	struct exec *exec; /* virtual time: no thread */
	struct exec_timer timer;
	pthread_t thread;
	bool has_thread, has_lock;
	int priority;          /* SCHED_FIFO; 0: ordinary */
	_Atomic uint32_t stop; /* futex */
	pthread_mutex_t lock;
	struct clock_sink sink; /* guarded by lock; publish NULL: none */

	struct { /* the clock thread's, counters readable by all */
		struct clock_ticks ticks;
		struct histogram lateness;
		uint64_t number;
		_Atomic uint64_t published, missed, failed, unstable;
		_Atomic int64_t lead_dur_ns;
	} clk;
};

static void bump(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* ---- one tick, in either kind of time ---- */

static int sample(struct clock_thread *t, int64_t now_mono_ns, struct sim_clock_sample *ret)
{
	return t->exec ? page_sample_at(t->page, now_mono_ns, ret) : sim_clock_read(t->page, ret);
}

static void publish(struct clock_thread *t, const struct clock_tick *tick)
{
	pthread_mutex_lock(&t->lock);
	if (t->sink.publish) /* counted inside the lock: after a change of the sink all its publishes are counted */
		bump(t->sink.publish(t->sink.ctx, tick) < 0 ? &t->clk.failed : &t->clk.published);
	pthread_mutex_unlock(&t->lock);
}

static void tick(struct clock_thread *t, int64_t now_mono_ns)
{
	struct clock_tick k = { .publish_mono_ns = now_mono_ns };
	int64_t late_dur_ns;

	if (!clock_ticks_take(&t->clk.ticks, now_mono_ns, &late_dur_ns))
		return;
	histogram_add(&t->clk.lateness, late_dur_ns);
	atomic_store_explicit(&t->clk.missed, t->clk.ticks.missed, memory_order_relaxed);
	if (sample(t, now_mono_ns, &k.now) < 0) {
		bump(&t->clk.unstable);
		return;
	}
	if (k.now.sim_ns <= 0)
		return;
	k.number = ++t->clk.number;
	publish(t, &k);
}

/* ---- the thread ---- */

static int64_t spin_until(int64_t until_mono_ns)
{
	int64_t now_mono_ns = mono_now_ns();

	while (now_mono_ns < until_mono_ns) {
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#endif
		now_mono_ns = mono_now_ns();
	}
	return now_mono_ns;
}

static void *clock_main(void *arg)
{
	struct clock_thread *t = arg;
	struct clock_ticks *ticks = &t->clk.ticks;

	prctl(PR_SET_TIMERSLACK, 1UL); /* the default of 50 us is the largest part of a wake-up's lateness */
	while (!atomic_load_explicit(&t->stop, memory_order_acquire)) {
		int64_t wake_mono_ns = clock_ticks_wake_at(ticks), now_mono_ns = mono_now_ns();

		if (now_mono_ns < wake_mono_ns) {
			futex_wait_until(&t->stop, 0, wake_mono_ns, FUTEX_PRIVATE_FLAG);
			now_mono_ns = mono_now_ns();
			if (now_mono_ns < wake_mono_ns)
				continue;
			clock_ticks_woke(ticks, wake_mono_ns, now_mono_ns);
			atomic_store_explicit(&t->clk.lead_dur_ns, ticks->lead_dur_ns, memory_order_relaxed);
		}
		tick(t, spin_until(clock_ticks_deadline(ticks)));
	}
	return NULL;
}

/* ---- virtual time ---- */

static void on_timer(void *arg)
{
	struct clock_thread *t = arg;

	tick(t, exec_now(t->exec));
	exec_timer_at(&t->timer, clock_ticks_deadline(&t->clk.ticks));
}

/* ---- making ---- */

static int make_lock(struct clock_thread *t)
{
	pthread_mutexattr_t a;
	int r = pthread_mutexattr_init(&a);

	if (!r) {
		pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
		r = pthread_mutex_init(&t->lock, &a);
		pthread_mutexattr_destroy(&a);
	}
	if (r)
		return err_sys(-r, "cannot make the lock of the clock thread");
	t->has_lock = true;
	return 0;
}

static int start_thread(struct clock_thread *t)
{
	int r = thread_start(&t->thread, "simd-clock", clock_main, t);

	if (r < 0)
		return err_sys(r, "cannot start the clock thread");
	t->has_thread = true;
	return 0;
}

static int set_fifo(struct clock_thread *t, int priority)
{
	struct sched_param p = { .sched_priority = priority };
	int r = pthread_setschedparam(t->thread, SCHED_FIFO, &p);

	if (!r)
		t->priority = priority;
	return -r;
}

/* Sets the default priority, or the highest one allowed. */
static int raise_as_allowed(struct clock_thread *t)
{
	struct rlimit limit = { 0 };
	int r = set_fifo(t, CLOCK_PRIORITY_DEFAULT);

	if (r == 0)
		return 0;
	getrlimit(RLIMIT_RTPRIO, &limit);
	if (limit.rlim_cur > 0 && limit.rlim_cur < CLOCK_PRIORITY_DEFAULT && set_fifo(t, (int)limit.rlim_cur) == 0)
		return 0;
	err_sys(r,
		"the clock thread runs without real-time priority: /clock is late, or left out, while the CPUs are busy; allow "
		"it with LimitRTPRIO=%d or `ulimit -r %d`, or set clock.priority to 0 if that is intended",
		CLOCK_PRIORITY_DEFAULT, CLOCK_PRIORITY_DEFAULT);
	return 1;
}

static int raise_priority(struct clock_thread *t, int priority)
{
	int r;

	if (priority == CLOCK_PRIORITY_AUTO)
		return raise_as_allowed(t);
	r = set_fifo(t, priority);
	if (r == 0)
		return 0;
	err_sys(r, "the clock thread runs without real-time priority %d; allow it with LimitRTPRIO= or `ulimit -r`",
		priority);
	return 1;
}

static int64_t spin_max(const struct clock_thread_options *o)
{
	if (o->exec || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return 0;
	return o->spin_max_dur_ns < 0 ? SPIN_DEFAULT_DUR_NS : o->spin_max_dur_ns;
}

static int check(const struct clock_thread_options *o)
{
	if (o->rate_hz > CLOCK_RATE_MAX_HZ)
		return err_set(-ERANGE, "the clock cannot be published at %u Hz; choose %d .. %d", o->rate_hz,
			       CLOCK_RATE_MIN_HZ, CLOCK_RATE_MAX_HZ);
	if (o->fifo_priority != CLOCK_PRIORITY_AUTO && (o->fifo_priority < 0 || o->fifo_priority > 99))
		return err_set(-EINVAL, "%d is no real-time priority; choose 1 .. 99, or 0 for none", o->fifo_priority);
	return 0;
}

static int start(struct clock_thread *t, const struct clock_thread_options *o)
{
	int64_t now_mono_ns = o->exec ? exec_now(o->exec) : mono_now_ns();
	int r = make_lock(t);

	if (r < 0)
		return r;
	clock_ticks_init(&t->clk.ticks, now_mono_ns, o->rate_hz ? o->rate_hz : RATE_DEFAULT_HZ, spin_max(o));
	if (o->exec) {
		exec_timer_init(&t->timer, o->exec, on_timer, t);
		exec_timer_at(&t->timer, clock_ticks_deadline(&t->clk.ticks));
		return 0;
	}
	r = start_thread(t);
	return r >= 0 && o->fifo_priority ? raise_priority(t, o->fifo_priority) : r;
}

int clock_thread_create(const struct clock_thread_options *o, struct clock_thread **ret)
{
	struct clock_thread *t;
	int r = check(o);

	if (r < 0)
		return r;
	t = MEM_NEW(struct clock_thread);
	if (!t)
		return err_nomem();
	t->page = o->page;
	t->exec = o->exec;
	r = start(t, o);
	if (r < 0) {
		clock_thread_destroy(t);
		return r;
	}
	*ret = t;
	return r;
}

void clock_thread_destroy(struct clock_thread *t)
{
	if (!t)
		return;
	atomic_store_explicit(&t->stop, 1, memory_order_release);
	if (t->has_thread) {
		futex_wake_all(&t->stop, FUTEX_PRIVATE_FLAG);
		pthread_join(t->thread, NULL);
	}
	exec_timer_cancel(&t->timer);
	if (t->has_lock)
		pthread_mutex_destroy(&t->lock);
	mem_free(t);
}

void clock_thread_set_sink(struct clock_thread *t, const struct clock_sink *sink)
{
	pthread_mutex_lock(&t->lock);
	t->sink = sink ? *sink : (struct clock_sink){ 0 };
	pthread_mutex_unlock(&t->lock);
}

void clock_thread_stats(const struct clock_thread *t, struct clock_thread_stats *ret)
{
	*ret = (struct clock_thread_stats){
		.published = atomic_load_explicit(&t->clk.published, memory_order_relaxed),
		.missed = atomic_load_explicit(&t->clk.missed, memory_order_relaxed),
		.failed = atomic_load_explicit(&t->clk.failed, memory_order_relaxed),
		.unstable = atomic_load_explicit(&t->clk.unstable, memory_order_relaxed),
		.rate_hz = t->clk.ticks.rate_hz,
		.priority = t->priority,
		.spin_dur_ns = atomic_load_explicit(&t->clk.lead_dur_ns, memory_order_relaxed),
	};
	histogram_summarise(&t->clk.lateness, &ret->lateness);
}
