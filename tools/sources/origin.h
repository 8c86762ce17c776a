/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a map lies on the earth: its origin in degrees; from there it is the UTM grid of the origin's zone. A map of another projection is laid onto that
 * grid at a place of it: it is turned against the grid there, and its scale is another.
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
	double turn;              /* rad, anticlockwise: from the grid's east to the map's x */
};

/* A point of the map of which the degrees are known. */
struct origin_point {
	double x, y; /* m, map */
	double lat_deg, lon_deg;
};

/* "LAT,LON" in degrees; NULL or "": not given. -EINVAL. */
int origin_parse(struct origin *ret, const char *text);
/* The same from numbers. -EINVAL: no place on the earth, or one without UTM. */
int origin_set(struct origin *ret, double lat_deg, double lon_deg);
/*
 * So that the map meets the grid of the zone of `at` exactly there, and points the same way: `beside` is some hundred metres away. -EINVAL: `at` is no
 * place on the earth, or one without UTM, or the two are one place.
 */
int origin_fit(struct origin *ret, const struct origin_point *at, const struct origin_point *beside);

/* Of a point of the map. False: 0, 0, as there is no origin, or the point is beyond the grid: no fix there. */
bool origin_degrees(const struct origin *o, double x, double y, double *ret_lat_deg, double *ret_lon_deg);

/* Whether that is a latitude and a longitude at all. */
bool origin_is_on_earth(double lat_deg, double lon_deg);

#endif
