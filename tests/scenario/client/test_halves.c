/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A game with one thread: it begins an advance, draws while time is paused, and takes the grant when it has arrived.
 * Shows what happens when simd, the lease or the game itself ends between the two halves. In virtual time.
 */
#include "scenario/client/world.h"

#include <errno.h>
#include <poll.h>

#include "err.h"

#define FRAME (20 * MS)

static struct world w;
static struct sim_client *game, *operator;
static struct sim_driver *d;

static int setup(void **state)
{
	(void)state;
	world_create(&w, test_seed(7), "");
	game = world_client(&w, "game", SIM_CLIENT_SOURCE);
	operator= world_client(&w, "operator", 0);
	assert_ok(sim_driver_acquire(game, 0, &d));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_driver_release(d);
	sim_disconnect(game);
	sim_disconnect(operator);
	world_destroy(&w);
	return 0;
}

static void drive(unsigned flags)
{
	sim_driver_release(d);
	assert_ok(sim_driver_acquire(game, flags, &d));
}

static void call(const char *method, const char *params)
{
	char *json;

	if (sim_call(operator, method, params, &json) < 0)
		fail_msg("%s: %s", method, sim_why());
	free(json);
}

static bool readable(void)
{
	struct pollfd p = { .fd = sim_driver_fd(d), .events = POLLIN };

	world_run(&w, MS);
	return poll(&p, 1, 0) == 1;
}

TEST_WITH(a_pause_does_not_block_the_game, setup, teardown)
{
	int64_t granted = 7, began;

	assert_int_equal(sim_driver_end_advance(d, 0, &granted), -ENOTCONN); /* no advance was requested */
	assert_int_equal(sim_driver_begin_advance(d, 0), -EINVAL);
	assert_int_equal(sim_driver_begin_advance(d, 3601 * S), -EINVAL);
	assert_int_equal(sim_driver_begin_advance(NULL, 1), -EINVAL);
	assert_int_equal(sim_driver_end_advance(NULL, 0, NULL), -EINVAL);
	assert_ok(sim_driver_begin_advance(d, FRAME));
	assert_true(readable());
	assert_ok(sim_driver_end_advance(d, 0, &granted));
	assert_int_equal(granted, FRAME);
	assert_int_equal(sim_now(game), FRAME);

	call("PauseClock", "{}");
	granted = 7;
	assert_ok(sim_driver_begin_advance(d, FRAME));
	for (unsigned i = 0; i < 100; i++) {
		assert_false(readable());
		assert_int_equal(sim_driver_end_advance(d, 0, &granted), -ETIMEDOUT);
	}
	began = exec_now(w.x);
	assert_int_equal(sim_driver_end_advance(d, 5 * S, &granted), -ETIMEDOUT);
	assert_in_range(exec_now(w.x) - began, 5 * S, 5 * S + MS);
	assert_int_equal(sim_driver_begin_advance(d, FRAME), -EBUSY);
	assert_int_equal(sim_driver_begin(d, 0, true), -EBUSY);
	assert_non_null(strstr(sim_why(), "call sim_driver_end_advance()"));
	assert_int_equal(sim_driver_end(d, 0), -EINVAL);
	assert_int_equal(granted, 7);
	assert_int_equal(sim_now(game), FRAME);
	call("ResumeClock", "{}");
	assert_true(readable());
	assert_ok(sim_driver_end_advance(d, 0, &granted));
	assert_int_equal(granted, FRAME);
	assert_int_equal(sim_now(game), 2 * FRAME);

	assert_ok(sim_driver_begin(d, 0, true)); /* the scene is loaded again, in a pause */
	assert_int_equal(sim_driver_end_advance(d, 0, &granted), -EINVAL);
	assert_ok(sim_driver_end(d, -1));
	call("PauseClock", "{}");
	assert_ok(sim_driver_begin(d, 3 * S, true));
	assert_int_equal(sim_driver_end(d, S), -ETIMEDOUT);
	assert_int_equal(sim_now(game), 0);
	call("ResumeClock", "{}");
	assert_ok(sim_driver_end(d, 0));
	assert_int_equal(sim_now(game), 3 * S);
}

/* The last frame of a step is shorter, and a call that does not wait for the step blocks no other client. */
TEST_WITH(a_step_is_granted_in_frames, setup, teardown)
{
	int64_t granted, at = 0;

	assert_ok(sim_driver_begin_advance(d, FRAME));
	assert_ok(sim_driver_end_advance(d, -1, NULL));
	call("PauseClock", "{}");
	assert_ok(sim_driver_begin_advance(d, FRAME));
	world_run(&w, 10 * MS);
	assert_int_equal(sim_driver_end_advance(d, 0, &granted), -ETIMEDOUT);
	assert_int_equal(sim_call_within(operator, "StepClock", "{\"dur_ns\": 50000000}", 0, &(char *){ NULL }),
			 -ETIMEDOUT); /* the step takes place all the same */
	world_process(&w, operator);
	while (at < 50 * MS) {
		assert_ok(sim_driver_end_advance(d, 0, &granted));
		at += granted;
		assert_ok(sim_driver_begin_advance(d, FRAME));
		world_run(&w, MS);
	}
	assert_int_equal(granted, 10 * MS);
	world_run(&w, S);
	assert_int_equal(sim_driver_end_advance(d, 0, &granted), -ETIMEDOUT);
	assert_int_equal(sim_now(game), FRAME + 50 * MS);
	assert_true(sim_clock_page(game)->flags & SIM_CLOCK_PAUSED);
	call("ResumeClock", "{}");
	assert_ok(sim_driver_end_advance(d, -1, &granted));
}

/* Frames come 50 times a second; the grant is handed out in pieces as the wall clock reaches them. */
TEST_WITH(slow_motion_is_paced_by_the_driver, setup, teardown)
{
	static const struct {
		const char *scale;
		int64_t frames; /* frames of 20 ms until a grant of 20 ms is handed over */
	} cases[] = { { "{\"scale\": 1}", 1 }, { "{\"scale\": 0.5}", 2 }, { "{\"scale\": 0.1}", 10 } };
	int64_t granted;

	drive(SIM_DRIVER_PACED);
	for (unsigned i = 0; i < 3; i++) {
		int64_t from_sim_ns, from_mono_ns;

		call("SetScale", cases[i].scale);
		assert_ok(sim_driver_advance(d, FRAME, NULL)); /* from here on frames are paced */
		from_sim_ns = sim_now(game);
		from_mono_ns = exec_now(w.x);
		assert_ok(sim_driver_begin_advance(d, FRAME));
		for (int64_t frame = 1; frame <= 20 * cases[i].frames; frame++) {
			int r;

			world_run(&w, from_mono_ns + frame * FRAME - exec_now(w.x));
			r = sim_driver_end_advance(d, 0, &granted);
			if (frame % cases[i].frames) {
				assert_int_equal(r, -ETIMEDOUT);
				assert_int_equal(sim_driver_begin_advance(d, FRAME), -EBUSY);
				assert_int_equal(sim_driver_end(d, 0), -EINVAL);
				continue;
			}
			assert_ok(r);
			assert_int_equal(granted, FRAME);
			assert_int_equal(sim_now(game) - from_sim_ns, frame / cases[i].frames * FRAME);
			assert_ok(sim_driver_begin_advance(d, FRAME));
		}
		from_mono_ns = exec_now(w.x);
		assert_int_equal(sim_driver_end_advance(d, MS, &granted), -ETIMEDOUT);
		assert_int_equal(exec_now(w.x) - from_mono_ns, MS);
		assert_ok(sim_driver_end_advance(d, -1, &granted));
		assert_int_equal(exec_now(w.x) - from_mono_ns, cases[i].frames * FRAME);
	}
}

/* The driver's own turn comes between the halves. */
TEST_WITH(a_driver_may_take_part_in_its_own_steps, setup, teardown)
{
	struct sim_step_turn turn;
	struct sim_step *step;
	int64_t granted;

	assert_ok(sim_step_join(game, 100, &step));
	for (int64_t i = 1; i <= 3; i++) {
		assert_ok(sim_driver_begin_advance(d, FRAME));
		world_process(&w, game);
		assert_ok(sim_step_wait(step, 0, &turn));
		assert_int_equal(turn.now.sim_ns, i * FRAME);
		assert_int_equal(sim_driver_end_advance(d, 0, &granted), -ETIMEDOUT);
		assert_ok(sim_step_done(step));
		world_process(&w, game);
		assert_true(readable());
		assert_ok(sim_driver_end_advance(d, 0, &granted));
		assert_int_equal(granted, FRAME);
	}
	sim_step_leave(step);
}

TEST_WITH(simd_may_be_killed_between_begin_and_end_of_an_advance, setup, teardown)
{
	int64_t granted;

	call("PauseClock", "{}");
	assert_ok(sim_driver_begin_advance(d, FRAME));
	assert_int_equal(sim_driver_end_advance(d, 0, &granted), -ETIMEDOUT);
	world_kill_simd(&w);
	assert_int_equal(sim_driver_end_advance(d, -1, &granted), -ENOTCONN);
	assert_int_equal(sim_driver_begin_advance(d, FRAME), -ENOTCONN);
	world_until(&w, game, SIM_CLIENT_RECONNECTING);
	world_start_simd(&w);
	world_until(&w, game, SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_driver_end_advance(d, -1, &granted), -ENOTCONN); /* the new simd was asked nothing */
	assert_ok(sim_driver_begin_advance(d, FRAME));
	assert_ok(sim_driver_end_advance(d, -1, &granted));
	assert_int_equal(sim_now(game), FRAME);
	world_until(&w, operator, SIM_CLIENT_CONNECTED);
	world_bury(&w);
}

/* The source and the game may also change in between: the next driver goes on. */
TEST_WITH(a_driver_may_leave_between_begin_and_end_of_an_advance, setup, teardown)
{
	int64_t granted;

	call("PauseClock", "{}");
	assert_ok(sim_driver_begin_advance(d, FRAME));
	world_run(&w, MS);
	call("SetSource", "{\"source\": \"simulation\"}");
	assert_int_equal(sim_driver_end_advance(d, -1, &granted), -EPERM);
	call("SetSource", "{\"source\": \"unity\"}");
	for (unsigned i = 0; i < 2; i++) {
		drive(SIM_DRIVER_PACED);
		assert_ok(sim_driver_begin_advance(d, FRAME)); /* waits in the pause; then it has been granted */
		if (i)
			call("ResumeClock", "{}");
		world_run(&w, MS);
		sim_disconnect(game);
		world_run(&w, MS);
		assert_int_equal(sim_now(operator), i * FRAME);
		assert_int_equal(sim_clock_page(operator)->flags & SIM_CLOCK_NO_DRIVER, SIM_CLOCK_NO_DRIVER);
		game = world_client(&w, "game", 0);
		d = NULL;
	}
	drive(0);
	assert_ok(sim_driver_advance(d, FRAME, &granted));
	assert_int_equal(sim_now(game), 2 * FRAME);
}
