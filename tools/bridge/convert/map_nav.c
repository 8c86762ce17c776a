/* SPDX-License-Identifier: Apache-2.0 */
/* Clock, frames, inertial and satellite navigation. See map.h. */
#include <math.h>
#include <string.h>

#include "geo.h"
#include "map_private.h"
#include "sim/msg/Clock.h"
#include "sim/msg/CorrectedImu.h"
#include "sim/msg/Gps.h"
#include "sim/msg/GpsOdometry.h"
#include "sim/msg/Imu.h"
#include "sim/msg/Transforms.h"

MAP(Clock, rosgraph_msgs, Clock)
{
	sim_enc_time(e, "clock", m->clock);
	return 0;
}

MAP(Transforms, tf2_msgs, TFMessage)
{
	uint32_t n;
	const struct sim_Transform *t = sim_Transforms_transforms(m, in->size, &n);

	sim_enc_list(e, "transforms", n);
	for (uint32_t i = 0; i < n; i++) {
		struct sim_enc_header h = in->header; /* parents differ, so the rig's frame is not used */

		h.frame = sim_Transform_parent_frame_in(in->body, in->size, &t[i]);
		sim_enc_begin(e, NULL);
		sim_enc_header(e, "header", &h);
		map_text(e, "child_frame_id", in, sim_Transform_child_frame_in(in->body, in->size, &t[i]));
		sim_enc_begin(e, "transform");
		map_vector(e, "translation", &t[i].translation);
		map_quaternion(e, "rotation", &t[i].rotation);
		sim_enc_end(e);
		sim_enc_end(e);
	}
	sim_enc_list_end(e);
	return 0;
}

/* rows: 3 or 6. All zero means unknown: then the rig's variance, if given, is the diagonal. */
static const double *covariance_of(const struct map_message *in, const double *c, unsigned rows, double buf[36])
{
	for (unsigned i = 0; i < rows * rows; i++)
		if (c[i] != 0)
			return c;
	for (unsigned i = 0; i < rows * rows; i++)
		buf[i] = i % (rows + 1) ? 0 : in->options->covariance;
	return buf;
}

static void covariance(struct sim_enc *e, const char *name, const struct map_message *in, const double *c,
		       unsigned rows)
{
	double buf[36];

	sim_enc_f64s(e, name, covariance_of(in, c, rows, buf), rows * rows);
}

static void imu(const struct map_message *in, struct sim_enc *e, const struct sim_Imu *m)
{
	static const double no_orientation[9] = { -1 }; /* ROS's mark for unknown */
	bool known = m->orientation.x != 0 || m->orientation.y != 0 || m->orientation.z != 0 || m->orientation.w != 0;

	map_header(e, in);
	map_quaternion(e, "orientation", &m->orientation);
	if (known)
		covariance(e, "orientation_covariance", in, m->orientation_covariance, 3);
	else
		sim_enc_f64s(e, "orientation_covariance", no_orientation, 9);
	map_vector(e, "angular_velocity", &m->angular_velocity);
	covariance(e, "angular_velocity_covariance", in, m->angular_velocity_covariance, 3);
	map_vector(e, "linear_acceleration", &m->linear_acceleration);
	covariance(e, "linear_acceleration_covariance", in, m->linear_acceleration_covariance, 3);
}

MAP(Imu, sensor_msgs, Imu)
{
	imu(in, e, m);
	return 0;
}

/* Subtracts gravity: what remains is the change of speed. Without an orientation gravity is assumed along z. */
MAP(Imu, geometry_msgs, AccelWithCovarianceStamped)
{
	static const struct sim_Vector3 gravity = { .z = 9.80665 };
	struct sim_Vector3 g = map_to_body(&m->orientation, &gravity), zero = { 0 };
	struct sim_Vector3 a = { .x = m->linear_acceleration.x - g.x,
				 .y = m->linear_acceleration.y - g.y,
				 .z = m->linear_acceleration.z - g.z };
	double all[36] = { 0 };

	for (unsigned i = 0; i < 9; i++)
		all[i / 3 * 6 + i % 3] = m->linear_acceleration_covariance[i];
	map_header(e, in);
	sim_enc_begin(e, "accel");
	map_twist(e, "accel", &a, &zero);
	covariance(e, "covariance", in, all, 6);
	sim_enc_end(e);
	return 0;
}

/* The measured values; this ROS type has no fields for those in the map. */
MAP(CorrectedImu, sensor_msgs, Imu)
{
	imu(in, e, &m->imu);
	return 0;
}

/* 0 unknown, 2 only the diagonal, 3 complete */
static uint8_t covariance_type(const double c[9])
{
	bool diagonal = c[0] != 0 || c[4] != 0 || c[8] != 0;

	for (unsigned i = 0; i < 9; i++)
		if (i % 4 && c[i] != 0)
			return 3;
	return diagonal ? 2 : 0;
}

MAP(Gps, sensor_msgs, NavSatFix)
{
	double buf[36];
	const double *c = covariance_of(in, m->position_covariance, 3, buf);

	map_header(e, in);
	sim_enc_begin(e, "status");
	sim_enc_i8(e, "status", m->status);
	sim_enc_u16(e, "service", m->service);
	sim_enc_end(e);
	sim_enc_f64(e, "latitude", m->latitude);
	sim_enc_f64(e, "longitude", m->longitude);
	sim_enc_f64(e, "altitude", m->altitude);
	sim_enc_f64s(e, "position_covariance", c, 9);
	sim_enc_u8(e, "position_covariance_type", covariance_type(c));
	return 0;
}

/* ---- position ---- */

#define SQUARE_M 100000.0

static int to_utm(struct map_fix *f)
{
	struct geo_utm utm;

	if (f->absolute)
		return 0;
	if (geo_utm(f->longitude, f->latitude, &utm) < 0)
		return -EBADMSG;
	f->easting = utm.easting;
	f->northing = utm.northing;
	f->absolute = true;
	return 0;
}

/* Converts the position as the options say; returns 0 or an error. */
static int move(struct map_fix *f, const struct map_options *o)
{
	int r = 0;

	if (o->position == MAP_POSITION_UTM || o->position == MAP_POSITION_MGRS || o->origin)
		r = to_utm(f);
	if (r == 0 && o->position == MAP_POSITION_MGRS) {
		f->easting -= floor(f->easting / SQUARE_M) * SQUARE_M;
		f->northing -= floor(f->northing / SQUARE_M) * SQUARE_M;
		f->absolute = false;
	} else if (r == 0 && o->origin) {
		f->easting -= o->origin[0];
		f->northing -= o->origin[1];
		f->altitude -= o->origin[2];
		f->absolute = false;
	} else if (r == 0 && o->position == MAP_POSITION_MAP && f->absolute) {
		r = -ENOTSUP;
	}
	return r;
}

int map_place_of(const struct map_message *in, struct map_fix f, struct map_place *ret)
{
	int r = move(&f, in->options);

	*ret = (struct map_place){ .at = { .x = f.easting, .y = f.northing, .z = f.altitude }, .in = *in };
	ret->options = *in->options;
	ret->in.options = &ret->options;
	if (in->options->frame || r < 0)
		return r;
	if (f.absolute && (in->options->position || strcmp(in->header.frame, "map") == 0))
		ret->options.frame = "utm";
	else if (in->options->position || in->options->origin)
		ret->options.frame = "map";
	return 0;
}

static int pose_stamped(const struct map_message *in, struct sim_enc *e, struct map_fix f,
			const struct sim_Quaternion *q)
{
	struct map_place p;
	int r = map_place_of(in, f, &p);

	if (r < 0)
		return r;
	map_header(e, &p.in);
	map_pose(e, "pose", &p.at, q);
	return 0;
}

MAP(Gps, geometry_msgs, PoseStamped)
{
	return pose_stamped(in, e, MAP_FIX_OF(m), &m->orientation);
}

/* According to AWSIM's documentation; its code uses PoseStamped. */
MAP(Gps, geometry_msgs, Pose)
{
	struct map_place p;
	int r = map_place_of(in, MAP_FIX_OF(m), &p);

	if (r < 0)
		return r;
	map_vector(e, "position", &p.at);
	map_quaternion(e, "orientation", &m->orientation);
	return 0;
}

MAP(Gps, geometry_msgs, PoseWithCovarianceStamped)
{
	double pose[36] = { 0 }, buf[36];
	struct map_place p;
	const double *c;
	int r = map_place_of(in, MAP_FIX_OF(m), &p);

	if (r < 0)
		return r;
	c = covariance_of(in, m->position_covariance, 3, buf);
	for (unsigned i = 0; i < 9; i++) /* rotations stay 0: unknown to a GNSS receiver */
		pose[i / 3 * 6 + i % 3] = c[i];
	map_header(e, &p.in);
	sim_enc_begin(e, "pose");
	map_pose(e, "pose", &p.at, &m->orientation);
	sim_enc_f64s(e, "covariance", pose, 36);
	sim_enc_end(e);
	return 0;
}

/* SVL sends only the speed, and as yaw rate that of the wrong axis. */
static struct sim_Twist motion(const struct map_message *in, const struct sim_GpsOdometry *m)
{
	struct sim_Twist t = { .angular = m->angular_velocity };

	if (map_is_svl(in))
		t.angular = (struct sim_Vector3){ .z = -m->angular_velocity.y };
	else
		t.linear = map_to_body(&m->orientation, &m->velocity);
	t.linear.x = m->forward_speed;
	return t;
}

MAP(GpsOdometry, nav_msgs, Odometry)
{
	struct sim_Twist t = motion(in, m);
	struct map_place p;
	int r = map_place_of(in, MAP_FIX_OF(m), &p);

	if (r < 0)
		return r;
	map_header(e, &p.in);
	if (in->options->child_frame)
		sim_enc_text(e, "child_frame_id", in->options->child_frame);
	else
		map_text(e, "child_frame_id", in, sim_GpsOdometry_child_frame(m, in->size));
	sim_enc_begin(e, "pose");
	map_pose(e, "pose", &p.at, &m->orientation);
	covariance(e, "covariance", in, m->pose_covariance, 6);
	sim_enc_end(e);
	sim_enc_begin(e, "twist");
	map_twist(e, "twist", &t.linear, &t.angular);
	covariance(e, "covariance", in, m->twist_covariance, 6);
	sim_enc_end(e);
	return 0;
}

MAP(GpsOdometry, geometry_msgs, PoseStamped)
{
	return pose_stamped(in, e, MAP_FIX_OF(m), &m->orientation);
}

MAP(GpsOdometry, geometry_msgs, PoseWithCovarianceStamped)
{
	struct map_place p;
	int r = map_place_of(in, MAP_FIX_OF(m), &p);

	if (r < 0)
		return r;
	map_header(e, &p.in);
	sim_enc_begin(e, "pose");
	map_pose(e, "pose", &p.at, &m->orientation);
	covariance(e, "covariance", in, m->pose_covariance, 6);
	sim_enc_end(e);
	return 0;
}
