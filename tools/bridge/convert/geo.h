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

/* Better than 1 mm inside the zone. -EINVAL outside -180..180, -80..84 degrees. */
int geo_utm(double lon_deg, double lat_deg, struct geo_utm *ret);
/*
 * In a zone of the caller's, 1..60, wherever in the world it is: for who must not see coordinates jump at a border. south: 10000000 is
 * added, on both sides of the equator; else on none. Better than 1 mm to 20 degrees from the zone's meridian; -EINVAL beyond.
 */
int geo_utm_in(int zone, bool south, double lon_deg, double lat_deg, struct geo_utm *ret);
/* The way back, as good; -EINVAL beyond 20 degrees from the zone's meridian, or -80..84. */
int geo_of_utm(int zone, bool south, double easting, double northing, double *ret_lon_deg, double *ret_lat_deg);

#endif
