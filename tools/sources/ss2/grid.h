/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An occupancy grid around the ego, north up (../scene/raster.h). It shows the boxes that the lidar has hit, seen from
 * above, in any orientation.
 *
 * Thread: any; pure.
 */
#ifndef SOURCES_SS2_GRID_H
#define SOURCES_SS2_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "../scene/raster.h"

struct sensors_look;

#define GRID_CELLS_MAX RASTER_CELLS_MAX

struct grid {
	double resolution;      /* m */
	uint32_t width, height; /* cells along x and y */
	double range;           /* m; 0: no limit */
};

/* Fill width x height cells (OccupancyGrid) around the ego of the look. */
void grid_fill(const struct grid *g, const struct sensors_look *look, int8_t *cells);

#endif
