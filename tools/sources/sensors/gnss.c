/* SPDX-License-Identifier: Apache-2.0 */
/* A satellite receiver. See gnss.h. */
#include "gnss.h"

#include <math.h>
#include <string.h>

#include "../origin.h"
#include "../scene/chance.h"
#include "bridge/convert/geo.h"
#include "motion.h"

void gnss_init(struct gnss *g, const struct sensor_config *c)
{
	*g = (struct gnss){ .c = c };
}

/* If the exact message has no fix, or no position on the earth, the receiver has no fix either. */
static bool has_fix(const struct sim_Gps *truth)
{
	return truth->status != SIM_GPS_STATUS_NO_FIX && origin_is_on_earth(truth->latitude, truth->longitude);
}

static void forget_fix(struct sim_Gps *g)
{
	g->latitude = g->longitude = 0;
	g->status = SIM_GPS_STATUS_NO_FIX;
}

static bool in_outage(const struct gnss *g, int64_t stamp_sim_ns)
{
	double at_s = (double)stamp_sim_ns / 1e9;

	for (size_t i = 0; i < g->c->n_outages; i++)
		if (at_s >= g->c->outage[i].from_s && at_s < g->c->outage[i].to_s)
			return true;
	return false;
}

/* A new generation of the clock starts with the seed again: the errors of a seed do not depend on what was before. */
static void drift(struct gnss *g, int64_t stamp_sim_ns, uint32_t clock_generation)
{
	const double sigma[3] = { g->c->noise, g->c->noise, g->c->noise_up };
	bool first = !g->started || clock_generation != g->clock_generation;
	double dt_s = (double)(stamp_sim_ns - g->last_sim_ns) / 1e9, left = 0;

	if (first) {
		rnd_seed(&g->rnd, (uint64_t)g->c->seed);
		memset(&g->last, 0, sizeof(g->last));
	}
	if (!first && g->c->drift_s > 0)
		left = exp(-fmax(dt_s, 0) / g->c->drift_s);
	for (int i = 0; i < 3; i++)
		g->error[i] = left * g->error[i] + sqrt(1 - left * left) * chance_normal(&g->rnd, sigma[i]);
	g->started = true;
	g->clock_generation = clock_generation;
	g->last_sim_ns = stamp_sim_ns;
}

/* The map is part of the grid, so east in the map is easting. Where there is no grid, the degrees are not changed. */
static void move(struct sim_Gps *g, double east, double north, double up)
{
	struct geo_utm at;

	g->easting += east;
	g->northing += north;
	g->altitude += up;
	if (g->status != SIM_GPS_STATUS_NO_FIX && (east != 0 || north != 0) &&
	    geo_utm(g->longitude, g->latitude, &at) == 0)
		(void)geo_of_utm(at.zone, g->latitude < 0, at.easting + east, at.northing + north, &g->longitude,
				 &g->latitude);
}

void gnss_measure(struct gnss *g, const struct sim_Gps *truth, int64_t stamp_sim_ns, uint32_t clock_generation,
		  struct sim_Gps *ret)
{
	const struct sensor_config *c = g->c;
	struct sim_Vector3 arm =
		motion_rotate(&truth->orientation, (struct sim_Vector3){ .x = c->x, .y = c->y, .z = c->z });

	g->has_fix = has_fix(truth);
	*ret = *truth;
	if (!g->has_fix)
		forget_fix(ret);
	drift(g, stamp_sim_ns, clock_generation);
	move(ret, arm.x + g->error[0], arm.y + g->error[1], arm.z + g->error[2]);
	if (c->noise > 0 || c->noise_up > 0) {
		memset(ret->position_covariance, 0, sizeof(ret->position_covariance));
		ret->position_covariance[0] = ret->position_covariance[4] = c->noise * c->noise;
		ret->position_covariance[8] = c->noise_up * c->noise_up;
	}
	if (in_outage(g, stamp_sim_ns)) {
		ret->latitude = g->last.latitude;
		ret->longitude = g->last.longitude;
		ret->altitude = g->last.altitude;
		ret->easting = g->last.easting;
		ret->northing = g->last.northing;
		ret->status = SIM_GPS_STATUS_NO_FIX;
	} else {
		g->last = *ret;
	}
}

void gnss_ins(const struct gnss *g, int64_t stamp_sim_ns, struct sim_GpsIns *ret)
{
	double sigma = fmax(g->c->noise, g->c->noise_up);

	ret->status = GNSS_INS_GOOD;
	if (!g->has_fix) {
		ret->status = GNSS_INS_INACTIVE;
		ret->position_type = GNSS_NONE;
	} else if (in_outage(g, stamp_sim_ns)) {
		ret->status = GNSS_INS_HIGH_VARIANCE;
		ret->position_type = GNSS_PROPAGATED;
	} else if (sigma < 0.05) {
		ret->position_type = GNSS_INS_RTK_FIXED;
	} else if (sigma < 0.5) {
		ret->position_type = GNSS_INS_RTK_FLOAT;
	} else {
		ret->position_type = sigma < 2 ? GNSS_INS_DIFFERENTIAL : GNSS_INS_SINGLE;
	}
}
