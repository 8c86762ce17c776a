/* SPDX-License-Identifier: Apache-2.0 */
/* motion.h */
#include "motion.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define Q20        1048576.0
#define DT_MAX_NS  INT64_C(32000000000)
#define NS_PER_US  1000
#define NS_PER_SEC INT64_C(1000000000)

/* Ranges: first index, how many, how many of them form one value, and the limit. */
static const struct range {
	int first, n;
	double per_unit;
	int64_t max;
} ranges[] = {
	{ MOTION_POSITION, 3, 1e3, INT64_C(1000000000000) },
	{ MOTION_VELOCITY, 3, 1e3, 10000000 },
	{ MOTION_SPIN, 3, 1e4, 10000000 },
};
#define TIME_MAX_US INT64_C(1000000000000)

/* As llround(), for values below 2^63, without a call: a server does this ten times for each object of each tick. */
static inline int64_t nearest(double v)
{
	const int64_t whole = (int64_t)v;
	const double rest = v - (double)whole;

	return whole + (rest >= 0.5) - (rest <= -0.5);
}

static int quantise(const double *from, const struct range *r, int64_t *to)
{
	for (int i = 0; i < r->n; i++) {
		const double v = from[i] * r->per_unit;

		if (!isfinite(v))
			return -EINVAL;
		if (fabs(v) >= (double)r->max + 0.5)
			return -ERANGE;
		to[r->first + i] = nearest(v);
	}
	return 0;
}

/* The protocol's sign of a quaternion: its first component that is not 0, starting with w, is positive. */
static double sign_of(const double q[4])
{
	for (int i = 0; i < 4; i++)
		if (q[i] != 0)
			return q[i] < 0 ? -1 : 1;
	return 1;
}

static int quantise_rotation(const double q[4], int64_t to[4])
{
	double largest = 0, length = 0, k;

	for (int i = 0; i < 4; i++) {
		if (!isfinite(q[i]))
			return -EINVAL;
		largest = fabs(q[i]) > largest ? fabs(q[i]) : largest;
	}
	if (largest == 0) {
		memcpy(to, (int64_t[4]){ (int64_t)Q20 }, 4 * sizeof(*to));
		return 0;
	}
	for (int i = 0; i < 4; i++)
		length += q[i] / largest * (q[i] / largest);
	k = sign_of(q) / sqrt(length);
	for (int i = 0; i < 4; i++)
		to[i] = nearest(q[i] / largest * k * Q20);
	return 0;
}

int motion_from_real(const struct motion_real *r, int64_t tick_sim_ns, struct motion *ret)
{
	const double *from[] = { r->position, r->velocity, r->spin };
	struct motion m;
	int64_t dt;
	int error = 0;

	for (unsigned i = 0; i < 3 && !error; i++)
		error = quantise(from[i], &ranges[i], m.v);
	if (!error)
		error = quantise_rotation(r->rotation, m.v + MOTION_ROTATION);
	if (error)
		return error;
	if (__builtin_sub_overflow(r->time_sim_ns, tick_sim_ns, &dt) || dt / NS_PER_US > TIME_MAX_US ||
	    dt / NS_PER_US < -TIME_MAX_US)
		return -ERANGE;
	m.v[MOTION_TIME] = nearest((double)dt / NS_PER_US);
	*ret = m;
	return 0;
}

static void real_of(const struct motion *m, const struct range *r, double *to)
{
	for (int i = 0; i < r->n; i++)
		to[i] = (double)m->v[r->first + i] / r->per_unit;
}

void motion_to_real(const struct motion *m, int64_t tick_sim_ns, struct motion_real *ret)
{
	double length = 0;

	real_of(m, &ranges[0], ret->position);
	real_of(m, &ranges[1], ret->velocity);
	real_of(m, &ranges[2], ret->spin);
	for (int i = 0; i < 4; i++) {
		ret->rotation[i] = (double)m->v[MOTION_ROTATION + i];
		length += ret->rotation[i] * ret->rotation[i];
	}
	for (int i = 0; i < 4; i++)
		ret->rotation[i] = length > 0 ? ret->rotation[i] / sqrt(length) : i == 0;
	ret->time_sim_ns = tick_sim_ns + m->v[MOTION_TIME] * NS_PER_US;
}

static bool within(int64_t v, int64_t max)
{
	return v >= -max && v <= max;
}

bool motion_valid(const struct motion *m)
{
	int64_t length = 0;

	for (unsigned i = 0; i < 3; i++)
		for (int j = 0; j < ranges[i].n; j++)
			if (!within(m->v[ranges[i].first + j], ranges[i].max))
				return false;
	for (int i = MOTION_ROTATION; i < MOTION_VELOCITY; i++) {
		if (!within(m->v[i], (int64_t)Q20))
			return false;
		length += m->v[i] * m->v[i];
	}
	return length > 0 && m->v[MOTION_ROTATION] >= 0 && within(m->v[MOTION_TIME], TIME_MAX_US);
}

void motion_predict(const struct motion *m, int64_t dt_sim_ns, struct motion *ret)
{
	int64_t dt = dt_sim_ns > DT_MAX_NS ? DT_MAX_NS : dt_sim_ns < 0 ? 0 : dt_sim_ns;

	*ret = *m;
	for (int i = 0; i < 3; i++)
		ret->v[MOTION_POSITION + i] += m->v[MOTION_VELOCITY + i] * dt / NS_PER_SEC;
}
