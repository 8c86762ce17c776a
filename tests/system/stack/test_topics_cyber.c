/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rig for Apollo over Cyber RT, config/rigs/apollo.json, as a user has it: the topics, types and values of topics_apollo.json and no
 * others, as cyber_server.h is sent them and protobuf-c reads them; and Apollo's commands the other way.
 */
#include "rig.h"

#include "cyber_print.h"
#include "cyber_server.h"
#include "modules/common_msgs/control_msgs/control_cmd.pb-c.h"
#include "modules/common_msgs/planning_msgs/planning.pb-c.h"

TEST_PROCESSES()

static struct cyber_server *server;

static int start(void **state)
{
	char connection[40];

	(void)state;
	server = cyber_server_create(0, NULL);
	if (!server)
		return -1;
	snprintf(connection, sizeof(connection), "127.0.0.1:%u", cyber_server_port(server));
	return rig_start("apollo", "apollo", connection);
}

static int stop(void **state)
{
	cyber_server_destroy(server);
	server = NULL;
	return rig_stop(state);
}

/* The message has each of the words. */
static void check_topic(json_t *row)
{
	static uint8_t data[65536];
	const char *topic = rig_text(row, "topic"), *type = rig_text(row, "type");
	char text[4096];
	json_t *word;
	size_t n, i;

	AWAIT(cyber_server_writer(server, topic, type) && cyber_server_count(server, topic) > 0);
	n = cyber_server_last(server, topic, data, sizeof(data));
	if (n > sizeof(data) || !cyber_print(type, data, n, text, sizeof(text)))
		fail_msg("%s: that is no %s", topic, type);
	json_array_foreach(json_object_get(row, "has"), i, word)
		if (!strstr(text, json_string_value(word)))
			fail_msg("%s: no \"%s\" in %s", topic, json_string_value(word), text);
}

static void check_that_there_are_no_others(void)
{
	struct cyber_server_channel c;

	for (unsigned i = 0; cyber_server_channel(server, i, &c); i++)
		if (c.count && strcmp(c.name, "/clock") != 0 && !rig_row_of("topics", c.name))
			fail_msg("%s is none of the rig's topics", c.name);
}

/* ---- commands ---- */

static void say(const char *topic, const ProtobufCMessage *m)
{
	uint8_t bytes[512];

	assert_in_range(protobuf_c_message_get_packed_size(m), 1, sizeof(bytes));
	AWAIT(cyber_server_reader(server, topic));
	assert_true(cyber_server_publish(server, topic, bytes, (uint32_t)protobuf_c_message_pack(m, bytes)));
}

static void say_control(void)
{
	Apollo__Common__VehicleSignal s = APOLLO__COMMON__VEHICLE_SIGNAL__INIT;
	Apollo__Control__ControlCommand c = APOLLO__CONTROL__CONTROL_COMMAND__INIT;

	c.has_throttle = c.has_brake = c.has_steering_rate = c.has_steering_target = c.has_gear_location = true;
	c.throttle = 50;
	c.brake = 25;
	c.steering_rate = 100;
	c.steering_target = -50;
	c.gear_location = APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_DRIVE;
	c.signal = &s;
	s.has_turn_signal = s.has_emergency_light = s.emergency_light = true;
	s.turn_signal = APOLLO__COMMON__VEHICLE_SIGNAL__TURN_SIGNAL__TURN_RIGHT;
	say("/apollo/control", &c.base);
}

static void say_pad_and_plan(void)
{
	Apollo__Control__PadMessage pad = APOLLO__CONTROL__PAD_MESSAGE__INIT;
	Apollo__Common__PathPoint at = APOLLO__COMMON__PATH_POINT__INIT;
	Apollo__Common__TrajectoryPoint p = APOLLO__COMMON__TRAJECTORY_POINT__INIT, *list[] = { &p };
	Apollo__Planning__ADCTrajectory plan = APOLLO__PLANNING__ADCTRAJECTORY__INIT;

	pad.has_action = true;
	pad.action = APOLLO__CONTROL__DRIVING_ACTION__START;
	say("/apollo/control/pad", &pad.base);
	at.has_x = at.has_y = p.has_v = plan.has_gear = plan.has_total_path_length = true;
	at.x = 5;
	at.y = 6;
	p.v = 8;
	p.path_point = &at;
	plan.gear = APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_DRIVE;
	plan.total_path_length = 60;
	plan.n_trajectory_point = 1;
	plan.trajectory_point = list;
	say("/apollo/planning", &plan.base);
}

/* Apollo repeats itself: the bridge listens to each channel from when it has heard of its first subscriber on. */
static bool obeyed(struct peer *simulator, struct peer *vehicle)
{
	say_control();
	say_pad_and_plan();
	return atomic_load(&simulator->failed) || atomic_load(&vehicle->failed) ||
	       atomic_load(&vehicle->received) == rig_count("commands");
}

TEST_WITH(all_topics_arrive_and_all_commands_are_obeyed, start, stop)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t simulator = peer_fork(p, rig_simulate), vehicle = peer_fork(q, rig_drive);

	for (size_t i = 0; i < rig_count("topics"); i++)
		check_topic(rig_row("topics", i));
	AWAIT(cyber_server_count(server, "/clock") > 0);
	AWAIT(atomic_load(&q->ready) || atomic_load(&q->failed));
	AWAIT(obeyed(p, q));
	if (atomic_load(&p->failed) || atomic_load(&q->failed))
		fail_msg("%s", atomic_load(&p->failed) ? p->why : q->why);
	check_that_there_are_no_others();
	assert_int_equal(stack_bridge(rig_bridge, "failed"), 0);
	peer_join(q, vehicle);
	peer_join(p, simulator);
	stack_stop(rig_simd);
	assert_string_equal(cyber_server_fault(server), "");
	peer_free(p);
	peer_free(q);
}
