/* SPDX-License-Identifier: Apache-2.0 */
/* The channels of sim-sumo. See feed.h. */
#include "feed.h"

#include <stdio.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Gps.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Imu.h>
#include <sim/msg/LaneLines.h>
#include <sim/msg/TrafficSignals.h>
#include <sim/msg/Transforms.h>
#include <sim/msg/VehicleOdometry.h>

/* In order of publishing within a step: a subscriber that gets /objects finds the /tf of the same stamp. */
static const struct {
	const char *name;
	const struct sim_type *type;
	const char *frame;
	double hz;
	size_t (*fill)(const struct moment *m, void *body, size_t cap);
} CHANNELS[FEED_COUNT] = {
	[FEED_TF_STATIC] = { "tf_static", &sim_Transforms_type, FRAME_MAP, 1, message_tf_static },
	[FEED_TF] = { "tf", &sim_Transforms_type, FRAME_MAP, 50, message_tf },
	[FEED_ODOM] = { "odom", &sim_GpsOdometry_type, ODOM_FRAME, 50, message_odom },
	[FEED_IMU] = { "imu", &sim_Imu_type, FRAME_BASE, 100, message_imu },
	[FEED_GPS] = { "gps", &sim_Gps_type, FRAME_BASE, 12.5, message_gps },
	[FEED_GPS_ODOMETRY] = { "gps_odometry", &sim_GpsOdometry_type, FRAME_MAP, 12.5, message_gps_odometry },
	[FEED_CAN_BUS] = { "can_bus", &sim_CanBus_type, FRAME_BASE, 10, message_can_bus },
	[FEED_ODOMETRY] = { "vehicle_odometry", &sim_VehicleOdometry_type, FRAME_BASE, 10, message_odometry },
	[FEED_OBJECTS] = { "objects", &sim_Detected3DObjects_type, FRAME_BASE, 10, message_objects },
	[FEED_SIGNALS] = { "signals", &sim_TrafficSignals_type, FRAME_BASE, 10, message_signals },
	[FEED_LANES] = { "lanes", &sim_LaneLines_type, FRAME_BASE, 10, message_lanes },
};

/* Size of a message of this moment; with NULL: of the largest. */
static size_t room(enum feed_channel ch, const struct moment *m)
{
	switch (ch) {
	case FEED_OBJECTS:
		return message_objects_max(m ? m->nobjects : WORLD_OBJECTS_MAX);
	case FEED_SIGNALS:
		return message_signals_max(m && m->nlights < LIGHTS_SENT_MAX ? m->nlights : LIGHTS_SENT_MAX);
	case FEED_LANES:
		return message_lanes_max();
	case FEED_ODOM:
		return odom_max();
	case FEED_GPS_ODOMETRY:
		return message_gps_odometry_max();
	case FEED_TF_STATIC:
	case FEED_TF:
		return message_tf_max();
	default:
		return CHANNELS[ch].type->fixed_size;
	}
}

static bool is_of_ego(int ch)
{
	return ch >= FEED_TF && ch <= FEED_ODOMETRY;
}

static int open_one(struct feed *f, struct sim_client *c, int i)
{
	struct sim_publisher_options o = { .size = sizeof(o),
					   .max_body = room((enum feed_channel)i, NULL),
					   .frame_id = CHANNELS[i].frame,
					   .flags = i == FEED_TF_STATIC ? SIM_PUB_LATCH : 0 };
	int r = sim_advertise(c, CHANNELS[i].name, CHANNELS[i].type, &o, &f->out[i].pub);

	f->out[i].name = CHANNELS[i].name;
	return r < 0 ? r : rate_init(&f->rate[i], CHANNELS[i].hz);
}

int feed_declare(struct feed *f, struct sim_params *p)
{
	char name[SIM_PARAM_NAME_MAX + 1];
	int r = 0;

	for (int i = 0; r == 0 && i < FEED_COUNT; i++) {
		const struct rate_param rate = { .name = name,
						 .description = "[Hz] messages a second of simulated time",
						 .initial = CHANNELS[i].hz,
						 .min = FEED_MIN_HZ,
						 .max = FEED_MAX_HZ };

		snprintf(name, sizeof(name), "%s.frequency", CHANNELS[i].name);
		r = f->out[i].pub ? rate_declare(&f->rate[i], p, &rate) : 0;
	}
	return r;
}

int feed_open(struct feed *f, struct sim_client *c, bool ego, bool odom)
{
	int r = 0;

	*f = (struct feed){ 0 };
	for (int i = 0; r == 0 && i < FEED_COUNT; i++)
		r = (ego || !is_of_ego(i)) && (odom || i != FEED_ODOM) ? open_one(f, c, i) : 0;
	if (r < 0)
		feed_close(f);
	return r;
}

void feed_close(struct feed *f)
{
	for (int i = 0; i < FEED_COUNT; i++) {
		sim_publisher_destroy(f->out[i].pub);
		f->out[i].pub = NULL;
	}
}

unsigned feed_due(struct feed *f, const struct sim_clock_sample *now)
{
	unsigned due = 0;

	for (int i = 0; i < FEED_COUNT; i++)
		due |= f->out[i].pub && rate_due(&f->rate[i], now) ? 1u << i : 0;
	return due;
}

static int publish(struct feed *f, enum feed_channel ch, const struct moment *m)
{
	size_t cap = room(ch, m);
	struct sim_slot *slot;
	int r = sim_loan(f->out[ch].pub, cap, &slot);

	if (r < 0)
		return r;
	slot->stamp_sim_ns = m->stamp_sim_ns;
	return outlet_send(&f->out[ch], slot, CHANNELS[ch].fill(m, sim_slot_body_mut(slot), cap), NULL);
}

void feed_publish(struct feed *f, unsigned due, const struct moment *m)
{
	for (int i = 0; i < FEED_COUNT; i++)
		if (due & 1u << i)
			outlet_count(&f->out[i], publish(f, (enum feed_channel)i, m));
}

void feed_report(const struct feed *f)
{
	for (int i = 0; i < FEED_COUNT; i++) {
		if (f->out[i].pub)
			outlet_report(&f->out[i]);
	}
}
