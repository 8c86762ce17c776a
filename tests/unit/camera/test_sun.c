/* SPDX-License-Identifier: Apache-2.0 */
/* Where the sun stands at places and times for which that is known. */
#include "support/test.h"

#include <math.h>

#include "sun.h"

#define NS  INT64_C(1000000000)
#define DEG (180 / M_PI)

static void is_near(double is, double to, double by)
{
	if (!(fabs(is - to) <= by))
		fail_msg("%.12g is not %.12g", is, to);
}

static double height_deg(const double d[3])
{
	return asin(d[2]) * DEG;
}

/* 2024-03-20 12:07:30 UTC: the equinox was at 03:06, and the sun's noon at Greenwich then. */
TEST(at_the_equinox_the_sun_is_above_the_equator)
{
	double d[3];

	sun_direction(INT64_C(1710936450) * NS, 0, 0, d);
	assert_true(height_deg(d) > 89.5);
}

/* 2024-06-20 12:01:45 UTC, Greenwich (51.48 N): 90 - 51.48 + 23.44 degrees, in the south. */
TEST(at_the_summer_solstice_the_sun_is_high_at_greenwich)
{
	double d[3];

	sun_direction(INT64_C(1718884905) * NS, 51.48, 0, d);
	is_near(height_deg(d), 61.96, 0.2);
	assert_true(d[1] < 0);
	is_near(d[0], 0, 0.01);
}

/* 2024-12-21 11:58 UTC, Greenwich: 90 - 51.48 - 23.44. */
TEST(at_the_winter_solstice_the_sun_is_low)
{
	double d[3];

	sun_direction(INT64_C(1734782280) * NS, 51.48, 0, d);
	is_near(height_deg(d), 15.08, 0.2);
}

/* Munich, 2024-06-21: the almanac has sunrise at 03:14 UTC in the north-east, sunset at 19:17 in the north-west; the disc's middle is 0.83 below. */
TEST(sunrise_and_sunset_match_the_almanac)
{
	double d[3];

	sun_direction(INT64_C(1718939640) * NS, 48.14, 11.58, d);
	is_near(height_deg(d), -0.83, 0.5);
	assert_true(d[0] > 0 && d[1] > 0);
	sun_direction(INT64_C(1718997420) * NS, 48.14, 11.58, d);
	is_near(height_deg(d), -0.83, 0.5);
	assert_true(d[0] < 0 && d[1] > 0);
}

TEST(the_sun_direction_always_has_length_1)
{
	for (int64_t t = -NS * 86400 * 400; t < NS * 86400 * 40000; t += NS * 86399 * 97) {
		double d[3];

		sun_direction(t, -33.9, 151.2, d);
		is_near(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], 1, 1e-9);
	}
}

TEST(light_fades_continuously)
{
	struct sun_light was, is;

	sun_light(1, &was);
	assert_true(was.sun[0] > 0.9f && was.zenith[2] > was.zenith[0]);
	for (double up = 1; up >= -1; up -= 0.001) {
		sun_light(up, &is);
		for (unsigned i = 0; i < 3; i++) {
			assert_true(fabsf(is.sun[i] - was.sun[i]) < 0.02f);
			assert_true(fabsf(is.horizon[i] - was.horizon[i]) < 0.02f);
			assert_true(is.sun[i] <= was.sun[i] + 1e-6f);
		}
		was = is;
	}
	assert_true(is.sun[0] == 0 && is.ambient[2] < 0.1f);
}
