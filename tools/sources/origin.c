/* SPDX-License-Identifier: Apache-2.0 */
/* Where the map lies on the earth. See origin.h. */
#include "origin.h"

#include <errno.h>
#include <math.h>

#include "bridge/convert/geo.h"
#include "err.h"
#include "number.h"

#define TURN_LEAST 1e-6 /* rad; a smaller angle is the rounding of a map that is the grid itself: 1 cm at 10 km */

bool origin_is_on_earth(double lat_deg, double lon_deg)
{
	return fabs(lat_deg) <= 90 && fabs(lon_deg) <= 180; /* false for values that are not finite */
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

int origin_fit(struct origin *ret, const struct origin_point *at, const struct origin_point *beside)
{
	struct geo_utm here, there;
	struct origin o;
	double turn;

	if (origin_set(&o, at->lat_deg, at->lon_deg) < 0 || geo_utm(at->lon_deg, at->lat_deg, &here) < 0 ||
	    geo_utm_in(here.zone, at->lat_deg < 0, beside->lon_deg, beside->lat_deg, &there) < 0)
		return -EINVAL;
	if (hypot(there.easting - here.easting, there.northing - here.northing) <= 0)
		return -EINVAL;
	turn = remainder(atan2(there.northing - here.northing, there.easting - here.easting) -
				 atan2(beside->y - at->y, beside->x - at->x),
			 2 * M_PI);
	o.turn = fabs(turn) < TURN_LEAST ? 0 : turn;
	o.easting = here.easting - at->x * cos(o.turn) + at->y * sin(o.turn);
	o.northing = here.northing - at->x * sin(o.turn) - at->y * cos(o.turn);
	*ret = o;
	return 0;
}

int origin_parse(struct origin *ret, const char *text)
{
	double degrees[2];

	*ret = (struct origin){ 0 };
	if (!text || !*text)
		return 0;
	if (number_f64s(text, degrees, 2) != 2 || origin_set(ret, degrees[0], degrees[1]) < 0)
		return err_set(-EINVAL, "\"%.60s\" is not a position on the earth; give LAT,LON in degrees", text);
	return 0;
}

bool origin_degrees(const struct origin *o, double x, double y, double *ret_lat_deg, double *ret_lon_deg)
{
	*ret_lat_deg = *ret_lon_deg = 0;
	return o->given && geo_of_utm(o->zone, o->lat_deg < 0, o->easting + x * cos(o->turn) - y * sin(o->turn),
				      o->northing + x * sin(o->turn) + y * cos(o->turn), ret_lon_deg, ret_lat_deg) == 0;
}
