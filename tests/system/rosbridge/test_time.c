/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_sim_time: the server's /clock drives simd, stamp by stamp, until the server disconnects; meanwhile we send no
 * /clock of our own.
 */
#include "support/test.h"

#include <errno.h>

#include <sim/msg/Clock.h>
#include <sim/msg/Imu.h>

#include "line.h"

static void say(const char *clock)
{
	char text[200];

	snprintf(text, sizeof(text), "{\"op\":\"publish\",\"topic\":\"/clock\",\"msg\":%s}", clock);
	rosbridge_server_text(line_server, text);
}

static void start(const char *flavour, const char *type)
{
	const char *const options[] = { "use_sim_time", "true", "flavour", flavour, NULL };

	line_up(options, NULL);
	AWAIT(rosbridge_server_heard(line_server, "subscribe", "/clock", "type", type));
}

TEST(the_clock_of_ros_2_drives_time)
{
	start("ros2", "rosgraph_msgs/msg/Clock");
	say("{\"clock\":{\"sec\":0,\"nanosec\":0}}"); /* no time yet */
	say("{}");
	say("{\"clock\":7}");
	say("{\"clock\":{\"sec\":-1,\"nanosec\":0}}");
	say("{\"clock\":{\"sec\":100,\"nanosec\":5}}");
	assert_int_equal(host_next_drive(&line_host), INT64_C(100000000005));
	say("{\"clock\":{\"sec\":99,\"nanosec\":0}}"); /* a jump is the host's matter */
	assert_int_equal(host_next_drive(&line_host), INT64_C(99000000000));
	host_wait_log(&line_host, "/clock: a message is dropped: it is malformed (2 so far)");
	host_wait_log(&line_host, "(3 so far)");
	rosbridge_server_drop(line_server);
	assert_int_equal(host_next_drive(&line_host), SIM_BRIDGE_CLOCK_GONE);
	host_wait_log(&line_host, "lost the server's /clock: clock stopped until there is one");
	AWAIT(line_host.ops->status(line_bridge) == SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	assert_int_equal(line_host.ops->connect(line_bridge, line_host.connection), 0); /* as the host does */
	AWAIT(rosbridge_server_greeted(line_server) == 2);
	AWAIT(rosbridge_server_heard(line_server, "subscribe", "/clock", NULL, NULL));
	say("{\"clock\":{\"sec\":200,\"nanosec\":0}}");
	assert_int_equal(host_next_drive(&line_host), INT64_C(200000000000));
	line_down();
}

TEST(the_clock_of_ros_1_has_its_own_field_names)
{
	start("ros", "rosgraph_msgs/Clock");
	say("{\"clock\":{\"secs\":7,\"nsecs\":8}}");
	assert_int_equal(host_next_drive(&line_host), INT64_C(7000000008));
	line_down();
}

/* A clock channel matched by "*" in the rig is no error; another channel of that name is one. */
TEST(the_bridge_sends_no_clock_of_its_own_meanwhile)
{
	struct sim_bridge_channel clock = { .name = "/clock", .type = &sim_Clock_type, .options = "{}" };
	struct sim_bridge_channel imu = { .name = "imu",
					  .type = &sim_Imu_type,
					  .options = "{\"rosbridge\":{\"topic\":\"/clock\"}}" };
	struct sim_bridge_topic *t;

	start("ros2", "rosgraph_msgs/msg/Clock");
	assert_true(line_host.ops->open(line_bridge, &clock, &t) < 0);
	host_wait_log(&line_host, "/clock is not sent: use_sim_time takes the time from the server");
	assert_true(line_host.ops->open(line_bridge, &imu, &t) < 0);
	host_wait_log(&line_host, "/clock comes from the server, and this bridge must not send it");
	assert_int_equal(rosbridge_server_count(line_server, "advertise", "/clock"), 0);
	line_down();
}

TEST(without_the_option_no_clock_is_subscribed)
{
	static const char *const options[] = { NULL };
	struct sim_bridge_topic *t;

	line_up(options, NULL);
	t = host_open(&line_host, line_bridge, "/clock", &sim_Clock_type, "{}");
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/clock", NULL, NULL));
	assert_int_equal(rosbridge_server_count(line_server, "subscribe", "/clock"), 0);
	line_host.ops->close(line_bridge, t);
	line_down();
	line_refused("use_sim_time", "1", "options.use_sim_time: \"1\" is not true or false");
}
