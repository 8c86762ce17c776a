/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about the ego. See messages.h; surroundings are in messages_scene.c. */
#include "messages.h"

#include <math.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/Gear.h>
#include <sim/msg/Gps.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Imu.h>
#include <sim/msg/Transforms.h>
#include <sim/msg/VehicleMode.h>
#include <sim/msg/VehicleOdometry.h>

#define VARIANCE 1e-4 /* the sensors are exact; filters still want a number above 0 */

static struct sim_Quaternion about_z(double yaw)
{
	return (struct sim_Quaternion){ .z = sin(yaw / 2), .w = cos(yaw / 2) };
}

static void diagonal(double *m, int n)
{
	for (int i = 0; i < n; i++)
		m[i * n + i] = VARIANCE;
}

static struct sim_Vector3 map_velocity(const struct ego *e)
{
	return (struct sim_Vector3){ .x = e->speed * cos(e->yaw), .y = e->speed * sin(e->yaw) };
}

size_t message_imu(const struct moment *m, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_Imu *imu = sim_Imu_init(body, cap, &b);
	double f[3];

	if (!imu)
		return 0;
	ego_specific_force(m->ego, f);
	imu->orientation = about_z(m->ego->yaw);
	imu->angular_velocity.z = m->gyro;
	imu->linear_acceleration = (struct sim_Vector3){ .x = f[0], .y = f[1], .z = f[2] };
	imu->position = (struct sim_Vector3){ .x = m->ego->pos[0], .y = m->ego->pos[1], .z = m->ego->pos[2] };
	imu->linear_velocity.x = m->ego->speed;
	diagonal(imu->orientation_covariance, 3);
	diagonal(imu->angular_velocity_covariance, 3);
	diagonal(imu->linear_acceleration_covariance, 3);
	imu->measurement_span = m->span_dur_ns;
	return sim_builder_size(&b);
}

size_t message_gps(const struct moment *m, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_Gps *g = sim_Gps_init(body, cap, &b);

	if (!g)
		return 0;
	g->latitude = m->lat_deg;
	g->longitude = m->lon_deg;
	g->altitude = m->altitude;
	g->easting = m->ego->pos[0];
	g->northing = m->ego->pos[1];
	g->orientation = about_z(m->ego->yaw);
	diagonal(g->position_covariance, 3);
	g->status = m->has_fix ? SIM_GPS_STATUS_FIX : SIM_GPS_STATUS_NO_FIX;
	g->service = 1;
	return sim_builder_size(&b);
}

size_t message_gps_odometry_max(void)
{
	return sim_GpsOdometry_size(sizeof(FRAME_BASE));
}

size_t message_gps_odometry(const struct moment *m, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_GpsOdometry *g = sim_GpsOdometry_init(body, cap, &b);

	if (!g || sim_GpsOdometry_child_frame_set(&b, FRAME_BASE) < 0)
		return 0;
	g->latitude = m->lat_deg;
	g->longitude = m->lon_deg;
	g->altitude = m->altitude;
	g->easting = m->ego->pos[0];
	g->northing = m->ego->pos[1];
	g->orientation = about_z(m->ego->yaw);
	g->velocity = map_velocity(m->ego);
	g->angular_velocity.z = m->ego->yaw_rate;
	diagonal(g->pose_covariance, 6);
	diagonal(g->twist_covariance, 6);
	g->forward_speed = (float)m->ego->speed;
	g->wheel_angle = (float)m->ego->wheel_angle;
	return sim_builder_size(&b);
}

static bool on(const struct moment *m, enum world_signal s)
{
	return (m->signals & (int32_t)s) != 0;
}

size_t message_can_bus(const struct moment *m, void *body, size_t cap)
{
	const struct ego *e = m->ego;
	struct sim_builder b;
	struct sim_CanBus *c = sim_CanBus_init(body, cap, &b);

	if (!c)
		return 0;
	c->latitude = m->lat_deg;
	c->longitude = m->lon_deg;
	c->altitude = m->altitude;
	c->orientation = about_z(e->yaw);
	c->velocity = map_velocity(e);
	c->speed = (float)e->speed;
	c->throttle = (float)e->throttle;
	c->braking = (float)e->brake;
	c->steering = (float)(e->wheel_angle / e->p.max_wheel_angle);
	c->steering_angle = (float)e->wheel_angle;
	c->yaw_rate = (float)e->yaw_rate;
	c->engine_rpm = (float)ego_motor_rpm(e);
	c->gear = (uint8_t)e->gear;
	c->mode = m->external ? SIM_VEHICLE_MODE_AUTO : SIM_VEHICLE_MODE_MANUAL;
	c->parking_brake = e->gear == EGO_PARKING;
	c->high_beam = on(m, WORLD_SIGNAL_HIGH);
	c->low_beam = on(m, WORLD_SIGNAL_FRONT);
	c->hazard_lights = on(m, WORLD_SIGNAL_EMERGENCY);
	c->fog_lights = on(m, WORLD_SIGNAL_FOG);
	c->left_turn_signal = on(m, WORLD_SIGNAL_LEFT);
	c->right_turn_signal = on(m, WORLD_SIGNAL_RIGHT);
	c->wipers = on(m, WORLD_SIGNAL_WIPER);
	c->in_reverse = e->gear == EGO_REVERSE;
	c->engine_on = 1;
	return sim_builder_size(&b);
}

size_t message_odometry(const struct moment *m, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_VehicleOdometry *o = sim_VehicleOdometry_init(body, cap, &b);

	if (!o)
		return 0;
	o->speed = (float)m->ego->speed;
	o->front_wheel_angle = (float)m->ego->wheel_angle;
	o->yaw_rate = (float)m->ego->yaw_rate;
	return sim_builder_size(&b);
}

/* A transforms message of one frame, in "map". */
static size_t transform(void *body, size_t cap, const char *child, bool is_static, struct sim_Vector3 translation,
			struct sim_Quaternion rotation)
{
	struct sim_builder b;
	struct sim_Transforms *all = sim_Transforms_init(body, cap, &b);
	struct sim_Transform *t = all ? sim_Transforms_transforms_alloc(&b, 1) : NULL;

	if (!t || sim_Transform_parent_frame_set_in(&b, t, FRAME_MAP) < 0 ||
	    sim_Transform_child_frame_set_in(&b, t, child) < 0)
		return 0;
	all->is_static = is_static;
	t->translation = translation;
	t->rotation = rotation;
	return sim_builder_size(&b);
}

/* The axes coincide if the map is a piece of the grid; else they are rotated. */
size_t message_tf_static(const struct moment *m, void *body, size_t cap)
{
	double east = m->origin_easting, north = m->origin_northing, c = cos(m->origin_turn), s = sin(m->origin_turn);

	return transform(body, cap, FRAME_UTM, true,
			 (struct sim_Vector3){ .x = -c * east - s * north, .y = s * east - c * north },
			 about_z(-m->origin_turn));
}

size_t message_tf_max(void)
{
	return odom_tf_max();
}

size_t message_tf(const struct moment *m, void *body, size_t cap)
{
	const struct sim_Quaternion attitude = about_z(m->ego->yaw);
	const double *at = m->ego->pos;

	if (m->odom)
		return odom_fill_tf(m->odom, &attitude, body, cap);
	return transform(body, cap, FRAME_BASE, false, (struct sim_Vector3){ .x = at[0], .y = at[1], .z = at[2] },
			 attitude);
}

size_t message_odom(const struct moment *m, void *body, size_t cap)
{
	const struct ego *e = m->ego;
	const struct odom_motion motion = { .attitude = about_z(e->yaw),
					    .velocity = map_velocity(e),
					    .yaw_rate = e->yaw_rate,
					    .speed = e->speed,
					    .wheel_angle = e->wheel_angle };

	return odom_fill(m->odom, &motion, body, cap);
}
