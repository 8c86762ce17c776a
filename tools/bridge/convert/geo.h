/* SPDX-License-Identifier: Apache-2.0 */
/* UTM coordinates of a geographic position on the WGS 84 ellipsoid. Thread: any, pure. */
#ifndef CONVERT_GEO_H
#define CONVERT_GEO_H

#include <stdbool.h>

struct geo_utm {
	int zone;        /* 1..60 */
	double easting;  /* m, 500000 on the central meridian */
	double northing; /* m from the equator; south of it 10000000 is added */
};

/* UTM coordinates, to better than 1 mm inside the zone. -EINVAL outside -180..180, -80..84 degrees. */
int geo_utm(double lon_deg, double lat_deg, struct geo_utm *ret);
/*
 * In the given zone, 1..60, for any position: for callers whose coordinates must not jump at a zone's border. south:
 * adds 10000000 on both sides of the equator; else on neither. Better than 1 mm up to 20 degrees from the zone's
 * meridian; -EINVAL beyond.
 */
int geo_utm_in(int zone, bool south, double lon_deg, double lat_deg, struct geo_utm *ret);
/* The inverse, with the same precision; -EINVAL beyond 20 degrees from the zone's meridian, or outside -80..84. */
int geo_of_utm(int zone, bool south, double easting, double northing, double *ret_lon_deg, double *ret_lat_deg);

#endif
