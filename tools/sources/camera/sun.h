/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sun's position, and the colour of its light. Formulae: NOAA Global Monitoring Laboratory, "General Solar Position
 * Calculations" (within a fraction of a degree, without refraction). Thread: any.
 */
#ifndef CAMERA_SUN_H
#define CAMERA_SUN_H

#include <stdint.h>

/* Unit vector to the sun in the map (x east, y north, z up). time_ns: since 1970-01-01 UTC; degrees north and east. */
void sun_direction(int64_t time_ns, double latitude_deg, double longitude_deg, double ret_enu[3]);

/* Linear light, 0 to 1. */
struct sun_light {
	float sun[3];     /* of the sun, on surfaces facing it; 0 at night */
	float ambient[3]; /* of the sky, on all surfaces */
	float zenith[3], horizon[3];
};
/* up: z of the sun's direction. Chosen to look right by day, at dusk and at night, not measured. */
void sun_light(double up, struct sun_light *ret);

#endif
