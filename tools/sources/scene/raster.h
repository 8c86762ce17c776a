/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An occupancy grid around an observer, from convex shapes seen from above: the cells that a shape touches, and the
 * cells that touch the area hidden behind a shape as seen from the middle. A shape outside the grid has no effect. The
 * cost grows with rows times corners.
 *
 * Thread: any; pure.
 */
#ifndef SOURCES_SCENE_RASTER_H
#define SOURCES_SCENE_RASTER_H

#include <stddef.h>
#include <stdint.h>

#define RASTER_CELLS_MAX  ((size_t)1 << 20)
#define RASTER_POINTS_MAX 8 /* corners of a box from above, in any orientation */

struct raster {
	double resolution;      /* m */
	uint32_t width, height; /* cells along x and y; at most RASTER_CELLS_MAX together */
};

/* m, from the middle of the grid, along its axes */
struct raster_point {
	double x, y;
};

/*
 * Add a shape to width x height cells (OccupancyGrid), which must be 0 before the first shape. p: the n corners of the
 * shape, 3 to RASTER_POINTS_MAX, convex, anticlockwise.
 */
void raster_shape(const struct raster *g, const struct raster_point *p, int n, int8_t *cells);

#endif
