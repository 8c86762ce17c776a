/* SPDX-License-Identifier: Apache-2.0 */
/* Position and motion of the vehicle, from its exact IMU, and of a point on it. Thread: any; pure. */
#ifndef SOURCES_SENSORS_MOTION_H
#define SOURCES_SENSORS_MOTION_H

#include <sim/msg/Imu.h>

#include "../scene/scene.h"

struct motion {
	struct scene_pose pose; /* of base_link in the map */
	struct sim_Vector3 vel; /* m/s, map, of base_link */
	double yaw_rate;        /* rad/s */
};

struct motion motion_of(const struct sim_Imu *imu);
/* A vector of the sensor, which is turned by yaw against the vehicle, along the map's axes. */
struct sim_Vector3 motion_to_map(const struct motion *m, double yaw, struct sim_Vector3 v);
/* Position and velocity of a sensor; m, m/s, map. */
struct sim_Vector3 motion_place(const struct motion *m, const struct scene_mount *at);
struct sim_Vector3 motion_velocity(const struct motion *m, const struct scene_mount *at);

/* Rotate v by a unit quaternion. */
struct sim_Vector3 motion_rotate(const struct sim_Quaternion *q, struct sim_Vector3 v);

#endif
