/* SPDX-License-Identifier: Apache-2.0 */
/* See sun.h. */
#include "sun.h"

#include <math.h>
#include <stdbool.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)
#define RAD      (M_PI / 180)

/* Equation of time, in minutes; *ret_declination: in radians. year_rad: 2 pi per year. */
static double equation_of_time(double year_rad, double *ret_declination)
{
	double g = year_rad;

	*ret_declination = 0.006918 - 0.399912 * cos(g) + 0.070257 * sin(g) - 0.006758 * cos(2 * g) +
			   0.000907 * sin(2 * g) - 0.002697 * cos(3 * g) + 0.00148 * sin(3 * g);
	return 229.18 *
	       (0.000075 + 0.001868 * cos(g) - 0.032077 * sin(g) - 0.014615 * cos(2 * g) - 0.040849 * sin(2 * g));
}

static bool is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

void sun_direction(int64_t time_ns, double latitude_deg, double longitude_deg, double ret_enu[3])
{
	time_t s = (time_t)(time_ns / NS_PER_S - (time_ns % NS_PER_S < 0));
	double lat = latitude_deg * RAD, hours, declination, minutes, angle;
	struct tm t;

	gmtime_r(&s, &t);
	hours = t.tm_hour + t.tm_min / 60.0 + t.tm_sec / 3600.0;
	minutes = equation_of_time(2 * M_PI / (is_leap(t.tm_year + 1900) ? 366 : 365) * (t.tm_yday + (hours - 12) / 24),
				   &declination);
	/* hour angle: 0 at solar noon, positive in the afternoon */
	angle = (hours * 60 + minutes + 4 * longitude_deg) / 4 * RAD - M_PI;
	ret_enu[0] = -cos(declination) * sin(angle);
	ret_enu[1] = cos(lat) * sin(declination) - sin(lat) * cos(declination) * cos(angle);
	ret_enu[2] = sin(lat) * sin(declination) + cos(lat) * cos(declination) * cos(angle);
}

/* ---- colours ---- */

/* Colours at certain elevations of the sun, interpolated in between: by day, before sunset, at sunset, at night. */
static const struct {
	double up;
	struct sun_light light;
} STAGES[] = {
	{ -0.20, { { 0, 0, 0 }, { 0.02f, 0.025f, 0.05f }, { 0.005f, 0.008f, 0.02f }, { 0.015f, 0.02f, 0.04f } } },
	{ -0.03, { { 0, 0, 0 }, { 0.12f, 0.13f, 0.20f }, { 0.05f, 0.08f, 0.20f }, { 0.45f, 0.28f, 0.20f } } },
	{ 0.10,
	  { { 0.85f, 0.55f, 0.32f }, { 0.22f, 0.24f, 0.32f }, { 0.12f, 0.22f, 0.48f }, { 0.75f, 0.60f, 0.48f } } },
	{ 0.40, { { 1.0f, 0.94f, 0.84f }, { 0.32f, 0.37f, 0.46f }, { 0.13f, 0.29f, 0.62f }, { 0.66f, 0.76f, 0.88f } } },
};

#define N_STAGES (sizeof(STAGES) / sizeof(STAGES[0]))

static void blend(const float a[3], const float b[3], float k, float ret[3])
{
	for (unsigned i = 0; i < 3; i++)
		ret[i] = a[i] + k * (b[i] - a[i]);
}

void sun_light(double up, struct sun_light *ret)
{
	unsigned i = 0;
	float k;

	while (i + 2 < N_STAGES && up > STAGES[i + 1].up)
		i++;
	k = (float)fmin(fmax((up - STAGES[i].up) / (STAGES[i + 1].up - STAGES[i].up), 0), 1);
	blend(STAGES[i].light.sun, STAGES[i + 1].light.sun, k, ret->sun);
	blend(STAGES[i].light.ambient, STAGES[i + 1].light.ambient, k, ret->ambient);
	blend(STAGES[i].light.zenith, STAGES[i + 1].light.zenith, k, ret->zenith);
	blend(STAGES[i].light.horizon, STAGES[i + 1].light.horizon, k, ret->horizon);
}
