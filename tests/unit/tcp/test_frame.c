/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of lgsvl_bridge: bytes that the real one is known to accept, and any bytes that a peer may send. */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "frame.h"

static uint8_t out[4096];
static char why[200];

TEST(frames_have_their_known_bytes)
{
	static const uint8_t add[] = "\x02\x06\0\0\0/clock\x13\0\0\0rosgraph_msgs/Clock";
	static const uint8_t publish[] = "\x03\x06\0\0\0/clock\x08\0\0\0";

	assert_int_equal(frame_add(frame_lgsvl.writer, "/clock", "rosgraph_msgs/Clock", out, sizeof(out)),
			 sizeof(add) - 1);
	assert_memory_equal(out, add, sizeof(add) - 1);
	assert_int_equal(frame_publish(&frame_lgsvl, "/clock", 8, out, sizeof(out)), sizeof(publish) - 1);
	assert_memory_equal(out, publish, sizeof(publish) - 1);
	assert_int_equal(frame_add(frame_lgsvl.reader, "/a", "b/C", out, sizeof(out)), 14);
	assert_int_equal(out[0], 1);
}

TEST(names_and_buffers_of_wrong_size_are_refused)
{
	char name[FRAME_TOPIC_MAX + 2];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(frame_publish(&frame_lgsvl, name, 0, out, sizeof(out)), 0);
	assert_int_equal(frame_add(frame_lgsvl.writer, "/a", name, out, sizeof(out)), 0);
	assert_int_equal(frame_add(frame_lgsvl.writer, "/a", "b/C", out, 13), 0);
	assert_int_equal(frame_publish(&frame_lgsvl, "/a", 1, out, 10), 0);
	assert_int_equal(frame_publish(&frame_lgsvl, name + 1, 0, out, sizeof(out)), FRAME_HEAD_MAX);
}

static int parse(size_t n, uint32_t max, struct frame *f)
{
	why[0] = '\0';
	return frame_parse(&frame_lgsvl, out, n, max, f, why, sizeof(why));
}

TEST(an_incomplete_frame_is_waited_for)
{
	size_t n = frame_publish(&frame_lgsvl, "/cmd", 3, out, sizeof(out));
	struct frame f;

	memcpy(out + n, "abcZ", 4);
	for (size_t k = 0; k < n + 3; k++)
		assert_int_equal(parse(k, 100, &f), 0);
	assert_int_equal(parse(n + 4, 100, &f), 1);
	assert_int_equal(f.total, n + 3);
	assert_int_equal(f.topic_len, 4);
	assert_memory_equal(f.topic, "/cmd", 4);
	assert_int_equal(f.len, 3);
	assert_memory_equal(f.message, "abc", 3);
}

/* The error is reported as soon as the length has arrived: the caller skips the rest. */
TEST(a_message_that_is_too_long_is_refused)
{
	size_t n = frame_publish(&frame_lgsvl, "/cmd", UINT32_MAX, out, sizeof(out));
	struct frame f;

	assert_int_equal(parse(n - 1, 100, &f), 0);
	assert_int_equal(parse(n, 100, &f), 1);
	assert_null(f.message);
	assert_int_equal(f.len, UINT32_MAX);
	assert_int_equal(f.total, n);
}

TEST(another_protocol_is_named)
{
	static const struct {
		char bytes[6];
		const char *why;
	} with[] = { { "HTTP/", "web server" },
		     { "GET /", "op 71" },
		     { "\x02\x01\0\0\0", "(a simulator) does" },
		     { "", "op 0" },
		     { "\x03\xff\xff\xff\xff", "4294967295 bytes" } };
	struct frame f;

	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		memcpy(out, with[i].bytes, 6);
		assert_int_equal(parse(6, 100, &f), -EPROTO);
		assert_non_null(strstr(why, with[i].why));
	}
	assert_int_equal(parse(0, 100, &f), 0);
}

/* The same frames with other ops, and with our own descriptors before them. */
TEST(the_dialect_of_cyber_bridge_is_parsed)
{
	static const uint8_t add[] = "\x02\x02\0\0\0/a\x01\0\0\0T";
	static const uint8_t publish[] = "\x04\x02\0\0\0/a\x03\0\0\0";
	static const struct {
		char bytes[6];
		const char *why;
	} with[] = { { "HTTP/", "rosbridge" },
		     { "\x03\x01\0\0\0", "lgsvl_bridge" },
		     { "\x01", "as a client (a simulator)" },
		     { "\x05", "op 5" } };
	struct frame f;

	assert_int_equal(frame_add(frame_cyber.reader, "/a", "T", out, sizeof(out)), sizeof(add) - 1);
	assert_memory_equal(out, add, sizeof(add) - 1);
	assert_int_equal(frame_publish(&frame_cyber, "/a", 3, out, sizeof(out)), sizeof(publish) - 1);
	assert_memory_equal(out, publish, sizeof(publish) - 1);
	assert_int_equal(frame_parse(&frame_cyber, out, sizeof(publish) + 2, 100, &f, why, sizeof(why)), 1);
	assert_int_equal(f.total, sizeof(publish) + 2);
	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		memcpy(out, with[i].bytes, 6);
		assert_int_equal(frame_parse(&frame_cyber, out, 6, 100, &f, why, sizeof(why)), -EPROTO);
		assert_non_null(strstr(why, with[i].why));
	}
}
