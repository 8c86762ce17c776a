/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vehicle model: commands in, motion out. Commands take effect after their dead time, actuators follow with a lag and
 * within their limits (lag.h, longitudinal.h, dead_time.h), and a bicycle turns wheel angle and speed into a path.
 *
 * Integration goes by pieces in which no command takes effect, of at most 2 ms while the wheels turn or with a map:
 *
 *   acceleration, speed, way, wheel angle    closed form: exact, whatever the step; with a map of accelerations,
 *                                            evaluated at the speed in the piece's middle, of second order
 *   kinematic bicycle                        an arc over that way, with the wheel angle of the middle of the piece: exact with the
 *                                            wheels still, however the speed changes; else of second order
 *   dynamic bicycle (linear tyres)           side slip and yaw rate by the matrix exponential at the piece's middle speed:
 *                                            exact at constant speed and wheel angle; the path by Simpson's rule, fourth order
 *
 * Below MODEL_SLOW the tyres do not slip: the dynamic bicycle is the kinematic one. The ground is a plane, level until
 * model_ground() tilts it; a slope turns the vehicle and its way, and neither drives nor brakes it. base_link is the
 * middle of the rear axle.
 *
 * Thread: the owner's. Pure arithmetic, no allocation: the same calls give the same bits.
 */
#ifndef SOURCES_VEHICLE_MODEL_H
#define SOURCES_VEHICLE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "dead_time.h"
#include "longitudinal.h"
#include "params.h"

#define MODEL_GRAVITY 9.80665 /* m/s^2 */
#define MODEL_SLOW    1.0     /* m/s */

enum model_gear {
	GEAR_NEUTRAL = 0,
	GEAR_DRIVE = 1,
	GEAR_REVERSE = 2,
	GEAR_PARKING = 3,
	GEAR_LOW = 4
}; /* of sim/Gear */

/* A driver's command, held until the next one. Numbers are finite; values beyond a limit are clamped. */
struct model_order {
	double accel; /* m/s^2 in the gear's direction, below 0: brake */
	double speed; /* m/s along x; for models whose name ends in VEL */
	double steer; /* rad, left is positive */
	enum model_gear gear;
	bool hand_brake;
};

struct model_state {
	double x, y, z, yaw;      /* base_link in the map: m, rad from -pi to pi */
	double turned;            /* rad, since it was placed there: yaw, not wrapped */
	double slope_x, slope_y;  /* of the ground: rise per metre along the map's x and y */
	double speed;             /* m/s, of base_link along x */
	double side_speed;        /* m/s, of base_link along y; 0 without slip */
	double yaw_rate;          /* rad/s */
	double accel;             /* m/s^2 along x: rate of change of the speed */
	double side_accel;        /* m/s^2 along y: what an accelerometer at base_link measures */
	double steer, steer_rate; /* rad, rad/s: of the wheels */
};

struct model {
	struct vehicle_params p;
	struct model_state s;
	struct model_order order;
	struct longitudinal motion;
	int64_t now_ns; /* since model_init() */
	struct dead_time accel, speed, steer;
};

/* Starts at the origin, standing, in gear D, all commands 0. Copies p, which params_load() has checked. */
void model_init(struct model *m, const struct vehicle_params *p);

/* Places it: pending commands are discarded, steer is clamped. Numbers are finite. */
struct model_place {
	double x, y, z, yaw, speed, accel, steer;
	double slope_x, slope_y; /* of the ground there */
};
void model_put(struct model *m, const struct model_place *at);

/* The ground is the plane through x, y, z with those slopes: the vehicle moves on it from now on. */
struct model_plane {
	double x, y, z, slope_x, slope_y;
};
void model_ground(struct model *m, const struct model_plane *g);

void model_order(struct model *m, const struct model_order *o);
void model_advance(struct model *m, int64_t dur_ns); /* dur_ns: 0 or more */

/* The steering sensor's value, including its bias. */
static inline double model_measured_steer(const struct model *m)
{
	return m->s.steer + m->p.steer_bias;
}

/*
 * The vehicle's own axes, forward, left and up, in the map; and its pitch and roll, rad: pitch below 0 uphill; roll
 * above 0 left side up.
 */
struct model_axes {
	double forward[3], left[3], up[3];
	double pitch, roll;
};
struct model_axes model_axes(const struct model_state *s);

double model_wrap(double rad); /* to -pi..pi */

#endif
