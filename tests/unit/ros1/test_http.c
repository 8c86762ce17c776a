/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP as far as XML-RPC goes: whole in one piece and byte by byte, refused with a reason, and URIs. */
#include "support/test.h"

#include <errno.h>

#include "http.h"

static char why[160];

/* Of every shorter prefix more is wanted. */
static struct http_message whole(const char *text, enum http_kind kind)
{
	struct http_message m = { .total = 0 };

	for (size_t n = 0; n < strlen(text); n++)
		assert_int_equal(http_parse(text, n, kind, &m, why, sizeof(why)), 0);
	assert_int_equal(http_parse(text, strlen(text), kind, &m, why, sizeof(why)), 1);
	assert_int_equal(m.total, strlen(text));
	return m;
}

static void refused(const char *text, enum http_kind kind, int r)
{
	struct http_message m;

	if (http_parse(text, strlen(text), kind, &m, why, sizeof(why)) != r)
		fail_msg("%s: not %d: %s", text, r, why);
}

TEST(requests_and_responses_are_parsed)
{
	struct http_message m =
		whole("POST /RPC2 HTTP/1.1\r\nHost: a:1\r\ncontent-LENGTH:  3 \r\n\r\nabc", HTTP_REQUEST);

	assert_true(m.post && m.keep_alive && m.body_len == 3 && memcmp(m.body, "abc", 3) == 0);
	m = whole("POST / HTTP/1.0\nContent-Length: 0\n\n", HTTP_REQUEST);
	assert_true(m.post && !m.keep_alive);
	m = whole("POST / HTTP/1.0\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\nx", HTTP_REQUEST);
	assert_true(m.keep_alive);
	m = whole("GET /index HTTP/1.1\r\nConnection: close\r\n\r\n", HTTP_REQUEST);
	assert_true(!m.post && !m.keep_alive);
	m = whole("HTTP/1.1 200 OK\r\nContent-length: 2\r\n\r\nhi", HTTP_RESPONSE);
	assert_int_equal(m.status, 200);
}

TEST(bytes_after_a_message_are_left)
{
	static const char two[] = "HTTP/1.1 200 OK\r\nContent-length: 2\r\n\r\nhiHTTP";
	struct http_message m;

	assert_int_equal(http_parse(two, strlen(two), HTTP_RESPONSE, &m, why, sizeof(why)), 1);
	assert_int_equal(m.total, strlen(two) - 4);
}

TEST(invalid_messages_are_refused)
{
	char big[HTTP_HEAD_MAX + 64];
	struct http_message m;

	refused("\x10\x02", HTTP_REQUEST, -EBADMSG);
	refused("hello", HTTP_RESPONSE, -EBADMSG);
	refused("POST / HTTP/2.0\r\n\r\n", HTTP_REQUEST, -EBADMSG);
	refused("POST / HTTP/1.1\r\nno colon\r\n\r\n", HTTP_REQUEST, -EBADMSG);
	refused("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", HTTP_REQUEST, -EBADMSG);
	refused("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", HTTP_REQUEST, -EBADMSG);
	refused("POST / HTTP/1.1\r\nContent-Length: 9999999999\r\n\r\n", HTTP_REQUEST, -EMSGSIZE);
	refused("POST / HTTP/1.1\r\n\r\n", HTTP_REQUEST, -ENOTSUP);
	refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", HTTP_RESPONSE, -ENOTSUP);
	refused("HTTP/1.1 x00 OK\r\nContent-Length: 1\r\n\r\n", HTTP_RESPONSE, -EBADMSG);
	memset(big, 'a', sizeof(big));
	memcpy(big, "POST / HTTP/1.1\r\nA: ", 20);
	assert_int_equal(http_parse(big, sizeof(big), HTTP_REQUEST, &m, why, sizeof(why)), -EMSGSIZE);
	/* the header of TCPROS, of 0x1ab bytes */
	assert_int_equal(http_parse("\xab\x01\x00\x00", 4, HTTP_REQUEST, &m, why, sizeof(why)), -EPROTO);
}

TEST(written_heads_read_back)
{
	struct http_message m;
	char text[512];
	int n = http_request_head(text, sizeof(text), "/RPC2", "h:1", 0);

	assert_int_equal(http_parse(text, (size_t)n, HTTP_REQUEST, &m, why, sizeof(why)), 1);
	assert_true(m.post && !m.keep_alive);
	n = http_response_head(text, sizeof(text), 200, true, 0);
	assert_int_equal(http_parse(text, (size_t)n, HTTP_RESPONSE, &m, why, sizeof(why)), 1);
	assert_true(m.status == 200 && m.keep_alive);
	assert_int_equal(http_response_head(text, 20, 200, true, 0), -EMSGSIZE);
}

TEST(uris_are_parsed)
{
	static const char *const bad[] = { "",
					   "localhost:11311",
					   "http://:1/",
					   "http://a",
					   "http://a:0/",
					   "http://a:70000",
					   "http://[::1:5",
					   "https://a:1/",
					   "http://a:1x",
					   "http://a b:1/" };
	struct http_uri u;

	assert_int_equal(http_uri_parse("http://localhost:11311", &u), 0);
	assert_string_equal(u.at.host, "localhost");
	assert_string_equal(u.path, "/");
	assert_int_equal(u.at.port, 11311);
	assert_int_equal(http_uri_parse("http://[fe80::1]:5/RPC2", &u), 0);
	assert_string_equal(u.at.host, "fe80::1");
	assert_string_equal(u.path, "/RPC2");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (http_uri_parse(bad[i], &u) == 0)
			fail_msg("\"%s\" is taken", bad[i]);
}
