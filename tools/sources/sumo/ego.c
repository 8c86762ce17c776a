/* SPDX-License-Identifier: Apache-2.0 */
/* The ego's body. See ego.h for the model. */
#include "ego.h"

#include <math.h>
#include <string.h>

#define BETA_TAU_S  0.10
#define ACCEL_TAU_S 0.05
#define STILL_M     1e-5 /* a shorter move has no direction */
#define JUMP_M      1.0  /* further than its speed explains: it was put there */
#define ROLLING     0.10 /* m/s^2, rolling resistance */
#define DRAG        0.02 /* m/s^2 per m/s */
#define SPEED_GAIN  2.0  /* 1/s, towards a wanted speed */

double ego_wrap(double rad)
{
	return remainder(rad, 2 * M_PI);
}

double ego_yaw_of(double angle_deg)
{
	return ego_wrap((90 - angle_deg) * M_PI / 180);
}

static double clamp(double v, double lo, double hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

struct ego_params ego_params_for(double length)
{
	return (struct ego_params){
		.length = length,
		.rear_overhang = 0.22 * length,
		.wheelbase = 0.60 * length,
		.wheel_radius = 0.32,
		.gear_ratio = 9,
		.max_wheel_angle = 0.60,
		.max_wheel_rate = 0.80,
		.max_accel = 3,
		.max_brake = 8,
	};
}

void ego_init(struct ego *e, const struct ego_params *p)
{
	memset(e, 0, sizeof(*e));
	e->p = *p;
	e->gear = EGO_DRIVE;
}

static double front_distance(const struct ego *e)
{
	return e->p.length - e->p.rear_overhang;
}

static void start(struct ego *e, const double front[3], double angle_deg, double speed)
{
	e->yaw = ego_yaw_of(angle_deg);
	e->pos[0] = front[0] - front_distance(e) * cos(e->yaw);
	e->pos[1] = front[1] - front_distance(e) * sin(e->yaw);
	e->pos[2] = front[2];
	memcpy(e->front, front, sizeof(e->front));
	e->speed = speed;
	e->beta = e->yaw_rate = e->accel = e->wheel_angle = 0;
	e->started = true;
}

/* One pole; dt beyond tau takes the input over. */
static double low_pass(double state, double in, double dt_s, double tau_s)
{
	return state + (in - state) * (dt_s >= tau_s ? 1 : dt_s / tau_s);
}

static void set_speed(struct ego *e, double speed, double dt_s)
{
	e->accel = low_pass(e->accel, (speed - e->speed) / dt_s, dt_s, ACCEL_TAU_S);
	e->speed = speed;
}

/* What a driver's feet must be doing. */
static void guess_pedals(struct ego *e)
{
	double need = e->accel + (e->speed > 0.1 ? ROLLING + DRAG * e->speed : 0);
	bool still = fabs(e->speed) < 0.05;

	e->throttle = still ? 0 : clamp(need / e->p.max_accel, 0, 1);
	e->brake = still ? 0.3 : clamp(-need / e->p.max_brake, 0, 1);
	e->gear = EGO_DRIVE;
}

void ego_follow(struct ego *e, const double front[3], double angle_deg, double speed, double dt_s)
{
	double dx = front[0] - e->front[0], dy = front[1] - e->front[1];
	double moved = hypot(dx, dy), d = front_distance(e);

	if (!e->started || moved > fabs(speed) * dt_s * 2 + JUMP_M) {
		e->jumps += e->started;
		start(e, front, angle_deg, speed);
		return;
	}
	if (moved > STILL_M) {
		double beta = ego_wrap(atan2(dy, dx) - e->yaw);

		e->beta = low_pass(e->beta, clamp(beta, -1.2, 1.2), dt_s, BETA_TAU_S);
	}
	memcpy(e->front, front, sizeof(e->front));
	/* The rear axle rolls towards the front: the new yaw points from where it was to where the front is. */
	e->yaw = atan2(front[1] - e->pos[1], front[0] - e->pos[0]);
	e->pos[0] = front[0] - d * cos(e->yaw);
	e->pos[1] = front[1] - d * sin(e->yaw);
	e->pos[2] = front[2];
	set_speed(e, speed * cos(e->beta), dt_s);
	e->yaw_rate = speed * sin(e->beta) / d;
	e->wheel_angle = clamp(atan(e->p.wheelbase * tan(e->beta) / d), -e->p.max_wheel_angle, e->p.max_wheel_angle);
	guess_pedals(e);
}

static double wanted_accel(const struct ego *e, const struct ego_command *c)
{
	double sign = c->gear == EGO_REVERSE ? -1 : 1;
	double push = c->gear == EGO_NEUTRAL || c->gear == EGO_PARKING ? 0 : clamp(c->throttle, 0, 1);

	if (c->has_speed)
		return clamp((c->speed - e->speed) * SPEED_GAIN, -e->p.max_brake, e->p.max_accel);
	if (c->has_accel)
		return clamp(c->accel, -e->p.max_brake, e->p.max_accel) * sign;
	return push * e->p.max_accel * sign;
}

static double next_speed(const struct ego *e, const struct ego_command *c, double dt_s)
{
	double v = e->speed + wanted_accel(e, c) * dt_s;
	double hold = (clamp(c->brake, 0, 1) * e->p.max_brake + ROLLING + DRAG * fabs(v)) * dt_s;

	if (c->has_speed || c->has_accel)
		hold = 0; /* they say what shall come out of it all */
	if (c->gear == EGO_PARKING)
		hold = e->p.max_brake * dt_s;
	v = fabs(v) <= hold ? 0 : v - copysign(hold, v); /* brakes stop, they never push */
	if (c->gear == EGO_REVERSE)
		return v > 0 && e->speed <= 0 ? 0 : v;
	return v < 0 && e->speed >= 0 ? 0 : v;
}

void ego_drive(struct ego *e, const struct ego_command *c, double dt_s)
{
	double rate = c->wheel_rate > 0 ? fmin(c->wheel_rate, e->p.max_wheel_rate) : e->p.max_wheel_rate;
	double want = clamp(c->wheel_angle, -e->p.max_wheel_angle, e->p.max_wheel_angle);
	double mid;

	e->wheel_angle += clamp(want - e->wheel_angle, -rate * dt_s, rate * dt_s);
	set_speed(e, next_speed(e, c, dt_s), dt_s);
	e->yaw_rate = e->speed * tan(e->wheel_angle) / e->p.wheelbase;
	mid = e->yaw + e->yaw_rate * dt_s / 2;
	e->pos[0] += e->speed * dt_s * cos(mid);
	e->pos[1] += e->speed * dt_s * sin(mid);
	e->yaw = ego_wrap(e->yaw + e->yaw_rate * dt_s);
	e->beta = atan(tan(e->wheel_angle) * front_distance(e) / e->p.wheelbase);
	ego_front(e, &e->front[0], &e->front[1]);
	e->throttle = clamp(c->throttle, 0, 1);
	e->brake = clamp(c->brake, 0, 1);
	e->gear = c->gear;
	e->started = true;
}

void ego_set(struct ego *e, const struct ego_state *s)
{
	memcpy(e->pos, s->pos, sizeof(e->pos));
	e->yaw = ego_wrap(s->yaw);
	e->speed = s->speed;
	e->yaw_rate = s->yaw_rate;
	e->wheel_angle = s->wheel_angle;
	e->beta = atan(tan(e->wheel_angle) * front_distance(e) / e->p.wheelbase);
	ego_front(e, &e->front[0], &e->front[1]);
	e->front[2] = s->pos[2];
	e->started = true;
}

void ego_front(const struct ego *e, double *ret_x, double *ret_y)
{
	*ret_x = e->pos[0] + front_distance(e) * cos(e->yaw);
	*ret_y = e->pos[1] + front_distance(e) * sin(e->yaw);
}

double ego_angle_deg(const struct ego *e)
{
	double a = fmod(90 - e->yaw * 180 / M_PI, 360);

	return a < 0 ? a + 360 : a;
}

void ego_specific_force(const struct ego *e, double ret[3])
{
	ret[0] = e->accel;
	ret[1] = e->speed * e->yaw_rate;
	ret[2] = EGO_GRAVITY;
}

double ego_motor_rpm(const struct ego *e)
{
	return fabs(e->speed) / (2 * M_PI * e->p.wheel_radius) * 60 * e->p.gear_ratio;
}
