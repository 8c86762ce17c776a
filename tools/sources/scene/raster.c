/* SPDX-License-Identifier: Apache-2.0 */
/* An occupancy grid of convex shapes. See raster.h. */
#include "raster.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <sim/msg/OccupancyGrid.h>

#define CUT_MAX (4 + RASTER_POINTS_MAX) /* corners of the grid, and one more for each cut along a side of a shape */

/* a x + b y + c >= 0 */
struct half_plane {
	double a, b, c;
};

/* The rest of the grid after cuts: its corners, anticlockwise. */
struct cut {
	struct raster_point p[CUT_MAX];
	int n;
};

static double cross(struct raster_point p, struct raster_point q)
{
	return p.x * q.y - q.x * p.y;
}

/* The half-plane to the left of the line from p to q. */
static struct half_plane left_of(struct raster_point p, struct raster_point q)
{
	return (struct half_plane){ p.y - q.y, q.x - p.x, cross(p, q) };
}

static struct cut whole(const struct raster *g)
{
	double x = g->width * g->resolution / 2, y = g->height * g->resolution / 2;

	return (struct cut){ .p = { { -x, -y }, { x, -y }, { x, y }, { -x, y } }, .n = 4 };
}

/* Cut a convex shape along a line; it has at most one corner more afterwards. */
static void cut_along(struct cut *c, struct half_plane h)
{
	struct cut from = *c;

	c->n = 0;
	for (int i = 0; i < from.n; i++) {
		struct raster_point p = from.p[i], q = from.p[(i + 1) % from.n];
		double dp = h.a * p.x + h.b * p.y + h.c, dq = h.a * q.x + h.b * q.y + h.c, t = dp / (dp - dq);

		if (dp >= 0 && c->n < CUT_MAX)
			c->p[c->n++] = p;
		if ((dp > 0 && dq < 0) || (dp < 0 && dq > 0)) {
			if (c->n < CUT_MAX)
				c->p[c->n++] = (struct raster_point){ p.x + t * (q.x - p.x), p.y + t * (q.y - p.y) };
		}
	}
}

/* Widen lo..hi by the part of the edge from p to q that lies in the row; all in cells. */
static void reach(struct raster_point p, struct raster_point q, double row, double *lo, double *hi)
{
	struct raster_point low = p.y < q.y ? p : q, high = p.y < q.y ? q : p;
	double slope = (high.x - low.x) / (high.y - low.y), x0, x1;

	if (high.y < row || low.y >= row + 1)
		return;
	x0 = low.y < row ? low.x + (row - low.y) * slope : low.x;
	x1 = high.y > row + 1 ? low.x + (row + 1 - low.y) * slope : high.x;
	*lo = fmin(*lo, fmin(x0, x1));
	*hi = fmax(*hi, fmax(x0, x1));
}

static void fill_row(const struct raster *g, uint32_t row, double lo, double hi, int8_t value, int8_t *cells)
{
	int8_t *at = cells + (size_t)row * g->width;

	for (double col = fmax(floor(lo), 0); col <= hi && col < g->width; col++) {
		int8_t *cell = &at[(size_t)col];

		*cell = *cell > value ? *cell : value;
	}
}

/* Set every cell that the shape touches. */
static void fill(const struct raster *g, struct cut *c, int8_t value, int8_t *cells)
{
	double first = INFINITY, last = -INFINITY;

	for (int i = 0; i < c->n; i++) {
		c->p[i].x = c->p[i].x / g->resolution + g->width / 2.0;
		c->p[i].y = c->p[i].y / g->resolution + g->height / 2.0;
		first = fmin(first, c->p[i].y);
		last = fmax(last, c->p[i].y);
	}
	for (double row = fmax(floor(first), 0); row <= last && row < g->height; row++) {
		double lo = INFINITY, hi = -INFINITY;

		for (int i = 0; i < c->n; i++)
			reach(c->p[i], c->p[(i + 1) % c->n], row, &lo, &hi);
		fill_row(g, (uint32_t)row, lo, hi, value, cells);
	}
}

/* Shade the area behind a shape: between the rays along its outermost corners, beyond the line that joins them. */
static void shade(const struct raster *g, const struct raster_point *p, int n, int8_t *cells)
{
	struct raster_point right = p[0], left = p[0];
	struct cut c = whole(g);

	for (int i = 1; i < n; i++) {
		if (cross(right, p[i]) < 0)
			right = p[i];
		if (cross(left, p[i]) > 0)
			left = p[i];
	}
	cut_along(&c, left_of((struct raster_point){ 0, 0 }, right));
	cut_along(&c, left_of(left, (struct raster_point){ 0, 0 }));
	cut_along(&c, left_of(left, right));
	fill(g, &c, SIM_OCCUPANCY_GRID_HIDDEN, cells);
}

void raster_shape(const struct raster *g, const struct raster_point *p, int n, int8_t *cells)
{
	struct cut shape = whole(g);
	bool around = true;

	for (int i = 0; i < n; i++) {
		struct half_plane side = left_of(p[i], p[(i + 1) % n]);

		cut_along(&shape, side);
		around = around && side.c > 0;
	}
	if (shape.n == 0) /* outside the grid */
		return;
	if (around) /* an observer inside the shape sees nothing, as in the reference simulator */
		memset(cells, SIM_OCCUPANCY_GRID_HIDDEN, (size_t)g->width * g->height);
	else
		shade(g, p, n, cells);
	fill(g, &shape, SIM_OCCUPANCY_GRID_OCCUPIED, cells);
}
