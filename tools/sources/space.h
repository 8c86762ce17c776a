/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors and rotations of generated message types. Thread: any; pure. */
#ifndef SOURCES_SPACE_H
#define SOURCES_SPACE_H

#include <math.h>
#include <stdbool.h>

#include <sim/msg/Pose.h>

#define SPACE_FAR_M 1e9 /* positions further from the map's origin are invalid */

/* Written so that a NaN fails. */
static inline bool space_vector_ok(const struct sim_Vector3 *v)
{
	return fabs(v->x) <= SPACE_FAR_M && fabs(v->y) <= SPACE_FAR_M && fabs(v->z) <= SPACE_FAR_M;
}

static inline struct sim_Vector3 space_add(struct sim_Vector3 a, struct sim_Vector3 b)
{
	return (struct sim_Vector3){ .x = a.x + b.x, .y = a.y + b.y, .z = a.z + b.z };
}

static inline struct sim_Vector3 space_sub(struct sim_Vector3 a, struct sim_Vector3 b)
{
	return (struct sim_Vector3){ .x = a.x - b.x, .y = a.y - b.y, .z = a.z - b.z };
}

static inline double space_length(struct sim_Vector3 v)
{
	return sqrt(v.x * v.x + v.y * v.y + v.z * v.z);
}

static inline struct sim_Quaternion space_inverse(struct sim_Quaternion q)
{
	return (struct sim_Quaternion){ .x = -q.x, .y = -q.y, .z = -q.z, .w = q.w };
}

static inline struct sim_Quaternion space_mul(struct sim_Quaternion a, struct sim_Quaternion b)
{
	return (struct sim_Quaternion){
		.x = a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
		.y = a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
		.z = a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
		.w = a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
	};
}

static inline struct sim_Vector3 space_rotate(struct sim_Quaternion q, struct sim_Vector3 v)
{
	struct sim_Quaternion p = { .x = v.x, .y = v.y, .z = v.z };

	p = space_mul(space_mul(q, p), space_inverse(q));
	return (struct sim_Vector3){ .x = p.x, .y = p.y, .z = p.z };
}

/* All zero, as an absent field reads, becomes the identity. False: not a rotation. */
static inline bool space_normalise(struct sim_Quaternion *q)
{
	double n = sqrt(q->x * q->x + q->y * q->y + q->z * q->z + q->w * q->w);

	if (n == 0) {
		*q = (struct sim_Quaternion){ .w = 1 };
		return true;
	}
	if (!(n > 1e-6 && n < 1e6))
		return false;
	*q = (struct sim_Quaternion){ .x = q->x / n, .y = q->y / n, .z = q->z / n, .w = q->w / n };
	return true;
}

/* Angle between the two rotations: 0 to pi. */
static inline double space_angle(struct sim_Quaternion a, struct sim_Quaternion b)
{
	struct sim_Quaternion d = space_mul(space_inverse(a), b);

	return 2 * atan2(sqrt(d.x * d.x + d.y * d.y + d.z * d.z), fabs(d.w));
}

/* Direction of x on the level, whatever pitch and roll are; q may have any length. */
static inline double space_yaw(struct sim_Quaternion q)
{
	return atan2(2 * (q.w * q.z + q.x * q.y), q.w * q.w + q.x * q.x - q.y * q.y - q.z * q.z);
}

#define SPACE_CRAWL 1e-9 /* [m/s] below it the front wheels' angle cannot be told from the yaw rate */

/*
 * [rad] angle of the front wheels at which a vehicle of this speed [m/s], forwards or backwards, has that yaw rate
 * [rad/s], by the bicycle model.
 */
static inline double space_wheel_angle(double wheelbase, double speed, double yaw_rate)
{
	return fabs(speed) <= SPACE_CRAWL ? 0 : atan(wheelbase * yaw_rate / speed);
}

#endif
