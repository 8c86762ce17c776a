/* SPDX-License-Identifier: Apache-2.0 */
/* An obstacle, as the three components use it: an upright box in base_link (x forward, y left, z up, on the road). */
#ifndef PERCEPTION_OBSTACLE_H
#define PERCEPTION_OBSTACLE_H

#include <stdint.h>

#define OBSTACLES_MAX 256 /* per cloud, and tracks; the nearest are kept */

struct obstacle {
	double x, y, z;               /* m, centre of the box */
	double length, width, height; /* m, along its own x, y, z; length >= width */
	double yaw;                   /* rad, of its own x axis, -pi/2 .. pi/2 */
	uint32_t points;              /* of the cloud; 0: not seen in it */
};

#endif
