/* SPDX-License-Identifier: Apache-2.0 */
/* The vehicle's motion. See motion.h. */
#include "motion.h"

#include <math.h>

static struct sim_Vector3 turned(double yaw, struct sim_Vector3 v)
{
	double c = cos(yaw), s = sin(yaw);

	return (struct sim_Vector3){ .x = c * v.x - s * v.y, .y = s * v.x + c * v.y, .z = v.z };
}

struct motion motion_of(const struct sim_Imu *imu)
{
	double yaw = scene_yaw_of(&imu->orientation);

	return (struct motion){
		.pose = { .x = imu->position.x, .y = imu->position.y, .z = imu->position.z, .yaw = yaw },
		.vel = turned(yaw, imu->linear_velocity),
		.yaw_rate = imu->angular_velocity.z,
	};
}

struct sim_Vector3 motion_to_map(const struct motion *m, double yaw, struct sim_Vector3 v)
{
	return turned(m->pose.yaw + yaw, v);
}

struct sim_Vector3 motion_place(const struct motion *m, const struct scene_mount *at)
{
	struct sim_Vector3 r = turned(m->pose.yaw, (struct sim_Vector3){ .x = at->x, .y = at->y, .z = at->z });

	return (struct sim_Vector3){ .x = m->pose.x + r.x, .y = m->pose.y + r.y, .z = m->pose.z + r.z };
}

struct sim_Vector3 motion_velocity(const struct motion *m, const struct scene_mount *at)
{
	struct sim_Vector3 r = turned(m->pose.yaw, (struct sim_Vector3){ .x = at->x, .y = at->y });

	return (struct sim_Vector3){ .x = m->vel.x - m->yaw_rate * r.y,
				     .y = m->vel.y + m->yaw_rate * r.x,
				     .z = m->vel.z };
}

/* v + 2 u x (u x v + w v), u the vector part */
struct sim_Vector3 motion_rotate(const struct sim_Quaternion *q, struct sim_Vector3 v)
{
	double tx = q->y * v.z - q->z * v.y + q->w * v.x, ty = q->z * v.x - q->x * v.z + q->w * v.y;
	double tz = q->x * v.y - q->y * v.x + q->w * v.z;

	return (struct sim_Vector3){ .x = v.x + 2 * (q->y * tz - q->z * ty),
				     .y = v.y + 2 * (q->z * tx - q->x * tz),
				     .z = v.z + 2 * (q->x * ty - q->y * tx) };
}
