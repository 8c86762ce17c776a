/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sensor that has no rays of its own sees of boxes (scan.h): which of them are in its view and not behind others, and how
 * near the nearest surface is.
 *
 * Coordinates are the sensor's: x forward, y left, z up. Its view is a sector: azimuth and elevation within bounds, between two
 * distances. Boxes that the sensor is inside of hide nothing.
 *
 * Thread: any; pure, nothing is allocated.
 */
#ifndef SOURCES_SCENE_SIGHT_H
#define SOURCES_SCENE_SIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "scan.h"

struct sight {
	double half_rad;             /* azimuth -half_rad .. half_rad; M_PI: all round */
	double half_up_rad;          /* the same of the elevation, up to M_PI / 2 */
	double range_min, range_max; /* m */
};

/*
 * Whether box i of n is seen. Looked at are 27 points of it, a tenth of its size or less from its faces: its middle, and those of its edges
 * and faces; it is seen if one of them is in view, and no other box is on the way there.
 */
bool sight_sees(const struct sight *s, const struct scan_box *boxes, size_t n, size_t i);

/*
 * The distance to the nearest point of a box in the view of a sensor, exact; INFINITY: none is in it. half_rad must be below
 * M_PI / 2. What hides the nearest point of all boxes would be nearer: the least of these is what an echo gives.
 */
double sight_nearest(const struct sight *s, const struct scan_box *box);

#endif
