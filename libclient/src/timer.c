/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers in simulated time. One of three runs them: the thread "sim-timer", which sleeps on the clock page until the
 * next one is due; sim_process(), which that thread wakes through sim_client_fd(); or sim_step_wait(). In virtual time
 * there is no thread.
 *
 * Lock: timers::lock, a leaf; no callback runs with it held.
 */
#include "timer.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include "clockmap.h"
#include "due.h"
#include "err.h"
#include "list.h"
#include "mem.h"
#include "thread.h"
#include "timeutil.h"

#define IDLE_DUR_NS (3600 * NS_PER_S)

struct sim_timer {
	struct list link; /* timers::list, until it is destroyed */
	struct due due;   /* timers::due, while it is active: by simulated time; of equals the one created first */
	struct sim_client *c;
	int64_t period_dur_ns;
	unsigned flags;
	sim_timer_fn fn;
	void *user;
	/* guarded by timers::lock */
	bool dead;
	uint64_t number;
	int64_t last_sim_ns; /* time of the last call or start */
};

struct timers {
	pthread_mutex_t lock;
	pthread_cond_t done; /* a callback has ended */
	struct list list;
	struct due_queue due;
	uint64_t made;
	struct running running;
	uint32_t clock_generation;
	pthread_t thread;
	bool started;
	_Atomic bool stop;
	_Atomic uint32_t asked, seen; /* asked is incremented to make the thread look again, until seen follows */
};

/* ---- what is due ---- */

static void due_at(struct timers *ts, struct sim_timer *t, int64_t due_sim_ns)
{
	due_add(&ts->due, &t->due, due_sim_ns, t->number);
}

/* As timers of ROS 2: a jump back before the last call begins a new phase, any other keeps it. Under lock. */
static void follow_jump(struct timers *ts, const struct sim_clock_sample *now)
{
	struct sim_timer *t;

	if (ts->clock_generation == now->clock_generation)
		return;
	ts->clock_generation = now->clock_generation;
	list_for_each(t, &ts->list, link) {
		if (now->sim_ns >= t->last_sim_ns)
			continue;
		t->last_sim_ns = now->sim_ns;
		if (t->due.queued)
			due_at(ts, t, ns_add(now->sim_ns, t->period_dur_ns));
	}
}

static struct sim_timer *first(const struct timers *ts)
{
	return ts->due.first ? container_of(ts->due.first, struct sim_timer, due) : NULL;
}

/* Sets its next due time; returns the event for this one. Under lock. */
static struct sim_timer_event fire(struct timers *ts, struct sim_timer *t, const struct sim_clock_sample *now)
{
	struct sim_timer_event ev = { .now = *now, .due_sim_ns = t->due.at_ns };

	t->last_sim_ns = now->sim_ns;
	if (t->flags & SIM_TIMER_ONE_SHOT) {
		due_remove(&ts->due, &t->due);
		return ev;
	}
	ev.missed = (uint64_t)((now->sim_ns - ev.due_sim_ns) / t->period_dur_ns);
	due_at(ts, t, ns_add(ev.due_sim_ns, ((int64_t)ev.missed + 1) * t->period_dur_ns));
	return ev;
}

static int run_due(struct sim_client *c, const struct sim_clock_sample *now)
{
	struct timers *ts = c->timers;
	struct sim_timer *t;
	int n = 0;

	pthread_mutex_lock(&ts->lock);
	follow_jump(ts, now);
	while (!ts->running.what && (t = first(ts)) && t->due.at_ns <= now->sim_ns) {
		struct sim_timer_event ev = fire(ts, t, now);

		running_begin(&ts->running, t, &ts->lock);
		t->fn(t->user, &ev);
		running_end(&ts->running, &ts->lock, &ts->done);
		if (t->dead)
			mem_free(t);
		n++;
	}
	pthread_mutex_unlock(&ts->lock);
	return n;
}

static bool in_steps(const struct sim_client *c)
{
	return __atomic_load_n(&c->step, __ATOMIC_RELAXED) != NULL;
}

int timers_run(struct sim_client *c)
{
	struct sim_clock_sample now;

	if (!__atomic_load_n(&c->timers, __ATOMIC_ACQUIRE) || in_steps(c))
		return 0;
	clock_sample(c, &now);
	return run_due(c, &now);
}

void timers_run_turn(struct sim_client *c, const struct sim_clock_sample *now)
{
	if (__atomic_load_n(&c->timers, __ATOMIC_ACQUIRE))
		run_due(c, now);
}

/* ---- the thread ---- */

/* Sleeps until the next one is due, the clock changes, or another thread asks. */
static void sleep_till_due(struct sim_client *c, uint32_t asked)
{
	struct timers *ts = c->timers;
	uint32_t seen = SIM_LOAD_(&c->page->futex, __ATOMIC_ACQUIRE);
	struct sim_clock_sample now;
	int64_t dur_ns = IDLE_DUR_NS;
	struct sim_timer *t;

	clock_sample(c, &now);
	pthread_mutex_lock(&ts->lock);
	follow_jump(ts, &now);
	t = first(ts);
	if (t && !in_steps(c))
		dur_ns = t->due.at_ns <= now.sim_ns ? 0 : clock_wall_dur(&now, t->due.at_ns);
	pthread_mutex_unlock(&ts->lock);
	atomic_store(&ts->seen, asked);
	if (dur_ns > 0 && atomic_load(&ts->asked) == asked)
		clock_wait(c, seen, ns_add(mono_now_ns(), dur_ns));
}

static void *timer_main(void *arg)
{
	struct sim_client *c = arg;
	struct timers *ts = c->timers;
	bool kicks = c->flags & SIM_CLIENT_NO_THREAD;

	prctl(PR_SET_TIMERSLACK, 1UL); /* the default of 50 us would be most of a sleep's lateness */
	while (!atomic_load(&ts->stop)) {
		uint32_t asked = atomic_load(&ts->asked);
		struct sim_clock_sample now;
		struct sim_timer *t;
		bool due;

		sleep_till_due(c, asked);
		if (!kicks) {
			timers_run(c);
			continue;
		}
		clock_sample(c, &now);
		pthread_mutex_lock(&ts->lock);
		t = first(ts);
		due = t && !in_steps(c) && t->due.at_ns <= now.sim_ns;
		pthread_mutex_unlock(&ts->lock);
		if (due) {
			client_kick(c);
			clock_wait(c, SIM_LOAD_(&c->page->futex, __ATOMIC_ACQUIRE), ns_add(mono_now_ns(), NS_PER_MS));
		}
	}
	return NULL;
}

/*
 * The thread sleeps on a word that only simd changes, so a wake-up may come before it sleeps: repeated until it has
 * looked.
 */
static void ask(struct sim_client *c)
{
	struct timers *ts = c->timers;
	uint32_t asked;

	if (!ts || !ts->started || pthread_equal(ts->thread, pthread_self()))
		return;
	asked = atomic_fetch_add(&ts->asked, 1) + 1;
	while ((int32_t)(atomic_load(&ts->seen) - asked) < 0) {
		bool busy;

		clock_rouse(c);
		sched_yield();
		pthread_mutex_lock(&ts->lock);
		busy = ts->running.what != NULL; /* it looks when the callback has ended */
		pthread_mutex_unlock(&ts->lock);
		if (busy || atomic_load(&ts->stop))
			return;
	}
}

void timers_rouse(struct sim_client *c)
{
	if (__atomic_load_n(&c->timers, __ATOMIC_ACQUIRE))
		ask(c);
}

static int timing_start(struct sim_client *c)
{
	struct timers *ts = c->timers;
	int r;

	if (c->env || ts->started)
		return 0;
	r = thread_start(&ts->thread, "sim-timer", timer_main, c);
	if (r < 0)
		return err_sys(r, "sim_timer_create: cannot start the timers' thread");
	ts->started = true;
	return 0;
}

/* Under setup. */
static int timers_create(struct sim_client *c)
{
	struct timers *ts;

	if (c->timers)
		return timing_start(c);
	ts = MEM_NEW(struct timers);
	if (!ts)
		return err_nomem();
	pthread_mutex_init(&ts->lock, NULL);
	pthread_cond_init(&ts->done, NULL);
	list_init(&ts->list);
	ts->clock_generation = c->page->clock_generation;
	__atomic_store_n(&c->timers, ts, __ATOMIC_RELEASE);
	return timing_start(c);
}

void timers_finish(struct sim_client *c)
{
	struct timers *ts = c->timers;

	if (!ts)
		return;
	atomic_store(&ts->stop, true);
	if (ts->started) {
		atomic_fetch_add(&ts->asked, 1);
		while (pthread_tryjoin_np(ts->thread, NULL) == EBUSY) {
			clock_rouse(c);
			sched_yield();
		}
	}
	c->timers = NULL;
	pthread_cond_destroy(&ts->done);
	pthread_mutex_destroy(&ts->lock);
	mem_free(ts);
}

/* ---- public ---- */

static int check(struct sim_client *c, int64_t period_dur_ns, unsigned flags, sim_timer_fn fn, struct sim_timer **ret)
{
	int r = client_guard(c);

	if (r < 0)
		return r;
	if (period_dur_ns <= 0)
		return err_set(-EINVAL, "sim_timer_create: a period of %lld ns is not positive",
			       (long long)period_dur_ns);
	if (flags & ~(unsigned)SIM_TIMER_ONE_SHOT)
		return err_set(-EINVAL, "sim_timer_create: unknown flags %#x", flags);
	return fn && ret ? 0 : err_set(-EINVAL, "sim_timer_create: no callback, or the output pointer is NULL");
}

static void start(struct sim_timer *t)
{
	struct timers *ts = t->c->timers;
	struct sim_clock_sample now;

	clock_sample(t->c, &now);
	pthread_mutex_lock(&ts->lock);
	follow_jump(ts, &now);
	t->last_sim_ns = now.sim_ns;
	if (!list_empty(&t->link)) /* else its callback could start it while it is being destroyed */
		due_at(ts, t, ns_add(now.sim_ns, t->period_dur_ns));
	pthread_mutex_unlock(&ts->lock);
}

int sim_timer_create(struct sim_client *c, int64_t period_dur_ns, unsigned flags, sim_timer_fn fn, void *user,
		     struct sim_timer **ret)
{
	int r = check(c, period_dur_ns, flags, fn, ret);
	struct sim_timer *t;

	if (r < 0)
		return r;
	t = MEM_NEW(struct sim_timer);
	if (!t)
		return err_nomem();
	*t = (struct sim_timer){ .c = c, .period_dur_ns = period_dur_ns, .flags = flags, .fn = fn, .user = user };
	client_setup_lock(c);
	r = timers_create(c);
	client_setup_unlock(c);
	if (r < 0) {
		mem_free(t);
		return r;
	}
	pthread_mutex_lock(&c->timers->lock);
	list_append(&c->timers->list, &t->link);
	t->number = c->timers->made++;
	pthread_mutex_unlock(&c->timers->lock);
	start(t);
	*ret = t;
	ask(c);
	return 0;
}

void sim_timer_destroy(struct sim_timer *t)
{
	struct timers *ts;
	bool mine;

	if (!t || !client_alive(t->c))
		return;
	ts = t->c->timers;
	pthread_mutex_lock(&ts->lock);
	list_remove(&t->link);
	due_remove(&ts->due, &t->due);
	mine = running_settle(&ts->running, t, &ts->lock, &ts->done);
	if (mine)
		t->dead = true; /* freed when its callback returns */
	pthread_mutex_unlock(&ts->lock);
	if (!mine)
		mem_free(t);
}

void sim_timer_stop(struct sim_timer *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->c->timers->lock);
	due_remove(&t->c->timers->due, &t->due);
	pthread_mutex_unlock(&t->c->timers->lock);
}

void sim_timer_start(struct sim_timer *t)
{
	if (!t)
		return;
	start(t);
	ask(t->c);
}

int64_t sim_timer_left(const struct sim_timer *t)
{
	struct sim_clock_sample now;
	struct timers *ts;
	int64_t left;

	if (!t)
		return INT64_MAX;
	ts = t->c->timers;
	clock_sample(t->c, &now);
	pthread_mutex_lock(&ts->lock);
	follow_jump(ts, &now);
	left = t->due.queued ? t->due.at_ns - now.sim_ns : INT64_MAX;
	pthread_mutex_unlock(&ts->lock);
	return left < 0 ? 0 : left;
}
