/* SPDX-License-Identifier: Apache-2.0 */
/* See rosbridge_line.h. */
#include "rosbridge_line.h"

#include "peer.h"
#include "stack.h"

#include <sim/msg/Imu.h>
#include <sim/msg/VehicleControl.h>

static char conf[4096];
const char *line_rig = "";
struct rosbridge_server *line_server;
struct sim_client *line_client;
pid_t line_simd;

static void line_connect_simd(const char *scheme, unsigned port, const char *options)
{
	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"system\","
		 "\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"2MiB\",\"count\":40}],"
		 "\"rigs\":[{\"name\":\"car\",%s\"inbound\":[\"control\"],\"bridges\":[{\"name\":\"far\",\"plugin\":\"rosbridge\","
		 "\"connection\":\"%s127.0.0.1:%u\",\"channels\":[\"*\",\"/clock\"],\"options\":{%s}}]}]",
		 line_rig, scheme, port, options);
	line_simd = stack_start(conf);
	line_client = NULL;
}

void line_start_with(const struct rosbridge_server_how *how, const char *scheme, const char *options)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "sensor", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	line_server = rosbridge_server_create(0, how);
	assert_non_null(line_server);
	line_connect_simd(scheme, rosbridge_server_port(line_server), options);
	assert_int_equal(sim_connect(&o, &line_client), 0);
}

void line_start(const char *options)
{
	line_start_with(NULL, "ws://", options);
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
}

void line_stop(void)
{
	sim_disconnect(line_client);
	line_client = NULL;
	stack_stop(line_simd);
	assert_string_equal(rosbridge_server_fault(line_server), "");
	rosbridge_server_destroy(line_server);
	line_server = NULL;
}

int line_sweep(void **state)
{
	line_rig = "";
	sim_disconnect(line_client);
	line_client = NULL;
	if (line_server)
		rosbridge_server_destroy(line_server);
	line_server = NULL;
	return stack_sweep(state);
}

struct sim_publisher *line_advertise(const char *channel, const struct sim_type *type, size_t max)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = max, .frame_id = "imu" };
	struct sim_publisher *p;

	assert_int_equal(sim_advertise(line_client, channel, type, &o, &p), 0);
	return p;
}

int line_send_one(struct sim_publisher *p, const void *body, size_t size)
{
	enum sim_reason reason;
	struct sim_slot *slot;

	assert_int_equal(sim_loan(p, size, &slot), 0);
	memcpy(sim_slot_body_mut(slot), body, size);
	return sim_publish_sync(p, slot, NULL, &reason);
}

struct sim_publisher *line_imu_publisher(void)
{
	return line_advertise("imu", &sim_Imu_type, sizeof(struct sim_Imu));
}

int line_send_imu(struct sim_publisher *p, double yaw_rate)
{
	struct sim_Imu imu = { .orientation = { 0, 0, 0, 1 } };

	imu.angular_velocity.z = yaw_rate;
	return line_send_one(p, &imu, sizeof(imu));
}

/* What "a.b" is in the newest message of a topic, or of another operation; one must be there. */
json_t *line_value_of(const char *op, const char *name, const char *path)
{
	json_t *all = rosbridge_server_last(line_server, op, name), *v = all;
	char key[40];
	size_t n;

	if (!all)
		fail_msg("no %s of %s; %s", op, name, rosbridge_server_fault(line_server));
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

double line_number_of(const char *op, const char *name, const char *path)
{
	json_t *v = line_value_of(op, name, path);
	double d = json_number_value(v);

	json_decref(v);
	return d;
}

const char *line_text_of(const char *op, const char *name, const char *path)
{
	static char text[512];
	json_t *v = line_value_of(op, name, path);

	snprintf(text, sizeof(text), "%s", json_string_value(v) ? json_string_value(v) : "");
	json_decref(v);
	return text;
}

void line_subscribe(struct sim_subscriber **ret)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };

	assert_int_equal(sim_subscribe(line_client, "control", &sim_VehicleControl_type, &o, ret), 0);
}

double line_next_throttle(struct sim_subscriber *s)
{
	const struct sim_message *m;
	double throttle;

	assert_int_equal(sim_wait(s, -1), 1);
	assert_int_equal(sim_take(s, &m), 0);
	throttle = ((const struct sim_VehicleControl *)m->body)->acceleration;
	sim_release(s, m);
	return throttle;
}

void line_start_listening(const char *options, struct sim_subscriber **ret)
{
	line_start(options);
	line_subscribe(ret);
	AWAIT(rosbridge_server_heard(line_server, "subscribe", "/cmd", "type", "lgsvl_msgs/msg/VehicleControlData"));
}
