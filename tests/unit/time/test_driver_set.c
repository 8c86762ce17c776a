/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers that set time: forward, back, by jumps, in pauses and steps, in virtual time. */
#include "unit/time/rig.h"

#define MS        NS_PER_MS
#define NO_SETTLE ((struct time_engine_options){ .step_settle_dur_ns = 0 })

static void set(struct rig *r, int fd, int64_t to_sim_ns, int result)
{
	struct driver_packet p;

	rig_send(r, fd, DRIVER_SET, 0, to_sim_ns);
	assert_int_equal(rig_recv(fd, &p), 1);
	assert_int_equal(p.op, DRIVER_GRANT);
	assert_int_equal(p.result, result);
	if (!result)
		assert_int_equal(rig_read(r).sim_ns, to_sim_ns);
}

TEST(ss2_sets_time_and_starts_over_with_a_jump)
{
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "ss2", NO_SETTLE);
	assert_int_equal(rig_read(&r).flags, SIM_CLOCK_DRIVEN | SIM_CLOCK_NO_DRIVER);
	fd = rig_attach(&r, 9, &result);
	set(&r, fd, 0, 0); /* initialise */
	assert_int_equal(r.jumps, 0);
	assert_int_equal(rig_read(&r).flags, SIM_CLOCK_DRIVEN | SIM_CLOCK_STARTED);
	set(&r, fd, 50 * MS, 0);
	set(&r, fd, 100 * MS, 0);
	assert_int_equal(rig_advance(&r, fd, 50 * MS), 50 * MS);
	assert_int_equal(r.jumps, 0);
	set(&r, fd, 0, 0); /* initialise again */
	assert_int_equal(r.jumps, 1);
	assert_int_equal(r.jump_old_sim_ns, 150 * MS);
	assert_int_equal(r.jump_new_sim_ns, 0);
	set(&r, fd, -1, -ERANGE);
	close(fd);
	rig_run(&r, 1);
	assert_true(rig_read(&r).flags & SIM_CLOCK_DRIVER_LOST);
	fd = rig_attach(&r, 9, &result);
	set(&r, fd, 200 * MS, 0); /* goes on */
	assert_int_equal(r.jumps, 1);
	close(fd);
	rig_finish(&r);
}

static void jump(struct rig *r, int fd, int64_t to_sim_ns, int result)
{
	struct driver_packet p;

	rig_send(r, fd, DRIVER_JUMP, 0, to_sim_ns);
	assert_int_equal(rig_recv(fd, &p), 1);
	assert_int_equal(p.result, result);
}

TEST(the_driver_may_declare_a_jump)
{
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "ss2", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	set(&r, fd, 10 * MS, 0);
	r.jumps = 0;
	jump(&r, fd, 70 * MS, 0); /* forward */
	assert_int_equal(r.jumps, 1);
	assert_int_equal(r.jump_old_sim_ns, 10 * MS);
	assert_int_equal(r.jump_new_sim_ns, 70 * MS);
	jump(&r, fd, 70 * MS, 0); /* to where it is */
	assert_int_equal(r.jumps, 2);
	jump(&r, fd, -1, -ERANGE);
	assert_int_equal(r.jumps, 2);
	assert_int_equal(rig_read(&r).sim_ns, 70 * MS);
	close(fd);
	rig_finish(&r);
}

/* A scene that is loaded again, and a second run of the engine, which is another client. */
TEST(an_engine_sets_time_back_with_a_jump)
{
	uint32_t generation;
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	set(&r, fd, 0, 0); /* it begins where time is */
	assert_int_equal(r.jumps, 0);
	generation = rig_read(&r).clock_generation;
	for (int i = 1; i <= 100; i++) {
		assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
		assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
		jump(&r, fd, 0, 0);
		assert_int_equal(r.jumps, i);
		assert_int_equal(r.jump_old_sim_ns, 20 * MS);
		assert_int_equal(r.jump_new_sim_ns, 0);
		assert_int_equal(rig_read(&r).sim_ns, 0);
		assert_int_equal(rig_read(&r).clock_generation, generation + (uint32_t)i);
	}
	assert_int_equal(rig_advance(&r, fd, 30 * MS), 30 * MS);
	close(fd);
	rig_run(&r, 1);
	assert_int_equal(r.losts, 1);

	fd = rig_attach(&r, 10, &result);
	assert_int_equal(result, 0);
	set(&r, fd, 5 * MS, 0);
	assert_int_equal(r.jumps, 101);
	assert_int_equal(r.jump_old_sim_ns, 30 * MS);
	assert_int_equal(rig_advance(&r, fd, MS), MS);
	assert_int_equal(rig_read(&r).sim_ns, 6 * MS);
	assert_int_equal(r.losts, 1);
	close(fd);
	rig_finish(&r);
}

TEST(a_jump_waits_for_the_end_of_a_pause)
{
	struct driver_packet p;
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	assert_int_equal(time_engine_pause(r.e), 0);
	rig_send(&r, fd, DRIVER_JUMP, 0, 0);
	assert_true(rig_is_paused(&r));
	rig_run(&r, NS_PER_S);
	assert_int_equal(rig_recv(fd, &p), 0);
	assert_int_equal(rig_read(&r).sim_ns, 10 * MS);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(rig_recv(fd, &p), 1);
	assert_int_equal(p.result, 0);
	assert_int_equal(rig_read(&r).sim_ns, 0);
	assert_int_equal(r.jumps, 1);

	assert_int_equal(time_engine_pause_by(r.e, 9), 0);
	rig_send(&r, fd, DRIVER_JUMP, 0, 0);
	close(fd); /* it dies meanwhile */
	rig_run(&r, 1);
	assert_int_equal(r.losts, 1);
	assert_true(rig_is_paused(&r));
	assert_int_equal(time_engine_resume(r.e), 0);
	rig_run(&r, NS_PER_S);
	assert_int_equal(r.jumps, 1);
	fd = rig_attach(&r, 10, &result);
	assert_int_equal(rig_advance(&r, fd, MS), MS);
	assert_int_equal(rig_read(&r).sim_ns, MS);
	close(fd);
	rig_finish(&r);
}

/* The whole length of the step is granted, wherever the jump leads. */
TEST(a_jump_inside_a_step_does_not_count_towards_its_length)
{
	struct driver_packet p;
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	r.watched = false;
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(rig_advance(&r, fd, 50 * MS), 50 * MS);
	assert_int_equal(time_engine_pause(r.e), 0);
	rig_send(&r, fd, DRIVER_JUMP, 0, 2 * MS);
	assert_int_equal(rig_recv(fd, &p), 0);
	assert_int_equal(rig_step(&r, 25 * MS), 0);
	assert_int_equal(rig_recv(fd, &p), 1);
	assert_int_equal(p.result, 0);
	assert_int_equal(rig_read(&r).sim_ns, 2 * MS);
	assert_int_equal(rig_advance(&r, fd, 10 * MS), 10 * MS);
	jump(&r, fd, 1 * MS, 0);
	assert_int_equal(r.jumps, 2);
	assert_int_equal(r.step_result, 1);
	assert_int_equal(rig_advance(&r, fd, 20 * MS), 15 * MS);
	rig_send(&r, fd, DRIVER_JUMP, 0, 0); /* the step is over by then */
	assert_int_equal(r.step_result, 0);
	assert_int_equal(r.step_end_sim_ns, 16 * MS);
	assert_true(rig_is_paused(&r));
	assert_int_equal(rig_recv(fd, &p), 0);
	assert_int_equal(rig_step(&r, 3 * MS), 0);
	assert_int_equal(rig_recv(fd, &p), 1);
	assert_int_equal(r.jumps, 3);
	assert_int_equal(rig_advance(&r, fd, 20 * MS), 3 * MS);
	assert_int_equal(rig_advance(&r, fd, 20 * MS), 0);
	assert_int_equal(r.step_result, 0);
	assert_int_equal(rig_read(&r).sim_ns, 3 * MS);
	close(fd);
	rig_finish(&r);
}

TEST(a_jump_may_go_to_the_ends_of_time)
{
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "unity", NO_SETTLE);
	r.watched = false;
	fd = rig_attach(&r, 9, &result);
	jump(&r, fd, -1, -ERANGE);
	jump(&r, fd, INT64_MIN, -ERANGE);
	assert_int_equal(r.jumps, 0);
	jump(&r, fd, INT64_MAX, 0);
	assert_int_equal(rig_read(&r).sim_ns, INT64_MAX);
	assert_int_equal(rig_advance(&r, fd, 1), -ERANGE);
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(rig_step(&r, MS), -ERANGE);
	assert_int_equal(time_engine_resume(r.e), 0);
	jump(&r, fd, 0, 0);
	assert_int_equal(rig_advance(&r, fd, MS), MS);

	assert_int_equal(time_engine_pause_by(r.e, 9), 0);
	assert_int_equal(rig_step(&r, MS), 0);
	jump(&r, fd, INT64_MAX, 0);
	assert_int_equal(rig_advance(&r, fd, MS), -ERANGE); /* which the step cannot go on behind */
	assert_int_equal(r.step_result, -ERANGE);
	assert_true(rig_is_paused(&r));
	assert_int_equal(time_engine_resume(r.e), 0);
	jump(&r, fd, 0, 0);
	assert_int_equal(rig_advance(&r, fd, MS), MS);
	assert_int_equal(r.losts, 0);
	close(fd);
	rig_finish(&r);
}

static int64_t start_at_0(int64_t real_ns)
{
	(void)real_ns;
	return 0;
}

/* A plug-in's table says whether its driver may. */
TEST(a_source_that_only_advances_cannot_be_set)
{
	static struct sim_source_ops forward;
	struct rig r;
	int result, fd;

	forward = *source("unity");
	forward.name = "forward";
	forward.id = SIM_SOURCE_PLUGIN;
	forward.flags = SIM_SOURCE_CONTROL;
	forward.start = start_at_0;
	rig_init(&r, 1, "unity", NO_SETTLE);
	assert_int_equal(time_engine_set_source(r.e, &forward, false), 0);
	r.jumps = 0;
	fd = rig_attach(&r, 9, &result);
	set(&r, fd, 5, -EOPNOTSUPP);
	jump(&r, fd, 0, -EOPNOTSUPP);
	assert_int_equal(rig_read(&r).sim_ns, 0);
	assert_int_equal(r.jumps + r.losts, 0);
	close(fd);
	rig_finish(&r);
}

TEST(ros2_is_system_time_until_driven)
{
	struct rig r;
	int result, fd;

	rig_init(&r, 1, "ros2", NO_SETTLE);
	fd = rig_attach(&r, 9, &result);
	assert_int_equal(result, 0);
	rig_run(&r, 5 * MS);
	assert_int_equal(rig_read(&r).sim_ns, RIG_START_REAL_NS + 5 * MS);
	assert_int_equal(rig_read(&r).flags, SIM_CLOCK_STARTED);
	set(&r, fd, 77 * MS, 0); /* the graph's /clock: another time, so a jump, whatever its direction */
	assert_int_equal(r.jumps, 1);
	rig_run(&r, 5 * MS);
	set(&r, fd, 87 * MS, 0);
	assert_int_equal(r.jumps, 1);
	assert_int_equal(rig_read(&r).flags, SIM_CLOCK_STARTED | SIM_CLOCK_DRIVEN);
	close(fd);
	rig_run(&r, 5 * MS);
	assert_int_equal(rig_read(&r).sim_ns, 87 * MS); /* holds */
	assert_true(rig_read(&r).flags & SIM_CLOCK_DRIVER_LOST);
	rig_finish(&r);
}
