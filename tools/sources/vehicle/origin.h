/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the map lies on the earth: its origin in degrees; from there it is the UTM grid of the origin's zone.
 * Thread: any; pure.
 */
#ifndef SOURCES_VEHICLE_ORIGIN_H
#define SOURCES_VEHICLE_ORIGIN_H

#include <stdbool.h>

struct origin {
	bool given;
	double lat_deg, lon_deg;
	int zone;
	double easting, northing; /* UTM */
};

/* "LAT,LON" in degrees; NULL or "": not given. -EINVAL. */
int origin_parse(struct origin *ret, const char *text);

/* Of a point of the map, to 1 mm within some 100 km; 0, 0 without an origin. */
void origin_degrees(const struct origin *o, double x, double y, double *ret_lat_deg, double *ret_lon_deg);

#endif
