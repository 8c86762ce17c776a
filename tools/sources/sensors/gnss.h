/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A satellite receiver, and the inertial navigation system that it is part of: from an exact fix at base_link it makes
 * the fix of an antenna elsewhere on the vehicle, with an error. The error along each axis is a first-order
 * Gauss-Markov process (e.g. Groves, Principles of GNSS, Inertial, and Multisensor Integrated Navigation Systems,
 * section 14.2.2) with standard deviation s; after dt the fraction exp(-dt / drift) of the earlier error is left.
 *
 * In an outage there is no fix: the position stays that of the last fix. If the exact message has no fix, or no valid
 * latitude or longitude, the receiver has no fix either, and its position is 0, 0.
 *
 * Thread: one at a time; nothing is allocated. The same fixes give the same messages.
 */
#ifndef SOURCES_SENSORS_GNSS_H
#define SOURCES_SENSORS_GNSS_H

#include <stdint.h>

#include <sim/msg/Gps.h>
#include <sim/msg/GpsIns.h>

#include "config.h"
#include "rnd.h"

/* Novatel's numbers. */
enum gnss_ins_status { GNSS_INS_INACTIVE = 0, GNSS_INS_HIGH_VARIANCE = 2, GNSS_INS_GOOD = 3 };
enum gnss_position_type {
	GNSS_NONE = 0,
	GNSS_PROPAGATED = 19,  /* from inertia alone: there is no fix */
	GNSS_INS_SINGLE = 53,  /* error in metres */
	GNSS_INS_DIFFERENTIAL, /* error below 2 m */
	GNSS_INS_RTK_FLOAT,    /* error below 0.5 m */
	GNSS_INS_RTK_FIXED     /* error below 0.05 m */
};

struct gnss {
	const struct sensor_config *c; /* kept pointer */
	struct rnd rnd;
	struct sim_Gps last; /* the last fix outside an outage; zeros before the first one */
	double error[3];     /* m: east, north, up */
	int64_t last_sim_ns;
	uint32_t clock_generation;
	bool started, has_fix; /* has_fix: of the last message that was measured */
};

void gnss_init(struct gnss *g, const struct sensor_config *c);
/* ret may be the same object as truth. */
void gnss_measure(struct gnss *g, const struct sim_Gps *truth, int64_t stamp_sim_ns, uint32_t clock_generation,
		  struct sim_Gps *ret);
/* The navigation system's state at that stamp. */
void gnss_ins(const struct gnss *g, int64_t stamp_sim_ns, struct sim_GpsIns *ret);

#endif
