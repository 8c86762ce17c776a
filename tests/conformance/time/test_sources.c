/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for every time source, instantiated for each: its table, its start value, what moves it, what control it
 * takes, what a switch to it and away from it does. A new source gets one line in SOURCES.
 */
#include "unit/time/rig.h"

#define MS    NS_PER_MS
#define EPOCH RIG_START_REAL_NS

/* name, AWSIM number, start value, moved by the wall, takes a driver, takes pause/scale/step, driver may set time */
#define SOURCES(X) \
	X(unity, 0, 0, false, true, true, true) \
	X(ss2, 1, 0, false, true, false, true) \
	X(system, 2, EPOCH, true, false, true, false) \
	X(simulation, 3, 0, true, false, true, false) \
	X(ros2, 4, EPOCH, true, true, false, true) \
	X(good, 5, 1000 * NS_PER_S, true, false, true, false) \
	X(play, 5, 0, false, true, true, true) \
	X(link, 6, 0, false, true, false, false)

struct want {
	const char *name;
	int64_t number, start_ns;
	bool wall, driver, control, set;
};

static void its_table_is_sound(const struct want *w)
{
	const struct sim_source_ops *by_name = source(w->name), *by_number;

	assert_int_equal(time_source_check(by_name), 0);
	assert_int_equal(time_source_by_number(w->number, &by_number), w->number > SIM_SOURCE_ROS2 ? -ENOENT : 0);
	if (w->number <= SIM_SOURCE_ROS2)
		assert_ptr_equal(by_name, by_number);
	assert_int_equal(by_name->id, w->number);
	assert_int_equal(by_name->start(EPOCH), w->start_ns);
}

static void it_starts_where_it_says(const struct want *w)
{
	struct rig r;
	struct time_status st;

	rig_init(&r, 1, w->name, (struct time_engine_options){ .step_settle_dur_ns = 0 });
	assert_int_equal(rig_read(&r).sim_ns, w->start_ns);
	assert_int_equal(!!(rig_read(&r).flags & SIM_CLOCK_STARTED), w->wall);
	rig_run(&r, 250 * MS);
	assert_int_equal(rig_read(&r).sim_ns, w->start_ns + (w->wall ? 250 * MS : 0));
	time_engine_status(r.e, &st);
	assert_string_equal(st.source->name, w->name);
	assert_int_equal(st.driven, !w->wall);
	assert_int_equal(st.sim_ns, rig_read(&r).sim_ns);
	assert_false(st.has_driver || st.driver_lost);
	rig_finish(&r);
}

static void control_is_taken_or_refused_with_a_sentence(const struct want *w)
{
	int want = w->control ? 0 : -EOPNOTSUPP;
	struct rig r;

	rig_init(&r, 1, w->name, (struct time_engine_options){ .step_settle_dur_ns = 0 });
	assert_int_equal(time_engine_set_scale(r.e, 2 * SIM_RATE_ONE), want);
	rig_run(&r, 10 * MS);
	assert_int_equal(rig_read(&r).sim_ns, w->start_ns + (w->wall ? (w->control ? 20 : 10) * MS : 0));
	err_clear();
	assert_int_equal(time_engine_pause(r.e), want);
	assert_int_equal(!!strstr(err_why(), w->name), !w->control);
	assert_int_equal(!!(rig_read(&r).flags & SIM_CLOCK_PAUSED), w->control);
	assert_int_equal(rig_step(&r, 5 * MS), w->control ? w->wall ? 0 : -ENOTCONN : -EOPNOTSUPP);
	assert_true(exec_sim_settle(r.x) >= 0);
	assert_int_equal(time_engine_resume(r.e), want);
	rig_finish(&r);
}

static void drivers_are_taken_or_refused_with_a_sentence(const struct want *w)
{
	struct driver_packet p;
	struct rig r;
	int result, fd;

	rig_init(&r, 1, w->name, (struct time_engine_options){ .step_settle_dur_ns = 0 });
	err_clear();
	fd = rig_attach(&r, 3, &result);
	assert_int_equal(result, w->driver ? 0 : -EOPNOTSUPP);
	assert_int_equal(!!strstr(err_why(), w->name), !w->driver);
	if (w->driver) {
		assert_int_equal(rig_advance(&r, fd, 3 * MS), 3 * MS);
		assert_int_equal(rig_read(&r).sim_ns, w->start_ns + 3 * MS);
		rig_send(&r, fd, DRIVER_SET, 0, w->start_ns + 9 * MS);
		assert_int_equal(rig_recv(fd, &p), 1);
		assert_int_equal(p.result, w->set ? 0 : -EOPNOTSUPP);
		rig_run(&r, MS); /* driven: the wall clock no longer moves time */
		assert_int_equal(rig_read(&r).sim_ns, w->start_ns + (w->set ? 9 : 3) * MS);
		assert_true(rig_read(&r).flags & SIM_CLOCK_DRIVEN);
	}
	close(fd);
	assert_true(exec_sim_settle(r.x) >= 0);
	assert_int_equal(!!(rig_read(&r).flags & SIM_CLOCK_DRIVER_LOST), w->driver);
	rig_finish(&r);
}

static void switching_to_it_and_away_jumps(const struct want *w)
{
	const char *other = strcmp(w->name, "simulation") ? "simulation" : "system";
	struct rig r;

	rig_init(&r, 1, other, (struct time_engine_options){ .step_settle_dur_ns = 0 });
	rig_run(&r, 40 * MS);
	assert_int_equal(time_engine_set_source(r.e, source(w->name), false), 0);
	assert_int_equal(r.jumps, 1);
	assert_int_equal(r.jump_new_sim_ns, w->start_ns + (w->start_ns == EPOCH ? 40 * MS : 0));
	assert_int_equal(rig_read(&r).sim_ns, r.jump_new_sim_ns);
	assert_int_equal(time_engine_set_source(r.e, source(w->name), false), 0);
	assert_int_equal(r.jumps, 1);
	rig_run(&r, 40 * MS);
	assert_int_equal(time_engine_set_source(r.e, source(other), false), 0);
	assert_int_equal(r.jumps, 2);
	assert_int_equal(r.jump_old_sim_ns, r.page.jump_old_sim_ns);
	rig_finish(&r);
}

#define STAMP(name, number, start, wall, driver, control, set) \
	TEST(name##_holds) \
	{ \
		const struct want w = { #name, number, start, wall, driver, control, set }; \
\
		its_table_is_sound(&w); \
		it_starts_where_it_says(&w); \
		control_is_taken_or_refused_with_a_sentence(&w); \
		drivers_are_taken_or_refused_with_a_sentence(&w); \
		switching_to_it_and_away_jumps(&w); \
	}
SOURCES(STAMP)
