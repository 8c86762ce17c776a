/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A first-order lag with a bounded rate, in closed form: x' = (u - x) / tau, never faster than rate. It models
 * actuators: full rate far from the target, exponential approach near it. Exact for any dt.
 *
 *
 *
 * Thread: any; pure.
 */
#ifndef SOURCES_VEHICLE_LAG_H
#define SOURCES_VEHICLE_LAG_H

struct lag {
	double tau_s; /* 0: no lag */
	double rate;  /* of x a second, > 0; INFINITY: no bound. tau 0 without a bound jumps */
};

/* x after dt_s from x0 towards u. */
struct lag_motion {
	double x;
	double integral; /* of x over dt */
	double second;   /* integral of `integral` over dt */
};
struct lag_motion lag_move(const struct lag *l, double x0, double u, double dt_s);

/* Time until x, on its way from x0 to u, reaches `level`; INFINITY: never. */
double lag_reaches(const struct lag *l, double x0, double u, double level);

#endif
