/* SPDX-License-Identifier: Apache-2.0 */
/* An occupancy grid. See grid.h. */
#include "grid.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../space.h"
#include "sensors.h"

/*
 * m, m^2: smaller differences count as none, since the upper and the lower corners of a level box coincide from above
 */
#define SAME 1e-9

/* Corners of the box seen from above, relative to the ego's position. */
static void corners_of(const struct scene_entity *e, const struct sim_Pose *ego, struct raster_point ret[8])
{
	for (int i = 0; i < 8; i++) {
		struct sim_Vector3 at = { .x = e->box_center.x + (i & 1 ? 0.5 : -0.5) * e->box_size.x,
					  .y = e->box_center.y + (i & 2 ? 0.5 : -0.5) * e->box_size.y,
					  .z = e->box_center.z + (i & 4 ? 0.5 : -0.5) * e->box_size.z };

		at = space_sub(space_add(e->pose.position, space_rotate(e->pose.orientation, at)), ego->position);
		ret[i] = (struct raster_point){ at.x, at.y };
	}
}

static double apart(struct raster_point a, struct raster_point b)
{
	return hypot(b.x - a.x, b.y - a.y);
}

/*
 * Whether a string stretched around the points reaches q before p when it comes from `at`: q is to the right of p, or
 * further away in the same direction.
 */
static bool meets_first(struct raster_point at, struct raster_point p, struct raster_point q)
{
	double side = (p.x - at.x) * (q.y - at.y) - (p.y - at.y) * (q.x - at.x);

	return side < -SAME || (side <= SAME && apart(at, q) > apart(at, p));
}

/*
 * Convex hull of the eight corners, anticlockwise from the lowest: 4 points for a level box, up to 8 for an inclined
 * one. Returns the number of points.
 */
static int hull_of(const struct raster_point p[8], struct raster_point ret[RASTER_POINTS_MAX])
{
	int n = 0, at = 0, first;

	for (int i = 1; i < 8; i++)
		if (p[i].y < p[at].y)
			at = i;
	first = at;
	do {
		int next = (at + 1) % 8;

		for (int i = 0; i < 8; i++)
			if (meets_first(p[at], p[next], p[i]))
				next = i;
		ret[n++] = p[at];
		at = next;
	} while (n < RASTER_POINTS_MAX && apart(p[at], p[first]) > SAME);
	return n;
}

void grid_fill(const struct grid *g, const struct sensors_look *look, int8_t *cells)
{
	const struct raster raster = { g->resolution, g->width, g->height };

	memset(cells, 0, (size_t)g->width * g->height);
	for (uint32_t i = 0; i < look->n; i++) {
		const struct scene_entity *e = &look->object[i];
		struct raster_point c[8], hull[RASTER_POINTS_MAX];

		if (!(e->box_size.x > 0 && e->box_size.y > 0)) /* covers nothing */
			continue;
		corners_of(e, &look->ego, c);
		raster_shape(&raster, hull, hull_of(c, hull), cells);
	}
}
