/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of the clock: a late reader finds the same time for a moment, to the nanosecond, as readers at that
 * moment did.
 */
#include "unit/time/rig.h"

#include "support/wait.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MS     NS_PER_MS
#define ROUNDS 5000

static _Alignas(64) struct sim_clock_history history;

static void begin(struct rig *r, const char *source_name)
{
	memset(&history, 0, sizeof(history));
	rig_init(r, test_seed(7), source_name, (struct time_engine_options){ .history = &history });
}

static void expect(const struct sim_clock_sample *seen)
{
	struct sim_clock_sample s;

	assert_int_equal(sim_clock_read_at(&history, seen->mono_ns, &s), 0);
	assert_int_equal(s.sim_ns, seen->sim_ns);
	assert_int_equal(s.mono_ns, seen->mono_ns);
	assert_int_equal(s.rate_e6, seen->rate_e6);
	assert_int_equal(s.clock_generation, seen->clock_generation);
	assert_int_equal(s.flags, seen->flags);
}

/* Of a moment: held time has the one at which it was put there in its sample. */
static struct sim_clock_sample seen_now(struct rig *r)
{
	struct sim_clock_sample s = rig_read(r);

	s.mono_ns = exec_now(r->x);
	return s;
}

/* Pauses, scales, jumps. */
static void disturb(struct rig *r, unsigned n)
{
	switch (n % 6) {
	case 0:
		assert_int_equal(time_engine_pause(r->e), 0);
		break;
	case 1:
		assert_int_equal(time_engine_resume(r->e), 0);
		break;
	case 2:
		assert_int_equal(time_engine_set_source(r->e, source(n % 4 ? "system" : "simulation"), false), 0);
		break;
	default:
		assert_int_equal(time_engine_set_scale(r->e, TIME_SCALE_MIN_E6 + n % 7000000), 0);
	}
}

TEST(a_late_reader_finds_earlier_times_unchanged)
{
	static struct sim_clock_sample seen[ROUNDS];
	unsigned seed = (unsigned)test_seed(7);
	struct rig r;

	begin(&r, "simulation");
	for (int i = 0; i < ROUNDS; i++) {
		rig_run(&r, 1 + rand_r(&seed) % (3 * MS));
		seen[i] = seen_now(&r);
		rig_run(&r, 1 + rand_r(&seed) % 3);
		if (rand_r(&seed) % 3 == 0)
			disturb(&r, (unsigned)rand_r(&seed));
	}
	assert_true(r.jumps > 10);
	for (int i = 0; i < ROUNDS; i++)
		expect(&seen[i]);
	rig_finish(&r);
}

TEST(before_the_beginning_the_oldest_time_is_returned)
{
	struct sim_clock_sample s;
	struct rig r;

	begin(&r, "simulation");
	rig_run(&r, 10 * MS);
	assert_int_equal(sim_clock_read_at(&history, RIG_START_MONO_NS - 1, &s), 1);
	assert_int_equal(s.sim_ns, 0);
	assert_int_equal(s.mono_ns, RIG_START_MONO_NS);
	assert_int_equal(sim_clock_read_at(&history, INT64_MIN, &s), 1);
	assert_int_equal(s.mono_ns, RIG_START_MONO_NS);
	memset(&history, 0, sizeof(history));
	assert_int_equal(sim_clock_read_at(&history, RIG_START_MONO_NS, &s), -1);
	rig_finish(&r);
}

/* Each advance is an entry: the last ones are kept, and a request for an earlier one gets an error. */
TEST(driven_time_keeps_its_last_advances)
{
	const int n = SIM_CLOCK_PIECES + SIM_CLOCK_PIECES / 2;
	struct sim_clock_sample s;
	struct rig r;
	int fd, result;

	begin(&r, "unity");
	fd = rig_attach(&r, 1, &result);
	assert_int_equal(result, 0);
	for (int i = 1; i <= n; i++) {
		rig_run(&r, MS);
		assert_int_equal(rig_advance(&r, fd, 10), 10);
	}
	rig_run(&r, MS);
	for (int i = 0; i < (int)SIM_CLOCK_PIECES_KEPT; i++) {
		assert_int_equal(sim_clock_read_at(&history, exec_now(r.x) - i * MS - 1, &s), 0);
		assert_int_equal(s.sim_ns, 10 * (int64_t)(n - i));
	}
	assert_int_equal(sim_clock_read_at(&history, exec_now(r.x) - SIM_CLOCK_PIECES_KEPT * MS - 1, &s), 1);
	assert_int_equal(s.sim_ns, 10 * (int64_t)(n - (int)SIM_CLOCK_PIECES_KEPT + 1));
	close(fd);
	rig_finish(&r);
}

TEST(paused_time_is_one_piece)
{
	uint64_t written;
	struct rig r;

	begin(&r, "simulation");
	assert_int_equal(time_engine_pause(r.e), 0);
	written = history.written;
	for (int i = 0; i < 10; i++) {
		rig_run(&r, MS);
		assert_int_equal(time_engine_set_scale(r.e, (i + 1) * SIM_RATE_ONE), 0); /* for later */
	}
	assert_int_equal(history.written, written);
	rig_finish(&r);
}

/* ---- on real threads ---- */

#define DELAY  1000
#define WRITES 20000 /* fewer than are kept: the reader may stand still meanwhile */

struct race {
	struct sim_clock_page page;
	atomic_bool stop;
	_Atomic long compared, wrong;
};

static void *reader(void *arg)
{
	static struct sim_clock_sample seen[DELAY];
	struct race *c = arg;

	for (long n = 0; !atomic_load_explicit(&c->stop, memory_order_relaxed);) {
		struct sim_clock_sample then = seen[n % DELAY], s;

		if (n >= DELAY && (sim_clock_read_at(&history, then.mono_ns, &s) != 0 || s.sim_ns != then.sim_ns ||
				   s.clock_generation != then.clock_generation))
			atomic_fetch_add(&c->wrong, 1);
		atomic_fetch_add(&c->compared, n >= DELAY);
		n += sim_clock_read(&c->page, &seen[n % DELAY]) == 0;
	}
	return NULL;
}

TEST(reading_the_history_is_safe_beside_the_writer)
{
	static _Alignas(64) struct race c;
	struct time_engine_options o = { .page = &c.page, .history = &history, .source = source("system") };
	struct time_engine *e;
	pthread_t thread;

	memset(&history, 0, sizeof(history));
	assert_int_equal(exec_threads_create(&o.exec), 0);
	assert_int_equal(time_engine_create(&o, &e), 0);
	assert_int_equal(pthread_create(&thread, NULL, reader, &c), 0);
	for (int i = 0; i < WRITES; i++)
		assert_int_equal(time_engine_set_scale(e, i % 2 ? TIME_SCALE_MAX_E6 : TIME_SCALE_MIN_E6), 0);
	AWAIT(atomic_load(&c.compared) > 0);
	atomic_store(&c.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(c.wrong, 0);
	time_engine_destroy(e);
	exec_destroy(o.exec);
}
