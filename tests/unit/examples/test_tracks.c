/* SPDX-License-Identifier: Apache-2.0 */
/* Tracking: ids, velocities, a vehicle that moves and turns, and clocks that jump. */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "libclient/examples/perception/tracks.h"

#define STEP_NS INT64_C(100000000)

static struct tracks *tracks;
static struct track shown[OBSTACLES_MAX];

static int setup(void **state)
{
	struct tracks_params p = tracks_params_default();
	const char *why;

	(void)state;
	return tracks_create(&p, &tracks, &why);
}

static int teardown(void **state)
{
	(void)state;
	tracks_destroy(tracks);
	return 0;
}

static struct obstacle person(double x, double y)
{
	return (struct obstacle){ .x = x, .y = y, .z = 0.9, .length = 0.5, .width = 0.4, .height = 1.8, .points = 20 };
}

static const struct track *track(size_t n, uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (shown[i].id == id)
			return &shown[i];
	fail_msg("no track %u", id);
	return NULL;
}

static void near(double a, double b, double eps)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("%.6g is not %.6g within %g", a, b, eps);
}

TEST_WITH(a_track_is_shown_from_its_second_detection, setup, teardown)
{
	const struct tracks_motion still = { 0 };
	struct obstacle o[] = { person(10, 2), person(20, -3) };

	assert_int_equal(tracks_update(tracks, &still, 0, o, 2, shown), 0);
	assert_int_equal(tracks_update(tracks, &still, STEP_NS, o, 1, shown), 1); /* the other was there once: noise */
	assert_int_equal(shown[0].id, 1);
	near(shown[0].map_x, 10, 1e-9);
	assert_int_equal(shown[0].age_dur_ns, STEP_NS);
	assert_int_equal(tracks_update(tracks, &still, 2 * STEP_NS, o, 2, shown), 1);
	assert_int_equal(tracks_update(tracks, &still, 3 * STEP_NS, o, 2, shown), 2);
	assert_int_equal(shown[1].id, 3);
}

/* Two people who pass each other half a metre apart, given in changing order, and a third behind them. */
TEST_WITH(ids_stay_when_tracks_cross, setup, teardown)
{
	const struct tracks_motion still = { 0 };
	size_t n = 0;

	for (int i = 0; i < 60; i++) {
		double t = 0.1 * i;
		struct obstacle o[] = { person(15, -4 + 1.4 * t), person(15.5, 4 - 1.4 * t), person(25, 0) };

		if (i % 2) {
			struct obstacle swap = o[0];

			o[0] = o[1];
			o[1] = swap;
		}
		n = tracks_update(tracks, &still, i * STEP_NS, o, 3, shown);
		if (i == 0)
			continue;
		assert_int_equal(n, 3);
		near(track(n, 1)->map_y, -4 + 1.4 * t, 0.2);
		near(track(n, 2)->map_y, 4 - 1.4 * t, 0.2);
		near(track(n, 3)->map_y, 0, 1e-9);
	}
	near(track(n, 1)->map_vy, 1.4, 0.05);
	near(track(n, 2)->map_vy, -1.4, 0.05);
	near(track(n, 1)->map_vx, 0, 0.05);
}

/* The vehicle drives a circle past a standing person; its odometry is 40 ms older than the obstacles. */
TEST_WITH(a_standing_object_stays_still_however_the_vehicle_moves, setup, teardown)
{
	const double v = 8, w = 0.3, px = 40, py = 12;
	size_t n = 0;

	for (int i = 0; i < 40; i++) {
		int64_t stamp = i * STEP_NS, odo = stamp - 40000000;
		double t = (double)stamp / 1e9, t0 = (double)odo / 1e9, yaw = w * t, x = v / w * sin(yaw),
		       y = v / w * (1 - cos(yaw));
		struct tracks_motion m = { .stamp_sim_ns = odo,
					   .x = v / w * sin(w * t0),
					   .y = v / w * (1 - cos(w * t0)),
					   .yaw = w * t0,
					   .vx = v * cos(w * t0),
					   .vy = v * sin(w * t0),
					   .yaw_rate = w };
		struct obstacle o =
			person(cos(yaw) * (px - x) + sin(yaw) * (py - y), cos(yaw) * (py - y) - sin(yaw) * (px - x));

		n = tracks_update(tracks, &m, stamp, &o, 1, shown);
		if (i < 5)
			continue;
		assert_int_equal(n, 1);
		assert_int_equal(shown[0].id, 1);
		near(hypot(shown[0].map_vx, shown[0].map_vy), 0, 0.1);
		near(shown[0].map_x, px, 0.05);
		near(shown[0].box.x, o.x, 0.05); /* and back in base_link */
		near(shown[0].box.y, o.y, 0.05);
	}
	assert_int_equal(n, 1);
}

TEST_WITH(a_car_ahead_has_its_speed_in_both_frames, setup, teardown)
{
	const double yaw = 1.0, c = cos(yaw), s = sin(yaw);
	size_t n = 0;

	for (int i = 0; i < 40; i++) {
		double t = 0.1 * i;
		struct tracks_motion m = { .stamp_sim_ns = i * STEP_NS,
					   .x = 10 * t * c,
					   .y = 10 * t * s,
					   .yaw = yaw,
					   .vx = 10 * c,
					   .vy = 10 * s };
		struct obstacle o = {
			.x = 20 + 2 * t, .z = 0.7, .length = 4, .width = 1.8, .height = 1.4, .points = 99
		};

		n = tracks_update(tracks, &m, i * STEP_NS, &o, 1, shown);
	}
	assert_int_equal(n, 1);
	near(shown[0].map_vx, 12 * c, 0.1);
	near(shown[0].map_vy, 12 * s, 0.1);
	near(shown[0].vx, 12, 0.1);
	near(shown[0].vy, 0, 0.05);
	near(shown[0].heading, yaw, 0.01);
}

/* Of two people who stand together one is seen, then both: the centre jumps by a metre, but neither of them runs. */
TEST_WITH(a_jump_of_the_centre_is_not_a_speed, setup, teardown)
{
	const struct tracks_motion still = { 0 };

	for (int i = 0; i < 20; i++) {
		struct obstacle o = person(10, i < 10 ? 0 : 1);

		if (tracks_update(tracks, &still, i * STEP_NS, &o, 1, shown))
			assert_true(fabs(shown[0].map_vy) < 1.8); /* without the bound on its acceleration: 3 */
	}
	near(shown[0].map_y, 1, 0.2);
}

/* Each cloud shows another part of a long building: its centre moves, the building does not. */
TEST_WITH(buildings_do_not_move, setup, teardown)
{
	const struct tracks_motion still = { 0 };
	size_t n = 0;

	for (int i = 0; i < 20; i++) {
		struct obstacle o = {
			.x = 20 + 0.3 * i, .y = 8, .length = 20 + 0.6 * i, .width = 1, .height = 2.5, .points = 99
		};

		n = tracks_update(tracks, &still, i * STEP_NS, &o, 1, shown);
	}
	assert_int_equal(n, 1);
	near(shown[0].map_vx, 0, 0);
}

TEST_WITH(a_briefly_hidden_track_continues, setup, teardown)
{
	const struct tracks_motion still = { 0 };
	size_t n = 0;

	for (int i = 0; i < 30; i++) {
		struct obstacle o = person(10, 0.12 * i);
		bool hidden = i >= 15 && i < 19;

		n = tracks_update(tracks, &still, i * STEP_NS, &o, hidden ? 0 : 1, shown);
		if (i > 0)
			assert_int_equal(n, 1);
		if (i == 18) {
			near(shown[0].score, 1 - 4 / 6.0, 1e-9);
			near(shown[0].map_y, 0.12 * i, 0.1); /* where it is expected */
		}
	}
	near(shown[0].score, 1, 0);
	assert_int_equal(shown[0].id, 1);
	for (int i = 30; i < 35; i++)
		assert_int_equal(tracks_update(tracks, &still, i * STEP_NS, NULL, 0, shown), 1);
	assert_int_equal(tracks_update(tracks, &still, 35 * STEP_NS, NULL, 0, shown), 0);
}

TEST_WITH(a_jump_back_starts_over_and_a_gap_forgets_tracks, setup, teardown)
{
	const struct tracks_motion still = { 0 };
	struct obstacle o = person(10, 0);

	for (int i = 0; i < 3; i++)
		(void)tracks_update(tracks, &still, (10 + i) * STEP_NS, &o, 1, shown);
	assert_int_equal(shown[0].id, 1);
	assert_int_equal(tracks_update(tracks, &still, 0, &o, 1, shown), 0);
	assert_int_equal(tracks_update(tracks, &still, STEP_NS, &o, 1, shown), 1);
	assert_int_equal(shown[0].id, 1); /* as in the first run */
	assert_int_equal(tracks_update(tracks, &still, 100 * STEP_NS, &o, 1, shown), 0);
	assert_int_equal(tracks_update(tracks, &still, 101 * STEP_NS, &o, 1, shown), 1);
	assert_int_equal(shown[0].id, 2);
}

/* Any stamps, and any positions. */
TEST_WITH(invalid_stamps_and_positions_do_no_harm, setup, teardown)
{
	static const int64_t stamps[] = { INT64_MIN, INT64_MAX, 0, -1, INT64_MIN, 1, STEP_NS, INT64_MAX };
	const struct obstacle o[] = { person(1e300, -1e300), person(-1e300, 1e300), person(1, 1) };

	for (size_t i = 0; i < 64; i++) {
		struct tracks_motion m = {
			.stamp_sim_ns = stamps[i * 3 % 8], .x = 1e300, .vx = 1e300, .yaw_rate = 1e300
		};

		assert_true(tracks_update(tracks, &m, stamps[i % 8], o, 3, shown) <= 3);
	}
}

/* The same twice, padding included, with more objects than there is room for. */
TEST_WITH(the_same_input_gives_the_same_bytes, setup, teardown)
{
	static struct obstacle o[OBSTACLES_MAX + 10];
	static struct track first[OBSTACLES_MAX];
	struct tracks_params p = tracks_params_default();
	const struct tracks_motion still = { .vx = 3 };
	const char *why;
	struct tracks *other;
	size_t n = 0, m = 0;

	assert_int_equal(tracks_create(&p, &other, &why), 0);
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < OBSTACLES_MAX + 10; k++)
			o[k] = person(k % 16 * 1.1 + 0.1 * sin(i * k), k / 16 * 1.1 + 0.1 * cos(3 * i + k));
		memset(shown, 0x55, sizeof(shown));
		memset(first, 0x55, sizeof(first));
		n = tracks_update(tracks, &still, i * STEP_NS, o, OBSTACLES_MAX + 10, first);
		m = tracks_update(other, &still, i * STEP_NS, o, OBSTACLES_MAX + 10, shown);
		assert_int_equal(n, m);
		for (size_t k = 0; k < n; k++)
			assert_true(first[k].id == shown[k].id && first[k].map_x == shown[k].map_x &&
				    first[k].map_vy == shown[k].map_vy && first[k].box.y == shown[k].box.y);
	}
	assert_int_equal(n, OBSTACLES_MAX);
	for (size_t k = 1; k < n; k++)
		assert_true(first[k].id > first[k - 1].id);
	tracks_destroy(other);
}

TEST(invalid_parameters_are_refused_with_the_reason)
{
	struct tracks_params p = tracks_params_default();
	const char *why;

	p.gate_m = NAN;
	assert_int_equal(tracks_create(&p, &tracks, &why), -EINVAL);
	assert_non_null(strstr(why, "gate_m"));
	p = tracks_params_default();
	p.alpha = 0;
	assert_int_equal(tracks_create(&p, &tracks, &why), -EINVAL);
	assert_non_null(strstr(why, "alpha"));
	p = tracks_params_default();
	p.max_accel = 0;
	assert_int_equal(tracks_create(&p, &tracks, &why), -EINVAL);
	assert_non_null(strstr(why, "max_accel"));
	p = tracks_params_default();
	p.confirm = 0;
	assert_int_equal(tracks_create(&p, &tracks, &why), -EINVAL);
	assert_non_null(strstr(why, "confirm"));
}
