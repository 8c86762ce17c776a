/* SPDX-License-Identifier: Apache-2.0 */
/* The clock's deadlines: pure code that gets the time as an argument. */
#include "support/test.h"

#include "rnd.h"
#include "time/clock_ticks.h"
#include "timeutil.h"

#include <string.h>

TEST(deadlines_do_not_drift)
{
	static const uint32_t rates[] = { 1, 3, 7, 30, 60, 100, 1000, 9999, 10000 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct clock_ticks t;
		int64_t late;

		clock_ticks_init(&t, 12345, rates[i], 0);
		assert_false(clock_ticks_take(&t, 12345, &late)); /* the first is one period after the start */
		for (uint64_t k = 1; k <= 30000; k++) {
			int64_t exact = 12345 + (int64_t)((int128)k * NS_PER_S / rates[i]);

			assert_int_equal(clock_ticks_deadline(&t), exact);
			assert_false(clock_ticks_take(&t, exact - 1, &late));
			assert_true(
				clock_ticks_take(&t, exact, &late)); /* on the dot: neither early nor a period late */
			assert_int_equal(late, 0);
		}
		assert_int_equal(t.missed, 0);
		t.next = UINT64_C(9000000000) * rates[i]; /* 285 years */
		assert_int_equal(clock_ticks_deadline(&t), 12345 + INT64_C(9000000000) * NS_PER_S);
	}
}

TEST(a_stall_causes_one_tick_and_is_counted)
{
	struct clock_ticks t;
	int64_t late;

	clock_ticks_init(&t, 0, 1000, 0);
	assert_true(clock_ticks_take(&t, 1000300, &late));
	assert_int_equal(late, 300);
	assert_true(clock_ticks_take(&t, 5999999, &late)); /* 2, 3, 4, 5 ms are open */
	assert_int_equal(late, 3999999);
	assert_int_equal(t.missed, 3);
	assert_false(clock_ticks_take(&t, 5999999, &late)); /* no burst */
	assert_int_equal(clock_ticks_deadline(&t), 6000000);
	assert_true(clock_ticks_take(&t, 6000000, &late));
	assert_int_equal(t.missed, 3);
}

/* Random sleeps against a loop that counts deadline by deadline. */
TEST(missed_deadlines_are_counted_exactly)
{
	struct rnd rnd;

	rnd_seed(&rnd, test_seed(1));
	for (int round = 0; round < 50; round++) {
		uint32_t rate = 1 + rnd_below(&rnd, 10000);
		uint64_t k = 0, missed = 0;
		int64_t now = 0, late;
		struct clock_ticks t;

		clock_ticks_init(&t, 0, rate, 0);
		for (int i = 0; i < 500; i++) {
			uint64_t before = k;

			now += (int64_t)rnd_below(&rnd, (uint32_t)(3 * NS_PER_S / rate));
			while ((int64_t)((int128)(k + 1) * NS_PER_S / rate) <= now)
				k++;
			missed += k > before ? k - before - 1 : 0;
			assert_int_equal(clock_ticks_take(&t, now, &late), k > before);
			assert_int_equal(t.missed, missed);
			assert_int_equal(t.next, k + 1);
		}
	}
}

/* Sleeps that end 20 .. 40 us late: three of four must then end before the deadline, and little is spun away. */
TEST(the_lead_learns_where_three_of_four_sleeps_end)
{
	struct clock_ticks t;
	struct rnd rnd;
	int in_time = 0;

	rnd_seed(&rnd, 5);
	clock_ticks_init(&t, 0, 1000, 100000);
	for (int i = 0; i < 6000; i++) {
		int64_t late, wake = clock_ticks_wake_at(&t), woken = wake + 20000 + rnd_below(&rnd, 20000);

		clock_ticks_woke(&t, wake, woken);
		if (i >= 2000)
			in_time += woken <= clock_ticks_deadline(&t);
		assert_true(t.lead_dur_ns >= 0 && t.lead_dur_ns <= 100000);
		assert_true(clock_ticks_take(&t, clock_ticks_deadline(&t) + 1000, &late));
	}
	assert_in_range(in_time, 2700, 3300); /* of 4000 */
	assert_in_range(t.lead_dur_ns, 30000, 41000);
}

TEST(the_lead_is_bounded_and_can_be_turned_off)
{
	struct clock_ticks t;

	clock_ticks_init(&t, 0, 100, 60000);
	for (int i = 0; i < 10000; i++)
		clock_ticks_woke(&t, 0, 10 * NS_PER_MS);
	assert_int_equal(t.lead_dur_ns, 60000);
	for (int i = 0; i < 10000; i++)
		clock_ticks_woke(&t, 0, 0);
	assert_true(t.lead_dur_ns < 500);
	clock_ticks_init(&t, 0, 10000, 60000);
	for (int i = 0; i < 10000; i++)
		clock_ticks_woke(&t, 0, NS_PER_MS);
	assert_int_equal(t.lead_dur_ns, 25000); /* a quarter of the period */
	clock_ticks_init(&t, 0, 100, 0);
	clock_ticks_woke(&t, 0, NS_PER_MS);
	assert_int_equal(t.lead_dur_ns, 0);
}
