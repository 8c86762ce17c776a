/* SPDX-License-Identifier: Apache-2.0 */
/* motion.h: the stated errors, the ranges, the prediction. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include "rnd.h"
#include "world/motion.h"

static const struct motion_real still = { .rotation = { 1 } };

static double real_below(struct rnd *r, double max)
{
	return ((double)(rnd_u64(r) >> 11) / 4503599627370496.0 - 1) * max; /* -max .. max */
}

static void random_real(struct rnd *r, struct motion_real *ret)
{
	double length = 0;

	*ret = (struct motion_real){ .time_sim_ns = (int64_t)(rnd_u64(r) >> 20) };
	for (int i = 0; i < 3; i++) {
		ret->position[i] = real_below(r, 1e6);
		ret->velocity[i] = real_below(r, 100);
		ret->spin[i] = real_below(r, 10);
	}
	for (int i = 0; i < 4; i++) {
		ret->rotation[i] = real_below(r, 1);
		length += ret->rotation[i] * ret->rotation[i];
	}
	for (int i = 0; i < 4; i++)
		ret->rotation[i] /= sqrt(length);
}

/* The angle between two rotations, whatever their signs. */
static double angle(const double a[4], const double b[4])
{
	double plus = 0, minus = 0;

	for (int i = 0; i < 4; i++) {
		plus += (a[i] - b[i]) * (a[i] - b[i]);
		minus += (a[i] + b[i]) * (a[i] + b[i]);
	}
	return 4 * asin(sqrt(fmin(plus, minus)) / 2);
}

TEST(rounding_errors_are_as_documented)
{
	struct motion_real real, back;
	struct motion m;
	struct rnd r;

	rnd_seed(&r, 1);
	for (int n = 0; n < 100000; n++) {
		random_real(&r, &real);
		assert_int_equal(motion_from_real(&real, 0, &m), 0);
		assert_true(motion_valid(&m));
		motion_to_real(&m, 0, &back);
		for (int i = 0; i < 3; i++) {
			assert_true(fabs(back.position[i] - real.position[i]) <= 0.5001e-3);
			assert_true(fabs(back.velocity[i] - real.velocity[i]) <= 0.5001e-3);
			assert_true(fabs(back.spin[i] - real.spin[i]) <= 0.5001e-4);
		}
		assert_true(angle(back.rotation, real.rotation) <= 2e-6);
		assert_true(llabs(back.time_sim_ns - real.time_sim_ns) <= 500);
	}
}

TEST(a_rotation_of_length_0_is_no_rotation)
{
	struct motion_real real = { .time_sim_ns = 0 };
	struct motion m;

	assert_int_equal(motion_from_real(&real, 0, &m), 0);
	assert_int_equal(m.v[MOTION_ROTATION], 1 << 20);
	real.rotation[2] = -1e-300; /* any length is one */
	assert_int_equal(motion_from_real(&real, 0, &m), 0);
	assert_int_equal(m.v[MOTION_ROTATION], 0);
	assert_int_equal(m.v[MOTION_ROTATION + 2], 1 << 20);
	real.rotation[0] = -1e300;
	assert_int_equal(motion_from_real(&real, 0, &m), 0);
	assert_int_equal(m.v[MOTION_ROTATION], 1 << 20);
}

TEST(values_that_are_not_finite_or_too_large_are_refused)
{
	double bad[] = { NAN, INFINITY, -INFINITY };
	double *at[] = { NULL, NULL, NULL, NULL };
	struct motion m = { { 7 } };

	for (unsigned i = 0; i < 3; i++) {
		for (unsigned j = 0; j < 4; j++) {
			struct motion_real real = still;

			at[0] = &real.position[i];
			at[1] = &real.rotation[i];
			at[2] = &real.velocity[i];
			at[3] = &real.spin[i];
			for (unsigned k = 0; k < 3; k++) {
				*at[j] = bad[k];
				assert_int_equal(motion_from_real(&real, 0, &m), -EINVAL);
			}
			*at[j] = 1e12;
			assert_int_equal(motion_from_real(&real, 0, &m), j == 1 ? 0 : -ERANGE);
		}
	}
}

TEST(times_too_far_from_the_tick_are_refused)
{
	struct motion_real real = still;
	struct motion m;

	real.time_sim_ns = INT64_MIN;
	assert_int_equal(motion_from_real(&real, 1, &m), -ERANGE);
	real.time_sim_ns = INT64_C(1000000000000000) + 1000;
	assert_int_equal(motion_from_real(&real, 0, &m), -ERANGE);
	assert_int_equal(motion_from_real(&real, 1000, &m), 0);
	assert_int_equal(m.v[MOTION_TIME], INT64_C(1000000000000));
}

TEST(invalid_motion_is_detected)
{
	struct motion good, m;

	assert_int_equal(motion_from_real(&still, 0, &good), 0);
	assert_true(motion_valid(&good));
	for (int i = 0; i < MOTION_N; i++) {
		m = good;
		m.v[i] = INT64_MAX;
		assert_false(motion_valid(&m));
		m.v[i] = INT64_MIN;
		assert_false(motion_valid(&m));
	}
	m = good;
	m.v[MOTION_ROTATION] = -1;
	assert_false(motion_valid(&m));
	m.v[MOTION_ROTATION] = 0;
	assert_false(motion_valid(&m));
}

TEST(moving_objects_are_predicted)
{
	struct motion_real real = still, back;
	struct motion m, p;

	real.position[0] = 10;
	real.velocity[0] = -2;
	real.velocity[2] = 0.001;
	assert_int_equal(motion_from_real(&real, 0, &m), 0);
	motion_predict(&m, 500000000, &p);
	motion_to_real(&p, 0, &back);
	assert_true(fabs(back.position[0] - 9) < 1e-9 && back.position[2] == 0); /* half a millimetre is none */
	motion_predict(&m, -1, &p);
	assert_int_equal(p.v[0], m.v[0]);
	motion_predict(&m, INT64_MAX, &p);
	assert_int_equal(p.v[0], 10000 - 2000 * 32);
}
