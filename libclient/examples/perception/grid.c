/* SPDX-License-Identifier: Apache-2.0 */
/* Clustering on a grid. See grid.h. */
#include "grid.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTIONS 24  /* tried for a box, over a quarter turn; a multiple of 8 for the compiler's vectors */
#define THIN_M     0.1 /* least thickness of a side that is seen as an edge */
#define NO_CLUSTER UINT16_MAX

/* A cell with points in it. */
struct cell {
	uint32_t at; /* index in the grid */
	uint32_t points;
	uint16_t cluster;
	bool reached;
};

struct cluster {
	uint32_t from, to; /* its cells: queue[from..to) */
	uint32_t points;
	uint64_t distance; /* distance of its nearest cell, in half cells, squared */
};

/* Extent of a cluster along and across each direction. */
struct extent {
	float lo_u[DIRECTIONS], hi_u[DIRECTIONS], lo_v[DIRECTIONS], hi_v[DIRECTIONS];
	float top;
};

struct grid {
	struct grid_params p;
	uint32_t side, row; /* cells per side, without and with the empty rim that saves bounds checks */
	uint32_t *cell_at;  /* [row * row] 1 + index into cells, 0: empty */
	struct cell *cells; /* in the order of their first points */
	uint32_t *queue;    /* indices into cells, cluster after cluster */
	uint32_t n_cells;
	uint32_t n_clusters;
	struct cluster clusters[OBSTACLES_MAX]; /* nearest first */
	struct extent extents[OBSTACLES_MAX];
	float cos_of[DIRECTIONS], sin_of[DIRECTIONS];
};

struct grid_params grid_params_default(void)
{
	return (struct grid_params){ .cell_m = 0.5,
				     .range_m = 60,
				     .sensor_x = 1.4,
				     .sensor_z = 1.9,
				     .ground_m = 0.3,
				     .ceiling_m = 2.5,
				     .min_points = 4 };
}

static const char *fault_of(const struct grid_params *p)
{
	if (!(p->cell_m >= 0.05 && p->cell_m <= 5))
		return "cell_m: 0.05 to 5";
	if (!(p->range_m >= 1 && p->range_m <= 1000))
		return "range_m: 1 to 1000";
	if (2 * p->range_m / p->cell_m > GRID_SIDE_MAX)
		return "range_m and cell_m: more than 2048 cells from edge to edge; make the cells larger";
	if (!(fabs(p->sensor_x) <= 50 && fabs(p->sensor_y) <= 50 && p->sensor_z >= 0 && p->sensor_z <= 50))
		return "sensor_x, sensor_y: -50 to 50; sensor_z: 0 to 50";
	if (!(p->ground_m >= 0 && p->ceiling_m > p->ground_m && p->ceiling_m <= 100))
		return "ground_m: 0 or more; ceiling_m: above ground_m, at most 100";
	return p->min_points ? NULL : "min_points: 1 or more";
}

int grid_create(const struct grid_params *p, struct grid **ret, const char **ret_why)
{
	const char *fault = fault_of(p);
	struct grid *g;
	size_t n;

	if (fault) {
		*ret_why = fault;
		return -EINVAL;
	}
	*ret_why = "no memory";
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->p = *p;
	g->side = (uint32_t)ceil(2 * p->range_m / p->cell_m);
	g->row = g->side + 2;
	n = (size_t)g->row * g->row;
	g->cell_at = calloc(n, sizeof(*g->cell_at));
	g->cells = calloc(n, sizeof(*g->cells));
	g->queue = calloc(n, sizeof(*g->queue));
	for (int d = 0; d < DIRECTIONS; d++) {
		g->cos_of[d] = (float)cos(M_PI / 2 * d / DIRECTIONS);
		g->sin_of[d] = (float)sin(M_PI / 2 * d / DIRECTIONS);
	}
	if (!g->cell_at || !g->cells || !g->queue) {
		grid_destroy(g);
		return -ENOMEM;
	}
	*ret = g;
	return 0;
}

void grid_destroy(struct grid *g)
{
	if (!g)
		return;
	free(g->cell_at);
	free(g->cells);
	free(g->queue);
	free(g);
}

/* ---- cells ---- */

/* Index of a point's cell in the grid; 0, which is in the rim: road, sky, beyond the grid, or not finite. */
static inline uint32_t place_of(const struct grid *g, const struct sim_Point *p)
{
	const float z = p->z + (float)g->p.sensor_z;
	const float x = (p->x + (float)g->p.range_m) / (float)g->p.cell_m;
	const float y = (p->y + (float)g->p.range_m) / (float)g->p.cell_m;

	if (!(z >= (float)g->p.ground_m && z <= (float)g->p.ceiling_m))
		return 0;
	if (!(x >= 0 && x < (float)g->side && y >= 0 && y < (float)g->side))
		return 0;
	return ((uint32_t)y + 1) * g->row + (uint32_t)x + 1;
}

static void fill_cells(struct grid *g, const struct sim_Point *p, uint32_t n)
{
	g->n_cells = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = place_of(g, &p[i]);

		if (!at)
			continue;
		if (!g->cell_at[at]) {
			g->cells[g->n_cells++] = (struct cell){ .at = at, .cluster = NO_CLUSTER };
			g->cell_at[at] = g->n_cells;
		}
		g->cells[g->cell_at[at] - 1].points++;
	}
}

/* ---- clusters ---- */

/* From the sensor to the middle of a cell, in half cells, squared: integers, so that equal distances compare equal. */
static uint64_t distance_of(const struct grid *g, uint32_t at)
{
	int64_t x = 2 * (int64_t)(at % g->row - 1) + 1 - g->side, y = 2 * (int64_t)(at / g->row - 1) + 1 - g->side;

	return (uint64_t)(x * x + y * y);
}

static uint32_t reach(struct grid *g, uint32_t at, uint32_t to)
{
	uint32_t cell = g->cell_at[at];

	if (!cell || g->cells[cell - 1].reached)
		return to;
	g->cells[cell - 1].reached = true;
	g->queue[to] = cell - 1;
	return to + 1;
}

/* The cluster of all cells connected with a cell, from queue[from] on. */
static struct cluster spread(struct grid *g, uint32_t cell, uint32_t from)
{
	struct cluster c = { .from = from, .distance = UINT64_MAX };

	c.to = reach(g, g->cells[cell].at, from);
	for (uint32_t i = from; i < c.to; i++) {
		const struct cell *one = &g->cells[g->queue[i]];
		uint64_t distance = distance_of(g, one->at);

		c.points += one->points;
		c.distance = distance < c.distance ? distance : c.distance;
		for (int dy = -1; dy <= 1; dy++)
			for (int dx = -1; dx <= 1; dx++)
				c.to = reach(g, (uint32_t)((int64_t)one->at + dy * (int64_t)g->row + dx), c.to);
	}
	return c;
}

/*
 * Keeps a cluster: nearest first; of equals the one whose points came first. Beyond OBSTACLES_MAX drops the farthest.
 */
static void keep(struct grid *g, const struct cluster *c)
{
	uint32_t i = g->n_clusters;

	while (i > 0 && g->clusters[i - 1].distance > c->distance)
		i--;
	if (g->n_clusters < OBSTACLES_MAX)
		g->n_clusters++;
	if (i == OBSTACLES_MAX)
		return;
	memmove(&g->clusters[i + 1], &g->clusters[i], (g->n_clusters - i - 1) * sizeof(*c));
	g->clusters[i] = *c;
}

static void find_clusters(struct grid *g)
{
	uint32_t used = 0;

	g->n_clusters = 0;
	for (uint32_t i = 0; i < g->n_cells; i++) {
		struct cluster c;

		if (g->cells[i].reached)
			continue;
		c = spread(g, i, used);
		used = c.to;
		if (c.points >= g->p.min_points)
			keep(g, &c);
	}
	for (uint32_t k = 0; k < g->n_clusters; k++)
		for (uint32_t i = g->clusters[k].from; i < g->clusters[k].to; i++)
			g->cells[g->queue[i]].cluster = (uint16_t)k;
}

/* ---- boxes ---- */

static void stretch(const struct grid *g, struct extent *e, const struct sim_Point *p)
{
	const float x = p->x, y = p->y;

	for (int d = 0; d < DIRECTIONS; d++) {
		float u = x * g->cos_of[d] + y * g->sin_of[d], v = y * g->cos_of[d] - x * g->sin_of[d];

		e->lo_u[d] = u < e->lo_u[d] ? u : e->lo_u[d];
		e->hi_u[d] = u > e->hi_u[d] ? u : e->hi_u[d];
		e->lo_v[d] = v < e->lo_v[d] ? v : e->lo_v[d];
		e->hi_v[d] = v > e->hi_v[d] ? v : e->hi_v[d];
	}
	e->top = p->z > e->top ? p->z : e->top;
}

static void measure(struct grid *g, const struct sim_Point *p, uint32_t n)
{
	for (uint32_t k = 0; k < g->n_clusters; k++) {
		for (int d = 0; d < DIRECTIONS; d++) {
			g->extents[k].lo_u[d] = g->extents[k].lo_v[d] = INFINITY;
			g->extents[k].hi_u[d] = g->extents[k].hi_v[d] = -INFINITY;
		}
		g->extents[k].top = -INFINITY;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = place_of(g, &p[i]);
		uint16_t k = at ? g->cells[g->cell_at[at] - 1].cluster : NO_CLUSTER;

		if (k != NO_CLUSTER)
			stretch(g, &g->extents[k], &p[i]);
	}
}

/*
 * The direction with the shortest perimeter; of equals the first. (By area, a corner's two sides would also fit a box
 * along the diagonal.)
 */
static int direction_of(const struct extent *e)
{
	float shortest = INFINITY;
	int best = 0;

	for (int d = 0; d < DIRECTIONS; d++) {
		float half = e->hi_u[d] - e->lo_u[d] + e->hi_v[d] - e->lo_v[d];

		if (half < shortest) {
			shortest = half;
			best = d;
		}
	}
	return best;
}

static struct obstacle box_of(const struct grid *g, const struct extent *e, uint32_t points)
{
	int d = direction_of(e);
	double c = (double)g->cos_of[d], s = (double)g->sin_of[d];
	double u = ((double)e->lo_u[d] + (double)e->hi_u[d]) / 2, v = ((double)e->lo_v[d] + (double)e->hi_v[d]) / 2;
	struct obstacle o = { .x = c * u - s * v + g->p.sensor_x,
			      .y = s * u + c * v + g->p.sensor_y,
			      .length = fmax(THIN_M, (double)(e->hi_u[d] - e->lo_u[d])),
			      .width = fmax(THIN_M, (double)(e->hi_v[d] - e->lo_v[d])),
			      .height = (double)e->top + g->p.sensor_z,
			      .yaw = M_PI / 2 * d / DIRECTIONS,
			      .points = points };

	o.z = o.height / 2;
	if (o.width > o.length) {
		double l = o.length;

		o.length = o.width;
		o.width = l;
		o.yaw -= M_PI / 2;
		if (o.yaw <= -M_PI / 2)
			o.yaw = M_PI / 2;
	}
	return o;
}

size_t grid_cluster(struct grid *g, const struct sim_Point *p, uint32_t n, struct obstacle *ret)
{
	fill_cells(g, p, n);
	find_clusters(g);
	measure(g, p, n);
	for (uint32_t k = 0; k < g->n_clusters; k++)
		ret[k] = box_of(g, &g->extents[k], g->clusters[k].points);
	for (uint32_t i = 0; i < g->n_cells; i++)
		g->cell_at[g->cells[i].at] = 0;
	return g->n_clusters;
}
