/* SPDX-License-Identifier: Apache-2.0 */
/* An inertial sensor. See inertial.h. */
#include "inertial.h"

#include <string.h>

#include "../scene/chance.h"
#include "motion.h"

#define SPAN_MAX_NS INT64_C(10000000000) /* of one message; a longer span is ignored */

void inertial_init(struct inertial *s, const struct sensor_config *c)
{
	*s = (struct inertial){ .c = c };
}

/* A jump of the clock discards what was received before. */
static void hear_from(struct inertial *s, uint32_t clock_generation)
{
	if (clock_generation == s->span_generation)
		return;
	s->turned = (struct sim_Vector3){ 0 };
	s->span_dur_ns = 0;
	s->span_generation = clock_generation;
}

void inertial_hear(struct inertial *s, const struct sim_Imu *truth, uint32_t clock_generation)
{
	double dt_s = (double)truth->measurement_span / 1e9;

	hear_from(s, clock_generation);
	if (truth->measurement_span < 0 || truth->measurement_span > SPAN_MAX_NS)
		return;
	s->turned.x += truth->angular_velocity.x * dt_s;
	s->turned.y += truth->angular_velocity.y * dt_s;
	s->turned.z += truth->angular_velocity.z * dt_s;
	s->span_dur_ns += truth->measurement_span;
}

/* Set the mean of the messages received since the last measurement, if they cover a longer span than m alone. */
static void average(struct inertial *s, struct sim_Imu *m)
{
	double span_s = (double)s->span_dur_ns / 1e9;

	if (s->span_dur_ns > 0 && s->span_dur_ns > m->measurement_span) {
		m->angular_velocity = (struct sim_Vector3){ .x = s->turned.x / span_s,
							    .y = s->turned.y / span_s,
							    .z = s->turned.z / span_s };
		m->measurement_span = s->span_dur_ns;
	}
	s->turned = (struct sim_Vector3){ 0 };
	s->span_dur_ns = 0;
}

static struct sim_Vector3 drawn(struct inertial *s, double sigma)
{
	struct sim_Vector3 v;

	v.x = chance_normal(&s->rnd, sigma);
	v.y = chance_normal(&s->rnd, sigma);
	v.z = chance_normal(&s->rnd, sigma);
	return v;
}

/* A new generation of the clock starts with the seed again. */
static void start(struct inertial *s, uint32_t clock_generation)
{
	if (s->started && clock_generation == s->clock_generation)
		return;
	rnd_seed(&s->rnd, (uint64_t)s->c->seed);
	s->bias_acceleration = drawn(s, s->c->bias_acceleration);
	s->bias_rotation = drawn(s, s->c->bias_rotation);
	s->started = true;
	s->clock_generation = clock_generation;
}

static void disturb(struct inertial *s, struct sim_Vector3 *v, const struct sim_Vector3 *bias, double sigma,
		    double bias_sigma, double covariance[9])
{
	struct sim_Vector3 noise = drawn(s, sigma);

	v->x += bias->x + noise.x;
	v->y += bias->y + noise.y;
	v->z += bias->z + noise.z;
	if (!(sigma > 0 || bias_sigma > 0))
		return; /* the exact message's covariance stays */
	memset(covariance, 0, 9 * sizeof(*covariance));
	covariance[0] = covariance[4] = covariance[8] = sigma * sigma + bias_sigma * bias_sigma;
}

void inertial_measure(struct inertial *s, const struct sim_Imu *truth, uint32_t clock_generation, struct sim_Imu *ret)
{
	const struct sensor_config *c = s->c;

	*ret = *truth;
	hear_from(s, clock_generation);
	average(s, ret);
	start(s, clock_generation);
	disturb(s, &ret->linear_acceleration, &s->bias_acceleration, c->noise_acceleration, c->bias_acceleration,
		ret->linear_acceleration_covariance);
	disturb(s, &ret->angular_velocity, &s->bias_rotation, c->noise_rotation, c->bias_rotation,
		ret->angular_velocity_covariance);
}

void inertial_correct(const struct sim_Imu *imu, struct sim_CorrectedImu *ret)
{
	ret->imu = *imu;
	ret->global_acceleration = motion_rotate(&imu->orientation, imu->linear_acceleration);
	ret->global_acceleration.z -= INERTIAL_GRAVITY;
	ret->global_angular_velocity = motion_rotate(&imu->orientation, imu->angular_velocity);
}
