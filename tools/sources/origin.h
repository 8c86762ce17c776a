/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Position of a map on the earth: the map's origin in degrees, and the UTM grid of the origin's zone. A map of another
 * projection is fitted to that grid at one point by a rotation; its scale differs from the grid's.
 * Thread: any; pure.
 */
#ifndef SOURCES_ORIGIN_H
#define SOURCES_ORIGIN_H

#include <stdbool.h>

struct origin {
	bool given;
	double lat_deg, lon_deg;
	int zone;
	double easting, northing; /* UTM */
	double turn;              /* rad, anticlockwise: angle from the grid's east to the map's x */
};

/* A point of the map, with its latitude and longitude. */
struct origin_point {
	double x, y; /* m, map */
	double lat_deg, lon_deg;
};

/* text: "LAT,LON" in degrees; NULL or "": not given. -EINVAL. */
int origin_parse(struct origin *ret, const char *text);
/* The same from numbers. -EINVAL: no position on the earth, or none in UTM. */
int origin_set(struct origin *ret, double lat_deg, double lon_deg);
/*
 * Fit the map to the grid of the zone of `at`, so that position and direction agree there. `beside` is some hundred
 * metres away. -EINVAL: `at` is not a position on the earth, or not in UTM, or both points have the same position.
 */
int origin_fit(struct origin *ret, const struct origin_point *at, const struct origin_point *beside);

/*
 * Degrees of a point of the map. False, with 0, 0: there is no origin, or the point is beyond the grid, so there is no
 * fix.
 */
bool origin_degrees(const struct origin *o, double x, double y, double *ret_lat_deg, double *ret_lon_deg);

/* Whether these are a valid latitude and longitude. */
bool origin_is_on_earth(double lat_deg, double lon_deg);

#endif
