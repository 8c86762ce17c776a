/* SPDX-License-Identifier: Apache-2.0 */
/* An occupancy grid. See grid.h. */
#include "grid.h"

#include <string.h>

#include "space.h"

/* The corners of a box from above, anticlockwise, from the ego. */
static void corners_of(const struct scene_entity *e, const struct scene_entity *ego, struct raster_point ret[4])
{
	static const double sign[4][2] = { { 1, -1 }, { 1, 1 }, { -1, 1 }, { -1, -1 } };

	for (int i = 0; i < 4; i++) {
		struct sim_Vector3 at = { .x = e->box_center.x + sign[i][0] * e->box_size.x / 2,
					  .y = e->box_center.y + sign[i][1] * e->box_size.y / 2 };

		at = space_sub(space_add(e->pose.position, space_rotate(e->pose.orientation, at)), ego->pose.position);
		ret[i] = (struct raster_point){ at.x, at.y };
	}
}

void grid_fill(const struct grid *g, const struct scene *scene, int8_t *cells)
{
	const struct raster raster = { g->resolution, g->width, g->height };
	const struct scene_entity *ego = scene_ego(scene);

	memset(cells, 0, (size_t)g->width * g->height);
	for (size_t i = 0; ego && i < scene->n_entities; i++) {
		const struct scene_entity *e = &scene->entity[i];
		struct sim_Vector3 d = space_sub(e->pose.position, ego->pose.position);
		struct raster_point c[4];

		if (!(e->box_size.x > 0 && e->box_size.y > 0)) /* covers nothing */
			continue;
		if (e == ego || (g->range > 0 && d.x * d.x + d.y * d.y + d.z * d.z > g->range * g->range))
			continue;
		corners_of(e, ego, c);
		raster_box(&raster, c, cells);
	}
}
