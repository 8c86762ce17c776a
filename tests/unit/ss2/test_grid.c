/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Occupancy grids against one made by the reference's rule, implemented here independently: shapes are cut to the grid,
 * their edges walked cell by cell, and each row filled from the first to the last cell that a walk has met; a hidden
 * area is a shape too, from the outermost corners of the hiding object to the edge of the grid.
 */
#include "tests/support/test.h"

#include "err.h"
#include "rnd.h"
#include "tools/sources/ss2/grid.h"
#include "tools/sources/ss2/sensors.h"
#include "tools/sources/space.h"
#include "tools/sources/ss2/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE  200
#define RES   0.5
#define HALF  (SIDE * RES / 2)
#define BOXES 12

enum { FREE = 0, HIDDEN = 50, OCCUPIED = 100 };

struct shape {
	double x[24], y[24];
	int n;
};

static int8_t want[SIDE * SIDE], got[SIDE * SIDE];

/* ---- the reference's rule ---- */

/* Keep the part with sign * (x or y) <= HALF. */
static void clip(struct shape *s, bool along_x, double sign)
{
	struct shape from = *s;

	s->n = 0;
	for (int i = 0, k; i < from.n; i++) {
		double a, b, t;

		k = (i + 1) % from.n;
		a = sign * (along_x ? from.x[i] : from.y[i]) - HALF;
		b = sign * (along_x ? from.x[k] : from.y[k]) - HALF;
		t = a / (a - b);
		if (a <= 0) {
			s->x[s->n] = from.x[i];
			s->y[s->n++] = from.y[i];
		}
		if ((a < 0 && b > 0) || (a > 0 && b < 0)) {
			s->x[s->n] = from.x[i] + t * (from.x[k] - from.x[i]);
			s->y[s->n++] = from.y[i] + t * (from.y[k] - from.y[i]);
		}
	}
}

/* From cell to cell, always over the border that comes first. */
static void walk(double x0, double y0, double x1, double y1, int *first, int *last)
{
	double dx = x1 - x0, dy = y1 - y0;
	int col = (int)x0, row = (int)y0, step_x = dx < 0 ? -1 : 1, step_y = dy < 0 ? -1 : 1;
	double tx = dx != 0 ? ((dx > 0 ? ceil(x0) : floor(x0)) - x0) / dx : (double)INFINITY;
	double ty = dy != 0 ? ((dy > 0 ? ceil(y0) : floor(y0)) - y0) / dy : (double)INFINITY;

	while (tx <= 1 || ty <= 1) {
		if (row >= 0 && row < SIDE) {
			first[row] = col < first[row] ? col : first[row];
			last[row] = col > last[row] ? col : last[row];
		}
		if (tx < ty) {
			tx += step_x / dx;
			col += step_x;
		} else {
			ty += step_y / dy;
			row += step_y;
		}
	}
}

static void mark(const struct shape *s, int8_t value)
{
	int first[SIDE], last[SIDE];

	for (int r = 0; r < SIDE; r++) {
		first[r] = SIDE;
		last[r] = -1;
	}
	for (int i = 0; i < s->n; i++) {
		int k = (i + 1) % s->n;

		walk((s->x[i] + HALF) / RES, (s->y[i] + HALF) / RES, (s->x[k] + HALF) / RES, (s->y[k] + HALF) / RES,
		     first, last);
	}
	for (int r = 0; r < SIDE; r++)
		for (int c = first[r] < 0 ? 0 : first[r]; c <= last[r] && c < SIDE; c++)
			want[r * SIDE + c] = want[r * SIDE + c] > value ? want[r * SIDE + c] : value;
}

/* On the edge of the grid, in that direction. */
static void project(struct shape *s, double angle)
{
	double c = cos(angle), n = sin(angle), far = HALF / fmax(fabs(c), fabs(n));

	s->x[s->n] = far * c;
	s->y[s->n++] = far * n;
}

/* Angles are counted from the shape's middle, so that no shape lies where they wrap. */
static struct shape behind(const struct shape *o)
{
	double mid, lo = 9, hi = -9, mx = 0, my = 0;
	struct shape s = { .n = 2 };

	for (int i = 0; i < o->n; i++) {
		mx += o->x[i] / o->n;
		my += o->y[i] / o->n;
	}
	mid = atan2(my, mx);
	for (int i = 0; i < o->n; i++) {
		double a = remainder(atan2(o->y[i], o->x[i]) - mid, 2 * M_PI);

		if (a > hi) {
			hi = a;
			s.x[0] = o->x[i];
			s.y[0] = o->y[i];
		}
		if (a < lo) {
			lo = a;
			s.x[1] = o->x[i];
			s.y[1] = o->y[i];
		}
	}
	project(&s, mid + lo);
	for (int k = -8; k < 8; k++) { /* corners of the grid in between */
		double a = (2 * k + 1) * M_PI / 4;

		if (a > mid + lo && a < mid + hi)
			project(&s, a);
	}
	project(&s, mid + hi);
	return s;
}

static void reference(struct shape o)
{
	struct shape hidden;

	for (int i = 0; i < 4; i++)
		clip(&o, i & 1, i & 2 ? -1 : 1);
	if (o.n == 0)
		return;
	hidden = behind(&o);
	mark(&hidden, HIDDEN);
	mark(&o, OCCUPIED);
}

/* ---- scenes ---- */

static double unit(struct rnd *r)
{
	return (double)(rnd_u64(r) >> 11) * 0x1p-53;
}

/* A box that stands level at 5 to 60 m; its corners by its yaw alone. */
static struct shape place(struct rnd *r, const struct sim_Pose *ego, struct scene_entity *e)
{
	static const int sign[4][2] = { { 1, -1 }, { 1, 1 }, { -1, 1 }, { -1, -1 } };
	double far = 5 + 55 * unit(r), to = 2 * M_PI * unit(r), yaw = 2 * M_PI * unit(r), c = cos(yaw), n = sin(yaw);
	struct shape s = { .n = 4 };

	*e = (struct scene_entity){
		.pose = { .position = { ego->position.x + far * cos(to), ego->position.y + far * sin(to), 1 },
			  .orientation = { .z = sin(yaw / 2), .w = cos(yaw / 2) } },
		.box_center = { .x = 1.4, .z = 0.8 },
		.box_size = { 0.5 + 8 * unit(r), 0.5 + 2 * unit(r), 1.6 },
	};
	for (int i = 0; i < 4; i++) {
		double l = 1.4 + sign[i][0] * e->box_size.x / 2, w = sign[i][1] * e->box_size.y / 2;

		s.x[i] = far * cos(to) + l * c - w * n;
		s.y[i] = far * sin(to) + l * n + w * c;
	}
	return s;
}

TEST(a_grid_matches_the_reference)
{
	const struct grid g = { .resolution = RES, .width = SIDE, .height = SIDE };
	struct sensors_look *l = calloc(1, sizeof(*l));
	unsigned same[2] = { 0 }, all[2] = { 0 }, shaded = 0;
	struct rnd r;

	assert_non_null(l);
	rnd_seed(&r, 7);
	l->ego.position = (struct sim_Vector3){ 3712.3, 73845.7, 1 };
	for (int scene = 0; scene < 50; scene++) {
		memset(want, 0, sizeof(want));
		l->n = BOXES;
		for (int i = 0; i < BOXES; i++)
			reference(place(&r, &l->ego, &l->object[i]));
		grid_fill(&g, l, got);
		for (int i = 0; i < SIDE * SIDE; i++) {
			bool taken = want[i] == OCCUPIED || got[i] == OCCUPIED;

			all[taken]++;
			same[taken] += want[i] == got[i];
			shaded += want[i] == HIDDEN;
		}
	}
	free(l);
	print_message("of %u occupied cells %u agree, of %u others %u\n", all[1], same[1], all[0], same[0]);
	assert_true(all[1] > 20000 && same[1] >= 0.99 * all[1]);
	assert_true(shaded > 100000 && same[0] >= 0.99 * all[0]); /* a walk that begins on a border is a cell off */
}

/* A pole that leans to the east over a car's length, and one cell: 0.2 m in the middle of it. */
TEST(each_cell_that_a_box_touches_is_occupied)
{
	const struct grid g = { .resolution = RES, .width = SIDE, .height = SIDE };
	static struct sensors_look l;
	unsigned n = 0;

	l.n = 2;
	l.object[0] = (struct scene_entity){ .pose = { .position = { 10.1, 10.1, 0 },
						       .orientation = { .y = sin(0.5), .w = cos(0.5) } },
					     .box_center.z = 2,
					     .box_size = { 0.1, 0.1, 4 } };
	l.object[1] = (struct scene_entity){ .pose = { .position = { -10.25, 0.25, 0 }, .orientation.w = 1 },
					     .box_size = { 0.2, 0.2, 1 } };
	grid_fill(&g, &l, got);
	for (double x = 10.1; x < 10.1 + 4 * sin(1) - 0.05; x += RES)
		assert_int_equal(got[(int)((10.1 + HALF) / RES) * SIDE + (int)((x + HALF) / RES)], OCCUPIED);
	assert_int_equal(got[(int)((0.25 + HALF) / RES) * SIDE + (int)((-10.25 + HALF) / RES)], OCCUPIED);
	for (int i = 0; i < SIDE * SIDE; i++)
		n += got[i] == OCCUPIED;
	assert_int_equal(n, 7 + 1);
	l.n = 1; /* it stands where the ego is */
	l.object[0] = (struct scene_entity){ .pose.orientation.w = 1, .box_size = { 1.8, 1.8, 1 } };
	grid_fill(&g, &l, got);
	assert_int_equal(got[0], HIDDEN);
	assert_int_equal(got[(SIDE / 2) * SIDE + SIDE / 2], OCCUPIED);
}

/* Drawn objects had a lidar point in the last scan: not hidden ones, and none at all without a lidar. */
TEST(only_objects_hit_by_the_lidar_are_drawn)
{
	const struct sensors_grid c = { .grid = { .resolution = RES, .width = SIDE, .height = SIDE } };
	const struct lidar_config lidar = { .resolution_rad = 0.01, .beams = 1, .elevation_rad = { 0 } };
	const struct sensors_look *l;
	struct scene_entity *e;
	struct sensors sensors;
	struct store store;
	struct scene scene;

	assert_ok(store_open(&store, NULL, 0));
	scene_init(&scene, store.scene);
	sensors_init(&sensors);
	assert_ok(scene_spawn(&scene, "ego", SCENE_EGO, &e));
	for (int i = 1; i <= 2; i++) { /* a truck, and a car behind it */
		assert_ok(scene_spawn(&scene, i == 1 ? "truck" : "car", SCENE_VEHICLE, &e));
		e->pose.position.x = 10 * i;
		e->box_size = (struct sim_Vector3){ 2, 4.0 / i, 3 };
	}
	assert_ok(sensors_attach_grid(&sensors, &c));
	l = sensors_draw(&sensors, &scene, 0);
	assert_non_null(l);
	assert_int_equal(l->n, 0);
	assert_ok(sensors_attach_lidar(&sensors, &lidar));
	assert_non_null(sensors_scan(&sensors, &scene, 0));
	l = sensors_draw(&sensors, &scene, 0);
	assert_int_equal(l->n, 1);
	assert_string_equal(l->object[0].name, "truck");
	sensors.config.grid.grid.range = 9;
	assert_int_equal(sensors_draw(&sensors, &scene, 0)->n, 0);
	sensors_finish(&sensors);
	store_close(&store);
}
