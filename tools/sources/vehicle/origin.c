/* SPDX-License-Identifier: Apache-2.0 */
/* Where the map lies on the earth. See origin.h. */
#include "origin.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bridge/convert/geo.h"
#include "err.h"

#define DEGREE_M 111320.0 /* about; the iteration makes up for it */
#define ROUNDS   8
#define NEAR_M   1e-5

int origin_parse(struct origin *ret, const char *text)
{
	char *end = NULL, *comma = NULL;
	struct geo_utm utm = { 0 };

	*ret = (struct origin){ .given = text && *text };
	if (!ret->given)
		return 0;
	ret->lat_deg = strtod(text, &comma);
	if (comma != text && *comma == ',')
		ret->lon_deg = strtod(comma + 1, &end);
	if (!end || end == comma + 1 || *end || geo_utm(ret->lon_deg, ret->lat_deg, &utm) < 0)
		return err_set(-EINVAL, "\"%.60s\" is no place on the earth; give LAT,LON in degrees", text);
	ret->zone = utm.zone;
	ret->easting = utm.easting;
	ret->northing = utm.northing;
	return 0;
}

void origin_degrees(const struct origin *o, double x, double y, double *ret_lat_deg, double *ret_lon_deg)
{
	double lat = o->lat_deg, lon = o->lon_deg, east = x, north = y;
	struct geo_utm at;

	for (int i = 0; o->given && i < ROUNDS && hypot(east, north) > NEAR_M; i++) {
		lat += north / DEGREE_M;
		lon += east / (DEGREE_M * cos(lat * M_PI / 180));
		if (geo_utm(lon, lat, &at) < 0 || at.zone != o->zone)
			break; /* at the edge of the zone: as near as it goes */
		east = o->easting + x - at.easting;
		north = o->northing + y - at.northing;
	}
	*ret_lat_deg = lat;
	*ret_lon_deg = lon;
}
