/* SPDX-License-Identifier: Apache-2.0 */
/* Incoming clock, frames, inertial and satellite navigation: see map_in.h. */
#include <string.h>

#include "map_in_private.h"
#include "sim/msg/Clock.h"
#include "sim/msg/CorrectedImu.h"
#include "sim/msg/Gps.h"
#include "sim/msg/GpsOdometry.h"
#include "sim/msg/Imu.h"
#include "sim/msg/Transforms.h"

#define FRAME_MAX SIM_FRAME_ID_MAX

MAP_IN(rosgraph_msgs, Clock, Clock)
{
	START(Clock);
	m->clock = map_in_stamp(d, "clock", to);
	if (m->clock < 0)
		sim_dec_fail(d, -ERANGE);
	return map_in_finish(&builder, to);
}

/* ---- frames ---- */

#define TRANSFORM_MIN (8 + 4 + 4 + 56) /* bytes of a transform without names */

static void put_frame(struct sim_builder *b, struct sim_span *span, const char *s, size_t len)
{
	map_in_copy(sim_builder_string(b, span, len, FRAME_MAX), s, len);
}

/* The first one's stamp becomes the message's. */
static void transform(struct sim_dec *d, struct sim_builder *b, struct sim_Transform *t, bool first,
		      struct message_in *to)
{
	int64_t stamp_sim_ns;
	const char *parent;
	size_t len;

	sim_dec_begin(d, NULL);
	stamp_sim_ns = d->ops->header(d, "header", &parent, &len);
	if (!d->err)
		put_frame(b, &t->parent_frame, parent, len);
	map_in_text(d, b, "child_frame_id", &t->child_frame, FRAME_MAX);
	sim_dec_begin(d, "transform");
	t->translation = map_in_vector(d, "translation");
	t->rotation = map_in_quaternion(d, "rotation");
	sim_dec_end(d);
	sim_dec_end(d);
	if (first)
		to->stamp_sim_ns = stamp_sim_ns;
}

MAP_IN(tf2_msgs, TFMessage, Transforms)
{
	struct sim_Transform *t;
	uint32_t n;

	START(Transforms);
	n = sim_dec_list(d, "transforms", TRANSFORM_MIN);
	t = sim_Transforms_transforms_alloc(&builder, n);
	for (uint32_t i = 0; t && i < n && !d->err; i++)
		transform(d, &builder, &t[i], i == 0, to);
	sim_dec_list_end(d);
	return map_in_finish(&builder, to);
}

/* The name in ROS 1 before tf2, as in old bags. */
MAP_IN(tf, tfMessage, Transforms)
{
	return MAP_IN_NAME(tf2_msgs, TFMessage, Transforms)(d, to);
}

/* ---- inertial ---- */

/* A first covariance of -1 is ROS's mark for an unknown orientation. */
static void imu(struct sim_dec *d, struct sim_Imu *m)
{
	m->orientation = map_in_quaternion(d, "orientation");
	map_in_f64s(d, "orientation_covariance", m->orientation_covariance, 9);
	if (m->orientation_covariance[0] == -1) {
		m->orientation = (struct sim_Quaternion){ 0 };
		memset(m->orientation_covariance, 0, sizeof(m->orientation_covariance));
	}
	m->angular_velocity = map_in_vector(d, "angular_velocity");
	map_in_f64s(d, "angular_velocity_covariance", m->angular_velocity_covariance, 9);
	m->linear_acceleration = map_in_vector(d, "linear_acceleration");
	map_in_f64s(d, "linear_acceleration_covariance", m->linear_acceleration_covariance, 9);
}

MAP_IN(sensor_msgs, Imu, Imu)
{
	START(Imu);
	map_in_header(d, to);
	imu(d, m);
	return map_in_finish(&builder, to);
}

MAP_IN(sensor_msgs, Imu, CorrectedImu)
{
	START(CorrectedImu);
	map_in_header(d, to);
	imu(d, &m->imu);
	return map_in_finish(&builder, to);
}

/* The first three rows and columns of a 6 x 6 covariance. */
static void linear_part(double to[9], const double all[36])
{
	for (unsigned i = 0; i < 9; i++)
		to[i] = all[i / 3 * 6 + i % 3];
}

/* Adds gravity along z: the sender subtracts it there if the orientation is unknown. */
MAP_IN(geometry_msgs, AccelWithCovarianceStamped, Imu)
{
	double all[36] = { 0 };

	START(Imu);
	map_in_header(d, to);
	sim_dec_begin(d, "accel");
	m->linear_acceleration = map_in_twist(d, "accel").linear;
	map_in_f64s(d, "covariance", all, 36);
	sim_dec_end(d);
	m->linear_acceleration.z += 9.80665;
	linear_part(m->linear_acceleration_covariance, all);
	return map_in_finish(&builder, to);
}

/* ---- position ---- */

MAP_IN(sensor_msgs, NavSatFix, Gps)
{
	START(Gps);
	map_in_header(d, to);
	sim_dec_begin(d, "status");
	m->status = sim_dec_i8(d, "status");
	m->service = sim_dec_u16(d, "service");
	sim_dec_end(d);
	m->latitude = map_in_f64(d, "latitude");
	m->longitude = map_in_f64(d, "longitude");
	m->altitude = map_in_f64(d, "altitude");
	map_in_f64s(d, "position_covariance", m->position_covariance, 9);
	sim_dec_u8(d, "position_covariance_type");
	return map_in_finish(&builder, to);
}

/* Stores a pose in the fields of Gps or GpsOdometry; in the frame "utm" it is absolute. */
#define PLACE(m, p, to) \
	do { \
		const struct sim_Pose p_ = (p); \
\
		(m)->easting = p_.position.x; \
		(m)->northing = p_.position.y; \
		(m)->altitude = p_.position.z; \
		(m)->orientation = p_.orientation; \
		(m)->ignore_map_origin = strcmp((to)->frame, "utm") == 0; \
	} while (0)

MAP_IN(geometry_msgs, PoseStamped, Gps)
{
	START(Gps);
	map_in_header(d, to);
	PLACE(m, map_in_pose(d, "pose"), to);
	return map_in_finish(&builder, to);
}

MAP_IN(geometry_msgs, Pose, Gps)
{
	struct sim_Pose p;

	START(Gps);
	p.position = map_in_vector(d, "position");
	p.orientation = map_in_quaternion(d, "orientation");
	PLACE(m, p, to);
	return map_in_finish(&builder, to);
}

MAP_IN(geometry_msgs, PoseWithCovarianceStamped, Gps)
{
	double all[36] = { 0 };

	START(Gps);
	map_in_header(d, to);
	sim_dec_begin(d, "pose");
	PLACE(m, map_in_pose(d, "pose"), to);
	map_in_f64s(d, "covariance", all, 36);
	sim_dec_end(d);
	linear_part(m->position_covariance, all);
	return map_in_finish(&builder, to);
}

MAP_IN(geometry_msgs, PoseStamped, GpsOdometry)
{
	START(GpsOdometry);
	map_in_header(d, to);
	PLACE(m, map_in_pose(d, "pose"), to);
	return map_in_finish(&builder, to);
}

MAP_IN(geometry_msgs, PoseWithCovarianceStamped, GpsOdometry)
{
	START(GpsOdometry);
	map_in_header(d, to);
	sim_dec_begin(d, "pose");
	PLACE(m, map_in_pose(d, "pose"), to);
	map_in_f64s(d, "covariance", m->pose_covariance, 36);
	sim_dec_end(d);
	return map_in_finish(&builder, to);
}

MAP_IN(nav_msgs, Odometry, GpsOdometry)
{
	struct sim_Twist t;

	START(GpsOdometry);
	map_in_header(d, to);
	map_in_text(d, &builder, "child_frame_id", &m->child_frame, FRAME_MAX);
	sim_dec_begin(d, "pose");
	PLACE(m, map_in_pose(d, "pose"), to);
	map_in_f64s(d, "covariance", m->pose_covariance, 36);
	sim_dec_end(d);
	sim_dec_begin(d, "twist");
	t = map_in_twist(d, "twist");
	map_in_f64s(d, "covariance", m->twist_covariance, 36);
	sim_dec_end(d);
	m->velocity = map_in_from_body(&m->orientation, &t.linear);
	m->angular_velocity = t.angular;
	m->forward_speed = (float)t.linear.x;
	return map_in_finish(&builder, to);
}
