/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Axes, angles and times as Apollo has them, over ROS as over Cyber RT. Its vehicle looks along y: right, forward, up; a quaternion
 * turns from there to the map. Pure: any thread.
 */
#ifndef APOLLO_FRAMES_H
#define APOLLO_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "sim/msg/Quaternion.h"
#include "sim/msg/Vector3.h"

#define APOLLO_DEG_PER_RAD (180.0 / 3.14159265358979323846)

/* ns as seconds, to the last bit that a double has */
double apollo_seconds(int64_t ns);
/*
 * ns of the satellites' clock at a unix time: since 1980-01-06, leap seconds counted. Before it there is none, as when a simulation begins at
 * 0: then what Apollo's localization, which subtracts 17 leap seconds at any date up to 2016, turns into that unix time again.
 */
int64_t apollo_gps_ns(int64_t unix_ns);

/* Forward, left, up as right, forward, up. */
struct sim_Vector3 apollo_rfu(const struct sim_Vector3 *v);
struct sim_Quaternion apollo_turn(const struct sim_Quaternion *flu);
/* A quaternion to forward, left, up as one to right, forward, up. */
struct sim_Quaternion apollo_turned(const struct sim_Quaternion *q);
/* The three of them back. */
struct sim_Vector3 apollo_flu(const struct sim_Vector3 *rfu);
struct sim_Quaternion apollo_turn_back(const struct sim_Quaternion *rfu);
struct sim_Quaternion apollo_turned_back(const struct sim_Quaternion *q);
/* A vector of the body's own axes in the map; q: from the body to the map. */
struct sim_Vector3 apollo_to_map(const struct sim_Quaternion *q, const struct sim_Vector3 *v);
/* [rad], 0 is east, anticlockwise */
double apollo_heading(const struct sim_Quaternion *q);
/* [deg] clockwise from north, 0 to 360 */
double apollo_compass(const struct sim_Quaternion *q);
/* Roll about y, pitch about x, yaw about z, 0 is north: in that order from the inside. */
struct sim_Vector3 apollo_euler(const struct sim_Quaternion *flu);
struct sim_Quaternion apollo_of_euler(const struct sim_Vector3 *euler); /* forward, left, up */

/*
 * A Chassis that came in, its pedals and steering in percent: what it leaves unset is NaN there, and a number that an enum does not have
 * reads as unset in protobuf. So NaN is 0, such a mode manual and such a gear none.
 */
struct sim_CanBus;
void apollo_finish_chassis(struct sim_CanBus *m, int32_t mode, int32_t gear);
/* Of a confidence; 0 of one that is not from 0 to 1. */
float apollo_confidence(double confidence);
/* Of a variance; 0 of an invalid one. */
double apollo_deviation(double variance);
/* Of a place's covariance, east, north, up [m]; 1 cm where none are known, since 0 would say that it is exact. */
struct sim_Vector3 apollo_deviations(const double covariance[9]);
double apollo_dot(const struct sim_Vector3 *a, const struct sim_Vector3 *b);
/* [deg] where what a radar sees goes, from where the radar looks, left is positive; 0 where it stands. */
struct sim_RadarObject;
double apollo_radar_orientation(const struct sim_RadarObject *r);

/* PerceptionObstacle.Type and SubType of the label of an object of the body, and back. */
struct apollo_kind {
	int32_t type, sub_type;
};
struct sim_Detected3DObject;
struct apollo_kind apollo_kind_of(const void *body, size_t size, const struct sim_Detected3DObject *o);
const char *apollo_label_of(struct apollo_kind kind);

#endif
