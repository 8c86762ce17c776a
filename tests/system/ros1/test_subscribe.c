/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this node subscribes to: publishers that come and go, several of a topic, and such as send what they must not. And time, which
 * comes the same way. The publishers are bare sockets; the master of fake.h is their node.
 */
#include "support/test.h"

#include <sys/socket.h>

#include <sim/msg/String.h>

#include "../ros2/host.h"
#include "fake.h"

#define MD5_STRING "992ce8a1687cec8c8bd883ec73ca41d1"
#define MD5_CLOCK  "a9c97c1d230cfc112e270351a944ee47"
#define SUBSCRIBE  "{\"/say\":{\"type\":\"std_msgs/String\",\"channel\":\"/said\"}}"

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

/* The next connection, welcomed, after it has asked for what it should. */
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

TEST_WITH(commands_come_in, setup, teardown)
{
	int fd;

	up(listens);
	fd = talker(door);
	say(fd, "hello");
	say(fd, "");
	expect("hello");
	expect("");
	close(fd); /* and back again */
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

TEST_WITH(a_publisher_that_hangs_keeps_nobody, setup, teardown)
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

/* Each is dropped, and the next try is a good one. */
TEST_WITH(publishers_that_send_what_they_must_not, setup, teardown)
{
	static uint8_t big[300000];
	int fd;

	up(listens);
	close(welcome(door, "/say", "00000000000000000000000000000000", "std_msgs/String", NULL));
	host_wait_log(&h, "another definition of std_msgs/String");
	host_wait_log(&h, "; refused: 1, the last was /say: its publisher");
	fd = fake_accept(door);
	fake_send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
	host_wait_log(&h, "HTTP where TCPROS belongs");
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

/* What it names as publishers is nobody, somebody else, and at last one: that one is read. */
TEST_WITH(a_master_that_lies_keeps_nobody, setup, teardown)
{
	unsigned nobody;
	int fd = fake_listen(&nobody);

	close(fd); /* a port where nobody listens */
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

/* A header that never ends is waited for no longer than any; who hangs up in its middle is tried again. */
TEST_WITH(half_a_header_is_none, setup, teardown)
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

TEST_WITH(time_is_taken_from_the_first, setup, teardown)
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

TEST_WITH(our_own_time_is_not_taken, setup, teardown)
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
