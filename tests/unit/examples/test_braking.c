/* SPDX-License-Identifier: Apache-2.0 */
/* When it brakes, when not, and whether that is in time: a point mass on a road, ten decisions a second. */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "libclient/examples/perception/braking.h"

#define STEP_NS INT64_C(100000000)
#define KMH(v)  ((v) / 3.6)
#define FRONT_M 3.6

static struct braking brakes(void)
{
	struct braking_params p = braking_params_default();
	const char *why;
	struct braking b;

	assert_int_equal(braking_init(&b, &p, &why), 0);
	return b;
}

static struct braking_object person(double x, double y, double vx, double vy)
{
	return (struct braking_object){
		.id = 7,
		.box = { .x = x, .y = y, .length = 0.5, .width = 0.4, .height = 1.8, .points = 20 },
		.vx = vx,
		.vy = vy,
		.age_s = 1
	};
}

struct run {
	double speed, way; /* m/s; m, of base_link */
	double least_m;    /* from the bumper to the object, while it is in the car's width */
	double hit_speed;  /* when they met; 0: they did not */
	bool braked;
	int began, ended;
};

/*
 * Drive for so long; the driver holds his speed where he is let. The object stands or walks on the ground, from (x, y) on. The decision
 * of a cloud is obeyed from the next 0.1 s on.
 */
static struct run drive(double speed, const struct braking_object *from, int steps)
{
	struct braking b = brakes();
	struct run r = { .speed = speed, .least_m = INFINITY };
	double decel = 0;

	for (int i = 0; i < steps; i++) {
		struct braking_object o = *from;
		struct braking_ego ego = { .speed = r.speed };
		struct braking_order order;

		o.box.x += o.vx * 0.1 * i - r.way;
		o.box.y += o.vy * 0.1 * i;
		if (fabs(o.box.y) < 1.2 && o.box.x > 0) {
			r.least_m = fmin(r.least_m, o.box.x - 0.25 - FRONT_M);
			if (o.box.x - 0.25 < FRONT_M && r.hit_speed <= 0)
				r.hit_speed = r.speed;
		}
		for (int k = 0; k < 10; k++) { /* until the next cloud */
			r.way += r.speed * 0.01;
			r.speed = decel > 0 ? fmax(0, r.speed - decel * 0.01) : fmin(speed, r.speed + 0.02);
		}
		order = braking_decide(&b, i * STEP_NS, &ego, &o, 1);
		decel = order.brake ? order.decel : 0;
		r.braked |= order.brake;
		r.began += order.began;
		r.ended += order.ended;
		assert_true(!order.brake || (order.decel > 0 && order.decel <= 8));
	}
	return r;
}

TEST(from_50_kmh_it_stops_for_a_pedestrian_40_m_ahead)
{
	struct braking_object o = person(40 + FRONT_M, 0, 0, 0);
	struct run r = drive(KMH(50), &o, 100);

	assert_true(r.braked && r.began == 1 && r.ended == 0);
	assert_true(r.speed < 0.01);
	assert_true(r.hit_speed <= 0 && r.least_m > 1.0 && r.least_m < 3.0);
}

TEST(a_pedestrian_on_the_pavement_does_not_stop_it)
{
	const struct braking_object stands = person(40, 3.5, 0, 0), right = person(40, -3, 0, 0),
				    along = person(40, 3.5, 1.4, 0), leaves = person(30, 2, 0, 1.4),
				    meets = person(60, -3, -1.5, 0);
	const struct braking_object *all[] = { &stands, &right, &along, &leaves, &meets };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct run r = drive(KMH(50), all[i], 60);

		if (r.braked)
			fail_msg("it brakes for number %zu", i);
		assert_true(r.way > 80);
	}
}

/*
 * A pedestrian steps off the pavement when the car is 25 m away, at 40 km/h: it stops, and continues when the
 * pedestrian is across.
 */
TEST(a_pedestrian_walking_towards_the_road_is_braked_for_early)
{
	struct braking_object o = person(25 + FRONT_M, -4, 0, 1.5);
	struct run r = drive(KMH(40), &o, 120);

	assert_true(r.began == 1 && r.ended == 1);
	assert_true(r.hit_speed <= 0 && r.least_m > 0.5);
	assert_true(r.way > 40); /* it has gone on */
}

/*
 * A car that comes in a bend of its own lane, a wall whose centre moves, and a person just detected are not predicted
 * to walk.
 */
TEST(only_pedestrians_are_predicted)
{
	const struct braking_ego ego = { .speed = 10 };
	struct braking b = brakes();
	struct braking_object o = person(12, -2.5, 0, 1.4);

	assert_true(braking_decide(&b, 0, &ego, &o, 1).brake);
	o.age_s = 0.3;
	b = brakes();
	assert_false(braking_decide(&b, 0, &ego, &o, 1).brake);
	o = person(12, -2.5, 0, 1.4);
	o.box.points = 0; /* hidden */
	assert_false(braking_decide(&b, 0, &ego, &o, 1).brake);
	o = person(12, -6, 0, 6);
	assert_false(braking_decide(&b, 0, &ego, &o, 1).brake);
	o = person(12, -4, 0, 1.4);
	o.box.width = 4;
	o.box.length = 4.4;
	assert_false(braking_decide(&b, 0, &ego, &o, 1).brake);
}

/* The pedestrian is across before we are there, or we are past before. */
TEST(a_pedestrian_out_of_the_way_in_time_does_not_stop_it)
{
	struct braking_object across = person(60, 0, 0, 1.5), late = person(10, -2.6, 0, 1.0);
	struct run r = drive(KMH(40), &across, 60);

	assert_true(r.hit_speed <= 0 && !r.braked);
	r = drive(KMH(40), &late, 60);
	assert_false(r.braked);
}

TEST(behind_a_car_of_equal_speed_it_does_not_brake)
{
	struct braking_object car = { .id = 1,
				      .box = { .x = 12, .length = 0.2, .width = 1.8, .height = 1.4, .yaw = 0 },
				      .vx = KMH(50) };
	struct run r = drive(KMH(50), &car, 60);

	assert_false(r.braked);
	car.box.x = 35;
	car.vx = KMH(10); /* slower: it slows down, and does not touch it */
	r = drive(KMH(50), &car, 40);
	assert_true(r.braked && r.hit_speed <= 0);
}

/* One that comes towards us, in our lane or in a bend of its own, is nothing yet while we can stop. */
TEST(an_oncoming_object_is_braked_for_when_it_is_near)
{
	struct braking_object car = person(50, 0, -10, 0);
	struct braking b = brakes();
	const struct braking_ego ego = { .speed = KMH(50) };

	assert_false(braking_decide(&b, 0, &ego, &car, 1).brake);
	car.box.x = 25;
	assert_true(braking_decide(&b, STEP_NS, &ego, &car, 1).brake);
}

/* The component does not intervene while a driver stops as SUMO's do (3.5 m/s^2, 2.5 m behind). */
TEST(a_driver_that_brakes_in_time_is_not_overruled)
{
	struct braking b = brakes();
	double v = 11, d = 60;

	for (int i = 0; i < 200; i++) {
		struct braking_object car = {
			.box = { .x = d + FRONT_M + 2, .length = 4, .width = 1.8, .height = 1.4 }
		};
		struct braking_ego ego = { .speed = v };

		assert_false(braking_decide(&b, i * STEP_NS, &ego, &car, 1).brake);
		for (int k = 0; k < 10; k++) {
			d -= v * 0.01;
			if (d - 2.5 <= v * v / 7)
				v = fmax(0, v - 3.5 * 0.01);
		}
	}
	assert_true(v < 0.1 && d < 3);
}

/* A wall with a corner far inside the corridor and the rest beside it: only the part in the corridor counts. */
TEST(only_objects_in_the_corridor_count)
{
	struct braking b = brakes();
	const struct braking_ego ego = { .speed = 10 };
	struct braking_object wall = {
		.id = 3, .box = { .x = 25, .y = 4.2, .length = 30, .width = 0.2, .height = 2, .yaw = -0.25 }
	};
	struct braking_order o = braking_decide(&b, 0, &ego, &wall, 1);

	/* it enters the corridor about 38 m ahead: further than the way to stop, though its near end is 7 m away */
	assert_false(o.brake);
	wall.box.x = 3;
	wall.box.y = 2;
	o = braking_decide(&b, STEP_NS, &ego, &wall, 1);
	assert_true(o.brake && o.distance_m > 0.5 && o.distance_m < 6);
}

/* In a bend the corridor is bent: a person straight ahead is beside it, and one at the side is in it. */
TEST(the_corridor_bends_with_the_wheels)
{
	for (int side = -1; side <= 1; side += 2) {
		const struct braking_ego ego = { .speed = 5, .wheel_angle = side * 0.27 }; /* a circle of 10 m */
		struct braking_object ahead = person(10, 0, 0, 0), in_it = person(7.5, side * 3.4, 0, 0);
		struct braking b = brakes();

		assert_false(braking_decide(&b, 0, &ego, &ahead, 1).brake);
		assert_true(braking_decide(&b, 0, &ego, &in_it, 1).brake);
		b = brakes();
		assert_false(braking_decide(&b, 0, &(struct braking_ego){ .speed = 5 }, &in_it, 1).brake);
	}
}

TEST(the_wheel_angle_is_kept_from_the_start_of_braking)
{
	const struct braking_object o = person(7, 0.2, 0, 0);
	struct braking b = brakes();

	for (int i = 0; i < 3; i++) {
		const struct braking_ego ego = { .speed = 5 - i, .wheel_angle = 0.05 + 0.02 * i };
		struct braking_order r = braking_decide(&b, i * STEP_NS, &ego, &o, 1);

		assert_true(r.brake && fabs(r.wheel_angle - 0.05) < 1e-12);
	}
}

/* A wall on the far side of the circle that the wheels would describe is nowhere near, whichever end of it lies where. */
TEST(objects_across_the_turning_circle_are_ignored)
{
	const struct braking_ego ego = { .speed = 5, .wheel_angle = 0.14 };
	struct braking b = brakes();

	for (int i = 0; i < 60; i++) {
		const struct braking_object wall = {
			.box = { .x = -6 + 0.2 * i, .y = 38, .length = 12, .width = 0.3, .height = 2, .yaw = -0.2 }
		};
		struct braking_order o = braking_decide(&b, i * STEP_NS, &ego, &wall, 1);

		if (o.brake)
			fail_msg("it brakes for a wall at %.1f, 38: %.1f m", wall.box.x, o.distance_m);
	}
}

TEST(objects_beside_or_behind_are_ignored)
{
	struct braking b = brakes();
	const struct braking_ego ego = { .speed = 10 };
	const struct braking_object o[] = { person(-5, 0, 0, 0), person(1, 2, 0, 0), person(-3, -1, 12, 0) };

	assert_false(braking_decide(&b, 0, &ego, o, 3).brake);
}

/* The brake is released only when the way has been free for half a second, but at once when the clock jumps back. */
TEST(the_brake_is_released_after_the_way_has_been_free)
{
	struct braking b = brakes();
	const struct braking_ego stands = { .speed = 0 };
	const struct braking_object o = person(FRONT_M + 1, 0, 0, 0);
	struct braking_order r;

	assert_true(braking_decide(&b, 0, &stands, &o, 1).began);
	for (int i = 1; i < 5; i++)
		assert_true(braking_decide(&b, i * STEP_NS, &stands, NULL, 0).brake);
	r = braking_decide(&b, 5 * STEP_NS, &stands, NULL, 0);
	assert_true(!r.brake && r.ended);
	assert_true(braking_decide(&b, 6 * STEP_NS, &stands, &o, 1).brake);
	assert_false(braking_decide(&b, 0, &stands, NULL, 0).brake);
}

TEST(invalid_stamps_and_positions_do_no_harm)
{
	static const int64_t stamps[] = { INT64_MIN, INT64_MAX, 0, -1, INT64_MAX, INT64_MIN };
	const struct braking_object o[] = { person(1e300, -1e300, 1e300, -1e300), person(5, 0, 0, 0) };
	struct braking b = brakes();

	for (size_t i = 0; i < 12; i++) {
		const struct braking_ego ego = { .speed = i % 2 ? 1e300 : 5, .wheel_angle = i % 3 ? 1e9 : 0 };

		(void)braking_decide(&b, stamps[i % 6], &ego, o, i % 4 ? 2 : 0);
	}
}

TEST(it_brakes_for_the_nearest_object)
{
	struct braking b = brakes();
	const struct braking_ego ego = { .speed = 12 };
	struct braking_object o[] = { person(16, 0, 0, 0), person(12, 0.5, 0, 0), person(14, 0, 0, 0) };
	struct braking_order r, twice;

	o[0].id = 1;
	o[1].id = 2;
	o[2].id = 3;
	r = braking_decide(&b, 0, &ego, o, 3);
	assert_int_equal(r.id, 2);
	b = brakes();
	twice = braking_decide(&b, 0, &ego, o, 3);
	assert_true(r.decel == twice.decel && r.distance_m == twice.distance_m && r.id == twice.id);
}

TEST(invalid_parameters_are_refused_with_the_reason)
{
	struct braking_params p = braking_params_default();
	struct braking b;
	const char *why;

	p.decel = 9;
	assert_int_equal(braking_init(&b, &p, &why), -EINVAL);
	assert_non_null(strstr(why, "max_decel"));
	p = braking_params_default();
	p.width_m = NAN;
	assert_int_equal(braking_init(&b, &p, &why), -EINVAL);
	assert_non_null(strstr(why, "width_m"));
	p = braking_params_default();
	p.clear_s = -1;
	assert_int_equal(braking_init(&b, &p, &why), -EINVAL);
	assert_non_null(strstr(why, "clear_s"));
}
