/* SPDX-License-Identifier: Apache-2.0 */
/* pose.h. Thread: the test's. */
#include "support/test.h"

#include <math.h>

#include "world/pose.h"

#define S INT64_C(1000000000)

static struct motion_real at(double x, double vx, int64_t time_sim_ns)
{
	return (struct motion_real){ .position = { x, 1, 2 },
				     .velocity = { vx, 0, 0 },
				     .rotation = { 1, 0, 0, 0 },
				     .time_sim_ns = time_sim_ns };
}

/* About z. */
static void turn_to(struct motion_real *m, double yaw, double sign)
{
	m->rotation[0] = sign * cos(yaw / 2);
	m->rotation[3] = sign * sin(yaw / 2);
}

static double yaw_of(const struct motion_real *m)
{
	return 2 * atan2(m->rotation[3], m->rotation[0]);
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static bool is_unit(const struct motion_real *m)
{
	double sum = 0;

	for (int i = 0; i < 4; i++)
		sum += m->rotation[i] * m->rotation[i];
	return near(sum, 1);
}

/* x = t^2: a cubic has it exactly, a straight line has not. */
TEST(a_constant_acceleration_is_interpolated_exactly)
{
	struct motion_real a = at(1, 2, S), b = at(9, 6, 3 * S), m;

	for (int64_t t = S; t <= 3 * S; t += S / 10) {
		double s = (double)t / (double)S;

		pose_between(&a, &b, t, &m);
		assert_true(near(m.position[0], s * s));
		assert_true(near(m.velocity[0], 2 * s));
		assert_true(near(m.position[1], 1) && near(m.position[2], 2));
		assert_int_equal(m.time_sim_ns, t);
	}
}

/* A host that says no velocities would be seen to stop at each state. */
TEST(without_velocities_the_path_is_straight)
{
	struct motion_real a = at(0, 0, 0), b = at(10, 0, S), m;

	for (int i = 0; i <= 10; i++) {
		pose_between(&a, &b, i * S / 10, &m);
		assert_true(near(m.position[0], i));
	}
}

/* Put elsewhere, and driving on there: no loop between the places. */
TEST(a_teleport_gives_no_curve)
{
	struct motion_real a = at(0, 10, 0), b = at(1000, 10, S / 100), m;

	for (int i = 0; i <= 100; i++) {
		pose_between(&a, &b, i * S / 10000, &m);
		assert_true(m.position[0] >= 0 && m.position[0] <= 1000);
		assert_true(near(m.position[0], i * 10.0));
	}
}

TEST(rotation_takes_the_shorter_way)
{
	for (int sign = -1; sign <= 1; sign += 2)
		for (int degrees = -170; degrees <= 170; degrees += 10) {
			struct motion_real a = at(0, 0, 0), b = at(0, 0, S), m;
			double yaw = degrees * M_PI / 180;

			turn_to(&b, yaw, sign);
			pose_between(&a, &b, S / 4, &m);
			assert_true(is_unit(&m));
			assert_true(near(yaw_of(&m), yaw / 4));
		}
}

TEST(beyond_the_last_state_motion_and_rotation_continue)
{
	struct motion_real a = at(5, 3, S), m;

	a.spin[2] = 0.5;
	turn_to(&a, 0.2, 1);
	pose_beyond(&a, 3 * S, &m);
	assert_true(near(m.position[0], 11) && near(m.position[1], 1));
	assert_true(near(yaw_of(&m), 1.2) && is_unit(&m));
	assert_true(near(m.velocity[0], 3) && near(m.spin[2], 0.5));
	pose_beyond(&a, 0, &m);
	assert_true(near(m.position[0], 2) && near(yaw_of(&m), -0.3));
}

/* The spin is in the world's axes: a body that lies on its side yaws on about the world's z. */
TEST(the_spin_is_in_world_axes)
{
	struct motion_real a = at(0, 0, 0), m;
	double half = sqrt(0.5);

	a.rotation[0] = half; /* a quarter turn about x */
	a.rotation[1] = half;
	a.spin[2] = M_PI / 2;
	pose_beyond(&a, S, &m);
	assert_true(near(m.rotation[0], 0.5) && near(m.rotation[1], 0.5));
	assert_true(near(m.rotation[2], 0.5) && near(m.rotation[3], 0.5));
}
