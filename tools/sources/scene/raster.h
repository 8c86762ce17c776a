/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An occupancy grid around whoever looks, as boxes seen from above: cells whose centre a box covers, and those that lie behind one as
 * seen from the middle. A row is filled at once, so that the cost is that of rows times boxes.
 *
 * Thread: any; pure.
 */
#ifndef SOURCES_SCENE_RASTER_H
#define SOURCES_SCENE_RASTER_H

#include <stddef.h>
#include <stdint.h>

#define RASTER_CELLS_MAX ((size_t)1 << 20)

struct raster {
	double resolution;      /* m */
	uint32_t width, height; /* cells along x and y; at most RASTER_CELLS_MAX together */
};

/* m, from the middle of the grid, along its axes */
struct raster_point {
	double x, y;
};

/* Add a box to width x height cells (OccupancyGrid), which were 0 before the first one. c: its corners, anticlockwise. */
void raster_box(const struct raster *g, const struct raster_point c[4], int8_t *cells);

#endif
