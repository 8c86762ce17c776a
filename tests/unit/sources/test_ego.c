/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ego's body against motions whose answer is known: rest, line, circle, corner, jump, bicycle.
 */
#include "tests/support/test.h"

#include <math.h>

#include "tools/sources/sumo/ego.h"

#define DT 0.01

static struct ego car(void)
{
	struct ego_params p = ego_params_for(4.6);
	struct ego e;

	ego_init(&e, &p);
	return e;
}

static void near(double a, double b, double eps)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("%.9g is not %.9g within %g", a, b, eps);
}

TEST(sumo_angles_are_converted)
{
	near(ego_yaw_of(90), 0, 1e-12);
	near(ego_yaw_of(0), M_PI / 2, 1e-12);
	near(ego_yaw_of(180), -M_PI / 2, 1e-12);
	near(fabs(ego_yaw_of(270)), M_PI, 1e-12);
}

TEST(at_rest_the_specific_force_is_gravity)
{
	struct ego e = car();
	double f[3], front[3] = { 10, 20, 1 };

	for (int i = 0; i < 100; i++)
		ego_follow(&e, front, 90, 0, DT);
	ego_specific_force(&e, f);
	near(f[0], 0, 1e-12);
	near(f[1], 0, 1e-12);
	near(f[2], 9.80665, 1e-12);
	near(e.pos[0], 10 - (4.6 - 0.22 * 4.6), 1e-12);
	near(e.pos[1], 20, 1e-12);
	near(e.pos[2], 1, 0);
	near(e.yaw_rate, 0, 0);
}

TEST(on_a_line_the_force_is_the_acceleration)
{
	struct ego e = car();
	double v = 5, front[3] = { 0, 0, 0 }, f[3];

	for (int i = 0; i < 300; i++) {
		v += 1.5 * DT;
		front[1] += v * DT;
		ego_follow(&e, front, 0, v, DT);
	}
	ego_specific_force(&e, f);
	near(f[0], 1.5, 1e-6);
	near(f[1], 0, 1e-9);
	near(e.speed, v, 1e-9);
	near(e.yaw, M_PI / 2, 1e-9);
	assert_true(e.throttle > 0.5 && e.brake == 0);
}

TEST(on_a_circle_the_ego_rolls_without_slipping)
{
	/* The front runs on a circle of radius R; the rear axle settles on one of sqrt(R^2 - d^2). */
	struct ego e = car();
	double r_front = 12, v = 4, d = e.p.length - e.p.rear_overhang, rate = v / r_front, f[3];
	double r_rear = sqrt(r_front * r_front - d * d);

	for (int i = 0; i < 6000; i++) {
		double a = rate * i * DT, front[3] = { r_front * cos(a), r_front * sin(a), 0 };

		ego_follow(&e, front, -a * 180 / M_PI, v, DT);
	}
	near(hypot(e.pos[0], e.pos[1]), r_rear, 0.02);
	near(e.yaw_rate, rate, 0.01);
	near(e.speed, rate * r_rear, 0.03);
	near(tan(e.wheel_angle), e.p.wheelbase / r_rear, 0.01);
	ego_specific_force(&e, f);
	near(f[1], rate * rate * r_rear, 0.03);
	assert_int_equal(e.jumps, 0);
}

TEST(a_corner_of_the_lane_gives_no_spike)
{
	/* SUMO's own angle jumps 15 degrees in one step here: 1500 degrees a second. */
	struct ego e = car();
	double v = 10, front[3] = { 0, 0, 0 }, yaw_before = 0, worst_rate = 0, worst_step = 0;

	for (int i = 0; i < 400; i++) {
		double heading = i < 200 ? 0 : 15 * M_PI / 180;

		front[0] += v * DT * cos(heading);
		front[1] += v * DT * sin(heading);
		ego_follow(&e, front, 90 - heading * 180 / M_PI, v, DT);
		worst_rate = fmax(worst_rate, fabs(e.yaw_rate));
		worst_step = fmax(worst_step, fabs(e.yaw - yaw_before) / DT);
		yaw_before = e.yaw;
	}
	assert_true(worst_rate > 0.1 && worst_rate < 0.6);
	assert_true(worst_step < 0.75);
	near(e.yaw, 15 * M_PI / 180, 0.01);
}

/* ---- what its gyro and its speed lead to ---- */

struct reckoned {
	double yaw, x, y, worst_rate, worst_step; /* step: m, of base_link */
};

static void reckon(struct reckoned *r, struct ego *e, const double front[3], double angle_deg, double v)
{
	double x = e->pos[0], y = e->pos[1];

	ego_follow(e, front, angle_deg, v, DT);
	if (r->yaw == 0) {
		*r = (struct reckoned){ e->yaw, e->pos[0], e->pos[1], 0, 0 };
		return;
	}
	r->x += e->speed * DT * cos(r->yaw + e->yaw_rate * DT / 2);
	r->y += e->speed * DT * sin(r->yaw + e->yaw_rate * DT / 2);
	r->yaw += e->yaw_rate * DT;
	r->worst_rate = fmax(r->worst_rate, fabs(e->yaw_rate));
	r->worst_step = fmax(r->worst_step, hypot(e->pos[0] - x, e->pos[1] - y));
}

static void check_reckoned(const struct reckoned *r, const struct ego *e)
{
	near(ego_wrap(r->yaw - e->yaw), 0, 1e-9);
	near(hypot(r->x - e->pos[0], r->y - e->pos[1]), 0, 0.002);
	assert_int_equal(e->jumps, 0);
}

/* Round a block whose lanes meet at right angles, five times, stopping at each corner. */
TEST(integrating_gyro_and_speed_gives_the_position)
{
	struct reckoned r = { 0 };
	struct ego e = car();
	double front[3] = { 1, 1, 0 };

	for (int side = 0; side < 20; side++) {
		double heading = 0.3 + side * M_PI / 2, v = 0;

		for (int i = 0; i < 1000; i++) {
			v += (i < 400 ? 2 : i < 600 ? 0 : -2) * DT;
			front[0] += v * DT * cos(heading);
			front[1] += v * DT * sin(heading);
			reckon(&r, &e, front, 90 - heading * 180 / M_PI, v);
		}
	}
	check_reckoned(&r, &e);
	near(ego_wrap(e.yaw - 0.3 + M_PI / 2), 0, 0.01);
}

/* SUMO puts it 3.2 m to the left in a step: it drives there. */
TEST(after_a_sudden_lane_change_the_ego_drives_to_the_new_lane)
{
	struct reckoned r = { 0 };
	struct ego e = car();
	double v = 12, front[3] = { 1, 1, 0 }, x, y;

	for (int i = 0; i < 600; i++) {
		front[0] += v * DT;
		front[1] += i == 200 ? 3.2 : 0;
		reckon(&r, &e, front, 90, v);
	}
	check_reckoned(&r, &e);
	assert_true(r.worst_rate < 1 && r.worst_step < 1.1 * v * DT);
	ego_front(&e, &x, &y);
	near(y, 4.2, 0.01);
	near(e.yaw, 0, 0.01);
}

/* At the end of a street SUMO turns it on the spot, and drives back. */
TEST(the_ego_turns_where_a_street_ends)
{
	struct reckoned r = { 0 };
	struct ego e = car();
	double v = 3, front[3] = { 1, 1, 0 };

	for (int i = 0; i < 2000; i++) {
		double heading = i < 1000 ? 0 : i < 1100 ? (i - 1000) * M_PI / 100 : M_PI;

		front[0] += v * DT * cos(heading);
		front[1] += v * DT * sin(heading);
		reckon(&r, &e, front, 90 - heading * 180 / M_PI, v);
	}
	check_reckoned(&r, &e);
	near(fabs(e.yaw), M_PI, 0.01);
}

/* Over a junction of 14 m at once, into a street to the left: the place jumps, and no more than that. */
TEST(the_ego_is_carried_over_a_gap_and_turns_after_it)
{
	struct ego e = car();
	double v = 8, front[3] = { 0, 0, 0 }, yaw, turned = 0, worst = 0, x, y, base[2];

	for (int i = 0; i < 100; i++) {
		front[0] += v * DT;
		ego_follow(&e, front, 90, v, DT);
	}
	front[0] += 10;
	front[1] += 10;
	assert_true(ego_gap(&e, front) > 14);
	base[0] = e.pos[0];
	base[1] = e.pos[1];
	ego_carry(&e, front, 0, v, DT);
	near(e.pos[0] - base[0], 10, 0.1);
	near(e.pos[1] - base[1], 10, 0.1);
	for (int i = 0; i < 600; i++) {
		front[1] += i ? v * DT : 0;
		yaw = e.yaw;
		ego_follow(&e, front, 0, v, DT);
		turned += e.yaw_rate * DT;
		worst = fmax(worst, fabs(ego_wrap(e.yaw - yaw)));
		near(e.speed, v, v); /* never as fast as the gap is wide */
	}
	assert_int_equal(e.jumps, 1);
	near(turned, M_PI / 2, 1e-3);
	near(e.yaw, turned, 1e-9);
	assert_true(worst < 0.03);
	ego_front(&e, &x, &y);
	near(x, front[0], 0.01);
	near(y, front[1], 0.1);
}

TEST(a_jump_restarts_the_motion)
{
	struct ego e = car();
	double a[3] = { 0, 0, 0 }, b[3] = { 50, 50, 0 };

	ego_follow(&e, a, 90, 10, DT);
	ego_follow(&e, b, 0, 10, DT);
	assert_int_equal(e.jumps, 1);
	near(e.yaw, M_PI / 2, 1e-12);
	near(e.yaw_rate, 0, 0);
}

TEST(a_driven_ego_follows_the_bicycle_model)
{
	struct ego e = car();
	struct ego_command c = { .has_speed = true, .speed = 5, .wheel_angle = 0.2, .gear = EGO_DRIVE };
	double front[3] = { 0, 0, 0 }, x0, y0, angle = 0, before;

	ego_follow(&e, front, 90, 5, DT);
	for (int i = 0; i < 100; i++) /* the wheel needs a moment */
		ego_drive(&e, &c, DT);
	near(e.wheel_angle, 0.2, 1e-12);
	near(e.yaw_rate, 5 * tan(0.2) / e.p.wheelbase, 1e-6);
	x0 = e.pos[0];
	y0 = e.pos[1];
	before = e.yaw;
	while (angle < 2 * M_PI) { /* once round: back where it was */
		ego_drive(&e, &c, DT);
		angle += ego_wrap(e.yaw - before);
		before = e.yaw;
	}
	near(hypot(e.pos[0] - x0, e.pos[1] - y0), 0, 0.06);
}

TEST(pedals_and_gears_act)
{
	struct ego e = car();
	struct ego_command c = { .throttle = 1, .gear = EGO_DRIVE };
	double front[3] = { 0, 0, 0 };

	ego_follow(&e, front, 90, 0, DT);
	for (int i = 0; i < 100; i++)
		ego_drive(&e, &c, DT);
	assert_true(e.speed > 2.5 && e.speed < 3);
	c = (struct ego_command){ .brake = 1, .gear = EGO_DRIVE };
	for (int i = 0; i < 100; i++)
		ego_drive(&e, &c, DT);
	near(e.speed, 0, 0); /* brakes never push it backwards */
	c = (struct ego_command){ .throttle = 0.5, .gear = EGO_REVERSE };
	for (int i = 0; i < 100; i++)
		ego_drive(&e, &c, DT);
	assert_true(e.speed < -1);
	c = (struct ego_command){ .throttle = 1, .gear = EGO_PARKING };
	for (int i = 0; i < 200; i++)
		ego_drive(&e, &c, DT);
	near(e.speed, 0, 0);
}

TEST(taking_and_returning_control_causes_no_jump)
{
	struct ego e = car();
	struct ego_command c = { .has_speed = true, .speed = 8, .gear = EGO_DRIVE };
	double front[3] = { 0, 0, 0 };

	for (int i = 0; i < 100; i++) {
		front[0] += 8 * DT;
		ego_follow(&e, front, 90, 8, DT);
	}
	for (int i = 0; i < 100; i++) {
		ego_drive(&e, &c, DT);
		front[0] += 8 * DT;
	}
	ego_front(&e, &front[0], &front[1]);
	near(front[0], 16, 0.01);
	for (int i = 0; i < 10; i++) {
		front[0] += 8 * DT;
		ego_follow(&e, front, 90, 8, DT);
	}
	assert_int_equal(e.jumps, 0);
	near(e.speed, 8, 1e-3);
}
