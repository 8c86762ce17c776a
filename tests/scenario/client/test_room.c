/* SPDX-License-Identifier: Apache-2.0 */
/* A class of slots with little room: in whatever order its users come, and after a restart, nobody is refused for good. */
#include "scenario/client/imu.h"
#include "registry/channel.h"
#include "registry/simd.h"

#include <errno.h>

#define LONG 900000 /* of the world's largest slots: there are 60 */

WORLD_FIXTURE(1, "");

static struct sim_publisher *camera(struct sim_client *c, const char *channel, unsigned flags)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = LONG, .flags = flags };
	struct sim_publisher *p;

	if (sim_advertise(c, channel, &sim_Imu_type, &o, &p) < 0)
		fail_msg("%s: %s", channel, sim_why());
	return p;
}

static void restart_simd(struct sim_client *c)
{
	world_kill_simd(&w);
	world_until(&w, c, SIM_CLIENT_RECONNECTING);
	world_start_simd(&w);
}

/* Their ports live on, so simd is asked for what these hold: 32 each would leave nothing for the publisher. */
TEST_WITH(a_queue_stays_as_short_over_a_restart, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = camera(c, "camera", SIM_PUB_LOCAL);
	struct sim_subscriber *s[2];
	uint32_t depth[2];

	for (int i = 0; i < 2; i++) {
		s[i] = imu_subscribe(c, "camera", 0);
		depth[i] = sim_subscriber_depth(s[i]);
		assert_in_range(depth[i], 2, 31);
	}
	restart_simd(c);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	for (int i = 0; i < 2; i++)
		assert_int_equal(sim_subscriber_depth(s[i]), depth[i]);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	for (int i = 0; i < 2; i++) {
		imu_expect(s[i], 1);
		sim_subscriber_destroy(s[i]);
	}
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* Another client is faster with the new simd, and leaves later. */
TEST_WITH(what_had_no_room_after_a_restart_comes_back_when_there_is_some, setup, teardown)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
	struct sim_client *c = world_client(&w, "sensor", 0), *fast;
	struct sim_publisher *p = camera(c, "camera", SIM_PUB_NO_WAIT), *others[6];
	struct sim_subscriber *s;
	struct sim_slot *slot;

	restart_simd(c);
	fast = world_client(&w, "fast", 0);
	for (int i = 0; i < 6; i++)
		others[i] = camera(fast, names[i], SIM_PUB_LOCAL);
	s = imu_subscribe(fast, "a", 0);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_loan(p, LONG, &slot), -ENOSPC);
	for (int i = 0; i < 6; i++)
		sim_publisher_destroy(others[i]);
	sim_subscriber_destroy(s);
	for (int i = 0; i < 100; i++) {
		world_run(&w, 20 * MS);
		sim_process(c);
	}
	assert_int_equal(sim_client_state(c), SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, NULL, NULL), 0);
	sim_publisher_destroy(p);
	sim_disconnect(fast);
	sim_disconnect(c);
}
