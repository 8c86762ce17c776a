/* SPDX-License-Identifier: Apache-2.0 */
/* Where Apollo thinks it is: axes, angles, zones and times, worked out by hand. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include "apollo_frames.h"
#include "apollo_in.h"
#include "apollo_peer.h"
#include "modules/common_msgs/localization_msgs/gps.pb-c.h"
#include "modules/common_msgs/localization_msgs/imu.pb-c.h"
#include "modules/common_msgs/localization_msgs/localization.pb-c.h"
#include "modules/common_msgs/sensor_msgs/gnss_best_pose.pb-c.h"
#include "modules/common_msgs/sensor_msgs/imu.pb-c.h"
#include "modules/common_msgs/sensor_msgs/ins.pb-c.h"
#include "modules/common_msgs/transform_msgs/transform.pb-c.h"
#include "sim/msg/CorrectedImu.h"
#include "sim/msg/Gps.h"
#include "sim/msg/GpsIns.h"
#include "sim/msg/GpsOdometry.h"
#include "sim/msg/Imu.h"
#include "sim/msg/Transforms.h"

const enum apollo_release apollo_family = APOLLO_10;

#define STAMP         INT64_C(1700000000250000000)
#define START(T)      sim_##T##_init(body.bytes, sizeof(body.bytes), &body.b)
#define READ(T, name) apollo_peer_read_body(&body, "sim/" #T, name, STAMP, NULL)

static struct apollo_body body;

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9 * (1 + fabs(b));
}

static void assert_point(const Apollo__Common__Point3D *p, double x, double y, double z)
{
	assert_non_null(p);
	if (!near(p->x, x) || !near(p->y, y) || !near(p->z, z))
		fail_msg("%g %g %g is not %g %g %g", p->x, p->y, p->z, x, y, z);
}

/* A vector of the vehicle in the map, as Apollo does it with its quaternion. */
static void assert_turns(const Apollo__Common__Quaternion *a, double rx, double ry, double rz, double x, double y,
			 double z)
{
	struct sim_Quaternion q = { .x = a->qx, .y = a->qy, .z = a->qz, .w = a->qw };
	struct sim_Vector3 v = { .x = rx, .y = ry, .z = rz }, m = apollo_to_map(&q, &v);

	if (!near(m.x, x) || !near(m.y, y) || !near(m.z, z))
		fail_msg("%g %g %g is not %g %g %g", m.x, m.y, m.z, x, y, z);
}

static struct sim_Quaternion yaw(double rad)
{
	return (struct sim_Quaternion){ .z = sin(rad / 2), .w = cos(rad / 2) };
}

TEST(leap_seconds_depend_on_the_date)
{
	static const struct {
		int64_t unix_s, gps_s;
	} rows[] = {
		{ 315964800, 0 },  /* 1980-01-06 */
		{ 315964799, 16 }, /* before it: what Apollo takes for that stamp */
		{ 0, -315964783 },          { 100, -315964683 }, { 362793599, 46828799 }, /* 1981-06-30T23:59:59 */
		{ 362793600, 46828801 },                                                  /* and the first one */
		{ 1483228799, 1167264016 },                                               /* 2016-12-31T23:59:59: 17 */
		{ 1483228800, 1167264018 },                                               /* 18 */
		{ 1640995200, 1325030418 },                                               /* 2022-01-01 */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(apollo_gps_ns(rows[i].unix_s * 1000000000 + 5), rows[i].gps_s * 1000000000 + 5);
}

/* The vehicle looks north, and turns to the left, speeding up. */
TEST(an_odometry_has_map_position_and_right_forward_up_axes)
{
	struct sim_GpsOdometry *m = START(GpsOdometry);
	Apollo__Localization__Pose *p;

	m->easting = 500100;
	m->northing = 4000200;
	m->altitude = 12;
	m->ignore_map_origin = true;
	m->orientation = yaw(M_PI / 2);
	m->velocity.y = 10;
	m->angular_velocity.z = 0.5;
	m->angular_velocity.x = 0.25; /* rolls about forward: about north */
	p = ((Apollo__Localization__Gps *)READ(GpsOdometry, "apollo.localization.Gps"))->localization;
	assert_true(near(p->position->x, 500100) && near(p->position->y, 4000200) && near(p->position->z, 12));
	assert_turns(p->orientation, 0, 1, 0, 0, 1, 0); /* forward is north */
	assert_turns(p->orientation, 1, 0, 0, 1, 0, 0); /* right is east */
	assert_point(p->linear_velocity, 0, 10, 0);
	assert_point(p->angular_velocity, 0, 0.25, 0.5);
	assert_point(p->angular_velocity_vrf, 0, 0.25, 0.5);
	assert_true(near(p->heading, M_PI / 2));
	assert_point(p->euler_angles, 0, 0, 0); /* yaw 0 is north */
	assert_null(p->linear_acceleration);
}

/* Nose up by 0.1 while it looks east: pitch about the right, yaw of a quarter to the right. */
TEST(euler_angles_are_roll_pitch_yaw_from_north)
{
	struct sim_Quaternion up = { .y = sin(-0.05), .w = cos(0.05) }; /* FLU: about left, nose down is positive */
	struct sim_Quaternion left_up = { .x = sin(0.1), .w = cos(0.1) };
	struct sim_Vector3 e = apollo_euler(&up);

	assert_true(near(e.x, 0) && near(e.y, 0.1) && near(e.z, -M_PI / 2));
	e = apollo_euler(&left_up); /* rolled about forward, the left side up */
	assert_true(near(e.x, 0.2) && near(e.y, 0) && near(e.z, -M_PI / 2));
	assert_true(near(apollo_compass(&up), 90));
}

TEST(positions_stay_in_the_utm_zone_of_the_rig)
{
	static const double origin[3] = { 1000, 2000, 3 };
	struct apollo_options o = { .utm_zone = 10 };
	struct sim_GpsOdometry *m = START(GpsOdometry);
	Apollo__Localization__Gps *g;

	m->longitude = -119.98; /* behind the border to zone 11 */
	m->latitude = 37.4148;
	m->easting = m->northing = 7;
	m->orientation.w = 1;
	g = apollo_peer_read_body(&body, "sim/GpsOdometry", "apollo.localization.Gps", STAMP, &o);
	assert_true(fabs(g->localization->position->x - 767273.7033) < 1e-3);
	assert_true(fabs(g->localization->position->y - 4145171.0719) < 1e-3);
	o.utm_zone = 0; /* its own */
	g = apollo_peer_read_body(&body, "sim/GpsOdometry", "apollo.localization.Gps", STAMP, &o);
	assert_true(fabs(g->localization->position->x - 236267.1934) < 1e-3);
	o.origin = origin;
	g = apollo_peer_read_body(&body, "sim/GpsOdometry", "apollo.localization.Gps", STAMP, &o);
	assert_true(near(g->localization->position->x, 1007) && near(g->localization->position->y, 2007));
	m->latitude = -33.8688; /* in the south */
	m->longitude = 150.001;
	o.utm_zone = -55;
	g = apollo_peer_read_body(&body, "sim/GpsOdometry", "apollo.localization.Gps", STAMP, &o);
	assert_true(fabs(g->localization->position->y - 6248337.1907) < 1e-3);
}

TEST(a_position_that_is_not_finite_is_refused)
{
	struct apollo_message in = { .body = body.bytes, .size = sizeof(struct sim_GpsOdometry), .frame_id = "" };
	struct sim_GpsOdometry *m = START(GpsOdometry);
	struct iov_buf o;
	char why[200];

	m->latitude = NAN;
	in.size = body.b.used;
	iov_buf_init(&o);
	assert_int_equal(apollo_encode(apollo_type_for(APOLLO_10, "sim/GpsOdometry", NULL), &in, &o, why, sizeof(why)),
			 -EBADMSG);
	assert_non_null(strstr(why, "nan, 0 degrees"));
	iov_buf_finish(&o);
}

TEST(an_estimate_has_all_fields_that_apollos_control_needs)
{
	struct sim_GpsOdometry *m = START(GpsOdometry);
	Apollo__Localization__LocalizationEstimate *l;

	m->ignore_map_origin = true;
	m->orientation.w = 1;
	m->pose_covariance[0] = 4;
	m->pose_covariance[35] = 0.25;
	m->twist_covariance[7] = 9;
	l = READ(GpsOdometry, "apollo.localization.LocalizationEstimate");
	assert_point(l->pose->linear_acceleration_vrf, 0, 0, 0);
	assert_point(l->pose->angular_velocity_vrf, 0, 0, 0);
	assert_point(l->uncertainty->position_std_dev, 2, 0, 0);
	assert_point(l->uncertainty->orientation_std_dev, 0, 0, 0.5);
	assert_point(l->uncertainty->linear_velocity_std_dev, 0, 3, 0);
	assert_true(near(l->measurement_time, 1700000000.25) && near(l->header->timestamp_sec, 1700000000.25));
}

TEST(an_imu_has_right_forward_up_axes_and_gps_time)
{
	struct sim_Imu *m = START(Imu);
	Apollo__Drivers__Gnss__Imu *i;

	m->linear_acceleration = (struct sim_Vector3){ .x = 1, .y = 2, .z = 9.81 };
	m->angular_velocity = (struct sim_Vector3){ .x = 0.1, .y = 0.2, .z = 0.3 };
	m->measurement_span = 10000000;
	i = READ(Imu, "apollo.drivers.gnss.Imu");
	assert_point(i->linear_acceleration, -2, 1, 9.81);
	assert_point(i->angular_velocity, -0.2, 0.1, 0.3);
	assert_true(near(i->header->timestamp_sec, 1700000000.25));
	assert_true(near(i->measurement_time, 1700000000.25 - 315964800 + 18));
	assert_true(fabs((double)i->measurement_span - 0.01) < 1e-8);
}

/* The vehicle looks west. */
TEST(a_corrected_imu_has_map_and_vehicle_axes)
{
	static const double origin[3] = { 1000, 2000, 3 };
	struct apollo_options o = { .origin = origin };
	struct sim_CorrectedImu *m = START(CorrectedImu);
	Apollo__Localization__Pose *p;

	m->imu.orientation = yaw(M_PI);
	m->imu.position = (struct sim_Vector3){ .x = 1, .y = 2, .z = 3 };
	m->imu.linear_velocity.x = 8;
	m->imu.linear_acceleration = (struct sim_Vector3){ .x = 0.5, .z = 9.81 };
	m->global_acceleration.x = -0.5;
	m->global_angular_velocity.z = 0.125;
	p = ((Apollo__Localization__CorrectedImu *)apollo_peer_read_body(&body, "sim/CorrectedImu",
									 "apollo.localization.CorrectedImu", STAMP, &o))
		    ->imu;
	assert_true(near(p->position->x, 1001) && near(p->position->y, 2002) && near(p->position->z, 6));
	assert_point(p->linear_velocity, -8, 0, 0);
	assert_point(p->linear_acceleration, -0.5, 0, 0);
	assert_point(p->linear_acceleration_vrf, 0, 0.5, 9.81);
	assert_point(p->angular_velocity, 0, 0, 0.125);
	assert_turns(p->orientation, 0, 1, 0, -1, 0, 0);
	assert_true(near(fabs(p->heading), M_PI));
	assert_true(
		near(((Apollo__Localization__LocalizationEstimate *)READ(CorrectedImu,
									 "apollo.localization.LocalizationEstimate"))
			     ->pose->linear_acceleration_vrf->y,
		     0.5));
}

TEST(a_best_pose_has_its_height_above_sea_level)
{
	struct apollo_options o = { .undulation = -32 };
	struct sim_Gps *m = START(Gps);
	Apollo__Drivers__Gnss__GnssBestPose *g;

	m->latitude = 37.5;
	m->longitude = -122;
	m->altitude = 10;
	m->position_covariance[0] = 4; /* east */
	m->position_covariance[4] = 9; /* north */
	g = apollo_peer_read_body(&body, "sim/Gps", "apollo.drivers.gnss.GnssBestPose", STAMP, &o);
	assert_true(near(g->latitude, 37.5) && near(g->longitude, -122) && near(g->height_msl, 42));
	assert_true(near((double)g->undulation, -32) && near((double)g->latitude_std_dev, 3) &&
		    near((double)g->longitude_std_dev, 2));
	assert_true(near(g->measurement_time, 1700000000.25 - 315964782));
	assert_true(near(g->header->timestamp_sec, 1700000000.25));
	assert_int_equal(g->sol_type, APOLLO__DRIVERS__GNSS__SOLUTION_TYPE__NARROW_INT);
	m->status = SIM_GPS_STATUS_NO_FIX;
	g = apollo_peer_read_body(&body, "sim/Gps", "apollo.drivers.gnss.GnssBestPose", STAMP, &o);
	assert_int_equal(g->sol_status, APOLLO__DRIVERS__GNSS__SOLUTION_STATUS__INSUFFICIENT_OBS);
	assert_int_equal(g->sol_type, APOLLO__DRIVERS__GNSS__SOLUTION_TYPE__NONE);
	assert_int_equal(g->num_sats_in_solution, 0);
}

TEST(an_ins_status_is_passed_on_unchanged)
{
	struct sim_GpsIns *m = START(GpsIns);
	Apollo__Drivers__Gnss__InsStat *s;

	m->status = 3;
	m->position_type = 56;
	s = READ(GpsIns, "apollo.drivers.gnss.InsStat");
	assert_int_equal(s->ins_status, 3);
	assert_int_equal(s->pos_type, 56);
}

static Apollo__Transform__TransformStamped *transform(const char *parent, const char *child,
						      const struct apollo_options *o)
{
	struct sim_Transform *t;

	START(Transforms);
	t = sim_Transforms_transforms_alloc(&body.b, 1);
	memset(t, 0, sizeof(*t));
	t->translation = (struct sim_Vector3){ .x = 2, .y = 1, .z = 3 };
	t->rotation = yaw(M_PI / 2);
	sim_Transform_parent_frame_set_in(&body.b, t, parent);
	sim_Transform_child_frame_set_in(&body.b, t, child);
	return ((Apollo__Transform__TransformStampeds *)apollo_peer_read_body(&body, "sim/Transforms",
									      "apollo.transform.TransformStampeds",
									      STAMP, o))
		->transforms[0];
}

/* The child looks to the left of its parent. */
TEST(apollo_frames_have_apollos_axes)
{
	static const char *const rfu[] = { "localization", NULL };
	struct apollo_options o = { .rfu_frames = rfu };
	Apollo__Transform__TransformStamped *t = transform("base", "lidar", &o);

	assert_string_equal(t->header->frame_id, "base");
	assert_string_equal(t->child_frame_id, "lidar");
	assert_point(t->transform->translation, 2, 1, 3);
	assert_turns(t->transform->rotation, 1, 0, 0, 0, 1, 0);
	t = transform("localization", "lidar", &o);
	assert_point(t->transform->translation, -1, 2, 3);
	assert_turns(t->transform->rotation, 1, 0, 0, -1, 0, 0); /* forward is the parent's left: minus its x */
	t = transform("world", "localization", &o);
	assert_point(t->transform->translation, 2, 1, 3);
	assert_turns(t->transform->rotation, 0, 1, 0, 0, 1, 0); /* the child's y is forward */
}

/* ---- the way back ---- */

TEST(euler_angles_convert_back_to_the_same_orientation)
{
	const struct sim_Quaternion turns[] = { { .w = 1 },
						{ .x = 0.1, .y = -0.2, .z = 0.3, .w = 0.927361849549570 },
						{ .z = 0.8, .w = -0.6 } };

	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		struct sim_Vector3 e = apollo_euler(&turns[i]);
		struct sim_Quaternion q = apollo_of_euler(&e);
		double s = q.w * turns[i].w < 0 ? -1 : 1; /* both are the same turn */

		assert_true(near(s * q.x, turns[i].x) && near(s * q.y, turns[i].y));
		assert_true(near(s * q.z, turns[i].z) && near(s * q.w, turns[i].w));
	}
}

static Apollo__Common__Header header = APOLLO__COMMON__HEADER__INIT;
static Apollo__Common__Point3D ahead = APOLLO__COMMON__POINT3_D__INIT, turning = APOLLO__COMMON__POINT3_D__INIT,
			       angles = APOLLO__COMMON__POINT3_D__INIT;
static Apollo__Localization__Pose pose = APOLLO__LOCALIZATION__POSE__INIT;
static Apollo__Localization__CorrectedImu imu = APOLLO__LOCALIZATION__CORRECTED_IMU__INIT;

static void set_point(Apollo__Common__Point3D *p, double x, double y, double z)
{
	p->has_x = p->has_y = p->has_z = true;
	p->x = x;
	p->y = y;
	p->z = z;
}

/* A value that a sensor could not measure is passed on as it is; the reader sees that. */
TEST(an_inbound_imu_may_lack_an_axis)
{
	Apollo__Drivers__Gnss__Imu raw = APOLLO__DRIVERS__GNSS__IMU__INIT;
	const struct sim_Imu *m;

	set_point(&ahead, 1, (double)NAN, 9.81);
	set_point(&turning, 0, 0, 0.5);
	header.has_timestamp_sec = true;
	header.timestamp_sec = 1700000000.25;
	raw.header = &header;
	raw.linear_acceleration = &ahead;
	raw.angular_velocity = &turning;
	assert_int_equal(apollo_peer_decode(&raw.base, "apollo.drivers.gnss.Imu", NULL, NULL, &body), 0);
	m = sim_Imu_from(body.bytes, body.b.used);
	assert_true(isnan(m->linear_acceleration.x) && near(m->linear_acceleration.y, -1));
	assert_true(near(m->linear_acceleration.z, 9.81) && near(m->angular_velocity.z, 0.5));
}

static int status_of(Apollo__Drivers__Gnss__GnssBestPose *p)
{
	p->header = &header;
	p->has_latitude = p->has_longitude = p->has_height_msl = true;
	p->latitude = 37.5;
	p->longitude = -122;
	assert_int_equal(apollo_peer_decode(&p->base, "apollo.drivers.gnss.GnssBestPose", NULL, NULL, &body), 0);
	assert_true(sim_Gps_from(body.bytes, body.b.used)->orientation.w == 0); /* not known */
	return sim_Gps_from(body.bytes, body.b.used)->status;
}

TEST(an_inbound_fix_needs_a_solution)
{
	Apollo__Drivers__Gnss__GnssBestPose p = APOLLO__DRIVERS__GNSS__GNSS_BEST_POSE__INIT;

	assert_int_equal(status_of(&p), SIM_GPS_STATUS_FIX); /* it says nothing */
	p.has_sol_status = p.has_sol_type = true;
	p.sol_status = APOLLO__DRIVERS__GNSS__SOLUTION_STATUS__SOL_COMPUTED;
	p.sol_type = APOLLO__DRIVERS__GNSS__SOLUTION_TYPE__SINGLE;
	assert_int_equal(status_of(&p), SIM_GPS_STATUS_FIX);
	p.sol_type = APOLLO__DRIVERS__GNSS__SOLUTION_TYPE__NONE;
	assert_int_equal(status_of(&p), SIM_GPS_STATUS_NO_FIX);
	p.sol_type = APOLLO__DRIVERS__GNSS__SOLUTION_TYPE__SINGLE;
	p.sol_status = APOLLO__DRIVERS__GNSS__SOLUTION_STATUS__COLD_START;
	assert_int_equal(status_of(&p), SIM_GPS_STATUS_NO_FIX);
}

/* Apollo's driver of a receiver gives no quaternion, and its measurements in the vehicle's axes. */
TEST(a_receiver_pose_without_a_quaternion_has_vehicle_axes)
{
	const struct sim_CorrectedImu *m;

	set_point(&ahead, 0, 2, 9.81);
	set_point(&turning, 0, 0, 0.5);
	set_point(&angles, 0, 0, 0); /* north */
	pose.linear_acceleration = &ahead;
	pose.angular_velocity = &turning;
	pose.euler_angles = &angles;
	header.has_timestamp_sec = true;
	header.timestamp_sec = 1700000000.25;
	header.frame_id = (char *)(uintptr_t) "imu";
	imu.header = &header;
	imu.imu = &pose;
	assert_int_equal(apollo_peer_decode(&imu.base, "apollo.localization.CorrectedImu", NULL, NULL, &body), 0);
	m = sim_CorrectedImu_from(body.bytes, body.b.used);
	assert_true(near(m->imu.linear_acceleration.x, 2) && near(m->imu.linear_acceleration.z, 9.81));
	assert_true(near(m->imu.angular_velocity.z, 0.5));
	assert_true(near(m->imu.orientation.z, sqrt(0.5)) && near(m->imu.orientation.w, sqrt(0.5)));
	assert_true(m->global_acceleration.x == 0 && m->global_acceleration.y == 0);

	pose.linear_acceleration_vrf = &ahead; /* a simulator's: the former is the map's */
	assert_int_equal(apollo_peer_decode(&imu.base, "apollo.localization.CorrectedImu", NULL, NULL, &body), 0);
	m = sim_CorrectedImu_from(body.bytes, body.b.used);
	assert_true(near(m->global_acceleration.y, 2) && near(m->imu.linear_acceleration.x, 2));
}

TEST(a_pose_without_a_position_is_refused)
{
	Apollo__Localization__LocalizationEstimate e = APOLLO__LOCALIZATION__LOCALIZATION_ESTIMATE__INIT;

	e.header = &header;
	e.pose = &pose;
	assert_int_equal(apollo_peer_decode(&e.base, "apollo.localization.LocalizationEstimate", NULL, NULL, &body),
			 -ERANGE);
	assert_string_equal(apollo_peer_why, "the position is not finite");
	assert_int_equal(apollo_peer_decode(&e.base, "apollo.localization.LocalizationEstimate", "sim/CorrectedImu",
					    NULL, &body),
			 0);
}

TEST(a_pose_without_an_orientation_has_an_unknown_one)
{
	Apollo__Localization__Gps g = APOLLO__LOCALIZATION__GPS__INIT;
	Apollo__Localization__Pose p = APOLLO__LOCALIZATION__POSE__INIT;
	Apollo__Common__PointENU at = APOLLO__COMMON__POINT_ENU__INIT;

	at.has_x = at.has_y = true;
	at.x = 500000;
	at.y = 4000000;
	p.position = &at;
	g.header = &header;
	g.localization = &p;
	assert_int_equal(apollo_peer_decode(&g.base, "apollo.localization.Gps", NULL, NULL, &body), 0);
	assert_true(sim_GpsOdometry_from(body.bytes, body.b.used)->orientation.w == 0);
}

TEST(a_frame_name_that_is_too_long_is_refused)
{
	Apollo__Transform__TransformStampeds all = APOLLO__TRANSFORM__TRANSFORM_STAMPEDS__INIT;
	Apollo__Transform__TransformStamped one = APOLLO__TRANSFORM__TRANSFORM_STAMPED__INIT, *list = &one;

	all.n_transforms = 1;
	all.transforms = &list;
	one.child_frame_id = (char *)(uintptr_t) "0123456789012345678901234567890123456789";
	assert_int_equal(apollo_peer_decode(&all.base, "apollo.transform.TransformStampeds", NULL, NULL, &body),
			 -EMSGSIZE);
	one.child_frame_id++;
	assert_int_equal(apollo_peer_decode(&all.base, "apollo.transform.TransformStampeds", NULL, NULL, &body), 0);
}

/* Cut, it would be another's. */
TEST(a_frame_name_in_a_header_that_is_too_long_is_refused)
{
	Apollo__Drivers__Gnss__Imu sent = APOLLO__DRIVERS__GNSS__IMU__INIT;
	Apollo__Common__Header h = APOLLO__COMMON__HEADER__INIT;

	sent.header = &h;
	h.frame_id = (char *)(uintptr_t) "0123456789012345678901234567890123456789";
	assert_int_equal(apollo_peer_decode(&sent.base, "apollo.drivers.gnss.Imu", NULL, NULL, &body), -EMSGSIZE);
	assert_string_equal(apollo_peer_why, "its frame has more than 39 bytes");
	h.frame_id++;
	assert_int_equal(apollo_peer_decode(&sent.base, "apollo.drivers.gnss.Imu", NULL, NULL, &body), 0);
}

/* As in Apollo's own code, which checks has_timestamp_sec(); over ROS 0 cannot be told from unset. */
TEST(a_stamp_that_is_set_to_0_is_time_0)
{
	const struct apollo_type *t = apollo_in_find(APOLLO_10, "apollo.drivers.gnss.Imu");
	struct message_in ret = { .buf = body.bytes, .room = sizeof(body.bytes) };
	/* header.timestamp_sec = 0; a header without it */
	static const uint8_t there[11] = { 0x0a, 9, 0x09 }, not_there[2] = { 0x0a, 0 };
	char why[200];

	assert_int_equal(apollo_in_read(t, NULL, there, sizeof(there), &ret, why, sizeof(why)), 0);
	assert_int_equal(ret.stamp_sim_ns, 0);
	assert_int_equal(apollo_in_read(t, NULL, not_there, sizeof(not_there), &ret, why, sizeof(why)), 0);
	assert_true(ret.stamp_sim_ns == MESSAGE_IN_NO_STAMP);
}

TEST(transforms_on_a_static_channel_are_marked_static)
{
	const struct apollo_type *t = apollo_in_find(APOLLO_10, "apollo.transform.TransformStampeds");
	struct apollo_options o = { .is_static = true };
	struct message_in ret = { .buf = body.bytes, .room = sizeof(body.bytes) };
	char why[200];

	assert_int_equal(apollo_in_read(t, &o, "", 0, &ret, why, sizeof(why)), 0);
	assert_true(sim_Transforms_from(body.bytes, ret.size)->is_static);
	assert_true(ret.stamp_sim_ns == MESSAGE_IN_NO_STAMP && !*ret.frame);
	assert_int_equal(apollo_in_read(t, NULL, "", 0, &ret, why, sizeof(why)), 0);
	assert_false(sim_Transforms_from(body.bytes, ret.size)->is_static);
}

TEST(the_release_is_recognised_by_the_definition)
{
	static const char old[] = "\x0a\x22modules/common/proto/header.proto",
			  new[] = "modules/common_msgs/basic_msgs/x.proto";

	assert_int_equal(apollo_release_of(old, sizeof(old)), APOLLO_5);
	assert_int_equal(apollo_release_of(new, sizeof(new)), APOLLO_10);
	assert_int_equal(apollo_release_of("", 0), APOLLO_10);
}
