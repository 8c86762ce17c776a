/* SPDX-License-Identifier: Apache-2.0 */
/* An occupancy grid of boxes. See raster.h. */
#include "raster.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <sim/msg/OccupancyGrid.h>

/* a x + b y + c >= 0 */
struct half_plane {
	double a, b, c;
};

static double cross(struct raster_point p, struct raster_point q)
{
	return p.x * q.y - q.x * p.y;
}

/* What is to the left of the way from p to q. */
static struct half_plane left_of(struct raster_point p, struct raster_point q)
{
	return (struct half_plane){ p.y - q.y, q.x - p.x, cross(p, q) };
}

/* The part of a row in which all of them hold. */
static void span_of(const struct half_plane *h, int n, double y, double *lo, double *hi)
{
	for (int i = 0; i < n; i++) {
		double rest = h[i].b * y + h[i].c;

		if (h[i].a > 0)
			*lo = fmax(*lo, -rest / h[i].a);
		else if (h[i].a < 0)
			*hi = fmin(*hi, -rest / h[i].a);
		else if (rest < 0)
			*hi = -INFINITY;
	}
}

static void fill(const struct raster *g, const struct half_plane *h, int n, int8_t value, int8_t *cells)
{
	double side = g->resolution, half_x = g->width * side / 2, half_y = g->height * side / 2;

	for (uint32_t row = 0; row < g->height; row++) {
		double lo = -half_x, hi = half_x, first, last;

		span_of(h, n, (row + 0.5) * side - half_y, &lo, &hi);
		first = ceil((lo + half_x) / side - 0.5); /* centres between lo and hi */
		last = floor((hi + half_x) / side - 0.5);
		for (double col = fmax(first, 0); col <= last && col < g->width; col++) {
			int8_t *cell = &cells[(size_t)row * g->width + (size_t)col];

			*cell = *cell > value ? *cell : value;
		}
	}
}

/* What lies behind a box: between the rays along its outermost corners, beyond the line from one to the other. */
static void shade(const struct raster *g, const struct raster_point c[4], int8_t *cells)
{
	struct raster_point right = c[0], left = c[0];
	struct half_plane behind[3];

	for (int i = 1; i < 4; i++) {
		if (cross(right, c[i]) < 0)
			right = c[i];
		if (cross(left, c[i]) > 0)
			left = c[i];
	}
	behind[0] = left_of((struct raster_point){ 0, 0 }, right);
	behind[1] = left_of(left, (struct raster_point){ 0, 0 });
	behind[2] = left_of(left, right);
	fill(g, behind, 3, SIM_OCCUPANCY_GRID_HIDDEN, cells);
}

void raster_box(const struct raster *g, const struct raster_point c[4], int8_t *cells)
{
	struct half_plane box[4];
	bool around = true;

	for (int i = 0; i < 4; i++) {
		box[i] = left_of(c[i], c[(i + 1) % 4]);
		around = around && box[i].c > 0;
	}
	if (around) /* who stands in it sees nothing, as the reference has it */
		memset(cells, SIM_OCCUPANCY_GRID_HIDDEN, (size_t)g->width * g->height);
	else
		shade(g, c, cells);
	fill(g, box, 4, SIM_OCCUPANCY_GRID_OCCUPIED, cells);
}
