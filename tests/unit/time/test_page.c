/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers and the writer of the clock page on real threads: time never goes back. The same check is then run
 * against a writer that reads the clock before it marks the page, and must catch it.
 */
#include "unit/time/rig.h"

#include <pthread.h>
#include <stdatomic.h>

#define READERS 2
#define WRITES  30000 /* of the engine: each waits 1 us for its readers */

struct race {
	struct sim_clock_page *page;
	atomic_bool stop;
	_Atomic long readings, backwards, unstable;
	_Atomic int ready;
};

static void *reader(void *arg)
{
	struct race *c = arg;
	struct sim_clock_sample s, last = { .sim_ns = INT64_MIN };
	long n = 0, back = 0, unstable = 0;

	do {
		if (sim_clock_read(c->page, &s) < 0) {
			unstable++;
			continue;
		}
		back += s.sim_ns < last.sim_ns && s.clock_generation == last.clock_generation;
		last = s;
		if (!n++)
			atomic_fetch_add(&c->ready, 1);
		if (back)
			atomic_store(&c->backwards, back);
	} while (!atomic_load_explicit(&c->stop, memory_order_relaxed));
	atomic_fetch_add(&c->readings, n);
	atomic_fetch_add(&c->unstable, unstable);
	return NULL;
}

static void start(struct race *c, pthread_t threads[READERS])
{
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader, c), 0);
	while (atomic_load(&c->ready) < READERS) /* all have a first reading */
		sched_yield();
}

static void finish(struct race *c, pthread_t threads[READERS])
{
	atomic_store(&c->stop, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
}

TEST(the_clock_page_never_goes_back)
{
	static _Alignas(64) struct sim_clock_page page;
	static const int64_t scales[] = { TIME_SCALE_MAX_E6, TIME_SCALE_MIN_E6, SIM_RATE_ONE, 333333 };
	struct time_engine_options o = { .page = &page, .source = source("system") };
	struct race c = { .page = &page };
	struct time_engine *e;
	pthread_t threads[READERS];

	assert_int_equal(exec_threads_create(&o.exec), 0);
	assert_int_equal(time_engine_create(&o, &e), 0);
	start(&c, threads);
	for (int i = 0; i < WRITES; i++) {
		assert_int_equal(time_engine_set_scale(e, scales[i % 4]), 0);
		if (i % 50 == 7)
			assert_int_equal(time_engine_pause(e), 0);
		if (i % 50 == 9)
			assert_int_equal(time_engine_resume(e), 0);
	}
	finish(&c, threads);
	assert_int_equal(c.backwards, 0);
	assert_true(c.readings > 0);
	time_engine_destroy(e);
	exec_destroy(o.exec);
}

/*
 * The mutation: the clock is read first, the mark comes later (here a preemption later). A reader in between
 * extrapolates at the old rate beyond the time at which the new rate begins.
 */
static void bad_write(struct sim_clock_page *p, int64_t rate_e6)
{
	int64_t now = mono_now_ns(), next, until = now + 20 * NS_PER_US;

	while (mono_now_ns() < until)
		continue;
	next = p->sim_ns + sim_scale_dur_(now - p->mono_ns, p->rate_e6);
	__atomic_store_n(&p->seq, p->seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	page_store(&p->sim_ns, next);
	page_store(&p->mono_ns, now);
	page_store(&p->rate_e6, rate_e6);
	__atomic_store_n(&p->seq, p->seq + 1, __ATOMIC_RELEASE);
}

TEST(a_writer_that_reads_the_clock_too_early_is_detected)
{
	static _Alignas(64) struct sim_clock_page page;
	struct race c = { .page = &page };
	pthread_t threads[READERS];

	page.mono_ns = mono_now_ns();
	page.rate_e6 = SIM_RATE_ONE;
	start(&c, threads);
	for (unsigned i = 0; !atomic_load(&c.backwards); i++) /* a reader in between comes sooner or later */
		bad_write(&page, i % 2 ? TIME_SCALE_MIN_E6 : TIME_SCALE_MAX_E6);
	finish(&c, threads);
	assert_true(c.backwards > 0);
}

TEST(a_writer_that_died_inside_a_write_is_noticed)
{
	static _Alignas(64) struct sim_clock_page page = { .seq = 3, .sim_ns = 5 };
	struct sim_clock_sample s = { .sim_ns = 4 };

	assert_int_equal(sim_clock_read(&page, &s), -1);
	assert_int_equal(page_sample_at(&page, 1, &s), -1);
	assert_int_equal(s.sim_ns, 4);
}
