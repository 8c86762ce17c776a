/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subscriptions of this node: publishers that start and exit, several for one topic, and publishers that send invalid
 * data. Also time, which is received the same way. The publishers are bare sockets; the master of fake.h acts as their
 * node.
 */
#include "support/test.h"

#include <sys/socket.h>

#include <sim/msg/String.h>

#include "../ros2/host.h"
#include "fake.h"

#define MD5_STRING  "992ce8a1687cec8c8bd883ec73ca41d1"
#define MD5_CLOCK   "a9c97c1d230cfc112e270351a944ee47"
#define MD5_REQUEST "fa777a90ccdc55e9e7812c6aa1476814"
#define SUBSCRIBE   "{\"/say\":{\"type\":\"std_msgs/String\",\"channel\":\"/said\"}}"

static const char *const listens[] = { "subscribe", SUBSCRIBE, NULL };
static const char *const follows[] = { "use_sim_time", "true", NULL };
static struct fake_master master, second;
static struct host h;
static struct sim_bridge *b;
static int door, second_door;

static int setup(void **state)
{
	(void)state;
	unsetenv("ROS_IP");
	unsetenv("ROS_HOSTNAME");
	fake_master_start(&second, 0); /* node of the second publisher */
	second_door = fake_listen(&second.tcpros_port);
	fake_master_start(&master, 0);
	door = fake_listen(&master.tcpros_port);
	snprintf(master.publishers[0], sizeof(master.publishers[0]), "%s", master.uri);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	h.ops->disconnect(b);
	h.ops->destroy(b);
	fake_master_stop(&master);
	fake_master_stop(&second);
	close(door);
	close(second_door);
	return 0;
}

static void up(const char *const *options)
{
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
}

/* The next connection, welcomed, after its header was checked. */
static int welcome(int where, const char *topic, const char *md5, const char *type, const char *simd)
{
	int fd = fake_accept(where);

	assert_string_equal(fake_field(fd, "topic"), topic);
	fake_welcome(fd, md5, type, simd);
	return fd;
}

static int talker(int where)
{
	return welcome(where, "/say", MD5_STRING, "std_msgs/String", NULL);
}

static void say(int fd, const char *text)
{
	uint8_t m[256] = { (uint8_t)strlen(text) };

	memcpy(m + 4, text, strlen(text));
	fake_publish(fd, m, (uint32_t)strlen(text) + 4);
}

static void expect(const char *text)
{
	struct host_in in = host_next(&h);
	const struct sim_String *m = sim_String_from(in.body, in.size);

	assert_string_equal(in.channel, "/said");
	assert_non_null(m);
	assert_string_equal(sim_String_data(m, in.size), text);
}

static void expect_end(int fd)
{
	char some[4096];

	while (recv(fd, some, sizeof(some), 0) > 0)
		;
	close(fd);
}

TEST_WITH(messages_of_a_publisher_reach_the_channel, setup, teardown)
{
	int fd;

	up(listens);
	fd = talker(door);
	say(fd, "hello");
	say(fd, "");
	expect("hello");
	expect("");
	close(fd); /* the publisher disconnects, and comes back */
	fd = talker(door);
	say(fd, "again");
	expect("again");
	h.ops->listen(b, "/said", 0);
	expect_end(fd);
	AWAIT(fake_master_calls(&master, "unregisterSubscriber", "/say"));
}

/* Under the sum that ROS has for it, which is of a byte: it becomes a uint8 here. */
TEST_WITH(common_types_need_no_definition, setup, teardown)
{
	static const char *const common[] = {
		"subscribe", "{\"/status\":{\"type\":\"diagnostic_msgs/DiagnosticStatus\",\"channel\":\"/said\"}}", NULL
	};
	static const uint8_t status[] = { 2, 1, 0, 0, 0, 'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	struct host_in in;
	int fd;

	up(common);
	fd = fake_accept(door);
	assert_string_equal(fake_field(fd, "md5sum"), "d0ce08bc6e5ba34c7754f563a9cabaf1");
	fake_welcome(fd, "d0ce08bc6e5ba34c7754f563a9cabaf1", "diagnostic_msgs/DiagnosticStatus", NULL);
	fake_publish(fd, status, sizeof(status));
	in = host_next(&h);
	assert_int_equal(((const uint8_t *)in.body)[0], 2);
	close(fd);
}

TEST_WITH(several_publishers_come_and_go, setup, teardown)
{
	int fd, other;

	up(listens);
	fd = talker(door);
	snprintf(master.publishers[1], sizeof(master.publishers[1]), "%s", second.uri);
	fake_master_update(&master, "/say");
	other = talker(second_door);
	say(fd, "one");
	expect("one");
	say(other, "two");
	expect("two");
	snprintf(master.publishers[0], sizeof(master.publishers[0]), "%s", second.uri);
	master.publishers[1][0] = '\0';
	fake_master_update(&master, "/say");
	expect_end(fd);
	say(other, "three");
	expect("three");
	close(other);
}

TEST_WITH(a_publisher_that_hangs_does_not_block_others, setup, teardown)
{
	int fd;

	atomic_store(&second.mode, FAKE_HANGS);
	snprintf(master.publishers[0], sizeof(master.publishers[0]), "%s", second.uri);
	snprintf(master.publishers[1], sizeof(master.publishers[1]), "%s", master.uri);
	up(listens);
	fd = talker(door);
	say(fd, "not late for ever");
	expect("not late for ever");
	close(fd);
}

/* Each is dropped, and the next try succeeds. */
TEST_WITH(publishers_that_send_malformed_data_are_dropped, setup, teardown)
{
	static uint8_t big[300000];
	int fd;

	up(listens);
	close(welcome(door, "/say", "00000000000000000000000000000000", "std_msgs/String", NULL));
	host_wait_log(&h, "another definition of std_msgs/String");
	host_wait_log(&h, "; refused: 1, the last was /say: its publisher");
	fd = fake_accept(door);
	fake_send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
	host_wait_log(&h, "HTTP instead of TCPROS");
	expect_end(fd);
	fd = talker(door);
	fake_send(fd, "\xff\xff\xff\xff", 4); /* 4 GiB */
	host_wait_log(&h, "a message of 4294967295 bytes");
	expect_end(fd);
	fd = talker(door);
	fake_publish(fd, big, sizeof(big)); /* more than any of ours may have */
	host_next_drop(&h);
	fake_publish(fd, "\x09\0\0\0x", 5); /* a text that ends early */
	host_next_drop(&h);
	say(fd, "good");
	expect("good");
	close(fd);
}

/*
 * The master names as publishers an address without a server, another program, and at last a publisher: that one is
 * read.
 */
TEST_WITH(invalid_publisher_addresses_of_the_master_do_not_block_others, setup, teardown)
{
	unsigned nobody;
	int fd = fake_listen(&nobody);

	close(fd); /* a port without a listener */
	snprintf(master.publishers[0], sizeof(master.publishers[0]), "ftp://nonsense");
	snprintf(master.publishers[1], sizeof(master.publishers[1]), "http://127.0.0.1:%u/", nobody);
	snprintf(master.publishers[2], sizeof(master.publishers[2]), "%s", second.uri);
	snprintf(master.publishers[3], sizeof(master.publishers[3]), "%s", master.uri);
	atomic_store(&second.mode, FAKE_NUMBER);
	up(listens);
	fd = talker(door);
	say(fd, "the truth");
	expect("the truth");
	host_wait_log(&h, "its publisher at ftp://nonsense cannot be read");
	host_wait_log(&h, "Connection refused");
	host_wait_log(&h, "it does not offer TCPROS");
	close(fd);
}

/*
 * An endless header is dropped after the usual time; a publisher that closes the connection in its middle is tried
 * again.
 */
TEST_WITH(an_incomplete_header_ends_the_connection, setup, teardown)
{
	int fd;

	up(listens);
	fd = fake_accept(door);
	assert_string_equal(fake_field(fd, "topic"), "/say");
	fake_send(fd, "\x40\0\0\0\x10\0\0\0callerid", 16);
	close(fd);
	fd = talker(door);
	say(fd, "whole");
	expect("whole");
	host_wait_log(&h, "its publisher ? at http://127.0.0.1:");
	close(fd);
}

/* ---- types that come with their messages ---- */

#define THING     "# what a car carries\nHeader header\nuint8 level  # in it\n"
#define HEADER    "===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"
#define MD5_THING "85d4fa4da7b87e935887cbe91d79ef90"
#define MD5_IMU   "6a62c6daae103f4ff57a132d6f95cec2"

/* A publisher is asked for its type alone: the connection ends with the answer. */
static void introduce(const char *md5, const char *type, const char *definition)
{
	int fd = fake_accept(door);

	assert_string_equal(fake_field(fd, "md5sum"), "*");
	fake_introduce(fd, md5, type, definition);
	expect_end(fd);
}

static void thing_comes(const char *channel)
{
	static const uint8_t thing[] = { 1, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 'c', 'a', 'r', 9 };
	int fd = fake_accept(door);
	struct host_in in;

	assert_string_equal(fake_field(fd, "md5sum"), MD5_THING);
	fake_introduce(fd, MD5_THING, "car_msgs/Thing", THING HEADER);
	fake_publish(fd, thing, sizeof(thing));
	in = host_next(&h);
	assert_string_equal(in.channel, channel);
	assert_string_equal(in.type, "car_msgs/Thing");
	assert_int_equal(in.body[16], 9); /* behind stamp and frame */
	close(fd);
}

TEST_WITH(a_type_comes_with_its_first_publisher, setup, teardown)
{
	static const char *const options[] = { "subscribe",
					       "{\"/thing\":{\"type\":\"car_msgs/Thing\",\"channel\":\"/thing\"}}",
					       NULL };

	up(options);
	host_wait_log(&h, "; waiting for a publisher that gives the type of /thing");
	introduce(MD5_THING, "car_msgs/Thing", THING HEADER);
	host_listen(&h, b, "/thing");
	thing_comes("/thing");
}

static bool registered(const char *topic, const char *type)
{
	bool found = false;

	pthread_mutex_lock(&master.lock);
	for (unsigned i = 0; i < master.n_calls; i++)
		found = found || (strcmp(master.call[i].method, "registerSubscriber") == 0 &&
				  strcmp(master.call[i].topic, topic) == 0 && strcmp(master.call[i].type, type) == 0);
	pthread_mutex_unlock(&master.lock);
	return found;
}

TEST_WITH(without_a_configured_type_the_first_publisher_sets_it, setup, teardown)
{
	static const char *const options[] = { "subscribe",
					       "{\"/imu\":{\"channel\":\"/imu\"},"
					       "\"/pose\":{\"channel\":\"/pose\",\"as\":\"sim/CorrectedImu\"}}",
					       NULL };

	up(options);
	host_wait_log(&h, "the type of /imu, /pose");
	introduce(MD5_IMU, "sensor_msgs/Imu", NULL);
	introduce(MD5_IMU, "sensor_msgs/Imu", NULL);
	host_listen(&h, b, "/imu");
	host_listen(&h, b, "/pose");
	assert_true(registered("/imu", "*"));
	AWAIT(registered("/imu", "sensor_msgs/Imu"));
}

/* Its own fields, though there is a mapping, by the definition that is known here or comes with it. */
TEST_WITH(raw_messages_keep_their_own_fields, setup, teardown)
{
	static const char *const options[] = {
		"subscribe",
		"{\"/imu\":{\"channel\":\"/imu\",\"raw\":true,\"type\":\"sensor_msgs/Imu\"},"
		"\"/text\":{\"channel\":\"/text\",\"raw\":true}}",
		NULL
	};
	struct host_in in;
	int fd;

	up(options);
	fd = fake_accept(door);
	if (strcmp(fake_field(fd, "topic"), "/text") == 0) { /* whose type is not known, so it is asked at once */
		fake_introduce(fd, MD5_STRING, "std_msgs/String", "string data\n");
		expect_end(fd);
		fd = fake_accept(door);
		fake_field(fd, "topic");
		fake_welcome(fd, MD5_IMU, "sensor_msgs/Imu", NULL);
	} else {
		fake_welcome(fd, MD5_IMU, "sensor_msgs/Imu", NULL);
		introduce(MD5_STRING, "std_msgs/String", "string data\n");
	}
	fake_publish(fd, (const uint8_t[312]){ 1 }, 312);
	in = host_next(&h);
	assert_string_equal(in.type, "sensor_msgs/Imu");
	close(fd);
	h.ops->listen(b, "/imu", 0);
	host_listen(&h, b, "/text");
	fd = fake_accept(door);
	fake_field(fd, "topic");
	fake_welcome(fd, MD5_STRING, "std_msgs/String", NULL);
	say(fd, "raw");
	in = host_next(&h);
	assert_string_equal(in.type, "std_msgs/String");
	close(fd);
}

/* The topic decides which type of Imu is meant; messages of Apollo without a mapping are named. */
TEST_WITH(protobuf_of_apollo_is_converted, setup, teardown)
{
	static const char *const options[] = {
		"apollo", "true", "subscribe",
		"{\"/apollo/sensor/gnss/corrected_imu\":{\"type\":\"pb_msgs/Imu\",\"channel\":\"/imu\"}}", NULL
	};
	static const uint8_t imu[] = { 13, 0, 0, 0, 0x0a, 11, 0x09, 0, 0, 0, 0, 0, 0, 0x16, 0x40, 0x18, 7 };
	struct host_in in;
	int fd;

	up(options);
	fd = fake_accept(door);
	assert_string_equal(fake_field(fd, "md5sum"), "bdef0ba51869607ed95736d41e80c1f5");
	fake_introduce(fd, "bdef0ba51869607ed95736d41e80c1f5", "pb_msgs/Imu", "protobuf");
	fake_publish(fd, imu, sizeof(imu));
	in = host_next(&h);
	assert_string_equal(in.type, "sim/CorrectedImu");
	fake_publish(fd, imu, sizeof(imu) - 1);
	host_next_drop(&h);
	close(fd);
}

/* Messages without a mapping, by Apollo 5's definition; sent again with the same bytes. */
TEST_WITH(protobuf_of_apollo_without_a_mapping_is_passed_on, setup, teardown)
{
	static const char *const options[] = {
		"apollo", "true", "subscribe",
		"{\"/apollo/routing_request\":{\"type\":\"pb_msgs/RoutingRequest\",\"channel\":\"/request\"}}", NULL
	};
	static const uint8_t request[] = { 29,  0,   0,    0,  0x0a, 13, 0x09, 0,    0, 0, 0, 0, 0, 0xf8, 0x3f, 0x12, 2,
					   'm', 'e', 0x12, 12, 0x0a, 1,  'a',  0x11, 0, 0, 0, 0, 0, 0,    0,    0x40 };
	uint8_t newer[sizeof(request) + 3];
	struct sim_bridge_topic *t;
	struct sim_slot *s;
	struct host_in in;
	uint8_t *data;
	uint32_t len;
	int fd;

	up(options);
	fd = fake_accept(door);
	assert_string_equal(fake_field(fd, "md5sum"), MD5_REQUEST);
	fake_introduce(fd, MD5_REQUEST, "pb_msgs/RoutingRequest", "protobuf");
	fake_publish(fd, request, sizeof(request));
	in = host_next(&h);
	assert_string_equal(in.type, "apollo_routing/RoutingRequest");
	memcpy(newer, request, sizeof(request));
	memcpy(newer + sizeof(request), (const uint8_t[]){ 0x98, 6, 1 }, 3); /* field 99 */
	newer[0] = 32;
	fake_publish(fd, newer, sizeof(newer));
	assert_string_equal(host_next(&h).type, "apollo_routing/RoutingRequest");
	host_wait_log(&h, "/request: messages have fields that the definition does not have, the first: number 99");
	fake_publish(fd, request, sizeof(request) - 1);
	host_next_drop(&h);
	close(fd);
	t = host_open(&h, b, "/again", h.offered_type, "{}");
	host_wait_log(&h, "/again: apollo_routing/RoutingRequest goes out as pb_msgs/RoutingRequest");
	AWAIT(fake_master_calls(&master, "registerPublisher", "/again"));
	fd = fake_connect(fake_request_topic(&master, "/again"), 0);
	fake_subscribe(fd, "/listener", "/again", MD5_REQUEST, "pb_msgs/RoutingRequest");
	assert_string_equal(fake_field(fd, "message_definition"), "protobuf");
	assert_in_range(in.size, 1, HOST_IN);
	s = host_slot(in.size, "");
	memcpy(sim_slot_body_mut(s), in.body, in.size);
	assert_int_equal(host_publish(&h, b, t, s), 0);
	free(s);
	data = fake_message(fd, &len);
	assert_non_null(data);
	assert_int_equal(len, sizeof(request));
	assert_memory_equal(data, request, sizeof(request));
	free(data);
	close(fd);
	h.ops->close(b, t);
}

/* With all of its fields, although there is a mapping. */
TEST_WITH(protobuf_of_apollo_is_received_raw, setup, teardown)
{
	static const char *const options[] = { "subscribe",
					       "{\"/apollo/canbus/chassis\":{\"channel\":\"/can\",\"raw\":true}}",
					       NULL };
	static const uint8_t chassis[] = { 5, 0, 0, 0, 0x2d, 0, 0, 0x48, 0x41 };
	int fd;

	up(options);
	introduce("d6a21658031a6a4615858d76f8b5178e", "pb_msgs/Chassis", "protobuf");
	host_listen(&h, b, "/can");
	fd = fake_accept(door);
	fake_field(fd, "topic");
	fake_introduce(fd, "d6a21658031a6a4615858d76f8b5178e", "pb_msgs/Chassis", "protobuf");
	fake_publish(fd, chassis, sizeof(chassis));
	assert_string_equal(host_next(&h).type, "apollo_canbus/Chassis");
	close(fd);
}

/* Its definition says it: no word of the rig is needed. */
TEST_WITH(the_definition_of_apollos_protobuf_is_learnt_from_the_publisher, setup, teardown)
{
	static const char *const options[] = { "subscribe", "{\"/apollo/canbus/chassis\":{\"channel\":\"/can\"}}",
					       NULL };
	static const uint8_t chassis[] = { 5, 0, 0, 0, 0x2d, 0, 0, 0x48, 0x41 };
	struct host_in in;
	int fd;

	up(options);
	introduce("4a2f66ef6a7d1f6e9b6f4ad1b2a0fb9b", "pb_msgs/Monitor", "protobuf");
	host_wait_log(&h, "pb_msgs/Monitor: this message has no mapping, and Apollo 5 has no message of that name");
	introduce("d6a21658031a6a4615858d76f8b5178e", "pb_msgs/Chassis", "protobuf");
	host_listen(&h, b, "/can");
	fd = fake_accept(door);
	fake_field(fd, "topic");
	fake_introduce(fd, "d6a21658031a6a4615858d76f8b5178e", "pb_msgs/Chassis", "protobuf");
	fake_publish(fd, chassis, sizeof(chassis));
	in = host_next(&h);
	assert_string_equal(in.type, "sim/CanBus");
	close(fd);
}

/* How often the log says so. */
static unsigned count(const char *text)
{
	unsigned n = 0;

	pthread_mutex_lock(&h.log_lock);
	for (const char *s = h.log; (s = strstr(s, text)); s++)
		n++;
	pthread_mutex_unlock(&h.log_lock);
	return n;
}

/* Each is named with both definitions; the next publisher is accepted. */
TEST_WITH(a_publisher_that_contradicts_the_rig_is_refused, setup, teardown)
{
	static const char *const options[] = { "subscribe",
					       "{\"/thing\":{\"type\":\"car_msgs/Thing\",\"channel\":\"/thing\"}}",
					       NULL };
	int fd;

	up(options);
	introduce(MD5_IMU, "sensor_msgs/Imu", NULL);
	host_wait_log(&h, "it sends sensor_msgs/Imu, and the rig says car_msgs/Thing");
	host_wait_log(&h, "; refused: 1, the last was /thing: its publisher");
	introduce(MD5_THING, "car_msgs/Thing", NULL);
	host_wait_log(&h, "there is no definition of this type");
	introduce(MD5_THING, "car_msgs/Thing", "");
	introduce("00000000000000000000000000000000", "car_msgs/Thing", THING HEADER);
	host_wait_log(&h, "for car_msgs/Thing, but the definition has " MD5_THING);
	introduce(MD5_THING, "car_msgs/Thing", "wstring text\n");
	host_wait_log(&h, "its definition cannot be read: ");
	introduce(MD5_THING, "car_msgs/Thing", THING HEADER);
	host_listen(&h, b, "/thing");
	assert_int_equal(count("and it is not known here"), 1); /* it was so twice: an empty one is none */
	assert_int_equal(count("but the definition has d41d8"), 0);
	fd = fake_accept(door);
	fake_field(fd, "topic");
	fake_introduce(fd, "d41d8cd98f00b204e9800998ecf8427e", "car_msgs/Thing", "");
	host_wait_log(&h,
		      "another definition of car_msgs/Thing: md5sum d41d8cd98f00b204e9800998ecf8427e, not " MD5_THING);
	expect_end(fd);
	thing_comes("/thing");
}

/* A type has one definition, on every topic. */
TEST_WITH(a_definition_known_from_another_topic_is_used, setup, teardown)
{
	static const char *const options[] = { "subscribe", "{\"/a\":{\"channel\":\"/a\"},\"/b\":{\"channel\":\"/b\"}}",
					       NULL };

	char first[8], text[128];
	int fd;

	up(options);
	fd = fake_accept(door);
	snprintf(first, sizeof(first), "%s", fake_field(fd, "topic"));
	fake_introduce(fd, MD5_THING, "car_msgs/Thing", THING HEADER);
	expect_end(fd);
	introduce("d41d8cd98f00b204e9800998ecf8427e", "car_msgs/Thing", "");
	snprintf(
		text, sizeof(text),
		"another definition of car_msgs/Thing than is known of %s: d41d8cd98f00b204e9800998ecf8427e, not " MD5_THING,
		first);
	host_wait_log(&h, text);
	introduce(MD5_THING, "car_msgs/Thing", THING HEADER);
	host_listen(&h, b, strcmp(first, "/a") ? "/a" : "/b");
	thing_comes(strcmp(first, "/a") ? "/a" : "/b");
}

/* ---- time ---- */

static void tick(int fd, uint32_t s, uint32_t ns)
{
	const uint32_t stamp[2] = { s, ns };

	fake_publish(fd, stamp, sizeof(stamp));
}

static void expect_time(int64_t sim_ns)
{
	assert_true(host_next_drive(&h) == sim_ns);
}

TEST_WITH(time_is_taken_from_the_first_clock_publisher, setup, teardown)
{
	int fd, other;

	up(follows);
	fd = welcome(door, "/clock", MD5_CLOCK, "rosgraph_msgs/Clock", NULL);
	tick(fd, 0, 0); /* no time yet */
	tick(fd, 42, 5);
	expect_time(INT64_C(42000000005));
	snprintf(master.publishers[1], sizeof(master.publishers[1]), "%s", second.uri);
	fake_master_update(&master, "/clock");
	other = welcome(second_door, "/clock", MD5_CLOCK, "rosgraph_msgs/Clock", NULL);
	tick(other, 7, 0); /* of the one that is not followed */
	tick(fd, 43, 0);
	expect_time(INT64_C(43000000000));
	close(fd);
	expect_time(SIM_BRIDGE_CLOCK_GONE);
	tick(other, 8, 0);
	expect_time(INT64_C(8000000000));
	close(other);
	expect_time(SIM_BRIDGE_CLOCK_GONE);
}

TEST_WITH(the_clock_of_the_bridge_itself_is_not_taken, setup, teardown)
{
	char mark[24];
	int fd, other;

	snprintf(mark, sizeof(mark), "%016llx", (unsigned long long)HOST_SIMD_ID);
	snprintf(master.publishers[1], sizeof(master.publishers[1]), "%s", second.uri);
	up(follows);
	fd = welcome(door, "/clock", MD5_CLOCK, "rosgraph_msgs/Clock", mark);
	expect_end(fd);
	other = welcome(second_door, "/clock", MD5_CLOCK, "rosgraph_msgs/Clock", "another");
	tick(other, 3, 0);
	expect_time(INT64_C(3000000000));
	close(other);
}
