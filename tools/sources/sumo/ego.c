/* SPDX-License-Identifier: Apache-2.0 */
/* The ego's body. See ego.h for the model. */
#include "ego.h"

#include <math.h>
#include <string.h>

#define COURSE_TAU_S 0.06 /* lag of the front's direction */
/* time in which the front returns to SUMO's path: four times the lag, so that it does not oscillate */
#define CATCH_S 0.24
#define CATCH_M 0.5 /* and at least this distance */
/* share of the distance driven that may be spent on it: an instant lane change takes some 40 m */
#define CATCH_MOST  0.1
#define ACCEL_TAU_S 0.05
#define STILL_M     1e-5 /* a shorter move has no direction */
/* limit, in multiples of what the speed explains: lanes are longer or shorter than the network says */
#define MOVED_MOST 2.0
#define MOVED_M    1e-3
#define ROLLING    0.10 /* m/s^2, rolling resistance */
#define DRAG       0.02 /* m/s^2 per m/s */
#define SPEED_GAIN 2.0  /* 1/s, towards a wanted speed */

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

/* One pole; if dt exceeds tau, returns the input. */
static double low_pass(double state, double in, double dt_s, double tau_s)
{
	return state + (in - state) * (dt_s >= tau_s ? 1 : dt_s / tau_s);
}

static void set_speed(struct ego *e, double speed, double dt_s)
{
	e->accel = low_pass(e->accel, (speed - e->speed) / dt_s, dt_s, ACCEL_TAU_S);
	e->speed = speed;
}

/* Estimates pedals from the acceleration. */
static void guess_pedals(struct ego *e)
{
	double need = e->accel + (e->speed > 0.1 ? ROLLING + DRAG * e->speed : 0);
	bool still = fabs(e->speed) < 0.05;

	e->throttle = still ? 0 : clamp(need / e->p.max_accel, 0, 1);
	e->brake = still ? 0.3 : clamp(-need / e->p.max_brake, 0, 1);
	e->gear = EGO_DRIVE;
}

/*
 * Returns how far the front goes in this step; *ret_course is its direction. The front moves as SUMO's front has moved
 * since the step before, plus a part of its offset from SUMO's then, so that it returns to SUMO's path. If SUMO's front
 * has moved further than its speed explains (an instant lane change), it counts as having gone straight on, and the
 * offset is made up for in later steps.
 */
static double aim(const struct ego *e, const double front[3], double angle_deg, double speed, double dt_s,
		  double *ret_course)
{
	double dx = front[0] - e->front[0], dy = front[1] - e->front[1], way = hypot(dx, dy), part, x, y;

	if (way > fabs(speed) * dt_s * MOVED_MOST + MOVED_M) { /* instant lane change */
		way = fabs(speed) * dt_s;
		dx = way * cos(ego_yaw_of(angle_deg));
		dy = way * sin(ego_yaw_of(angle_deg));
	}
	if (way <= STILL_M)
		return 0;
	ego_front(e, &x, &y);
	x = e->front[0] - x;
	y = e->front[1] - y;
	part = fmin(fmin(dt_s / CATCH_S, way / CATCH_M), CATCH_MOST * way / fmax(hypot(x, y), STILL_M));
	*ret_course = atan2(dy + part * y, dx + part * x);
	return hypot(dx + part * x, dy + part * y);
}

/* The front goes straight on by `way`; the rear axle follows on a tractrix, in closed form. */
static void draw(struct ego *e, double way, double course, double dt_s)
{
	double d = front_distance(e), before = ego_wrap(course - e->yaw);
	double after = way > 0 ? 2 * atan(tan(before / 2) * exp(-way / d)) : before;
	double turn = before - after, mid = e->yaw + turn / 2;
	double x = way * cos(course) + d * (cos(e->yaw) - cos(e->yaw + turn));
	double y = way * sin(course) + d * (sin(e->yaw) - sin(e->yaw + turn));

	e->pos[0] += x;
	e->pos[1] += y;
	e->yaw = ego_wrap(e->yaw + turn);
	e->turned += turn;
	e->beta = after;
	e->yaw_rate = turn / dt_s;
	set_speed(e, (x * cos(mid) + y * sin(mid)) / dt_s, dt_s);
}

double ego_gap(const struct ego *e, const double front[3])
{
	double x, y;

	ego_front(e, &x, &y);
	return e->started ? hypot(front[0] - x, front[1] - y) : 0;
}

/* The way of this step is left to be driven. */
void ego_carry(struct ego *e, const double front[3], double angle_deg, double speed, double dt_s)
{
	double heading = ego_yaw_of(angle_deg), x, y;

	ego_front(e, &x, &y);
	e->front[0] = front[0] - speed * dt_s * cos(heading);
	e->front[1] = front[1] - speed * dt_s * sin(heading);
	e->pos[0] += e->front[0] - x;
	e->pos[1] += e->front[1] - y;
	e->jumps++;
}

void ego_follow(struct ego *e, const double front[3], double angle_deg, double speed, double dt_s)
{
	double course = e->yaw + e->beta, wanted = course, way;

	if (!e->started || ego_gap(e, front) > EGO_JUMP_M) {
		e->jumps += e->started;
		start(e, front, angle_deg, speed);
		return;
	}
	way = aim(e, front, angle_deg, speed, dt_s, &wanted);
	draw(e, way, low_pass(course, course + ego_wrap(wanted - course), dt_s, COURSE_TAU_S), dt_s);
	e->pos[2] = front[2];
	memcpy(e->front, front, sizeof(e->front));
	e->wheel_angle = atan(e->p.wheelbase * tan(clamp(e->beta, -1.2, 1.2)) / front_distance(e));
	e->wheel_angle = clamp(e->wheel_angle, -e->p.max_wheel_angle, e->p.max_wheel_angle);
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
		hold = 0; /* accel or speed is the total, drag included */
	if (c->gear == EGO_PARKING)
		hold = e->p.max_brake * dt_s;
	v = fabs(v) <= hold ? 0 : v - copysign(hold, v); /* brakes only stop, they never push */
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
	e->turned += e->yaw_rate * dt_s;
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
