/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sim-sumo's messages say about a moment that is known, and what orders do to the ego.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Gps.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Imu.h>
#include <sim/msg/LaneLines.h>
#include <sim/msg/TrafficSignals.h>
#include <sim/msg/Transforms.h>
#include <sim/msg/VehicleOdometry.h>

#include "tools/sources/sumo/control.h"
#include "tools/sources/sumo/messages.h"

static struct tracks tracks;
static struct ego ego;
static uint8_t body[1 << 17] __attribute__((aligned(64)));

static void near(double a, double b, double eps)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("%.9g is not %.9g within %g", a, b, eps);
}

/* The ego at (100, 50), pointing north, 10 m/s, in a left turn. */
static struct moment moment(void)
{
	struct ego_params p = ego_params_for(4.6);

	tracks_init(&tracks);
	ego_init(&ego, &p);
	ego.pos[0] = 100;
	ego.pos[1] = 50;
	ego.pos[2] = 2;
	ego.yaw = M_PI / 2;
	ego.speed = 10;
	ego.yaw_rate = 0.2;
	ego.accel = 1;
	ego.wheel_angle = 0.06;
	return (struct moment){
		.stamp_sim_ns = 5000000000,
		.gyro = 0.21,
		.span_dur_ns = 10000000,
		.ego = &ego,
		.has_fix = true,
		.lon_deg = 11.5,
		.lat_deg = 48.1,
		.altitude = 2,
		.origin_easting = 691500,
		.origin_northing = 5335500,
		.tracks = &tracks,
		.range_m = 100,
	};
}

TEST(the_imu_measures_turn_and_gravity)
{
	struct moment m = moment();
	size_t n = message_imu(&m, body, sizeof(body));
	const struct sim_Imu *imu = sim_Imu_from(body, n);

	assert_non_null(imu);
	near(imu->linear_acceleration.x, 1, 1e-12);
	near(imu->linear_acceleration.y, 2, 1e-12); /* v * yaw rate, to the left */
	near(imu->linear_acceleration.z, 9.80665, 1e-12);
	/* the angle turned since the last one, not the current turning rate */
	near(imu->angular_velocity.z, 0.21, 1e-12);
	near(imu->orientation.z, sqrt(0.5), 1e-12);
	near(imu->orientation.w, sqrt(0.5), 1e-12);
	near(imu->linear_velocity.x, 10, 0);
	near(imu->position.y, 50, 0);
	assert_int_equal(imu->measurement_span, 10000000);
	assert_int_equal(message_imu(&m, body, 8), 0); /* no room */
}

TEST(position_and_odometry_agree)
{
	struct moment m = moment();
	static uint8_t other[2048] __attribute__((aligned(64)));
	size_t n = message_gps(&m, body, sizeof(body)), k = message_gps_odometry(&m, other, sizeof(other));
	const struct sim_Gps *g = sim_Gps_from(body, n);
	const struct sim_GpsOdometry *o = sim_GpsOdometry_from(other, k);

	assert_true(k > 0 && k <= message_gps_odometry_max());
	near(g->latitude, 48.1, 0);
	near(o->latitude, g->latitude, 0);
	near(g->easting, 100, 0); /* where the tree of frames has it */
	near(o->easting, 100, 0);
	near(o->northing, 50, 0);
	assert_false(g->ignore_map_origin || o->ignore_map_origin);
	near(o->velocity.x, 0, 1e-12);
	near(o->velocity.y, 10, 1e-12);
	near((double)o->forward_speed, 10, 1e-6);
	assert_string_equal(sim_GpsOdometry_child_frame(o, k), "base_link");
	assert_int_equal(g->status, SIM_GPS_STATUS_FIX);
}

TEST(the_map_frame_is_placed_in_utm)
{
	struct moment m = moment();
	size_t n = message_tf_static(&m, body, sizeof(body));
	const struct sim_Transforms *all = sim_Transforms_from(body, n);
	const struct sim_Transform *t;
	uint32_t count;

	assert_true(n > 0 && n <= message_tf_max());
	t = sim_Transforms_transforms(all, n, &count);
	assert_int_equal(count, 1);
	assert_true(all->is_static);
	assert_string_equal(sim_Transform_parent_frame_in(body, n, t), "map");
	assert_string_equal(sim_Transform_child_frame_in(body, n, t), "utm");
	near(t->translation.x, -691500, 0);
	near(t->translation.y, -5335500, 0);
	near(t->translation.z, 0, 0);
	near(t->rotation.w, 1, 0);
	m.origin_turn = M_PI / 2; /* the map's x is the grid's north */
	n = message_tf_static(&m, body, sizeof(body));
	t = sim_Transforms_transforms(sim_Transforms_from(body, n), n, &count);
	near(t->translation.x, -5335500, 1e-6);
	near(t->translation.y, 691500, 1e-6);
	near(t->rotation.z, -sqrt(0.5), 1e-12);
	near(t->rotation.w, sqrt(0.5), 1e-12);
}

TEST(the_can_bus_reports_lights_and_pedals)
{
	struct moment m = moment();
	const struct sim_CanBus *c;

	m.signals = WORLD_SIGNAL_LEFT | WORLD_SIGNAL_FRONT | WORLD_SIGNAL_BRAKE;
	ego.brake = 0.25;
	ego.gear = EGO_REVERSE;
	m.external = true;
	c = sim_CanBus_from(body, message_can_bus(&m, body, sizeof(body)));
	assert_true(c->left_turn_signal && !c->right_turn_signal && c->low_beam && !c->high_beam);
	assert_true(c->in_reverse && !c->parking_brake && c->engine_on);
	near((double)c->braking, 0.25, 1e-6);
	near((double)c->steering, 0.1, 1e-6);
	near((double)c->engine_rpm, 10 / (2 * M_PI * 0.32) * 60 * 9, 0.5);
	assert_int_equal(c->mode, 1);
	assert_int_equal(c->gear, 2);
}

TEST(the_pose_is_a_transform)
{
	struct moment m = moment();
	size_t size = message_tf(&m, body, sizeof(body));
	const struct sim_Transforms *all = sim_Transforms_from(body, size);
	const struct sim_Transform *t;
	uint32_t n;

	assert_true(size > 0 && size <= message_tf_max());
	t = sim_Transforms_transforms(all, size, &n);
	assert_int_equal(n, 1);
	assert_string_equal(sim_Transform_parent_frame_in(body, size, t), "map");
	assert_string_equal(sim_Transform_child_frame_in(body, size, t), "base_link");
	near(t->translation.x, 100, 0);
	near(t->rotation.z, sqrt(0.5), 1e-12);
}

TEST(objects_are_relative_to_base_link)
{
	struct world_object objs[2] = {
		/* a car whose nose is 20 m north of the rear axle and 3 m east, driving east */
		{ .key = 1,
		  .kind = WORLD_CAR,
		  .pos = { 103, 70, 2 },
		  .angle_deg = 90,
		  .speed = 5,
		  .length = 4,
		  .width = 2,
		  .height = 1.5 },
		{ .key = 2,
		  .kind = WORLD_PEDESTRIAN,
		  .pos = { 90, 50, 2 },
		  .angle_deg = 180,
		  .speed = 1,
		  .length = 0.4,
		  .width = 0.5,
		  .height = 1.8 },
	};
	struct moment m = moment();
	const struct sim_Detected3DObjects *all;
	const struct sim_Detected3DObject *o;
	uint32_t n;
	size_t size;

	m.objects = objs;
	m.nobjects = 2;
	size = message_objects(&m, body, message_objects_max(2));
	all = sim_Detected3DObjects_from(body, size);
	assert_non_null(all);
	o = sim_Detected3DObjects_objects(all, size, &n);
	assert_int_equal(n, 2);
	assert_string_equal(sim_Detected3DObject_label_in(body, size, &o[0]), "Car");
	assert_string_equal(sim_Detected3DObject_label_in(body, size, &o[1]), "Pedestrian");
	near(o[0].pose.position.x, 20, 1e-9); /* ahead */
	near(o[0].pose.position.y, -1, 1e-9); /* its centre is at x = 101: a metre to the right */
	near(o[0].pose.position.z, 0.75, 1e-9);
	near(o[0].pose.orientation.z, -sqrt(0.5), 1e-9); /* turned right of us */
	near(o[0].map_position.x, 101, 1e-9);
	near(o[0].map_velocity.x, 5, 1e-9);
	near(o[0].heading, 0, 1e-9);
	near(o[1].pose.position.y, 10, 1e-9); /* west of us is left */
	assert_int_equal(o[0].id, 1);
	assert_int_equal(o[1].id, 2);
	assert_int_equal(o[0].tracking_time, 0);

	m.stamp_sim_ns += 100000000;
	objs[0].speed = 5.2;
	objs[0].angle_deg = 60; /* SUMO turned it at once: no car turns like that */
	size = message_objects(&m, body, message_objects_max(2));
	o = sim_Detected3DObjects_objects(sim_Detected3DObjects_from(body, size), size, &n);
	assert_int_equal(o[0].id, 1);
	assert_int_equal(o[0].tracking_time, 100000000);
	near(o[0].velocity.angular.z, 5.2 / 2.5, 1e-9);
	assert_int_equal(message_objects(&m, body, message_objects_max(1)), 0);
	tracks_finish(&tracks);
}

TEST(traffic_lights_face_oncoming_vehicles)
{
	struct world_light lights[3] = {
		{ .id = "j00:1", .pos = { 100, 80, 2 }, .angle_deg = 0, .state = 'r' },
		{ .id = "j00:2", .pos = { 100, 80, 2 }, .angle_deg = 0, .state = 'G' },
		{ .id = "far:1", .pos = { 100, 180, 2 }, .angle_deg = 0, .state = 'y' },
	};
	struct moment m = moment();
	const struct sim_TrafficSignal *s;
	uint32_t n;
	size_t size;

	m.lights = lights;
	m.nlights = 3;
	size = message_signals(&m, body, message_signals_max(3));
	s = sim_TrafficSignals_signals(sim_TrafficSignals_from(body, size), size, &n);
	assert_int_equal(n, 2); /* the far one is out of range */
	assert_string_equal(sim_TrafficSignal_id_in(body, size, &s[0]), "j00:1");
	assert_int_equal(s[0].color, SIM_TRAFFIC_SIGNAL_COLOR_RED);
	assert_int_equal(s[1].color, SIM_TRAFFIC_SIGNAL_COLOR_GREEN);
	near(s[0].pose.position.x, 30, 1e-9);
	near(s[0].pose.position.z, 5, 1e-9);
	near(fabs(s[0].pose.orientation.z), 1, 1e-9); /* it looks back at us */
}

TEST(commands_are_taken_and_expire)
{
	struct ego_params p = ego_params_for(4.6);
	struct control c = { 0 };
	struct sim_VehicleControl m = { 0 };

	assert_false(control_expired(&c, 0));
	m.present = SIM_VEHICLE_CONTROL_HAS_ACCELERATION | SIM_VEHICLE_CONTROL_HAS_STEER_TARGET;
	m.acceleration = 0.5f;
	m.steer_target = -0.5f;
	assert_int_equal(control_take(&c, &m, &p, 1000), 0);
	assert_true(c.active);
	near(c.command.throttle, 0.5, 1e-6);
	near(c.command.wheel_angle, -0.5 * p.max_wheel_angle, 1e-6);
	assert_int_equal(c.command.gear, EGO_DRIVE);

	m.present = SIM_VEHICLE_CONTROL_HAS_VELOCITY | SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR;
	m.velocity = -2;
	m.target_gear = EGO_REVERSE;
	assert_int_equal(control_take(&c, &m, &p, 2000), 0);
	assert_true(c.command.has_speed);
	near(c.command.throttle, 0.5, 1e-6); /* unset stays */
	assert_int_equal(c.command.gear, EGO_REVERSE);

	m.present = SIM_VEHICLE_CONTROL_HAS_BRAKING;
	m.braking = 1;
	assert_int_equal(control_take(&c, &m, &p, 3000), 0);
	assert_false(c.command.has_speed);

	assert_false(control_expired(&c, 3000 + CONTROL_STALE_NS));
	assert_true(control_expired(&c, 3001 + CONTROL_STALE_NS));
	assert_false(c.active);
	assert_false(control_expired(&c, 4000 + CONTROL_STALE_NS)); /* reported once */
}

/* Turned by how fast it is to be, as a robot is: the same rate by other angles of the wheels. */
TEST(a_yaw_rate_command_becomes_a_wheel_angle)
{
	struct ego_params p = ego_params_for(4.6);
	struct control c = { 0 };
	struct sim_VehicleControl m = { .present = SIM_VEHICLE_CONTROL_HAS_VELOCITY | SIM_VEHICLE_CONTROL_HAS_YAW_RATE,
					.velocity = 5,
					.yaw_rate = 0.25f };

	assert_int_equal(control_take(&c, &m, &p, 0), 0);
	near(5 * tan(c.command.wheel_angle) / p.wheelbase, 0.25, 1e-9);
	m.velocity = -2;
	assert_int_equal(control_take(&c, &m, &p, 0), 0);
	near(-2 * tan(c.command.wheel_angle) / p.wheelbase, 0.25, 1e-9);
	m.velocity = 0; /* nothing turns on the spot */
	assert_int_equal(control_take(&c, &m, &p, 0), 0);
	near(c.command.wheel_angle, 0, 0);
	m.yaw_rate = NAN;
	assert_int_equal(control_take(&c, &m, &p, 0), -EINVAL);
}

TEST(the_odometry_reports_speed_and_wheel_angle)
{
	struct moment m = moment();
	const struct sim_VehicleOdometry *o = sim_VehicleOdometry_from(body, message_odometry(&m, body, sizeof(body)));

	assert_non_null(o);
	near((double)o->speed, 10, 0);
	near((double)o->front_wheel_angle, 0.06, 1e-8);
	near((double)o->rear_wheel_angle, 0, 0);
	near((double)o->yaw_rate, 0.2, 1e-8);
	assert_int_equal(message_odometry(&m, body, 4), 0);
}

/* To the north, the ego on the right one of two lanes. */
TEST(lanes_are_published_as_lines)
{
	const double right[2][2] = { { 100.5, 0 }, { 100.5, 90 } }, left[2][2] = { { 97.3, 0 }, { 97.3, 90 } };
	struct moment m = moment();
	struct lanes roads = { 0 };
	const struct sim_LaneLines *all;
	const struct sim_LaneLine *l;
	size_t size;
	uint32_t n;

	assert_int_equal(lanes_add(&roads, "n_0", 3.2, true, right, 2), 0);
	assert_int_equal(lanes_add(&roads, "n_1", 3.2, true, left, 2), 0);
	m.roads = &roads;
	memset(body, 0x5a, 4096); /* old data in the slot */
	size = message_lanes(&m, body, message_lanes_max());
	all = sim_LaneLines_from(body, size);
	assert_non_null(all);
	l = sim_LaneLines_lines(all, size, &n);
	assert_int_equal(n, 3);
	assert_memory_equal((const char *)&l[1] - 2, "\0\0", 2);
	near((double)l[0].c0, -2.1, 1e-6);
	near((double)l[1].c0, 1.1, 1e-6);
	near((double)l[1].max_x, 40, 1e-5);
	near((double)l[0].width, LANES_WIDTH, 1e-8);
	assert_int_equal(l[0].type, SIM_LANE_LINE_TYPE_WHITE_SOLID);
	assert_int_equal(l[1].type, SIM_LANE_LINE_TYPE_WHITE_DASHED);
	assert_int_equal(l[0].position, SIM_LANE_LINE_POSITION_EGO_RIGHT);
	assert_int_equal(l[1].position, SIM_LANE_LINE_POSITION_EGO_LEFT);
	assert_int_equal(l[2].position, SIM_LANE_LINE_POSITION_ADJACENT_LEFT);
	assert_int_equal(message_lanes(&m, body, 40), 0);
	/* a street that is too wide for the names that there are */
	lanes_free(&roads);
	for (int i = 0; i < 8; i++) {
		const double p[2][2] = { { 100 - 3.2 * i, 0 }, { 100 - 3.2 * i, 90 } };
		const char id[] = { 'w', '_', (char)('0' + i), 0 };

		assert_int_equal(lanes_add(&roads, id, 3.2, true, p, 2), 0);
	}
	size = message_lanes(&m, body, message_lanes_max());
	l = sim_LaneLines_lines(sim_LaneLines_from(body, size), size, &n);
	assert_int_equal(n, 9);
	assert_int_equal(l[5].position, SIM_LANE_LINE_POSITION_FIFTH_LEFT);
	assert_int_equal(l[6].position, SIM_LANE_LINE_POSITION_OTHER);
	lanes_free(&roads);
}

TEST(invalid_commands_are_ignored)
{
	struct ego_params p = ego_params_for(4.6);
	struct control c = { 0 };
	struct sim_VehicleControl m = { .present = SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE };

	m.steer_angle = NAN;
	assert_int_equal(control_take(&c, &m, &p, 0), -EINVAL);
	assert_false(c.active);
	m.steer_angle = 1e30f;
	m.present |= SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR;
	m.target_gear = 200;
	assert_int_equal(control_take(&c, &m, &p, 0), 0);
	assert_int_equal(c.command.gear, EGO_DRIVE);
	(void)moment();
	for (int i = 0; i < 500; i++)
		ego_drive(&ego, &c.command, 0.01);
	near(ego.wheel_angle, p.max_wheel_angle, 1e-9); /* the lock holds */
}

TEST(the_gear_lever_moves_step_by_step)
{
	struct ego_params p = ego_params_for(4.6);
	struct control c = { 0 };
	struct sim_VehicleControl m = { .present = SIM_VEHICLE_CONTROL_HAS_SHIFT_GEAR_DOWN, .shift_gear_down = 1 };
	static const enum ego_gear want[] = { EGO_NEUTRAL, EGO_REVERSE, EGO_PARKING, EGO_PARKING };

	for (int i = 0; i < 4; i++) {
		assert_int_equal(control_take(&c, &m, &p, 0), 0);
		assert_int_equal(c.command.gear, want[i]);
	}
}
