/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lateral motion of a bicycle with linear tyres at constant speed and wheel angle, in closed form:
 *
 *     (v_y, r)' = A (v_y, r) + B steer,     v_y and r at the centre of mass
 *
 * Thread: any; pure.
 */
#ifndef SOURCES_VEHICLE_TYRES_H
#define SOURCES_VEHICLE_TYRES_H

#include "params.h"

struct tyres_state {
	double side_speed, yaw_rate; /* at the centre of mass: m/s, rad/s */
};

struct tyres_motion {
	struct tyres_state end, rate; /* after dt, and its rate of change then */
	double side_way, turned;      /* m in the body's axes, rad: integrals over dt */
};

/* speed: not 0, negative in reverse. */
struct tyres_motion tyres_move(const struct vehicle_params *p, struct tyres_state s, double speed, double steer,
			       double dt_s);

#endif
