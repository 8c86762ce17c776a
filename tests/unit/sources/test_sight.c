/* SPDX-License-Identifier: Apache-2.0 */
/* Objects in view, and their distance: scenes whose answer is known. */
#include "tests/support/test.h"

#include <math.h>

#include "tools/sources/scene/sight.h"

static const struct sight AHEAD = { .half_rad = M_PI / 6, .half_up_rad = M_PI / 12, .range_min = 1, .range_max = 50 };

static struct scan_box box(double x, double y, double length, double width, double yaw)
{
	return (struct scan_box){ .x = x, .y = y, .length = length, .width = width, .height = 2, .yaw = yaw };
}

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 || a == b))
		fail_msg("%.12g is not %.12g", a, b);
}

static bool sees_alone(struct scan_box b)
{
	return sight_sees(&AHEAD, &b, 1, 0);
}

TEST(objects_in_view_are_seen)
{
	double edge = 20 * tan(M_PI / 6);

	assert_true(sees_alone(box(20, 0, 2, 2, 0)));
	/* a box that is a line to look along: at the edge of the view, and just outside */
	assert_true(sees_alone(box(20, edge - 0.01, 0.001, 0.001, 0)));
	assert_false(sees_alone(box(20, edge + 0.01, 0.001, 0.001, 0)));
	assert_true(sees_alone(box(20, -edge + 0.01, 0.001, 0.001, 0)));
	assert_false(sees_alone(box(20, -edge - 0.01, 0.001, 0.001, 0)));
	/* its middle is outside, but not all of it */
	assert_true(sees_alone(box(20, edge + 1, 4, 4, 0)));
	assert_false(sees_alone(box(-20, 0, 2, 2, 0)));
}

TEST(the_view_is_limited_in_distance_and_elevation)
{
	struct scan_box b = box(50.5, 0, 2, 2, 0);

	assert_true(sees_alone(b)); /* its front is at 49.5 m */
	assert_false(sees_alone(box(51.5, 0, 2, 2, 0)));
	assert_false(sees_alone(box(0.5, 0, 0.2, 0.2, 0)));
	b = box(20, 0, 2, 2, 0);
	b.height = 0.001;
	b.z = 21 * tan(M_PI / 12) - 0.02; /* its far end is just below the upper edge */
	assert_true(sees_alone(b));
	b.z += 0.04;
	assert_false(sees_alone(b));
}

TEST(a_full_circle_view_has_no_gap)
{
	struct sight round = { .half_rad = M_PI, .half_up_rad = M_PI / 2, .range_max = 100 };

	for (int i = 0; i < 16; i++) {
		struct scan_box b = box(10 * cos(i * M_PI / 8), 10 * sin(i * M_PI / 8), 1, 1, 0);

		assert_true(sight_sees(&round, &b, 1, 0));
	}
}

TEST(objects_behind_others_are_hidden)
{
	struct scan_box all[3] = { box(20, 0, 2, 2, 0), box(10, 0, 1, 4, 0), box(30, 0, 1, 100, 0) };

	assert_false(sight_sees(&AHEAD, all, 2, 0));
	assert_true(sight_sees(&AHEAD, all, 2, 1));
	assert_true(sight_sees(&AHEAD, all + 1, 1, 0));
	/* an object further away hides nothing */
	all[1] = all[2];
	assert_true(sight_sees(&AHEAD, all, 2, 0));
	/* the shadow of a wall at 10 m with its end at y = 0.4 ends at 0.8 at 20 m: the box shows 0.2 m */
	all[1] = box(10, -9.6, 0.001, 20, 0);
	assert_true(sight_sees(&AHEAD, all, 2, 0));
	all[1].y += 0.12; /* 0.52: beyond 1.04 */
	assert_false(sight_sees(&AHEAD, all, 2, 0));
	/* over a low wall: the sensor is 1 m above its top */
	all[1] = box(10, 0, 1, 100, 0);
	all[1].z = -2;
	assert_true(sight_sees(&AHEAD, all, 2, 0));
}

TEST(a_rotated_wall_hides_objects)
{
	struct scan_box all[2] = { box(20, 0, 1, 1, 0), box(10, 0, 6, 0.2, M_PI / 3) };

	assert_false(sight_sees(&AHEAD, all, 2, 0));
	all[1].yaw = 0; /* along the way: narrower than the object behind it */
	assert_true(sight_sees(&AHEAD, all, 2, 0));
}

TEST(a_box_around_the_sensor_hides_nothing)
{
	struct scan_box all[2] = { box(20, 0, 2, 2, 0), box(0, 0, 4, 2, 0) };

	assert_true(sight_sees(&AHEAD, all, 2, 0));
	all[1].x = 2.5; /* it is before us */
	assert_false(sight_sees(&AHEAD, all, 2, 0));
}

static double nearest(struct scan_box b)
{
	return sight_nearest(&AHEAD, &b);
}

TEST(the_nearest_point_is_exact)
{
	near(nearest(box(10, 0, 2, 2, 0)), 9);
	near(nearest(box(10, 3, 2, 2, 0)), hypot(9, 2));         /* a corner */
	near(nearest(box(10, 0, 2, 2, M_PI / 4)), 10 - sqrt(2)); /* a corner ahead */
	/* a wall beside us, parallel to x, at y = 2: where the left edge of the view meets it */
	near(nearest(box(0, 2.5, 100, 1, 0)), 2 / sin(M_PI / 6));
	/* the same wall ahead only from x = 10 on */
	near(nearest(box(30, 2.5, 40, 1, 0)), hypot(10, 2));
	near(nearest(box(60, 0, 2, 2, 0)), INFINITY);
	near(nearest(box(-10, 0, 2, 2, 0)), INFINITY);
	near(nearest(box(1, 8, 2, 2, 0)), INFINITY); /* beside the view */
}

TEST(the_nearest_point_of_an_overhang_lies_on_the_view_cone)
{
	struct scan_box b = box(20, 0, 38, 2, 0); /* a roof from 1 m to 39 m ahead, its underside 2 m above us */

	b.z = 3;
	near(nearest(b), 2 / sin(M_PI / 12));
	b = box(2, 0, 2, 2, 0); /* over before the cone is that high */
	b.z = 3;
	near(nearest(b), INFINITY);
	b = box(2, 0, 8, 8, 0); /* all around us */
	near(nearest(b), 0);
}
