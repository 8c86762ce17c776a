/* SPDX-License-Identifier: Apache-2.0 */
/* Where the map lies on the earth. See origin.h. */
#include "origin.h"

#include <errno.h>
#include <math.h>

#include "bridge/convert/geo.h"
#include "err.h"
#include "number.h"

bool origin_is_on_earth(double lat_deg, double lon_deg)
{
	return fabs(lat_deg) <= 90 && fabs(lon_deg) <= 180; /* false of what is not finite */
}

int origin_set(struct origin *ret, double lat_deg, double lon_deg)
{
	struct geo_utm utm;

	if (geo_utm(lon_deg, lat_deg, &utm) < 0)
		return -EINVAL;
	*ret = (struct origin){ .given = true,
				.lat_deg = lat_deg,
				.lon_deg = lon_deg,
				.zone = utm.zone,
				.easting = utm.easting,
				.northing = utm.northing };
	return 0;
}

int origin_parse(struct origin *ret, const char *text)
{
	double degrees[2];

	*ret = (struct origin){ 0 };
	if (!text || !*text)
		return 0;
	if (number_f64s(text, degrees, 2) != 2 || origin_set(ret, degrees[0], degrees[1]) < 0)
		return err_set(-EINVAL, "\"%.60s\" is no place on the earth; give LAT,LON in degrees", text);
	return 0;
}

bool origin_degrees(const struct origin *o, double x, double y, double *ret_lat_deg, double *ret_lon_deg)
{
	*ret_lat_deg = *ret_lon_deg = 0;
	return o->given &&
	       geo_of_utm(o->zone, o->lat_deg < 0, o->easting + x, o->northing + y, ret_lon_deg, ret_lat_deg) == 0;
}
