/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An occupancy grid around the ego, north up: cells whose centre an object covers, and those that lie behind one as seen from the
 * middle. Each object is its box from above; a row is filled at once, so that the cost is that of rows times objects.
 *
 * Thread: any; pure.
 */
#ifndef SOURCES_SS2_GRID_H
#define SOURCES_SS2_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "scene.h"

#define GRID_CELLS_MAX ((size_t)1 << 20)

struct grid {
	double resolution;      /* m */
	uint32_t width, height; /* cells along x and y */
	double range;           /* m; 0: all there is */
};

/* Fill width x height cells (OccupancyGrid) around the ego. Nothing but free cells without one. */
void grid_fill(const struct grid *g, const struct scene *scene, int8_t *cells);

#endif
