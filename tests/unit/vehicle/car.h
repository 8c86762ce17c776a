/* SPDX-License-Identifier: Apache-2.0 */
/* A car for tests, and comparing. Include first. Thread: the test's. */
#ifndef UNIT_VEHICLE_CAR_H
#define UNIT_VEHICLE_CAR_H

#include "tests/support/test.h"

#include "err.h"
#include "rnd.h"
#include "tools/sources/vehicle/vehicle.h"

#include <math.h>

#define MS  INT64_C(1000000)
#define S   (1000 * MS)
#define WB  2.79
#define CAR "\"wheel_base\": 2.79"

static inline void near_to(double a, double b, double eps, const char *what, int line)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("line %d: %s: %.15g is not %.15g within %g", line, what, a, b, eps);
}
#define near(a, b, eps) near_to(a, b, eps, #a, __LINE__)

/* 0 <= x < 1 */
static inline double unit(struct rnd *r)
{
	return (double)(rnd_u64(r) >> 11) * 0x1p-53;
}

static inline struct vehicle_params car(const char *json)
{
	struct vehicle_params p;

	assert_ok(params_parse("test", json, &p));
	return p;
}

#endif
