/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vehicle under test, as it reports itself on its channels: the actual state of the scenario's ego. sim/GpsOdometry
 * is preferred; without it sim/CanBus is used, whose position is converted to UTM.
 *
 * Thread: the owner's.
 */
#ifndef SOURCES_SS2_VEHICLE_H
#define SOURCES_SS2_VEHICLE_H

#include <stdbool.h>
#include <stdint.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Pose.h>
#include <sim/msg/Twist.h>

#define VEHICLE_FRESH_DUR_NS INT64_C(1000000000) /* simulated; an older report does not count */

/* Origin of the scenario's map, in UTM. */
struct vehicle_origin {
	bool mgrs; /* the corner of the 100 km square of MGRS, as in maps of Autoware */
	double easting, northing, altitude;
};

/* text "" or NULL: mgrs; otherwise "EASTING,NORTHING" or "EASTING,NORTHING,ALTITUDE", metres. -EINVAL. */
int vehicle_origin_parse(struct vehicle_origin *ret, const char *text);

struct vehicle_state {
	struct sim_Pose pose;          /* in the scenario's map */
	struct sim_Twist twist, accel; /* in the vehicle's own axes */
	double jerk;                   /* as in scenario_simulator_v2: the change of speed, m/s^2 */
	bool manual;                   /* nobody drives it, according to its can_bus */
	int64_t stamp_sim_ns;
};

struct vehicle_report {
	bool given;
	int64_t stamp_sim_ns;
	uint32_t clock_generation;
	struct vehicle_state state;
};

struct vehicle {
	struct vehicle_origin origin;
	struct vehicle_report odometry, can_bus;
	bool manual;
	/* when it was last ordered to be driven or not; modes that its can_bus reported up to then are older */
	int64_t ordered_sim_ns;
	uint32_t ordered_generation;
};

/* Take in a message. False: a value is not a valid number, and the message is ignored. */
bool vehicle_odometry(struct vehicle *v, const struct sim_GpsOdometry *m, int64_t stamp_sim_ns, uint32_t generation);
bool vehicle_can_bus(struct vehicle *v, const struct sim_CanBus *m, int64_t stamp_sim_ns, uint32_t generation);

/* It is placed elsewhere: its earlier reports no longer count. */
void vehicle_forget(struct vehicle *v);
/* It was given that order at sim_ns; later can_bus messages replace it. */
void vehicle_ordered(struct vehicle *v, bool manual, int64_t sim_ns, uint32_t generation);

/* False: there is no vehicle, or its last report is too old. */
bool vehicle_now(const struct vehicle *v, int64_t now_sim_ns, uint32_t generation, struct vehicle_state *ret);

#endif
