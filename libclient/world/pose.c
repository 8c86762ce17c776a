/* SPDX-License-Identifier: Apache-2.0 */
/* pose.h */
#include "pose.h"

#include <math.h>

#define NS_PER_S 1e9
/*
 * How much the mean of both velocities may differ from that of the path, to be accepted: a fraction of the latter, and
 * m/s.
 */
#define FITS_PART  0.25
#define FITS_SPEED 0.1

static double length_of(const double *v, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += v[i] * v[i];
	return sqrt(sum);
}

static bool velocities_fit(const struct motion_real *a, const struct motion_real *b, double dt)
{
	double way[3], off[3];

	for (int i = 0; i < 3; i++) {
		way[i] = (b->position[i] - a->position[i]) / dt;
		off[i] = (a->velocity[i] + b->velocity[i]) / 2 - way[i];
	}
	return length_of(off, 3) <= FITS_PART * length_of(way, 3) + FITS_SPEED;
}

/* s: 0 at a, 1 at b. */
static void between_places(const struct motion_real *a, const struct motion_real *b, double s, double dt,
			   struct motion_real *ret)
{
	bool curve = velocities_fit(a, b, dt);
	double s2 = s * s, s3 = s2 * s;

	for (int i = 0; i < 3; i++) {
		double p = a->position[i], q = b->position[i], u = a->velocity[i], v = b->velocity[i];

		ret->velocity[i] = u + (v - u) * s;
		ret->position[i] = p + (q - p) * s;
		if (curve)
			ret->position[i] = (2 * s3 - 3 * s2 + 1) * p + (s3 - 2 * s2 + s) * dt * u +
					   (3 * s2 - 2 * s3) * q + (s3 - s2) * dt * v;
	}
}

static void between_turns(const double a[4], const double b[4], double s, double ret[4])
{
	double dot = 0, angle, ka = 1 - s, kb = s, length;

	for (int i = 0; i < 4; i++)
		dot += a[i] * b[i];
	angle = acos(fmin(fabs(dot), 1));
	if (angle > 1e-3) {
		ka = sin((1 - s) * angle) / sin(angle);
		kb = sin(s * angle) / sin(angle);
	}
	if (dot < 0)
		kb = -kb;
	for (int i = 0; i < 4; i++)
		ret[i] = ka * a[i] + kb * b[i];
	length = length_of(ret, 4);
	for (int i = 0; i < 4; i++)
		ret[i] /= length;
}

void pose_between(const struct motion_real *a, const struct motion_real *b, int64_t at_sim_ns, struct motion_real *ret)
{
	double dt = (double)(b->time_sim_ns - a->time_sim_ns) / NS_PER_S;
	double s = (double)(at_sim_ns - a->time_sim_ns) / NS_PER_S / dt;
	struct motion_real r = { .time_sim_ns = at_sim_ns };

	between_places(a, b, s, dt, &r);
	between_turns(a->rotation, b->rotation, s, r.rotation);
	for (int i = 0; i < 3; i++)
		r.spin[i] = a->spin[i] + (b->spin[i] - a->spin[i]) * s;
	*ret = r;
}

/* q rotated by w, an axis in world axes with the angle as its length. */
static void turn_on(const double q[4], const double w[3], double ret[4])
{
	double angle = length_of(w, 3), k = angle > 0 ? sin(angle / 2) / angle : 0;
	double t[4] = { cos(angle / 2), w[0] * k, w[1] * k, w[2] * k };

	ret[0] = t[0] * q[0] - t[1] * q[1] - t[2] * q[2] - t[3] * q[3];
	ret[1] = t[0] * q[1] + t[1] * q[0] + t[2] * q[3] - t[3] * q[2];
	ret[2] = t[0] * q[2] - t[1] * q[3] + t[2] * q[0] + t[3] * q[1];
	ret[3] = t[0] * q[3] + t[1] * q[2] - t[2] * q[1] + t[3] * q[0];
}

void pose_beyond(const struct motion_real *a, int64_t at_sim_ns, struct motion_real *ret)
{
	double dt = (double)(at_sim_ns - a->time_sim_ns) / NS_PER_S, turn[3];
	struct motion_real r = *a;

	for (int i = 0; i < 3; i++) {
		r.position[i] += a->velocity[i] * dt;
		turn[i] = a->spin[i] * dt;
	}
	turn_on(a->rotation, turn, r.rotation);
	r.time_sim_ns = at_sim_ns;
	*ret = r;
}
