/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole line to Apollo's cyber_bridge, played by cyber_server.h: descriptors, writers and messages arrive, commands
 * come back, and a peer that disconnects, stalls, sends false data or is another program is named and affects no other
 * client.
 */
#include "cyber_server.h"
#include "peer.h"
#include "stack.h"

#include <math.h>

#include <sim/msg/Clock.h>
#include <sim/msg/CompressedImage.h>
#include <sim/msg/Image.h>
#include <sim/msg/Imu.h>
#include <sim/msg/VehicleControl.h>

TEST_PROCESSES()

#define IMAGE   "apollo.drivers.Image"
#define JPEG    "apollo.drivers.CompressedImage"
#define CONTROL "apollo.control.ControlCommand"
#define LARGE   (1u << 20)

static char conf[4096];
static struct cyber_server *server;
static struct sim_client *client;
static pid_t simd;

static uint8_t small[512] __attribute__((aligned(64))); /* a message of a few bytes */
static size_t small_size;

static void make_small(void)
{
	struct sim_builder b;

	(void)sim_CompressedImage_init(small, sizeof(small), &b);
	assert_int_equal(sim_CompressedImage_format_set(&b, "jpeg"), 0);
	memcpy(sim_CompressedImage_data_alloc(&b, 4), "\xff\xd8\xff\xd9", 4);
	small_size = sim_builder_size(&b);
}

static void connect_simd(unsigned port, const char *options)
{
	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"system\","
		 "\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"2MiB\",\"count\":80}],"
		 "\"rigs\":[{\"name\":\"car\",\"inbound\":[\"control\",\"back\"],\"bridges\":[{\"name\":\"far\",\"plugin\":\"cyber\","
		 "\"connection\":\"127.0.0.1:%u\",\"channels\":[\"*\",\"/clock\"],\"options\":{%s}}]}]",
		 port, options);
	simd = stack_start(conf);
	client = NULL;
}

static void start_with(const struct cyber_server_how *how, const char *options)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "sensor", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	make_small();
	server = cyber_server_create(0, how);
	assert_non_null(server);
	connect_simd(cyber_server_port(server), options);
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	assert_int_equal(sim_connect(&o, &client), 0);
}

static void start(const char *options)
{
	start_with(NULL, options);
}

/* forgive: what the server holds against its peer was meant. */
static void stop_with(bool forgive)
{
	sim_disconnect(client);
	client = NULL;
	stack_stop(simd);
	if (forgive)
		cyber_server_forgive(server);
	assert_string_equal(cyber_server_fault(server), "");
	cyber_server_destroy(server);
	server = NULL;
}

static void stop(void)
{
	stop_with(false);
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

static struct sim_publisher *advertise(const char *channel, const struct sim_type *type, size_t max)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = max, .frame_id = "camera" };
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

/* An image of so many bytes; its size. */
static size_t an_image(uint8_t *body, size_t room, uint32_t bytes)
{
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(body, room, &b);
	uint8_t *data;

	m->width = m->step = 1024;
	m->height = bytes / 1024;
	assert_int_equal(sim_Image_encoding_set(&b, "mono8"), 0);
	data = sim_Image_data_alloc(&b, bytes);
	assert_non_null(data);
	for (uint32_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)(i * 7 + (i >> 8));
	return sim_builder_size(&b);
}

static uint8_t body[LARGE + 4096] __attribute__((aligned(64)));

/* ---- out ---- */

/* The varint behind a tag; 0: it is not there. */
static uint64_t clock_of(const uint8_t *data, size_t n)
{
	uint64_t v = 0;

	assert_true(n >= 2 && data[0] == 0x08);
	for (size_t i = 1, shift = 0; i < n; i++, shift += 7)
		v |= (uint64_t)(data[i] & 0x7f) << shift;
	return v;
}

static uint64_t last_clock(void)
{
	uint8_t data[16];
	size_t n = cyber_server_last(server, "/clock", data, sizeof(data));

	assert_true(n <= sizeof(data));
	return clock_of(data, n);
}

TEST_WITH(messages_arrive_complete, NULL, sweep)
{
	static uint8_t data[LARGE + 4096];
	size_t size = an_image(body, sizeof(body), LARGE), n;
	const struct sim_Image *m = (const struct sim_Image *)body;
	struct sim_publisher *p, *q;
	const uint8_t *pixels;
	uint32_t n_pixels;
	uint64_t first;

	start("");
	p = advertise("image", &sim_Image_type, sizeof(body));
	q = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	AWAIT(cyber_server_writer(server, "/image", IMAGE) && cyber_server_writer(server, "/jpeg", JPEG));
	assert_int_equal(send_one(p, body, size), 0);
	AWAIT(cyber_server_count(server, "/image") == 1);
	n = cyber_server_last(server, "/image", data, sizeof(data));
	pixels = sim_Image_data_in(body, size, m, &n_pixels);
	assert_true(n > LARGE && n < sizeof(data));
	assert_memory_equal(data + n - LARGE, pixels, LARGE); /* the last field */
	for (unsigned i = 1; i <= 20; i++)
		assert_int_equal(send_one(q, small, small_size), 0);
	AWAIT(cyber_server_count(server, "/jpeg") == 20);
	AWAIT(cyber_server_count(server, "/clock") > 3);
	first = last_clock();
	AWAIT(last_clock() > first);
	stop();
}

/*
 * Many large messages at once: a waiting one is replaced by a newer one, and the last one arrives although simd ends
 * right after it.
 */
TEST_WITH(the_newest_message_arrives_before_the_bridge_ends, NULL, sweep)
{
	size_t size = an_image(body, sizeof(body), LARGE);
	struct sim_publisher *p;
	struct sim_slot *slot;

	start("");
	p = advertise("image", &sim_Image_type, sizeof(body));
	AWAIT(cyber_server_writer(server, "/image", IMAGE));
	for (int i = 0; i < 30; i++) {
		assert_int_equal(sim_loan(p, size, &slot), 0);
		memcpy(sim_slot_body_mut(slot), body, size);
		assert_int_equal(sim_try_queue(p, slot, NULL, NULL, NULL), 0);
	}
	assert_int_equal(sim_flush(client, -1), 0);
	sim_disconnect(client);
	client = NULL;
	assert_int_equal(stack_bridge("far", "sent") + stack_bridge("far", "failed"), 30);
	stack_stop(simd);
	assert_true(cyber_server_count(server, "/image") >= 1);
	assert_string_equal(cyber_server_fault(server), "");
	cyber_server_destroy(server);
	server = NULL;
}

/* Two of a kind do not meet under the name that Apollo has for it: the second needs one of its own. */
TEST_FULL_WITH(two_channels_may_have_one_topic_name, NULL, sweep)
{
	struct sim_publisher *p;

	start("");
	p = advertise("imu/left", &sim_Imu_type, sizeof(struct sim_Imu));
	AWAIT(cyber_server_writer(server, "/apollo/sensor/gnss/imu", "apollo.drivers.gnss.Imu"));
	assert_non_null(advertise("imu/right", &sim_Imu_type, sizeof(struct sim_Imu)));
	AWAIT(stack_said(
		"/imu/right: options.cyber: it would be published as /apollo/sensor/gnss/imu, like another channel"));
	sim_publisher_destroy(p);
	stop();
}

TEST_WITH(an_unknown_cyber_channel_key_is_reported_with_the_existing_ones, NULL, sweep)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "sensor", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	server = cyber_server_create(0, NULL);
	assert_non_null(server);
	snprintf(conf, sizeof(conf),
		 "\"pools\":[{\"size\":\"1KiB\",\"count\":1500}],\"rigs\":[{\"name\":\"car\",\"channels\":[{\"name\":\"imu\","
		 "\"options\":{\"cyber\":{\"frames\":[]}}}],\"bridges\":[{\"name\":\"far\",\"plugin\":\"cyber\","
		 "\"connection\":\"127.0.0.1:%u\",\"channels\":[\"*\"]}]}]",
		 cyber_server_port(server));
	simd = stack_start(conf);
	assert_int_equal(sim_connect(&o, &client), 0);
	sim_publisher_destroy(advertise("imu", &sim_Imu_type, sizeof(struct sim_Imu)));
	AWAIT(stack_said("/imu: options.cyber: there is no key \"frames\": topic, type, frame, origin, utm_zone, "
			 "undulation, pace_ms, rfu_frames"));
	stop();
}

/* ---- what the peer knows ---- */

static void know(const char *path)
{
	static uint8_t set[1 << 17];
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	n = fread(set, 1, sizeof(set), f);
	fclose(f);
	assert_in_range(n, 50000, sizeof(set) - 1);
	cyber_server_know(server, set, n);
}

static void start_at_one_that_knows(const char *path, const char *options)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "sensor", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	make_small();
	server = cyber_server_create(0, NULL);
	assert_non_null(server);
	know(path);
	connect_simd(cyber_server_port(server), options);
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	assert_int_equal(sim_connect(&o, &client), 0);
}

/*
 * Apollo runs: nothing is registered, neither for its own release nor for a release between, whose files of the same
 * names differ.
 */
TEST_WITH(types_that_the_peer_knows_are_not_registered, NULL, sweep)
{
	static const char *const options[] = { "", "\"apollo\":\"9.0\"" };
	struct sim_publisher *p, *q;

	for (int i = 0; i < 2; i++) {
		start_at_one_that_knows(APOLLO_SET, options[i]);
		p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
		q = advertise("imu", &sim_Imu_type, sizeof(struct sim_Imu));
		assert_int_equal(send_one(p, small, small_size), 0);
		AWAIT(cyber_server_count(server, "/jpeg") == 1);
		AWAIT(cyber_server_writer(server, "/apollo/sensor/gnss/imu", NULL));
		assert_int_equal(cyber_server_registered(server), 0);
		sim_publisher_destroy(p);
		sim_publisher_destroy(q);
		stop();
	}
}

/* Messages published before the peer has been asked wait, also where their channel was closed meanwhile. */
TEST_WITH(types_unknown_to_the_peer_are_registered_without_losing_a_message, NULL, sweep)
{
	struct sim_publisher *p, *q;

	start("");
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	q = advertise("brief", &sim_CompressedImage_type, sizeof(small));
	assert_int_equal(send_one(p, small, small_size), 0);
	assert_int_equal(send_one(q, small, small_size), 0);
	sim_publisher_destroy(q);
	AWAIT(cyber_server_count(server, "/jpeg") == 1);
	AWAIT(cyber_server_count(server, "/brief") == 1);
	assert_true(cyber_server_file(server, "modules/common_msgs/sensor_msgs/sensor_image.proto"));
	assert_int_equal(cyber_server_registered(server), 3); /* with those that it imports, each once */
	AWAIT(stack_said("cyber_bridge does not know " JPEG ": registering its definition from Apollo 10.0"));
	sim_publisher_destroy(p);
	stop();
}

/* Here 5.0's, so that they are seen to be others; they have all messages, but lack fields. */
TEST_WITH(definitions_of_the_user_are_registered_instead, NULL, sweep)
{
	struct sim_publisher *p;
	char path[PATH_MAX], options[PATH_MAX + 64];

	assert_non_null(realpath(APOLLO_PROTOC_5, path));
	snprintf(options, sizeof(options), "\"definitions\":\"%s\"", path);
	start(options);
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	assert_int_equal(send_one(p, small, small_size), 0);
	AWAIT(cyber_server_count(server, "/jpeg") == 1);
	assert_true(cyber_server_file(server, "modules/drivers/proto/sensor_image.proto"));
	assert_false(cyber_server_file(server, "modules/common_msgs/sensor_msgs/sensor_image.proto"));
	assert_false(stack_said("it lacks messages that are sent"));
	assert_true(stack_said("it lacks, or defines differently, fields that are sent: "));
	assert_true(stack_said("apollo.drivers.CompressedImage.width, apollo.drivers.CompressedImage.height"));
	snprintf(options, sizeof(options), "registering its definition from %s", path);
	AWAIT(stack_said(options));
	sim_publisher_destroy(p);
	stop();
}

TEST_WITH(types_missing_in_the_users_definitions_are_reported_at_the_start, NULL, sweep)
{
	char path[PATH_MAX], options[PATH_MAX + 64];
	struct sim_publisher *p;

	assert_non_null(realpath("tests/fuzz/corpus/apollo_set/header", path));
	snprintf(options, sizeof(options), "\"definitions\":\"%s\"", path);
	start(options);
	AWAIT(stack_said(
		"header: it lacks messages that are sent: apollo.transform.TransformStampeds, apollo.drivers.Image, "));
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	AWAIT(stack_said("cyber_bridge does not know " JPEG ", and"));
	assert_int_equal(cyber_server_registered(server), 0);
	sim_publisher_destroy(p);
	stop_with(true);
}

/* A type that is registered long after another one, and one that is registered already. */
TEST_WITH(each_type_is_asked_for_once, NULL, sweep)
{
	struct sim_publisher *p, *q, *again;

	start("");
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	AWAIT(cyber_server_writer(server, "/jpeg", JPEG));
	AWAIT(cyber_server_clients(server) == 1);
	q = advertise("imu", &sim_Imu_type, sizeof(struct sim_Imu));
	AWAIT(cyber_server_writer(server, "/apollo/sensor/gnss/imu", NULL));
	again = advertise("other", &sim_CompressedImage_type, sizeof(small));
	AWAIT(cyber_server_writer(server, "/other", JPEG));
	assert_int_equal(cyber_server_registered(server), 3 + 2); /* what both import was said already */
	sim_publisher_destroy(again);
	sim_publisher_destroy(q);
	sim_publisher_destroy(p);
	stop();
}

/* ---- what the peer does not say ---- */

/* Whether `simctl bridge info` says that of a channel, while messages are sent on it. */
static bool info_says(struct sim_publisher *p, const void *message, size_t size, const char *text)
{
	(void)send_one(p, message, size);
	return strstr(stack_ctl("bridge", "info", "far", NULL)->out, text) != NULL;
}

TEST_WITH(the_status_shows_that_the_peer_accepted_a_channel, NULL, sweep)
{
	size_t size = an_image(body, sizeof(body), LARGE);
	struct sim_publisher *p, *q;
	uint64_t n, echoed;

	start("");
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	q = advertise("image", &sim_Image_type, sizeof(body));
	AWAIT(info_says(p, small, small_size, JPEG " (accepted)"));
	AWAIT(info_says(q, body, size, IMAGE " (accepted)"));
	AWAIT(cyber_server_clients(server) == 1); /* no peer reads any more */
	n = cyber_server_count(server, "/image");
	echoed = cyber_server_echoed(server);
	assert_int_equal(send_one(q, body, size), 0);
	AWAIT(cyber_server_count(server, "/image") > n);
	assert_int_equal(cyber_server_echoed(server), echoed);
	stop();
}

TEST_WITH(the_status_shows_that_the_peer_has_no_writer, NULL, sweep)
{
	struct sim_publisher *p;

	start_with(&(struct cyber_server_how){ .no_types = true }, "");
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	AWAIT(info_says(p, small, small_size, "(not accepted: /jpeg)"));
	AWAIT(stack_said(
		"/jpeg: cyber_bridge does not know " JPEG ", although "
		"modules/common_msgs/sensor_msgs/sensor_image.proto of Apollo 10.0 was registered: it has another "
		"file of that name"));
	assert_true(cyber_server_writer(server, "/clock", "apollo.cyber.proto.Clock")); /* which it knows by itself */
	assert_true(cyber_server_refused(server, "/jpeg") > 0);
	stop_with(true);
}

/* When no answer at all has arrived in time, nothing is known about a channel. */
TEST_WITH(a_slow_peer_does_not_count_as_refusing, NULL, sweep)
{
	struct sim_publisher *p;

	start_with(&(struct cyber_server_how){ .mute = "*" }, "");
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	AWAIT(info_says(p, small, small_size, "(not confirmed: /jpeg)"));
	/* it is listened to again, more often than a refusal takes */
	AWAIT(info_says(p, small, small_size, "(not confirmed: /jpeg)") && cyber_server_connections(server) >= 5);
	assert_null(strstr(stack_ctl("bridge", "info", "far", NULL)->out, "(not accepted"));
	cyber_server_set(server, &(struct cyber_server_how){ .mute = NULL });
	AWAIT(info_says(p, small, small_size, JPEG " (accepted)"));
	stop();
}

/* The peer is fast, but for one channel: that seemed certain, and was not. */
TEST_WITH(a_channel_may_be_accepted_later, NULL, sweep)
{
	struct sim_publisher *p;

	start_with(&(struct cyber_server_how){ .mute = "/jpeg" }, "");
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	AWAIT(info_says(p, small, small_size, "(not confirmed: /jpeg)"));
	AWAIT(info_says(p, small, small_size, "(not accepted: /jpeg)"));
	cyber_server_set(server, &(struct cyber_server_how){ .mute = NULL });
	AWAIT(info_says(p, small, small_size, JPEG " (accepted)"));
	AWAIT(stack_said("/jpeg: cyber_bridge has accepted it"));
	stop();
}

/* Types accepted by one peer say nothing about the next one. */
TEST_WITH(another_peer_is_asked_again, NULL, sweep)
{
	struct sim_publisher *p;
	unsigned port;

	start("");
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	AWAIT(info_says(p, small, small_size, JPEG " (accepted)"));
	port = cyber_server_port(server);
	cyber_server_destroy(server);
	server = NULL;
	AWAIT(strcmp(stack_bridge_text("far", "status"), "connected") != 0);
	assert_null(strstr(stack_ctl("bridge", "info", "far", NULL)->out, "(accepted)"));
	server = cyber_server_create(port, &(struct cyber_server_how){ .no_types = true });
	assert_non_null(server);
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	AWAIT(info_says(p, small, small_size, "(not accepted: /jpeg)"));
	stop_with(true);
}

TEST_WITH(the_probe_can_be_turned_off, NULL, sweep)
{
	struct sim_publisher *p;

	start("\"probe\":\"false\"");
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	for (int i = 0; i < 10; i++)
		assert_int_equal(send_one(p, small, small_size), 0);
	AWAIT(cyber_server_count(server, "/jpeg") == 10);
	assert_int_equal(cyber_server_connections(server), 1);
	stop();
}

/* ---- inbound messages ---- */

static size_t a_command(uint8_t *to, double throttle)
{
	to[0] = 0x19; /* 3, a double */
	memcpy(to + 1, &throttle, 8);
	return 9;
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

#define COMMANDS "\"subscribe\":{\"/apollo/control\":{\"type\":\"" CONTROL "\",\"channel\":\"control\"}}"

static void command(double throttle)
{
	uint8_t m[16];

	assert_true(cyber_server_publish(server, "/apollo/control", m, (uint32_t)a_command(m, throttle)));
}

TEST_WITH(inbound_commands_reach_the_channel, NULL, sweep)
{
	struct sim_subscriber *s;
	static uint8_t big[300000];

	start(COMMANDS);
	subscribe(&s);
	AWAIT(cyber_server_reader(server, "/apollo/control"));
	cyber_server_publish(server, "/apollo/control", big, sizeof(big));
	cyber_server_publish(server, "/apollo/control", "\x19\0\0\0", 4); /* cut short */
	cyber_server_publish(server, "/apollo/control", "\x1f", 1);       /* no wire type */
	command(NAN);
	command(50);
	assert_float_equal(next_throttle(s), 0.5, 1e-6);
	AWAIT(stack_said("a message is dropped: it, or a string in it, is too large"));
	sim_subscriber_destroy(s);
	stop();
}

#define BACK "\"subscribe\":{\"/far/image\":{\"type\":\"" IMAGE "\",\"channel\":\"back\",\"max_body\":%u}}"

/* What went out as Apollo's, sent back by Apollo. */
static void send_back(struct sim_publisher *p, size_t size)
{
	static uint8_t wire[LARGE + 8192];
	size_t n;

	AWAIT(cyber_server_writer(server, "/image", IMAGE) && cyber_server_reader(server, "/far/image"));
	assert_int_equal(send_one(p, body, size), 0);
	AWAIT(cyber_server_count(server, "/image") > 0);
	n = cyber_server_last(server, "/image", wire, sizeof(wire));
	assert_in_range(n, LARGE, sizeof(wire));
	assert_true(cyber_server_publish(server, "/far/image", wire, (uint32_t)n));
}

TEST_WITH(an_inbound_image_keeps_its_stamp_and_frame, NULL, sweep)
{
	struct sim_subscriber *s, *sent;
	const struct sim_message *m, *out;
	struct sim_publisher *p;
	char options[256];
	size_t size;

	snprintf(options, sizeof(options), BACK, LARGE + 65536);
	start(options);
	size = an_image(body, sizeof(body), LARGE);
	assert_int_equal(sim_subscribe(client, "back", &sim_Image_type, NULL, &s), 0);
	assert_int_equal(sim_subscribe(client, "image", &sim_Image_type, NULL, &sent), 0);
	p = advertise("image", &sim_Image_type, LARGE + 4096);
	send_back(p, size);
	assert_int_equal(sim_wait(s, -1), 1);
	assert_int_equal(sim_take(s, &m), 0);
	assert_int_equal(sim_take(sent, &out), 0);
	assert_int_equal(m->body_size, size);
	assert_memory_equal(m->body, body, size);
	assert_string_equal(m->header.frame_id, "camera");
	assert_in_range(m->header.stamp_sim_ns, out->header.stamp_sim_ns - 500, out->header.stamp_sim_ns + 500);
	sim_release(s, m);
	sim_release(sent, out);
	sim_publisher_destroy(p);
	stop();
}

TEST_FULL_WITH(an_inbound_image_beyond_the_rigs_limit_is_dropped, NULL, sweep)
{
	struct sim_subscriber *s;
	struct sim_publisher *p;
	char options[256];

	snprintf(options, sizeof(options), BACK, LARGE / 2);
	start(options);
	assert_int_equal(sim_subscribe(client, "back", &sim_Image_type, NULL, &s), 0);
	p = advertise("image", &sim_Image_type, LARGE + 4096);
	send_back(p, an_image(body, sizeof(body), LARGE));
	AWAIT(stack_said("/far/image: a message is dropped: "));
	sim_publisher_destroy(p);
	stop();
}

/* ---- peers that go ---- */

static void again(struct sim_publisher *p, unsigned connections)
{
	uint64_t n;

	AWAIT(cyber_server_connections(server) > connections);
	AWAIT(cyber_server_writer(server, "/jpeg", JPEG));
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	n = cyber_server_count(server, "/jpeg");
	AWAIT(send_one(p, small, small_size) == 0);
	AWAIT(cyber_server_count(server, "/jpeg") > n);
}

TEST_WITH(a_lost_peer_is_dialled_again, NULL, sweep)
{
	struct sim_subscriber *s;
	struct sim_publisher *p;
	unsigned port, n;

	start(COMMANDS);
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	subscribe(&s);
	again(p, 0);
	n = cyber_server_connections(server);
	cyber_server_drop(server);
	again(p, n);
	AWAIT(cyber_server_reader(server, "/apollo/control"));
	command(25);
	assert_float_equal(next_throttle(s), 0.25, 1e-6);
	assert_string_equal(cyber_server_fault(server), "");
	port = cyber_server_port(server);
	cyber_server_destroy(server);
	server = NULL;
	AWAIT(stack_said("is cyber_bridge running?"));
	server = cyber_server_create(port, NULL); /* which has heard of no type */
	assert_non_null(server);
	again(p, 0);
	assert_int_equal(stack_bridge("far", "restarts"), 0);
	sim_subscriber_destroy(s);
	stop();
}

TEST_WITH(a_peer_of_another_protocol_is_named, NULL, sweep)
{
	static const char *const with[][2] = {
		{ "HTTP/1.1 400 Bad Request\r\n\r\n",
		  "a web server answers there, perhaps a rosbridge server, but no cyber_bridge" },
		{ "\x03\x02", "does, or lgsvl_bridge: it is no cyber_bridge" },
		{ "\x63", "it sends op 99, which cyber_bridge does not" },
		{ "\x04\xff\xff\xff\x7f", "a topic name of 2147483647 bytes" },
	};
	unsigned n = 0;

	start("\"probe\":\"false\""); /* whose connection would be one more, and might be the only one that hears this */
	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		AWAIT(cyber_server_connections(server) > n && cyber_server_clients(server));
		n = cyber_server_connections(server);
		cyber_server_send(server, with[i][0], strlen(with[i][0]));
		AWAIT(stack_said(with[i][1]));
	}
	stop();
}

/* Wherever it hangs up, within the first frames too, it is dialled again, and nothing breaks. */
TEST_FULL_WITH(the_bridge_reconnects_wherever_the_peer_hangs_up, NULL, sweep)
{
	static const size_t after[] = { 1, 7, 30 };
	struct cyber_server_how how = { .close_after = 1 };
	struct sim_publisher *p;
	unsigned n;

	start_with(NULL, "");
	p = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	again(p, 0);
	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
		how.close_after = after[i];
		n = cyber_server_connections(server);
		cyber_server_set(server, &how);
		cyber_server_drop(server);
		AWAIT(cyber_server_connections(server) > n);
	}
	cyber_server_set(server, &(struct cyber_server_how){ 0 });
	cyber_server_drop(server);
	AWAIT(cyber_server_clients(server));
	again(p, 0);
	stop();
}

/* A peer that reads nothing loses old messages, and then its connection; meanwhile no publisher waits. */
TEST_FULL_WITH(a_stalled_peer_delays_no_publisher_and_is_disconnected, NULL, sweep)
{
	size_t size = an_image(body, sizeof(body), LARGE);
	struct sim_publisher *p, *q;
	struct sim_slot *slot;
	unsigned n;

	start("\"stall_ms\":3000");
	p = advertise("image", &sim_Image_type, sizeof(body));
	q = advertise("jpeg", &sim_CompressedImage_type, sizeof(small));
	again(q, 0);
	AWAIT(cyber_server_writer(server, "/image", IMAGE));
	n = cyber_server_connections(server);
	cyber_server_hold(server, true);
	for (int i = 0; i < 30; i++) { /* more than all buffers between hold */
		AWAIT(sim_loan(p, size, &slot) == 0);
		memcpy(sim_slot_body_mut(slot), body, size);
		assert_int_equal(sim_try_queue(p, slot, NULL, NULL, NULL), 0);
		(void)send_one(q, small, small_size); /* is answered at once: it is the queue's own */
	}
	AWAIT(stack_said("it has taken nothing for 3000 ms"));
	cyber_server_drop(server);
	cyber_server_hold(server, false);
	again(q, n);
	assert_true(stack_bridge("far", "failed") > 0);
	stop();
}

/* ---- the rig ---- */

TEST_WITH(errors_in_the_rig_are_reported, NULL, sweep)
{
	static const struct {
		const char *connection, *options, *why;
	} bad[] = {
		{ "host:", "", "is not \"host:port\"" },
		{ "127.0.0.1:65536", "", "is not \"host:port\"" },
		{ "", "\"apollo\":\"4\"", "options.apollo: \"4\" is not a release of Apollo: 5.0 to 7.0, 8.0 to 10.0" },
		{ "", "\"definitions\":\"/nowhere/a\"",
		  "options.definitions: /nowhere/a: it cannot be read: No such file or directory" },
		{ "", "\"definitions\":\"/etc/hostname\"",
		  "options.definitions: /etc/hostname: that is no FileDescriptorSet" },
		{ "", "\"pace_ms\":1001", "options.pace_ms: \"1001\" is not a number of ms from 0 to 1000" },
		{ "", "\"when_full\":\"never\"", "is not one of drop, wait" },
		{ "", "\"subscribe\":{\"/a\":{\"type\":\"apollo.no.Such\",\"channel\":\"control\"}}",
		  "type \"apollo.no.Such\" is not one that can come in" },
		{ "", "\"subscribe\":{\"/a\":{\"type\":\"" CONTROL "\"}}", "\"channel\" is missing" },
		{ "", "\"subscribe\":{\"/a\":{\"type\":\"example.No\",\"channel\":\"control\"}}",
		  "options.subscribe[\"/a\"]: type \"example.No\" is not one that can come in without" },
		{ "", "\"subscribe\":{\"/a\":{\"type\":\"" CONTROL "\",\"channel\":\"control\",\"safe\":{}}}",
		  "options.subscribe[\"/a\"]: there is no key \"safe\": type, channel, as, definition, max_body, "
		  "safe_input, control_timeout_ms" },
		{ "",
		  "\"subscribe\":{\"/a\":{\"type\":\"" CONTROL
		  "\",\"channel\":\"control\",\"control_timeout_ms\":300,\"safe_input\":{\"brake\":1}}}",
		  "\"safe_input\": there is no \"brake\"" },
		{ "", "\"static_ms\":-1", "options.static_ms: \"-1\" is not a number of ms from 0 to 600000" },
	};
	char path[] = "/tmp/bad.json";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *argv[] = { "simd", "--check-config", "--rig", path, NULL };
		const struct ctl_result *r;
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fprintf(f,
			"{\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"far\",\"plugin\":\"cyber\",\"connection\":\"%s\",\"options\":{%s}}]}]}",
			bad[i].connection, bad[i].options);
		fclose(f);
		r = stack_run(argv);
		assert_int_not_equal(r->code, 0);
		if (!strstr(r->err, bad[i].why) && !strstr(r->out, bad[i].why))
			fail_msg("%s %s: %s%s", bad[i].connection, bad[i].options, r->out, r->err);
	}
}
