/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ROS' own programs see of the node: rosmaster, rospy, rostopic, rosservice and rosnode, as Debian packages them. What they get is compared;
 * how fast they are is not.
 */
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <sim/msg/Image.h>
#include <sim/msg/String.h>
#include <sim/srv/SetBool.h>
#include <sim/srv/Trigger.h>

#include "../ros2/host.h"
#include "fake.h"
#include "io.h"
#include "net.h"
#include "support/message.h"

#define PYTHON "/usr/bin/python3 tests/system/ros1/listener.py "
#define CALLER "/usr/bin/python3 tests/system/ros1/caller.py "
#define SERVER "/usr/bin/python3 tests/system/ros1/server.py "

static const char *const options[] = { "subscribe", "{\"/say\":{\"type\":\"std_msgs/String\",\"channel\":\"/said\"}}",
				       "call", "{\"/horn\":{\"type\":\"std_srvs/SetBool\",\"service\":\"horn\"}}",
				       NULL };
static struct host h;
static struct sim_bridge *b;
static char uri[64];
static unsigned port;
static pid_t ros;

/* ---- rosmaster ---- */

static bool master_answers(void)
{
	struct xmlrpc_writer w = { .text = NULL };
	struct xmlrpc_doc *d = NULL;
	char why[200];

	xmlrpc_call(&w, "getPid");
	xmlrpc_put_text(&w, "/test");
	assert_int_equal(xmlrpc_end(&w), 0);
	if (net_call(uri, &w, io_mono_ns() + INT64_C(1000000000), -1, &d, why, sizeof(why)) < 0)
		d = NULL;
	xmlrpc_free(d);
	xmlrpc_writer_finish(&w);
	return d;
}

static void ros_start(void)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", port);
	ros = fork();
	if (ros == 0) {
		if (!freopen("/tmp/rosmaster.log", "a", stdout) || dup2(1, 2) < 0)
			_exit(126);
		execl("/usr/bin/rosmaster", "rosmaster", "--core", "-p", number, (char *)NULL);
		_exit(127);
	}
	AWAIT(master_answers());
}

static void ros_stop(void)
{
	kill(ros, SIGKILL);
	waitpid(ros, NULL, 0);
}

static int have_ros(void **state)
{
	(void)state;
	if (access("/usr/bin/rosmaster", X_OK) == 0 && access("/usr/bin/rostopic", X_OK) == 0 &&
	    access("/usr/bin/rosnode", X_OK) == 0 && access("/usr/bin/rosservice", X_OK) == 0 &&
	    access("/usr/lib/python3/dist-packages/std_srvs", X_OK) == 0)
		return 0;
	print_message("no ROS 1 here: run tools/dev/deps.sh check\n");
	if (test_full())
		return -1;
	exit(77);
}

static int setup(void **state)
{
	char why[200];
	int fd;

	(void)state;
	fd = net_listen("127.0.0.1", 0, &port, why, sizeof(why)); /* one that is free */
	assert_true(fd >= 0);
	close(fd);
	snprintf(uri, sizeof(uri), "http://127.0.0.1:%u", port);
	setenv("ROS_MASTER_URI", uri, 1);
	setenv("ROS_IP", "127.0.0.1", 1);
	setenv("ROS_HOME", "/tmp/ros", 1);
	ros_start();
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
	ros_stop();
	return 0;
}

/* ---- programs of ROS ---- */

/* All that a command prints. */
static const char *output(const char *command)
{
	static char text[16384];
	char line[1024];
	FILE *f;
	size_t n;

	snprintf(line, sizeof(line), "%s 2>&1", command);
	f = popen(line, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	pclose(f);
	return text;
}

static void prints(const char *command, const char *part)
{
	const char *text = output(command);

	if (!strstr(text, part))
		fail_msg("%s: no \"%s\" in: %s", command, part, text);
}

/* A command that goes on: its output is read line by line. */
static FILE *begin(const char *command)
{
	FILE *f = popen(command, "r");

	assert_non_null(f);
	return f;
}

static void next_line(FILE *f, const char *expected)
{
	char line[1024] = "";

	assert_non_null(fgets(line, sizeof(line), f));
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, expected);
}

/* ---- what they see ---- */

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
	f = begin(PYTHON "ears /chat std_msgs/String 2");
	next_line(f, "ready");
	host_wait_log(&h, "/chat: subscriber /ears");
	publish_text(t, "hello");
	publish_text(t, "caf\xc3\xa9");
	next_line(f, "hello");
	next_line(f, "caf\xc3\xa9");
	assert_int_equal(pclose(f), 0);
	f = begin(PYTHON "eyes /camera sensor_msgs/Image 1");
	next_line(f, "ready");
	host_wait_log(&h, "/camera: subscriber /eyes");
	s = host_image(2048, 1024);
	s->sequence = 5;
	assert_int_equal(host_publish(&h, b, u, s), 0);
	snprintf(expected, sizeof(expected), "5 1640995200.123456768 camera: %u bytes, sum %u", 2048 * 1024 * 3,
		 2048 * 1024 * 3 * 7);
	next_line(f, expected);
	assert_int_equal(pclose(f), 0);
	free(s);
	h.ops->close(b, t);
	h.ops->close(b, u);
}

TEST_WITH(the_tools_of_ros_see_it, setup, teardown)
{
	struct sim_bridge_topic *t;
	char line[256] = "";
	FILE *f;

	t = host_open(&h, b, "/chat", &sim_String_type, "{\"ros1\":{\"latch\":true}}");
	publish_text(t, "latched");
	host_clock_start(&h, b);
	AWAIT(strstr(output("rostopic list"), "/chat") && strstr(output("rostopic list"), "/clock"));
	prints("rostopic info /chat", "Type: std_msgs/String");
	prints("rostopic info /chat", " * /simd (http://127.0.0.1:");
	prints("rostopic type /clock", "rosgraph_msgs/Clock");
	prints("rostopic echo -n 1 /chat", "data: \"latched\"");
	prints("rostopic echo -n 1 /clock", "secs: 1640995200");
	prints("rosnode ping -c 1 /simd", "xmlrpc reply from http://127.0.0.1:");
	prints("rosnode info /simd", " * /clock [rosgraph_msgs/Clock]");
	prints("rosnode info /simd", "Pid: ");
	f = begin("exec rostopic hz -w 5 /clock 2>&1");
	while (!strstr(line, "average rate"))
		assert_non_null(fgets(line, sizeof(line), f));
	prints("rosnode info /simd", "direction: outbound");
	prints("rosnode list | grep rostopic | xargs rosnode kill", "killed"); /* rostopic hz */
	pclose(f);
	host_clock_stop(&h);
	h.ops->close(b, t);
}

TEST_WITH(rostopic_pub_comes_in, setup, teardown)
{
	struct host_in in;

	AWAIT(strstr(output("rosnode info /simd"), " * /say"));
	prints("rostopic pub -1 /say std_msgs/String hello", "publishing and latching message for 3.0 seconds");
	in = host_next(&h);
	assert_string_equal(in.channel, "/said");
	assert_string_equal(sim_String_data(sim_String_from(in.body, in.size), in.size), "hello");
	AWAIT(!strstr(output("rosnode info /simd"), "inbound"));
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
	return call.type == &sim_SetBool_service && sim_SetBoolRequest_from(call.request, call.size)->data;
}

static void until(FILE *f, const char *part)
{
	char line[1024] = "";

	while (!strstr(line, part))
		if (!fgets(line, sizeof(line), f))
			fail_msg("no \"%s\"", part);
}

TEST_WITH(rosservice_calls, setup, teardown)
{
	FILE *f;

	h.ops->service(b, "/lamp", &sim_SetBool_service);
	h.ops->service(b, "/car/horn", &sim_Trigger_service);
	AWAIT(strstr(output("rosservice list"), "/lamp") && strstr(output("rosservice list"), "/car/horn"));
	prints("rosservice type /lamp", "std_srvs/SetBool");
	prints("rosservice info /lamp", "Node: /simd");
	prints("rosservice info /lamp", "Args: data");
	prints("rosservice uri /lamp", "rosrpc://127.0.0.1:");
	prints("rosservice find std_srvs/Trigger", "/car/horn");
	prints("rosnode info /simd", " * /lamp");
	f = begin("rosservice call /lamp true 2>&1");
	assert_true(serve("lamp on"));
	until(f, "message: \"lamp on\"");
	pclose(f);
	f = begin("rosservice call /car/horn 2>&1");
	assert_false(serve("honk"));
	until(f, "message: \"honk\"");
	pclose(f);
	f = begin("rosservice call /lamp false 2>&1");
	assert_false(serve(""));
	until(f, "responded with an error: b'the lamp is broken'");
	pclose(f);
	h.ops->service(b, "/lamp", NULL);
	h.ops->service(b, "/car/horn", NULL);
	AWAIT(!strstr(output("rosservice list"), "/lamp"));
}

/* A persistent connection, and four threads of one node that call at once. */
TEST_WITH(rospy_calls, setup, teardown)
{
	FILE *f;

	h.ops->service(b, "/lamp", &sim_SetBool_service);
	AWAIT(strstr(output("rosservice list"), "/lamp"));
	f = begin(CALLER "/lamp 1 3 2>&1");
	for (int i = 0; i < 3; i++)
		(void)serve(i % 2 ? "off" : "on");
	next_line(f, "on off on");
	assert_int_equal(pclose(f), 0);
	f = begin(CALLER "/lamp 4 2 2>&1");
	for (int i = 0; i < 8; i++)
		(void)serve("done");
	for (int i = 0; i < 4; i++)
		next_line(f, "done done");
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

/* A node of rospy serves: several requests, one that it fails, and one after it was started again. */
TEST_WITH(rospy_serves, setup, teardown)
{
	FILE *f;

	for (int i = 0; i < 2; i++) {
		f = begin(SERVER "/horn 3 2>&1");
		until(f, "ready");
		ask(true, 0, "honk");
		ask(false, 0, "silence");
		ask(true, -EREMOTEIO, "three are too many");
		prints("rosnode kill /server", "killed");
		pclose(f);
	}
	AWAIT(!strstr(output("rosservice list"), "/horn"));
	ask(true, -ENOENT, "the master knows no node");
}

TEST_WITH(a_new_master_knows_it_again, setup, teardown)
{
	struct sim_bridge_topic *t;

	t = host_open(&h, b, "/chat", &sim_String_type, "{}");
	AWAIT(strstr(output("rostopic list"), "/chat"));
	ros_stop();
	host_wait_log(&h, "does not answer");
	ros_start();
	AWAIT(strstr(output("rostopic list"), "/chat") && strstr(output("rostopic list"), "/say"));
	host_wait_log(&h, "registering again");
	h.ops->close(b, t);
}

TEST_WITH(a_second_node_of_its_name_ends_it, setup, teardown)
{
	struct sim_bridge_topic *t;
	FILE *f;

	t = host_open(&h, b, "/chat", &sim_String_type, "{}");
	AWAIT(strstr(output("rostopic list"), "/chat"));
	f = begin("exec " PYTHON "simd /x std_msgs/String 1");
	next_line(f, "ready");
	host_wait_log(&h, "node /simd was shut down: [/simd] Reason: new node registered with same name");
	AWAIT(h.ops->status(b) == SIM_BRIDGE_DISCONNECTED);
	prints("rosnode kill /simd", "killed"); /* the other one: it has the name now */
	pclose(f);
	h.ops->close(b, t);
}

TEST_WITH(it_is_killed_by_name, setup, teardown)
{
	struct sim_bridge_topic *t;

	t = host_open(&h, b, "/chat", &sim_String_type, "{}");
	AWAIT(strstr(output("rosnode list"), "/simd"));
	prints("rosnode kill /simd", "killed");
	host_wait_log(&h, "node /simd was shut down");
	AWAIT(!strstr(output("rosnode list"), "/simd"));
	h.ops->close(b, t);
}

TEST_GROUP(have_ros, NULL)
