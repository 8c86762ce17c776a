/* SPDX-License-Identifier: Apache-2.0 */
/* The IMU messages that the client scenarios publish. */
#ifndef SCENARIO_CLIENT_IMU_H
#define SCENARIO_CLIENT_IMU_H

#include "scenario/client/world.h"

#include <sim/msg/Imu.h>

static inline struct sim_publisher *imu_advertise(struct sim_client *c, const char *channel, unsigned flags)
{
	struct sim_publisher_options o = { .size = sizeof(o), .frame_id = "imu_link", .flags = flags };
	struct sim_publisher *p;

	if (sim_advertise(c, channel, &sim_Imu_type, &o, &p) < 0)
		fail_msg("%s: %s", channel, sim_why());
	return p;
}

static inline struct sim_slot *imu_loan(struct sim_publisher *p)
{
	struct sim_slot *slot;
	struct sim_builder b;

	if (sim_loan(p, sizeof(struct sim_Imu), &slot) < 0)
		fail_msg("%s", sim_why());
	assert_non_null(sim_Imu_init(sim_slot_body_mut(slot), slot->body_size, &b));
	return slot;
}

static inline struct sim_subscriber *imu_subscribe(struct sim_client *c, const char *channel, unsigned flags)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 32, .flags = flags };
	struct sim_subscriber *s;

	if (sim_subscribe(c, channel, &sim_Imu_type, &o, &s) < 0)
		fail_msg("%s: %s", channel, sim_why());
	return s;
}

/* Takes a message, checks its sequence number, and releases it. */
static inline void imu_expect(struct sim_subscriber *s, uint64_t sequence)
{
	const struct sim_message *slot;

	assert_int_equal(sim_wait(s, 1000 * MS), 1);
	assert_int_equal(sim_take(s, &slot), 0);
	assert_int_equal(slot->header.sequence, sequence);
	assert_int_equal(sim_release(s, slot), 0);
}

#endif
