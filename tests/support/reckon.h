/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dead reckoning: integrates an ego's gyro and speed, and compares the result with the yaw and position in the same
 * messages. For any source of an ego. A message that averages over a span counts for that span, and the spans have no
 * gaps; one that does not is of its instant. Thread: the test's.
 */
#ifndef TEST_RECKON_H
#define TEST_RECKON_H

#include "test.h"

#include <math.h>

#include <sim/msg/Imu.h>

#define RECKON_DEGREES 0.1   /* degrees that the integrated gyro may differ from the yaw */
#define RECKON_PART    0.002 /* share of the distance that the position may differ */

struct reckon {
	unsigned n; /* number of messages */
	int64_t at_sim_ns;
	struct sim_Imu last;
	double yaw, turned; /* rad, not wrapped: from the gyro, from the orientation */
	double worst;       /* rad, largest difference so far */
	double x, y, way;   /* m: position from gyro and speed; distance driven */
	double variance;    /* rad^2, of yaw, by the gyro's covariances: white noise */
};

static inline double reckon_yaw_of(const struct sim_Imu *m)
{
	return 2 * atan2(m->orientation.z, m->orientation.w);
}

static inline void reckon_move(struct reckon *r, const struct sim_Imu *m, double dt_s)
{
	const struct sim_Vector3 *a = &r->last.linear_velocity, *b = &m->linear_velocity;
	double rate =
		m->measurement_span ? m->angular_velocity.z : (r->last.angular_velocity.z + m->angular_velocity.z) / 2;
	double forward = (a->x + b->x) / 2 * dt_s, left = (a->y + b->y) / 2 * dt_s;
	double c = cos(r->yaw + rate * dt_s / 2), s = sin(r->yaw + rate * dt_s / 2);

	r->x += c * forward - s * left;
	r->y += s * forward + c * left;
	r->yaw += rate * dt_s;
	r->turned += remainder(reckon_yaw_of(m) - reckon_yaw_of(&r->last), 2 * M_PI);
	r->worst = fmax(r->worst, fabs(r->yaw - r->turned));
	r->way += hypot(m->position.x - r->last.position.x, m->position.y - r->last.position.y);
	r->variance += m->angular_velocity_covariance[8] * dt_s * dt_s;
}

static inline void reckon_imu(struct reckon *r, const struct sim_Imu *m, int64_t stamp_sim_ns)
{
	if (!r->n++) {
		r->x = m->position.x;
		r->y = m->position.y;
		r->yaw = r->turned = reckon_yaw_of(m);
	} else {
		if (m->measurement_span)
			assert_int_equal(m->measurement_span, stamp_sim_ns - r->at_sim_ns);
		reckon_move(r, m, (double)(stamp_sim_ns - r->at_sim_ns) / 1e9);
	}
	r->at_sim_ns = stamp_sim_ns;
	r->last = *m;
}

static inline void reckon_check_yaw(const struct reckon *r, double most_deg)
{
	double off_deg = r->worst * 180 / M_PI;

	if (!(off_deg <= most_deg))
		fail_msg("in %u messages the gyro is off the yaw by up to %.3f degrees, %.3f at most", r->n, off_deg,
			 most_deg);
}

static inline void reckon_check(const struct reckon *r)
{
	double off = hypot(r->x - r->last.position.x, r->y - r->last.position.y);

	reckon_check_yaw(r, RECKON_DEGREES);
	if (!(off <= RECKON_PART * r->way))
		fail_msg("after %.1f m dead reckoning is off by %.3f m, %.3f at most", r->way, off,
			 RECKON_PART * r->way);
}

/* For a gyro with white noise, whose covariance it publishes: within 3 sigma. */
static inline void reckon_check_noisy(const struct reckon *r)
{
	reckon_check_yaw(r, 3 * sqrt(r->variance) * 180 / M_PI);
}

#endif
