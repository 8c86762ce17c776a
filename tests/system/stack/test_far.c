/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type of the user's own through the bridges that are not DDS, ros1, lgsvl and rosbridge, as test_converter.c has it
 * through ros2: as the messages that a converter plug-in makes of it, as itself, and back; and a type of ours without a
 * mapping. The expected bytes were computed by hand.
 */
#include "stack.h"

#include <stdlib.h>

#include <example/msg/FloatArray.h>
#include <sim/msg/GpsIns.h>
#include <sim/sim.h>

#include "../ros1/fake.h"
#include "../../support/ros_tree.h"
#include "lgsvl_server.h"
#include "rosbridge_server.h"

TEST_PROCESSES()

#define STAMP     INT64_C(1640995200123456768)
#define MD5_MULTI "6a40e0ffa6a17a503ac3f8616991b1f6"
#define MD5_OWN   "cf2523bb904ff6a9a9a93be449b6ccf9" /* md5sum of "time timestamp\nfloat32[] array" */

static struct fake_master master;
static struct lgsvl_server *server;
static struct rosbridge_server *web;
static struct sim_client *client;
static pid_t simd;
static int door; /* where the ros1 bridge comes to subscribe */

static const char *beside(const char *what)
{
	static char path[2][4200];
	static int k;
	char *p = path[k ^= 1];
	ssize_t n = readlink("/proc/self/exe", p, 4096);

	assert_true(n > 0);
	p[n] = '\0';
	strcpy(strrchr(p, '/'), what);
	return p;
}

/* All bridges carry all channels; each brings in two of its own, with its name in them. */
#define CHANNEL(name, type) \
	"{\"name\":\"/" name "\",\"options\":{\"ros1\":{" type "\"latch\":true},\"lgsvl\":{" type \
	"\"frame\":\"f\"},\"rosbridge\":{" type "\"frame\":\"f\"}}}"
#define BRIDGE(name, plugin, option) \
	"{\"name\":\"" name "\",\"plugin\":\"" plugin \
	"\",\"connection\":\"%s\",\"converters\":[\"%s\"],\"channels\":[\"/multi\",\"/readings\",\"/own\",\"/ins\"]," \
	"\"options\":{" option "\"subscribe\":{" \
	"\"/in_multi\":{\"type\":\"std_msgs/msg/Float32MultiArray\",\"channel\":\"/" name "/multi\"}," \
	"\"/in_own\":{\"type\":\"example/msg/FloatArray\",\"channel\":\"/" name "/own\",\"definition\":\"%s\"}}}}"
#define BRIDGES \
	BRIDGE("one", "ros1", "") \
	"," BRIDGE("two", "lgsvl", "") "," BRIDGE("three", "rosbridge", "\"flavour\":\"ros\",")

#define READINGS CHANNEL("readings", "\"type\":\"example_msgs/msg/Readings\",")
#define OWN      CHANNEL("own", "\"type\":\"example/msg/FloatArray\",")
#define CHANNELS CHANNEL("multi", "") "," CHANNEL("ins", "") "," READINGS "," OWN
#define INBOUND  "\"/one/multi\",\"/one/own\",\"/two/multi\",\"/two/own\",\"/three/multi\",\"/three/own\""
#define POOLS    "{\"size\":\"1KiB\",\"count\":400},{\"size\":\"128KiB\",\"count\":300}"

static const char config[] =
	"\"TimeSource\":\"system\",\"pools\":[" POOLS "],\"rigs\":[{\"name\":\"car\",\"inbound\":[" INBOUND
	"],\"channels\":[" CHANNELS "],\"bridges\":[" BRIDGES "]}]";

static int start(void **state)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "sensor", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	const char *converter = beside("/../examples/converter_float_array.so"),
		   *definition = beside("/../../libclient/examples/FloatArray.msg");
	static char conf[16384];
	char far[32], url[32];

	(void)state;
	unsetenv("ROS_IP");
	unsetenv("ROS_HOSTNAME");
	fake_master_start(&master, 0);
	door = fake_listen(&master.tcpros_port);
	snprintf(master.publishers[0], sizeof(master.publishers[0]), "%s", master.uri);
	server = lgsvl_server_create(0);
	web = rosbridge_server_create(0, NULL);
	assert_true(server && web);
	snprintf(url, sizeof(url), "ws://127.0.0.1:%u", rosbridge_server_port(web));
	snprintf(far, sizeof(far), "127.0.0.1:%u", lgsvl_server_port(server));
	snprintf(conf, sizeof(conf), config, master.uri, converter, definition, far, converter, definition, url,
		 converter, definition);
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("one", "status"), "connected"));
	AWAIT(!strcmp(stack_bridge_text("two", "status"), "connected"));
	AWAIT(!strcmp(stack_bridge_text("three", "status"), "connected"));
	return sim_connect(&o, &client);
}

static void finish(void)
{
	sim_disconnect(client);
	client = NULL;
	stack_stop(simd);
	assert_string_equal(lgsvl_server_fault(server), "");
	assert_string_equal(rosbridge_server_fault(web), "");
}

static int stop(void **state)
{
	sim_disconnect(client);
	client = NULL;
	if (server)
		lgsvl_server_destroy(server);
	if (web)
		rosbridge_server_destroy(web);
	server = NULL;
	web = NULL;
	fake_master_stop(&master);
	close(door);
	return stack_sweep(state);
}

/* ---- bytes by hand ---- */

struct bytes {
	uint8_t at[256];
	uint32_t n;
};

static void put(struct bytes *b, const void *data, size_t n)
{
	memcpy(b->at + b->n, data, n);
	b->n += (uint32_t)n;
}

static void put_u32(struct bytes *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static void put_text(struct bytes *b, const char *s)
{
	put_u32(b, (uint32_t)strlen(s));
	put(b, s, strlen(s));
}

static void put_floats(struct bytes *b, float first, uint32_t n)
{
	put_u32(b, n);
	for (uint32_t i = 0; i < n; i++)
		put(b, &(float){ first + (float)i }, sizeof(float));
}

static void put_stamp(struct bytes *b)
{
	put_u32(b, 1640995200);
	put_u32(b, 123456768);
}

static struct bytes multi_array(const char *label, float first, uint32_t n)
{
	struct bytes b = { .n = 0 };

	put_u32(&b, 1);
	put_text(&b, label);
	put_u32(&b, n);
	put_u32(&b, n);
	put_u32(&b, 0);
	put_floats(&b, first, n);
	return b;
}

static struct bytes own(float first, uint32_t n)
{
	struct bytes b = { .n = 0 };

	put_stamp(&b);
	put_floats(&b, first, n);
	return b;
}

/* 0.5, 1.5, 2.5; ROS 1's header begins with a count. */
static struct bytes readings(bool ros1)
{
	struct bytes b = { .n = 0 };

	if (ros1)
		put_u32(&b, 1);
	put_stamp(&b);
	put_text(&b, ros1 ? "sensor" : "f");
	put(&b, &(double){ 1.5 }, 8);
	put_floats(&b, 0.5f, 3);
	return b;
}

static struct bytes ins(void)
{
	struct bytes b = { .n = 0 };

	put_u32(&b, 3);
	put_u32(&b, 56);
	return b;
}

/* ---- out ---- */

static struct sim_publisher *advertise(const char *channel, const struct sim_type *type)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = 512, .frame_id = "sensor" };
	struct sim_publisher *p;

	assert_int_equal(sim_advertise(client, channel, type, &o, &p), 0);
	AWAIT(lgsvl_server_heard(server, 2, channel, NULL) && fake_master_calls(&master, "registerPublisher", channel));
	return p;
}

static void send_array(const char *channel)
{
	struct sim_publisher *p = advertise(channel, &example_FloatArray_type);
	struct example_FloatArray *m;
	enum sim_reason reason;
	struct sim_builder b;
	struct sim_slot *slot;
	float *array;

	assert_int_equal(sim_loan(p, example_FloatArray_size(3), &slot), 0);
	m = example_FloatArray_init(sim_slot_body_mut(slot), slot->body_size, &b);
	m->timestamp = STAMP;
	array = example_FloatArray_array_alloc(&b, 3);
	for (int i = 0; i < 3; i++)
		array[i] = 0.5f + (float)i;
	assert_int_equal(sim_publish_sync(p, slot, NULL, &reason), 0);
}

static void send_ins(void)
{
	struct sim_publisher *p = advertise("/ins", &sim_GpsIns_type);
	enum sim_reason reason;
	struct sim_slot *slot;

	assert_int_equal(sim_loan(p, sizeof(struct sim_GpsIns), &slot), 0);
	memcpy(sim_slot_body_mut(slot), &(struct sim_GpsIns){ 3, 56 }, sizeof(struct sim_GpsIns));
	assert_int_equal(sim_publish_sync(p, slot, NULL, &reason), 0);
}

static void expect_json(const char *topic, const char *type, const char *text)
{
	json_t *want = json_loads(text, 0, NULL), *all, *got;
	char why[640];

	assert_non_null(want);
	assert_true(rosbridge_server_heard(web, "advertise", topic, "type", type));
	AWAIT(rosbridge_server_count(web, "publish", topic) == 1);
	all = rosbridge_server_last(web, "publish", topic);
	got = json_object_get(all, "msg");
	json_object_del(json_object_get(got, "header"), "seq"); /* whatever was counted */
	if (ros_tree_compare(want, got, why, sizeof(why)) < 0)
		fail_msg("%s: %s", topic, why);
	json_decref(all);
	json_decref(want);
}

/* What came to the others, of which types. */
static void expect(const char *topic, const char *type, struct bytes ros1, struct bytes lgsvl)
{
	int fd = fake_connect(fake_request_topic(&master, topic), 0);
	uint8_t data[512], *m;
	uint32_t len;

	fake_subscribe(fd, "/listener", topic, "*", "*");
	assert_string_equal(fake_field(fd, "type"), type);
	m = fake_message(fd, &len);
	assert_non_null(m);
	assert_int_equal(len, ros1.n);
	if (strcmp(topic, "/readings") == 0)
		memcpy(m, ros1.at, 4); /* whatever was counted */
	assert_memory_equal(m, ros1.at, len);
	free(m);
	close(fd);
	assert_true(lgsvl_server_heard(server, 2, topic, type));
	AWAIT(lgsvl_server_count(server, topic) == 1);
	assert_int_equal(lgsvl_server_last(server, topic, data, sizeof(data)), lgsvl.n);
	assert_memory_equal(data, lgsvl.at, lgsvl.n);
}

TEST_WITH(messages_are_sent_to_all_systems, start, stop)
{
	struct bytes multi = multi_array("readings", 0.5f, 3), same = own(0.5f, 3);

	send_array("/multi");
	send_array("/readings");
	send_array("/own");
	send_ins();
	expect("/multi", "std_msgs/Float32MultiArray", multi, multi);
	expect("/readings", "example_msgs/Readings", readings(true), readings(false));
	expect("/own", "example/FloatArray", same, same);
	expect("/ins", "sim_msgs/GpsIns", ins(), ins());
	expect_json("/multi", "std_msgs/Float32MultiArray",
		    "{\"layout\":{\"dim\":[{\"label\":\"readings\",\"size\":3,\"stride\":3}]},\"data\":[0.5,1.5,2.5]}");
	expect_json("/readings", "example_msgs/Readings",
		    "{\"header\":{\"stamp\":{\"secs\":1640995200,\"nsecs\":123456768},\"frame_id\":\"f\"},"
		    "\"mean\":1.5,\"values\":[0.5,1.5,2.5]}");
	expect_json("/own", "example/FloatArray",
		    "{\"timestamp\":{\"secs\":1640995200,\"nsecs\":123456768},\"array\":[0.5,1.5,2.5]}");
	expect_json("/ins", "sim_msgs/GpsIns", "{\"status\":3,\"position_type\":56}");
	assert_int_equal(stack_bridge("one", "failed") + stack_bridge("two", "failed") +
				 stack_bridge("three", "failed"),
			 0);
	finish();
}

/* ---- in ---- */

static struct sim_subscriber *listen_to(const char *channel)
{
	struct sim_subscriber *s;

	assert_int_equal(sim_subscribe(client, channel, &example_FloatArray_type, NULL, &s), 0);
	return s;
}

static void expect_in(struct sim_subscriber *s, float first, uint32_t n, int64_t stamp_sim_ns)
{
	const struct example_FloatArray *m;
	const struct sim_message *msg;
	const float *array;
	uint32_t got;

	assert_int_equal(sim_wait(s, -1), 1);
	assert_int_equal(sim_take(s, &msg), 0);
	m = example_FloatArray_from(msg->body, msg->body_size);
	assert_non_null(m);
	array = example_FloatArray_array(m, msg->body_size, &got);
	assert_int_equal(got, n);
	assert_float_equal(array[0], first, 0);
	assert_float_equal(array[n - 1], first + (float)n - 1, 0);
	assert_int_equal(m->timestamp, stamp_sim_ns);
	sim_release(s, msg);
	sim_subscriber_destroy(s);
}

/* The two links of the ros1 bridge come in any order. The sums are those that ROS makes of the definitions. */
static void talk_to_ros1(const struct bytes *multi, const struct bytes *same)
{
	int fd[2];

	for (int i = 0; i < 2; i++) {
		fd[i] = fake_accept(door);
		if (strcmp(fake_field(fd[i], "topic"), "/in_own") == 0) {
			fake_welcome(fd[i], MD5_OWN, "example/FloatArray", NULL);
			fake_publish(fd[i], same->at, same->n);
		} else {
			fake_welcome(fd[i], MD5_MULTI, "std_msgs/Float32MultiArray", NULL);
			fake_publish(fd[i], multi->at, multi->n);
		}
	}
	close(fd[0]);
	close(fd[1]);
}

TEST_WITH(messages_of_all_systems_are_received, start, stop)
{
	struct bytes multi = multi_array("x", 0.5f, 3), same = own(7, 2);
	struct sim_subscriber *one_multi = listen_to("/one/multi"), *one_own = listen_to("/one/own");
	struct sim_subscriber *two_multi = listen_to("/two/multi"), *two_own = listen_to("/two/own");
	struct sim_subscriber *three_multi = listen_to("/three/multi"), *three_own = listen_to("/three/own");

	talk_to_ros1(&multi, &same);
	expect_in(one_multi, 0.5f, 3, 0);
	expect_in(one_own, 7, 2, STAMP);
	AWAIT(lgsvl_server_heard(server, 1, "/in_multi", "std_msgs/Float32MultiArray") &&
	      lgsvl_server_heard(server, 1, "/in_own", "example/FloatArray"));
	lgsvl_server_publish(server, "/in_multi", multi.at, multi.n);
	lgsvl_server_publish(server, "/in_own", same.at, same.n);
	expect_in(two_multi, 0.5f, 3, 0);
	expect_in(two_own, 7, 2, STAMP);
	AWAIT(rosbridge_server_heard(web, "subscribe", "/in_multi", "type", "std_msgs/Float32MultiArray") &&
	      rosbridge_server_heard(web, "subscribe", "/in_own", "type", "example/FloatArray"));
	rosbridge_server_text(
		web, "{\"op\":\"publish\",\"topic\":\"/in_multi\",\"msg\":{\"layout\":{\"dim\":[{\"label\":\"x\","
		     "\"size\":3,\"stride\":3}],\"data_offset\":0},\"data\":[0.5,1.5,2.5]}}");
	rosbridge_server_text(web,
			      "{\"op\":\"publish\",\"topic\":\"/in_own\",\"msg\":{\"timestamp\":{\"secs\":1640995200,"
			      "\"nsecs\":123456768},\"array\":[7,8]}}");
	expect_in(three_multi, 0.5f, 3, 0);
	expect_in(three_own, 7, 2, STAMP);
	finish();
}
