/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printable.h: the parts of foreign text that are kept and those that are escaped, and that every error text and every
 * log line is passed through it.
 */
#include "tests/support/test.h"

#include "err.h"
#include "log.h"
#include "printable.h"

#include <jansson.h>
#include <string.h>

#define BYTES(s) (s), sizeof(s) - 1

static const struct {
	const char *in;
	size_t len;
	const char *text, *json;
} cases[] = {
	{ BYTES("plain, caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x9a\x97"), "plain, caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x9a\x97",
	  "plain, caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x9a\x97" },
	{ BYTES("a\nb\tc\rd"), "a\\nb\\tc\\rd", "a\\nb\\tc\\rd" },
	{ BYTES("\x1b[2J\x1b]0;x\x07"), "\\x1b[2J\\x1b]0;x\\x07", "\\u001b[2J\\u001b]0;x\\u0007" },
	{ BYTES("a\0b\x7f"), "a\\x00b\\x7f", "a\\u0000b\\u007f" },
	{ BYTES("\xc2\x9b"
		"31m"),
	  "\\u009b31m", "\\u009b31m" },                                                     /* CSI in one character */
	{ BYTES("x\xe2\x80\xaey\xe2\x81\xa6z"), "x\\u202ey\\u2066z", "x\\u202ey\\u2066z" }, /* right to left, isolate */
	{ BYTES("\xe2\x80\xa8\xef\xbb\xbf\xd8\x9c"), "\\u2028\\ufeff\\u061c", "\\u2028\\ufeff\\u061c" },
	{ BYTES("\xf3\xa0\x81\x81"), "\\U000e0041", "\\udb40\\udc41" }, /* a tag */
	{ BYTES("\xff\xc0\x80\xed\xa0\x80"), "\\xff\\xc0\\x80\\xed\\xa0\\x80",
	  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ BYTES("cut \xe6\x97"), "cut \\xe6\\x97", "cut \xef\xbf\xbd\xef\xbf\xbd" },
	{ BYTES("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ BYTES("\\x1b \"q\""), "\\x1b \"q\"", "\\\\x1b \\\"q\\\"" },
	{ BYTES(""), "", "" },
};

TEST(control_characters_are_escaped)
{
	char buf[256], again[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(printable(buf, sizeof(buf), cases[i].in, cases[i].len), strlen(cases[i].text));
		assert_string_equal(buf, cases[i].text);
		assert_true(printable_is(buf, strlen(buf)));
		assert_int_equal(printable_is(cases[i].in, cases[i].len), strlen(buf) == cases[i].len);
		printable(again, sizeof(again), buf, strlen(buf)); /* once is enough */
		assert_string_equal(again, buf);
		printable_json(buf, sizeof(buf), cases[i].in, cases[i].len);
		assert_string_equal(buf, cases[i].json);
	}
}

/* Each byte in each place of a text that is plain otherwise. */
TEST(every_byte_value_is_handled)
{
	char text[24];

	for (int c = 0; c < 256; c++) {
		for (size_t at = 0; at < sizeof(text); at++) {
			memset(text, at % 2 ? '~' : ' ', sizeof(text));
			text[at] = (char)c;
			assert_int_equal(printable_is(text, sizeof(text)), c >= 0x20 && c < 0x7f);
		}
	}
}

TEST(invalid_utf8_is_detected_and_repaired)
{
	char bad[] = "a\xff\xc3\xa9\xc0\x80\xe2\x82", good[] = "driving \xc3\xa9\xe2\x82\xac\n";

	assert_true(utf8_is("", 0));
	assert_true(utf8_is(good, strlen(good)));
	utf8_mend(good, strlen(good));
	assert_string_equal(good, "driving \xc3\xa9\xe2\x82\xac\n");
	assert_false(utf8_is(bad, strlen(bad)));
	utf8_mend(bad, strlen(bad));
	assert_string_equal(bad, "a?\xc3\xa9????");
	assert_true(utf8_is(bad, strlen(bad)));
}

TEST(text_is_cut_between_characters)
{
	char buf[8];

	assert_int_equal(printable(buf, sizeof(buf), "abcde\x1b", 6), 5);
	assert_string_equal(buf, "abcde");
	assert_int_equal(printable(buf, sizeof(buf), "abcdef\xc3\xa9", 8), 6);
	assert_int_equal(printable(buf, 1, "a", 1), 0);
	assert_int_equal(printable_json(buf, sizeof(buf), "abc\x1b", 4), 3);
}

static char logged[LOG_LINE_MAX];

static void keep(void *user, enum log_level level, const char *topic, const char *line)
{
	(void)user;
	(void)level;
	(void)topic;
	snprintf(logged, sizeof(logged), "%s", line);
}

LOG_TOPIC("test");

/* A name from outside cannot end the line and begin one of its own. */
TEST(error_texts_and_log_lines_are_printable)
{
	json_t *j;

	assert_int_equal(err_set(-1, "channel \"%s\" is none", "x\n12:00:00 simd error \x1b[31m\xff"), -1);
	assert_string_equal(err_why(), "channel \"x\\n12:00:00 simd error \\x1b[31m\\xff\" is none");
	err_prefix(-1, "%s", "\x1b");
	assert_string_equal(err_why(), "\\x1b: channel \"x\\n12:00:00 simd error \\x1b[31m\\xff\" is none");
	j = json_string(err_why()); /* and so it can be sent */
	assert_non_null(j);
	json_decref(j);
	log_set_handler(keep, NULL);
	log_error("%s", "line\r\x1b[1A forged");
	assert_string_equal(logged, "line\\r\\x1b[1A forged");
	log_set_handler(NULL, NULL);
}
