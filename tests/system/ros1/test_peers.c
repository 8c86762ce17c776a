/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node as ROS' own programs see it: rosmaster, rospy, rostopic, rosservice and rosnode, as Debian packages them.
 * Their results are compared, not their speed.
 */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include <sim/msg/Image.h>
#include <sim/msg/String.h>
#include <sim/srv/SetBool.h>
#include <sim/srv/Trigger.h>

#include "../ros2/host.h"
#include "ros_master.h"
#include "support/message.h"

#define PYTHON "/usr/bin/python3 tests/system/ros1/listener.py "
#define CALLER "/usr/bin/python3 tests/system/ros1/caller.py "
#define SERVER "/usr/bin/python3 tests/system/ros1/server.py "
#define THING  "/usr/bin/python3 tests/system/ros1/thing.py "

static const char *const options[] = { "subscribe",
				       "{\"/say\":{\"type\":\"std_msgs/String\",\"channel\":\"/said\"},"
				       "\"/thing\":{\"channel\":\"/thing\"}}",
				       "call", "{\"/horn\":{\"type\":\"std_srvs/SetBool\",\"service\":\"horn\"}}",
				       NULL };
static struct host h;
static struct sim_bridge *b;

static int setup(void **state)
{
	(void)state;
	ros_master_start();
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	AWAIT(h.ops->status(b) == SIM_BRIDGE_CONNECTED);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	h.ops->disconnect(b);
	h.ops->destroy(b);
	b = NULL;
	ros_master_kill();
	return 0;
}

/* ---- the view of ROS' programs ---- */

static void publish_text(struct sim_bridge_topic *t, const char *text)
{
	struct sim_slot *s = host_slot(sim_String_size(strlen(text)), "");
	struct sim_builder builder;

	assert_non_null(sim_String_init(sim_slot_body_mut(s), s->body_size, &builder));
	assert_int_equal(sim_String_data_set(&builder, text), 0);
	s->body_size = sim_builder_size(&builder);
	assert_int_equal(h.ops->publish(b, t, MESSAGE_OF(s), NULL), 0);
	free(s);
}

TEST_WITH(rospy_gets_what_is_sent, setup, teardown)
{
	struct sim_bridge_topic *t, *u;
	struct sim_slot *s;
	char expected[128];
	FILE *f;

	t = host_open(&h, b, "/chat", &sim_String_type, "{}");
	u = host_open(&h, b, "/camera", &sim_Image_type, "{}");
	f = ros_begin(PYTHON "ears /chat std_msgs/String 2");
	ros_next_line(f, "ready");
	host_wait_log(&h, "/chat: subscriber /ears");
	publish_text(t, "hello");
	publish_text(t, "caf\xc3\xa9");
	ros_next_line(f, "hello");
	ros_next_line(f, "caf\xc3\xa9");
	assert_int_equal(pclose(f), 0);
	f = ros_begin(PYTHON "eyes /camera sensor_msgs/Image 1");
	ros_next_line(f, "ready");
	host_wait_log(&h, "/camera: subscriber /eyes");
	s = host_image(2048, 1024);
	s->sequence = 5;
	assert_int_equal(host_publish(&h, b, u, s), 0);
	snprintf(expected, sizeof(expected), "5 1640995200.123456768 camera: %u bytes, sum %u", 2048 * 1024 * 3,
		 2048 * 1024 * 3 * 7);
	ros_next_line(f, expected);
	assert_int_equal(pclose(f), 0);
	free(s);
	h.ops->close(b, t);
	h.ops->close(b, u);
}

TEST_WITH(rostopic_and_rosnode_see_the_bridge, setup, teardown)
{
	struct sim_bridge_topic *t;
	FILE *f;

	t = host_open(&h, b, "/chat", &sim_String_type, "{\"ros1\":{\"latch\":true}}");
	publish_text(t, "latched");
	host_clock_start(&h, b);
	AWAIT(strstr(ros_output("rostopic list", NULL), "/chat") &&
	      strstr(ros_output("rostopic list", NULL), "/clock"));
	ros_prints("rostopic info /chat", "Type: std_msgs/String");
	ros_prints("rostopic info /chat", " * /simd (http://127.0.0.1:");
	ros_prints("rostopic type /clock", "rosgraph_msgs/Clock");
	ros_prints("rostopic echo -n 1 /chat", "data: \"latched\"");
	ros_prints("rostopic echo -n 1 /clock", "secs: 1640995200");
	ros_prints("rosnode ping -c 1 /simd", "xmlrpc reply from http://127.0.0.1:");
	ros_prints("rosnode info /simd", " * /clock [rosgraph_msgs/Clock]");
	ros_prints("rosnode info /simd", "Pid: ");
	f = ros_begin("exec rostopic hz -w 5 /clock 2>&1");
	ros_until_line(f, "average rate");
	ros_prints("rosnode info /simd", "direction: outbound");
	ros_prints("rosnode list | grep rostopic | xargs rosnode kill", "killed"); /* rostopic hz */
	pclose(f);
	host_clock_stop(&h);
	h.ops->close(b, t);
}

TEST_FULL_WITH(messages_of_rostopic_pub_reach_the_channel, setup, teardown)
{
	struct host_in in;

	AWAIT(strstr(ros_output("rosnode info /simd", NULL), " * /say"));
	ros_prints("rostopic pub -1 /say std_msgs/String hello", "publishing and latching message for 3.0 seconds");
	in = host_next(&h);
	assert_string_equal(in.channel, "/said");
	assert_string_equal(sim_String_data(sim_String_from(in.body, in.size), in.size), "hello");
	AWAIT(!strstr(ros_output("rosnode info /simd", NULL), "inbound"));
}

/* Unchanged, to a subscriber with the same definition. */
static void goes_out(const struct host_in *in)
{
	struct sim_bridge_topic *t = host_open(&h, b, "/again", h.offered_type, "{}");
	struct sim_slot *s = host_slot(in->size, "");
	FILE *f = ros_begin(THING "hear /again 2>&1");

	memcpy(sim_slot_body_mut(s), in->body, in->size);
	ros_until_line(f, "ready");
	host_wait_log(&h, "/again: subscriber /thing_hear");
	assert_int_equal(host_publish(&h, b, t, s), 0);
	ros_next_line(f, "car 5000000007 -3 [65, 200] [1, 2, -1, 4] [(-7, 'wheel')] 1000000002 3000000004");
	assert_int_equal(pclose(f), 0);
	h.ops->close(b, t);
	free(s);
}

/* A latched message of a type unknown here: its definition arrives and is sent with it. */
TEST_WITH(the_definition_that_rospy_sends_is_used, setup, teardown)
{
	FILE *f = ros_begin("exec " THING "talk /thing 2>&1");
	struct host_in in;
	char *text = NULL;

	ros_until_line(f, "ready");
	host_listen(&h, b, "/thing");
	in = host_next(&h);
	assert_string_equal(in.type, "car_msgs/Thing");
	assert_int_equal(sim_msg_to_json_alloc(h.offered_type, in.body, in.size, NULL, &text, NULL), 0);
	assert_non_null(strstr(text, "\"level\":253,\"letters\":\"Qcg=\",\"four\":\"AQL/BA==\","
				     "\"parts\":[{\"kind\":249,\"name\":\"wheel\"}]"));
	free(text);
	goes_out(&in);
	ros_prints("rosnode kill /thing_talk", "killed");
	pclose(f);
}

/* The next call is answered: what it asked for, and the sentence; "": an error. */
static bool serve(const char *message)
{
	struct host_call call = host_next_call(&h);
	_Alignas(64) uint8_t body[256] = { 0 };
	struct sim_builder builder;
	struct sim_SetBoolResponse *r = sim_SetBoolResponse_init(body, sizeof(body), &builder);

	r->success = 1; /* SetBool's and Trigger's are alike */
	assert_int_equal(sim_SetBoolResponse_message_set(&builder, message), 0);
	if (*message)
		call.fn(call.user, 0, "", body, sim_builder_size(&builder));
	else
		call.fn(call.user, -EIO, "the lamp is broken", NULL, 0);
	return strcmp(call.type->name, "sim/SetBool") == 0 && sim_SetBoolRequest_from(call.request, call.size)->data;
}

TEST_WITH(rosservice_calls_services_of_the_bridge, setup, teardown)
{
	FILE *f;

	h.ops->service(b, "/lamp", &sim_SetBool_service);
	h.ops->service(b, "/car/horn", &sim_Trigger_service);
	AWAIT(strstr(ros_output("rosservice list", NULL), "/lamp") &&
	      strstr(ros_output("rosservice list", NULL), "/car/horn"));
	ros_prints("rosservice type /lamp", "std_srvs/SetBool");
	ros_prints("rosservice info /lamp", "Node: /simd");
	ros_prints("rosservice info /lamp", "Args: data");
	ros_prints("rosservice uri /lamp", "rosrpc://127.0.0.1:");
	ros_prints("rosservice find std_srvs/Trigger", "/car/horn");
	ros_prints("rosnode info /simd", " * /lamp");
	f = ros_begin("rosservice call /lamp true 2>&1");
	assert_true(serve("lamp on"));
	ros_until_line(f, "message: \"lamp on\"");
	pclose(f);
	f = ros_begin("rosservice call /car/horn 2>&1");
	assert_false(serve("honk"));
	ros_until_line(f, "message: \"honk\"");
	pclose(f);
	f = ros_begin("rosservice call /lamp false 2>&1");
	assert_false(serve(""));
	ros_until_line(f, "responded with an error: b'the lamp is broken'");
	pclose(f);
	h.ops->service(b, "/lamp", NULL);
	h.ops->service(b, "/car/horn", NULL);
	AWAIT(!strstr(ros_output("rosservice list", NULL), "/lamp"));
}

/* A persistent connection, and four threads of one node that call at once. */
TEST_FULL_WITH(rospy_calls_services_of_the_bridge, setup, teardown)
{
	FILE *f;

	h.ops->service(b, "/lamp", &sim_SetBool_service);
	AWAIT(strstr(ros_output("rosservice list", NULL), "/lamp"));
	f = ros_begin(CALLER "/lamp 1 3 2>&1");
	for (int i = 0; i < 3; i++)
		(void)serve(i % 2 ? "off" : "on");
	ros_next_line(f, "on off on");
	assert_int_equal(pclose(f), 0);
	f = ros_begin(CALLER "/lamp 4 2 2>&1");
	for (int i = 0; i < 8; i++)
		(void)serve("done");
	for (int i = 0; i < 4; i++)
		ros_next_line(f, "done done");
	assert_int_equal(pclose(f), 0);
	h.ops->service(b, "/lamp", NULL);
}

static void ask(bool on, int result, const char *text)
{
	struct sim_SetBoolRequest q = { .data = on };
	struct host_answer a;

	h.served.fn(h.served.user, &q, sizeof(q), (struct sim_pending *)(void *)&h);
	a = host_next_answer(&h);
	if (a.result != result)
		fail_msg("%d: %s", a.result, a.why);
	if (result < 0)
		assert_non_null(strstr(a.why, text));
	else
		assert_string_equal(sim_SetBoolResponse_message(sim_SetBoolResponse_from(a.response, a.size), a.size),
				    text);
}

/* A rospy node is the server: several requests, one that fails, and one after the node was restarted. */
TEST_FULL_WITH(the_bridge_calls_services_of_rospy, setup, teardown)
{
	FILE *f;

	for (int i = 0; i < 2; i++) {
		f = ros_begin(SERVER "/horn 3 2>&1");
		ros_until_line(f, "ready");
		ask(true, 0, "honk");
		ask(false, 0, "silence");
		ask(true, -EREMOTEIO, "three are too many");
		ros_prints("rosnode kill /server", "killed");
		pclose(f);
	}
	AWAIT(!strstr(ros_output("rosservice list", NULL), "/horn"));
	ask(true, -ENOENT, "the master knows no node");
}

TEST_FULL_WITH(a_new_master_learns_the_node_again, setup, teardown)
{
	struct sim_bridge_topic *t;

	t = host_open(&h, b, "/chat", &sim_String_type, "{}");
	AWAIT(strstr(ros_output("rostopic list", NULL), "/chat"));
	ros_master_kill();
	host_wait_log(&h, "does not answer");
	ros_master_again();
	AWAIT(strstr(ros_output("rostopic list", NULL), "/chat") && strstr(ros_output("rostopic list", NULL), "/say"));
	host_wait_log(&h, "registering again");
	h.ops->close(b, t);
}

TEST_FULL_WITH(a_second_node_with_its_name_ends_the_node, setup, teardown)
{
	struct sim_bridge_topic *t;
	FILE *f;

	t = host_open(&h, b, "/chat", &sim_String_type, "{}");
	AWAIT(strstr(ros_output("rostopic list", NULL), "/chat"));
	f = ros_begin("exec " PYTHON "simd /x std_msgs/String 1");
	ros_next_line(f, "ready");
	host_wait_log(&h, "node /simd was shut down: "); /* as the master tells it, or as it sees for itself before */
	AWAIT(h.ops->status(b) == SIM_BRIDGE_DISCONNECTED);
	ros_prints("rosnode kill /simd", "killed"); /* the other one: it has the name now */
	pclose(f);
	h.ops->close(b, t);
}

TEST_FULL_WITH(rosnode_kill_ends_the_node, setup, teardown)
{
	struct sim_bridge_topic *t;

	t = host_open(&h, b, "/chat", &sim_String_type, "{}");
	AWAIT(strstr(ros_output("rosnode list", NULL), "/simd"));
	ros_prints("rosnode kill /simd", "killed");
	host_wait_log(&h, "node /simd was shut down: user request");
	AWAIT(!strstr(ros_output("rosnode list", NULL), "/simd"));
	h.ops->close(b, t);
}

TEST_GROUP(ros_master_group, NULL)
