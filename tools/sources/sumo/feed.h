/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channels of sim-sumo: publishers, when each is due, what became of each message. They are queued
 * for dispatch without a token: nothing here overwrites a buffer in use.
 *
 * Thread: main, completions on the library's thread (they only count).
 */
#ifndef SOURCES_SUMO_FEED_H
#define SOURCES_SUMO_FEED_H

#include "../outlet.h"
#include "../rate.h"
#include "messages.h"

enum feed_channel {
	FEED_TF_STATIC,
	FEED_TF,
	FEED_ODOM,
	FEED_IMU,
	FEED_GPS,
	FEED_GPS_ODOMETRY,
	FEED_CAN_BUS,
	FEED_ODOMETRY,
	FEED_OBJECTS,
	FEED_SIGNALS,
	FEED_LANES,
	FEED_COUNT
};

#define FEED_MIN_HZ 0.1
#define FEED_MAX_HZ 100.0 /* a step of SUMO is 10 ms */

struct feed {
	struct outlet out[FEED_COUNT];
	struct rate rate[FEED_COUNT];
};

/* Advertise all channels, or those of the surroundings alone: the ego's are somebody else's. odom: that one too. Errors as sim_advertise(). */
int feed_open(struct feed *f, struct sim_client *c, bool ego, bool odom);
void feed_close(struct feed *f);
/* CHANNEL.frequency of each: parameters, which are set until p is destroyed. As sim_params_declare(). */
int feed_declare(struct feed *f, struct sim_params *p);

/* Which channels are due now: a bit for each enum feed_channel. Ask once a step. */
unsigned feed_due(struct feed *f, const struct sim_clock_sample *now);
/* Publish these channels of the moment. */
void feed_publish(struct feed *f, unsigned due, const struct moment *m);
void feed_report(const struct feed *f); /* what became of the messages, to the log */

#endif
