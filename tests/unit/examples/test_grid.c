/* SPDX-License-Identifier: Apache-2.0 */
/* Clustering, on clouds that are made by hand and on those of the lidar of tools/sources. */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "libclient/examples/perception/grid.h"
#include "tools/sources/scene/scan.h"

#define POINTS_MAX 120000

static struct sim_Point points[POINTS_MAX];
static struct obstacle found[OBSTACLES_MAX], again[OBSTACLES_MAX];
static uint32_t n_points;

static struct grid *grid_of(const struct grid_params *p)
{
	const char *why;
	struct grid *g;

	assert_int_equal(grid_create(p, &g, &why), 0);
	return g;
}

static size_t cluster(void)
{
	struct grid_params p = grid_params_default();
	struct grid *g = grid_of(&p);
	size_t n = grid_cluster(g, points, n_points, found);

	grid_destroy(g);
	return n;
}

static void near(double a, double b, double eps)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("%.6g is not %.6g within %g", a, b, eps);
}

/* x, y, z from the sensor. */
static void add(double x, double y, double z)
{
	assert_true(n_points < POINTS_MAX);
	points[n_points++] = (struct sim_Point){ .x = (float)x, .y = (float)y, .z = (float)z };
}

/* The faces of a box on the road, in points of 0.1 m; the sensor is 1.9 m above it. */
static void add_box(double x, double y, double length, double width, double height, double yaw)
{
	for (double z = 0.05; z <= height; z += 0.1)
		for (double u = -length / 2; u <= length / 2 + 1e-9; u += 0.1)
			for (double v = -width / 2; v <= width / 2 + 1e-9; v += 0.1)
				if (fabs(u) > length / 2 - 0.05 || fabs(v) > width / 2 - 0.05)
					add(x + cos(yaw) * u - sin(yaw) * v, y + sin(yaw) * u + cos(yaw) * v, z - 1.9);
}

static void add_road(void)
{
	for (double x = -40; x < 40; x += 0.5)
		for (double y = -40; y < 40; y += 0.5)
			add(x, y, -1.9 + 0.05 * sin(x));
}

TEST(the_road_is_no_obstacle)
{
	n_points = 0;
	add_road();
	assert_int_equal(cluster(), 0);
}

TEST(two_boxes_are_two_obstacles_and_the_nearer_comes_first)
{
	n_points = 0;
	add_box(20, -5, 4.4, 1.8, 1.5, 0.4);
	add_road();
	add_box(10, 3, 4.0, 2.0, 1.4, 0);
	assert_int_equal(cluster(), 2);
	near(found[0].x, 11.4, 0.05); /* in base_link */
	near(found[0].y, 3, 0.05);
	near(found[0].z, 0.7, 0.06); /* down to the road */
	near(found[0].length, 4, 0.11);
	near(found[0].width, 2, 0.11);
	near(found[0].yaw, 0, 0.001);
	near(found[1].x, 21.4, 0.1);
	near(found[1].y, -5, 0.1);
	near(found[1].length, 4.4, 0.3);
	near(found[1].width, 1.8, 0.3);
	near(found[1].yaw, 0.4, M_PI / 48 + 0.001);
}

TEST(a_transverse_edge_is_a_long_transverse_side)
{
	n_points = 0;
	add_box(15, 0, 1, 6, 1, 0);
	assert_int_equal(cluster(), 1);
	near(found[0].length, 6, 0.11);
	near(found[0].width, 1, 0.11);
	near(fabs(found[0].yaw), M_PI / 2, 0.001);
}

TEST(cells_touching_at_a_corner_are_one_obstacle_and_a_gap_makes_two)
{
	n_points = 0;
	for (int i = 0; i < 20; i++)
		add(5 + 0.5 * i, 5 + 0.5 * i, -1); /* from cell to cell, by the corners */
	assert_int_equal(cluster(), 1);
	n_points = 0;
	add_box(10, 5, 1, 1, 1, 0);
	add_box(12.6, 5, 1, 1, 1, 0);
	assert_int_equal(cluster(), 2);
}

TEST(few_high_or_non_finite_points_are_no_obstacle)
{
	n_points = 0;
	add(10, 0, -1);
	add(10, 0.1, -1);
	add(10, 0.2, -1);
	assert_int_equal(cluster(), 0); /* three: min_points is four */
	for (int i = 0; i < 100; i++)
		add(20 + 0.01 * i, 0, 2); /* a bridge */
	for (int i = 0; i < 100; i++)
		add(0, 60.1 + 0.01 * i, -1); /* beyond the grid */
	add(NAN, 0, -1);
	add(0, NAN, -1);
	add(5, 5, NAN);
	add(INFINITY, 0, -1);
	add(0, -INFINITY, -1);
	add(1e30, 1e30, -1);
	assert_int_equal(cluster(), 0);
}

TEST(with_too_many_obstacles_the_nearest_are_kept)
{
	struct grid_params p = grid_params_default();
	struct grid *g;

	n_points = 0;
	for (int x = 40; x >= -40; x -= 2) /* 41 * 10, the farthest first */
		for (int y = 0; y < 10; y++)
			for (int i = 0; i < 4; i++)
				add(x + 0.1, 30 - 2 * y + 0.1, -1 + 0.1 * i);
	g = grid_of(&p);
	assert_int_equal(grid_cluster(g, points, n_points, found), OBSTACLES_MAX);
	for (size_t i = 1; i < OBSTACLES_MAX; i++)
		assert_true(hypot(found[i].x - 1.4, found[i].y) >= hypot(found[i - 1].x - 1.4, found[i - 1].y) - 0.6);
	near(hypot(found[0].x - 1.4, found[0].y), 12.1, 0.2);
	/* nothing is left of one cloud in the next */
	assert_int_equal(grid_cluster(g, points, 0, found), 0);
	n_points = 0;
	add_box(10, 0, 1, 1, 1, 0);
	assert_int_equal(grid_cluster(g, points, n_points, found), 1);
	grid_destroy(g);
}

/* What sim-lidar sees of that, with its own defaults. */
static void look(const struct scan_box *boxes, size_t n)
{
	struct scan_params p = scan_params_default();
	struct scan *s;

	assert_int_equal(scan_create(&p, &s, NULL), 0);
	assert_true(scan_points_max(s) <= POINTS_MAX);
	n_points = (uint32_t)scan_turn(s, boxes, n, points);
	scan_destroy(s);
}

static struct scan_box person(double x, double y)
{
	return (struct scan_box){
		.x = x, .y = y, .z = 0.875 - 1.9, .length = 0.4, .width = 0.5, .height = 1.75, .reflectivity = 0.4
	};
}

TEST(the_lidar_sees_a_pedestrian_at_10_m_and_50_m)
{
	const struct scan_box boxes[] = { person(10, 0), person(50, 3) };

	look(boxes, 2);
	assert_true(n_points > 90000);
	assert_int_equal(cluster(), 2);
	near(found[0].x, 11.4, 0.25);
	near(found[0].y, 0, 0.05);
	near(found[0].height, 1.75, 0.1);
	assert_true(found[0].length < 0.6 && found[0].points > 50);
	near(found[1].x, 51.4, 0.25);
	near(found[1].y, 3, 0.1);
	assert_true(found[1].length < 0.6 && found[1].points >= 6);
}

/* How far the box reaches along (dx, dy), from the sensor; the boxes are in base_link. */
static double reach(const struct obstacle *o, double dx, double dy)
{
	double along = cos(o->yaw) * dx + sin(o->yaw) * dy, across = cos(o->yaw) * dy - sin(o->yaw) * dx;

	return (o->x - 1.4) * dx + o->y * dy + fabs(along) * o->length / 2 + fabs(across) * o->width / 2;
}

/* The boxes around the visible parts of a turned building are turned like it: none reaches out of its wall. */
TEST(a_wall_along_a_bend_does_not_reach_into_the_street)
{
	const double yaw = 0.3, nx = sin(yaw), ny = -cos(yaw);
	const struct scan_box boxes[] = { { .x = 25,
					    .y = 15,
					    .z = 3 - 1.9,
					    .length = 30,
					    .width = 10,
					    .height = 6,
					    .yaw = yaw,
					    .reflectivity = 0.4 } };
	size_t n;

	look(boxes, 1);
	n = cluster();
	assert_true(n > 0);
	assert_true(found[0].length > 8); /* nearby it is one piece */
	for (size_t i = 0; i < n; i++)
		if (reach(&found[i], nx, ny) > 25 * nx + 15 * ny + 5 + 0.4)
			fail_msg("obstacle %zu reaches %.2f m out of the wall", i,
				 reach(&found[i], nx, ny) - 25 * nx - 15 * ny - 5);
}

TEST(the_same_cloud_gives_the_same_bytes)
{
	struct scan_box boxes[120];
	struct grid_params p = grid_params_default();
	struct grid *g = grid_of(&p);
	size_t n, m = 0;

	for (int i = 0; i < 120; i++)
		boxes[i] = i % 3 ? person(-40 + i % 20 * 4.1, 8 + i / 20 * 5.3)
				 : (struct scan_box){ .x = -40 + i % 20 * 4,
						      .y = -12 - i / 20 * 8,
						      .z = 2 - 1.9,
						      .length = 3,
						      .width = 4,
						      .height = 4,
						      .yaw = i * 0.1,
						      .reflectivity = 0.3 };
	look(boxes, 120);
	n = grid_cluster(g, points, n_points, found);
	assert_true(n > 30);
	for (int i = 0; i < 10; i++)
		m = grid_cluster(g, points, n_points, again);
	assert_int_equal(m, n);
	assert_memory_equal(found, again, n * sizeof(*found));
	grid_destroy(g);
}

TEST(invalid_parameters_are_refused_with_the_reason)
{
	static const struct {
		double cell, range, ground, ceiling;
		uint32_t min;
		const char *word;
	} bad[] = {
		{ 0, 60, 0.3, 2, 1, "cell_m" },     { 0.4, NAN, 0.3, 2, 1, "range_m" },
		{ 0.05, 60, 0.3, 2, 1, "larger" },  { 0.4, 60, 2, 1, 1, "ceiling_m" },
		{ 0.4, 60, NAN, 2, 1, "ground_m" }, { 0.4, 60, 0.3, 2, 0, "min_points" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct grid_params p = grid_params_default();
		const char *why = "";
		struct grid *g;

		p.cell_m = bad[i].cell;
		p.range_m = bad[i].range;
		p.ground_m = bad[i].ground;
		p.ceiling_m = bad[i].ceiling;
		p.min_points = bad[i].min;
		assert_int_equal(grid_create(&p, &g, &why), -EINVAL);
		if (!strstr(why, bad[i].word))
			fail_msg("\"%s\" does not speak of %s", why, bad[i].word);
	}
}
