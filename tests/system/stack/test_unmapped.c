/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rosbag bag with types that have no type of ours, played into a rig with four bridges: rospy gets each of them with
 * its sum and its values, by the definition sent over the wire; Cyclone DDS, @foxglove/ws-protocol and, in the MCAP,
 * @mcap/core find the same. ../ros1/unmapped.py lists what ROS 2 does not have.
 */
#include "ros_master.h"
#include "stack.h"

#include <string.h>

#define MODULES  "build/npm"
#define BAG      "/tmp/out-unmapped.bag"
#define UNMAPPED "/usr/bin/python3 tests/system/ros1/unmapped.py "
#define EXPECTED "/tmp/out-expected.json"
#define TYPES    54 /* of the bag */
#define ALL      "\"channels\":[\"*\",\"!/clock\"]"
#define CONF \
	"\"TimeSource\":\"unity\",\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"one\",\"plugin\":\"ros1\"," ALL \
	",\"options\":{\"queue\":100}},{\"name\":\"rec\",\"plugin\":\"mcap\"," ALL \
	",\"connection\":\"/tmp/out-unmapped\"}," \
	"{\"name\":\"look\",\"plugin\":\"foxglove\"," ALL ",\"connection\":\"127.0.0.1:0\"}," \
	"{\"name\":\"two\",\"plugin\":\"ros2\"," ALL "}],\"channels\":["

static pid_t simd;

static const char *succeeds(const char *command)
{
	int code;
	const char *text = ros_output(command, &code);

	if (code)
		fail_msg("%s: %d: %s", command, code, text);
	return text;
}

/*
 * Writers of ROS 2 that keep their messages: when a reader has found its writer, the writer may not have found the
 * reader yet.
 */
static const char *conf(void)
{
	static char text[16384] = CONF;
	json_t *expected = json_load_file(EXPECTED, 0, NULL), *one;
	size_t n = strlen(text);
	const char *topic;

	assert_int_equal(json_object_size(expected), TYPES);
	json_object_foreach(expected, topic, one)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "%s{\"name\":\"%s\",\"options\":{\"ros2\":{\"durability\":\"transient_local\"}}}",
				      text[n - 1] == '[' ? "" : ",", topic);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "]}]");
	assert_true(n < sizeof(text));
	json_decref(expected);
	return text;
}

static int start(void **state)
{
	(void)state;
	ros_master_start();
	succeeds(UNMAPPED "write " BAG);
	succeeds(UNMAPPED "expect " BAG " >" EXPECTED);
	simd = stack_start(conf());
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	AWAIT(!strcmp(stack_bridge_text("one", "status"), "connected") &&
	      !strcmp(stack_bridge_text("two", "status"), "connected") &&
	      !strcmp(stack_bridge_text("rec", "status"), "connected") &&
	      !strcmp(stack_bridge_text("look", "status"), "connected"));
	return 0;
}

static int stop(void **state)
{
	ros_master_kill();
	return stack_sweep(state);
}

static pid_t start_play(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		stack_exec_ctl("play", (const char *const[]){ "--lockstep", "--start-paused", BAG, NULL });
	return pid;
}

static FILE *start_watching(void)
{
	char command[300];
	unsigned port;

	assert_int_equal(sscanf(stack_bridge_text("look", "detail"), "http://127.0.0.1:%u/", &port), 1);
	snprintf(command, sizeof(command),
		 "node tests/system/decode/unmapped_watch.js " MODULES " ws://127.0.0.1:%u/ " EXPECTED, port);
	return ros_begin(command);
}

/* Channels that have a definition of their own. */
static unsigned of_own_types(void)
{
	json_t *j = stack_call("ListChannels", NULL), *c;
	unsigned n = 0;
	size_t i;

	json_array_foreach(json_object_get(j, "channels"), i, c)
		n += strncmp(json_string_value(json_object_get(c, "type")), "sim/", 4) != 0;
	json_decref(j);
	return n;
}

TEST_FULL_WITH(bridges_send_every_message_of_a_bag_without_mapped_types, start, stop)
{
	FILE *readers = ros_begin(ROS2_UNMAPPED " " EXPECTED), *ears, *eyes;
	pid_t play = start_play();

	AWAIT(strstr(stack_ctl("service", "list", "--names", NULL)->out, "/play/state")); /* its services come last */
	assert_int_equal(of_own_types(), TYPES);
	ears = ros_begin(UNMAPPED "hear " BAG);
	eyes = start_watching();
	ros_next_line(ears, "ready");
	ros_next_line(eyes, "ready");
	ros_next_line(readers, "ready");
	assert_int_equal(stack_ctl("service", "call", "/play/resume", NULL)->code, 0);
	assert_int_equal(stack_wait(play), 0);
	ros_next_line(readers, "the same");
	ros_next_line(ears, "the same");
	ros_next_line(eyes, "the same");
	pclose(ears);
	pclose(eyes);
	pclose(readers);
	assert_int_equal(stack_bridge("one", "failed") + stack_bridge("two", "failed") + stack_bridge("rec", "failed"),
			 0);
	stack_stop(simd);
	assert_string_equal(succeeds("node tests/system/decode/unmapped.js " MODULES
				     " /tmp/out-unmapped.mcap " EXPECTED),
			    "the same\n");
}

TEST_GROUP(ros_master_group, NULL)
