/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that is stopped for ten minutes (SIGSTOP, a debugger, a suspended machine), in virtual time: none of its
 * accepted, held or received messages is lost, and no other process waits for it.
 */
#include "scenario/client/imu.h"

#include "err.h"

#define BEFORE         20 /* messages that it has outstanding */
#define STOPPED_DUR_NS (600 * S)

static struct world w;
static struct bridge_peer bridge;

static int setup(void **state)
{
	(void)state;
	world_create(&w, test_seed(1), "");
	bridge_start(&w, &bridge);
	bridge_connected(&w, &bridge);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	bridge_end(&bridge);
	world_destroy(&w);
	return 0;
}

static unsigned answer_all(void)
{
	unsigned n, all = 0;

	while ((n = bridge_next(&bridge, 1)) > 0) {
		bridge_answer(&bridge, 0);
		all += n;
	}
	return all;
}

/* The others' life meanwhile: messages on its channel and under its token, each answered at once; now and then a jump of time. */
static void others_go_on(struct sim_client *c, struct sim_publisher *p, struct sim_token *t, struct sim_driver *d)
{
	int64_t end = exec_now(w.x) + STOPPED_DUR_NS;

	for (unsigned i = 0; exec_now(w.x) < end; i++) {
		struct outcome done = { 0 };
		int64_t began = exec_now(w.x);

		if (sim_try_queue(p, imu_loan(p), i % 2 ? t : NULL, on_done, &done) < 0)
			fail_msg("message %u: %s", i, sim_why());
		assert_int_equal(answer_all(), 1);
		world_process(&w, c);
		assert_int_equal(done.calls, 1);
		assert_true(done.ok);
		assert_true(exec_now(w.x) - began < S);
		if (i % 20 == 0)
			assert_ok(sim_driver_jump(d, (int64_t)(1 + i) * S));
		world_run(&w, S);
	}
}

TEST_WITH(a_stopped_client_holds_up_no_other_client, setup, teardown)
{
	struct sim_client *c = world_client(&w, "stopped", 0), *other = world_client(&w, "other", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0), *q = imu_advertise(other, "imu", 0);
	struct sim_subscriber *sub = imu_subscribe(c, "imu", 0);
	struct sim_slot *loan[2] = { imu_loan(p), imu_loan(p) };
	const struct sim_message *taken, *next;
	struct outcome done[BEFORE] = { 0 }, after = { 0 };
	struct sim_token *t, *same;
	struct sim_driver *d;
	uint64_t sequence;
	char *json;

	assert_ok(sim_token_open(c, "shared", &t));
	assert_ok(sim_token_open(other, "shared", &same));
	assert_ok(sim_call(other, "SetSource", "{\"source\": \"ros2\"}", &json));
	free(json);
	world_run(&w, MS);
	assert_ok(sim_driver_acquire(other, 0, &d));
	for (unsigned i = 0; i < BEFORE; i++)
		assert_ok(sim_try_queue(p, imu_loan(p), i ? NULL : t, on_done, &done[i]));
	assert_int_equal(sim_wait(sub, S), 1);
	assert_ok(sim_take(sub, &taken));
	sequence = taken->header.sequence;

	assert_int_equal(answer_all(), BEFORE); /* it is not notified: it stands still from here on */
	others_go_on(other, q, same, d);

	assert_int_equal(sim_client_state(c), SIM_CLIENT_CONNECTED);
	for (unsigned i = 0; i < BEFORE; i++)
		assert_int_equal(done[i].calls, 0);
	world_process(&w, c);
	assert_int_equal(sim_client_state(c), SIM_CLIENT_CONNECTED);
	for (unsigned i = 0; i < BEFORE; i++) {
		assert_int_equal(done[i].calls, 1);
		assert_true(done[i].ok);
	}
	assert_int_equal(taken->header.sequence, sequence); /* still its own */
	assert_ok(sim_release(sub, taken));
	assert_ok(sim_take(sub, &next)); /* what its queue holds of the others' */
	assert_ok(sim_release(sub, next));
	for (unsigned i = 0; i < 2; i++)
		assert_ok(sim_try_queue(p, loan[i], i ? NULL : t, on_done, &after));
	assert_int_equal(answer_all(), 2);
	world_process(&w, c);
	assert_int_equal(after.calls, 2);
	assert_int_equal(after.ok, 2);

	sim_driver_release(d);
	sim_token_close(same);
	sim_token_close(t);
	sim_subscriber_destroy(sub);
	sim_publisher_destroy(q);
	sim_publisher_destroy(p);
	sim_disconnect(other);
	sim_disconnect(c);
}
