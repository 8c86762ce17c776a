/* SPDX-License-Identifier: Apache-2.0 */
/* sim-ss2's server without sockets and without simd: every request, refusals, bounds, hostile bytes. */
#include "world.h"

#include <sys/stat.h>
#include <unistd.h>

#include <sim/msg/TrafficSignal.h>

#define MS INT64_C(1000000)

static const struct peer_pose ORIGIN = { .qw = 1 };

static bool ask_initialize(struct world *w, int64_t t_ns)
{
	peer_initialize(&w->q, 1.0 / 30, t_ns);
	return world_ask(w, PEER_INITIALIZE);
}

static bool ask_frame(struct world *w, int64_t t_ns)
{
	peer_frame(&w->q, (double)t_ns / 1e9, (double)NAN, t_ns);
	return world_ask(w, PEER_UPDATE_FRAME);
}

static bool ask_spawn(struct world *w, const char *name, bool ego)
{
	peer_spawn_vehicle(&w->q, name, ego, &ORIGIN);
	return world_ask(w, PEER_SPAWN_VEHICLE);
}

static bool ask_status(struct world *w, const struct peer_status *s, size_t n, bool overwrite)
{
	peer_update_status(&w->q, 250020, s, n, true, overwrite);
	return world_ask(w, PEER_UPDATE_STATUS);
}

static bool ask_despawn(struct world *w, const char *name)
{
	peer_despawn(&w->q, name);
	return world_ask(w, PEER_DESPAWN);
}

/* A run with an ego and one other. */
static void begin(struct world *w)
{
	world_init(w);
	assert_true(ask_initialize(w, 0));
	assert_true(ask_spawn(w, "ego", true));
	assert_true(ask_spawn(w, "car_1", false));
}

TEST(time_follows_the_scenario)
{
	struct world w;

	world_init(&w);
	assert_true(ask_initialize(&w, 5000 * MS));
	assert_int_equal(w.jumps, 1);
	assert_int_equal(w.now_sim_ns, 5000 * MS);
	assert_int_equal(w.shows, 1); /* that there is nothing any more is shown too */
	assert_true(ask_frame(&w, 5033 * MS + 7));
	assert_int_equal(w.now_sim_ns, 5033 * MS + 7);
	assert_int_equal(w.jumps, 1);
	assert_int_equal(w.sets, 1);
	assert_int_equal(w.shows, 2);
	world_finish(&w);
}

TEST(an_invalid_time_is_refused)
{
	/* update_frame with current_ros_time {sec -1}, {nanosec 1e9}; initialize with step_time NaN */
	static const uint8_t before_zero[] = { 0x12, 0x0d, 0x1a, 0x0b, 0x08, 0xff, 0xff, 0xff,
					       0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
	static const uint8_t too_many[] = { 0x12, 0x08, 0x1a, 0x06, 0x10, 0x80, 0x94, 0xeb, 0xdc, 0x03 };
	struct world w;

	begin(&w);
	assert_true(ask_frame(&w, MS));
	assert_false(world_send(&w, before_zero, sizeof(before_zero)));
	assert_int_equal(w.a.number, PEER_UPDATE_FRAME);
	assert_false(world_send(&w, too_many, sizeof(too_many)));
	assert_int_equal(w.now_sim_ns, MS);
	peer_initialize(&w.q, (double)NAN, 0);
	assert_false(world_ask(&w, PEER_INITIALIZE));
	assert_int_equal(w.jumps, 1);
	assert_int_equal(world_scene(&w)->n_entities, 2); /* a refused one drops nothing */
	world_finish(&w);
}

TEST(without_a_ros_time_the_scenario_time_is_used)
{
	static const uint8_t frame[] = { 0x12, 0x09, 0x09, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f }; /* 0.5 s */
	static const uint8_t never[] = { 0x12, 0x09, 0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f }; /* NaN */
	struct world w;

	begin(&w);
	assert_true(world_send(&w, frame, sizeof(frame)));
	assert_int_equal(w.now_sim_ns, 500 * MS);
	assert_false(world_send(&w, never, sizeof(never)));
	assert_int_equal(w.now_sim_ns, 500 * MS);
	world_finish(&w);
}

TEST(initialize_again_drops_all_entities_and_jumps)
{
	const struct peer_light light = { .id = 7, .n = 1, .bulb = { { 2, 0, 1, 1 } } };
	struct world w;

	begin(&w);
	peer_lights(&w.q, 250020, &light, 1);
	assert_true(world_ask(&w, PEER_UPDATE_LIGHTS));
	assert_true(ask_frame(&w, 100 * MS));
	assert_int_equal(w.shown_entities, 2);
	assert_int_equal(w.shown_signals, 1);
	assert_true(ask_initialize(&w, 100 * MS)); /* to where time is: a jump nevertheless */
	assert_int_equal(w.jumps, 2);
	assert_int_equal(w.shown_entities, 0);
	assert_int_equal(w.shown_signals, 0);
	assert_true(ask_spawn(&w, "ego", true));
	world_finish(&w);
}

TEST(before_initialize_answers_match_the_reference)
{
	struct world w;

	world_init(&w);
	assert_false(ask_frame(&w, MS));
	assert_string_equal(w.a.description, "simulator have not initialized yet.");
	assert_int_equal(w.sets, 0);
	assert_true(ask_spawn(&w, "ego", true));
	peer_attach(&w.q, PEER_ATTACH_IMU, "ego");
	assert_true(world_ask(&w, PEER_ATTACH_IMU));
	assert_true(ask_status(&w, NULL, 0, false));
	assert_true(ask_initialize(&w, 0));
	assert_string_equal(w.a.description, "succeed to initialize simulation");
	assert_int_equal(world_scene(&w)->n_entities, 0); /* it belonged to no run */
	assert_true(ask_frame(&w, MS));
	assert_string_equal(w.a.description, "succeed to update frame");
	world_finish(&w);
}

TEST(refusals_of_simd_are_passed_on)
{
	struct world w;

	world_init(&w);
	w.refuse = -EOPNOTSUPP;
	assert_false(ask_initialize(&w, 0));
	assert_string_equal(w.a.description, "simd is elsewhere");
	w.refuse = 0;
	assert_true(ask_initialize(&w, 0));
	w.refuse = -ENOTCONN;
	assert_false(ask_frame(&w, MS));
	assert_int_equal(w.shows, 1);
	world_finish(&w);
}

TEST(npcs_are_where_the_scenario_says)
{
	const struct peer_status s[] = {
		{ .name = "car_1",
		  .action = "follow_lane",
		  .type = 1,
		  .subtype = 3,
		  .pose = { 1, 2, 3, 0.6, 0.8, 0, 0 },
		  .speed = 4,
		  .yaw_rate = 0.1,
		  .accel = 0.5 },
		{ .name = "ego", .action = "driving", .pose = { 9, 9, 0, 0, 1, 0, 0 } },
	};
	const struct scene *sc;
	struct world w;

	begin(&w);
	assert_true(ask_status(&w, s, 2, false));
	assert_int_equal(w.a.n, 2); /* in the order of the request */
	assert_string_equal(w.a.status[0].name, "car_1");
	assert_string_equal(w.a.status[0].action, "follow_lane");
	assert_memory_equal(&w.a.status[0].pose, &s[0].pose, sizeof(s[0].pose));
	assert_true(w.a.status[0].speed == 4 && w.a.status[0].yaw_rate == 0.1 && w.a.status[0].accel == 0.5);
	assert_string_equal(w.a.status[1].name, "ego"); /* without a vehicle the scenario's word holds for it too */
	assert_memory_equal(&w.a.status[1].pose, &s[1].pose, sizeof(s[1].pose));
	sc = world_scene(&w);
	assert_true(sc->entity[1].pose.position.z == 3 && sc->entity[1].twist.linear.x == 4);
	assert_int_equal(sc->entity[1].subtype, 3);
	world_finish(&w);
}

TEST(the_ego_is_where_its_vehicle_says)
{
	struct peer_status s[] = {
		{ .name = "ego", .action = "driving", .pose = { 9, 9, 0, 0, 1, 0, 0 }, .speed = 1 },
		{ .name = "car_1", .pose = { 5, 6, 0, 0, 1, 0, 0 } },
	};
	struct world w;

	begin(&w);
	w.has_vehicle = true;
	w.vehicle =
		(struct vehicle_state){ .pose = { .position = { 100, 200, 1 }, .orientation = { .z = 0.6, .w = 0.8 } },
					.twist = { .linear.x = 7, .angular.z = 0.2 },
					.accel = { .linear.x = -1 },
					.jerk = 2.5,
					.stamp_sim_ns = 1 };
	assert_true(ask_status(&w, s, 2, false));
	assert_string_equal(w.a.status[0].name, "ego");
	assert_true(w.a.status[0].jerk == 2.5);
	assert_string_equal(w.a.status[0].action, "driving");
	assert_true(w.a.status[0].pose.x == 100 && w.a.status[0].pose.y == 200 && w.a.status[0].pose.qz == 0.6);
	assert_true(w.a.status[0].speed == 7 && w.a.status[0].yaw_rate == 0.2 && w.a.status[0].accel == -1);
	assert_true(w.a.status[1].pose.x == 5);
	assert_true(world_scene(&w)->entity[0].pose.position.x == 100);
	/* respawn: one status, and the answer holds that one, as it was sent */
	assert_true(ask_status(&w, s, 1, true));
	assert_int_equal(w.a.n, 1);
	assert_true(w.a.status[0].pose.x == 9 && w.a.status[0].speed == 1);
	world_finish(&w);
}

/* A string of protobuf must be UTF-8, otherwise the whole answer is invalid. */
TEST(strings_in_answers_are_valid_utf8)
{
	const struct peer_status s = { .name = "car_1", .action = "a\xff\xc3\xa9", .pose = { .qw = 1 } };
	struct world w;

	begin(&w);
	assert_true(ask_status(&w, &s, 1, false));
	assert_string_equal(w.a.status[0].action, "a?\xc3\xa9");
	assert_false(ask_spawn(&w, "car\xff", false));
	assert_non_null(strstr(w.a.description, "UTF-8"));
	assert_true(ask_spawn(&w, "car\xc3\xa9", false));
	world_finish(&w);
}

/* The client that began last owns the scenario; the earlier one cannot move it any more, and may begin again itself. */
TEST(a_scenario_has_one_owner)
{
	struct world w;

	world_init(&w);
	server_peer(w.server, "10.0.0.1:7");
	assert_true(ask_initialize(&w, 0));
	assert_string_equal(server_owner(w.server), "10.0.0.1:7");
	assert_true(ask_spawn(&w, "ego", true));
	server_peer(w.server, "10.0.0.2:9");
	assert_false(ask_frame(&w, 5 * MS));
	assert_non_null(strstr(w.a.description, "10.0.0.1:7"));
	assert_int_equal(world_scene(&w)->n_entities, 1);
	assert_true(ask_initialize(&w, 0));
	assert_true(ask_frame(&w, 10 * MS));
	server_peer(w.server, "10.0.0.1:7");
	assert_false(ask_frame(&w, 20 * MS));
	assert_false(ask_spawn(&w, "ego", true));
	assert_int_equal(w.now_sim_ns, 10 * MS);
	server_peer(w.server, ""); /* a peer that has sent a request and disconnected cannot own it */
	assert_false(ask_frame(&w, 20 * MS));
	assert_non_null(strstr(w.a.description, "10.0.0.2:9"));
	assert_false(ask_initialize(&w, 0));
	assert_int_equal(w.now_sim_ns, 10 * MS);
	assert_string_equal(server_owner(w.server), "10.0.0.2:9");
	server_owner_gone(w.server); /* it has come again, from another port */
	server_peer(w.server, "10.0.0.2:10");
	assert_true(ask_frame(&w, 20 * MS));
	assert_string_equal(server_owner(w.server), "10.0.0.2:10");
	world_finish(&w);
}

/* Before 1.4.0: simd moves no ego along a trajectory, and a client that requests it gets an error that says so. */
TEST(a_trajectory_is_refused)
{
	struct world w;

	begin(&w);
	peer_follow(&w.q, "ego");
	assert_false(world_ask(&w, PEER_FOLLOW));
	assert_non_null(strstr(w.a.description, "\"ego\" is not moved"));
	world_finish(&w);
}

TEST(unknown_entities_are_named_and_nothing_moves)
{
	const struct peer_status s[] = { { .name = "car_1", .pose = { 5, 6, 0, 0, 1, 0, 0 } },
					 { .name = "nobody", .pose = { 1, 1, 0, 0, 1, 0, 0 } } };
	struct world w;

	begin(&w);
	assert_false(ask_status(&w, s, 2, false));
	assert_non_null(strstr(w.a.description, "\"nobody\""));
	assert_int_equal(w.a.n, 0);
	assert_true(world_scene(&w)->entity[1].pose.position.x == 0);
	assert_false(ask_despawn(&w, "n\xc3\xb6\n\xff")); /* a description is UTF-8 in one line */
	assert_non_null(strstr(w.a.description, "\"n\xc3\xb6\\n\\xff\""));
	assert_false(ask_despawn(&w, "nobody"));
	assert_non_null(strstr(w.a.description, "nobody"));
	for (uint32_t n = PEER_ATTACH_LIDAR; n < PEER_REQUESTS; n++) {
		if (n != PEER_ATTACH_LIDAR && n != PEER_ATTACH_DETECTION && n != PEER_ATTACH_GRID &&
		    n != PEER_ATTACH_IMU)
			continue;
		peer_attach(&w.q, n, "nobody"); /* the reference does not check the name either */
		assert_true(world_ask(&w, n));
		peer_attach(&w.q, n, "ego");
		assert_true(world_ask(&w, n));
	}
	world_finish(&w);
}

TEST(a_second_spawn_of_a_name_changes_nothing_and_a_second_ego_is_refused)
{
	const struct peer_pose elsewhere = { .x = 50, .qw = 1 };
	struct world w;

	begin(&w);
	peer_spawn_vehicle(&w.q, "car_1", false, &elsewhere);
	assert_true(world_ask(&w, PEER_SPAWN_VEHICLE));
	peer_spawn_vehicle(&w.q, "ego", true, &elsewhere);
	assert_true(world_ask(&w, PEER_SPAWN_VEHICLE));
	assert_int_equal(world_scene(&w)->n_entities, 2);
	assert_true(world_scene(&w)->entity[0].pose.position.x == 0 && world_scene(&w)->entity[1].pose.position.x == 0);
	assert_int_equal(w.places, 1); /* and the vehicle stays where it is */
	assert_false(ask_spawn(&w, "ego_2", true));
	assert_non_null(strstr(w.a.description, "\"ego\""));
	world_finish(&w);
}

/* ---- the vehicle is placed ---- */

TEST(a_vehicle_is_placed_and_its_status_used_from_the_next_frame_on)
{
	struct peer_status s = {
		.name = "ego", .pose = { 9, 8, 0, 0, 1, 0, 0 }, .speed = 3, .yaw_rate = 0.1, .accel = 0.5
	};
	struct world w;

	world_init(&w);
	w.placeable = w.has_vehicle = true;
	w.vehicle = (struct vehicle_state){ .pose = { .position.x = 100, .orientation.w = 1 } };
	assert_true(ask_initialize(&w, 5 * MS));
	assert_true(ask_spawn(&w, "ego", true));
	assert_int_equal(w.places, 1);
	assert_int_equal(w.place.action, PLACE_SPAWN);
	assert_true(w.place.wheel_base > 0 && w.place.max_steering > 0 && w.placed.box_size.x > 0);
	w.vehicle.stamp_sim_ns = 5 * MS; /* it says where it was before */
	assert_true(ask_status(&w, &s, 1, false));
	assert_true(w.a.status[0].pose.x == 9);
	assert_true(ask_frame(&w, 38 * MS));
	w.vehicle.stamp_sim_ns = 38 * MS;
	assert_true(ask_status(&w, &s, 1, false));
	assert_true(w.a.status[0].pose.x == 100);
	assert_true(ask_status(&w, &s, 1, true)); /* overwritten */
	assert_int_equal(w.place.action, PLACE_TAKE_OVER);
	assert_true(w.placed.pose.position.x == 9 && w.placed.twist.linear.x == 3 && w.placed.twist.angular.z == 0.1 &&
		    w.placed.accel.linear.x == 0.5);
	assert_true(w.a.status[0].pose.x == 9);
	assert_true(ask_status(&w, &s, 1, false)); /* within the frame it is there */
	assert_true(w.a.status[0].pose.x == 9);
	assert_true(ask_despawn(&w, "ego"));
	assert_int_equal(w.place.action, PLACE_REMOVE);
	world_finish(&w);
}

/* As in the reference: the status in a frame is that of the frame's own instant. */
TEST(the_vehicle_is_advanced_before_its_status_is_answered)
{
	const struct peer_status all[] = { { .name = "car_1", .type = 1, .pose = { 1, 2, 0, 0, 1, 0, 0 } },
					   { .name = "ego", .pose = { 9, 8, 0, 0, 1, 0, 0 } } };
	struct world w;

	begin(&w);
	assert_true(ask_frame(&w, 40 * MS));
	assert_true(ask_status(&w, all, 1, false)); /* not the ego's */
	assert_int_equal(w.advances, 0);
	assert_true(ask_status(&w, all, 2, false));
	assert_int_equal(w.advances, 1);
	assert_int_equal(w.advanced_sim_ns, 40 * MS + 33333333); /* the step of initialize */
	assert_true(ask_status(&w, all, 2, true));               /* placed */
	peer_update_status(&w.q, 250020, all, 2, false, false);
	assert_true(world_ask(&w, PEER_UPDATE_STATUS)); /* not started */
	assert_int_equal(w.advances, 1);
	world_finish(&w);
}

/* The scenario has fitted the answered position to its map: its height and slope are the vehicle's ground. */
TEST(the_vehicle_gets_the_ground_height_and_slope_of_the_map)
{
	const struct peer_status s = { .name = "ego", .pose = { 9, 8, 7, .qy = sin(-0.05), .qw = cos(0.05) } };
	struct world w;

	begin(&w);
	w.has_vehicle = true;
	w.vehicle = (struct vehicle_state){ .pose = { .position = { 10, 8, 7.1 },
						      .orientation = { .y = sin(-0.06), .w = cos(0.06) } },
					    .stamp_sim_ns = 1 };
	assert_true(ask_frame(&w, 40 * MS));
	assert_true(ask_status(&w, &s, 1, true)); /* placed */
	assert_int_equal(w.grounds, 0);
	w.vehicle.stamp_sim_ns = 41 * MS;
	assert_true(ask_status(&w, &s, 1, false));
	assert_int_equal(w.grounds, 1);
	assert_true(w.ground.position.x == 9 && w.ground.position.z == 7);
	assert_true(fabs(w.ground.orientation.y - sin(-0.05)) < 1e-15);
	assert_true(w.a.status[0].pose.z == 7.1 && w.a.status[0].pose.qy == w.vehicle.pose.orientation.y);
	peer_update_status(&w.q, 250020, &s, 1, false, false);
	assert_true(world_ask(&w, PEER_UPDATE_STATUS)); /* not started: placed */
	assert_int_equal(w.grounds, 1);
	world_finish(&w);
}

TEST(the_vehicle_stays_where_it_is_until_the_logic_starts)
{
	const struct peer_status s = { .name = "ego", .pose = { 9, 8, 0, 0, 1, 0, 0 }, .speed = 2 };
	struct world w;

	begin(&w);
	w.placeable = w.has_vehicle = true;
	w.vehicle = (struct vehicle_state){ .pose = { .position.x = 100, .orientation.w = 1 }, .stamp_sim_ns = 1 };
	for (int i = 1; i <= 3; i++) {
		peer_update_status(&w.q, 250020, &s, 1, false, false);
		assert_true(world_ask(&w, PEER_UPDATE_STATUS));
		assert_int_equal(w.places, 1 + i);
		assert_int_equal(w.place.action, PLACE_OVERWRITE);
		assert_true(w.placed.pose.position.x == 9 && w.placed.twist.linear.x == 2);
		assert_true(w.a.status[0].pose.x == 9);
		assert_true(ask_frame(&w, i * 33 * MS));
	}
	w.vehicle.stamp_sim_ns = 99 * MS;
	assert_true(ask_status(&w, &s, 1, false)); /* it has started */
	assert_int_equal(w.places, 4);
	assert_true(w.a.status[0].pose.x == 100);
	w.placeable = false; /* one that goes its own way is followed */
	peer_update_status(&w.q, 250020, &s, 1, false, false);
	assert_true(world_ask(&w, PEER_UPDATE_STATUS));
	assert_true(w.a.status[0].pose.x == 100);
	world_finish(&w);
}

/* The order has ended, and no one has asked to drive: the ego stays where it was placed. */
TEST(after_a_placement_the_ego_stays_until_it_is_driven)
{
	const struct peer_status s = { .name = "ego", .pose = { 9, 8, 0, 0, 1, 0, 0 }, .speed = 3 };
	struct world w;

	begin(&w);
	w.placeable = w.has_vehicle = true;
	w.vehicle = (struct vehicle_state){ .pose.orientation.w = 1, .stamp_sim_ns = 1 };
	assert_true(ask_status(&w, &s, 1, true));
	assert_int_equal(w.place.action, PLACE_TAKE_OVER);
	assert_true(ask_frame(&w, 33 * MS));
	w.vehicle.stamp_sim_ns = 33 * MS;
	w.vehicle.manual = true;
	assert_true(ask_status(&w, &s, 1, false));
	assert_int_equal(w.place.action, PLACE_OVERWRITE);
	assert_true(w.a.status[0].pose.x == 9);
	assert_true(ask_frame(&w, 66 * MS));
	w.vehicle.stamp_sim_ns = 66 * MS;
	w.vehicle.manual = false; /* Autoware has asked */
	w.vehicle.pose.position.x = 9.1;
	assert_true(ask_status(&w, &s, 1, false));
	assert_int_equal(w.places, 3);
	assert_true(w.a.status[0].pose.x == 9.1);
	world_finish(&w);
}

TEST(an_undriven_vehicle_follows_the_scenario)
{
	const struct peer_status s = { .name = "ego", .pose = { 9, 8, 0, 0, 1, 0, 0 } };
	struct world w;

	begin(&w);
	w.placeable = w.has_vehicle = true;
	w.vehicle = (struct vehicle_state){ .pose.orientation.w = 1, .manual = true, .stamp_sim_ns = 1 };
	assert_true(ask_status(&w, &s, 1, false));
	assert_true(w.a.status[0].pose.x == 9);
	assert_int_equal(w.place.action, PLACE_OVERWRITE);
	world_finish(&w);
}

/* ---- a process that is killed ---- */

static int again(struct world *w, uint64_t simd_id, uint32_t clock_generation)
{
	server_destroy(w->server);
	assert_int_equal(server_create(&world_ops, w, &w->store, &w->server), 0);
	return server_restore(w->server, simd_id, clock_generation);
}

TEST(the_next_process_continues_with_the_scene)
{
	const struct peer_status s[] = { { .name = "ego", .pose = { 9, 8, 0, 0, 1, 0, 0 } },
					 { .name = "car_1", .pose = { 5, 6, 0, 0, 1, 0, 0 } } };
	struct world w;

	begin(&w);
	server_remember(w.server, 77, 3);
	assert_true(ask_status(&w, s, 2, false));
	assert_true(ask_frame(&w, 33 * MS));
	server_answered(w.server);
	assert_int_equal(again(&w, 77, 3), 1);
	assert_int_equal(world_scene(&w)->n_entities, 2);
	assert_true(world_scene(&w)->entity[1].pose.position.x == 5);
	assert_true(ask_status(&w, s, 2, false));
	assert_true(ask_frame(&w, 66 * MS));
	assert_true(ask_spawn(&w, "car_2", false));
	assert_int_equal(world_scene(&w)->entity[2].id, 3); /* numbers go on */
	server_answered(w.server);
	assert_int_equal(again(&w, 77, 4), 0); /* time has jumped: another run */
	assert_int_equal(world_scene(&w)->n_entities, 0);
	world_finish(&w);
}

TEST(the_request_that_ended_a_process_is_named)
{
	struct world w;

	begin(&w);
	server_remember(w.server, 77, 3);
	assert_true(ask_frame(&w, 33 * MS)); /* its answer never leaves */
	assert_int_equal(again(&w, 77, 3), -EPIPE);
	assert_non_null(strstr(err_why(), "update_frame"));
	assert_int_equal(again(&w, 77, 3), 0); /* once */
	assert_false(ask_frame(&w, 66 * MS));
	world_finish(&w);
}

TEST(an_invalid_scene_file_is_ignored)
{
	char path[TEST_PATH_MAX];
	struct store s;

	assert_ok(store_open(&s, test_path(path, "scene"), 0));
	s.head->n_entities = 3;
	store_close(&s);
	assert_ok(store_open(&s, path, 0));
	assert_int_equal(s.head->n_entities, 3);
	s.head->n_entities = SCENE_ENTITIES_MAX + 1;
	store_close(&s);
	assert_ok(store_open(&s, path, 0));
	assert_int_equal(s.head->n_entities, 0);
	store_close(&s);
	assert_int_equal(truncate(path, 10), 0);
	assert_ok(store_open(&s, path, 0));
	assert_int_equal(s.head->n_entities, 0);
	store_close(&s);
	assert_int_equal(chmod(path, 0666), 0);
	assert_true(store_open(&s, path, 0) < 0); /* other users may have written it */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_true(store_open(&s, path, 0) < 0);
	assert_int_equal(unlink(path), 0);
}

TEST(entities_are_spawned_and_despawned)
{
	struct world w;

	begin(&w);
	peer_spawn(&w.q, PEER_SPAWN_PEDESTRIAN, "bob", &ORIGIN);
	assert_true(world_ask(&w, PEER_SPAWN_PEDESTRIAN));
	peer_spawn(&w.q, PEER_SPAWN_OBJECT, "box", &ORIGIN);
	assert_true(world_ask(&w, PEER_SPAWN_OBJECT));
	assert_int_equal(world_scene(&w)->entity[2].kind, SCENE_PEDESTRIAN);
	assert_true(world_scene(&w)->entity[3].box_size.z == 2.0);
	assert_true(ask_spawn(&w, "bob", false)); /* is there already */
	assert_true(ask_despawn(&w, "car_1"));
	assert_false(ask_despawn(&w, "car_1"));
	assert_true(ask_spawn(&w, "car_1", false));
	assert_int_equal(world_scene(&w)->n_entities, 4);
	assert_int_equal(world_scene(&w)->entity[3].id, 5); /* a new one, not the old one again */
	world_finish(&w);
}

TEST(invalid_poses_are_refused)
{
	const struct peer_pose bad[] = { { .x = (double)NAN, .qw = 1 },
					 { .y = (double)INFINITY, .qw = 1 },
					 { .x = 1e10, .qw = 1 },
					 { .qz = (double)NAN },
					 { .qw = 1e-9 } };
	struct world w;

	begin(&w);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct peer_status s = { .name = "car_1", .pose = bad[i] };

		peer_spawn_vehicle(&w.q, "new", false, &bad[i]);
		assert_false(world_ask(&w, PEER_SPAWN_VEHICLE));
		assert_false(ask_status(&w, &s, 1, false));
	}
	assert_int_equal(world_scene(&w)->n_entities, 2);
	world_finish(&w);
}

TEST(invalid_motion_is_echoed_but_not_published)
{
	const struct peer_status s = { .name = "car_1", .pose = { .qw = 1 }, .speed = (double)NAN };
	struct world w;

	begin(&w);
	assert_true(ask_status(&w, &s, 1, false));
	assert_true(isnan(w.a.status[0].speed));
	assert_true(world_scene(&w)->entity[1].twist.linear.x == 0);
	world_finish(&w);
}

TEST(each_lit_bulb_is_published)
{
	static const struct {
		struct peer_light light;
		uint8_t color;
		bool blink;
		float score;
		uint8_t shape;
	} cases[] = {
		{ { .id = 1, .n = 1, .bulb = { { 0, 0, 1, 0.5f } } }, SIM_TRAFFIC_SIGNAL_COLOR_RED, false, 0.5f, 0 },
		{ { .id = 2, .n = 2, .bulb = { { 0, 0, 0, 1 }, { 2, 0, 2, 0 } } },
		  SIM_TRAFFIC_SIGNAL_COLOR_GREEN,
		  true,
		  1,
		  0 },
		{ { .id = 4, .n = 1, .bulb = { { 1, 2, 1, 1 } } },
		  SIM_TRAFFIC_SIGNAL_COLOR_YELLOW,
		  false,
		  1,
		  SIM_TRAFFIC_SIGNAL_SHAPE_RIGHT_ARROW },
		{ { .id = 5, .n = 2, .bulb = { { 0, 0, 0, 1 }, { 2, 0, 0, 1 } } },
		  SIM_TRAFFIC_SIGNAL_COLOR_BLACK,
		  false,
		  1,
		  0 },
		{ { .id = 6, .n = 1, .bulb = { { 0, 0, 3, 1 } } }, SIM_TRAFFIC_SIGNAL_COLOR_UNKNOWN, false, 1, 0 },
		{ { .id = 7, .n = 1, .bulb = { { 3, 9, 1, 1 } } },
		  SIM_TRAFFIC_SIGNAL_COLOR_WHITE,
		  false,
		  1,
		  SIM_TRAFFIC_SIGNAL_SHAPE_CROSS },
		{ { .id = -8, .n = 1, .bulb = { { 99, 99, 1, (float)NAN } } },
		  SIM_TRAFFIC_SIGNAL_COLOR_UNKNOWN,
		  false,
		  1,
		  SIM_TRAFFIC_SIGNAL_SHAPE_UNKNOWN },
	};
	enum { N = sizeof(cases) / sizeof(cases[0]) };
	struct peer_light l[N];
	struct world w;

	begin(&w);
	for (size_t i = 0; i < N; i++)
		l[i] = cases[i].light;
	peer_lights(&w.q, 250020, l, N);
	assert_true(world_ask(&w, PEER_UPDATE_LIGHTS));
	assert_int_equal(world_scene(&w)->n_bulbs, N);
	for (size_t i = 0; i < N; i++) {
		const struct scene_bulb *s = &world_scene(&w)->bulb[i];

		assert_int_equal(s->group, l[i].id);
		assert_int_equal(s->light, l[i].id);
		assert_int_equal(s->color, cases[i].color);
		assert_int_equal(s->shape, cases[i].shape);
		assert_int_equal(s->blink, cases[i].blink);
		assert_true(s->score == cases[i].score);
	}
	peer_lights(&w.q, 250020, l, 1);
	assert_true(world_ask(&w, PEER_UPDATE_LIGHTS));
	assert_int_equal(world_scene(&w)->n_bulbs, 1); /* all there are, not those that changed */
	world_finish(&w);
}

TEST(a_light_with_two_lit_bulbs_has_two)
{
	const struct peer_light l[] = { { .id = 3, .n = 3, .bulb = { { 2, 1, 1, 1 }, { 1, 0, 0, 1 }, { 0, 0, 1, 1 } } },
					{ .id = 4, .n = 1, .bulb = { { 0, 0, 1, 1 } } } };
	const struct scene_bulb *b;
	struct world w;

	begin(&w);
	peer_lights(&w.q, 250020, l, 2);
	assert_true(world_ask(&w, PEER_UPDATE_LIGHTS));
	b = world_scene(&w)->bulb;
	assert_int_equal(world_scene(&w)->n_bulbs, 3);
	assert_true(b[0].group == 3 && b[1].group == 3 && b[2].group == 4);
	assert_int_equal(b[0].color, SIM_TRAFFIC_SIGNAL_COLOR_GREEN);
	assert_int_equal(b[0].shape, SIM_TRAFFIC_SIGNAL_SHAPE_LEFT_ARROW);
	assert_int_equal(b[1].color, SIM_TRAFFIC_SIGNAL_COLOR_RED);
	world_finish(&w);
}

/* Autoware's map knows groups of lights: each relation is a group, in the order of the request; a light without bulbs is in none. */
TEST(a_light_is_in_each_of_its_groups)
{
	const struct peer_light l[] = {
		{ .id = 34802, .relation = { 34806, 34836 }, .n = 2, .bulb = { { 2, 0, 1, 1 }, { 0, 1, 1, 1 } } },
		{ .id = 34803, .relation = { 34836 }, .n = 1, .bulb = { { 0, 0, 0, 1 } } },
		{ .id = 34804, .relation = { 34836 }, .n = 0 },
		{ .id = 34805, .n = 0 },
		{ .id = 34807, .n = 1, .bulb = { { 1, 0, 1, 1 } } },
	};
	static const int32_t groups[][2] = { { 34806, 34802 }, { 34806, 34802 }, { 34836, 34802 },
					     { 34836, 34802 }, { 34836, 34803 }, { 34807, 34807 } };
	enum { N = sizeof(groups) / sizeof(groups[0]) };
	const struct scene_bulb *b;
	struct world w;

	begin(&w);
	peer_lights(&w.q, 250020, l, sizeof(l) / sizeof(l[0]));
	assert_true(world_ask(&w, PEER_UPDATE_LIGHTS));
	assert_int_equal(world_scene(&w)->n_bulbs, N);
	b = world_scene(&w)->bulb;
	for (size_t i = 0; i < N; i++)
		assert_true(b[i].group == groups[i][0] && b[i].light == groups[i][1]);
	assert_int_equal(b[0].color, SIM_TRAFFIC_SIGNAL_COLOR_GREEN);
	assert_int_equal(b[1].color, SIM_TRAFFIC_SIGNAL_COLOR_RED);
	assert_true(b[2].color == b[0].color && b[3].color == b[1].color && b[3].shape == b[1].shape);
	assert_int_equal(b[4].color, SIM_TRAFFIC_SIGNAL_COLOR_BLACK);
	peer_lights(&w.q, 30402, l, 1); /* a release whose requests name no groups */
	assert_true(world_ask(&w, PEER_UPDATE_LIGHTS));
	assert_int_equal(world_scene(&w)->n_bulbs, 2);
	assert_int_equal(world_scene(&w)->bulb[0].group, 34802);
	world_finish(&w);
}

TEST(the_step_time_is_accepted_within_bounds)
{
	struct server_info i;
	struct world w;

	begin(&w);
	peer_step_time(&w.q, 0.05);
	assert_true(world_ask(&w, PEER_UPDATE_STEP_TIME));
	peer_step_time(&w.q, -1);
	assert_false(world_ask(&w, PEER_UPDATE_STEP_TIME));
	peer_step_time(&w.q, (double)NAN);
	assert_false(world_ask(&w, PEER_UPDATE_STEP_TIME));
	server_info(w.server, &i);
	assert_true(i.step_time_s == 0.05);
	world_finish(&w);
}

/* ---- hostile and broken peers ---- */

TEST(an_unknown_request_is_refused_under_its_own_number)
{
	struct world w;

	begin(&w);
	peer_unknown(&w.q, 16);
	assert_false(world_ask(&w, 16));
	peer_unknown(&w.q, 123456);
	assert_false(world_ask(&w, 123456));
	world_finish(&w);
}

TEST(broken_bytes_are_refused)
{
	static const uint8_t group[] = { 0x12, 0x01, 0x0b }, wrong_wire[] = { 0x10, 0x01 };
	struct world w;

	begin(&w);
	assert_false(world_send(&w, "", 0));
	assert_int_equal(w.a.number, 1);
	assert_false(world_send(&w, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12));
	assert_false(world_send(&w, group, sizeof(group)));
	assert_int_equal(w.a.number, 2);
	assert_false(world_send(&w, wrong_wire, sizeof(wrong_wire)));
	peer_spawn_vehicle(&w.q, "cut", false, &ORIGIN);
	for (size_t len = 3; len < w.q.len; len++) {
		assert_false(world_send(&w, w.q.data, len));
		assert_int_equal(w.a.number, PEER_SPAWN_VEHICLE);
	}
	assert_int_equal(world_scene(&w)->n_entities, 2);
	world_finish(&w);
}

TEST(requests_are_bounded)
{
	uint8_t *big = mem_zalloc(CODEC_REQUEST_MAX + 1);
	char name[SCENE_NAME_MAX + 2];
	struct world w;
	size_t n;

	assert_non_null(big);
	begin(&w);
	assert_false(world_send(&w, big, CODEC_REQUEST_MAX + 1));
	/* update_entity_status with as many empty statuses as fit: more than may be decoded, or than there are entities */
	n = CODEC_REQUEST_MAX - 8;
	memcpy(big, "\x3a\xf8\xff\x7f", 4);
	for (size_t i = 4; i + 1 < 4 + n; i += 2)
		big[i] = 0x0a;
	assert_false(world_send(&w, big, 4 + n));
	assert_int_equal(w.a.number, PEER_UPDATE_STATUS);
	assert_non_null(strstr(w.a.description, "memory"));
	/* and 8500 bulbs in two groups each: 17008 bytes, of which one light has 17004 */
	memcpy(big, "\x5a\xf0\x84\x01\x0a\xec\x84\x01", 8);
	for (size_t i = 8; i < 8 + 17000; i += 2)
		big[i] = 0x12, big[i + 1] = 0;
	memcpy(big + 8 + 17000, "\x1a\x02\x05\x06", 4);
	assert_false(world_send(&w, big, 8 + 17004));
	assert_non_null(strstr(w.a.description, "17000"));
	memset(name, 'x', sizeof(name));
	name[SCENE_NAME_MAX + 1] = '\0';
	assert_false(ask_spawn(&w, name, false));
	name[SCENE_NAME_MAX] = '\0';
	assert_true(ask_spawn(&w, name, false));
	assert_false(ask_spawn(&w, "", false));
	for (int i = 3; i < SCENE_ENTITIES_MAX; i++) { /* ego, car_1 and that name are there */
		snprintf(name, sizeof(name), "npc_%d", i);
		assert_true(ask_spawn(&w, name, false));
	}
	assert_false(ask_spawn(&w, "one_more", false));
	assert_non_null(strstr(w.a.description, "8192"));
	mem_free(big);
	/* `big` was made before begin() took its measure */
	w.before.blocks--;
	world_finish(&w);
}

#define CROWD SCENE_ENTITIES_MAX

/* With the state given in each frame: turning, on a slope. */
TEST(the_maximum_number_of_cars_moves_at_once)
{
	static struct peer_status s[CROWD];
	static char name[CROWD][16];
	struct world w;

	world_init(&w);
	assert_true(ask_initialize(&w, 0));
	for (int i = 0; i < CROWD; i++) {
		snprintf(name[i], sizeof(name[i]), i ? "car_%d" : "ego", i);
		assert_true(ask_spawn(&w, name[i], i == 0));
		s[i] = peer_turning(name[i], i);
	}
	peer_update_status(&w.q, 250020, s, CROWD, true, false);
	assert_true(w.q.len > 1 << 20);
	if (!world_send(&w, w.q.data, w.q.len))
		fail_msg("%zu bytes: %s", w.q.len, w.a.description);
	assert_int_equal(w.a.n, CROWD);
	assert_true(world_scene(&w)->entity[CROWD - 1].pose.position.x == s[CROWD - 1].pose.x);
	world_finish(&w);
}

TEST(the_same_entity_twice_is_answered_twice)
{
	const struct peer_status s[] = { { .name = "ego", .pose = { .qw = 1 } },
					 { .name = "ego", .pose = { .qw = 1 } },
					 { .name = "ego", .pose = { .qw = 1 } } };
	struct world w;

	begin(&w);
	w.has_vehicle = true;
	w.vehicle.pose.orientation.w = 1;
	w.vehicle.stamp_sim_ns = 1;
	assert_true(ask_status(&w, s, 3, false));
	assert_int_equal(w.a.n, 3);
	world_finish(&w);
}

TEST(allocations_may_fail_anywhere)
{
	const struct peer_status s[] = { { .name = "ego", .action = "a", .pose = { .qw = 1 } },
					 { .name = "car_1", .action = "b", .pose = { .qw = 1 } } };
	struct world w;
	int fails = 0;

	begin(&w);
	peer_update_status(&w.q, 250020, s, 2, true, false);
	for (int64_t n = 1;; n++) {
		uint8_t *bytes = NULL;
		size_t len;
		int r;

		mem_fail_after(n);
		r = server_handle(w.server, w.q.data, w.q.len, &bytes, &len);
		mem_fail_after(0);
		if (r >= 0) {
			assert_true(peer_read(bytes, len, &w.a));
			mem_free(bytes);
		}
		if (r == 1)
			break;
		fails++;
		assert_in_range(n, 1, 1000);
	}
	assert_true(fails > 5);
	world_finish(&w);
}

TEST(a_refusal_by_the_transport_is_an_answer)
{
	struct peer_answer a;
	uint8_t *bytes;
	size_t len;

	assert_true(server_refuse("two parts", &bytes, &len) >= 0);
	assert_true(peer_read(bytes, len, &a));
	assert_false(a.success);
	assert_string_equal(a.description, "two parts");
	mem_free(bytes);
}
