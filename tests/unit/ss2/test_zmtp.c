/* SPDX-License-Identifier: Apache-2.0 */
/* ZMTP in bytes: greetings, frames, commands, in pieces and malformed. */
#include "tests/support/test.h"

#include <errno.h>

#include "err.h"
#include "tools/sources/ss2/zmtp.h"

/* A literal with its length. */
#define B(text) (const uint8_t *)(text), sizeof(text) - 1

/* ---- greetings ---- */

TEST(our_greeting_is_valid)
{
	uint8_t g[ZMTP_GREETING];

	zmtp_greeting(g);
	for (size_t n = 0; n < sizeof(g); n++)
		assert_int_equal(zmtp_greeting_check(g, n), 0);
	assert_int_equal(zmtp_greeting_check(g, sizeof(g)), 1);
}

/* As libzmq sends it, minor version and all, and a length of the old protocol in the signature. */
TEST(greetings_of_other_implementations_are_accepted)
{
	uint8_t g[ZMTP_GREETING];

	zmtp_greeting(g);
	g[8] = 1;
	g[11] = 0;
	g[32] = 1; /* it takes itself for the server */
	assert_int_equal(zmtp_greeting_check(g, sizeof(g)), 1);
}

TEST(an_invalid_greeting_is_refused_as_early_as_possible)
{
	uint8_t g[ZMTP_GREETING];

	assert_int_equal(zmtp_greeting_check(B("G")), -EPROTO);
	assert_non_null(strstr(err_why(), "does not speak ZeroMQ"));
	assert_int_equal(zmtp_greeting_check(B("\xff\0\0\0\0\0\0\0\0\x7e")), -EPROTO);
	assert_int_equal(zmtp_greeting_check(B("\xff\0\0\0\0\0\0\0\0\x7f\1")), -EPROTO);
	assert_non_null(strstr(err_why(), "ZMTP 2;"));
	assert_int_equal(zmtp_greeting_check(B("\xff\0\0\0\0\0\0\0\1\x7f\0")), -EPROTO);
	assert_non_null(strstr(err_why(), "ZMTP 1;"));
	zmtp_greeting(g);
	memcpy(g + 12, "CURVE", 5);
	assert_int_equal(zmtp_greeting_check(g, sizeof(g)), -EPROTO);
	assert_non_null(strstr(err_why(), "CURVE"));
}

/* ---- requests ---- */

/* Whole, and in two pieces wherever they are cut. */
static struct zmtp_unit scan(const uint8_t *bytes, size_t len)
{
	struct zmtp_unit whole = { 0 };

	for (size_t n = 0; n < len; n++) {
		struct zmtp_unit u = { 0 };

		assert_int_equal(zmtp_scan(&u, bytes, n), 0);
		assert_false(u.whole);
		assert_int_equal(zmtp_scan(&u, bytes, len), 1);
		assert_int_equal(u.size, len);
	}
	assert_int_equal(zmtp_scan(&whole, bytes, len), 1);
	assert_int_equal(whole.size, len);
	return whole;
}

TEST(a_request_follows_its_envelope)
{
	struct zmtp_unit u = scan(B("\1\0\0\5hello"));

	assert_false(u.command);
	assert_int_equal(u.envelope, 2);
	assert_int_equal(u.parts, 1);
	assert_int_equal(u.at, 4);
	assert_int_equal(u.len, 5);
	u = scan(B("\1\3abc\1\4\0\0\0\1\1\0\2\0\0\0\0\0\0\0\2hi")); /* correlated, through a router, and a long frame */
	assert_int_equal(u.envelope, 13);
	assert_int_equal(u.at, 22);
	assert_int_equal(u.len, 2);
}

TEST(empty_and_multipart_requests_are_parsed)
{
	struct zmtp_unit u = scan(B("\1\0\0\0"));

	assert_int_equal(u.parts, 1);
	assert_int_equal(u.len, 0);
	u = scan(B("\1\0\1\2ab\1\0\0\1c"));
	assert_int_equal(u.parts, 3);
	assert_int_equal(u.at, 4);
	assert_int_equal(u.len, 2);
}

TEST(a_request_ends_where_the_next_begins)
{
	struct zmtp_unit u = { 0 };

	assert_int_equal(zmtp_scan(&u, B("\1\0\0\1a\1\0\0\1b")), 1);
	assert_int_equal(u.size, 5);
}

static void assert_refused(const uint8_t *bytes, size_t len, int r, const char *why)
{
	struct zmtp_unit u = { 0 };

	assert_int_equal(zmtp_scan(&u, bytes, len), r);
	assert_non_null(strstr(err_why(), why));
}

TEST(invalid_frames_are_refused)
{
	uint8_t many[ZMTP_ENVELOPE_MAX + 4];

	assert_refused(B("\x80"), -EPROTO, "flags 0x80");
	assert_refused(B("\2\xff\xff\xff\xff\xff\xff\xff\xff"), -EMSGSIZE, "more than"); /* by its header */
	assert_refused(B("\2\0\0\0\0\0\x20\0\1"), -EMSGSIZE, "more than");
	assert_refused(B("\1\0\4\5\4PONG"), -EPROTO, "in the middle");
	assert_refused(B("\5\5\4PONG"), -EPROTO, "in the middle");
	assert_refused(B("\0\5hello"), -EPROTO, "no envelope");
	assert_refused(B("\0\0"), -EPROTO, "no envelope");
	for (size_t i = 0; i < sizeof(many); i += 4)
		memcpy(many + i, "\1\2ab", 4);
	assert_refused(many, sizeof(many), -EPROTO, "does not end");
}

/* Endless parts are limited like one part of that size. */
TEST(endless_parts_are_refused)
{
	struct zmtp_unit u = { 0 };
	size_t n = ZMTP_REQUEST_MAX + 16;
	uint8_t *bytes = calloc(n, 1);
	int r = 0;

	assert_non_null(bytes);
	for (size_t i = 0; i + 1 < n; i += 2)
		bytes[i] = 1;
	for (size_t k = 0; r == 0 && k <= n; k += 1000)
		r = zmtp_scan(&u, bytes, k);
	assert_int_equal(r, 0);
	assert_int_equal(zmtp_scan(&u, bytes, n), -EMSGSIZE);
	assert_true(u.size <= ZMTP_REQUEST_MAX);
	free(bytes);
}

TEST(answer_headers_are_as_short_as_possible)
{
	uint8_t h[ZMTP_HEADER_MAX];

	assert_int_equal(zmtp_header(255, h), 2);
	assert_memory_equal(h, "\0\xff", 2);
	assert_int_equal(zmtp_header(256, h), 9);
	assert_memory_equal(h, "\2\0\0\0\0\0\0\1\0", 9);
}

/* ---- commands ---- */

TEST(the_ready_command_names_the_socket_type)
{
	assert_int_equal(zmtp_ready_check(B("\5READY\13Socket-Type\0\0\0\3REQ\10Identity\0\0\0\0")), 0);
	assert_int_equal(zmtp_ready_check(B("\5READY\10Identity\0\0\0\1x\13socket-type\0\0\0\6DEALER")), 0);
	assert_int_equal(zmtp_ready_check(B("\5READY\13Socket-Type\0\0\0\3SUB")), -EPROTO);
	assert_non_null(strstr(err_why(), "SUB"));
	assert_int_equal(zmtp_ready_check(B("\5READY")), -EPROTO);
	assert_int_equal(zmtp_ready_check(B("\5READY\10Identity\0\0\0\1x")), -EPROTO);
	assert_int_equal(zmtp_ready_check(B("\5READY\13Socket-Type\0\0\0\4REQ")), -EPROTO); /* short of a byte */
	assert_int_equal(zmtp_ready_check(B("\5READY\13Socket-Type\xff\xff\xff\xff")), -EPROTO);
	assert_int_equal(zmtp_ready_check(B("\5READY\xff")), -EPROTO);
	assert_int_equal(zmtp_ready_check(B("\5HELLO")), -EPROTO);
	assert_int_equal(zmtp_ready_check(B("")), -EPROTO);
}

TEST(our_ready_is_valid)
{
	uint8_t r[ZMTP_READY_MAX];
	size_t n = zmtp_ready(r);
	struct zmtp_unit u = scan(r, n);

	assert_true(u.command);
	assert_int_equal(u.len, n - 2);
	assert_int_equal(zmtp_ready_check(r + u.at, u.len), -EPROTO); /* of REP: two of them do not talk */
	assert_non_null(strstr(err_why(), "REP"));
}

TEST(a_ping_gets_a_pong)
{
	uint8_t pong[ZMTP_PONG_MAX];

	assert_int_equal(zmtp_command(B("\4PING\0\1abc"), pong), 10);
	assert_memory_equal(pong, "\4\10\4PONGabc", 10);
	assert_int_equal(zmtp_command(B("\4PING\0\1"), pong), 7);
	assert_int_equal(zmtp_command(B("\4PONGabc"), pong), 0);
	assert_int_equal(zmtp_command(B("\4PING\0"), pong), -EPROTO);
	assert_int_equal(zmtp_command(B("\4PING\0\1"
					"0123456789abcdefg"),
				      pong),
			 -EPROTO);
	assert_int_equal(zmtp_command(B("\5ERROR\3bad"), pong), -EPROTO);
	assert_int_equal(zmtp_command(B(""), pong), -EPROTO);
}
