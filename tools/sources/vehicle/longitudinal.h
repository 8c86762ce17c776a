/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The speed of a vehicle whose acceleration follows its pedals with a bounded lag, in closed form: speed and distance
 * are exact after any dt, including the instants at which the vehicle stops or reaches the speed limit.
 *
 *
 *
 * A pedal (m/s^2) above 0 drives in the gear's direction; one below 0 brakes: it reduces the speed in either direction,
 * and holds a vehicle that stands. Without gears the pedal is the acceleration, into reverse too.
 *
 *
 *
 * Thread: any; pure.
 */
#ifndef SOURCES_VEHICLE_LONGITUDINAL_H
#define SOURCES_VEHICLE_LONGITUDINAL_H

#include <stdbool.h>

#include "lag.h"

struct longitudinal_params {
	struct lag pedal; /* its rate is the limit of the jerk */
	double speed_lim; /* m/s, both ways */
	bool geared;
};

struct longitudinal {
	double speed; /* m/s along x */
	double pedal; /* m/s^2 */
	double accel; /* m/s^2 along x, actual, at the end */
};

/*
 * Moves on by dt_s. direction: of the gear, 1, -1 or 0. hold: deceleration by the parking brake, m/s^2, 0: released.
 * Returns the distance, m along x.
 */
double longitudinal_move(struct longitudinal *s, const struct longitudinal_params *p, double wanted, int direction,
			 double hold, double dt_s);

#endif
