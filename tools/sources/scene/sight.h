/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sensor without rays of its own sees of boxes (scan.h): which boxes are in its view and not hidden by others,
 * and the distance to the nearest surface.
 *
 * Coordinates are the sensor's: x forward, y left, z up. Its view is a sector: azimuth and elevation within bounds,
 * between two distances. Boxes that contain the sensor hide nothing.
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
	double half_up_rad;          /* likewise for the elevation, up to M_PI / 2 */
	double range_min, range_max; /* m */
};

/*
 * Whether box i of n is seen. 27 points of it are tested: its middle, and points near the middles of its faces and
 * edges and near its corners, a tenth of half its size or less inside the faces. The box is seen if one of them is in
 * view and no other box is on the line to it.
 */
bool sight_sees(const struct sight *s, const struct scan_box *boxes, size_t n, size_t i);

/*
 * The exact distance to the nearest point of a box in the view of a sensor; INFINITY: no point is in view. half_rad
 * must be below M_PI / 2. Hidden points need no test, since a box that hides a point is nearer: the least of these
 * distances over all boxes is the distance of an echo.
 */
double sight_nearest(const struct sight *s, const struct scan_box *box);

#endif
