/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types for which Apollo has no message are sent all the same: with a definition made from their own, or by a converter
 * of the rig, and received. protoc reads and writes them by the definitions that the peer gets, and by nothing else.
 * Messages of Apollo and others without a type of ours, by their own definition. And fixed frames, which late readers
 * need.
 */
#include "cyber_server.h"
#include "peer.h"
#include "stack.h"

#include <example/msg/FloatArray.h>
#include <sim/msg/Transforms.h>

TEST_PROCESSES()

static struct cyber_server *server;
static struct sim_client *client;
static pid_t simd;

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

static void start(const char *bridge)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "sensor", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	static char conf[9000];

	server = cyber_server_create(0, NULL);
	assert_non_null(server);
	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"system\",\"pools\":[{\"size\":\"4KiB\",\"count\":1500},{\"size\":\"128KiB\",\"count\":300}],"
		 "\"rigs\":[{\"name\":\"car\",\"inbound\":[\"in/own\",\"in/multi\",\"in/route\"],"
		 "\"channels\":[{\"name\":\"multi\",\"options\":{\"cyber\":{\"type\":\"std_msgs.Float32MultiArray\"}}},"
		 "{\"name\":\"readings\",\"options\":{\"cyber\":{\"type\":\"example_msgs/msg/Readings\"}}},"
		 "{\"name\":\"own\",\"options\":{\"cyber\":{\"type\":\"example.FloatArray\"}}}],"
		 "\"bridges\":[{\"name\":\"far\",\"plugin\":\"cyber\",\"connection\":\"127.0.0.1:%u\",%s}]}]",
		 cyber_server_port(server), bridge);
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	assert_int_equal(sim_connect(&o, &client), 0);
}

static void stop(void)
{
	sim_disconnect(client);
	client = NULL;
	stack_stop(simd);
	assert_string_equal(cyber_server_fault(server), "");
	cyber_server_destroy(server);
	server = NULL;
}

static int sweep(void **state)
{
	sim_disconnect(client);
	client = NULL;
	if (server)
		cyber_server_destroy(server);
	server = NULL;
	return stack_sweep(state);
}

/* ---- protoc, with the definitions that the peer got ---- */

static void write_file(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static size_t read_file(const char *path, void *data, size_t room)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(data, 1, room, f);
	fclose(f);
	return n;
}

/* A set of the one file. */
static void write_set(const char *file)
{
	static uint8_t set[60000];
	size_t n = cyber_server_descriptor(server, file, set + 4, sizeof(set) - 4);

	if (!n)
		fail_msg("the peer was not notified about %s", file);
	set[0] = 0x0a;
	set[1] = (uint8_t)(n | 0x80);
	set[2] = (uint8_t)(n >> 7 | 0x80);
	set[3] = (uint8_t)(n >> 14);
	write_file("/tmp/set", set, n + 4);
}

static const char *protoc(const char *file, const char *type, const char *way, const void *in, size_t len,
			  size_t *ret_n)
{
	static char out[4096];
	char command[500];

	write_set(file);
	write_file("/tmp/in", in, len);
	snprintf(command, sizeof(command), "protoc-c --descriptor_set_in=/tmp/set --%s=%s %s </tmp/in >/tmp/out", way,
		 type, file);
	if (system(command) != 0) /* NOLINT: of constants */
		fail_msg("%s", command);
	*ret_n = read_file("/tmp/out", out, sizeof(out) - 1);
	out[*ret_n] = '\0';
	return out;
}

static const char *last_text(const char *channel, const char *file, const char *type)
{
	uint8_t data[2000];
	size_t n;

	AWAIT(cyber_server_count(server, channel) > 0);
	n = cyber_server_last(server, channel, data, sizeof(data));
	assert_true(n <= sizeof(data));
	return protoc(file, type, "decode", data, n, &n);
}

/* ---- out ---- */

static struct sim_publisher *advertise(const char *channel, const struct sim_type *type)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = 3000 };
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

static void send_readings(const char *channel)
{
	static _Alignas(64) uint8_t body[500];
	struct sim_builder b;
	struct example_FloatArray *m = example_FloatArray_init(body, sizeof(body), &b);
	float *array = example_FloatArray_array_alloc(&b, 3);

	m->timestamp = 5000000006;
	for (int i = 0; i < 3; i++)
		array[i] = (float)i + 0.5f;
	assert_int_equal(send_one(advertise(channel, &example_FloatArray_type), body, sim_builder_size(&b)), 0);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("there is no \"%s\" in:\n%s", part, text);
}

TEST_WITH(a_user_defined_type_is_sent_with_its_definition, NULL, sweep)
{
	const char *text;

	start("\"channels\":[\"other\"]");
	send_readings("other");
	text = last_text("/other", "example/FloatArray.proto", "example.FloatArray");
	assert_has(text, "array: 0.5\narray: 1.5\narray: 2.5\n");
	assert_has(text, "sec: 5\n");
	assert_has(text, "nanosec: 6\n");
	assert_true(cyber_server_writer(server, "/other", "example.FloatArray"));
	assert_has(stack_ctl("bridge", "info", "far", NULL)->out, "example.FloatArray");
	cyber_server_drop(server); /* and gets the definitions again */
	AWAIT(cyber_server_connections(server) > 1 && cyber_server_writer(server, "/other", NULL));
	stop();
}

static const char *with_converter(void)
{
	static char bridge[9000];

	snprintf(bridge, sizeof(bridge),
		 "\"channels\":[\"*\"],\"converters\":[\"%s\"],\"options\":{\"subscribe\":{"
		 "\"/in/multi\":{\"type\":\"std_msgs.Float32MultiArray\",\"channel\":\"in/multi\"},"
		 "\"/in/own\":{\"type\":\"example.FloatArray\",\"channel\":\"in/own\",\"definition\":\"%s\"}}}",
		 beside("/../examples/converter_float_array.so"), beside("/../../libclient/examples/FloatArray.msg"));
	return bridge;
}

TEST_WITH(a_converter_sends_the_type_as_another_message, NULL, sweep)
{
	start(with_converter());
	send_readings("any"); /* the first one of the rig */
	assert_has(last_text("/any", "std_msgs/Float32MultiArray.proto", "std_msgs.Float32MultiArray"),
		   "label: \"readings\"");
	send_readings("multi");
	assert_has(last_text("/multi", "std_msgs/Float32MultiArray.proto", "std_msgs.Float32MultiArray"),
		   "data: 0.5\ndata: 1.5\ndata: 2.5\n");
	send_readings("readings");
	assert_has(last_text("/readings", "example_msgs/Readings.proto", "example_msgs.Readings"), "mean: 1.5\n");
	send_readings("own");
	assert_has(last_text("/own", "example/FloatArray.proto", "example.FloatArray"), "array: 2.5\n");
	stop();
}

/* ---- in ---- */

/* A rig is held against its converters before it runs. */
TEST_WITH(check_config_checks_the_type_that_a_converter_reads, NULL, sweep)
{
	const char *argv[] = { "simd", "--check-config", "--rig", "/tmp/rig.json", NULL };
	const struct ctl_result *r;
	char rig[9500];

	for (int with = 0; with < 2; with++) {
		snprintf(rig, sizeof(rig),
			 "{\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"far\",\"plugin\":\"cyber\",%s}]}]}",
			 with ? with_converter()
			      : "\"options\":{\"subscribe\":{\"/in/multi\":{\"type\":"
				"\"std_msgs.Float32MultiArray\",\"channel\":\"in/multi\"}}}");
		write_file("/tmp/rig.json", rig, strlen(rig));
		r = stack_run(argv);
		if ((r->code == 0) != with)
			fail_msg("%s%s", r->out, r->err);
		if (!with)
			assert_has(r->err[0] ? r->err : r->out, "options.subscribe[\"/in/multi\"]: type ");
	}
}

static void publish_text(const char *channel, const char *file, const char *type, const char *text)
{
	size_t n;
	const char *bytes = protoc(file, type, "encode", text, strlen(text), &n);

	AWAIT(cyber_server_reader(server, channel));
	assert_true(cyber_server_publish(server, channel, bytes, (uint32_t)n));
}

static struct sim_subscriber *subscribe(const char *channel)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 4 };
	struct sim_subscriber *s;

	assert_int_equal(sim_subscribe(client, channel, &example_FloatArray_type, &o, &s), 0);
	return s;
}

static void assert_readings(struct sim_subscriber *s, int64_t stamp, const float *want, uint32_t n)
{
	const struct sim_message *m;
	const float *got;
	uint32_t k;

	assert_int_equal(sim_wait(s, -1), 1);
	assert_int_equal(sim_take(s, &m), 0);
	got = example_FloatArray_array(m->body, m->body_size, &k);
	assert_int_equal(k, n);
	assert_memory_equal(got, want, n * sizeof(*want));
	assert_int_equal(((const struct example_FloatArray *)m->body)->timestamp, stamp);
	sim_release(s, m);
}

TEST_WITH(inbound_messages_of_these_types_are_converted, NULL, sweep)
{
	static const float some[] = { 1.5f, -2 };
	struct sim_subscriber *own, *multi;

	start(with_converter());
	send_readings("multi"); /* so that the peer knows the types, as protoc does */
	send_readings("own");
	own = subscribe("in/own");
	multi = subscribe("in/multi");
	AWAIT(cyber_server_file(server, "example/FloatArray.proto"));
	AWAIT(cyber_server_file(server, "std_msgs/Float32MultiArray.proto"));
	AWAIT(cyber_server_reader(server, "/in/own"));
	cyber_server_publish(server, "/in/own", "\x0a\x7f", 2); /* cut short: dropped */
	publish_text("/in/own", "example/FloatArray.proto", "example.FloatArray",
		     "timestamp { sec: 7 nanosec: 8 } array: 1.5 array: -2");
	assert_readings(own, 7000000008, some, 2);
	publish_text("/in/multi", "std_msgs/Float32MultiArray.proto", "std_msgs.Float32MultiArray",
		     "layout { dim { label: \"x\" size: 2 } } data: 1.5 data: -2");
	assert_readings(multi, 0, some, 2);
	AWAIT(stack_said("/in/own: a message is dropped: it is malformed"));
	sim_subscriber_destroy(own);
	sim_subscriber_destroy(multi);
	stop();
}

/* ---- by a definition of protobuf ---- */

#define ROUTING "modules/common_msgs/routing_msgs/routing.proto"

/* header { timestamp_sec: 2.5 frame_id: "map" } waypoint { id: "z" s: 1.5 } broadcast: false */
static const char route[] =
	"\x0a\x0e\x09\0\0\0\0\0\0\x04\x40\x4a\x03map\x12\x0c\x0a\x01z\x11\0\0\0\0\0\0\xf8\x3f\x28\0";

static const char newer[] = "\x28\0\x98\x06\x01"; /* and of a later Apollo: field 99 is 1 */

static const char *with_routes(const char *more)
{
	static char bridge[5000];

	snprintf(bridge, sizeof(bridge),
		 "\"channels\":[\"*\"],\"options\":{\"subscribe\":{\"/in/route\":{"
		 "\"type\":\"apollo.routing.RoutingRequest\",\"channel\":\"in/route\"%s}}}",
		 more);
	return bridge;
}

/* A message of Apollo's is received on one channel and sent again on another. */
static void goes_both_ways(bool known)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 4 };
	const struct sim_type *type;
	const struct sim_message *m;
	struct sim_subscriber *s;
	uint8_t data[200];

	assert_int_equal(sim_subscribe(client, "in/route", NULL, &o, &s), 0);
	AWAIT(cyber_server_reader(server, "/in/route"));
	assert_true(cyber_server_publish(server, "/in/route", route, sizeof(route) - 1));
	assert_int_equal(sim_wait(s, -1), 1);
	assert_int_equal(sim_take(s, &m), 0);
	assert_int_equal(m->header.stamp_sim_ns, 2500000000);
	assert_string_equal(m->header.frame_id, "map");
	assert_int_equal(sim_channel_type(client, "in/route", &type), 0);
	assert_string_equal(type->name, "apollo_routing/RoutingRequest");
	assert_int_equal(send_one(advertise("route", type), m->body, m->body_size), 0);
	AWAIT(cyber_server_count(server, "/route") == 1);
	assert_int_equal(cyber_server_last(server, "/route", data, sizeof(data)), sizeof(route) - 1);
	assert_memory_equal(data, route, sizeof(route) - 1);
	assert_true(cyber_server_writer(server, "/route", "apollo.routing.RoutingRequest"));
	assert_int_equal(cyber_server_registered(server) > 0, !known); /* a running Apollo has its own */
	assert_true(cyber_server_file(server, ROUTING));
	assert_true(cyber_server_publish(server, "/in/route", newer, sizeof(newer) - 1));
	AWAIT(stack_said("/in/route: messages have fields that the definition does not have, the first: number 99"));
	assert_int_equal(sim_release(s, m), 0);
	sim_type_unref(type);
	sim_subscriber_destroy(s);
}

TEST_WITH(an_apollo_message_without_a_mapping_passes_both_ways, NULL, sweep)
{
	for (unsigned known = 0; known < 2; known++) {
		static uint8_t set[300000];

		start(with_routes(""));
		if (known)
			cyber_server_know(server, set, read_file(APOLLO_SET, set, sizeof(set)));
		goes_both_ways(known);
		stop();
	}
}

TEST_WITH(the_definition_may_be_a_file, NULL, sweep)
{
	char more[4300];

	snprintf(more, sizeof(more), ",\"definition\":\"%s\"", beside("/../../schemas/apollo/10/" ROUTING));
	start(with_routes(more));
	goes_both_ways(false);
	stop();
}

TEST_WITH(a_type_without_a_definition_is_named, NULL, sweep)
{
	static const struct {
		const char *more, *says;
	} cases[] = {
		{ "\"type\":\"apollo.routing.Nobody\"", "type \"apollo.routing.Nobody\" is not one" },
		{ "\"type\":\"a.B\",\"definition\":\"/tmp/none.proto\"", "the file is missing or too large" },
		{ "\"type\":\"a.C\",\"definition\":\"/tmp/a.proto\"", "its definition does not have a.C" },
		{ "\"type\":\"a.B\",\"definition\":\"a.proto\"", "the path of a .proto file must begin with /" },
		{ "\"type\":\"a.B\",\"definition\":\"/tmp/bad.proto\"", "bad.proto:2: " },
	};
	static const char good[] = "package a;\nmessage B {}\n", bad[] = "package a;\nmessage B { what }\n";
	const char *argv[] = { "simd", "--check-config", "--rig", "/tmp/rig.json", NULL };
	char rig[2000];

	write_file("/tmp/a.proto", good, strlen(good));
	write_file("/tmp/bad.proto", bad, strlen(bad));
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct ctl_result *r;

		snprintf(rig, sizeof(rig),
			 "{\"rigs\":[{\"name\":\"car\",\"inbound\":[\"x\"],\"bridges\":[{\"name\":\"far\",\"plugin\":\"cyber\","
			 "\"options\":{\"subscribe\":{\"/x\":{%s,\"channel\":\"x\"}}}}]}]}",
			 cases[i].more);
		write_file("/tmp/rig.json", rig, strlen(rig));
		r = stack_run(argv);
		assert_int_not_equal(r->code, 0);
		assert_has(r->err[0] ? r->err : r->out, "options.subscribe[\"/x\"]: ");
		assert_has(r->err[0] ? r->err : r->out, cases[i].says);
	}
}

/* ---- fixed frames ---- */

static void send_frame(struct sim_publisher *p, const char *child, double x)
{
	static _Alignas(64) uint8_t body[500];
	struct sim_builder b;
	struct sim_Transforms *m = sim_Transforms_init(body, sizeof(body), &b);
	struct sim_Transform *t = sim_Transforms_transforms_alloc(&b, 1);

	m->is_static = true;
	memset(t, 0, sizeof(*t));
	t->translation.x = x;
	t->rotation.w = 1;
	assert_int_equal(sim_Transform_parent_frame_set_in(&b, t, "base_link"), 0);
	assert_int_equal(sim_Transform_child_frame_set_in(&b, t, child), 0);
	assert_int_equal(send_one(p, body, sim_builder_size(&b)), 0);
}

/* Of the last message: how often a text is in its bytes. */
static unsigned last_has(const char *text)
{
	uint8_t data[2000];
	size_t n = cyber_server_last(server, "/tf_static", data, sizeof(data));
	unsigned k = 0;

	for (size_t i = 0; n <= sizeof(data) && i + strlen(text) <= n; i++)
		k += memcmp(data + i, text, strlen(text)) == 0;
	return k;
}

TEST_WITH(all_fixed_frames_are_sent_in_one_message_periodically, NULL, sweep)
{
	struct sim_publisher *p;
	uint64_t n;

	start("\"channels\":[\"tf_static\"],\"options\":{\"static_ms\":200}");
	p = advertise("tf_static", &sim_Transforms_type);
	send_frame(p, "lidar_top", 1);
	send_frame(p, "camera", 2);
	send_frame(p, "lidar_top", 3); /* the newest counts */
	AWAIT(last_has("camera") == 1 && last_has("lidar_top") == 1);
	n = cyber_server_count(server, "/tf_static");
	AWAIT(cyber_server_count(server, "/tf_static") > n + 2);
	assert_true(last_has("camera") == 1 && last_has("lidar_top") == 1);
	n = cyber_server_count(server, "/tf_static");
	cyber_server_drop(server);
	AWAIT(cyber_server_connections(server) > 1 && cyber_server_count(server, "/tf_static") > n);
	assert_true(last_has("camera") == 1 && last_has("lidar_top") == 1);
	stop();
}

TEST_WITH(static_ms_0_sends_fixed_frames_again_to_a_new_peer_only, NULL, sweep)
{
	struct sim_publisher *p;
	uint64_t n;

	start("\"channels\":[\"tf_static\",\"other\"],\"options\":{\"static_ms\":0}");
	p = advertise("tf_static", &sim_Transforms_type);
	send_frame(p, "camera", 2);
	AWAIT(cyber_server_count(server, "/tf_static") == 1);
	for (int i = 0; i < 3; i++) {
		n = cyber_server_count(server, "/other");
		send_readings("other");
		AWAIT(cyber_server_count(server, "/other") > n);
	}
	assert_int_equal(cyber_server_count(server, "/tf_static"), 1);
	n = cyber_server_connections(server);
	cyber_server_drop(server);
	AWAIT(cyber_server_connections(server) > n && cyber_server_count(server, "/tf_static") > 1);
	stop();
}
