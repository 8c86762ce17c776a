/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that takes part in its own steps from one thread: it sets time in two halves and runs its own step in
 * between. And the cost of such a step where all messages are for local subscribers: hardly a doorbell.
 */
#include "scenario/client/imu.h"

#include <errno.h>
#include <unistd.h>

#include "libclient/src/publisher.h"

#define STEP_DUR (10 * MS)
#define WINDOW   64 /* of messages as small as these */

static struct world w;
static struct sim_client *c;
static struct sim_driver *d;
static struct sim_step *step;
static int64_t t_ns;
static unsigned writes;

/* Linked with --wrap. */
__typeof__(write) __real_write, __wrap_write;
ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
	writes++;
	return __real_write(fd, buf, n);
}

static int setup(void **state)
{
	(void)state;
	world_create(&w, test_seed(5),
		     "{\"backend\": \"mem\", \"TimeSource\": \"ss2\", \"pools\": [{\"size\": 4096, \"count\": 1000}]}");
	c = world_client(&w, "both", 0);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	assert_int_equal(sim_step_join(c, 200, &step), 0);
	t_ns = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_step_leave(step);
	sim_driver_release(d);
	sim_disconnect(c);
	world_destroy(&w);
	return 0;
}

static struct sim_step_turn begin(void)
{
	struct sim_step_turn turn;

	t_ns += STEP_DUR;
	assert_int_equal(sim_driver_begin(d, t_ns, false), 0);
	world_process(&w, c);
	assert_int_equal(sim_step_wait(step, 0, &turn), 0);
	assert_int_equal(turn.now.sim_ns, t_ns);
	return turn;
}

static void end(void)
{
	assert_int_equal(sim_step_done(step), 0);
	world_process(&w, c);
	assert_int_equal(sim_driver_end(d, 0), 0);
	assert_int_equal(sim_now(c), t_ns);
}

TEST_WITH(the_driver_has_its_turn_before_the_answer, setup, teardown)
{
	struct sim_step_turn turn;

	assert_int_equal(sim_driver_end(d, 0), -ENOTCONN); /* nothing was requested */
	for (int i = 0; i < 3; i++) {
		turn = begin();
		assert_false(turn.shared);
		assert_int_equal(turn.dur_ns, i ? STEP_DUR : 0); /* the first one is a jump */
		assert_int_equal(sim_driver_end(d, 0), -ETIMEDOUT);
		assert_int_equal(sim_driver_begin(d, t_ns + 1, false), -EBUSY);
		assert_string_equal(
			sim_why(),
			"sim_driver_begin: the answer to the last one has not been taken; call sim_driver_end()");
		end();
	}
	assert_int_equal(sim_driver_begin(d, -1, false), 0);
	world_process(&w, c);
	assert_int_equal(sim_driver_end(d, 0), -ERANGE);
	assert_string_equal(sim_why(), "simd does not set time: the time is out of range");
}

/* A jump would lose the pending answer, so it waits for it. */
TEST_WITH(a_jump_waits_for_the_pending_answer, setup, teardown)
{
	(void)begin();
	sim_step_leave(step);
	step = NULL;
	assert_int_equal(sim_driver_jump(d, 5 * S), 0);
	assert_int_equal(sim_now(c), 5 * S);
	assert_int_equal(sim_driver_end(d, 0), -ENOTCONN);
}

TEST_WITH(a_turn_says_whether_other_participants_share_it, setup, teardown)
{
	struct sim_client *other = world_client(&w, "other", 0);
	struct sim_step_turn turn;
	struct sim_step *its;

	assert_int_equal(sim_step_join(other, 200, &its), 0);
	turn = begin();
	assert_true(turn.shared);
	sim_step_leave(its);
	end();
	turn = begin();
	assert_false(turn.shared);
	end();
	sim_disconnect(other);
}

TEST_WITH(simd_may_be_killed_before_its_answer, setup, teardown)
{
	(void)begin();
	end();
	assert_true(sim_driver_fd(d) >= 0);
	world_kill_simd(&w);
	assert_int_equal(sim_driver_begin(d, t_ns, false), 0); /* the driver notices at the answer */
	assert_int_equal(sim_driver_end(d, -1), -ENOTCONN);
	assert_int_equal(sim_driver_begin(d, t_ns, false), -ENOTCONN);
	assert_int_equal(sim_driver_fd(d), -ENOTCONN);
	world_until(&w, c, SIM_CLIENT_RECONNECTING);
	world_start_simd(&w);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	assert_true(sim_driver_fd(d) >= 0);
	assert_int_equal(sim_driver_end(d, -1), -ENOTCONN); /* the new simd was asked nothing */
	world_bury(&w);
}

static unsigned cells_claimed(struct sim_publisher *p)
{
	const struct pub_reg *reg = p->reg;
	unsigned n = 0;

	for (uint32_t i = 0; i < WINDOW; i++)
		n += atomic_load(&reg->channel->cell[i]) != 0;
	return n;
}

/* simd only has to free the credits of these messages: in time, and at least once a second. */
TEST_WITH(local_messages_wake_simd_twice_a_window, setup, teardown)
{
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	unsigned bells = 0;

	(void)begin();
	end();
	for (unsigned i = 0; i < 4 * WINDOW; i++) {
		unsigned before;

		(void)begin();
		before = writes;
		assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
		bells += writes - before;
		end();
	}
	assert_int_equal(bells, 8);
	(void)begin();
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	end();
	world_run(&w, 1100 * MS);
	assert_int_equal(cells_claimed(p), 0);
	sim_publisher_destroy(p);
}
