/* SPDX-License-Identifier: Apache-2.0 */
/* Orders from messages, steps of simulated time, placements: an invalid one is ignored as a whole. */
#include "car.h"

#include <errno.h>

#include <sim/msg/Turn.h>
#include <sim/msg/VehicleMode.h>

static struct vehicle v;

static struct vehicle *fresh(const char *json)
{
	struct vehicle_params p = car(json);

	vehicle_init(&v, &p, &(struct model_place){ 0 });
	return &v;
}

static void begin(int64_t sim_ns, uint32_t generation)
{
	vehicle_begin(&v, &(struct sim_clock_sample){ .sim_ns = sim_ns, .clock_generation = generation });
}

static void step_to(int64_t sim_ns)
{
	begin(sim_ns, 1);
	vehicle_end(&v);
}

static struct sim_VehicleControl accelerate(double accel, double steer)
{
	return (struct sim_VehicleControl){ .present = SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION |
						       SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE,
					    .target_acceleration = (float)accel,
					    .steer_angle = (float)steer };
}

#define IDEAL "{" CAR ", \"vehicle_model_type\": \"IDEAL_STEER_ACC_GEARED\"}"

TEST(a_command_acts_from_its_own_time)
{
	struct sim_VehicleControl m = accelerate(2, 0);

	fresh(IDEAL);
	step_to(S);
	begin(2 * S, 1);
	assert_ok(vehicle_control(&v, &m, S + 250 * MS));
	vehicle_end(&v);
	near(v.model.s.speed, 1.5, 1e-12);
	begin(3 * S, 1);
	m = accelerate(0, 0);
	assert_ok(vehicle_control(&v, &m, 2 * S)); /* of the step before: from its end on */
	vehicle_end(&v);
	near(v.model.s.speed, 1.5, 1e-12);
	begin(4 * S, 1);
	m = accelerate(-9, 0);
	assert_ok(vehicle_control(&v, &m, 9 * S)); /* orders for later are ignored */
	vehicle_end(&v);
	near(v.model.s.speed, 1.5, 1e-12);
}

TEST(a_jump_of_the_clock_moves_nothing)
{
	fresh(IDEAL);
	v.orders.drive = DRIVE_ACCEL;
	v.orders.accel = 1;
	step_to(0);
	step_to(S);
	near(v.model.s.x, 0.5, 1e-12);
	begin(500 * S, 2);
	vehicle_end(&v);
	near(v.model.s.x, 0.5, 1e-12);
	begin(501 * S, 2);
	vehicle_end(&v);
	near(v.model.s.x, 2, 1e-12);
}

TEST(an_absurd_step_is_cut)
{
	fresh(IDEAL);
	step_to(0);
	v.orders.drive = DRIVE_ACCEL;
	v.orders.accel = 1;
	step_to(INT64_C(1000000000) * S);
	assert_int_equal(v.cut, 1);
	assert_true(v.model.s.x <= 60 * 50);
	step_to(INT64_C(1000000001) * S);
	assert_int_equal(v.cut, 1);
}

TEST(a_command_that_is_not_finite_changes_nothing)
{
	struct sim_VehicleControl good = accelerate(1, 0.1), bad = accelerate((double)NAN, 0.3);
	struct orders before;

	fresh(IDEAL);
	assert_ok(orders_control(&v.orders, &good, &v.base));
	before = v.orders;
	assert_int_equal(orders_control(&v.orders, &bad, &v.base), -EINVAL);
	bad = accelerate(2, (double)INFINITY);
	assert_int_equal(orders_control(&v.orders, &bad, &v.base), -EINVAL);
	bad = good;
	bad.present |= SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR;
	bad.target_gear = 77;
	assert_int_equal(orders_control(&v.orders, &bad, &v.base), -EINVAL);
	assert_true(*err_why());
	assert_int_equal(v.orders.refused, 3);
	before.refused = 3;
	assert_memory_equal(&before, &v.orders, sizeof(before));
	assert_int_equal(orders_gear(&v.orders, 9), -EINVAL);
	assert_int_equal(orders_turn(&v.orders, 9), -EINVAL);
	assert_int_equal(orders_state(&v.orders, &(struct sim_VehicleState){ .mode = 9 }), -EINVAL);
}

TEST(a_yaw_rate_command_becomes_a_wheel_angle)
{
	struct sim_VehicleControl m = { .present = SIM_VEHICLE_CONTROL_HAS_VELOCITY | SIM_VEHICLE_CONTROL_HAS_YAW_RATE,
					.velocity = -2,
					.yaw_rate = 0.25f };

	fresh(IDEAL);
	assert_ok(orders_control(&v.orders, &m, &v.base));
	near(-2 * tan(orders_now(&v.orders, &v.model).steer) / v.base.wheel_base, 0.25, 1e-9);
	m.velocity = 0; /* nothing turns on the spot */
	assert_ok(orders_control(&v.orders, &m, &v.base));
	near(orders_now(&v.orders, &v.model).steer, 0, 0);
	m.yaw_rate = NAN;
	assert_int_equal(orders_control(&v.orders, &m, &v.base), -EINVAL);
}

TEST(each_model_uses_its_own_command)
{
	struct sim_VehicleControl both = accelerate(1, 0);

	both.present |= SIM_VEHICLE_CONTROL_HAS_VELOCITY; /* as Autoware sends it */
	both.velocity = 12;
	fresh(IDEAL);
	assert_ok(orders_control(&v.orders, &both, &v.base));
	near(orders_now(&v.orders, &v.model).accel, 1, 0);
	fresh("{" CAR ", \"vehicle_model_type\": \"IDEAL_STEER_VEL\"}");
	assert_ok(orders_control(&v.orders, &both, &v.base));
	near(orders_now(&v.orders, &v.model).speed, 12, 0);
	fresh(IDEAL);
	assert_ok(orders_control(&v.orders,
				 &(struct sim_VehicleControl){ .present = SIM_VEHICLE_CONTROL_HAS_VELOCITY,
							       .velocity = 3 },
				 &v.base));
	step_to(0);
	step_to(20 * S);
	near(v.model.s.speed, 3, 1e-9); /* a wanted speed alone is gone to */
	assert_ok(orders_control(&v.orders,
				 &(struct sim_VehicleControl){ .present = SIM_VEHICLE_CONTROL_HAS_ACCELERATION |
									  SIM_VEHICLE_CONTROL_HAS_STEER_TARGET,
							       .acceleration = 0.5f,
							       .steer_target = -0.5f },
				 &v.base));
	near(orders_now(&v.orders, &v.model).accel, 3.5, 0);
	near(orders_now(&v.orders, &v.model).steer, -0.5, 0);
}

TEST(a_gear_command_shifts)
{
	struct sim_VehicleControl up = { .present = SIM_VEHICLE_CONTROL_HAS_SHIFT_GEAR_UP, .shift_gear_up = 1 };
	struct sim_VehicleControl down = { .present = SIM_VEHICLE_CONTROL_HAS_SHIFT_GEAR_DOWN, .shift_gear_down = 1 };

	fresh(IDEAL);
	assert_ok(orders_control(&v.orders, &down, &v.base));
	assert_int_equal(v.orders.gear, GEAR_NEUTRAL);
	assert_ok(orders_control(&v.orders, &down, &v.base));
	assert_ok(orders_control(&v.orders, &down, &v.base));
	assert_ok(orders_control(&v.orders, &down, &v.base));
	assert_int_equal(v.orders.gear, GEAR_PARKING);
	assert_ok(orders_control(&v.orders, &up, &v.base));
	assert_int_equal(v.orders.gear, GEAR_REVERSE);
}

TEST(without_autonomous_control_the_vehicle_brakes)
{
	fresh(IDEAL);
	v.orders.drive = DRIVE_ACCEL;
	v.orders.accel = 1;
	v.orders.mode = SIM_VEHICLE_MODE_MANUAL;
	near(orders_now(&v.orders, &v.model).accel, -7, 0);
	v.orders.mode = SIM_VEHICLE_MODE_AUTO;
	v.orders.emergency = true;
	near(orders_now(&v.orders, &v.model).accel, -7, 0);
}

/* ---- placements ---- */

static struct sim_VehiclePlacement at(uint8_t action, double x, double speed)
{
	return (struct sim_VehiclePlacement){ .action = action,
					      .pose = { .position.x = x, .orientation = { .z = 0.6, .w = 0.8 } },
					      .velocity.linear.x = speed };
}

TEST(a_spawn_resets_commands_and_an_overwrite_keeps_them)
{
	struct sim_VehiclePlacement p = at(SIM_VEHICLE_PLACEMENT_OVERWRITE, 7, 4);

	fresh(IDEAL);
	v.orders.gear = GEAR_REVERSE;
	p.velocity.angular.z = 0.5;
	assert_ok(vehicle_place(&v, &p));
	near(v.model.s.x, 7, 0);
	near(v.model.s.yaw, 2 * atan2(0.6, 0.8), 1e-12);
	near(v.model.s.speed, 4, 0);
	near(v.model.s.yaw_rate, 0.5, 1e-12);
	assert_int_equal(v.orders.gear, GEAR_REVERSE);
	p = at(SIM_VEHICLE_PLACEMENT_SPAWN, 9, 0);
	p.wheel_base = 4;
	p.size.x = 8;
	p.center.x = 2;
	assert_ok(vehicle_place(&v, &p));
	assert_int_equal(v.orders.gear, GEAR_DRIVE);
	near(v.model.p.wheel_base, 4, 0);
	p = at(SIM_VEHICLE_PLACEMENT_SPAWN, 9, 0);
	assert_ok(vehicle_place(&v, &p));
	near(v.model.p.wheel_base, WB, 0); /* dimensions are those of each spawn */
}

TEST(a_take_over_leaves_the_vehicle_in_manual_mode)
{
	struct sim_VehiclePlacement p = at(SIM_VEHICLE_PLACEMENT_TAKE_OVER, 7, 4);

	fresh(IDEAL);
	v.orders.gear = GEAR_REVERSE;
	assert_ok(vehicle_place(&v, &p));
	near(v.model.s.x, 7, 0);
	assert_int_equal(v.orders.mode, SIM_VEHICLE_MODE_MANUAL);
	assert_int_equal(v.orders.gear, GEAR_REVERSE);
	p = at(SIM_VEHICLE_PLACEMENT_OVERWRITE, 8, 4);
	assert_ok(vehicle_place(&v, &p));
	assert_int_equal(v.orders.mode, SIM_VEHICLE_MODE_MANUAL);
	p = at(SIM_VEHICLE_PLACEMENT_SPAWN, 8, 4);
	assert_ok(vehicle_place(&v, &p));
	assert_int_equal(v.orders.mode, SIM_VEHICLE_MODE_AUTO);
}

/* Turned by pitch about its own y axis: nose up is below 0. */
static struct sim_Pose tilted(double x, double z, double pitch)
{
	return (struct sim_Pose){ .position = { .x = x, .z = z },
				  .orientation = { .y = sin(pitch / 2), .w = cos(pitch / 2) } };
}

TEST(a_placement_keeps_the_slope_and_nearby_ground_is_used)
{
	struct sim_VehiclePlacement p = at(SIM_VEHICLE_PLACEMENT_OVERWRITE, 7, 4);
	struct sim_Pose ground;

	fresh(IDEAL);
	p.pose = tilted(7, 3, -0.1);
	assert_ok(vehicle_place(&v, &p));
	near(v.model.s.z, 3, 0);
	near(v.model.s.slope_x, tan(0.1), 1e-12);
	near(v.model.s.slope_y, 0, 0);
	near(model_axes(&v.model.s).pitch, -0.1, 1e-12);
	ground = tilted(6, 3, 0.2);
	assert_ok(vehicle_ground(&v, &ground));
	near(v.model.s.z, 3 - tan(0.2), 1e-12);
	ground = tilted(28, 3, 0.3); /* 21 m away */
	assert_int_equal(vehicle_ground(&v, &ground), -ERANGE);
	ground = tilted((double)NAN, 3, 0.3);
	assert_int_equal(vehicle_ground(&v, &ground), -EINVAL);
	near(v.model.s.slope_x, -tan(0.2), 1e-12);
	ground = tilted(7, 5, 1.6); /* on its nose: no ground for a car */
	assert_ok(vehicle_ground(&v, &ground));
	near(v.model.s.z, 5, 0);
	near(v.model.s.slope_x, 0, 0);
	p = at(SIM_VEHICLE_PLACEMENT_REMOVE, 0, 0);
	v.model.s.slope_x = 0.1;
	assert_ok(vehicle_place(&v, &p)); /* it stays as it stands */
	near(v.model.s.slope_x, 0.1, 0);
}

TEST(a_removed_vehicle_stands_still)
{
	struct sim_VehiclePlacement p = at(SIM_VEHICLE_PLACEMENT_REMOVE, 99, 5);
	struct sim_VehicleControl m = accelerate(3, 0);

	fresh(IDEAL);
	step_to(0);
	v.orders.drive = DRIVE_ACCEL;
	v.orders.accel = 1;
	step_to(S);
	assert_ok(vehicle_place(&v, &p));
	near(v.model.s.x, 0.5, 1e-12);
	begin(3 * S, 1);
	assert_ok(vehicle_control(&v, &m, S));
	vehicle_end(&v);
	near(v.model.s.x, 0.5, 1e-12);
	p = at(SIM_VEHICLE_PLACEMENT_SPAWN, 0, 0);
	assert_ok(vehicle_place(&v, &p));
	begin(4 * S, 1);
	assert_ok(vehicle_control(&v, &m, 3 * S));
	vehicle_end(&v);
	near(v.model.s.speed, 3, 1e-12);
}

TEST(an_invalid_placement_changes_nothing)
{
	struct sim_VehiclePlacement bad[] = {
		at(0, 1, 1),
		at(5, 1, 1),
		at(SIM_VEHICLE_PLACEMENT_SPAWN, (double)NAN, 1),
		at(SIM_VEHICLE_PLACEMENT_SPAWN, 1e30, 1),
		at(SIM_VEHICLE_PLACEMENT_OVERWRITE, 1, (double)INFINITY),
		at(SIM_VEHICLE_PLACEMENT_SPAWN, 1, 1),
		at(SIM_VEHICLE_PLACEMENT_SPAWN, 1, 1),
	};
	struct model_state before;

	fresh(IDEAL);
	before = v.model.s;
	bad[5].pose.orientation.w = (double)NAN;
	bad[6].size.x = -3;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(vehicle_place(&v, &bad[i]) < 0);
		assert_true(*err_why());
		assert_true(vehicle_check_placement(&v.base, &bad[i]) < 0);
		assert_memory_equal(&before, &v.model.s, sizeof(before));
	}
}

/* ---- ahead of time ---- */

static struct vehicle driven(void)
{
	struct vehicle_params p = car("{" CAR "}");
	struct vehicle ret;

	vehicle_init(&ret, &p, &(struct model_place){ .speed = 10 });
	vehicle_begin(&ret, &(struct sim_clock_sample){ .sim_ns = S, .clock_generation = 1 });
	vehicle_end(&ret);
	return ret;
}

static void go(struct vehicle *c, int64_t sim_ns)
{
	vehicle_begin(c, &(struct sim_clock_sample){ .sim_ns = sim_ns, .clock_generation = 1 });
	vehicle_end(c);
}

/* Asked for beforehand or not: it is at the same place, to the bit, and the step is as long. */
TEST(advancing_the_vehicle_early_gives_the_same_state)
{
	struct vehicle a = driven(), b = driven();

	for (int64_t t = S + 30 * MS; t < 2 * S; t += 30 * MS) {
		assert_int_equal(vehicle_begin_ahead(&a, t), 0);
		vehicle_end(&a);
		go(&b, t);
		assert_memory_equal(&a.model.s, &b.model.s, sizeof(a.model.s));
		assert_int_equal(vehicle_begin_ahead(&a, t), 0); /* asked once more */
		vehicle_end(&a);
		go(&a, t);
		assert_memory_equal(&a.model.s, &b.model.s, sizeof(a.model.s));
		assert_int_equal(a.step_dur_ns, 30 * MS);
	}
}

/*
 * However rarely a measurement is taken, and although the vehicle is placed elsewhere meanwhile: only its own turning
 * counts.
 */
TEST(the_gyro_measures_all_turning_of_the_vehicle_itself)
{
	struct vehicle c = driven();
	struct sim_VehicleControl steer = { .present = SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE, .steer_angle = 0.3f };
	double turned = 0, before = c.model.s.yaw;
	int64_t span_ns;

	vehicle_gyro(&c, &span_ns);
	assert_ok(vehicle_control(&c, &steer, S));
	for (int i = 1; i <= 60; i++) {
		if (i % 7 == 0)
			assert_int_equal(vehicle_begin_ahead(&c, S + i * 30 * MS), 0);
		go(&c, S + i * 30 * MS);
		if (i % 4)
			continue;
		turned += vehicle_gyro(&c, &span_ns) * 0.12;
		assert_int_equal(span_ns, 120 * MS);
		near(model_wrap(turned - (c.model.s.yaw - before)), 0, 1e-12);
	}
	assert_true(fabs(turned) > 1);
	assert_ok(vehicle_place(&c, &(struct sim_VehiclePlacement){ .action = SIM_VEHICLE_PLACEMENT_OVERWRITE,
								    .pose.orientation.w = 1 }));
	near(vehicle_gyro(&c, &span_ns), c.model.s.yaw_rate, 0);
	assert_int_equal(span_ns, 0);
}

TEST(time_may_differ_from_where_the_vehicle_was_advanced)
{
	struct vehicle c = driven();
	double x;

	assert_int_equal(vehicle_begin_ahead(&c, S + 30 * MS), 0);
	vehicle_end(&c);
	x = c.model.s.x;
	go(&c, S + 20 * MS); /* less: it waits there */
	assert_true(c.model.s.x == x);
	go(&c, S + 40 * MS); /* and goes on from there */
	near(c.model.s.x - x, x / 3, 1e-9);
	assert_int_equal(vehicle_begin_ahead(&c, S), -ERANGE);
	assert_int_equal(vehicle_begin_ahead(&c, 3 * S), -ERANGE);
	vehicle_init(&c, &c.base, &(struct model_place){ 0 });
	assert_int_equal(vehicle_begin_ahead(&c, S), -EAGAIN);
}
