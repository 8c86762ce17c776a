/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the sun stands, and what colour that makes the light. Formulae: NOAA Global Monitoring Laboratory, "General Solar Position
 * Calculations" (a fraction of a degree, without refraction). Thread: any.
 */
#ifndef CAMERA_SUN_H
#define CAMERA_SUN_H

#include <stdint.h>

/* Direction to the sun in the map (x east, y north, z up), of length 1. time_ns: since 1970-01-01 UTC; degrees north and east. */
void sun_direction(int64_t time_ns, double latitude_deg, double longitude_deg, double ret_enu[3]);

/* Linear light, 0 to 1. */
struct sun_light {
	float sun[3];     /* of the disc, on what faces it; 0 at night */
	float ambient[3]; /* of the sky, on all */
	float zenith[3], horizon[3];
};
/* up: the z of its direction. Not measured: made to look right by day, at dusk and at night. */
void sun_light(double up, struct sun_light *ret);

#endif
