/* SPDX-License-Identifier: Apache-2.0 */
/* proto_text.h: all that is written in this tree, what protoc refuses, and what ends too soon. Thread: the test's. */
#include "support/test.h"

#include <errno.h>

#include "fd.h"
#include "mem.h"
#include "tools/world/proto_text.h"

static char why[PROTO_WHY_MAX];

static void is_fine(const char *text)
{
	if (proto_text_check(text, why) < 0)
		fail_msg("%s: %s", text, why);
}

static void is_wrong(const char *text, const char *words)
{
	assert_int_equal(proto_text_check(text, why), -EINVAL);
	if (strcmp(why, words) != 0)
		fail_msg("\"%s\" is not \"%s\"", why, words);
}

TEST(files_of_this_repository_are_valid)
{
	char path[512], *text;
	unsigned n = 0;
	size_t len;
	FILE *f = popen("find schemas tests -name '*.proto'", "r");

	assert_non_null(f);
	while (fgets(path, sizeof(path), f)) {
		path[strcspn(path, "\n")] = '\0';
		assert_int_equal(fd_read_file(path, 1 << 20, &text, &len), 0);
		if (proto_text_check(text, why) < 0)
			fail_msg("%s: %s", path, why);
		mem_free(text);
		n++;
	}
	assert_int_equal(pclose(f), 0);
	assert_true(n > 20);
}

TEST(every_construct_of_the_language_is_accepted)
{
	is_fine("");
	is_fine("syntax = \"proto3\";\npackage a.b;\nimport public \"x.proto\";\noption java_package = \"it's\";\n;");
	is_fine("message A { optional .a.B b = 1 [default = -5, (x).y = { z: \"}\" }]; /* } */ }");
	is_fine("message A { oneof what { int32 a = 1; string b = 2; } map<string, a.B> m = 3; reserved 4, 7 to max; }");
	is_fine("message A { repeated group G = 1 { required bytes c = 0x02; } extensions 100 to 199; enum E { N = -1; } }");
	is_fine("enum E { option allow_alias = true; A = 0; B = 0 [deprecated = true]; reserved \"C\"; }");
	is_fine("service S { rpc F(A) returns (stream B) { option x = { y: [1] }; } } extend A { int32 b = 101; }");
	is_fine("// message {\nmessage A { string message = 1; }");
}

TEST(errors_are_named_with_their_line)
{
	is_wrong("nonsense", "line 1: a message or an enum is expected, and there is \"nonsense\"");
	is_wrong("message A { int32 a = 1 }", "line 1: \";\" is expected, and there is \"}\"");
	is_wrong("message A {\n\tint32 = 1;\n}", "line 2: the name of a field is expected, and there is \"=\"");
	is_wrong("message A {\n\tint32 a;\n}", "line 2: \"=\" is expected, and there is \";\"");
	is_wrong("message A {\n\tint32 a = b;\n}", "line 2: a number is expected, and there is \"b\"");
	is_wrong("message {}", "line 1: the name of a message is expected, and there is \"{\"");
	is_wrong("message A {\n", "line 2: \"}\" is expected, and there is the end");
	is_wrong("message A {} }", "line 1: a message or an enum is expected, and there is \"}\"");
	is_wrong("enum E { A; }", "line 1: \"=\" is expected, and there is \";\"");
	is_wrong("/* message A {}", "line 1: a comment does not end");
	is_wrong("import \"a;\n", "line 1: a string does not end");
	is_wrong("message A { map<int32> a = 1; }", "line 1: \",\" is expected, and there is \">\"");
}

/* Each beginning of a file is fine or is not, and neither reads behind its end; within a message it is not. */
TEST(a_truncated_file_is_an_error)
{
	static const char text[] = "message A { oneof a { int32 b = 1 [c = \"d\"]; } /* e */ enum E { F = 1; } }";
	char *part;

	for (size_t n = 1; n < sizeof(text) - 1; n++) {
		part = mem_strndup(text, n);
		assert_int_equal(proto_text_check(part, why), -EINVAL);
		mem_free(part);
	}
	is_fine(text);
}

TEST(depth_is_bounded)
{
	char *text = mem_zalloc(200000);

	for (unsigned i = 0; i < 10000; i++)
		strcat(text + 12 * i, "message A { ");
	is_wrong(text, "line 1: messages are nested more than 64 deep");
	mem_free(text);
}
