/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More tools of ROS 1 users: rosbag, which records from us and plays into us, rosparam, `rostopic bw` and `delay`, a
 * node of roscpp, and two that share no code with ROS: @foxglove/rosbag and @foxglove/ros1 (npm). Their results are
 * compared, not their speed.
 */
#include "support/test.h"

#include <signal.h>
#include <sys/wait.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/Image.h>
#include <sim/msg/String.h>
#include <sim/msg/VehicleControl.h>

#include "../ros2/host.h"
#include "ros_master.h"
#include "support/message.h"

#define BAG     "/tmp/out-ours.bag"
#define MODULES "build/npm"
#define TEXTS   3

static const char *const plain[] = { "subscribe", "{\"/say\":{\"type\":\"std_msgs/String\",\"channel\":\"/said\"}}",
				     "set_use_sim_time", "true", NULL };
static const char *const apollo[] = {
	"apollo", "true", "subscribe",
	"{\"/apollo/control\":{\"type\":\"pb_msgs/ControlCommand\",\"channel\":\"/control\"},"
	"\"/apollo/routing_request\":{\"type\":\"pb_msgs/RoutingRequest\",\"channel\":\"/request\"}}",
	NULL
};
static const char *const follows[] = { "use_sim_time", "true", NULL };
static struct host h;
static struct sim_bridge *b;
static struct sim_bridge_topic *chat, *camera;

static void up(const char *const *options)
{
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	AWAIT(h.ops->status(b) == SIM_BRIDGE_CONNECTED);
}

static void down(void)
{
	h.ops->disconnect(b);
	h.ops->destroy(b);
	b = NULL;
}

static int setup(void **state)
{
	(void)state;
	ros_master_start();
	up(plain);
	host_clock_start(&h, b);
	chat = host_open(&h, b, "/chat", &sim_String_type, "{}");
	camera = host_open(&h, b, "/camera", &sim_Image_type, "{}");
	return 0;
}

static int setup_apollo(void **state)
{
	(void)state;
	ros_master_start();
	up(apollo);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (chat) {
		host_clock_stop(&h);
		h.ops->close(b, chat);
		h.ops->close(b, camera);
	}
	chat = camera = NULL;
	down();
	ros_master_kill();
	return 0;
}

/* ---- publications ---- */

static void publish_text(const char *text)
{
	struct sim_slot *s = host_slot(sim_String_size(strlen(text)), "");
	struct sim_builder builder;

	assert_non_null(sim_String_init(sim_slot_body_mut(s), s->body_size, &builder));
	assert_int_equal(sim_String_data_set(&builder, text), 0);
	s->body_size = sim_builder_size(&builder);
	assert_int_equal(h.ops->publish(b, chat, MESSAGE_OF(s), NULL), 0);
	free(s);
}

/* What came in. */
static void publish_body(struct sim_bridge_topic *t, const struct host_in *in)
{
	struct sim_slot *s = host_slot(in->size, "");

	assert_in_range(in->size, 1, HOST_IN);
	memcpy(sim_slot_body_mut(s), in->body, in->size);
	assert_int_equal(host_publish(&h, b, t, s), 0);
	free(s);
}

static void publish_image(uint32_t sequence)
{
	struct sim_slot *s = host_image(64, 32);

	s->sequence = sequence;
	assert_int_equal(host_publish(&h, b, camera, s), 0);
	free(s);
}

/* Without it the test says so, and has failed where FULL=1 asked for everything. */
static bool have(const char *path, const char *what)
{
	if (access(path, F_OK) == 0)
		return true;
	print_message("not tried, without %s: run tools/dev/deps.sh full\n", what);
	assert_false(test_full());
	return false;
}

/* ---- bags ---- */

/* rosbag records three messages of each topic and ends by itself (-l 3); so three of each are published. */
static void record(void)
{
	FILE *f = ros_begin("exec rosbag record -l 3 -O " BAG " /chat /camera 2>&1");
	const char *const texts[TEXTS] = { "one", "", "caf\xc3\xa9" };

	host_wait_log(&h, "/chat: subscriber /record");
	host_wait_log(&h, "/camera: subscriber /record");
	for (unsigned i = 0; i < TEXTS; i++) {
		publish_text(texts[i]);
		publish_image(i + 5);
	}
	while (fgetc(f) != EOF)
		;
	assert_int_equal(pclose(f), 0);
}

TEST_WITH(other_programs_read_a_recorded_bag, setup, teardown)
{
	const char *text;

	record();
	ros_prints("rosbag info " BAG, "messages:    6");
	ros_prints("rosbag info " BAG, "/camera   3 msgs    : sensor_msgs/Image");
	ros_prints("rosbag info " BAG, "start:       Jan 01 2022 00:00:00.12 (1640995200.12)");
	if (!have(MODULES "/node_modules/@foxglove/rosbag", "@foxglove/rosbag"))
		return;
	text = ros_output("node tests/system/ros1/bag.js " MODULES " " BAG " | sort", NULL);
	assert_string_equal(
		text,
		"/camera sensor_msgs/Image 1640995200.123456768: 5 1640995200.123456768 camera, 64 x 32 rgb8, 6144 bytes, sum 43008\n"
		"/camera sensor_msgs/Image 1640995200.123456768: 6 1640995200.123456768 camera, 64 x 32 rgb8, 6144 bytes, sum 43008\n"
		"/camera sensor_msgs/Image 1640995200.123456768: 7 1640995200.123456768 camera, 64 x 32 rgb8, 6144 bytes, sum 43008\n"
		"/chat std_msgs/String 1640995200.123456768: \n"
		"/chat std_msgs/String 1640995200.123456768: caf\xc3\xa9\n"
		"/chat std_msgs/String 1640995200.123456768: one\n");
}

TEST_FULL_WITH(messages_of_rosbag_play_reach_the_channels, setup, teardown)
{
	const char *const texts[TEXTS] = { "one", "", "caf\xc3\xa9" };
	FILE *f;

	record();
	/* -k: without it rosbag may exit before it has written its last message to the socket */
	f = ros_begin("exec rosbag play -q -k --wait-for-subscribers " BAG
		      " --topics /chat /chat:=/say </dev/null 2>&1");
	for (unsigned i = 0; i < TEXTS; i++) {
		struct host_in in = host_next(&h);

		assert_string_equal(in.channel, "/said");
		assert_string_equal(sim_String_data(sim_String_from(in.body, in.size), in.size), texts[i]);
	}
	ros_prints("rosnode list | grep play_ | xargs rosnode kill", "killed");
	pclose(f);
}

TEST_FULL_WITH(the_clock_of_rosbag_play_drives_time, setup, teardown)
{
	FILE *f;

	record();
	host_clock_stop(&h);
	h.ops->close(b, chat);
	h.ops->close(b, camera);
	chat = camera = NULL;
	down();
	up(follows);
	f = ros_begin("exec rosbag play --clock --pause -q " BAG
		      " </dev/null 2>&1"); /* /clock stands at its beginning */
	assert_true(host_next_drive(&h) == HOST_STAMP);
	ros_prints("rosnode list | grep play_ | xargs rosnode kill", "killed");
	pclose(f);
}

/* ---- others ---- */

TEST_FULL_WITH(rosparam_and_the_other_rostopic_commands_work, setup, teardown)
{
	FILE *f;

	ros_prints("rosparam get /use_sim_time", "true");
	f = ros_begin("exec rostopic bw -w 3 /clock 2>&1");
	ros_until_line(f, "average:");
	ros_prints("rosnode list | grep rostopic | xargs rosnode kill", "killed");
	pclose(f);
	f = ros_begin("exec rostopic delay -w 3 /camera 2>&1");
	host_wait_log(&h, "/camera: subscriber /rostopic");
	for (unsigned i = 0; i < 3; i++)
		publish_image(i);
	ros_prints("rosnode list | grep rostopic | xargs rosnode kill", "killed");
	pclose(f);
}

TEST_WITH(roscpp_receives_the_messages, setup, teardown)
{
	FILE *f;

	if (!have(ROSCPP_LISTENER, "libroscpp-dev"))
		return;
	f = ros_begin("exec " ROSCPP_LISTENER);
	ros_next_line(f, "ready");
	host_wait_log(&h, "/camera: subscriber /cpp_eyes");
	publish_image(9);
	ros_next_line(f, "9 1640995200.123456768 camera: 6144 bytes, sum 43008");
	assert_int_equal(pclose(f), 0);
}

/* Both are latched: the one or the other may come first. */
static void next_two(struct host_in *ret_control, struct host_in *ret_request)
{
	struct host_in in = host_next(&h);
	bool control = strcmp(in.channel, "/control") == 0;

	*(control ? ret_control : ret_request) = in;
	*(control ? ret_request : ret_control) = host_next(&h);
	assert_string_equal(ret_control->channel, "/control");
	assert_string_equal(ret_request->channel, "/request");
}

/*
 * As Apollo's own nodes, which send and receive protobuf: a command is received, the vehicle's state is sent; a message
 * without a mapping is received and sent again.
 */
TEST_WITH(a_node_of_apollo_exchanges_messages_with_the_bridge, setup_apollo, teardown)
{
	struct sim_slot *s = host_slot(sizeof(struct sim_CanBus), "");
	struct sim_CanBus *m = sim_slot_body_mut(s);
	struct sim_bridge_topic *t, *u;
	struct host_in in, request;
	FILE *f;

	if (!have(ROSCPP_APOLLO, "libroscpp-dev")) {
		free(s);
		return;
	}
	t = host_open(&h, b, "/vehicle/can", &sim_CanBus_type, "{}");
	u = host_open(&h, b, "/apollo/routing_request_again", h.offered_type, "{}");
	f = ros_begin("exec " ROSCPP_APOLLO);
	ros_next_line(f, "ready");
	next_two(&in, &request);
	assert_string_equal(in.type, "sim/VehicleControl");
	assert_true(sim_VehicleControl_from(in.body, in.size)->acceleration == 0.25f);
	assert_string_equal(request.type, "apollo_routing/RoutingRequest");
	host_wait_log(&h, "/apollo/routing_request_again: subscriber /apollo");
	publish_body(u, &request);
	ros_next_line(f, "the same request");
	host_wait_log(&h, "/apollo/canbus/chassis: subscriber /apollo");
	*m = (struct sim_CanBus){ .speed = 14.5f, .orientation.w = 1 };
	assert_int_equal(host_publish(&h, b, t, s), 0);
	ros_next_line(f, "chassis at 14.5 m/s");
	assert_int_equal(pclose(f), 0);
	h.ops->close(b, t);
	h.ops->close(b, u);
	free(s);
}

TEST_WITH(a_node_that_does_not_follow_ros_conventions_is_served, setup, teardown)
{
	struct host_in in;
	FILE *f;

	if (!have(MODULES "/node_modules/@foxglove/ros1", "@foxglove/ros1"))
		return;
	f = ros_begin("exec node tests/system/ros1/node.js " MODULES " /fox 2>&1");
	ros_next_line(f, "ready");
	in = host_next(&h);
	assert_string_equal(sim_String_data(sim_String_from(in.body, in.size), in.size), "hello");
	host_wait_log(&h, "/chat: subscriber /fox");
	publish_text("caf\xc3\xa9");
	publish_text("bye");
	ros_next_line(f, "caf\xc3\xa9");
	ros_next_line(f, "bye");
	assert_int_equal(pclose(f), 0);
}

TEST_GROUP(ros_master_group, NULL)
