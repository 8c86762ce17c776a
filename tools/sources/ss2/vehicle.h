/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vehicle under test, as it tells of itself on its channels: where the ego of the scenario really is.
 * sim/GpsOdometry is preferred; without it sim/CanBus serves, whose position is turned into UTM.
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

#define VEHICLE_FRESH_DUR_NS INT64_C(1000000000) /* simulated; what is older says nothing about now */

/* Where the scenario's map begins, in UTM. */
struct vehicle_origin {
	bool mgrs; /* at the corner of the 100 km square of MGRS, as maps of Autoware do */
	double easting, northing, altitude;
};

/* "" or NULL: mgrs. "EASTING,NORTHING" or "EASTING,NORTHING,ALTITUDE", metres. -EINVAL. */
int vehicle_origin_parse(struct vehicle_origin *ret, const char *text);

struct vehicle_state {
	struct sim_Pose pose;          /* the scenario's map */
	struct sim_Twist twist, accel; /* the vehicle's own axes */
	double jerk;                   /* as scenario_simulator_v2 has it: by how much the speed has changed, m/s^2 */
	bool manual;                   /* nobody drives it, as its can_bus says */
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
	int64_t ordered_sim_ns; /* when it was told whether somebody drives it: what its can_bus said up to then is older */
	uint32_t ordered_generation;
};

/* Take in a message. One with values that are no numbers is left out: false. */
bool vehicle_odometry(struct vehicle *v, const struct sim_GpsOdometry *m, int64_t stamp_sim_ns, uint32_t generation);
bool vehicle_can_bus(struct vehicle *v, const struct sim_CanBus *m, int64_t stamp_sim_ns, uint32_t generation);

/* It is put elsewhere: what it told before is of no use. */
void vehicle_forget(struct vehicle *v);
/* It was told so then; from the next can_bus on it counts what that says. */
void vehicle_ordered(struct vehicle *v, bool manual, int64_t sim_ns, uint32_t generation);

/* False: there is no vehicle, or it has been silent for too long. */
bool vehicle_now(const struct vehicle *v, int64_t now_sim_ns, uint32_t generation, struct vehicle_state *ret);

#endif
