/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole line to an lgsvl_bridge, played by lgsvl_server.h: messages arrive byte for byte, commands come back, and a
 * peer that disconnects, stalls, sends false data or is another program is named and affects no other client.
 */
#include "lgsvl_server.h"
#include "peer.h"
#include "stack.h"

#include <sim/msg/CameraInfo.h>
#include <sim/msg/Clock.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Image.h>
#include <sim/msg/Imu.h>
#include <sim/msg/Transforms.h>
#include <sim/msg/VehicleControl.h>

TEST_PROCESSES()

static char conf[4096];
static struct lgsvl_server *server;
static struct sim_client *client;
static pid_t simd;

static void connect_simd(unsigned port, const char *options, const char *more)
{
	snprintf(
		conf, sizeof(conf),
		"\"TimeSource\":\"system\","
		"\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"2MiB\",\"count\":40}],"
		"\"rigs\":[{\"name\":\"car\",\"inbound\":[\"control\"]%s,\"bridges\":[{\"name\":\"far\",\"plugin\":\"lgsvl\","
		"\"connection\":\"127.0.0.1:%u\",\"lossless\":true,\"channels\":[\"*\",\"/clock\"],\"options\":{%s}}]}]",
		more, port, options);
	simd = stack_start(conf);
	client = NULL;
}

static void start(const char *options)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "sensor", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	server = lgsvl_server_create(0);
	assert_non_null(server);
	connect_simd(lgsvl_server_port(server), options, "");
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	assert_int_equal(sim_connect(&o, &client), 0);
}

static void stop(void)
{
	sim_disconnect(client);
	client = NULL;
	stack_stop(simd);
	assert_string_equal(lgsvl_server_fault(server), "");
	lgsvl_server_destroy(server);
	server = NULL;
}

static int sweep(void **state)
{
	sim_disconnect(client);
	client = NULL;
	if (server)
		lgsvl_server_destroy(server);
	server = NULL;
	return stack_sweep(state);
}

static struct sim_publisher *advertise(const char *channel, const struct sim_type *type, size_t max)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = max, .frame_id = "imu" };
	struct sim_publisher *p;

	assert_int_equal(sim_advertise(client, channel, type, &o, &p), 0);
	return p;
}

static int send_one(struct sim_publisher *p, const void *body, size_t size)
{
	enum sim_reason reason;
	struct sim_slot *slot;

	assert_int_equal(sim_loan(p, size, &slot), 0);
	memcpy(sim_slot_body_mut(slot), body, size);
	return sim_publish_sync(p, slot, NULL, &reason);
}

TEST_WITH(messages_arrive_in_the_order_that_the_peer_expects, NULL, sweep)
{
	static const struct sim_Imu imu = { .orientation = { 0, 0, 0, 1 } };
	static const struct sim_GpsOdometry odom = { .orientation = { 0, 0, 0, 1 } };
	static uint8_t data[2048];
	struct sim_publisher *p, *q;
	int64_t first, second;
	uint64_t n;

	start("");
	p = advertise("imu", &sim_Imu_type, sizeof(imu));
	q = advertise("odom", &sim_GpsOdometry_type, 0);
	AWAIT(lgsvl_server_heard(server, 2, "/imu", "sensor_msgs/Imu"));
	AWAIT(lgsvl_server_heard(server, 2, "/odom", "nav_msgs/Odometry"));
	assert_int_equal(send_one(p, &imu, sizeof(imu)), 0);
	AWAIT(lgsvl_server_count(server, "/imu") == 1);
	assert_int_equal(lgsvl_server_last(server, "/imu", data, sizeof(data)), 323);
	assert_memory_equal(data + 8, "\x03\0\0\0imu", 7);
	assert_int_equal(send_one(q, &odom, sizeof(odom)), 0);
	AWAIT(lgsvl_server_count(server, "/odom") == 1);
	assert_int_equal(lgsvl_server_last(server, "/odom", data, sizeof(data)),
			 717 - strlen("odom") - strlen("base_link") + strlen("imu"));
	AWAIT(lgsvl_server_count(server, "/clock") > 3);
	assert_int_equal(lgsvl_server_last(server, "/clock", data, sizeof(data)), 8);
	first = *(int32_t *)data * NS_PER_S + *(uint32_t *)(data + 4);
	n = lgsvl_server_count(server, "/clock"); /* or later than the count read */
	AWAIT(lgsvl_server_count(server, "/clock") > n);
	assert_int_equal(lgsvl_server_last(server, "/clock", data, sizeof(data)), 8);
	second = *(int32_t *)data * NS_PER_S + *(uint32_t *)(data + 4);
	assert_true(second > first);
	stop();
}

/* "left" has 4 bytes, behind stamp and length: then the height, or what SVL has there. */
static uint32_t height_of(const char *topic)
{
	static uint8_t data[1024];

	AWAIT(lgsvl_server_count(server, topic) == 1);
	assert_true(lgsvl_server_last(server, topic, data, sizeof(data)) < sizeof(data));
	return *(uint32_t *)(data + 16);
}

TEST_WITH(compat_reproduces_the_mistakes_of_svl, NULL, sweep)
{
	static const struct sim_CameraInfo info = { .width = 640, .height = 480 };
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = sizeof(info), .frame_id = "left" };
	struct sim_client_options c = {
		.size = sizeof(c), .name = "sensor", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_publisher *p;

	server = lgsvl_server_create(0);
	assert_non_null(server);
	connect_simd(
		lgsvl_server_port(server), "\"compat\":\"svl2021.3\"",
		",\"channels\":[{\"name\":\"info\",\"options\":{\"lgsvl\":[{\"topic\":\"/old\"},{\"topic\":\"/new\",\"compat\":\"none\"}]}}]");
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	assert_int_equal(sim_connect(&c, &client), 0);
	assert_int_equal(sim_advertise(client, "info", &sim_CameraInfo_type, &o, &p), 0);
	AWAIT(lgsvl_server_heard(server, 2, "/new", "sensor_msgs/CameraInfo"));
	assert_int_equal(send_one(p, &info, sizeof(info)), 0);
	assert_int_equal(height_of("/old"), 640);
	assert_int_equal(height_of("/new"), 480);
	stop();
}

/* How many frames have arrived after one more message with this one. */
static uint32_t frames_after(struct sim_publisher *p, const char *child, uint64_t messages)
{
	_Alignas(8) static uint8_t body[512], data[4096];
	struct sim_builder b;
	struct sim_Transform *t;

	assert_non_null(sim_Transforms_init(body, sizeof(body), &b));
	t = sim_Transforms_transforms_alloc(&b, 1);
	t->rotation.w = 1;
	assert_int_equal(sim_Transform_parent_frame_set_in(&b, t, "base_link"), 0);
	assert_int_equal(sim_Transform_child_frame_set_in(&b, t, child), 0);
	assert_int_equal(send_one(p, body, sim_builder_size(&b)), 0);
	AWAIT(lgsvl_server_count(server, "/tf_static") == messages);
	assert_true(lgsvl_server_last(server, "/tf_static", data, sizeof(data)) < sizeof(data));
	return *(uint32_t *)data;
}

/* A second subscriber gets the first one's frame too. */
TEST_WITH(fixed_frames_go_together, NULL, sweep)
{
	struct sim_publisher *p;

	start("");
	p = advertise("/tf_static", &sim_Transforms_type, 512);
	AWAIT(lgsvl_server_heard(server, 2, "/tf_static", "tf2_msgs/TFMessage"));
	assert_int_equal(frames_after(p, "camera", 1), 1);
	assert_int_equal(frames_after(p, "lidar", 2), 2);
	assert_int_equal(frames_after(p, "camera", 3), 2);
	stop();
}

/* ---- inbound messages ---- */

static size_t a_command(uint8_t *to, float throttle)
{
	float values[] = { throttle, 0, -0.1f, 0 };

	memset(to, 0, 8);
	to[0] = 12;
	memcpy(to + 8, "\x03\0\0\0map", 7);
	memcpy(to + 15, values, sizeof(values));
	to[31] = 1;
	return 32;
}

static void subscribe(struct sim_subscriber **ret)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };

	assert_int_equal(sim_subscribe(client, "control", &sim_VehicleControl_type, &o, ret), 0);
}

static double next_throttle(struct sim_subscriber *s)
{
	const struct sim_message *m;
	double throttle;

	assert_int_equal(sim_wait(s, -1), 1);
	assert_int_equal(sim_take(s, &m), 0);
	throttle = ((const struct sim_VehicleControl *)m->body)->acceleration;
	sim_release(s, m);
	return throttle;
}

#define COMMANDS "\"subscribe\":{\"/cmd\":{\"type\":\"lgsvl_msgs/msg/VehicleControlData\",\"channel\":\"control\"}}"

TEST_WITH(inbound_commands_reach_the_channel, NULL, sweep)
{
	struct sim_subscriber *s;
	static uint8_t big[300000];
	uint8_t m[64];

	start(COMMANDS);
	subscribe(&s);
	AWAIT(lgsvl_server_heard(server, 1, "/cmd", "lgsvl_msgs/VehicleControlData"));
	lgsvl_server_publish(server, "/other", big, 100); /* without a subscriber */
	lgsvl_server_publish(server, "/cmd", big, sizeof(big));
	lgsvl_server_publish(server, "/cmd", m, 5);
	lgsvl_server_publish(server, "/cmd", m, (uint32_t)a_command(m, 7)); /* more than the pedal has */
	lgsvl_server_publish(server, "/cmd", m, (uint32_t)a_command(m, 0.5f));
	assert_float_equal(next_throttle(s), 0.5, 1e-6);
	AWAIT(stack_said("a message is dropped: it, or a string in it, is too large"));
	sim_subscriber_destroy(s);
	stop();
}

/* ---- peers that go ---- */

static void again(struct sim_publisher *p, unsigned connections)
{
	static const struct sim_Imu imu = { .orientation = { 0, 0, 0, 1 } };
	uint64_t n;

	AWAIT(lgsvl_server_connections(server) > connections);
	AWAIT(lgsvl_server_heard(server, 2, "/imu", "sensor_msgs/Imu"));
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	n = lgsvl_server_count(server, "/imu");
	assert_int_equal(send_one(p, &imu, sizeof(imu)), 0);
	AWAIT(lgsvl_server_count(server, "/imu") == n + 1);
}

TEST_WITH(a_lost_peer_is_dialled_again, NULL, sweep)
{
	struct sim_subscriber *s;
	struct sim_publisher *p;
	uint8_t m[64];
	unsigned port;

	start(COMMANDS);
	p = advertise("imu", &sim_Imu_type, sizeof(struct sim_Imu));
	subscribe(&s);
	again(p, 0);
	lgsvl_server_drop(server);
	again(p, 1);
	AWAIT(lgsvl_server_heard(server, 1, "/cmd", NULL));
	lgsvl_server_publish(server, "/cmd", m, (uint32_t)a_command(m, 0.25f));
	assert_float_equal(next_throttle(s), 0.25, 1e-6);
	assert_string_equal(lgsvl_server_fault(server), "");
	port = lgsvl_server_port(server);
	lgsvl_server_destroy(server);
	server = NULL;
	AWAIT(stack_said("is lgsvl_bridge running?"));
	server = lgsvl_server_create(port);
	assert_non_null(server);
	again(p, 0);
	assert_int_equal(stack_bridge("far", "restarts"), 0);
	sim_subscriber_destroy(s);
	stop();
}

TEST_WITH(a_peer_of_another_protocol_is_named, NULL, sweep)
{
	static const char *const with[][2] = {
		{ "HTTP/1.1 400 Bad Request\r\n\r\n", "a web server answers there" },
		{ "\x63", "it sends op 99" },
		{ "\x03\xff\xff\xff\x7f", "a topic name of 2147483647 bytes" },
	};
	unsigned n = 0;

	start("");
	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		AWAIT(lgsvl_server_connections(server) > n && lgsvl_server_connected(server));
		n = lgsvl_server_connections(server);
		lgsvl_server_send(server, with[i][0], strlen(with[i][0]));
		AWAIT(stack_said(with[i][1]));
	}
	stop();
}

/* A peer that reads nothing loses its own connection, but not that of another bridge. */
TEST_WITH(a_stalled_peer_delays_no_publisher_and_is_disconnected, NULL, sweep)
{
	static uint8_t body[(1 << 20) + 4096] __attribute__((aligned(64)));
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(body, sizeof(body), &b);
	struct sim_publisher *p;
	int r = 0;

	m->height = 512;
	m->width = 2048;
	m->step = 2048;
	assert_int_equal(sim_Image_encoding_set(&b, "mono8"), 0);
	assert_non_null(sim_Image_data_alloc(&b, 1 << 20));
	start("\"stall_ms\":200");
	p = advertise("image", &sim_Image_type, sizeof(body));
	AWAIT(lgsvl_server_heard(server, 2, "/image", "sensor_msgs/Image"));
	assert_int_equal(send_one(p, body, sim_builder_size(&b)), 0);
	lgsvl_server_hold(server, true);
	for (int i = 0; i < 64 && r == 0; i++) /* until all buffers between are full */
		r = send_one(p, body, sim_builder_size(&b));
	assert_int_equal(r, -EIO);
	AWAIT(stack_said("it has taken nothing for 200 ms"));
	lgsvl_server_drop(server);
	lgsvl_server_hold(server, false);
	AWAIT(lgsvl_server_connections(server) > 1 && lgsvl_server_heard(server, 2, "/image", NULL));
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	assert_int_equal(send_one(p, body, sim_builder_size(&b)), 0);
	stop();
}

/* Each of many large messages arrives whole, and the last one although simd ends behind it. */
TEST_WITH(all_messages_arrive_before_the_bridge_ends, NULL, sweep)
{
	static uint8_t body[(1 << 20) + 4096] __attribute__((aligned(64)));
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(body, sizeof(body), &b);
	struct sim_publisher *p;
	struct sim_slot *slot;
	size_t size;

	m->height = m->width = m->step = 1024;
	assert_int_equal(sim_Image_encoding_set(&b, "mono8"), 0);
	assert_non_null(sim_Image_data_alloc(&b, 1 << 20));
	size = sim_builder_size(&b);
	start("");
	p = advertise("image", &sim_Image_type, sizeof(body));
	AWAIT(lgsvl_server_heard(server, 2, "/image", "sensor_msgs/Image"));
	for (int i = 0; i < 100; i++) {
		assert_int_equal(sim_loan(p, size, &slot), 0);
		memcpy(sim_slot_body_mut(slot), body, size);
		assert_int_equal(sim_try_queue(p, slot, NULL, NULL, NULL), 0);
	}
	assert_int_equal(sim_flush(client, -1), 0);
	sim_disconnect(client);
	client = NULL;
	stack_stop(simd);
	AWAIT(lgsvl_server_count(server, "/image") == 100);
	assert_string_equal(lgsvl_server_fault(server), "");
	lgsvl_server_destroy(server);
	server = NULL;
}

/* ---- the rig ---- */

TEST_WITH(errors_in_the_rig_are_reported, NULL, sweep)
{
	static const char *const bad[] = { "host:", "a:b:c", "127.0.0.1:0", "127.0.0.1:65536", "[::1", "[]:1", "x y:1" };
	char path[] = "/tmp/bad.json";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *argv[] = { "simd", "--check-config", "--rig", path, NULL };
		const struct ctl_result *r;
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fprintf(f,
			"{\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"far\",\"plugin\":\"lgsvl\",\"connection\":\"%s\"}]}]}",
			bad[i]);
		fclose(f);
		r = stack_run(argv);
		assert_int_not_equal(r->code, 0);
		if (!strstr(r->err, "is not \"host:port\"") && !strstr(r->out, "is not \"host:port\""))
			fail_msg("%s: %s%s", bad[i], r->out, r->err);
	}
}
