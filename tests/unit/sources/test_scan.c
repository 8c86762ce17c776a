/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lidar against geometry that can be done by hand.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tools/sources/scene/scan.h"

struct cloud {
	struct scan *scan;
	struct sim_Point *p;
	size_t n;
};

static struct cloud cast(const struct scan_params *p, const struct scan_box *boxes, size_t n)
{
	struct cloud c = { 0 };

	assert_int_equal(scan_create(p, &c.scan, NULL), 0);
	c.p = calloc(scan_points_max(c.scan), sizeof(*c.p));
	assert_non_null(c.p);
	c.n = scan_turn(c.scan, boxes, n, c.p);
	assert_true(c.n <= scan_points_max(c.scan));
	return c;
}

static void drop(struct cloud *c)
{
	scan_destroy(c->scan);
	free(c->p);
}

static const struct sim_Point *find(const struct cloud *c, unsigned ring, double azimuth)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->p[i].ring == ring && fabs(remainder((double)c->p[i].azimuth - azimuth, 2 * M_PI)) < 1e-4)
			return &c->p[i];
	}
	return NULL;
}

static void near(double a, double b, double eps)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("%.9g is not %.9g within %g", a, b, eps);
}

/* One level beam and two that look down 10 and 5 degrees. */
static struct scan_params few(void)
{
	struct scan_params p = scan_params_default();

	p.beams = 3;
	p.columns = 360;
	p.lowest_rad = -10 * M_PI / 180;
	p.highest_rad = 0;
	p.height = 2;
	return p;
}

TEST(the_road_gives_a_circle_of_points_per_beam)
{
	struct scan_params p = few();
	struct cloud c = cast(&p, NULL, 0);

	assert_int_equal(c.n, 2 * 360); /* the level beam meets nothing */
	for (size_t i = 0; i < c.n; i++) {
		double el = c.p[i].ring == 0 ? 10 : 5;

		near((double)c.p[i].z, -2, 1e-5);
		near(hypot((double)c.p[i].x, (double)c.p[i].y), 2 / tan(el * M_PI / 180), 1e-3);
		near((double)c.p[i].distance, 2 / sin(el * M_PI / 180), 1e-3);
		near(atan2((double)c.p[i].y, (double)c.p[i].x), (double)c.p[i].azimuth, 1e-5);
	}
	drop(&c);
}

TEST(the_range_limits_the_view)
{
	struct scan_params p = few();
	struct cloud c;

	p.range_max = 15; /* the road is 11.5 and 22.9 m away */
	c = cast(&p, NULL, 0);
	assert_int_equal(c.n, 360);
	drop(&c);
	p.range_max = 120;
	p.range_min = 12;
	c = cast(&p, NULL, 0);
	assert_int_equal(c.n, 360);
	drop(&c);
}

TEST(a_wall_ahead_is_at_its_distance)
{
	struct scan_params p = few();
	struct scan_box wall = { .x = 8.5, .z = 0, .length = 1, .width = 4, .height = 6, .reflectivity = 0.5 };
	struct cloud c = cast(&p, &wall, 1);
	const struct sim_Point *ahead = find(&c, 2, 0), *slant = find(&c, 2, 10 * M_PI / 180);

	assert_non_null(ahead);
	near((double)ahead->x, 8, 1e-4);
	near((double)ahead->y, 0, 1e-4);
	near((double)ahead->distance, 8, 1e-4);
	near((double)ahead->intensity, 0.5, 1e-3);
	assert_non_null(slant);
	near((double)slant->x, 8, 1e-4);
	near((double)slant->distance, 8 / cos(10 * M_PI / 180), 1e-3);
	near((double)find(&c, 0, 0)->z, -8 * tan(10 * M_PI / 180), 1e-4); /* the wall, not the road behind */
	assert_null(find(&c, 2, 30 * M_PI / 180));                        /* the wall ends at 14 degrees */
	assert_non_null(find(&c, 2, 14 * M_PI / 180));
	assert_null(find(&c, 2, 15 * M_PI / 180));
	drop(&c);
}

TEST(rotated_boxes_are_hit)
{
	struct scan_params p = few();
	struct scan_box box = {
		.x = 10, .z = 0, .yaw = M_PI / 4, .length = 2, .width = 2, .height = 6, .reflectivity = 1
	};
	struct cloud c = cast(&p, &box, 1);

	near((double)find(&c, 2, 0)->x, 10 - sqrt(2), 1e-3); /* a corner points at us */
	drop(&c);
}

TEST(a_roof_is_seen_from_above)
{
	/* A flat, wide box whose roof is 1 m below the sensor, from 3 to 9 m ahead. */
	struct scan_params p = few();
	struct scan_box box = { .x = 6, .z = -1.5, .length = 6, .width = 20, .height = 1, .reflectivity = 1 };
	struct cloud c = cast(&p, &box, 1);
	const struct sim_Point *roof = find(&c, 0, 0);

	near((double)roof->z, -1, 1e-4); /* 10 degrees down meet it at 5.67 m */
	near((double)roof->x, 1 / tan(10 * M_PI / 180), 1e-3);
	near((double)find(&c, 1, 0)->z, -2, 1e-4); /* 5 degrees down pass over it: road at 22.9 m */
	drop(&c);
}

TEST(a_nearer_box_hides_a_farther_one)
{
	struct scan_params p = few();
	struct scan_box boxes[2] = {
		{ .x = 20, .z = 0, .length = 2, .width = 10, .height = 6, .reflectivity = 1 },
		{ .x = 10, .z = 0, .length = 2, .width = 2, .height = 6, .reflectivity = 1 },
	};
	struct scan_box swapped[2] = { boxes[1], boxes[0] };
	struct cloud a = cast(&p, boxes, 2), b = cast(&p, swapped, 2);

	near((double)find(&a, 2, 0)->x, 9, 1e-4);
	near((double)find(&a, 2, 10 * M_PI / 180)->x, 19, 1e-3);
	assert_int_equal(a.n, b.n);
	assert_memory_equal(a.p, b.p, a.n * sizeof(*a.p));
	drop(&a);
	drop(&b);
}

TEST(a_box_behind_the_sensor_is_seen_across_the_wrap_around)
{
	struct scan_params p = few();
	struct scan_box box = { .x = -10, .z = 0, .length = 2, .width = 4, .height = 6, .reflectivity = 1 };
	struct cloud c = cast(&p, &box, 1);

	for (int deg = -12; deg <= 12; deg++)
		near((double)find(&c, 2, M_PI + deg * M_PI / 180)->x, -9, 1e-3);
	assert_null(find(&c, 2, M_PI + 13 * M_PI / 180));
	drop(&c);
}

TEST(invalid_boxes_are_not_seen)
{
	struct scan_params p = few();
	struct scan_box boxes[] = {
		{ .x = NAN, .length = 1, .width = 1, .height = 1, .reflectivity = 1 },
		{ .x = 5, .length = -1, .width = 1, .height = 1, .reflectivity = 1 },
		{ .x = 5, .length = INFINITY, .width = 1, .height = 1, .reflectivity = 1 },
		{ .x = 0.2, .length = 4, .width = 2, .height = 4, .reflectivity = 1 }, /* the sensor is inside */
		{ .x = 1000, .length = 4, .width = 2, .height = 4, .reflectivity = 1 },
	};
	struct cloud c = cast(&p, boxes, 5);

	assert_int_equal(c.n, 2 * 360);
	drop(&c);
}

/* Points compensated to the scan's stamp have one time, so that a reader that undistorts the scan changes nothing. */
TEST(all_points_of_a_turn_have_one_time)
{
	struct scan_params p = few();
	struct cloud c = cast(&p, NULL, 0);

	near((double)c.p[0].azimuth, -M_PI, 1e-6);
	for (size_t i = 0; i < c.n; i++)
		assert_int_equal(c.p[i].time_offset, 0);
	drop(&c);
}

TEST(the_default_gives_a_hundred_thousand_points)
{
	struct scan_params p = scan_params_default();
	struct cloud c = cast(&p, NULL, 0);

	assert_int_equal(p.beams, 64);
	assert_true(c.n > 95000 && c.n < 110000);
	drop(&c);
}

TEST(noise_is_small_and_repeats)
{
	struct scan_params p = few();
	struct cloud a, b, clean;
	double sum = 0, square = 0;

	clean = cast(&p, NULL, 0);
	p.noise_sigma = 0.05;
	p.seed = 4;
	a = cast(&p, NULL, 0);
	b = cast(&p, NULL, 0);
	assert_int_equal(a.n, clean.n);
	assert_memory_equal(a.p, b.p, a.n * sizeof(*a.p));
	for (size_t i = 0; i < a.n; i++) {
		double d = (double)(a.p[i].distance - clean.p[i].distance);

		sum += d;
		square += d * d;
	}
	near(sum / (double)a.n, 0, 0.01);
	near(sqrt(square / (double)a.n), 0.05, 0.01);
	(void)scan_turn(a.scan, NULL, 0, a.p); /* another turn, another draw */
	assert_memory_not_equal(a.p, b.p, a.n * sizeof(*a.p));
	drop(&a);
	drop(&b);
	drop(&clean);
}

TEST(bad_parameters_are_refused)
{
	struct scan_params good = few(), p;
	const char *why = NULL;
	struct scan *s;

#define BAD(field, value) \
	do { \
		p = good; \
		p.field = (value); \
		why = NULL; \
		assert_int_equal(scan_create(&p, &s, &why), -EINVAL); \
		assert_non_null(why); \
	} while (0)
	BAD(beams, 0);
	BAD(beams, 129);
	BAD(columns, 4097);
	BAD(lowest_rad, NAN);
	BAD(highest_rad, -1);
	BAD(height, 0);
	BAD(range_max, 0);
	BAD(noise_sigma, -1);
	BAD(road_reflectivity, 2);
#undef BAD
}
