/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole line to a rosbridge server, played by rosbridge_server.h, which is strict: what is published arrives as JSON, commands come
 * back, and a server that goes, stalls, lies or is none of its kind is named and harms nobody else.
 */
#include "peer.h"
#include "rosbridge_server.h"
#include "stack.h"

#include <sim/msg/Image.h>
#include <sim/msg/Imu.h>
#include <sim/msg/VehicleControl.h>

TEST_PROCESSES()

static char conf[4096];
static struct rosbridge_server *server;
static struct sim_client *client;
static pid_t simd;

static void connect_simd(const char *scheme, unsigned port, const char *options)
{
	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"system\","
		 "\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"2MiB\",\"count\":40}],"
		 "\"rigs\":[{\"name\":\"car\",\"inbound\":[\"control\"],\"bridges\":[{\"name\":\"far\",\"plugin\":\"rosbridge\","
		 "\"connection\":\"%s127.0.0.1:%u\",\"channels\":[\"*\",\"/clock\"],\"options\":{%s}}]}]",
		 scheme, port, options);
	simd = stack_start(conf);
	client = NULL;
}

static void start_with(const struct rosbridge_server_how *how, const char *scheme, const char *options)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "sensor", .socket = STACK_SOCKET };

	server = rosbridge_server_create(0, how);
	assert_non_null(server);
	connect_simd(scheme, rosbridge_server_port(server), options);
	assert_int_equal(sim_connect(&o, &client), 0);
}

static void start(const char *options)
{
	start_with(NULL, "ws://", options);
	UNTIL(10000, !strcmp(stack_bridge_text("far", "status"), "connected"));
}

static void stop(void)
{
	sim_disconnect(client);
	client = NULL;
	stack_stop(simd);
	assert_string_equal(rosbridge_server_fault(server), "");
	rosbridge_server_destroy(server);
	server = NULL;
}

static int sweep(void **state)
{
	sim_disconnect(client);
	client = NULL;
	if (server)
		rosbridge_server_destroy(server);
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

static struct sim_publisher *imu_publisher(void)
{
	return advertise("imu", &sim_Imu_type, sizeof(struct sim_Imu));
}

static int send_imu(struct sim_publisher *p, double yaw_rate)
{
	struct sim_Imu imu = { .orientation = { 0, 0, 0, 1 } };

	imu.angular_velocity.z = yaw_rate;
	return send_one(p, &imu, sizeof(imu));
}

/* What "a.b" is in the newest message of a topic, or of another operation; one must be there. */
static json_t *value_of(const char *op, const char *name, const char *path)
{
	json_t *all = rosbridge_server_last(server, op, name), *v = all;
	char key[40];
	size_t n;

	assert_non_null(all);
	for (; *path && v; path += n + (path[n] == '.')) {
		n = strcspn(path, ".");
		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		v = json_object_get(v, key);
	}
	if (!v)
		fail_msg("%s %s: %s is missing", op, name, path);
	json_incref(v);
	json_decref(all);
	return v;
}

static double number_of(const char *op, const char *name, const char *path)
{
	json_t *v = value_of(op, name, path);
	double d = json_number_value(v);

	json_decref(v);
	return d;
}

static const char *text_of(const char *op, const char *name, const char *path)
{
	static char text[512];
	json_t *v = value_of(op, name, path);

	snprintf(text, sizeof(text), "%s", json_string_value(v) ? json_string_value(v) : "");
	json_decref(v);
	return text;
}

TEST_WITH(messages_arrive_as_json, NULL, sweep)
{
	struct sim_publisher *p;
	double first;
	uint64_t n;

	start("");
	p = imu_publisher();
	UNTIL(10000, rosbridge_server_heard(server, "advertise", "/imu", "type", "sensor_msgs/msg/Imu"));
	assert_int_equal(send_imu(p, 0.1), 0);
	UNTIL(10000, rosbridge_server_count(server, "publish", "/imu") == 1);
	assert_true(number_of("publish", "/imu", "msg.angular_velocity.z") == 0.1);
	assert_string_equal(text_of("publish", "/imu", "msg.header.frame_id"), "imu");
	assert_true(number_of("publish", "/imu", "msg.header.stamp.sec") > 1e9);
	UNTIL(10000, rosbridge_server_count(server, "publish", "/clock") > 3);
	first = number_of("publish", "/clock", "msg.clock.sec") +
		1e-9 * number_of("publish", "/clock", "msg.clock.nanosec");
	n = rosbridge_server_count(server, "publish", "/clock");
	UNTIL(10000, rosbridge_server_count(server, "publish", "/clock") > n + 1);
	assert_true(number_of("publish", "/clock", "msg.clock.sec") +
			    1e-9 * number_of("publish", "/clock", "msg.clock.nanosec") >
		    first);
	sim_publisher_destroy(p);
	stop();
}

TEST_WITH(ros_1_has_its_own_names, NULL, sweep)
{
	struct sim_publisher *p;

	start("\"flavour\":\"ros\"");
	p = imu_publisher();
	UNTIL(10000, rosbridge_server_heard(server, "advertise", "/imu", "type", "sensor_msgs/Imu"));
	assert_int_equal(send_imu(p, 0.1), 0);
	UNTIL(10000, rosbridge_server_count(server, "publish", "/imu") == 1);
	assert_true(number_of("publish", "/imu", "msg.header.stamp.secs") > 1e9);
	assert_true(number_of("publish", "/imu", "msg.header.seq") >= 0);
	stop();
}
