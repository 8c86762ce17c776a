/* SPDX-License-Identifier: Apache-2.0 */
/* The driver lease: advance, grants, steps, pause, loss, hostile drivers and how long time has run, in virtual time. */
#include "unit/time/rig.h"

#define MS        NS_PER_MS
#define NO_SETTLE ((struct time_engine_options){ .step_settle_dur_ns = 0 })

TEST(a_driver_moves_time)
{
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(result, 0);
	assert_int_equal(rig_read(&r).flags, SIM_CLOCK_DRIVEN);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	assert_int_equal(rig_read(&r).flags, SIM_CLOCK_DRIVEN | SIM_CLOCK_STARTED);
	rig_run(&r, NS_PER_S); /* wall time does nothing */
	assert_int_equal(rig_read(&r).sim_ns, 10 * MS);
	assert_int_equal(rig_advance(&r, fd, 1), 1);
	assert_int_equal(rig_advance(&r, fd, 0), -EINVAL);
	assert_int_equal(rig_advance(&r, fd, -1), -EINVAL);
	assert_int_equal(rig_advance(&r, fd, TIME_STEP_MAX_DUR_NS + 1), -EINVAL);
	assert_int_equal(rig_read(&r).sim_ns, 10 * MS + 1);
	assert_int_equal(r.jumps, 0);
	close(fd);
	rig_finish(&r);
}

/* Neither a pause nor a step starts it. */
TEST(waiting_time_begins_on_command)
{
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", (struct time_engine_options){ .waits = true });
	r.watched = false;
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(result, 0);
	assert_true(time_engine_waits(r.e));
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	rig_run(&r, NS_PER_S);
	assert_int_equal(rig_answer(&r, fd), 0);
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(rig_step(&r, 3 * MS), 0);
	rig_run(&r, NS_PER_S);
	assert_int_equal(rig_answer(&r, fd), 0);
	assert_int_equal(r.step_result, 1);
	assert_int_equal(rig_read(&r).flags & SIM_CLOCK_STARTED, 0);

	time_engine_begin(r.e);
	assert_false(time_engine_waits(r.e));
	assert_int_equal(rig_answer(&r, fd), 3 * MS);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0); /* paused, after the step */
	assert_int_equal(r.step_result, 0);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(rig_answer(&r, fd), 10 * MS);
	close(fd);
	rig_finish(&r);
}

TEST(a_driver_gets_the_scale_for_pacing)
{
	struct driver_packet p;
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(time_engine_set_scale(r.e, 250000), 0);
	rig_send(&r, fd, DRIVER_ADVANCE, MS, 0);
	assert_int_equal(rig_recv(fd, &p), 1);
	assert_int_equal(p.scale_e6, 250000);
	assert_int_equal(p.dur_ns, MS); /* it paces; the engine does not scale its requests */
	assert_int_equal(rig_read(&r).rate_e6, 0);
	close(fd);
	rig_finish(&r);
}

TEST(pause_blocks_the_driver)
{
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	rig_run(&r, NS_PER_S);
	assert_int_equal(rig_read(&r).sim_ns, 0);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(rig_answer(&r, fd), 10 * MS);
	assert_int_equal(rig_read(&r).sim_ns, 10 * MS);

	assert_int_equal(time_engine_set_scale(r.e, 0), 0);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	assert_int_equal(time_engine_set_scale(r.e, SIM_RATE_ONE), 0);
	assert_int_equal(rig_answer(&r, fd), 10 * MS);
	close(fd);
	rig_finish(&r);
}

TEST(a_step_is_granted_exactly)
{
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", (struct time_engine_options){ .step_settle_dur_ns = MS, .paused = true });
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0); /* waits */
	assert_int_equal(rig_step(&r, 25 * MS), 0);
	assert_int_equal(rig_answer(&r, fd), 10 * MS);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	rig_run(&r, NS_PER_S); /* the step waits for the driver, not the other way round */
	assert_int_equal(r.step_result, 1);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 5 * MS);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0); /* nothing is left: waits for the next step */
	assert_int_equal(r.step_result, 1);
	rig_run(&r, 2 * MS);
	assert_int_equal(r.step_result, 0);
	assert_int_equal(r.step_end_sim_ns, 25 * MS);
	assert_int_equal(rig_answer(&r, fd), 0);
	assert_int_equal(rig_step(&r, 3 * MS), 0);
	assert_int_equal(rig_answer(&r, fd), 3 * MS);
	rig_run(&r, 20 * MS); /* it still publishes */
	assert_int_equal(r.step_result, 1);
	assert_false(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	assert_int_equal(r.step_result, 0); /* at once: it has settled long ago */
	assert_int_equal(r.page.step, 2);
	assert_int_equal(rig_read(&r).sim_ns, 28 * MS);
	assert_true(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_int_equal(r.jumps, 0);
	close(fd);
	rig_finish(&r);
}

/* The grant covers everything until the driver's next request. */
TEST(a_pause_begins_when_the_driver_asks)
{
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(time_engine_pause(r.e), 0); /* nothing was granted yet */
	assert_true(rig_is_paused(&r));
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(rig_answer(&r, fd), 10 * MS);
	for (int i = 0; i < 3; i++) {
		if (i < 2)
			assert_int_equal(time_engine_pause(r.e), 0);
		else
			assert_int_equal(time_engine_set_scale(r.e, 0), 0);
		assert_true(rig_is_pausing(&r));
		rig_run(&r, NS_PER_S);
		assert_int_equal(time_engine_pause(r.e), 0); /* changes nothing */
		assert_true(rig_is_pausing(&r));
		if (i == 1) { /* not any more */
			assert_int_equal(time_engine_resume(r.e), 0);
			assert_false(rig_is_pausing(&r));
			assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
			continue;
		}
		assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
		assert_true(rig_is_paused(&r));
		assert_int_equal(r.page.pause_mono_ns, exec_now(r.x));
		assert_int_equal(time_engine_resume(r.e), 0);
		assert_int_equal(rig_answer(&r, fd), 10 * MS);
	}
	assert_int_equal(time_engine_pause_by(r.e, 8), 0);
	assert_true(rig_is_pausing(&r));
	assert_int_equal(time_engine_pause_by(r.e, 9), 0); /* the driver's own client */
	assert_true(rig_is_paused(&r));
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	assert_int_equal(time_engine_pause(r.e), 0);
	close(fd); /* its lease ends */
	rig_run(&r, 1);
	assert_true(rig_is_paused(&r));
	rig_finish(&r);
}

/* A wall clock has no driver to wait for. */
TEST(wall_driven_time_is_paused_at_once)
{
	struct rig r;

	rig_init(&r, 1, "simulation", (struct time_engine_options){ .step_settle_dur_ns = -1 });
	r.accepted_mono_ns = exec_now(r.x);
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_true(rig_is_paused(&r));
	assert_int_equal(r.page.pause_mono_ns, exec_now(r.x));
	rig_run(&r, MS);
	assert_int_equal(time_engine_set_scale(r.e, 2000000), 0); /* writes the page */
	assert_int_equal(r.page.pause_mono_ns, exec_now(r.x) - MS);
	rig_finish(&r);
}

TEST(a_driver_that_does_not_ask_is_late)
{
	static const enum time_late policies[] = { TIME_LATE_WAIT, TIME_LATE_WARN, TIME_LATE_DROP };

	for (unsigned i = 0; i < 6; i++) {
		struct rig r;
		bool step = i >= 3, drop = policies[i % 3] == TIME_LATE_DROP;
		bool cut = drop || (policies[i % 3] == TIME_LATE_WARN && !step);
		int result, fd;

		rig_init(&r, 1, "unity",
			 (struct time_engine_options){
				 .step_deadline_dur_ns = 100 * MS, .step_late = policies[i % 3], .paused = step });
		fd = rig_attach(&r, 9, &result);
		if (step)
			assert_int_equal(rig_step(&r, 10 * MS), 0);
		assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
		if (!step)
			assert_int_equal(time_engine_pause(r.e), 0);
		rig_run(&r, 110 * MS - 1); /* the grant takes its time, too */
		assert_int_equal(r.driver_lates, 0);
		rig_run(&r, NS_PER_S);
		assert_int_equal(r.driver_lates, policies[i % 3] != TIME_LATE_WAIT); /* once */
		assert_int_equal(r.late_dropped, cut);
		assert_int_equal(rig_is_paused(&r), cut);
		assert_int_equal(r.step_result, !cut && step);
		assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
		rig_run(&r, MS);
		assert_true(rig_is_paused(&r));
		assert_int_equal(r.step_result, 0);
		close(fd);
		rig_finish(&r);
	}
}

/* A step waits on, warned of once; a pause does not restart the wait. */
TEST(a_pause_ends_a_step_whose_driver_is_late)
{
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity",
		 (struct time_engine_options){
			 .step_deadline_dur_ns = 100 * MS, .step_late = TIME_LATE_WARN, .paused = true });
	r.watched = false;
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(rig_step(&r, 10 * MS), 0);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	rig_run(&r, NS_PER_S);
	for (int i = 0; i < 10; i++) {
		time_engine_poke(r.e);
		rig_run(&r, MS);
	}
	assert_int_equal(r.driver_lates, 1);
	assert_int_equal(r.step_result, 1);
	assert_int_equal(time_engine_pause(r.e), 0);
	rig_run(&r, MS);
	assert_int_equal(r.step_result, -ECANCELED);
	assert_true(rig_is_paused(&r));
	assert_int_equal(r.driver_lates, 2);
	assert_true(r.late_dropped);
	close(fd);
	rig_finish(&r);
}

/*
 * Clients that watch the clock get its time, and a client that publishes all the time does not keep the clock from
 * pausing.
 */
TEST(clock_watchers_have_time_to_publish)
{
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", (struct time_engine_options){ .step_settle_dur_ns = 5 * MS });
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	assert_int_equal(time_engine_pause(r.e), 0);
	rig_run(&r, 2 * MS);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	assert_true(rig_is_pausing(&r));
	rig_run(&r, 2 * MS);
	r.accepted_mono_ns = exec_now(r.x);
	rig_run(&r, 5 * MS - 1);
	assert_true(rig_is_pausing(&r));
	rig_run(&r, 1);
	assert_true(rig_is_paused(&r));

	assert_int_equal(rig_step(&r, 10 * MS), 0);
	assert_int_equal(rig_answer(&r, fd), 10 * MS);
	rig_send(&r, fd, DRIVER_ADVANCE, 10 * MS, 0);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(r.step_result, 1);
		rig_run(&r, MS);
		r.accepted_mono_ns = exec_now(r.x);
	}
	assert_int_equal(r.step_result, 0);

	r.watched = false;
	assert_int_equal(rig_step(&r, 10 * MS), 0);
	assert_int_equal(rig_answer(&r, fd), 10 * MS);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	assert_int_equal(r.step_result, 0); /* no client does */
	close(fd);
	rig_finish(&r);
}

struct waiter {
	struct time_wait w;
	int result; /* 1: none yet */
};

static void waited(struct time_wait *w, int result)
{
	struct waiter *me = container_of(w, struct waiter, w);

	assert_int_equal(me->result, 1);
	me->result = result;
}

TEST(a_pause_can_be_waited_for)
{
	struct waiter v[4];
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	for (int i = 0; i < 4; i++) {
		v[i] = (struct waiter){ .w.done = waited, .result = 1 };
		list_init(&v[i].w.link);
	}
	assert_false(time_engine_is_pausing(r.e));
	assert_int_equal(time_engine_pause(r.e), 0);
	time_engine_wait_paused(r.e, &v[0].w);
	time_engine_wait_paused(r.e, &v[1].w);
	time_wait_cancel(&v[1].w);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	assert_int_equal(v[0].result, 0);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(rig_answer(&r, fd), 10 * MS);
	assert_int_equal(time_engine_pause(r.e), 0);
	time_engine_wait_paused(r.e, &v[2].w);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(v[2].result, -ECANCELED);
	assert_int_equal(time_engine_pause(r.e), 0);
	time_engine_wait_paused(r.e, &v[3].w);
	rig_finish(&r);
	assert_int_equal(v[3].result, -ECANCELED);
	assert_int_equal(v[1].result, 1);
	close(fd);
}

TEST(setting_time_during_a_pause_is_refused)
{
	struct driver_packet p;
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	rig_send(&r, fd, DRIVER_SET, 0, 5 * MS);
	assert_int_equal(rig_recv(fd, &p), 1);
	assert_int_equal(p.result, 0);
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_true(rig_is_pausing(&r));
	rig_send(&r, fd, DRIVER_SET, 0, 6 * MS);
	assert_int_equal(rig_recv(fd, &p), 1);
	assert_int_equal(p.result, -EBUSY);
	assert_true(rig_is_paused(&r));
	assert_int_equal(rig_read(&r).sim_ns, 5 * MS);
	close(fd);
	rig_finish(&r);
}

TEST(a_lost_driver_stops_time_and_ends_the_step)
{
	struct time_status st;
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(rig_step(&r, 25 * MS), 0);
	assert_int_equal(rig_advance(&r, fd, 5 * MS), 5 * MS);
	close(fd);
	rig_run(&r, 1);
	assert_int_equal(r.losts, 1);
	assert_string_equal(r.lost_who, "engine");
	assert_int_equal(r.step_result, -ENOTCONN);
	assert_true(rig_read(&r).flags & SIM_CLOCK_DRIVER_LOST);
	assert_true(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_int_equal(rig_read(&r).sim_ns, 15 * MS);
	time_engine_status(r.e, &st);
	assert_true(st.driver_lost && !st.has_driver && st.driven);

	fd = rig_attach(&r, 10, &result); /* the next one goes on from there */
	assert_int_equal(result, 0);
	assert_false(rig_read(&r).flags & SIM_CLOCK_DRIVER_LOST);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(rig_advance(&r, fd, MS), MS);
	assert_int_equal(rig_read(&r).sim_ns, 16 * MS);
	assert_int_equal(r.jumps, 0);

	time_engine_drop_client(r.e, 9);
	assert_int_equal(r.losts, 1); /* not that one */
	time_engine_drop_client(r.e, 10);
	assert_int_equal(r.losts, 2);
	close(fd);
	rig_finish(&r);
}

TEST(a_released_lease_is_not_a_lost_driver)
{
	struct driver_packet p = { .op = DRIVER_RELEASE };
	struct time_status st;
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	assert_true(rig_read(&r).flags & SIM_CLOCK_NO_DRIVER);
	fd = rig_attach(&r, 9, &result);
	assert_false(rig_read(&r).flags & SIM_CLOCK_NO_DRIVER);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	assert_int_equal(send(fd, &p, sizeof(p), 0), sizeof(p));
	rig_run(&r, 1);
	assert_int_equal(r.releases, 1);
	assert_int_equal(r.losts, 0);
	time_engine_status(r.e, &st);
	assert_false(st.driver_lost || st.has_driver);
	assert_true(rig_read(&r).flags & SIM_CLOCK_NO_DRIVER);
	assert_false(rig_read(&r).flags & SIM_CLOCK_DRIVER_LOST);
	assert_int_equal(rig_recv(fd, &p), -1); /* simd has hung up */
	close(fd);
	assert_int_equal(time_engine_set_source(r.e, source("simulation"), false), 0);
	assert_false(rig_read(&r).flags & SIM_CLOCK_NO_DRIVER);
	rig_finish(&r);
}

/* simd was busy: the hang-up of the client, or of the socket, is there before the release is read. */
TEST(a_release_read_after_the_connection_closed_counts)
{
	struct driver_packet p = { .op = DRIVER_RELEASE };

	for (int how = 0; how < 3; how++) {
		struct rig r;
		int result, fd;

		rig_init(&r, 1, "unity", NO_SETTLE);
		fd = rig_attach(&r, 9, &result);
		if (how ==
		    2) /* an answer that it did not read: its close is reported as ECONNRESET, ahead of the release */
			rig_send(&r, fd, DRIVER_ADVANCE, MS, 0);
		assert_int_equal(send(fd, &p, sizeof(p), 0), sizeof(p));
		if (how == 0)
			time_engine_drop_client(r.e, 9);
		else
			close(fd);
		rig_run(&r, 1);
		assert_int_equal(r.releases, 1);
		assert_int_equal(r.losts, 0);
		assert_false(rig_read(&r).flags & SIM_CLOCK_DRIVER_LOST);
		if (how == 0)
			close(fd);
		rig_finish(&r);
	}
}

TEST(only_one_driver_may_attach_and_only_to_its_source)
{
	struct rig r;
	struct driver_packet p;
	int result, fd, second;

	rig_init(&r, 1, "simulation", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(result, -EOPNOTSUPP);
	assert_int_equal(rig_recv(fd, &p), -1); /* its end was closed */
	close(fd);
	assert_int_equal(time_engine_set_source(r.e, source("unity"), false), 0);
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(result, 0);
	second = rig_attach(&r, 10, &result);
	assert_int_equal(result, -EBUSY);
	assert_non_null(strstr(err_why(), "engine (pid 4711)"));
	assert_int_equal(rig_recv(second, &p), -1);
	close(second);
	assert_int_equal(rig_advance(&r, fd, MS), MS);

	assert_int_equal(time_engine_set_source(r.e, source("simulation"), false), 0); /* the lease ends */
	assert_int_equal(rig_recv(fd, &p), 1);
	assert_int_equal(p.op, DRIVER_LOST);
	assert_int_equal(rig_recv(fd, &p), -1);
	assert_int_equal(r.losts, 0);
	assert_false(rig_read(&r).flags & SIM_CLOCK_DRIVER_LOST);
	close(fd);
	rig_finish(&r);
}

TEST(malformed_driver_packets_end_the_lease)
{
	for (int how = 0; how < 5; how++) {
		char big[100] = { 0 };
		struct rig r;
		struct driver_packet p = { .op = DRIVER_ADVANCE, .dur_ns = 1 };
		int result, fd;

		rig_init(&r, 1, "unity", (struct time_engine_options){ .paused = true });
		fd = rig_attach(&r, 9, &result);
		assert_int_equal(result, 0);
		if (how == 0) {
			assert_int_equal(send(fd, big, 5, 0), 5);
		} else if (how == 1) {
			assert_int_equal(send(fd, big, sizeof(big), 0), sizeof(big));
		} else if (how == 2) {
			p.op = 77;
			assert_int_equal(send(fd, &p, sizeof(p), 0), sizeof(p));
		} else if (how == 3) { /* asks twice */
			assert_int_equal(send(fd, &p, sizeof(p), 0), sizeof(p));
			assert_int_equal(send(fd, &p, sizeof(p), 0), sizeof(p));
		} else {
			shutdown(fd, SHUT_WR);
		}
		assert_true(exec_sim_settle(r.x) > 0);
		assert_int_equal(r.losts, 1);
		assert_true(strlen(r.lost_why) > 10);
		assert_int_equal(rig_recv(fd, &p), -1);
		assert_int_equal(rig_read(&r).sim_ns, 0);
		close(fd);
		rig_finish(&r);
	}
}

TEST(a_driver_that_does_not_read_is_dropped)
{
	struct driver_packet p = { .op = DRIVER_ADVANCE, .dur_ns = 1 };
	struct rig r;
	int result, fd, n = 0;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	while (!r.losts && n++ < 100000) {
		send(fd, &p, sizeof(p), MSG_DONTWAIT | MSG_NOSIGNAL);
		assert_true(exec_sim_settle(r.x) >= 0);
	}
	assert_int_equal(r.losts, 1);
	close(fd);
	rig_finish(&r);
}

TEST(time_does_not_wrap)
{
	struct driver_packet p;
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "ss2", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	rig_send(&r, fd, DRIVER_SET, 0, INT64_MAX - 5);
	assert_int_equal(rig_recv(fd, &p), 1);
	assert_int_equal(r.jumps, 1); /* the first one that differs is a jump, forward too */
	assert_int_equal(rig_advance(&r, fd, 6), -ERANGE);
	assert_int_equal(rig_advance(&r, fd, 5), 5);
	assert_int_equal(rig_read(&r).sim_ns, INT64_MAX);
	close(fd);
	rig_finish(&r);
}

static struct time_run run_of(const struct rig *r)
{
	struct time_status st;

	time_engine_status(r->e, &st);
	return st.run;
}

/* Time before the first advance and after the last one does not count, nor do pauses and jumps. */
TEST(the_simulated_and_wall_time_of_a_run_are_measured)
{
	int64_t began_mono_ns;
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	rig_run(&r, 7 * NS_PER_S);
	assert_int_equal(run_of(&r).began_mono_ns, 0);
	began_mono_ns = exec_now(r.x);
	for (int i = 0; i < 101; i++) { /* 10 ms of simulated in 20 ms of wall time */
		assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
		rig_run(&r, i < 100 ? 20 * MS : 5 * NS_PER_S);
	}
	assert_int_equal(run_of(&r).began_mono_ns, began_mono_ns);
	assert_int_equal(run_of(&r).sim_dur_ns, 1000 * MS);
	assert_int_equal(run_of(&r).wall_dur_ns, 2000 * MS);
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	rig_run(&r, 3600 * NS_PER_S);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(rig_answer(&r, fd), 10 * MS); /* from here on */
	rig_run(&r, 10 * MS);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	assert_int_equal(run_of(&r).sim_dur_ns, 1010 * MS);
	assert_int_equal(run_of(&r).wall_dur_ns, 2010 * MS);
	close(fd);
	rig_run(&r, 3600 * NS_PER_S); /* without a driver */
	fd = rig_attach(&r, 10, &result);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	rig_run(&r, 10 * MS);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	assert_int_equal(run_of(&r).wall_dur_ns, 2020 * MS);
	close(fd);
	rig_finish(&r);
}

TEST(the_time_of_a_wall_clock_run_is_measured)
{
	struct rig r;

	rig_init(&r, 1, "simulation", NO_SETTLE);
	assert_int_equal(run_of(&r).began_mono_ns, exec_now(r.x));
	rig_run(&r, 100 * MS);
	assert_int_equal(run_of(&r).wall_dur_ns, 100 * MS);
	assert_int_equal(time_engine_set_scale(r.e, 2000000), 0);
	rig_run(&r, 100 * MS);
	assert_int_equal(time_engine_pause(r.e), 0);
	rig_run(&r, NS_PER_S);
	assert_int_equal(run_of(&r).wall_dur_ns, 200 * MS);
	assert_int_equal(run_of(&r).sim_dur_ns, 300 * MS);
	assert_int_equal(time_engine_set_source(r.e, source("system"), false), 0);
	assert_int_equal(time_engine_resume(r.e), 0);
	rig_run(&r, 100 * MS);
	assert_int_equal(run_of(&r).wall_dur_ns, 300 * MS);
	assert_int_equal(run_of(&r).sim_dur_ns, 500 * MS);
	rig_finish(&r);
}

TEST(the_real_time_factor_is_measured)
{
	struct time_status st;
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	for (int i = 0; i < 300; i++) { /* 10 ms of simulated in 20 ms of wall time */
		assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
		rig_run(&r, 20 * MS);
	}
	time_engine_status(r.e, &st);
	assert_true(st.real_time_factor > 0.48 && st.real_time_factor < 0.52);
	rig_run(&r, 3600 * NS_PER_S);
	time_engine_status(r.e, &st);
	assert_true(st.real_time_factor < 0.001);
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(rig_answer(&r, fd), 10 * MS);
	rig_run(&r, 1000);
	time_engine_status(r.e, &st);
	assert_true(st.real_time_factor == 0.0); /* a microsecond tells nothing */
	rig_run(&r, 200 * MS);
	time_engine_status(r.e, &st);
	assert_true(st.real_time_factor > 0.049 && st.real_time_factor < 0.051);
	assert_int_equal(time_engine_set_source(r.e, source("simulation"), false), 0);
	assert_int_equal(time_engine_set_scale(r.e, 1500000), 0);
	time_engine_status(r.e, &st);
	assert_true(st.real_time_factor > 1.4999 && st.real_time_factor < 1.5001);
	close(fd);
	rig_finish(&r);
}

/* The step was to begin when the pause does, which the scale ends; or it is under way. Each has its answer, and time goes on. */
TEST(setting_a_scale_that_runs_time_ends_a_step)
{
	for (int paused = 0; paused < 2; paused++) {
		struct rig r;
		int result, fd;

		rig_init(&r, 1, "unity", NO_SETTLE);
		fd = rig_attach(&r, 9, &result);
		assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
		assert_int_equal(time_engine_set_scale(r.e, 0), 0);
		if (paused)
			assert_int_equal(rig_advance(&r, fd, 10 * MS), 0);
		assert_int_equal(rig_step(&r, 25 * MS), 0);
		if (paused)
			assert_int_equal(rig_answer(&r, fd), 10 * MS);
		assert_int_equal(r.step_result, 1);
		assert_int_equal(time_engine_set_scale(r.e, 2 * SIM_RATE_ONE), 0);
		assert_int_equal(r.step_result, -ECANCELED);
		assert_string_equal(r.step_why, "time was resumed before the step had ended");
		for (int i = 0; i < 5; i++)
			assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
		assert_int_equal(rig_read(&r).flags, SIM_CLOCK_DRIVEN | SIM_CLOCK_STARTED);
		assert_int_equal(r.page.scale_e6, 2 * SIM_RATE_ONE);
		close(fd);
		rig_finish(&r);
	}
}

/* Nothing of an abandoned pause remains: the next one gives the driver its whole deadline again. */
TEST(each_pause_gives_the_driver_its_whole_deadline)
{
	struct time_engine_options o = { .step_deadline_dur_ns = NS_PER_S, .step_late = TIME_LATE_WARN };
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", o);
	r.watched = false;
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(time_engine_resume(r.e), 0);
	rig_run(&r, 10 * NS_PER_S);
	assert_int_equal(r.driver_lates, 0);
	assert_int_equal(time_engine_pause(r.e), 0);
	rig_run(&r, NS_PER_S / 2);
	assert_int_equal(r.driver_lates, 0);
	assert_false(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	rig_run(&r, NS_PER_S);
	assert_int_equal(r.driver_lates, 1);
	assert_true(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	close(fd);
	rig_finish(&r);
}
