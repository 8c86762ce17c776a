/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of .msg definitions: its result for valid ones, and the position of errors in invalid ones. */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "gen/arena.h"
#include "gen/msgdef.h"

static struct arena *arena;

static struct msgdef *parse(const char *text)
{
	struct msgdef_error err = { 0 };
	struct msgdef *d = NULL;

	if (msgdef_parse(arena, "pkg", "Name", text, strlen(text), &err, &d) < 0)
		fail_msg("line %d: %s", err.line, err.text);
	return d;
}

TEST(fields_are_parsed)
{
	struct msgdef *d = parse("float64 x\nuint8[<=9] y#c\n  std_msgs/Header[] h   # two  words \r\n"
				 "geometry_msgs/msg/Point[3] p\nstring<=7[] s\nwstring w\nPose pose\ntime t\n");

	assert_int_equal(d->n_fields, 8);
	assert_int_equal(d->fields[0].type.prim, MSGDEF_FLOAT64);
	assert_int_equal(d->fields[0].type.array, MSGDEF_ONE);
	assert_string_equal(d->fields[0].comment, "");
	assert_int_equal(d->fields[1].type.array, MSGDEF_BOUNDED);
	assert_int_equal(d->fields[1].type.count, 9);
	assert_string_equal(d->fields[1].comment, "c");
	assert_string_equal(d->fields[2].type.package, "std_msgs");
	assert_string_equal(d->fields[2].type.name, "Header");
	assert_int_equal(d->fields[2].type.array, MSGDEF_VARIABLE);
	assert_string_equal(d->fields[2].comment, "two  words");
	assert_string_equal(d->fields[3].type.package, "geometry_msgs");
	assert_string_equal(d->fields[3].type.name, "Point");
	assert_int_equal(d->fields[3].type.count, 3);
	assert_int_equal(d->fields[4].type.string_max, 7);
	assert_int_equal(d->fields[4].type.array, MSGDEF_VARIABLE);
	assert_int_equal(d->fields[5].type.prim, MSGDEF_WSTRING);
	assert_null(d->fields[6].type.package);
	assert_int_equal(d->fields[7].type.prim, MSGDEF_TIME);
	assert_int_equal(d->fields[7].line, 8);
}

TEST(constants_are_parsed)
{
	struct msgdef *d = parse(
		"uint8 A=1\nint8 B = -1 # minus\nstring S= raw # text \nstring Q = \"a\\\"b\" # c\nbyte C=200\nchar D=65\n");

	assert_int_equal(d->n_constants, 6);
	assert_string_equal(d->constants[0].value, "1");
	assert_string_equal(d->constants[1].value, "-1");
	assert_string_equal(d->constants[1].comment, "minus");
	assert_string_equal(d->constants[2].value, "raw # text");
	assert_string_equal(d->constants[3].value, "a\"b");
	assert_string_equal(d->constants[3].raw, "\"a\\\"b\"");
	assert_string_equal(d->constants[3].comment, "c");
}

TEST(defaults_are_parsed)
{
	struct msgdef *d = parse("int32 a 5 # five\nstring s \"x # y\"\nint32[] v [1, 2]\n");

	assert_string_equal(d->fields[0].deflt, "5");
	assert_string_equal(d->fields[0].comment, "five");
	assert_string_equal(d->fields[1].deflt, "\"x # y\"");
	assert_string_equal(d->fields[2].deflt, "[1, 2]");
}

TEST(comments_belong_to_their_field)
{
	struct msgdef *d =
		parse("# SPDX-License-Identifier: X\n# The type,\n# in two lines.\n\n# of a\n# both\nint8 a\n"
		      "# left alone\n\nint8 b\nint8 c # own\n");

	assert_string_equal(d->comment, "The type, in two lines.");
	assert_string_equal(d->fields[0].comment, "of a both");
	assert_string_equal(d->fields[1].comment, "");
	assert_string_equal(d->fields[2].comment, "own");
	d = parse("# belongs to the field\nint8 a\n\n# not the type's\n\n");
	assert_string_equal(d->comment, "");
	assert_string_equal(d->fields[0].comment, "belongs to the field");
	d = parse("# only a comment");
	assert_string_equal(d->comment, "only a comment");
}

static const struct {
	const char *text;
	int line;
	const char *reason;
} errors[] = {
	{ "float64", 1, "not followed by a name" },
	{ "int8 a\n\nfloat64 # x\n", 3, "not followed by a name" },
	{ "flo@t x", 1, "not a type" },
	{ "9int x", 1, "not a type" },
	{ "/Name x", 1, "not a package name" },
	{ "pkg/ x", 1, "not a type" },
	{ "a/b/c x", 1, "not a type" },
	{ "int8 9x", 1, "not a name" },
	{ "int8 x-y", 1, "not a name" },
	{ "int8 a\nint8 a", 2, "declared twice, first in line 1" },
	{ "int8 A=1\nint8 A", 2, "declared twice, first in line 1" },
	{ "int8 A\nint8 A=1", 2, "declared twice, first in line 1" },
	{ "int8[ x", 1, "not closed" },
	{ "int8[3 x", 1, "not closed" },
	{ "int8]3[ x", 1, "not a type" },
	{ "int8[0] x", 1, "at least 1" },
	{ "int8[-1] x", 1, "not a number" },
	{ "int8[<=] x", 1, "missing a number" },
	{ "int8[<3] x", 1, "not a number" },
	{ "int8[99999999999999999999] x", 1, "above" },
	{ "int8[16777217] x", 1, "above" },
	{ "string<5 x", 1, "does not begin with '<='" },
	{ "string<=x x", 1, "not a number" },
	{ "int8<=5 x", 1, "only string and wstring" },
	{ "Name<=5 x", 1, "only string and wstring" },
	{ "uint8 A=256", 1, "256 does not fit uint8" },
	{ "uint8 A=-1", 1, "does not fit" },
	{ "int8 A=128", 1, "does not fit" },
	{ "int64 A=9223372036854775808", 1, "does not fit" },
	{ "uint64 A=18446744073709551616", 1, "does not fit" },
	{ "float32 A=1e39", 1, "does not fit" },
	{ "float64 A=1e999", 1, "does not fit" },
	{ "float64 A=nan", 1, "not a value" },
	{ "uint8 A=x", 1, "not a value" },
	{ "uint8 A=1 2", 1, "not a value" },
	{ "bool A=maybe", 1, "not a value" },
	{ "uint8 A=", 1, "has no value" },
	{ "uint8 A= # none", 1, "has no value" },
	{ "uint8[] A=1", 1, "primitive" },
	{ "Pose A=1", 1, "primitive" },
	{ "string A=\"open", 1, "not closed" },
	{ "string A=\"x\" y", 1, "after the value" },
	{ "Pose p 5", 1, "nested type has no default" },
	{ "string s \"x\" y", 1, "after the default" },
	{ "int8 a\nint\x01 b", 2, "not a type" },
};

TEST(bad_definitions_are_refused)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct msgdef_error err = { 0 };
		struct msgdef *d = NULL;
		int r = msgdef_parse(arena, "pkg", "Name", errors[i].text, strlen(errors[i].text), &err, &d);

		if (r != -EINVAL || d)
			fail_msg("'%s' is taken", errors[i].text);
		if (err.line != errors[i].line || !strstr(err.text, errors[i].reason))
			fail_msg("'%s': line %d: %s", errors[i].text, err.line, err.text);
	}
}

static int parse_repeated(const char *format, unsigned n, struct msgdef_error *err, struct msgdef **ret)
{
	size_t room = (strlen(format) + 12) * n + 1, len = 0;
	char *text = malloc(room);
	int r;

	for (unsigned i = 0; i < n; i++) {
		char number[16];
		const char *hole = strchr(format, '%');

		snprintf(number, sizeof(number), "%u", i);
		memcpy(text + len, format, (size_t)(hole - format));
		len += (size_t)(hole - format);
		memcpy(text + len, number, strlen(number));
		len += strlen(number);
		memcpy(text + len, hole + 1, strlen(hole + 1));
		len += strlen(hole + 1);
	}
	r = msgdef_parse(arena, "pkg", "Name", text, len, err, ret);
	free(text);
	return r;
}

TEST(fields_and_constants_are_bounded)
{
	struct msgdef_error err = { 0 };
	struct msgdef *d = NULL;

	assert_int_equal(parse_repeated("int8 f%\n", 256, &err, &d), 0);
	assert_int_equal(d->n_fields, 256);
	assert_int_equal(parse_repeated("int8 f%\n", 257, &err, &d), -EINVAL);
	assert_int_equal(err.line, 257);
	assert_non_null(strstr(err.text, "more than 256 fields"));
	assert_int_equal(parse_repeated("int8 F%=1\n", 257, &err, &d), -EINVAL);
	assert_non_null(strstr(err.text, "more than 256 constants"));
	assert_int_equal(parse_repeated("# %\n", 100000, &err, &d), -EINVAL);
	assert_non_null(strstr(err.text, "longer than"));
	assert_int_equal(parse_repeated("# %\n", 20000, &err, &d), 0);
	assert_true(strlen(d->comment) < 5000);
	assert_int_equal(msgdef_parse(arena, "p", "N", "int8 a\n\0", 8, &err, &d), -EINVAL);
	assert_non_null(strstr(err.text, "NUL"));
}

static int begin(void **state)
{
	(void)state;
	arena = arena_create();
	return arena ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	arena_destroy(arena);
	return 0;
}

TEST_GROUP(begin, end)
