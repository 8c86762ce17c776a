/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of lanes: streets that are straight, an arc, or end. */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tools/sources/sumo/lanes.h"

#define AHEAD 60.0

static struct lanes all;
static struct lane_line line[LANES_LINES_MAX];

static void near(double a, double b, double eps)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("%.9g is not %.9g within %g", a, b, eps);
}

static void straight(const char *id, double y, bool cars)
{
	const double p[2][2] = { { 0, y }, { 100, y } };

	assert_int_equal(lanes_add(&all, id, 3.2, cars, p, 2), 0);
}

/* Two lanes for cars to the east, with one for bicycles; and one back, and a street across. */
static void street(void)
{
	const double back[2][2] = { { 100, 12.8 }, { 0, 12.8 } }, across[2][2] = { { 50, -50 }, { 50, 50 } };

	all = (struct lanes){ 0 };
	straight("e_10_2", 9.6, true);
	straight("e_10_0", 3.2, false);
	straight("e_10_1", 6.4, true);
	assert_int_equal(lanes_add(&all, "-e_10_0", 3.2, true, back, 2), 0);
	assert_int_equal(lanes_add(&all, "x_0", 3.2, true, across, 2), 0);
	lanes_sort(&all);
}

TEST(a_street_has_a_line_more_than_lanes)
{
	street();
	assert_int_equal(lanes_look(&all, 10, 6.0, 0, AHEAD, line), 3);
	near(line[0].c[0], 4.8 - 6, 1e-9);
	near(line[1].c[0], 8 - 6, 1e-9);
	near(line[2].c[0], 11.2 - LANES_INSET - 6, 1e-9);
	assert_true(!line[0].dashed && line[1].dashed && !line[2].dashed);
	assert_true(line[0].position == 1 && line[1].position == -1 && line[2].position == -2);
	for (int i = 0; i < 3; i++) {
		near(line[i].c[1], 0, 1e-9);
		near(line[i].c[3], 0, 1e-9);
		near(line[i].min_x, 0, 0.5);
		near(line[i].max_x, AHEAD, 0.5);
	}
	/* on the other lane */
	assert_int_equal(lanes_look(&all, 10, 9.6, 0, AHEAD, line), 3);
	assert_true(line[0].position == 2 && line[1].position == 1 && line[2].position == -1);
	near(line[1].c[0], -1.6, 1e-9);
	lanes_free(&all);
}

TEST(a_line_ends_with_its_street)
{
	street();
	assert_int_equal(lanes_look(&all, 70, 6.4, 0, AHEAD, line), 3);
	near(line[0].max_x, 30, 1e-9);
	assert_int_equal(lanes_look(&all, 99, 6.4, 0, AHEAD, line), 0); /* too short to have a shape */
	assert_int_equal(lanes_look(&all, 110, 6.4, 0, AHEAD, line), 0);
	assert_int_equal(lanes_look(&all, 20, 40, 0, AHEAD, line), 0);
	lanes_free(&all);
}

TEST(a_rotated_vehicle_sees_slopes)
{
	street();
	assert_int_equal(lanes_look(&all, 10, 6.4, 0.1, AHEAD, line), 3);
	near(line[1].c[1], -tan(0.1), 1e-9);
	near(line[1].c[0], 1.6 / cos(0.1), 1e-9);
	/* the way back, and the street across */
	assert_int_equal(lanes_look(&all, 50, 12.8, M_PI, AHEAD, line), 2);
	near(line[0].c[0], -1.6, 1e-9);
	assert_int_equal(lanes_look(&all, 50, 6.4, M_PI / 2, AHEAD, line), 2);
	near(line[1].c[0], 1.6 - LANES_INSET, 1e-9);
	lanes_free(&all);
}

/* To the left, around (0, r). y = r - sqrt(r^2 - x^2) = x^2 / 2r + x^4 / 8r^3 + ... */
TEST(an_arc_has_its_curvature)
{
	static const double r = 100;
	double p[41][2];

	all = (struct lanes){ 0 };
	for (int i = 0; i <= 40; i++) {
		p[i][0] = r * sin((i - 10) * 0.02);
		p[i][1] = r - r * cos((i - 10) * 0.02);
	}
	assert_int_equal(lanes_add(&all, "arc_0", 3, true, p, 41), 0);
	assert_int_equal(lanes_look(&all, 0, 0, 0, 30, line), 2);
	near(line[0].c[0], -1.5, 0.01);
	near(line[0].c[1], 0, 2e-3);
	near(2 * line[0].c[2], 1 / (r + 1.5), 4e-4);
	near(2 * line[1].c[2], 1 / (r - 1.5 + LANES_INSET), 4e-4);
	for (double x = 0; x <= 29; x += 1) {
		const double *c = line[0].c, want = r - sqrt((r + 1.5) * (r + 1.5) - x * x);

		near(c[0] + x * (c[1] + x * (c[2] + x * c[3])), want, 0.01);
	}
	lanes_free(&all);
}

TEST(a_sharp_bend_ends_a_line)
{
	const double p[3][2] = { { 0, 0 }, { 30, 0 }, { 30, 50 } };

	all = (struct lanes){ 0 };
	assert_int_equal(lanes_add(&all, "bend_0", 3, true, p, 3), 0);
	assert_int_equal(lanes_look(&all, 5, 0, 0, AHEAD, line), 2);
	near(line[0].max_x, 26.5, 0.01); /* outside, 1.5 m beyond the corner */
	near(line[1].max_x, 25 - 1.5 + LANES_INSET, 0.01);
	near(line[0].c[2], 0, 1e-9);
	lanes_free(&all);
}

TEST(too_many_lanes_are_truncated)
{
	char id[16];

	all = (struct lanes){ 0 };
	for (int i = 0; i < 40; i++) {
		snprintf(id, sizeof(id), "wide_%d", i);
		straight(id, 3.2 * i, true);
	}
	straight("lone", -100, true); /* a name without a number */
	lanes_sort(&all);
	assert_int_equal(lanes_look(&all, 10, 3.2 * 12, 0, AHEAD, line), LANES_LINES_MAX);
	assert_int_equal(line[0].position, 13);
	assert_int_equal(line[12].position, 1);
	assert_int_equal(line[13].position, -1);
	assert_int_equal(lanes_look(&all, 10, -100, 0, AHEAD, line), 2);
	lanes_free(&all);
}
