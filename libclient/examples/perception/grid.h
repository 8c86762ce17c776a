/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a cloud to obstacles: points on the road are removed by height, the rest falls into the cells of a level grid,
 * cells that touch (also at a corner) form a cluster, and each cluster gets the upright box with the shortest
 * perimeter.
 *
 * Thread: one at a time. Nothing is allocated after grid_create(); the same points in the same order give the same
 * bytes.
 */
#ifndef PERCEPTION_GRID_H
#define PERCEPTION_GRID_H

#include <stddef.h>
#include <stdint.h>

#include <sim/msg/Point.h>

#include "obstacle.h"

#define GRID_SIDE_MAX 2048 /* cells from edge to edge */

struct grid;

struct grid_params {
	double cell_m;                       /* edge of a cell */
	double range_m;                      /* how far the grid reaches from the sensor, to each of its four sides */
	double sensor_x, sensor_y, sensor_z; /* m, position of the sensor in base_link; its axes are parallel */
	double ground_m, ceiling_m;          /* height above the road: lower points are road, higher ones are ignored */
	uint32_t min_points;                 /* of a cluster */
};

struct grid_params grid_params_default(void);

/* Returns: 0; -EINVAL with the reason in *ret_why (static); -ENOMEM. */
int grid_create(const struct grid_params *p, struct grid **ret, const char **ret_why);
void grid_destroy(struct grid *g); /* NULL is fine */

/*
 * Writes the obstacles of a cloud, nearest first, at most OBSTACLES_MAX; returns how many. Ignores points whose
 * coordinates are not finite. Boxes reach down to the road.
 */
size_t grid_cluster(struct grid *g, const struct sim_Point *p, uint32_t n, struct obstacle *ret);

#endif
