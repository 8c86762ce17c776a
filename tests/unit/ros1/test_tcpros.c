/* SPDX-License-Identifier: Apache-2.0 */
/* The header of TCPROS: read as it was written, byte by byte, and refused when it does not hold together. */
#include "support/test.h"

#include <errno.h>

#include "tcpros.h"

static char why[160];
static struct tcpros_header h;

static int parse(const void *data, size_t n)
{
	return tcpros_parse(data, n, 1000, &h, why, sizeof(why));
}

TEST(a_written_header_reads_back)
{
	struct tcpros_writer w = { .data = NULL };
	char text[64];

	tcpros_put(&w, "callerid", "/listener");
	tcpros_put(&w, "message_definition", "bool A=true\n");
	tcpros_put(&w, "empty", "");
	assert_int_equal(tcpros_end(&w), 0);
	for (size_t n = 0; n < w.len; n++)
		assert_int_equal(parse(w.data, n), 0);
	assert_int_equal(parse(w.data, w.len), 1);
	assert_int_equal(h.n, 3);
	assert_int_equal(h.total, w.len);
	assert_true(tcpros_get(&h, "callerid", text, sizeof(text)));
	assert_string_equal(text, "/listener");
	assert_true(tcpros_is(&h, "message_definition", "bool A=true\n"));
	assert_true(tcpros_is(&h, "empty", ""));
	assert_false(tcpros_is(&h, "none", ""));
	assert_false(tcpros_get(&h, "none", text, sizeof(text)));
	assert_string_equal(text, "");
	assert_true(tcpros_get(&h, "callerid", text, 4));
	assert_string_equal(text, "/li");
	tcpros_writer_finish(&w);
}

TEST(a_header_has_the_bytes_of_ros)
{
	static const uint8_t expected[] = { 11, 0, 0, 0, 7, 0, 0, 0, 't', 'y', 'p', 'e', '=', 'a', 'b' };
	struct tcpros_writer w = { .data = NULL };

	tcpros_put(&w, "type", "ab");
	assert_int_equal(tcpros_end(&w), 0);
	assert_int_equal(w.len, sizeof(expected));
	assert_memory_equal(w.data, expected, sizeof(expected));
	tcpros_writer_finish(&w);
}

TEST(an_invalid_header_is_refused)
{
	static const uint8_t too_long[] = { 0xe9, 3, 0, 0 }, beyond[] = { 6, 0, 0, 0, 3, 0, 0, 0, 'a', '=' },
			     no_equals[] = { 5, 0, 0, 0, 1, 0, 0, 0, 'a' }, rest[] = { 2, 0, 0, 0, 1, 0 };
	uint8_t many[4 + 6 * (TCPROS_FIELDS_MAX + 1)] = { (uint8_t)(6 * (TCPROS_FIELDS_MAX + 1)),
							  (uint8_t)(6 * (TCPROS_FIELDS_MAX + 1) >> 8) };

	assert_int_equal(parse(too_long, 4), -EMSGSIZE);
	assert_int_equal(parse(beyond, sizeof(beyond)), -EBADMSG);
	assert_int_equal(parse(no_equals, sizeof(no_equals)), -EBADMSG);
	assert_int_equal(parse(rest, sizeof(rest)), -EBADMSG);
	assert_int_equal(parse("GET / HTTP/1.1", 14), -EPROTO);
	assert_int_equal(parse("POST", 4), -EPROTO);
	for (unsigned i = 0; i <= TCPROS_FIELDS_MAX; i++) {
		many[4 + 6 * i] = 2;
		memcpy(many + 8 + 6 * i, "a=", 2);
	}
	assert_int_equal(parse(many, sizeof(many)), -EBADMSG);
}

TEST(an_empty_header_is_valid)
{
	struct tcpros_writer w = { .data = NULL };

	assert_int_equal(tcpros_end(&w), 0);
	assert_int_equal(parse(w.data, w.len), 1);
	assert_int_equal(h.n, 0);
	tcpros_writer_finish(&w);
}
