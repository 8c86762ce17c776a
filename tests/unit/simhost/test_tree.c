/* SPDX-License-Identifier: Apache-2.0 */
/* The three syntaxes: values, escapes, lines, bounds. Thread: one. */
#include "tests/support/test.h"

#include "err.h"
#include "fd.h"
#include "jsonx.h"
#include "mem.h"
#include "tools/simhost/dag.h"
#include "tools/simhost/tree.h"

/* Text format as JSON. */
static void becomes(const char *text, const char *json)
{
	char *got = NULL;

	assert_ok(dag_config_text("x", text, strlen(text), NULL, &got));
	assert_string_equal(got, json);
	mem_free(got);
}

static const char *refused(const char *text, size_t len)
{
	char *got = NULL;

	if (dag_config_text("x", text, len, NULL, &got) == 0) {
		mem_free(got);
		return "it was taken";
	}
	return err_why();
}

#define REFUSED(text) refused(text, sizeof(text) - 1)

TEST(text_format_becomes_json)
{
	becomes("", "{}");
	becomes("# nothing\n", "{}");
	becomes("a: 1 b: -2, c: 0x1F; d: 010", "{\"a\":1,\"b\":-2,\"c\":31,\"d\":8}");
	becomes("a: 1.5 b: 2.0f c: 1e3 d: .5 e: 3f f: - 1",
		"{\"a\":1.5,\"b\":2.0,\"c\":1000.0,\"d\":0.5,\"e\":3.0,\"f\":-1}");
	becomes("a: true b: False c: SOME_ENUM d: inf e: -nan",
		"{\"a\":true,\"b\":false,\"c\":\"SOME_ENUM\",\"d\":\"inf\",\"e\":\"-nan\"}");
	becomes("m { a: 1 } n: < b: 2 > o: { }", "{\"m\":{\"a\":1},\"n\":{\"b\":2},\"o\":{}}");
	becomes("r: 1 r: 2 r: [3, 4] r: []", "{\"r\":[1,2,3,4]}");
	becomes("r: [] s: [ { a: 1 }, < a: 2 > ]", "{\"r\":[],\"s\":[{\"a\":1},{\"a\":2}]}");
	becomes("[a.b.c] { x: 1 } [type.example.com/a.B] { y: 2 }",
		"{\"[a.b.c]\":{\"x\":1},\"[type.example.com/a.B]\":{\"y\":2}}");
	becomes("big: 18446744073709551615", "{\"big\":1.8446744073709552e19}");
}

TEST(string_escapes_are_decoded)
{
	becomes("a: \"x\" 'y' # and\n \"z\"", "{\"a\":\"xyz\"}");
	becomes("a: '\\n\\t\\\\\\'\\\"\\?'", "{\"a\":\"\\n\\t\\\\'\\\"?\"}");
	becomes("a: '\\101\\x42\\u00e9\\U0001F697'", "{\"a\":\"AB\xc3\xa9\xf0\x9f\x9a\x97\"}");
	becomes("a: 'it\"s'", "{\"a\":\"it\\\"s\"}");
}

TEST(invalid_text_format_is_refused_with_its_line)
{
	static const char nul[] = "a: 1\n\0";

	assert_string_equal(REFUSED("a: 1\nb: 'x"), "x:2: a string without its end");
	assert_string_equal(REFUSED("a: '\\q'"), "x:1: an escape that the text format does not have");
	assert_string_equal(REFUSED("a: '\\777'"), "x:1: an octal escape above \\377");
	assert_string_equal(REFUSED("a: '\\U00110000'"), "x:1: an escape that is no character of Unicode");
	assert_string_equal(REFUSED("a: '\\xff'"), "x:1: a: a string that is not UTF-8");
	assert_string_equal(REFUSED("a: 'x\\0y'"), "x:1: a: a string with a zero byte");
	assert_string_equal(REFUSED("\na: 1x"), "x:2: a: 1x is not a number");
	assert_string_equal(REFUSED("a: 1e999"), "x:1: a: 1e999 is not a number");
	assert_string_equal(REFUSED("a: [1 2]"), "x:1: ',' or ']' is missing in a list");
	assert_string_equal(REFUSED("a: [1,"), "x:1: a value is missing");
	assert_string_equal(REFUSED("a:"), "x:1: a value is missing");
	assert_string_equal(REFUSED("m {\n a: 1 >"), "x:2: the name of a field is missing");
	assert_string_equal(REFUSED("m < a: 1"), "x:1: m: the file ends before its '>'");
	assert_string_equal(refused(nul, sizeof(nul) - 1), "x:2: the name of a field is missing");
}

/* n times a, and then b. */
static char *repeated(const char *a, unsigned n, const char *b)
{
	size_t len = strlen(a);
	char *s = mem_alloc(n * len + strlen(b) + 1);

	assert_non_null(s);
	for (unsigned i = 0; i < n; i++)
		memcpy(s + i * len, a, len);
	strcpy(s + n * len, b);
	return s;
}

static void refused_for(char *text, const char *why)
{
	assert_string_equal(refused(text, strlen(text)), why);
	mem_free(text);
}

TEST(bounds_hold_in_text_format_and_in_json)
{
	char *deep = repeated("m{", 31, "a:1"), *json;

	assert_non_null(strstr(refused(deep, strlen(deep)), "the file ends before"));
	mem_free(deep);
	refused_for(repeated("m{", 32, "a:1"), "x:1: nested more than 32 deep");
	refused_for(repeated("m{", 200, ""), "x:1: nested more than 32 deep");
	refused_for(repeated("m{", 100000, ""), "x:1: nested more than 32 deep");
	refused_for(repeated("[", 100000, ""), "x:1: maximum parsing depth reached near '['");
	refused_for(repeated("a:1 ", 70000, ""), "x:1: more than 65536 values in one file");
	refused_for(repeated("a", 5000, ": 1"), "x:1: a name of more than 4096 bytes");
	refused_for(repeated("'x'", 5000, ""), "x:1: the name of a field is missing");
	json = repeated("x", 5000, "'");
	memcpy(json, "a: '", 4);
	refused_for(json, "x:1: a string of more than 4096 bytes");
	json = repeated("x", 5000, "\"}");
	memcpy(json, "{\n\"a\":\"", 7);
	refused_for(json, "x:2: a: a string of more than 4096 bytes");
	refused_for(repeated(" ", (1 << 20) + 1, ""), "x: more than 1048576 bytes");
}

TEST(json_nested_too_deeply_is_refused_with_its_line)
{
	char open[400] = "", *at = open;

	for (int i = 0; i < 40; i++)
		at += sprintf(at, "{\"m\":\n");
	at += sprintf(at, "1");
	for (int i = 0; i < 40; i++)
		*at++ = '}';
	assert_string_equal(refused(open, (size_t)(at - open)), "x:33: nested more than 32 deep");
}

TEST(json_values_have_their_lines_whatever_strings_contain)
{
	static const char text[] = "{ \"a\\\"{\": \"}\\\\\",\n\"b\" : [ 1 ,\n -2.5e3,true ,\n[\n],{} ],\n\n\"c\":null}";
	struct tree *t = NULL;
	const struct tree_node *n;

	assert_ok(tree_read_json("x", text, sizeof(text) - 1, &t));
	n = t->root->first;
	assert_string_equal(n->name, "a\"{");
	assert_int_equal(n->line, 1);
	n = n->next;
	assert_int_equal(n->line, 2);
	assert_int_equal(n->n, 5);
	assert_int_equal(n->first->next->line, 3);
	assert_int_equal(n->first->next->next->next->line, 4);
	assert_int_equal(n->last->line, 5);
	assert_int_equal(n->next->line, 7);
	assert_string_equal(n->next->name, "c");
	tree_destroy(t);
}

TEST(a_duplicate_key_is_refused)
{
	assert_string_equal(REFUSED("{\"a\": 1,\n\"a\": 2}"), "x:2: duplicate object key near '\"a\"'");
}

TEST(an_apollo_file_becomes_the_equivalent_json)
{
	char *text, *got = NULL;
	size_t len;

	assert_ok(fd_read_file("tests/unit/simhost/samples/fusion.pb.txt", TREE_BYTES_MAX, &text, &len));
	assert_ok(dag_config_text("x", text, len, NULL, &got));
	assert_string_equal(got, "{\"main_sensor\":\"front_lidar\",\"object_in_roi_check\":true,"
				 "\"radius_for_roi_object_check\":120.0,\"sensor\":[{\"id\":1,\"frame\":\"lidar\"},"
				 "{\"id\":2,\"frame\":\"radar\"}],\"weights\":[0.5,1,-0.20000000000000001],"
				 "\"mode\":\"FUSE_ALL\"}");
	mem_free(got);
	mem_free(text);
}
