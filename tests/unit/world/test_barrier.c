/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.h, in virtual time: which clients a tick waits for, the ladder, the pace, the measurements. Thread: the
 * test's.
 */
#include "support/test.h"

#include <errno.h>

#include "mem.h"
#include "rnd.h"
#include "tools/world/barrier.h"

#define MS INT64_C(1000000)

static struct barrier *b;
static int64_t now;
static uint64_t tick;

static void start_with(const struct barrier_options *o)
{
	now = 1000 * MS;
	tick = 0;
	assert_int_equal(barrier_create(o, now, &b), 0);
}

static void start(uint32_t pace_permille, bool dilate)
{
	start_with(
		&(struct barrier_options){ .step_dur_ns = 10 * MS, .pace_permille = pace_permille, .dilate = dilate });
}

static void start_waiting_for_paused(void)
{
	start_with(&(struct barrier_options){ .step_dur_ns = 10 * MS, .pace_permille = 1000, .wait_for_paused = true });
}

static int end(void **state)
{
	(void)state;
	barrier_destroy(b);
	b = NULL;
	return 0;
}

static void join(uint32_t connection, enum barrier_role role, int64_t lookahead)
{
	assert_int_equal(barrier_join(b, connection, role, lookahead, now), 0);
}

static void done(uint32_t connection, uint64_t of)
{
	const struct barrier_done d = { .tick = of };

	assert_int_equal(barrier_done(b, connection, &d, now), 0);
}

static struct barrier_next next(void)
{
	struct barrier_next n;

	barrier_next(b, now, &n);
	return n;
}

/* No client changes rungs; returns whether the tick is due. */
static bool ticks(void)
{
	struct barrier_next n = next();

	assert_int_equal(n.connection, 0);
	if (n.tick)
		barrier_ticked(b, ++tick, now);
	return n.tick;
}

static void rung_is(uint32_t connection, enum barrier_rung rung)
{
	struct barrier_next n = next();

	assert_int_equal(n.connection, connection);
	assert_int_equal(n.rung, rung);
	assert_false(n.tick);
}

TEST_WITH(a_tick_waits_for_all_regulating_clients, NULL, end)
{
	start(0, false);
	join(1, BARRIER_REGULATING, 0);
	join(2, BARRIER_REGULATING, 0);
	join(3, BARRIER_CONSTRAINED, 0);
	join(4, BARRIER_OBSERVER, 0);
	assert_true(ticks());
	assert_false(ticks());
	done(1, 1);
	done(3, 1);
	assert_false(ticks());
	done(2, 1);
	assert_true(ticks());
	assert_false(ticks());
	done(1, 2);
	barrier_leave(b, 2, now);
	assert_true(ticks());
	barrier_leave(b, 1, now);
	for (int i = 0; i < 10; i++)
		assert_true(ticks());
}

TEST_WITH(a_joining_client_is_waited_for_at_once, NULL, end)
{
	start(0, false);
	for (int i = 0; i < 5; i++)
		assert_true(ticks());
	join(7, BARRIER_REGULATING, 0);
	assert_false(ticks());
	done(7, 5);
	assert_true(ticks());
	done(7, 6);
	join(8, BARRIER_REGULATING, 0);
	assert_false(ticks());
	done(8, 6);
	assert_true(ticks());
}

static enum barrier_role role_of(uint32_t connection)
{
	struct barrier_client c;

	assert_true(barrier_client(b, connection, &c));
	return c.role;
}

/* A newcomer that promises once, or nothing, until it is an observer, or for 0.4 s; for how many milliseconds time stood for it. */
static int64_t stall(uint32_t connection, bool promises)
{
	const struct barrier_done d = { .tick = tick };
	int64_t begin = now, ticked = now, stood = 0;

	join(connection, BARRIER_REGULATING, 0);
	assert_true(!promises || barrier_done(b, connection, &d, now) >= 0);
	for (; role_of(connection) == BARRIER_REGULATING && now - begin < 400 * MS; now += MS) {
		struct barrier_next n = next();

		if (n.tick) {
			barrier_ticked(b, ++tick, now);
			ticked = now;
		}
		done(1, tick);
		stood += now - ticked >= 10 * MS;
	}
	barrier_leave(b, connection, now);
	return stood;
}

/* By newcomers of that kind, beside connection 1; how many milliseconds time stood for them. */
static int64_t use_up_the_share(bool promise)
{
	int64_t all = 0;

	start(1000, false);
	join(1, BARRIER_REGULATING, 0);
	assert_true(ticks());
	done(1, tick);
	for (uint32_t i = 0; i < 10; i++)
		all += stall(100 + i, promise);
	return all;
}

/* Together six rungs' worth of each kind, and then a fiftieth of the time that passes. */
TEST_WITH(stalling_newcomers_delay_the_world_by_a_bounded_share, NULL, end)
{
	const struct barrier_done d = { .tick = 1 };

	assert_in_range(use_up_the_share(true), 300, 300 + 350);
	join(7, BARRIER_REGULATING, 0);
	assert_int_equal(barrier_done(b, 7, &d, now), 1);
	barrier_leave(b, 7, now);
	now += 20000 * MS;
	done(1, tick);
	while (ticks())
		done(1, tick);
	assert_true(stall(200, true) > 280);
}

TEST_WITH(silent_newcomers_delay_the_world_by_a_bounded_share, NULL, end)
{
	assert_in_range(use_up_the_share(false), 300, 300 + 350);
	/* but their use does not count for another client, once that one has sent something */
	join(7, BARRIER_REGULATING, 0);
	done(7, tick);
	assert_int_equal(role_of(7), BARRIER_REGULATING);
	for (int i = 0; i < 5; i++) {
		now += 10 * MS;
		done(1, tick);
		assert_true(ticks());
		assert_false(ticks());
		done(7, tick);
	}
}

TEST_WITH(with_the_share_used_up_newcomers_are_waited_for_from_their_first_done, NULL, end)
{
	uint64_t came;

	(void)use_up_the_share(false);
	join(7, BARRIER_REGULATING, 0);
	came = tick;
	for (int i = 0; i < 100; i++) {
		now += 10 * MS;
		assert_true(ticks());
		done(1, tick);
	}
	done(7, came); /* what it was told when it came */
	now += 10 * MS;
	assert_false(ticks());
	for (int i = 0; i < 5; i++) {
		now += 10 * MS;
		done(7, tick);
		assert_true(ticks());
		done(1, tick);
		assert_false(ticks());
	}
	now += 60 * MS;
	rung_is(7, BARRIER_WARNED);
}

TEST_WITH(a_newcomer_that_is_silent_for_5_s_is_removed, NULL, end)
{
	struct barrier_next n;
	int64_t begin;

	(void)use_up_the_share(false);
	join(7, BARRIER_REGULATING, 0);
	begin = now;
	for (; (n = next()).connection == 0; now += 10 * MS)
		if (n.tick) {
			barrier_ticked(b, ++tick, now);
			done(1, tick);
		}
	assert_true(n.connection == 7 && n.rung == BARRIER_OUT && n.earns && now - begin == 5000 * MS);
	assert_int_equal(barrier_waited_for(b), 0);
}

/* The other clients leave before the newcomer has sent anything. */
TEST_WITH(a_newcomer_that_is_left_alone_is_waited_for, NULL, end)
{
	(void)use_up_the_share(false);
	join(7, BARRIER_REGULATING, 0);
	now += 10 * MS;
	assert_true(ticks());
	barrier_leave(b, 1, now);
	assert_false(ticks());
	now += 60 * MS;
	rung_is(7, BARRIER_WARNED);
}

/*
 * A newcomer that arrives when others have used up the share is waited for once it has kept pace, sooner when some
 * share is left again.
 */
TEST_WITH(with_the_share_used_up_a_newcomer_must_keep_pace_first, NULL, end)
{
	struct barrier_client c;
	struct barrier_next n;
	int64_t begin;

	(void)use_up_the_share(true);
	begin = now;
	join(2, BARRIER_REGULATING, 0);
	assert_int_equal(barrier_done(b, 2, &(struct barrier_done){ .tick = tick }, now), 1);
	assert_true(barrier_client(b, 2, &c) && c.role == BARRIER_OBSERVER);
	for (; (n = next()).connection == 0 && now - begin < 60000 * MS; now += MS) {
		if (n.tick)
			barrier_ticked(b, ++tick, now);
		done(1, tick);
		done(2, tick);
	}
	assert_true(n.connection == 2 && n.rung == BARRIER_IN_TIME);
	assert_in_range(now - begin, 1000 * MS, 30000 * MS);
}

/* The world may have stood for a while. */
TEST_WITH(the_deadline_of_a_newcomer_begins_when_it_joins, NULL, end)
{
	start(0, false);
	assert_true(ticks());
	now += 10000 * MS;
	join(7, BARRIER_REGULATING, 0);
	assert_false(ticks());
	now += 50 * MS;
	rung_is(7, BARRIER_WARNED);
	assert_false(ticks());
}

/* Its answers need so long, as has been seen; 250 ms of it count at most. */
TEST_WITH(a_client_with_a_long_round_trip_has_longer_deadlines, NULL, end)
{
	struct barrier_done d = { .tick = 1 };

	start(0, false);
	join(7, BARRIER_REGULATING, 0);
	assert_true(ticks());
	d.echo_mono_ns = now;
	now += 200 * MS;
	rung_is(7, BARRIER_WARNED);
	rung_is(7, BARRIER_RESENT);
	d.sent_mono_ns = 1;
	assert_int_equal(barrier_done(b, 7, &d, now), 0);
	assert_true(ticks());
	now += 249 * MS;
	assert_false(ticks());
	now += 1 * MS;
	rung_is(7, BARRIER_WARNED);
	assert_false(ticks());
}

TEST_WITH(a_lookahead_lets_time_go_further, NULL, end)
{
	start(0, false);
	join(1, BARRIER_REGULATING, 29 * MS); /* two whole steps */
	for (int i = 0; i < 3; i++)
		assert_true(ticks());
	assert_false(ticks());
	done(1, 1);
	assert_true(ticks());
	assert_false(ticks());
	done(1, 4);
	for (int i = 0; i < 3; i++)
		assert_true(ticks());
	assert_false(ticks());
}

TEST_WITH(with_a_pace_ticks_occur_at_their_time, NULL, end)
{
	struct barrier_next n;

	start(2000, false); /* twice as fast as real time */
	assert_true(ticks());
	n = next();
	assert_false(n.tick);
	assert_int_equal(n.wake_mono_ns, now + 5 * MS);
	now += 5 * MS - 1;
	assert_false(ticks());
	now += 1;
	assert_true(ticks());
	now += 12 * MS; /* late: lost ticks are not caught up, except the one that is due */
	assert_true(ticks());
	assert_true(ticks());
	assert_false(ticks());
	assert_int_equal(next().wake_mono_ns, now + 5 * MS);
}

TEST_WITH(a_client_that_delays_time_is_warned_resent_demoted_and_removed, NULL, end)
{
	struct barrier_client c;
	int64_t begin;

	start(0, false);
	join(1, BARRIER_REGULATING, 0);
	join(2, BARRIER_REGULATING, 0);
	assert_true(ticks());
	begin = now;
	done(1, 1);
	assert_int_equal(next().wake_mono_ns, begin + 50 * MS);
	now = begin + 50 * MS - 1;
	assert_false(ticks());
	now++;
	rung_is(2, BARRIER_WARNED);
	assert_false(ticks());
	assert_int_equal(next().wake_mono_ns, begin + 150 * MS);
	now = begin + 150 * MS;
	rung_is(2, BARRIER_RESENT);
	now = begin + 300 * MS;
	rung_is(2, BARRIER_DEMOTED);
	assert_true(barrier_client(b, 2, &c) && c.role == BARRIER_OBSERVER && c.rung == BARRIER_DEMOTED);
	assert_true(ticks()); /* time goes on without it */
	assert_int_equal(barrier_waited_for(b), 1);
	done(1, 2);
	assert_true(ticks());
	done(2, 1); /* not the newest */
	done(1, 3);
	now = begin + 499 * MS;
	assert_true(ticks());
	now = begin + 500 * MS;
	rung_is(2, BARRIER_OUT);
	assert_true(next().connection == 0);
	barrier_leave(b, 2, now);
	done(1, 4);
	assert_true(ticks());
	assert_int_equal(barrier_waited_for(b), 0);
}

TEST_WITH(after_a_long_sleep_no_rung_is_skipped, NULL, end)
{
	start(0, false);
	join(1, BARRIER_REGULATING, 0);
	assert_true(ticks());
	assert_false(ticks());
	now += 10000 * MS;
	rung_is(1, BARRIER_WARNED);
	rung_is(1, BARRIER_RESENT);
	rung_is(1, BARRIER_DEMOTED);
	rung_is(1, BARRIER_OUT);
}

TEST_WITH(a_client_that_catches_up_gets_its_role_back, NULL, end)
{
	struct barrier_client c;

	start(0, false);
	join(1, BARRIER_REGULATING, 0);
	assert_true(ticks());
	assert_false(ticks());
	now += 100 * MS;
	rung_is(1, BARRIER_WARNED);
	done(1, 1);
	assert_true(ticks()); /* without a word: it was only warned */
	assert_true(barrier_client(b, 1, &c) && c.rung == BARRIER_IN_TIME);
	assert_false(ticks());
	now += 300 * MS;
	rung_is(1, BARRIER_WARNED);
	rung_is(1, BARRIER_RESENT);
	rung_is(1, BARRIER_DEMOTED);
	assert_true(ticks());
	assert_true(ticks());
	done(1, tick);
	rung_is(1, BARRIER_IN_TIME);
	assert_true(barrier_client(b, 1, &c) && c.role == BARRIER_REGULATING);
	assert_true(ticks());
	assert_false(ticks());
}

/* Both keep pace for so many milliseconds; whether one is back in its role by then. */
static bool keep_pace(int64_t dur_ms)
{
	bool back = false;

	for (int64_t until = now + dur_ms * MS; now < until; now += MS) {
		struct barrier_next n = next();

		back |= n.connection == 2 && n.rung == BARRIER_IN_TIME;
		if (n.tick)
			barrier_ticked(b, ++tick, now);
		done(1, tick);
		done(2, tick);
	}
	return back;
}

TEST_WITH(a_role_is_earned_by_keeping_pace, NULL, end)
{
	struct barrier_client c;

	start(1000, false);
	join(1, BARRIER_REGULATING, 0);
	join(2, BARRIER_REGULATING, 0);
	barrier_earn(b, 2, 1000 * MS);
	for (int i = 0; i < 499; i++, now += 10 * MS) { /* it says nothing, and is not waited for */
		assert_true(ticks());
		done(1, tick);
	}
	assert_int_equal(barrier_waited_for(b), 0);
	assert_true(barrier_client(b, 2, &c) && c.role == BARRIER_OBSERVER);
	assert_false(keep_pace(900));
	for (int i = 0; i < 10; i++, now += 10 * MS) { /* not for long enough */
		assert_true(ticks());
		done(1, tick);
	}
	assert_false(keep_pace(900));
	assert_true(keep_pace(200));
	assert_true(barrier_client(b, 2, &c) && c.role == BARRIER_REGULATING);
	done(1, tick);
	now += 100 * MS;
	assert_int_equal(barrier_late_dur_ns(b, 1, now), 0);
	while (next().tick) {
		barrier_ticked(b, ++tick, now);
		done(1, tick);
	}
	now += 20 * MS;
	assert_in_range(barrier_late_dur_ns(b, 2, now), 20 * MS, 200 * MS);
}

TEST_WITH(a_client_that_earns_a_role_must_not_be_silent_for_5_s, NULL, end)
{
	struct barrier_next n;

	start(1000, false);
	join(1, BARRIER_REGULATING, 0);
	join(2, BARRIER_REGULATING, 0);
	barrier_earn(b, 2, 1000 * MS);
	for (int i = 0; i < 500; i++, now += 10 * MS) {
		assert_true(ticks());
		done(1, tick);
		if (i == 100)
			done(2, 50);
	}
	for (; (n = next()).connection == 0; now += 10 * MS) {
		assert_true(ticks());
		done(1, tick);
	}
	assert_true(n.connection == 2 && n.rung == BARRIER_OUT && n.earns && n.late_dur_ns == 5000 * MS);
}

TEST_WITH(the_only_regulating_client_has_its_role_at_once, NULL, end)
{
	start(0, false);
	join(2, BARRIER_REGULATING, 0);
	barrier_earn(b, 2, 1000 * MS);
	assert_true(ticks());
	assert_false(ticks());
	done(2, tick);
	assert_true(ticks());
	join(1, BARRIER_REGULATING, 0);
	barrier_earn(b, 2, 1000 * MS);
	barrier_leave(b, 1, now);
	done(2, tick);
	rung_is(2, BARRIER_IN_TIME);
}

/* ---- pauses ---- */

static void pauses(uint32_t connection)
{
	assert_int_equal(barrier_done(b, connection, &(struct barrier_done){ .paused = true }, now), 0);
}

TEST_WITH(a_paused_client_is_an_observer_at_once, NULL, end)
{
	start(1000, false);
	join(1, BARRIER_REGULATING, 0);
	join(2, BARRIER_REGULATING, 0);
	assert_true(ticks());
	done(1, tick);
	pauses(2);
	for (int i = 0; i < 6000; i++) { /* a minute: without a rung, and it is not out for silence */
		now += 10 * MS;
		assert_true(ticks());
		assert_int_equal(role_of(2), BARRIER_OBSERVER);
		done(1, tick);
	}
	assert_int_equal(barrier_waited_for(b), 0);
	assert_int_equal(barrier_late_dur_ns(b, 2, now), 0);
	done(2, 1); /* its time goes on, and it has not caught up */
	now += 10 * MS;
	assert_true(ticks());
	done(1, tick);
	assert_int_equal(role_of(2), BARRIER_OBSERVER);
	done(2, tick);
	rung_is(2, BARRIER_IN_TIME);
	assert_int_equal(role_of(2), BARRIER_REGULATING);
	now += 10 * MS;
	assert_true(ticks());
	done(1, tick);
	now += 10 * MS;
	assert_false(ticks()); /* and is waited for */
}

TEST_WITH(a_resumed_client_that_does_not_catch_up_is_removed, NULL, end)
{
	struct barrier_next n;
	int64_t begin;

	start(1000, false);
	join(1, BARRIER_REGULATING, 0);
	join(2, BARRIER_REGULATING, 0);
	assert_true(ticks());
	done(1, tick);
	pauses(2);
	now += 10 * MS;
	assert_true(ticks());
	done(1, tick);
	done(2, 0);
	begin = now;
	for (; (n = next()).connection == 0; now += 10 * MS)
		if (n.tick) {
			barrier_ticked(b, ++tick, now);
			done(1, tick);
		}
	assert_true(n.connection == 2 && n.rung == BARRIER_OUT);
	assert_in_range(now - begin, 490 * MS, 520 * MS);
}

TEST_WITH(a_world_can_wait_for_paused_clients, NULL, end)
{
	start_waiting_for_paused();
	join(1, BARRIER_REGULATING, 0);
	join(2, BARRIER_REGULATING, 0);
	assert_true(ticks());
	done(1, tick);
	done(2, tick);
	now += 10 * MS;
	assert_true(ticks());
	done(1, tick);
	pauses(2);
	for (int i = 0; i < 6000; i++, now += 10 * MS)
		assert_false(ticks());
	assert_int_equal(role_of(2), BARRIER_REGULATING);
	done(2, tick);
	assert_true(ticks());
	done(1, tick);
	now += 49 * MS; /* its lateness begins where its pause ends */
	assert_false(ticks());
	done(2, tick);
	assert_true(ticks());
}

/* A stranger cannot stop it by a pause in place of its first promise. */
TEST_WITH(a_pause_before_the_first_done_is_not_waited_for, NULL, end)
{
	start_waiting_for_paused();
	join(1, BARRIER_REGULATING, 0);
	join(2, BARRIER_REGULATING, 0);
	assert_true(ticks());
	done(1, tick);
	pauses(2);
	now += 10 * MS;
	assert_true(ticks());
	assert_int_equal(role_of(2), BARRIER_OBSERVER);
}

/* A pause earns a client neither a role nor the waiting time of a newcomer. */
TEST_WITH(a_pause_does_not_earn_a_role, NULL, end)
{
	start(1000, false);
	join(1, BARRIER_REGULATING, 0);
	join(2, BARRIER_REGULATING, 0);
	barrier_earn(b, 2, 1000 * MS);
	assert_true(ticks());
	join(3, BARRIER_REGULATING, 0);
	pauses(2);
	pauses(3);
	for (int i = 0; i < 1000; i++, now += 10 * MS) {
		done(1, tick);
		assert_int_equal(next().connection, 0);
		if (next().tick)
			barrier_ticked(b, ++tick, now);
	}
	assert_false(keep_pace(900)); /* of 2 */
	assert_true(keep_pace(200));
}

/* A newcomer that keeps time waiting and is then paused has used as much of the share as one that leaves. */
TEST_WITH(a_pause_uses_the_share_of_newcomers, NULL, end)
{
	unsigned stood = 0;

	start(1000, false);
	join(1, BARRIER_REGULATING, 0);
	assert_true(ticks());
	for (uint32_t i = 100; i < 200; i++) {
		done(1, tick);
		join(i, BARRIER_REGULATING, 0);
		assert_true(barrier_done(b, i, &(struct barrier_done){ .tick = tick }, now) >= 0);
		for (int k = 0; k < 20; k++) {
			struct barrier_next n;

			now += 10 * MS;
			for (n = next(); n.connection; n = next())
				;
			if (n.tick)
				barrier_ticked(b, ++tick, now);
			stood += !n.tick;
			done(1, tick);
		}
		pauses(i);
		barrier_leave(b, i, now);
	}
	assert_in_range(stood, 40, 120); /* of 2000 */
}

TEST_WITH(only_regulating_clients_are_on_the_ladder, NULL, end)
{
	start(0, false);
	join(1, BARRIER_CONSTRAINED, 0);
	join(2, BARRIER_OBSERVER, 0);
	for (int i = 0; i < 100; i++, now += 100 * MS)
		assert_true(ticks());
}

/* One client that needs work_ns for each step, driven for n ticks. */
static void drive(int64_t work_ns, unsigned n)
{
	while (n--) {
		uint64_t before = tick;

		now += work_ns;
		done(1, tick);
		while (tick == before) {
			struct barrier_next x = next();

			assert_int_equal(x.connection, 0);
			if (x.tick)
				barrier_ticked(b, ++tick, now);
			else
				now = x.wake_mono_ns;
		}
	}
}

TEST_WITH(a_world_can_slow_down_for_slow_clients, NULL, end)
{
	start(1000, true);
	join(1, BARRIER_REGULATING, 0);
	assert_true(ticks());
	drive(4 * MS, 50);
	assert_int_equal(barrier_pace(b), 1000);
	drive(20 * MS, 100); /* twice what real time has for it */
	assert_in_range(barrier_pace(b), 440, 470);
	drive(4 * MS, 100);
	assert_int_equal(barrier_pace(b), 1000);
	drive(49 * MS, 200); /* below the first rung; a fifth, less a tenth to spare */
	assert_in_range(barrier_pace(b), 180, 190);
}

TEST_WITH(the_world_slows_down_to_a_tenth_at_most, NULL, end)
{
	const struct barrier_options o = {
		.step_dur_ns = 10 * MS, .pace_permille = 1000, .dilate = true, .rung_dur_ns = 10000 * MS
	};

	now = 1000 * MS;
	tick = 0;
	assert_int_equal(barrier_create(&o, now, &b), 0);
	join(1, BARRIER_REGULATING, 0);
	assert_true(ticks());
	drive(500 * MS, 100);
	assert_int_equal(barrier_pace(b), 100);
	barrier_destroy(b);
	start(1000, false); /* not asked for */
	join(1, BARRIER_REGULATING, 0);
	assert_true(ticks());
	drive(20 * MS, 100);
	assert_int_equal(barrier_pace(b), 1000);
}

TEST_WITH(late_clients_are_advised_to_use_longer_steps, NULL, end)
{
	struct barrier_client c;

	start(1000, false);
	join(1, BARRIER_REGULATING, 0);
	assert_true(ticks());
	drive(8 * MS, 100);
	assert_true(barrier_client(b, 1, &c) && c.step_advice_e6 == 0);
	drive(15 * MS, 100);
	assert_true(barrier_client(b, 1, &c));
	assert_in_range(c.step_advice_e6, 650, 700);
	drive(2 * MS, 100);
	assert_true(barrier_client(b, 1, &c) && c.step_advice_e6 < -550 && c.step_advice_e6 >= -600);
	drive(40 * MS, 100);
	assert_true(barrier_client(b, 1, &c) && c.step_advice_e6 == 1000);
}

TEST_WITH(round_trip_and_offset_are_the_best_of_eight, NULL, end)
{
	const int64_t ahead = 123456789012;
	struct barrier_client c;
	struct rnd r;

	rnd_seed(&r, 1);
	start(0, false);
	join(1, BARRIER_OBSERVER, 0);
	assert_true(barrier_client(b, 1, &c) && c.rtt_dur_ns == -1);
	for (int i = 0; i < 50; i++) {
		int64_t out = MS + rnd_below(&r, 5000000), back = MS + rnd_below(&r, 5000000),
			held = rnd_below(&r, 3000000), sent = now;
		struct barrier_done d;

		if (i % 8 == 0)
			out = back = MS;
		assert_true(ticks());
		now += out;
		d = (struct barrier_done){
			.tick = tick, .echo_mono_ns = sent, .held_dur_ns = held, .sent_mono_ns = now + held + ahead
		};
		now += held + back;
		assert_int_equal(barrier_done(b, 1, &d, now), 0);
		assert_true(barrier_client(b, 1, &c));
		assert_int_equal(c.rtt_dur_ns, 2 * MS);
		assert_int_equal(c.ahead_dur_ns, ahead);
	}
}

TEST_WITH(invalid_options_and_promises_are_refused, NULL, end)
{
	static const struct barrier_done bad[] = { { .tick = 2 },
						   { .tick = UINT64_MAX },
						   { 1, 0, -1, 0, false },
						   { 1, INT64_MAX, 0, 1, false },
						   { 1, -1, 0, 1, false },
						   { 1, 1, INT64_MAX, 1, false },
						   { 1, 1, 1, INT64_MAX, false } };
	const struct barrier_options o[] = { { .step_dur_ns = 0 }, { .step_dur_ns = 1, .rung_dur_ns = -1 } };
	struct barrier *none = NULL;
	struct barrier_client c;

	start(0, false);
	join(1, BARRIER_REGULATING, 0);
	assert_int_equal(barrier_join(b, 1, BARRIER_OBSERVER, 0, now), -EEXIST);
	assert_int_equal(barrier_join(b, 0, BARRIER_OBSERVER, 0, now), -EINVAL);
	assert_int_equal(barrier_join(b, 2, 0, 0, now), -EINVAL);
	assert_int_equal(barrier_join(b, 2, BARRIER_REGULATING, -1, now), -EINVAL);
	assert_true(ticks());
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(barrier_done(b, 1, &bad[i], now), -EINVAL);
	assert_int_equal(barrier_done(b, 2, &(struct barrier_done){ .tick = 1 }, now), -ENOENT);
	assert_false(ticks());
	assert_false(barrier_client(b, 2, &c));
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(barrier_create(&o[i], 0, &none), -EINVAL);
	assert_null(none);
}

/*
 * In any order of events: time never advances without the promise of a regulating client that is on no rung of the
 * ladder for it.
 */
TEST(time_never_passes_a_promise)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t promised[20] = { 0 };
		bool there[20] = { false }, spoke[20] = { false };
		struct rnd r;

		rnd_seed(&r, seed);
		start(seed % 2 ? 1000 : 0, seed % 3 == 0);
		for (unsigned i = 0; i < 3000; i++) {
			uint32_t who = 1 + rnd_below(&r, 19);
			struct barrier_next n;

			now += rnd_below(&r, 8) * MS;
			if (!rnd_below(&r, 60)) {
				if (there[who])
					barrier_leave(b, who, now);
				else
					join(who, BARRIER_REGULATING, 0);
				promised[who] = tick ? tick - 1 : 0;
				there[who] = !there[who];
				spoke[who] = false;
			} else if (there[who]) {
				assert_true(barrier_done(b, who, &(struct barrier_done){ .tick = tick }, now) >= 0);
				promised[who] = tick;
				spoke[who] = true;
			}
			for (n = next(); n.connection; n = next())
				if (n.rung == BARRIER_OUT) {
					barrier_leave(b, n.connection, now);
					there[n.connection] = false;
				}
			for (uint32_t k = 1; n.tick && k < 20; k++) {
				struct barrier_client c;

				assert_int_equal(barrier_client(b, k, &c), there[k]);
				assert_true(!there[k] || !spoke[k] || promised[k] >= tick || c.rung == BARRIER_DEMOTED);
			}
			if (n.tick)
				barrier_ticked(b, ++tick, now);
		}
		assert_true(tick > 20);
		end(NULL);
	}
}
