/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatch thread pool on real threads: nothing is lost, no loop is served by two at once, one thread serves while
 * it suffices, another one is woken when a loop waits, and sleeps again. For TSan too. Waits here are bounded by the
 * runner's limit.
 */
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "dispatch/pool.h"
#include "mem.h"
#include "timeutil.h"

#define LOOPS   6
#define POSTERS 3
#define POSTS   2000

struct loop {
	struct exec *x;
	struct exec_post post;
	struct exec_timer timer;
	struct desk *desk;
	unsigned posts, ticks, inside; /* plain: turns of one loop never overlap */
	pthread_t last;
	bool moved; /* another thread than before has served it */
};

struct desk {
	struct exec *owner;
	struct exec *execs[LOOPS];
	struct loop loops[LOOPS];
	struct pool *pool;
	atomic_uint begun, left, turns;
	int64_t turn_mono_ns,
		gap_dur_ns; /* of the loop that is flooded: its last turn; the longest time from one to the next */
	pthread_t owner_thread;
	bool owner_runs;
};

static void begun(void *arg)
{
	atomic_fetch_add(&((struct desk *)arg)->begun, 1);
}

static void *run_owner(void *arg)
{
	exec_run(arg);
	return NULL;
}

static void desk_open(struct desk *d, unsigned n, unsigned threads, int64_t backlog_dur_ns)
{
	struct pool_options o = { .execs = d->execs,
				  .n = n,
				  .threads = threads,
				  .backlog_dur_ns = backlog_dur_ns,
				  .idle_dur_ns = 20 * NS_PER_MS,
				  .begin = begun,
				  .arg = d };

	memset(d, 0, sizeof(*d));
	assert_int_equal(exec_threads_create(&d->owner), 0);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(exec_threads_create(&d->execs[i]), 0);
		d->loops[i] = (struct loop){ .x = d->execs[i], .desk = d };
	}
	o.owner = d->owner;
	assert_int_equal(pool_create(&o, &d->pool), 0);
	assert_int_equal(pthread_create(&d->owner_thread, NULL, run_owner, d->owner), 0);
	d->owner_runs = true;
}

static void owner_stop(struct desk *d)
{
	if (d->owner_runs) {
		exec_quit(d->owner);
		pthread_join(d->owner_thread, NULL);
	}
	d->owner_runs = false;
}

static void desk_close(struct desk *d)
{
	owner_stop(d);
	pool_destroy(d->pool);
	for (unsigned i = 0; i < LOOPS; i++)
		exec_destroy(d->execs[i]);
	exec_destroy(d->owner);
}

static void enter(struct loop *l)
{
	assert_int_equal(l->inside++, 0);
	l->moved = l->moved || (l->posts + l->ticks && !pthread_equal(l->last, pthread_self()));
	l->last = pthread_self();
}

static void leave(struct loop *l)
{
	l->inside--;
}

/* ---- nothing is lost ---- */

struct one {
	struct exec_post post;
	struct loop *loop;
};

static void count(void *arg)
{
	struct loop *l = ((struct one *)arg)->loop;

	enter(l);
	l->posts++;
	leave(l);
	atomic_fetch_sub(&l->desk->left, 1);
}

static void tick(void *arg)
{
	struct loop *l = arg;

	enter(l);
	if (++l->ticks < 200)
		exec_timer_at(&l->timer, exec_now(l->x) + l->ticks % 3 * 30000);
	leave(l);
	atomic_fetch_sub(&l->desk->left, 1);
}

static void start_ticks(void *arg)
{
	tick(arg);
}

struct poster {
	struct desk *d;
	struct one all[POSTS];
	pthread_t thread;
};

static void *post_all(void *arg)
{
	struct poster *p = arg;

	for (unsigned i = 0; i < POSTS; i++) {
		struct one *o = &p->all[i];

		o->loop = &p->d->loops[i % LOOPS];
		exec_post_init(&o->post, o->loop->x, count, o);
		exec_post(&o->post);
	}
	return NULL;
}

TEST(every_post_and_timer_of_every_loop_runs)
{
	static struct poster posters[POSTERS];
	static struct desk d;
	unsigned posts = 0;

	desk_open(&d, LOOPS, 4, NS_PER_MS / 10);
	atomic_store(&d.left, POSTERS * POSTS + LOOPS * 200);
	for (unsigned i = 0; i < LOOPS; i++) {
		struct loop *l = &d.loops[i];

		exec_timer_init(&l->timer, l->x, tick, l);
		exec_post_init(&l->post, l->x, start_ticks, l);
		exec_post(&l->post);
	}
	for (unsigned i = 0; i < POSTERS; i++) {
		posters[i].d = &d;
		assert_int_equal(pthread_create(&posters[i].thread, NULL, post_all, &posters[i]), 0);
	}
	while (atomic_load(&d.left))
		sched_yield();
	for (unsigned i = 0; i < POSTERS; i++)
		pthread_join(posters[i].thread, NULL);
	desk_close(&d);
	for (unsigned i = 0; i < LOOPS; i++) {
		posts += d.loops[i].posts;
		assert_int_equal(d.loops[i].ticks, 200);
	}
	assert_int_equal(posts, POSTERS * POSTS);
	assert_int_equal(d.begun, 4);
}

/* ---- how many threads ---- */

/* Keeps its thread for a moment, and is ready again at once, until enough was done. */
static void keep_busy(void *arg)
{
	struct loop *l = arg;
	int64_t until = mono_now_ns() + NS_PER_MS / 2;

	enter(l);
	while (mono_now_ns() < until)
		;
	l->posts++;
	leave(l);
	atomic_fetch_add(&l->desk->turns, 1);
	if (atomic_load(&l->desk->left))
		exec_post(&l->post);
}

static void be_busy(struct desk *d, unsigned i)
{
	exec_post_init(&d->loops[i].post, d->loops[i].x, keep_busy, &d->loops[i]);
	exec_post(&d->loops[i].post);
}

TEST(a_waiting_loop_wakes_a_thread_that_sleeps_again)
{
	static struct desk d;

	desk_open(&d, LOOPS, 3, NS_PER_MS); /* a turn is shorter than that, five are longer */
	owner_stop(&d);                     /* no tick: a thread between two turns is to notice */
	while (pool_awake(d.pool) > 1)      /* there may have been one, on a busy machine */
		sched_yield();
	atomic_store(&d.left, 1);
	for (unsigned i = 0; i < LOOPS; i++)
		be_busy(&d, i);
	while (pool_awake(d.pool) < 2)
		sched_yield();
	atomic_store(&d.left, 0);
	while (pool_awake(d.pool) > 1)
		sched_yield();
	desk_close(&d);
}

static void run_for_a_while(struct desk *d, unsigned turns)
{
	while (atomic_load(&d->turns) < turns)
		assert_int_equal(pool_awake(d->pool), 1);
	atomic_store(&d->left, 0);
}

/* A single loop that is always ready keeps no other one waiting. */
TEST(one_thread_serves_while_it_is_enough)
{
	static struct desk d;

	desk_open(&d, 3, 3, 30 * NS_PER_S);
	atomic_store(&d.left, 1);
	be_busy(&d, 0);
	be_busy(&d, 1);
	run_for_a_while(&d, 100);
	desk_close(&d);
	assert_true(d.loops[0].posts > 1 && d.loops[1].posts > 1);
	assert_false(d.loops[0].moved || d.loops[1].moved);
	assert_true(pthread_equal(d.loops[0].last, d.loops[1].last));
}

static void keep_flooded(void *arg)
{
	struct desk *d = ((struct loop *)arg)->desk;
	int64_t now = mono_now_ns();

	if (now - d->turn_mono_ns > d->gap_dur_ns)
		d->gap_dur_ns = now - d->turn_mono_ns;
	d->turn_mono_ns = now;
	keep_busy(arg);
}

#define FLOOD_DUR_NS (NS_PER_S / 2) /* shorter than the flood, longer than a thread usually goes without a CPU */

/* False: its thread had no CPU for so long that this says nothing. */
static bool floods_alone(void)
{
	static struct desk d;
	struct loop *l = &d.loops[0];
	unsigned awake = 1;

	desk_open(&d, 3, 3, FLOOD_DUR_NS);
	d.turn_mono_ns = mono_now_ns();
	atomic_store(&d.left, 1);
	exec_post_init(&l->post, l->x, keep_flooded, l);
	exec_post(&l->post);
	while (atomic_load(&d.turns) < 2000)
		awake = pool_awake(d.pool) > awake ? pool_awake(d.pool) : awake;
	atomic_store(&d.left, 0);
	desk_close(&d);
	if (d.gap_dur_ns >= FLOOD_DUR_NS / 2 || mono_now_ns() - d.turn_mono_ns >= FLOOD_DUR_NS / 2)
		return false;
	assert_int_equal(awake, 1);
	assert_false(l->moved);
	return true;
}

TEST(one_flooded_loop_wakes_no_other_thread)
{
	AWAIT(floods_alone());
}

TEST(the_number_of_threads_is_bounded)
{
	static struct desk d;

	desk_open(&d, 3, 1, NS_PER_MS / 10);
	atomic_store(&d.left, 1);
	for (unsigned i = 0; i < 3; i++)
		be_busy(&d, i);
	run_for_a_while(&d, 100);
	desk_close(&d);
	assert_int_equal(d.begun, 1);
	for (unsigned i = 0; i < 3; i++)
		assert_true(d.loops[i].posts > 1);
}

/* ---- the tick ---- */

static sem_t opened;

static void wait_for_the_other(void *arg)
{
	struct loop *l = arg;

	enter(l);
	if (l->posts++ < 20) { /* load first: only that arms the tick */
		int64_t until = mono_now_ns() + NS_PER_MS / 2;

		while (mono_now_ns() < until)
			;
		leave(l);
		exec_post(&l->post);
		return;
	}
	exec_post(&l->desk->loops[1].post);
	while (sem_wait(&opened) < 0)
		;
	leave(l);
	atomic_fetch_sub(&l->desk->left, 1);
}

static void open_it(void *arg)
{
	struct loop *l = arg;

	enter(l);
	sem_post(&opened);
	leave(l);
	atomic_fetch_sub(&l->desk->left, 1);
}

/* The only thread is inside a turn that does not end before the other loop was served: the owner's loop notices. */
TEST(a_long_turn_under_load_is_noticed_from_outside)
{
	static struct desk d;

	sem_init(&opened, 0, 0);
	desk_open(&d, 2, 2, NS_PER_MS);
	atomic_store(&d.left, 2);
	exec_post_init(&d.loops[0].post, d.loops[0].x, wait_for_the_other, &d.loops[0]);
	exec_post_init(&d.loops[1].post, d.loops[1].x, open_it, &d.loops[1]);
	exec_post(&d.loops[0].post);
	while (atomic_load(&d.left))
		sched_yield();
	desk_close(&d);
	sem_destroy(&opened);
}

/* ---- a single loop ---- */

TEST(a_single_loop_runs_in_one_thread)
{
	static struct desk d;

	desk_open(&d, 1, 8, NS_PER_MS);
	atomic_store(&d.left, 1);
	be_busy(&d, 0);
	run_for_a_while(&d, 100);
	desk_close(&d);
	assert_int_equal(d.begun, 1);
	assert_true(d.loops[0].posts > 1);
}

TEST(invalid_options_are_refused)
{
	struct exec *x;
	struct pool_options o = { .n = 1, .threads = 1, .backlog_dur_ns = 1, .idle_dur_ns = NS_PER_S };
	struct pool *p;

	assert_int_equal(exec_threads_create(&x), 0);
	o.execs = &x;
	assert_int_equal(pool_create(&o, &p), -EINVAL); /* no owner */
	o.owner = x;
	o.threads = 0;
	assert_int_equal(pool_create(&o, &p), -EINVAL);
	o.threads = POOL_THREADS_MAX + 1;
	assert_int_equal(pool_create(&o, &p), -EINVAL);
	pool_destroy(NULL);
	assert_int_equal(pool_awake(NULL), 1);
	exec_destroy(x);
}
