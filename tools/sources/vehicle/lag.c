/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded first-order lag. See lag.h. */
#include "lag.h"

#include <math.h>

/* Time at full rate: until the distance is rate * tau. */
static double linear_s(const struct lag *l, double off)
{
	double far = fabs(off) - (l->tau_s > 0 ? l->rate * l->tau_s : 0);

	return far > 0 && isfinite(l->rate) ? far / l->rate : 0;
}

static struct lag_motion linear(double x0, double slope, double t)
{
	return (struct lag_motion){ .x = x0 + slope * t,
				    .integral = t * (x0 + slope * t / 2),
				    .second = t * t * (x0 / 2 + slope * t / 6) };
}

static struct lag_motion settle(double tau_s, double x0, double u, double t)
{
	double off = x0 - u, done;

	if (!(tau_s > 0))
		return linear(u, 0, t);
	done = -expm1(-t / tau_s);
	return (struct lag_motion){ .x = x0 - off * done,
				    .integral = u * t + off * tau_s * done,
				    .second = u * t * t / 2 + off * tau_s * (t - tau_s * done) };
}

struct lag_motion lag_move(const struct lag *l, double x0, double u, double dt_s)
{
	double run = linear_s(l, u - x0);
	struct lag_motion a, b;

	if (!(dt_s > 0))
		return (struct lag_motion){ .x = x0 };
	if (run >= dt_s)
		return linear(x0, copysign(l->rate, u - x0), dt_s);
	if (run <= 0)
		return settle(l->tau_s, x0, u, dt_s);
	a = linear(x0, copysign(l->rate, u - x0), run);
	b = settle(l->tau_s, a.x, u, dt_s - run);
	return (struct lag_motion){ .x = b.x,
				    .integral = a.integral + b.integral,
				    .second = a.second + a.integral * (dt_s - run) + b.second };
}

double lag_reaches(const struct lag *l, double x0, double u, double level)
{
	double run = linear_s(l, u - x0), x1, way = u - x0;

	if ((level - x0) * way < 0 || fabs(level - x0) > fabs(way))
		return INFINITY;
	if (level == x0)
		return 0;
	if (fabs(level - x0) <= l->rate * run)
		return fabs(level - x0) / l->rate;
	x1 = run > 0 ? x0 + copysign(l->rate, way) * run : x0;
	if (!(l->tau_s > 0))
		return run;
	return level == u ? INFINITY : run + l->tau_s * log((u - x1) / (u - level));
}
