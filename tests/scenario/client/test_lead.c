/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pause, resume, scale and step from a program: what each call waits for, and its error when the wait times out. In
 * virtual time.
 */
#include "scenario/client/world.h"

#include <errno.h>

#include "err.h"

#define TICK (10 * MS)

WORLD_FIXTURE(test_seed(9), "");

static bool is(struct sim_client *c, uint32_t flag)
{
	return sim_clock_page(c)->flags & flag;
}

static void select_source(struct sim_client *c, const char *name)
{
	char *json, params[64];

	snprintf(params, sizeof(params), "{\"source\": \"%s\"}", name);
	if (sim_call(c, "SetSource", params, &json) < 0)
		fail_msg("%s", sim_why());
	free(json);
}

TEST_WITH(a_free_running_clock_is_paused_stepped_and_scaled, setup, teardown)
{
	struct sim_client *c = world_client(&w, "lead", 0);
	int64_t at, then = 7;

	select_source(c, "simulation");
	world_run(&w, S);
	assert_int_equal(sim_clock_step(c, TICK, -1, &then), -EBUSY);
	assert_ok(sim_clock_pause(c, -1));
	assert_true(is(c, SIM_CLOCK_PAUSED));
	assert_ok(sim_clock_pause(c, 0)); /* changes nothing */
	at = sim_now(c);
	world_run(&w, S);
	assert_int_equal(sim_now(c), at);
	assert_int_equal(sim_clock_step(c, 0, -1, &then), -ERANGE);
	assert_int_equal(sim_clock_step(c, 3600 * S + 1, -1, &then), -ERANGE);
	assert_int_equal(then, 7);
	assert_ok(sim_clock_step(c, TICK, -1, &then));
	assert_int_equal(then, at + TICK);
	assert_ok(sim_clock_step(c, TICK, S, NULL));
	assert_int_equal(sim_now(c), at + 2 * TICK);
	assert_ok(sim_clock_set_scale(c, SIM_RATE_ONE / 4));
	assert_ok(sim_clock_resume(c));
	assert_ok(sim_clock_resume(c));
	at = sim_now(c);
	world_run(&w, S);
	assert_int_equal(sim_now(c) - at, S / 4);
	assert_int_equal(sim_clock_set_scale(c, 9999), -ERANGE);
	assert_int_equal(sim_clock_set_scale(c, -SIM_RATE_ONE), -ERANGE);
	assert_int_equal(sim_clock_set_scale(c, INT64_MAX), -ERANGE);
	assert_ok(sim_clock_set_scale(c, 0));
	assert_true(is(c, SIM_CLOCK_PAUSED));
	assert_ok(sim_clock_set_scale(c, 100 * SIM_RATE_ONE));
	assert_int_equal(sim_clock_page(c)->scale_e6, 100 * SIM_RATE_ONE);
	assert_false(is(c, SIM_CLOCK_PAUSED));
	sim_disconnect(c);
}

TEST_WITH(a_step_waits_for_its_driver_as_long_as_the_caller_says, setup, teardown)
{
	struct sim_client *engine = world_client(&w, "engine", 0), *c = world_client(&w, "lead", 0);
	struct sim_driver *d;
	int64_t granted, began;

	assert_ok(sim_clock_pause(c, 0));
	assert_int_equal(sim_clock_step(c, TICK, S, NULL), -ENOTCONN); /* time has no driver */
	assert_ok(sim_clock_resume(c));
	assert_ok(sim_driver_acquire(engine, 0, &d));
	assert_ok(sim_driver_advance(d, TICK, &granted));
	assert_ok(sim_clock_pause(c, 0));
	assert_false(is(c, SIM_CLOCK_PAUSED)); /* the granted instant is not published yet */
	began = exec_now(w.x);
	assert_int_equal(sim_clock_pause(c, 3 * S), -ETIMEDOUT);
	assert_non_null(strstr(sim_why(), "the driver has not asked for more time"));
	assert_in_range(exec_now(w.x) - began, 3 * S, 3 * S + MS);
	assert_ok(sim_clock_resume(c)); /* nothing holds it up */
	assert_ok(sim_clock_pause(c, 0));
	assert_ok(sim_driver_begin_advance(d, TICK));
	world_process(&w, c);
	assert_ok(sim_clock_pause(c, -1));
	assert_true(is(c, SIM_CLOCK_PAUSED));

	assert_int_equal(sim_clock_step(c, 15 * MS, 0, NULL), -ETIMEDOUT);
	world_run(&w, MS);
	assert_ok(sim_driver_end_advance(d, 0, &granted));
	assert_int_equal(granted, TICK);
	assert_ok(sim_driver_begin_advance(d, TICK));
	assert_ok(sim_driver_end_advance(d, -1, &granted));
	assert_int_equal(granted, 5 * MS);
	assert_ok(sim_driver_begin_advance(d, TICK));
	world_process(&w, c);
	assert_int_equal(sim_now(c), TICK + 15 * MS);
	assert_true(is(c, SIM_CLOCK_PAUSED));

	assert_ok(sim_clock_resume(engine)); /* the driver's own client may as well */
	assert_ok(sim_driver_end_advance(d, -1, &granted));
	assert_ok(sim_clock_pause(engine, -1));
	assert_true(is(c, SIM_CLOCK_PAUSED));
	sim_driver_release(d);
	sim_disconnect(engine);
	sim_disconnect(c);
}

TEST_WITH(control_that_the_source_does_not_support_is_refused_with_the_reason, setup, teardown)
{
	struct sim_client *c = world_client(&w, "lead", 0);

	select_source(c, "ss2");
	assert_int_equal(sim_clock_pause(c, -1), -EOPNOTSUPP);
	assert_non_null(strstr(sim_why(), "ss2"));
	assert_int_equal(sim_clock_resume(c), -EOPNOTSUPP);
	assert_int_equal(sim_clock_set_scale(c, SIM_RATE_ONE / 2), -EOPNOTSUPP);
	assert_int_equal(sim_clock_step(c, TICK, -1, NULL), -EOPNOTSUPP);
	assert_int_equal(sim_clock_pause(NULL, -1), -EINVAL);
	assert_int_equal(sim_clock_resume(NULL), -EINVAL);
	assert_int_equal(sim_clock_set_scale(NULL, 0), -EINVAL);
	assert_int_equal(sim_clock_step(NULL, TICK, -1, NULL), -EINVAL);
	world_kill_simd(&w);
	world_until(&w, c, SIM_CLIENT_RECONNECTING);
	assert_int_equal(sim_clock_pause(c, -1), -ENOTCONN);
	assert_int_equal(sim_clock_step(c, TICK, -1, NULL), -ENOTCONN);
	sim_disconnect(c);
	world_start_simd(&w);
	world_bury(&w);
}

/* What the driver was granted for the step is published first. */
TEST_WITH(a_call_waits_for_a_pause_that_cuts_a_step_short, setup, teardown)
{
	struct sim_client *engine = world_client(&w, "engine", 0), *c = world_client(&w, "lead", 0),
			  *other = world_client(&w, "other", 0);
	struct sim_driver *d;
	int64_t granted;

	assert_ok(sim_driver_acquire(engine, 0, &d));
	assert_ok(sim_clock_pause(c, -1));
	assert_int_equal(sim_clock_step(c, 15 * MS, 0, NULL), -ETIMEDOUT);
	assert_ok(sim_driver_begin_advance(d, TICK));
	assert_ok(sim_driver_end_advance(d, -1, &granted));
	assert_int_equal(sim_clock_pause(other, 3 * S), -ETIMEDOUT);
	assert_false(is(other, SIM_CLOCK_PAUSED));
	assert_ok(sim_driver_begin_advance(d, TICK));
	world_process(&w, other);
	assert_ok(sim_clock_pause(other, 0));
	assert_true(is(other, SIM_CLOCK_PAUSED));
	sim_driver_release(d);
	sim_disconnect(engine);
	sim_disconnect(c);
	sim_disconnect(other);
}

/* Its caller asks for more at once, sees the step's end, and can end the next one itself. */
TEST_WITH(a_step_that_has_timed_out_does_not_block_its_caller, setup, teardown)
{
	struct sim_client *engine = world_client(&w, "engine", 0), *c = world_client(&w, "lead", 0);
	struct sim_driver *d;
	int64_t granted, began;

	assert_ok(sim_driver_acquire(engine, 0, &d));
	assert_ok(sim_clock_pause(c, -1));
	began = exec_now(w.x);
	assert_int_equal(sim_clock_step(c, 15 * MS, 2 * S, NULL), -ETIMEDOUT);
	assert_non_null(strstr(sim_why(), "the step goes on"));
	assert_in_range(exec_now(w.x) - began, 2 * S, 2 * S + MS);
	began = exec_now(w.x);
	assert_ok(sim_clock_set_scale(c, SIM_RATE_ONE / 2));
	assert_int_equal(sim_clock_step(c, TICK, 0, NULL), -EBUSY);
	assert_int_equal(sim_clock_step(c, TICK, -1, NULL), -EBUSY);
	assert_in_range(exec_now(w.x) - began, 0, 100 * MS);

	assert_ok(sim_driver_advance(d, TICK, &granted));
	assert_int_equal(granted, TICK);
	assert_ok(sim_driver_advance(d, TICK, &granted));
	assert_int_equal(granted, 5 * MS);
	assert_ok(sim_driver_begin_advance(d, TICK));
	world_process(&w, c);
	assert_true(is(c, SIM_CLOCK_PAUSED));
	assert_int_equal(sim_now(c), 15 * MS);

	assert_int_equal(sim_clock_step(c, 15 * MS, 0, NULL), -ETIMEDOUT);
	assert_ok(sim_clock_resume(c));
	assert_false(is(c, SIM_CLOCK_PAUSED));
	sim_driver_release(d);
	sim_disconnect(engine);
	sim_disconnect(c);
}
