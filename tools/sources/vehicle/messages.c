/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the vehicle. See messages.h. */
#include "messages.h"

#include <math.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/Gps.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Imu.h>
#include <sim/msg/Transforms.h>
#include <sim/msg/Turn.h>
#include <sim/msg/VehicleMode.h>
#include <sim/msg/VehicleOdometry.h>

#define VARIANCE 1e-4 /* the sensors are exact; filters still want a number above 0 */

static struct sim_Quaternion attitude(const struct moment *m)
{
	const struct model_axes a = model_axes(&m->model->s);
	double cy = cos(m->model->s.yaw / 2), sy = sin(m->model->s.yaw / 2);
	double cp = cos(a.pitch / 2), sp = sin(a.pitch / 2), cr = cos(a.roll / 2), sr = sin(a.roll / 2);

	return (struct sim_Quaternion){ .x = sr * cp * cy - cr * sp * sy,
					.y = cr * sp * cy + sr * cp * sy,
					.z = cr * cp * sy - sr * sp * cy,
					.w = cr * cp * cy + sr * sp * sy };
}

static struct sim_Vector3 place(const struct moment *m)
{
	return (struct sim_Vector3){ .x = m->model->s.x, .y = m->model->s.y, .z = m->model->s.z };
}

static struct sim_Vector3 map_velocity(const struct moment *m)
{
	const struct model_state *s = &m->model->s;
	const struct model_axes a = model_axes(s);

	return (struct sim_Vector3){ .x = s->speed * a.forward[0] + s->side_speed * a.left[0],
				     .y = s->speed * a.forward[1] + s->side_speed * a.left[1],
				     .z = s->speed * a.forward[2] + s->side_speed * a.left[2] };
}

static void diagonal(double *matrix, int n)
{
	for (int i = 0; i < n; i++)
		matrix[i * n + i] = VARIANCE;
}

size_t message_tf_max(void)
{
	return odom_tf_max();
}

static size_t fill_tf(const struct moment *m, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_Transforms *all = sim_Transforms_init(body, cap, &b);
	struct sim_Transform *t = all ? sim_Transforms_transforms_alloc(&b, 1) : NULL;

	if (!t || sim_Transform_parent_frame_set_in(&b, t, FRAME_MAP) < 0 ||
	    sim_Transform_child_frame_set_in(&b, t, FRAME_BASE) < 0)
		return 0;
	t->translation = place(m);
	t->rotation = attitude(m);
	return sim_builder_size(&b);
}

size_t message_tf(const struct moment *m, void *body, size_t cap)
{
	const struct sim_Quaternion q = attitude(m);

	return m->odom ? odom_fill_tf(m->odom, &q, body, cap) : fill_tf(m, body, cap);
}

size_t message_odom(const struct moment *m, void *body, size_t cap)
{
	const struct odom_motion motion = { .attitude = attitude(m),
					    .velocity = map_velocity(m),
					    .yaw_rate = m->model->s.yaw_rate,
					    .speed = m->model->s.speed,
					    .wheel_angle = model_measured_steer(m->model) };

	return odom_fill(m->odom, &motion, body, cap);
}

size_t message_imu(const struct moment *m, void *body, size_t cap)
{
	const struct model_state *s = &m->model->s;
	const struct model_axes a = model_axes(s);
	struct sim_builder b;
	struct sim_Imu *imu = sim_Imu_init(body, cap, &b);

	if (!imu)
		return 0;
	imu->orientation = attitude(m);
	imu->angular_velocity.z = m->gyro;
	imu->linear_acceleration = (struct sim_Vector3){
		.x = s->accel - s->yaw_rate * s->side_speed + MODEL_GRAVITY * a.forward[2],
		.y = s->side_accel + MODEL_GRAVITY * a.left[2],
		.z = MODEL_GRAVITY * a.up[2],
	};
	imu->position = place(m);
	imu->linear_velocity = (struct sim_Vector3){ .x = s->speed, .y = s->side_speed };
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
	g->status = origin_degrees(m->origin, m->model->s.x, m->model->s.y, &g->latitude, &g->longitude)
			    ? SIM_GPS_STATUS_FIX
			    : SIM_GPS_STATUS_NO_FIX;
	g->altitude = m->model->s.z;
	g->easting = m->model->s.x;
	g->northing = m->model->s.y;
	g->orientation = attitude(m);
	diagonal(g->position_covariance, 3);
	g->service = 1;
	return sim_builder_size(&b);
}

size_t message_gps_odometry_max(void)
{
	return sim_GpsOdometry_size(sizeof(FRAME_BASE));
}

size_t message_gps_odometry(const struct moment *m, void *body, size_t cap)
{
	const struct model_state *s = &m->model->s;
	struct sim_builder b;
	struct sim_GpsOdometry *g = sim_GpsOdometry_init(body, cap, &b);

	if (!g || sim_GpsOdometry_child_frame_set(&b, FRAME_BASE) < 0)
		return 0;
	(void)origin_degrees(m->origin, s->x, s->y, &g->latitude, &g->longitude);
	g->altitude = s->z;
	g->easting = s->x;
	g->northing = s->y;
	g->orientation = attitude(m);
	g->velocity = map_velocity(m);
	g->angular_velocity.z = s->yaw_rate;
	diagonal(g->pose_covariance, 6);
	diagonal(g->twist_covariance, 6);
	g->forward_speed = (float)s->speed;
	g->wheel_angle = (float)model_measured_steer(m->model);
	return sim_builder_size(&b);
}

static float pedal_part(double pedal, double most)
{
	return (float)(pedal <= 0 ? 0 : pedal >= most ? 1 : pedal / most);
}

static void fill_motion(const struct moment *m, struct sim_CanBus *c)
{
	const struct model_state *s = &m->model->s;
	const struct vehicle_params *p = &m->model->p;
	double turns = fabs(s->speed) / (2 * M_PI * p->wheel_radius);

	c->altitude = s->z;
	c->orientation = attitude(m);
	c->velocity = map_velocity(m);
	c->speed = (float)s->speed;
	c->throttle = pedal_part(m->model->motion.pedal, p->vel_rate_lim);
	c->braking = pedal_part(-m->model->motion.pedal, p->vel_rate_lim);
	c->steering_angle = (float)model_measured_steer(m->model);
	c->steering = (float)(s->steer / p->steer_lim);
	c->yaw_rate = (float)s->yaw_rate;
	c->engine_rpm = (float)(turns * 60 * p->gear_ratio);
}

static uint8_t mode_of(const struct orders *o)
{
	return o->emergency ? SIM_VEHICLE_MODE_EMERGENCY : o->mode;
}

size_t message_can_bus(const struct moment *m, void *body, size_t cap)
{
	const struct orders *o = m->orders;
	struct sim_builder b;
	struct sim_CanBus *c = sim_CanBus_init(body, cap, &b);

	if (!c)
		return 0;
	fill_motion(m, c);
	(void)origin_degrees(m->origin, m->model->s.x, m->model->s.y, &c->latitude, &c->longitude);
	c->gear = (uint8_t)o->gear;
	c->mode = mode_of(o);
	c->parking_brake = o->hand_brake || o->gear == GEAR_PARKING;
	c->high_beam = o->high_beam;
	c->low_beam = o->low_beam;
	c->hazard_lights = o->hazard;
	c->left_turn_signal = o->turn == SIM_TURN_LEFT;
	c->right_turn_signal = o->turn == SIM_TURN_RIGHT;
	c->wipers = o->wipers;
	c->in_reverse = o->gear == GEAR_REVERSE;
	c->engine_on = 1;
	return sim_builder_size(&b);
}

size_t message_odometry(const struct moment *m, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_VehicleOdometry *o = sim_VehicleOdometry_init(body, cap, &b);

	if (!o)
		return 0;
	o->speed = (float)m->model->s.speed;
	o->front_wheel_angle = (float)model_measured_steer(m->model);
	o->yaw_rate = (float)m->model->s.yaw_rate;
	return sim_builder_size(&b);
}
