/* SPDX-License-Identifier: Apache-2.0 */
/* The channels of sim-sumo. See feed.h. */
#include "feed.h"

#include <errno.h>
#include <time.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Gps.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Imu.h>
#include <sim/msg/TrafficSignals.h>
#include <sim/msg/Transforms.h>

#include "log.h"

LOG_TOPIC("feed");

/* The order is the order of publishing within a step: who gets /objects finds the /tf of the same stamp. */
static const struct {
	const char *name;
	const struct sim_type *type;
	const char *frame;
	uint32_t mhz; /* millihertz */
	size_t (*fill)(const struct moment *m, void *body, size_t cap);
} CHANNELS[FEED_COUNT] = {
	[FEED_TF_STATIC] = { "tf_static", &sim_Transforms_type, FRAME_MAP, 1000, message_tf_static },
	[FEED_TF] = { "tf", &sim_Transforms_type, FRAME_MAP, 50000, message_tf },
	[FEED_IMU] = { "imu", &sim_Imu_type, FRAME_BASE, 100000, message_imu },
	[FEED_GPS] = { "gps", &sim_Gps_type, FRAME_BASE, 12500, message_gps },
	[FEED_GPS_ODOMETRY] = { "gps_odometry", &sim_GpsOdometry_type, FRAME_MAP, 12500, message_gps_odometry },
	[FEED_CAN_BUS] = { "can_bus", &sim_CanBus_type, FRAME_BASE, 10000, message_can_bus },
	[FEED_OBJECTS] = { "objects", &sim_Detected3DObjects_type, FRAME_BASE, 10000, message_objects },
	[FEED_SIGNALS] = { "signals", &sim_TrafficSignals_type, FRAME_BASE, 10000, message_signals },
};

const char *feed_name(enum feed_channel ch)
{
	return CHANNELS[ch].name;
}

/* Room for a message, as small as the moment allows; with NULL: for the largest. */
static size_t room(enum feed_channel ch, const struct moment *m)
{
	switch (ch) {
	case FEED_OBJECTS:
		return message_objects_max(m ? m->nobjects : WORLD_OBJECTS_MAX);
	case FEED_SIGNALS:
		return message_signals_max(m && m->nlights < LIGHTS_SENT_MAX ? m->nlights : LIGHTS_SENT_MAX);
	case FEED_GPS_ODOMETRY:
		return message_gps_odometry_max();
	case FEED_TF_STATIC:
	case FEED_TF:
		return message_tf_max();
	default:
		return CHANNELS[ch].type->fixed_size;
	}
}

int feed_open(struct feed *f, struct sim_client *c)
{
	*f = (struct feed){ .client = c };
	for (int i = 0; i < FEED_COUNT; i++) {
		struct sim_publisher_options o = { .size = sizeof(o),
						   .max_body = room((enum feed_channel)i, NULL),
						   .frame_id = CHANNELS[i].frame,
						   .flags = i == FEED_TF_STATIC ? SIM_PUB_LATCH : 0 };
		int r = sim_advertise(c, CHANNELS[i].name, CHANNELS[i].type, &o, &f->pub[i]);

		if (r == 0)
			r = sim_gate_init(&f->gate[i], CHANNELS[i].mhz);
		if (r < 0) {
			feed_close(f);
			return r;
		}
	}
	return 0;
}

void feed_close(struct feed *f)
{
	for (int i = 0; i < FEED_COUNT; i++) {
		sim_publisher_destroy(f->pub[i]);
		f->pub[i] = NULL;
	}
}

unsigned feed_due(struct feed *f, const struct sim_clock_sample *now)
{
	unsigned due = 0;

	for (int i = 0; i < FEED_COUNT; i++)
		due |= sim_gate_due(&f->gate[i], now) ? 1u << i : 0;
	return due;
}

static void on_done(void *user, bool ok, enum sim_reason reason)
{
	struct feed_counts *n = user;

	(void)reason; /* counted by the library, by channel and reason */
	atomic_fetch_add_explicit(ok ? &n->done : &n->failed, 1, memory_order_relaxed);
}

/* Takes the slot. */
static int hand_over(struct feed *f, enum feed_channel ch, struct sim_slot *slot)
{
	int r;

	if (sim_publisher_bridges(f->pub[ch]).total == 0)
		return sim_publish_local(f->pub[ch], slot);
	r = sim_try_queue(f->pub[ch], slot, NULL, on_done, &f->counts[ch]);
	if (r < 0)
		atomic_fetch_sub_explicit(&f->counts[ch].failed, 1, memory_order_relaxed); /* counted as refused */
	return r;
}

static int publish(struct feed *f, enum feed_channel ch, const struct moment *m)
{
	size_t cap = room(ch, m), size;
	struct sim_slot *slot;
	int r = sim_loan(f->pub[ch], cap, &slot);

	if (r < 0)
		return r;
	slot->stamp_sim_ns = m->stamp_sim_ns;
	size = CHANNELS[ch].fill(m, sim_slot_body_mut(slot), cap);
	r = size ? sim_slot_set_size(slot, size) : -EMSGSIZE;
	if (r < 0) {
		(void)sim_unloan(f->pub[ch], slot);
		return r;
	}
	return hand_over(f, ch, slot);
}

void feed_publish(struct feed *f, unsigned due, const struct moment *m)
{
	for (int i = 0; i < FEED_COUNT; i++) {
		int r;

		if (!(due & 1u << i))
			continue;
		r = publish(f, (enum feed_channel)i, m);
		if (r == 0) {
			f->counts[i].published++;
			continue;
		}
		/* Not to be had for a moment is no news (simd keeps the counters); nonsense is. */
		if (f->counts[i].refused++ == 0 && r != -ECANCELED && r != -ESTALE && r != -ENOTCONN)
			log_warn("%s: first message refused: %s", CHANNELS[i].name, sim_strerror(r));
	}
}
