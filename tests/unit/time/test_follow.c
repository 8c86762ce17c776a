/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source `link`: follows the reported clock of another host, slewed, and never goes back; pause and scale as
 * reported; lock-step by advances; invalid reports are refused. Thread: the test's.
 */
#include "unit/time/rig.h"

#include "wire/step.h"

#define MS  NS_PER_MS
#define S   NS_PER_S
#define ONE SIM_RATE_ONE

static struct rig r;
static int fd;

static int begin(void **state)
{
	int result;

	(void)state;
	rig_init(&r, 1, "link", (struct time_engine_options){ .step_settle_dur_ns = 0 });
	r.watched = false;
	fd = rig_attach(&r, 9, &result);
	return result;
}

static int end(void **state)
{
	(void)state;
	close(fd);
	rig_finish(&r);
	return 0;
}

static int tell_packet(const struct driver_follow_packet *p)
{
	struct driver_packet answer = { .result = 1 };

	assert_int_equal(send(fd, p, sizeof(*p), MSG_NOSIGNAL), sizeof(*p));
	assert_true(exec_sim_settle(r.x) >= 0);
	if (rig_recv(fd, &answer) < 1)
		return 1;
	assert_int_equal(answer.op, DRIVER_GRANT);
	assert_int_equal(answer.number, 0); /* it was no round: the library takes it for the answer all the same */
	return answer.result;
}

/* It is sim_ns now. */
static int tell(int64_t sim_ns, int64_t rate_e6, uint32_t flags)
{
	const struct driver_follow_packet p = { .op = DRIVER_FOLLOW,
						.flags = flags,
						.sim_ns = sim_ns,
						.mono_ns = exec_now(r.x),
						.rate_e6 = rate_e6,
						.scale_e6 = rate_e6 ? rate_e6 : ONE,
						.error_dur_ns = 150000 };

	return tell_packet(&p);
}

static int64_t now(void)
{
	return rig_read(&r).sim_ns;
}

static int64_t error(void)
{
	struct time_status st;

	time_engine_status(r.e, &st);
	return st.error_dur_ns;
}

TEST_WITH(time_waits_for_the_first_report_and_then_runs, begin, end)
{
	rig_run(&r, S);
	assert_int_equal(now(), 0);
	assert_int_equal(error(), -1);
	assert_int_equal(rig_read(&r).flags, SIM_CLOCK_DRIVEN);
	assert_int_equal(tell(70 * S, ONE, 0), 0);
	assert_int_equal(r.jumps, 1);
	assert_int_equal(r.jump_new_sim_ns, 70 * S);
	rig_run(&r, 250 * MS);
	assert_int_equal(now(), 70 * S + 250 * MS);
	assert_int_equal(rig_read(&r).flags, SIM_CLOCK_STARTED);
	assert_int_equal(error(), 150000 + 50000); /* and 200 us a second */
}

/* The report's moment has passed: the clock has moved on since. */
TEST_WITH(a_report_applies_to_its_own_moment, begin, end)
{
	struct driver_follow_packet p = {
		.op = DRIVER_FOLLOW, .sim_ns = 5 * S, .rate_e6 = 2 * ONE, .scale_e6 = 2 * ONE
	};

	p.mono_ns = exec_now(r.x) - 30 * MS;
	assert_int_equal(tell_packet(&p), 0);
	assert_int_equal(now(), 5 * S + 60 * MS);
	p.mono_ns = exec_now(r.x) + 10 * MS; /* clocks disagree a little */
	p.sim_ns = 5 * S + 80 * MS;
	assert_int_equal(tell_packet(&p), 0);
	assert_int_equal(now(), 5 * S + 60 * MS);
	assert_int_equal(r.jumps, 1);
}

TEST_WITH(a_difference_is_slewed_away, begin, end)
{
	assert_int_equal(tell(10 * S, ONE, 0), 0);
	assert_int_equal(tell(10 * S + 2 * MS, ONE, 0), 0);
	assert_int_equal(now(), 10 * S);
	assert_int_equal(error(), 150000 + 2 * MS);
	rig_run(&r, 100 * MS);
	assert_int_equal(now(), 10 * S + 101 * MS);
	rig_run(&r, 100 * MS);
	assert_int_equal(now(), 10 * S + 202 * MS);
	assert_int_equal(rig_read(&r).rate_e6, ONE); /* no more than that */
	rig_run(&r, S);
	assert_int_equal(now(), 11 * S + 202 * MS);
	/* ahead: it runs slower, and never back */
	assert_int_equal(tell(11 * S + 200 * MS, ONE, 0), 0);
	assert_int_equal(now(), 11 * S + 202 * MS);
	rig_run(&r, 200 * MS);
	assert_int_equal(now(), 11 * S + 400 * MS);
	assert_int_equal(r.jumps, 1);
}

/* Where the other driver moves time in steps no rate can be reported; the clock is followed all the same. */
TEST_WITH(the_real_time_factor_of_the_host_is_measured, begin, end)
{
	struct time_status st;

	assert_int_equal(tell(10 * S, 0, 0), 0);
	for (int i = 1; i <= 300; i++) { /* 10 ms of simulated in 20 ms of wall time */
		rig_run(&r, 20 * MS);
		assert_int_equal(tell(10 * S + i * 10 * MS, 0, 0), 0);
	}
	time_engine_status(r.e, &st);
	assert_true(st.real_time_factor > 0.48 && st.real_time_factor < 0.52);
	for (int i = 0; i < 30; i++) { /* and where it runs by itself */
		assert_int_equal(tell(now(), 2 * ONE, 0), 0);
		rig_run(&r, 100 * MS);
	}
	time_engine_status(r.e, &st);
	assert_true(st.real_time_factor > 1.9 && st.real_time_factor < 2.1);
}

TEST_WITH(a_large_difference_is_a_jump, begin, end)
{
	assert_int_equal(tell(100 * S, ONE, 0), 0);
	assert_int_equal(tell(103 * S, ONE, 0), 0); /* a stall: it goes on from there, as no jump */
	assert_int_equal(now(), 103 * S);
	assert_int_equal(r.jumps, 1);
	assert_int_equal(tell(101 * S, ONE, 0), 0);
	assert_int_equal(now(), 101 * S);
	assert_int_equal(r.jumps, 2);
	assert_int_equal(tell(101 * S + 1, ONE, DRIVER_FOLLOW_JUMP), 0); /* because it is called one */
	assert_int_equal(r.jumps, 3);
	assert_int_equal(tell(201 * S, ONE, 0), 0);
	assert_int_equal(r.jumps, 4);
}

TEST_WITH(pause_and_scale_follow_the_reports, begin, end)
{
	struct time_status st;

	assert_int_equal(tell(10 * S, ONE, 0), 0);
	rig_run(&r, 100 * MS);
	/* we have run on while the word was on its way */
	assert_int_equal(tell(10 * S + 98 * MS, 0, DRIVER_FOLLOW_PAUSED), 0);
	assert_true(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	rig_run(&r, S);
	assert_int_equal(now(), 10 * S + 100 * MS);
	time_engine_status(r.e, &st);
	assert_int_equal(st.state, TIME_PAUSED);
	assert_int_equal(st.scale_e6, ONE); /* kept */
	/* a step of 50 ms there */
	assert_int_equal(tell(10 * S + 148 * MS, 0, DRIVER_FOLLOW_PAUSED), 0);
	assert_int_equal(now(), 10 * S + 148 * MS);
	assert_int_equal(tell(10 * S + 148 * MS, 4 * ONE, 0), 0);
	assert_false(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	rig_run(&r, 10 * MS);
	assert_int_equal(now(), 10 * S + 188 * MS);
	time_engine_status(r.e, &st);
	assert_int_equal(st.scale_e6, 4 * ONE);
	assert_int_equal(r.page.scale_e6, 4 * ONE);
	assert_int_equal(r.jumps, 1);
}

TEST_WITH(local_control_is_refused_and_names_the_time_host, begin, end)
{
	assert_int_equal(tell(10 * S, ONE, 0), 0);
	assert_int_equal(time_engine_pause(r.e), -EOPNOTSUPP);
	assert_non_null(strstr(err_why(), "`link` follows the time host and cannot be paused here"));
	assert_int_equal(time_engine_set_scale(r.e, 2 * ONE), -EOPNOTSUPP);
	assert_int_equal(rig_step(&r, MS), -EOPNOTSUPP);
	assert_non_null(strstr(err_why(), "cannot be stepped here"));
	assert_int_equal(rig_read(&r).rate_e6, ONE);
}

static void check_held(bool has_driver)
{
	int64_t was = now();
	struct time_status st;

	rig_run(&r, S);
	assert_int_equal(now(), was);
	assert_int_equal(error(), -1);
	time_engine_status(r.e, &st);
	assert_true(st.driver_lost);
	assert_int_equal(st.has_driver, has_driver);
	assert_int_equal(rig_read(&r).flags & (SIM_CLOCK_NO_DRIVER | SIM_CLOCK_DRIVER_LOST | SIM_CLOCK_DRIVEN),
			 SIM_CLOCK_NO_DRIVER | SIM_CLOCK_DRIVER_LOST | SIM_CLOCK_DRIVEN);
}

TEST_WITH(a_lost_time_host_stops_time_until_it_is_heard_again, begin, end)
{
	int64_t was;

	assert_int_equal(tell(10 * S, ONE, 0), 0);
	assert_int_equal(tell(10 * S + 10 * MS, ONE, 0), 0); /* also out of a slew */
	rig_run(&r, 50 * MS);
	assert_int_equal(tell(0, 0, DRIVER_FOLLOW_LOST), 0);
	check_held(true);
	was = now();
	assert_int_equal(tell(was + MS, ONE, 0), 0);
	assert_int_equal(rig_read(&r).flags, SIM_CLOCK_STARTED);
	rig_run(&r, 200 * MS);
	assert_int_equal(now(), was + 201 * MS);
	assert_int_equal(r.jumps, 1);
}

TEST_WITH(a_lost_driver_stops_time, begin, end)
{
	int result;

	assert_int_equal(tell(10 * S, ONE, 0), 0);
	rig_run(&r, 50 * MS);
	close(fd);
	assert_true(exec_sim_settle(r.x) >= 0);
	assert_int_equal(r.losts, 1);
	check_held(false);
	fd = rig_attach(&r, 10, &result);
	assert_int_equal(result, 0);
	assert_int_equal(tell(12 * S, ONE, 0), 0);
	assert_int_equal(now(), 12 * S);
	assert_int_equal(r.jumps, 1); /* forward, for less than a minute */
}

TEST_WITH(invalid_reports_are_refused, begin, end)
{
	const struct driver_follow_packet good = {
		.op = DRIVER_FOLLOW, .sim_ns = S, .mono_ns = exec_now(r.x), .rate_e6 = ONE, .scale_e6 = ONE
	};
	struct driver_follow_packet p = good;

	p.flags = 1u << 4;
	assert_int_equal(tell_packet(&p), -EINVAL);
	p = good;
	p.rate_e6 = -1;
	assert_int_equal(tell_packet(&p), -EINVAL);
	p.rate_e6 = 100 * ONE + 1;
	assert_int_equal(tell_packet(&p), -EINVAL);
	p = good;
	p.scale_e6 = INT64_MAX;
	assert_int_equal(tell_packet(&p), -EINVAL);
	p = good;
	p.error_dur_ns = -1;
	assert_int_equal(tell_packet(&p), -EINVAL);
	p = good;
	p.sim_ns = -1;
	assert_int_equal(tell_packet(&p), -ERANGE);
	p.sim_ns = INT64_MAX;
	assert_int_equal(tell_packet(&p), -ERANGE);
	p = good;
	p.mono_ns = exec_now(r.x) - 61 * S;
	assert_int_equal(tell_packet(&p), -ERANGE);
	p.mono_ns = INT64_MAX;
	assert_int_equal(tell_packet(&p), -ERANGE);
	assert_int_equal(now(), 0);
	assert_int_equal(r.losts, 0);
	assert_int_equal(tell_packet(&good), 0);
	/* nothing is too large to be slewed from */
	p = good;
	p.sim_ns = TIME_START_MAX_NS;
	p.rate_e6 = p.scale_e6 = 100 * ONE;
	assert_int_equal(tell_packet(&p), 0);
	rig_run(&r, 100 * S);
	assert_true(now() > TIME_START_MAX_NS);
}

TEST(other_sources_refuse_reports)
{
	static const char *const names[] = { "unity", "ss2", "ros2" };

	for (int i = 0; i < 3; i++) {
		int result;

		rig_init(&r, 1, names[i], (struct time_engine_options){ .step_settle_dur_ns = 0 });
		fd = rig_attach(&r, 9, &result);
		assert_int_equal(result, 0);
		assert_int_equal(tell(10 * S, ONE, 0), -EOPNOTSUPP);
		assert_int_equal(r.losts, 0);
		end(NULL);
	}
}

TEST_WITH(a_packet_of_another_size_ends_the_lease, begin, end)
{
	rig_send(&r, fd, DRIVER_FOLLOW, 0, 0);
	assert_int_equal(r.losts, 1);
}

/* ---- lock-step ---- */

TEST_WITH(in_lock_step_the_driver_advances_and_reports_pause_and_scale, begin, end)
{
	assert_int_equal(tell(0, 0, DRIVER_FOLLOW_STEPS), 0);
	assert_int_equal(r.jumps, 0);
	assert_int_equal(tell(30 * S, 0, DRIVER_FOLLOW_STEPS | DRIVER_FOLLOW_JUMP), 0); /* where the others are */
	assert_int_equal(r.jumps, 1);
	assert_int_equal(now(), 30 * S);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	rig_run(&r, S);
	assert_int_equal(now(), 30 * S + 10 * MS);
	assert_int_equal(error(), 0);
	assert_int_equal(tell(0, 0, DRIVER_FOLLOW_STEPS | DRIVER_FOLLOW_PAUSED), 0);
	assert_true(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_int_equal(now(), 30 * S + 10 * MS);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS); /* a step there: nothing is refused */
	assert_false(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_int_equal(now(), 30 * S + 20 * MS);
	/* to a clock that runs, and back */
	assert_int_equal(tell(30 * S + 21 * MS, ONE, 0), 0);
	rig_run(&r, 200 * MS);
	assert_int_equal(now(), 30 * S + 221 * MS);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	rig_run(&r, S);
	assert_int_equal(now(), 30 * S + 231 * MS);
	assert_int_equal(r.losts, 0);
}

/* A participant runs its step in each; messages sent in the middle of a round break the protocol. */
TEST_WITH(a_reported_pause_waits_for_the_end_of_the_round, begin, end)
{
	struct time_participant who = { .client_id = 5, .name = "sensor" };
	struct step_packet p;
	int fds[2];

	assert_int_equal(fd_packet_pair(fds, 0), 0);
	assert_int_equal(time_engine_join(r.e, fds[0], &who), 0);
	assert_int_equal(tell(0, 0, DRIVER_FOLLOW_STEPS), 0);
	assert_true(r.held);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	assert_int_equal(recv(fds[1], &p, sizeof(p), MSG_DONTWAIT), sizeof(p));
	assert_int_equal(p.sim_ns, 10 * MS);
	p = (struct step_packet){ .op = STEP_DONE, .number = p.number };
	assert_int_equal(send(fds[1], &p, sizeof(p), 0), sizeof(p));
	assert_true(exec_sim_settle(r.x) >= 0);
	assert_int_equal(rig_answer(&r, fd), 10 * MS);
	/* waiting messages are sent first */
	r.drain_busy = true;
	assert_int_equal(tell(0, 0, DRIVER_FOLLOW_STEPS | DRIVER_FOLLOW_PAUSED), 1);
	assert_true(r.held);
	time_engine_drained(r.e);
	assert_int_equal(rig_answer(&r, fd), 0);
	assert_true(r.hold_paused);
	r.drain_busy = false;
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	assert_true(r.held);
	assert_int_equal(tell(0, 0, DRIVER_FOLLOW_STEPS | DRIVER_FOLLOW_PAUSED), 1);
	assert_int_equal(r.losts, 1);
	close(fds[1]);
}

TEST_WITH(switching_the_source_ends_following, begin, end)
{
	assert_int_equal(tell(10 * S, ONE, 0), 0);
	assert_int_equal(tell(10 * S + 20 * MS, ONE, 0), 0); /* a slew is under way */
	assert_int_equal(time_engine_set_source(r.e, source("simulation"), true), 0);
	rig_run(&r, S);
	assert_int_equal(now(), 11 * S);
	assert_int_equal(rig_read(&r).rate_e6, ONE);
	assert_int_equal(time_engine_set_source(r.e, source("link"), false), 0);
	rig_run(&r, S);
	assert_int_equal(now(), 0);
	assert_int_equal(rig_read(&r).flags & SIM_CLOCK_DRIVEN, SIM_CLOCK_DRIVEN);
}
