/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channels of sim-sumo: publishers, when each is due, and counters of messages. Messages are queued for dispatch
 * without a token: a buffer in use is never overwritten.
 *
 *
 *
 * Thread: main; completions on the library's thread (they only count).
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
#define FEED_MAX_HZ 100.0 /* SUMO's step is 10 ms */

struct feed {
	struct outlet out[FEED_COUNT];
	struct rate rate[FEED_COUNT];
};

/*
 * Advertises all channels, or without `ego` only those of the surroundings, because another program publishes the
 * ego's. odom: that channel too. Errors as sim_advertise().
 */
int feed_open(struct feed *f, struct sim_client *c, bool ego, bool odom);
void feed_close(struct feed *f);
/*
 * Declares the parameter CHANNEL.frequency of each channel; they may be set until p is destroyed. Errors as
 * sim_params_declare().
 */
int feed_declare(struct feed *f, struct sim_params *p);

/* Returns the channels that are due now: a bit for each enum feed_channel. Call it once a step. */
unsigned feed_due(struct feed *f, const struct sim_clock_sample *now);
/* Publishes the due channels from m. */
void feed_publish(struct feed *f, unsigned due, const struct moment *m);
void feed_report(const struct feed *f); /* logs the counters of messages */

#endif
