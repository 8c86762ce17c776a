/* SPDX-License-Identifier: Apache-2.0 */
/* The frequency gate against every line of its acceptance table. */

#include "tests/support/test.h"

#include <errno.h>

#include <sim/clock.h>

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

struct run {
	struct sim_gate g;
	struct sim_clock_sample now;
	int64_t first_ns, last_ns, worst_ns;
	uint64_t fires;
};

static void run_init(struct run *r, uint32_t mhz)
{
	memset(r, 0, sizeof(*r));
	assert_int_equal(sim_gate_init(&r->g, mhz), 0);
	r->now.clock_generation = 7;
	r->now.sim_ns = 123456789;
}

/* One tick; checks that the fire is never early against the exact grid fires * 1e12 / mhz from the first. */
static bool tick(struct run *r, int64_t d)
{
	bool due;

	r->now.sim_ns += d;
	due = sim_gate_due(&r->g, &r->now);
	if (!due)
		return false;
	if (!r->fires)
		r->first_ns = r->now.sim_ns;
	r->last_ns = r->now.sim_ns;
	r->fires++;
	return true;
}

TEST(the_first_tick_fires)
{
	struct run r;

	run_init(&r, 10000);
	assert_true(tick(&r, 0));
	assert_false(tick(&r, 1));
}

/* d << P: the mean is exact, lateness 0..d, never early. 13.4 Hz has a period that is no whole number of ns. */
TEST(short_ticks_do_not_fire_early)
{
	static const uint32_t rates[] = { 13400, 12500, 15000, 10000, 7001, 999 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		const int64_t d = 1 * MS + 77;
		struct run r;

		run_init(&r, rates[i]);
		for (int n = 0; n < 200000; n++) {
			sim_int128_ since, due;

			if (!tick(&r, d) || r.fires == 1)
				continue;
			/* the k-th fire after the first is due at k * 1e12 / mhz; both sides times mhz */
			since = (sim_int128_)(r.last_ns - r.first_ns) * rates[i];
			due = (sim_int128_)(r.fires - 1) * 1000 * S;
			assert_true(since >= due);
			assert_true(since - due < (sim_int128_)d * rates[i]);
		}
		assert_true(r.fires > 100);
	}
}

/* Over a long time the count is exact: no drift by the ns that a rounded period would lose. */
TEST(a_gate_does_not_drift)
{
	struct run r;
	uint64_t fires = 0;

	run_init(&r, 13400);
	for (int64_t ms = 0; ms <= 1000 * 1000; ms++) /* 1000 s in ticks of 1 ms */
		fires += tick(&r, ms ? MS : 0);
	assert_int_equal(fires, 13400 + 1);
}

/* P 100 ms, d 66.7 ms: gaps of 1 and 2 ticks, mean 10.0 Hz. */
TEST(ticks_near_the_period_fire_evenly)
{
	struct run r;
	int gap = 0, one = 0, two = 0;

	run_init(&r, 10000);
	assert_true(tick(&r, 0));
	for (int n = 0; n < 15000; n++) {
		gap++;
		if (!tick(&r, 66700000))
			continue;
		assert_in_range(gap, 1, 2);
		*(gap == 1 ? &one : &two) += 1;
		gap = 0;
	}
	assert_true(one > 0 && two > 0);
	assert_int_equal(r.fires, 15000ull * 667 / 1000 + 1);
}

TEST(long_ticks_fire_each_time)
{
	struct run r;

	run_init(&r, 100000); /* 10 ms */
	for (int n = 0; n < 1000; n++)
		assert_true(tick(&r, 33 * MS));
}

/* After a stall: one fire, then back on the phase grid. */
TEST(a_stall_fires_once)
{
	struct run r;
	int64_t start;

	run_init(&r, 10000);
	assert_true(tick(&r, 0));
	start = r.now.sim_ns;
	assert_true(tick(&r, 1234 * MS));
	for (int n = 0; n < 65; n++)
		assert_false(tick(&r, MS));
	assert_true(tick(&r, MS));
	assert_int_equal(r.now.sim_ns, start + 1300 * MS);
	/* the same with a period that is no whole number of ns: due k is at ceil(k * 1e12 / 13400) */
	run_init(&r, 13400);
	assert_true(tick(&r, 0));
	start = r.now.sim_ns;
	assert_true(tick(&r, 100 * S + 1));   /* 1340 periods are 100 s exactly */
	assert_false(tick(&r, 74626864 - 1)); /* 1341 periods: 100 s + 74626865.67 ns */
	assert_false(tick(&r, 1));
	assert_true(tick(&r, 1));
	assert_int_equal(r.now.sim_ns, start + 100 * S + 74626866);
}

TEST(a_paused_clock_fires_nothing)
{
	struct run r;

	run_init(&r, 10000);
	r.now.flags = SIM_CLOCK_PAUSED;
	for (int n = 0; n < 10; n++)
		assert_false(tick(&r, 0));
	r.now.flags = SIM_CLOCK_STEPPING;
	assert_true(tick(&r, 0));
	r.now.flags = SIM_CLOCK_PAUSED;
	assert_false(tick(&r, 500 * MS));
	r.now.flags = 0;
	assert_true(tick(&r, 0));
	assert_false(tick(&r, 99 * MS));
}

/* A jump, forwards or backwards, starts a new phase at the first tick after it. */
TEST(a_jump_starts_a_new_phase)
{
	struct run r;

	run_init(&r, 10000);
	r.now.sim_ns = 5 * S;
	assert_true(tick(&r, 0));
	assert_false(tick(&r, 30 * MS));
	r.now.clock_generation++;
	r.now.sim_ns = 1 * S + 7;
	assert_true(tick(&r, 0));
	assert_false(tick(&r, 100 * MS - 1));
	assert_true(tick(&r, 1));
}

TEST(bad_rates_are_refused)
{
	struct sim_gate g;

	assert_int_equal(sim_gate_init(&g, 0), -EINVAL);
	assert_string_equal(sim_why(), "frequency gate: 0 millihertz is out of range, 1 to 1000000000 (1 Hz is 1000)");
	assert_int_equal(sim_gate_init(&g, 1000000001), -EINVAL);
	assert_int_equal(sim_gate_init(NULL, 1000), -EINVAL);
	assert_int_equal(sim_gate_init(&g, 1), 0);
	assert_int_equal(g.period_dur_ns, 1000 * S);
	assert_int_equal(sim_gate_init(&g, 1000000000), 0);
	assert_int_equal(g.period_dur_ns, 1000);
}

TEST(enumerations_have_names)
{
	assert_string_equal(sim_reason_name(SIM_REASON_NO_CREDIT), "no-credit");
	assert_string_equal(sim_reason_text(SIM_REASON_TOKEN), "the exclusive token is in use");
	assert_string_equal(sim_reason_name((enum sim_reason)99), "?");
	assert_string_equal(sim_time_source_name(SIM_SOURCE_SS2), "ss2");
	assert_string_equal(sim_bridge_status_name(SIM_BRIDGE_CONNECTED), "connected");
	assert_string_equal(sim_bridge_status_name((enum sim_bridge_status) - 1), "?");
}
