/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apollo's axes, angles and times, over ROS as over Cyber RT. Its vehicle frame is right, forward, up (the vehicle
 * looks along y); a quaternion rotates from there to the map. Pure: any thread.
 */
#ifndef APOLLO_FRAMES_H
#define APOLLO_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "sim/msg/Quaternion.h"
#include "sim/msg/Vector3.h"

#define APOLLO_DEG_PER_RAD (180.0 / 3.14159265358979323846)

/* ns as seconds, to the precision of a double */
double apollo_seconds(int64_t ns);
/*
 * GPS time in ns of a Unix time: since 1980-01-06, including leap seconds. For earlier times, as when a simulation
 * begins at 0, returns the value that Apollo's localization, which subtracts 17 leap seconds for any date up to 2016,
 * converts back to that Unix time.
 */
int64_t apollo_gps_ns(int64_t unix_ns);

/* Converts forward, left, up to right, forward, up. */
struct sim_Vector3 apollo_rfu(const struct sim_Vector3 *v);
struct sim_Quaternion apollo_turn(const struct sim_Quaternion *flu);
/* Converts a quaternion of axes forward, left, up to right, forward, up. */
struct sim_Quaternion apollo_turned(const struct sim_Quaternion *q);
/* The inverses of these three. */
struct sim_Vector3 apollo_flu(const struct sim_Vector3 *rfu);
struct sim_Quaternion apollo_turn_back(const struct sim_Quaternion *rfu);
struct sim_Quaternion apollo_turned_back(const struct sim_Quaternion *q);
/* Rotates a vector from the body's axes (forward, left, up) into the map; q: from the body to the map. */
struct sim_Vector3 apollo_to_map(const struct sim_Quaternion *q, const struct sim_Vector3 *v);
/* [rad], 0 is east, anticlockwise */
double apollo_heading(const struct sim_Quaternion *q);
/* [deg] clockwise from north, 0 to 360 */
double apollo_compass(const struct sim_Quaternion *q);
/* Roll about y, pitch about x, yaw about z with 0 at north, applied in this order. */
struct sim_Vector3 apollo_euler(const struct sim_Quaternion *flu);
struct sim_Quaternion apollo_of_euler(const struct sim_Vector3 *euler); /* a quaternion of axes forward, left, up */

/*
 * Normalises an incoming Chassis, with pedals and steering in percent: NaN, which means unset there, becomes 0.
 * protobuf reads an enum value that it does not know as unset, so an unknown mode becomes manual and an unknown gear
 * none.
 */
struct sim_CanBus;
void apollo_finish_chassis(struct sim_CanBus *m, int32_t mode, int32_t gear);
/* A confidence, or 0 if it is not from 0 to 1. */
float apollo_confidence(double confidence);
/* Square root of a variance, or 0 if that is invalid. */
double apollo_deviation(double variance);
/* Standard deviations of a position's covariance, east, north, up [m]; 1 cm where unknown, since 0 would mean exact. */
struct sim_Vector3 apollo_deviations(const double covariance[9]);
double apollo_dot(const struct sim_Vector3 *a, const struct sim_Vector3 *b);
/* [deg] Direction in which an object moves, from the radar's line of sight, left is positive; 0 if it stands. */
struct sim_RadarObject;
double apollo_radar_orientation(const struct sim_RadarObject *r);

/* Converts between an object's label and PerceptionObstacle.Type and SubType. */
struct apollo_kind {
	int32_t type, sub_type;
};
struct sim_Detected3DObject;
struct apollo_kind apollo_kind_of(const void *body, size_t size, const struct sim_Detected3DObject *o);
const char *apollo_label_of(struct apollo_kind kind);

#endif
