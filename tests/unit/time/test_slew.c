/* SPDX-License-Identifier: Apache-2.0 */
/* slew.h: no jump where none is needed, never back, and the target is reached. Thread: the test's. */
#include "support/test.h"

#include "rnd.h"
#include "time/slew.h"
#include "timeutil.h"

#define S   NS_PER_S
#define MS  NS_PER_MS
#define ONE 1000000

static struct slew_plan plan(int64_t own, int64_t should, int64_t rate_e6)
{
	struct slew_plan p;

	slew_plan(own, should, rate_e6, rate_e6 ? rate_e6 : ONE, &p);
	return p;
}

TEST(a_small_difference_is_gone_in_a_fifth_of_a_second)
{
	struct slew_plan p = plan(10 * S, 10 * S + MS, ONE);

	assert_false(p.jump);
	assert_int_equal(p.add_dur_ns, 0);
	assert_int_equal(p.rate_e6, ONE + 5000);
	assert_int_equal(p.for_dur_ns, 200 * MS);
	p = plan(10 * S + MS, 10 * S, ONE);
	assert_int_equal(p.rate_e6, ONE - 5000);
	assert_int_equal(p.for_dur_ns, 200 * MS);
}

TEST(a_larger_difference_takes_longer)
{
	struct slew_plan p = plan(10 * S, 11 * S, ONE);

	assert_int_equal(p.rate_e6, ONE + ONE / 8);
	assert_int_equal(p.for_dur_ns, 8 * S);
	p = plan(10 * S, 9 * S, 2 * ONE);
	assert_false(p.jump);
	assert_int_equal(p.rate_e6, 2 * ONE - ONE / 4);
	assert_int_equal(p.for_dur_ns, 4 * S);
}

TEST(a_large_difference_is_not_slewed)
{
	assert_int_equal(plan(10 * S, 12 * S, ONE).add_dur_ns, 2 * S);
	assert_int_equal(plan(10 * S, 12 * S, ONE).rate_e6, ONE);
	assert_true(plan(10 * S, 8 * S, ONE).jump);
	assert_true(plan(10 * S, 71 * S, ONE).jump);
	assert_false(plan(10 * S, 8 * S, 4 * ONE).jump); /* half a second of real time */
}

TEST(a_stopped_clock_is_waited_for)
{
	struct slew_plan p = plan(10 * S, 10 * S + MS, 0);

	assert_int_equal(p.add_dur_ns, MS); /* to the nanosecond */
	assert_int_equal(p.rate_e6, 0);
	p = plan(10 * S + MS, 10 * S, 0);
	assert_false(p.jump);
	assert_int_equal(p.add_dur_ns, 0);
	assert_int_equal(p.rate_e6, 0);
	assert_true(plan(10 * S, 8 * S, 0).jump);
}

TEST(slewing_arrives_and_time_never_stops_or_goes_back)
{
	struct rnd r;

	rnd_seed(&r, test_seed(4));
	for (int i = 0; i < 100000; i++) {
		int64_t rate = 10000 + rnd_below(&r, 100000000 - 10000), own = 100 * S + rnd_below(&r, 2000000000);
		int64_t should = 100 * S + rnd_below(&r, 2000000000), gone, off;
		struct slew_plan p = plan(own, should, rate);

		if (p.jump || p.add_dur_ns)
			continue;
		assert_true(p.rate_e6 > 0 && p.rate_e6 >= rate - rate / 8 && p.rate_e6 <= rate + rate / 8);
		gone = (int64_t)((int128)p.for_dur_ns * (p.rate_e6 - rate) / ONE);
		off = should - own - gone;
		/* less than the least that a rate can tell */
		assert_true(off >= -1000 && off <= 1000);
	}
}

TEST(without_a_difference_nothing_is_slewed)
{
	struct slew_plan p = plan(5 * S, 5 * S, 3 * ONE);

	assert_int_equal(p.rate_e6, 3 * ONE);
	assert_int_equal(p.for_dur_ns, 0);
	assert_int_equal(p.add_dur_ns, 0);
	assert_false(p.jump);
}
