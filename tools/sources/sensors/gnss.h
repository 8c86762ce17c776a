/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A satellite receiver and the inertial navigation system that it is a part of: an exact fix at base_link becomes one of an antenna elsewhere on
 * the vehicle, with an error. The error along each axis is a first-order Gauss-Markov process (e.g. Groves, Principles of GNSS, Inertial,
 * and Multisensor Integrated Navigation Systems, section 14.2.2): of standard deviation s, and after dt of what it was exp(-dt / drift) is left.
 *
 * In an outage there is no fix: the position stays that of the last one. Where the exact one has no fix, or no valid latitude or longitude, there is none
 * either, at 0, 0.
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

/* As Novatel numbers them. */
enum gnss_ins_status { GNSS_INS_INACTIVE = 0, GNSS_INS_HIGH_VARIANCE = 2, GNSS_INS_GOOD = 3 };
enum gnss_position_type {
	GNSS_NONE = 0,
	GNSS_PROPAGATED = 19,  /* by inertia alone: there is no fix */
	GNSS_INS_SINGLE = 53,  /* metres */
	GNSS_INS_DIFFERENTIAL, /* below 2 m */
	GNSS_INS_RTK_FLOAT,    /* below 0.5 m */
	GNSS_INS_RTK_FIXED     /* below 0.05 m */
};

struct gnss {
	const struct sensor_config *c; /* keeps */
	struct rnd rnd;
	struct sim_Gps last; /* fix that there was; zeros before the first one */
	double error[3];     /* m: east, north, up */
	int64_t last_sim_ns;
	uint32_t clock_generation;
	bool started, has_fix; /* has_fix: the last one that was measured from */
};

void gnss_init(struct gnss *g, const struct sensor_config *c);
/* ret may be truth. */
void gnss_measure(struct gnss *g, const struct sim_Gps *truth, int64_t stamp_sim_ns, uint32_t clock_generation,
		  struct sim_Gps *ret);
/* The state that goes with it. */
void gnss_ins(const struct gnss *g, int64_t stamp_sim_ns, struct sim_GpsIns *ret);

#endif
