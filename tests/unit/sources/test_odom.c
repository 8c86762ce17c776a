/* SPDX-License-Identifier: Apache-2.0 */
/* The frame "odom": continuous, drifting as it was asked to, and together with its correction always where the ego is. */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Transforms.h>

#include "libclient/base/err.h"
#include "tools/sources/odom.h"
#include "tools/sources/scene/scene.h"

#define STEPS  1000
#define STEP_M 0.2

static _Alignas(64) uint8_t body[1024];

static void near(double a, double b)
{
	if (!(fabs(a - b) < 1e-9))
		fail_msg("%.12g is not %.12g", a, b);
}

static struct odom make(const char *text)
{
	struct odom o;

	assert_int_equal(odom_parse(&o, text), 0);
	return o;
}

/* A point of a curve that is no circle, uphill; far from the map's origin. */
static struct odom_pose at(int i)
{
	double s = i * STEP_M;

	return (struct odom_pose){ .x = 691000 + 100 * sin(s / 60),
				   .y = 5335000 + 40 * sin(s / 25),
				   .z = 500 + s / 50,
				   .yaw = atan2(40.0 / 25 * cos(s / 25), 100.0 / 60 * cos(s / 60)) };
}

static struct sim_Quaternion attitude_of(const struct odom_pose *p)
{
	return (struct sim_Quaternion){ .z = sin(p->yaw / 2), .w = cos(p->yaw / 2) };
}

/* The message's frames, put together, are where the ego is. */
static void check_tf(const struct odom *o, const struct odom_pose *truth)
{
	const struct sim_Quaternion q = attitude_of(truth);
	size_t n = odom_fill_tf(o, &q, body, sizeof(body));
	const struct sim_Transforms *m = sim_Transforms_from(body, n);
	struct scene_pose p, part;

	assert_non_null(m);
	assert_int_equal(scene_pose_of(m, n, "map", "base_link", &p), 0);
	near(p.x, truth->x);
	near(p.y, truth->y);
	near(p.z, truth->z);
	near(remainder(p.yaw - truth->yaw, 2 * M_PI), 0);
	assert_int_equal(scene_pose_of(m, n, "odom", "base_link", &part), 0);
	near(part.x, o->pose.x);
	near(part.y, o->pose.y);
	near(part.z, o->pose.z);
	assert_int_equal(scene_pose_of(m, n, "map", "odom", &part), 0);
	near(part.z, truth->z - o->pose.z);
}

TEST(without_errors_it_is_the_way_from_where_it_began)
{
	struct odom o = make("0");
	struct odom_pose first = at(0), map;

	for (int i = 0; i <= STEPS; i++) {
		struct odom_pose p = at(i);

		odom_move(&o, &p, false);
		check_tf(&o, &p);
		map = odom_correction(&o);
		near(map.x, first.x);
		near(map.y, first.y);
		near(map.z, first.z);
		near(map.yaw, first.yaw);
	}
	assert_true(o.on && o.way > 100);
}

/* A straight way of 100 m: 2 % too long, or turned by a thousandth of a radian a metre. */
TEST(it_drifts_as_it_was_asked_to)
{
	static const struct {
		const char *text;
		double x, y, yaw;
	} drifts[] = { { "0.02", 102, 0, 0 },
		       { "-0.02,0", 98, 0, 0 },
		       { "0,0.001", 1000 * 0.09983341664682815, 1000 * (1 - 0.9950041652780258), 0.1 } };

	for (size_t k = 0; k < sizeof(drifts) / sizeof(*drifts); k++) {
		struct odom o = make(drifts[k].text);

		for (int i = 0; i <= STEPS; i++) {
			struct odom_pose p = { .x = 5 - i * 0.1, .y = 7, .yaw = M_PI };

			odom_move(&o, &p, false);
			check_tf(&o, &p);
		}
		assert_true(fabs(o.pose.x - drifts[k].x) < 1e-4 && fabs(o.pose.y - drifts[k].y) < 1e-4);
		near(o.pose.yaw, drifts[k].yaw);
	}
}

TEST(put_elsewhere_it_stays_where_it_is)
{
	struct odom o = make("0.01,0.0005");
	struct odom_pose before, p, far = { .x = -5, .y = 3000, .z = 9, .yaw = -2 };

	for (int i = 0; i <= STEPS; i++) {
		p = at(i);
		odom_move(&o, &p, false);
	}
	before = o.pose;
	odom_move(&o, &far, true);
	assert_memory_equal(&o.pose, &before, sizeof(before));
	check_tf(&o, &far);
	far.x += 1;
	odom_move(&o, &far, false);
	near(hypot(o.pose.x - before.x, o.pose.y - before.y), 1.01);
	odom_restart(&o);
	odom_move(&o, &far, false);
	near(hypot(o.pose.x, o.pose.y) + fabs(o.pose.yaw) + o.way, 0);
	check_tf(&o, &far);
}

/* What /odom says is the place of the tf, and the motion with the same errors. */
TEST(the_message_has_the_place_of_the_frame)
{
	struct odom o = make("0.1,0.01");
	const struct sim_GpsOdometry *g;
	struct odom_motion m = { .velocity = { .x = 4 }, .speed = 4, .yaw_rate = 0.5, .wheel_angle = 0.25 };
	struct odom_pose p = { 0 };
	size_t n;

	for (int i = 0; i <= 100; i++) {
		p = (struct odom_pose){ .x = i * 0.1, .z = i * 0.01 };
		odom_move(&o, &p, false);
	}
	m.attitude = attitude_of(&p);
	assert_int_equal(odom_fill(&o, &m, body, sizeof(*g) - 1), 0);
	n = odom_fill(&o, &m, body, sizeof(body));
	g = sim_GpsOdometry_from(body, n);
	assert_non_null(g);
	near(g->easting, o.pose.x);
	near(g->northing, o.pose.y);
	near(g->altitude, 1);
	near(scene_yaw_of(&g->orientation), 0.1);
	near(hypot(g->velocity.x, g->velocity.y), 4.4);
	near(atan2(g->velocity.y, g->velocity.x), 0.1);
	near(g->angular_velocity.z, 0.54);
	near((double)g->forward_speed, (double)4.4f);
	assert_true(g->pose_covariance[0] > 0.99 && g->pose_covariance[35] > 0.0099);
	assert_string_equal(sim_GpsOdometry_child_frame(g, n), "base_link");
}

TEST(errors_are_within_reason)
{
	static const char *const bad[] = { "x", "0.6", "-0.51", "0,0.2", "0,", "0,0,0", "nan", "0 1", "1e400" };
	struct odom o = make("");

	assert_false(o.on);
	assert_true(make("0").on);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(odom_parse(&o, bad[i]), -EINVAL);
		assert_non_null(strstr(err_why(), "the error of a distance"));
	}
}
