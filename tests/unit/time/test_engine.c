/* SPDX-License-Identifier: Apache-2.0 */
/* The time engine's states: pause, resume, scale, step, switch, in virtual time. */
#include "unit/time/rig.h"

#define MS        NS_PER_MS
#define NO_SETTLE ((struct time_engine_options){ .step_settle_dur_ns = 0 })

TEST(time_runs_and_scales)
{
	struct rig r;

	rig_init(&r, 1, "simulation", NO_SETTLE);
	assert_int_equal(rig_read(&r).sim_ns, 0);
	assert_int_equal(rig_read(&r).flags, SIM_CLOCK_STARTED);
	rig_run(&r, 10 * MS);
	assert_int_equal(rig_read(&r).sim_ns, 10 * MS);
	assert_int_equal(time_engine_set_scale(r.e, 2500000), 0);
	rig_run(&r, 10 * MS);
	assert_int_equal(rig_read(&r).sim_ns, 35 * MS);
	assert_int_equal(time_engine_now(r.e), 35 * MS);
	assert_int_equal(r.page.scale_e6, 2500000);
	assert_int_equal(r.jumps, 0);
	assert_int_equal(r.changes, 1);
	assert_int_equal(time_engine_set_scale(r.e, 2500000), 0); /* nothing new: nothing written */
	assert_int_equal(r.changes, 1);
	rig_finish(&r);
}

TEST(scales_out_of_range_are_refused)
{
	static const int64_t bad[] = { -1, 1, TIME_SCALE_MIN_E6 - 1, TIME_SCALE_MAX_E6 + 1, INT64_MAX, INT64_MIN };
	struct rig r;

	rig_init(&r, 1, "simulation", NO_SETTLE);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(time_engine_set_scale(r.e, bad[i]), -ERANGE);
		assert_non_null(strstr(err_why(), "0.01 .. 100"));
	}
	assert_int_equal(time_engine_set_scale(r.e, TIME_SCALE_MIN_E6), 0);
	assert_int_equal(time_engine_set_scale(r.e, TIME_SCALE_MAX_E6), 0);
	rig_finish(&r);
}

TEST(pause_stops_time_and_resume_continues)
{
	struct rig r;

	rig_init(&r, 1, "system", NO_SETTLE);
	rig_run(&r, 5 * MS);
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(time_engine_pause(r.e), 0);
	rig_run(&r, 5 * MS);
	assert_int_equal(rig_read(&r).sim_ns, RIG_START_REAL_NS + 5 * MS);
	assert_true(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_int_equal(rig_read(&r).rate_e6, 0);
	assert_int_equal(r.page.scale_e6, SIM_RATE_ONE);
	assert_int_equal(time_engine_set_scale(r.e, 500000), 0); /* in pause: for later */
	rig_run(&r, 5 * MS);
	assert_int_equal(rig_read(&r).sim_ns, RIG_START_REAL_NS + 5 * MS);
	assert_int_equal(time_engine_resume(r.e), 0);
	assert_int_equal(time_engine_resume(r.e), 0);
	rig_run(&r, 10 * MS);
	assert_int_equal(rig_read(&r).sim_ns, RIG_START_REAL_NS + 10 * MS);
	assert_false(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_int_equal(r.jumps, 0);
	rig_finish(&r);
}

TEST(scale_0_is_a_pause_that_another_scale_ends)
{
	struct rig r;

	rig_init(&r, 1, "simulation", NO_SETTLE);
	assert_int_equal(time_engine_set_scale(r.e, 2000000), 0);
	assert_int_equal(time_engine_set_scale(r.e, 0), 0);
	assert_int_equal(time_engine_set_scale(r.e, 0), 0);
	assert_true(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_int_equal(r.page.scale_e6, 2000000);
	assert_int_equal(time_engine_set_scale(r.e, 2000000), 0); /* the same as before: runs on */
	rig_run(&r, MS);
	assert_int_equal(rig_read(&r).sim_ns, 2 * MS);

	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(time_engine_set_scale(r.e, 0), 0); /* was paused on request: only resume ends that */
	assert_int_equal(time_engine_set_scale(r.e, 3000000), 0);
	rig_run(&r, MS);
	assert_int_equal(rig_read(&r).sim_ns, 2 * MS);
	assert_int_equal(time_engine_resume(r.e), 0);
	rig_run(&r, MS);
	assert_int_equal(rig_read(&r).sim_ns, 5 * MS);
	rig_finish(&r);
}

TEST(a_start_at_scale_0_waits_for_another_scale)
{
	struct rig r;

	rig_init(&r, 1, "simulation", (struct time_engine_options){ .paused = true });
	rig_run(&r, MS);
	assert_int_equal(rig_read(&r).sim_ns, 0);
	assert_true(rig_read(&r).flags & SIM_CLOCK_PAUSED);
	assert_int_equal(time_engine_set_scale(r.e, SIM_RATE_ONE), 0);
	rig_run(&r, MS);
	assert_int_equal(rig_read(&r).sim_ns, MS);
	rig_finish(&r);
}

TEST(wall_steps_by_exactly_the_step)
{
	struct rig r;

	rig_init(&r, 1, "simulation", (struct time_engine_options){ .step_settle_dur_ns = 2 * MS, .paused = true });
	r.noisy = true;
	assert_int_equal(rig_step(&r, 100 * MS), 0);
	assert_int_equal(rig_read(&r).sim_ns, 100 * MS); /* at once, without a jump */
	assert_int_equal(r.jumps, 0);
	assert_int_equal(rig_read(&r).flags & (SIM_CLOCK_PAUSED | SIM_CLOCK_STEPPING), SIM_CLOCK_STEPPING);
	assert_int_equal(rig_step(&r, MS), -EBUSY);
	r.step_result = 1;
	rig_run(&r, 2 * MS - 1);
	time_engine_poke(r.e);
	assert_int_equal(r.quiet_asked, 0); /* settling */
	rig_run(&r, 10 * MS);
	assert_int_equal(r.step_result, 1);
	assert_true(r.quiet_asked > 0 && r.quiet_asked < 20);
	r.noisy = false;
	time_engine_poke(r.e); /* at once, not at the next look */
	assert_int_equal(r.step_result, 0);
	assert_int_equal(r.step_end_sim_ns, 100 * MS);
	assert_int_equal(rig_read(&r).sim_ns, 100 * MS);
	assert_int_equal(rig_read(&r).flags & (SIM_CLOCK_PAUSED | SIM_CLOCK_STEPPING), SIM_CLOCK_PAUSED);
	assert_int_equal(r.page.step, 1);
	time_engine_poke(r.e);
	rig_run(&r, 10 * MS);
	rig_finish(&r);
}

TEST(a_step_ends_without_a_wake_up)
{
	struct rig r;

	rig_init(&r, 1, "simulation", (struct time_engine_options){ .step_settle_dur_ns = -1, .paused = true });
	r.noisy = true;
	assert_int_equal(rig_step(&r, 1), 0);
	rig_run(&r, 50 * MS);
	assert_int_equal(r.step_result, 1);
	r.noisy = false;
	rig_run(&r, 2 * MS);
	assert_int_equal(r.step_result, 0);
	rig_finish(&r);
}

TEST(invalid_steps_are_refused)
{
	struct rig r;

	rig_init(&r, 1, "simulation", NO_SETTLE);
	assert_int_equal(rig_step(&r, MS), -EBUSY);
	assert_non_null(strstr(err_why(), "pause it first"));
	assert_int_equal(time_engine_pause(r.e), 0);
	assert_int_equal(rig_step(&r, 0), -ERANGE);
	assert_int_equal(rig_step(&r, -5), -ERANGE);
	assert_int_equal(rig_step(&r, TIME_STEP_MAX_DUR_NS + 1), -ERANGE);
	assert_int_equal(time_engine_set_source(r.e, source("unity"), false), 0);
	assert_int_equal(rig_step(&r, MS), -ENOTCONN);
	rig_finish(&r);
}

enum end { BY_PAUSE, BY_RESUME, BY_SWITCH, FORGOTTEN, BY_DESTROY };

TEST(a_step_that_ends_early_gives_the_reason)
{
	for (int how = BY_PAUSE; how <= BY_DESTROY; how++) {
		struct rig r;

		rig_init(&r, 1, "simulation", (struct time_engine_options){ .paused = true, .step_settle_dur_ns = MS });
		assert_int_equal(rig_step(&r, 7), 0);
		if (how == BY_PAUSE)
			assert_int_equal(time_engine_pause(r.e), 0);
		else if (how == BY_RESUME)
			assert_int_equal(time_engine_resume(r.e), 0);
		else if (how == BY_SWITCH)
			assert_int_equal(time_engine_set_source(r.e, source("system"), false), 0);
		else if (how == FORGOTTEN)
			time_engine_step_forget(r.e, &r);
		if (how < FORGOTTEN) {
			assert_int_equal(r.step_result, -ECANCELED);
			assert_true(strlen(r.step_why) > 10);
			assert_int_equal(r.step_end_sim_ns, 7);
			assert_int_equal(rig_read(&r).flags & SIM_CLOCK_PAUSED,
					 how == BY_RESUME ? 0 : SIM_CLOCK_PAUSED);
			assert_int_equal(r.page.step, 0);
		}
		if (how != BY_DESTROY)
			rig_run(&r, 10 * MS);
		rig_finish(&r);
		assert_int_equal(r.step_result, how == FORGOTTEN ? 1 : -ECANCELED);
	}
}

TEST(switching_the_source_starts_over_with_a_jump)
{
	struct rig r;
	uint32_t generation;

	rig_init(&r, 1, "simulation", NO_SETTLE);
	generation = r.page.clock_generation;
	rig_run(&r, 30 * MS);
	assert_int_equal(time_engine_set_source(r.e, source("simulation"), false), 0);
	assert_int_equal(r.jumps + r.changes, 0); /* the active one: nothing changes */
	assert_int_equal(rig_read(&r).sim_ns, 30 * MS);

	assert_int_equal(time_engine_set_source(r.e, source("system"), false), 0);
	assert_int_equal(r.jumps, 1);
	assert_int_equal(r.jump_old_sim_ns, 30 * MS);
	assert_int_equal(r.jump_new_sim_ns, RIG_START_REAL_NS + 30 * MS);
	assert_int_equal(r.jump_generation, generation + 1);
	assert_int_equal(r.page.source, SIM_SOURCE_SYSTEM);
	assert_int_equal(r.page.jump_old_sim_ns, 30 * MS);
	assert_int_equal(r.page.jump_new_sim_ns, RIG_START_REAL_NS + 30 * MS);

	assert_int_equal(time_engine_set_source(r.e, source("unity"), false), 0);
	assert_int_equal(r.jumps, 2);
	assert_int_equal(rig_read(&r).sim_ns, 0);
	assert_int_equal(rig_read(&r).flags, SIM_CLOCK_DRIVEN | SIM_CLOCK_NO_DRIVER); /* and not started */
	rig_finish(&r);
}

static int64_t start_at; /* of the source below */

static int64_t start_there(int64_t real_now_ns)
{
	(void)real_now_ns;
	return start_at;
}

/* Nothing has changed when a source is refused for its start value. */
TEST(an_invalid_start_value_is_refused)
{
	static const struct {
		int64_t at;
		const char *why;
	} bad[] = { { -5, "`odd` wants to start at -5 ns; a start value is 0 to 4611686018427387904 ns" },
		    { INT64_MAX, "`odd` wants to start at 9223372036854775807 ns" },
		    { TIME_START_MAX_NS + 1, "start at 4611686018427387905 ns" } };
	struct sim_source_ops odd = *source("system");
	struct time_engine_options o = { .source = &odd };
	struct time_engine *e = NULL;
	struct rig r;

	odd.name = "odd";
	odd.start = start_there;
	rig_init(&r, 1, "simulation", NO_SETTLE);
	rig_run(&r, 30 * MS);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start_at = bad[i].at;
		assert_int_equal(time_engine_set_source(r.e, &odd, false), -ERANGE);
		assert_non_null(strstr(err_why(), bad[i].why));
		assert_int_equal(time_engine_create(&o, &e), -ERANGE);
	}
	assert_int_equal(r.jumps + r.changes, 0);
	assert_int_equal(rig_read(&r).sim_ns, 30 * MS);
	assert_int_equal(time_engine_set_source(r.e, &odd, true), 0); /* it is not asked for */
	assert_int_equal(time_engine_set_source(r.e, source("simulation"), false), 0);
	start_at = TIME_START_MAX_NS;
	assert_int_equal(time_engine_set_source(r.e, &odd, false), 0);
	assert_int_equal(rig_read(&r).sim_ns, TIME_START_MAX_NS);
	rig_finish(&r);
}

TEST(a_wall_source_can_continue_the_time)
{
	struct rig r;

	rig_init(&r, 1, "system", NO_SETTLE);
	rig_run(&r, 5 * MS);
	assert_int_equal(time_engine_set_source(r.e, source("simulation"), true), 0);
	rig_run(&r, 5 * MS);
	assert_int_equal(rig_read(&r).sim_ns, RIG_START_REAL_NS + 10 * MS);
	assert_int_equal(r.jumps, 0);
	assert_int_equal(r.page.source, SIM_SOURCE_SIMULATION);
	assert_int_equal(time_engine_set_source(r.e, source("unity"), true), -EINVAL);
	assert_int_equal(time_engine_set_source(r.e, source("ros2"), true), -EINVAL);
	assert_int_equal(r.page.source, SIM_SOURCE_SIMULATION);
	rig_finish(&r);
}

TEST(sources_that_follow_refuse_control)
{
	static const char *const names[] = { "ss2", "ros2" };

	for (int i = 0; i < 2; i++) {
		struct rig r;

		rig_init(&r, 1, "simulation", NO_SETTLE);
		assert_int_equal(time_engine_set_scale(r.e, 5000000), 0);
		assert_int_equal(time_engine_pause(r.e), 0);
		assert_int_equal(time_engine_set_source(r.e, source(names[i]), false), 0);
		assert_int_equal(time_engine_pause(r.e), -EOPNOTSUPP);
		assert_non_null(strstr(err_why(), names[i]));
		assert_int_equal(time_engine_resume(r.e), -EOPNOTSUPP);
		assert_int_equal(time_engine_set_scale(r.e, SIM_RATE_ONE), -EOPNOTSUPP);
		assert_int_equal(time_engine_set_scale(r.e, 0), -EOPNOTSUPP);
		assert_int_equal(rig_step(&r, MS), -EOPNOTSUPP);
		assert_false(rig_read(&r).flags & SIM_CLOCK_PAUSED);
		assert_int_equal(r.page.scale_e6, SIM_RATE_ONE);
		rig_run(&r, 3 * MS);
		assert_int_equal(rig_read(&r).sim_ns, i ? RIG_START_REAL_NS + 3 * MS : 0);
		rig_finish(&r);
	}
}

TEST(options_are_checked)
{
	struct sim_source_ops old = *source("system"), shorter = old;
	struct time_engine_options o = { .scale_e6 = 5 };
	struct time_engine *e = NULL;
	const struct sim_source_ops *s;

	assert_int_equal(time_engine_create(&o, &e), -EINVAL);
	o.scale_e6 = 0;
	old.abi = 7;
	o.source = &old;
	assert_int_equal(time_engine_create(&o, &e), -EPROTO);
	assert_non_null(strstr(err_why(), "interface 7, simd has 1"));
	shorter.size -= 1;
	o.source = &shorter;
	assert_int_equal(time_engine_create(&o, &e), -EPROTO);
	assert_null(e);
	assert_int_equal(time_source_by_name("SiMuLaTiOn", &s), 0);
	assert_string_equal(s->name, "simulation");
	assert_int_equal(time_source_by_name("sim", &s), -ENOENT);
	assert_int_equal(time_source_by_name("", &s), -ENOENT);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(time_source_by_number(i, &s), 0);
		assert_int_equal(s->id, i);
	}
	assert_int_equal(time_source_by_number(5, &s), -ENOENT);
	assert_int_equal(time_source_by_number(-1, &s), -ENOENT);
	time_engine_destroy(NULL);
}

TEST(the_page_is_sealed_and_complete)
{
	struct time_engine_options o = { .simd_id = UINT64_C(0x1234567800000042), .scale_e6 = 3000000 };
	struct sim_clock_page *page;
	struct time_engine *e;
	int fd;

	assert_int_equal(time_page_create(&page, &o.history, &fd), 0);
	assert_ptr_equal(o.history, (char *)page + SIM_CLOCK_PAGE_SIZE);
	assert_int_equal(exec_sim_create(1, RIG_START_MONO_NS, &o.exec), 0);
	o.page = page;
	assert_int_equal(time_engine_create(&o, &e), 0);
	assert_int_equal(page->magic, SIM_CLOCK_PAGE_MAGIC);
	assert_int_equal(page->abi, SIM_CLOCK_PAGE_ABI);
	assert_int_equal(page->seq % 2, 0);
	assert_true(page->seq > 0 && page->futex > 0);
	assert_int_equal(page->simd_id, o.simd_id);
	assert_int_equal(page->source, SIM_SOURCE_UNITY);
	assert_int_equal(page->scale_e6, 3000000);
	assert_int_equal(page->mono_ns, RIG_START_MONO_NS);
	assert_int_not_equal(page->clock_generation, 0);
	assert_int_equal(page->flags, SIM_CLOCK_DRIVEN | SIM_CLOCK_NO_DRIVER);
	assert_int_equal(o.history->written, 1);
	assert_int_equal(ftruncate(fd, 0), -1);
	time_engine_destroy(e);
	time_page_destroy(page);
	close(fd);
	exec_destroy(o.exec);
}
