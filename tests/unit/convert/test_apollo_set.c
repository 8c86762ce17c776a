/* SPDX-License-Identifier: Apache-2.0 */
/* A user's set of definitions: which of Apollo's messages it has, and the sentence for a set that is damaged, incomplete or contradictory. */
#include "support/test.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apollo_private.h"
#include "apollo_sent.h"
#include "apollo_set.h"
#include "gen/plain_file.h"
#include "pb_reader.h"
#include "pb_writer.h"
#include "proto_file.h"

static char said[4096];
static bool was_fatal; /* the last sentence */

static void say(void *arg, bool fatal, const char *sentence)
{
	size_t n = strlen(said);

	(void)arg;
	was_fatal = fatal;
	snprintf(said + n, sizeof(said) - n, "%s\n", sentence);
}

static const struct apollo_set_log says = { say, NULL };

/* ---- sets that are made here ---- */

static struct iov_buf buf;
static uint8_t bytes[1 << 18];

struct made { /* a file */
	const char *name, *import, *message;
};

static void put_text(struct pb_writer *w, uint32_t field, const char *text)
{
	memcpy(pb_bytes_room(w, field, strlen(text)), text, strlen(text));
}

static size_t make(const struct made *files, size_t n)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct pb_writer w;

	iov_buf_init(&buf);
	pb_begin(&w, &buf);
	for (size_t i = 0; i < n; i++) {
		pb_open(&w, 1);
		put_text(&w, 1, files[i].name);
		put_text(&w, 2, "p.q");
		if (files[i].import)
			put_text(&w, 3, files[i].import);
		pb_open(&w, 4);
		put_text(&w, 1, files[i].message);
		pb_close(&w);
		pb_close(&w);
	}
	assert_int_equal(pb_end(&w), 0);
	assert_int_equal(iov_buf_iov(&buf, iov), 1);
	n = iov[0].iov_len;
	memcpy(bytes, iov[0].iov_base, n);
	iov_buf_finish(&buf);
	return n;
}

#define MAKE(...) \
	make((const struct made[]){ __VA_ARGS__ }, sizeof((const struct made[]){ __VA_ARGS__ }) / sizeof(struct made))

static struct apollo_set *read_set(size_t n)
{
	struct apollo_set *s = NULL;

	said[0] = '\0';
	assert_int_equal(apollo_set_read("user.bin", bytes, n, &says, &s), 0);
	return s;
}

static size_t count(const struct apollo_set *s, const char *name)
{
	struct iovec files[APOLLO_FILES_MAX];

	return apollo_set_files(s, name, files);
}

TEST(files_follow_those_they_import_whatever_their_order)
{
	struct apollo_set *s =
		read_set(MAKE({ "c", "b", "C" }, { "b", "a", "B" }, { "a", NULL, "A" }, { "d", NULL, "D" }));
	struct iovec files[APOLLO_FILES_MAX];

	assert_string_equal(said, "");
	assert_int_equal(apollo_set_files(s, "p.q.C", files), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(((const uint8_t *)files[i].iov_base)[2], "abc"[i]);
	assert_int_equal(count(s, "p.q.D"), 1);
	assert_int_equal(count(s, "p.q.E"), 0);
	assert_int_equal(count(s, "p.C"), 0);
	apollo_set_destroy(s);
}

TEST(files_with_missing_or_circular_imports_are_left_out)
{
	struct apollo_set *s = read_set(MAKE({ "a", "none", "A" }, { "b", "a", "B" }, { "c", NULL, "C" },
					     { "x", "y", "X" }, { "y", "x", "Y" }));

	assert_string_equal(said, "user.bin: a imports none, which is not in the set: it is left out\n"
				  "user.bin: b imports a, which is left out too: it is left out\n"
				  "user.bin: x imports y, which is left out too: it is left out\n"
				  "user.bin: y imports x, which is left out too: it is left out\n");
	assert_int_equal(count(s, "p.q.C"), 1);
	assert_int_equal(count(s, "p.q.B"), 0);
	apollo_set_destroy(s);
}

TEST(conflicting_definitions_are_named_with_both_files)
{
	struct apollo_set *s =
		read_set(MAKE({ "a", NULL, "A" }, { "b", NULL, "A" }, { "c", NULL, "C" }, { "d", NULL, "A" }));

	assert_string_equal(said, "user.bin: p.q.A is defined in a and in b: the second is left out\n"
				  "user.bin: p.q.A is defined in a and in d: the second is left out\n");
	assert_int_equal(count(s, "p.q.A"), 1);
	apollo_set_destroy(s);
	s = read_set(MAKE({ "a", NULL, "A" }, { "a", NULL, "B" }, { "a", NULL, "A" }));
	assert_string_equal(said, "user.bin: a is in the set twice, and differs: the second is left out\n");
	assert_int_equal(count(s, "p.q.A"), 1);
	assert_int_equal(count(s, "p.q.B"), 0);
	apollo_set_destroy(s);
}

TEST(a_truncated_set_keeps_its_complete_files)
{
	size_t n = MAKE({ "a", NULL, "A" }, { "b", NULL, "B" }), one = MAKE({ "a", NULL, "A" });
	struct apollo_set *s;

	n = MAKE({ "a", NULL, "A" }, { "b", NULL, "B" });
	for (size_t cut = one + 1; cut < n; cut++) {
		s = read_set(cut);
		assert_string_equal(said, "user.bin: it is truncated or malformed after file 1\n");
		assert_int_equal(count(s, "p.q.A"), 1);
		apollo_set_destroy(s);
	}
	bytes[n - 2] = 0x7f; /* the length of the last name */
	s = read_set(n);
	assert_string_equal(said, "user.bin: file 2 of the set is damaged, and is left out\n");
	assert_int_equal(count(s, "p.q.A"), 1);
	apollo_set_destroy(s);
}

TEST(a_file_nested_too_deeply_is_left_out)
{
	size_t n = MAKE({ "a", NULL, "A" }), len = 0;
	struct apollo_set *s;
	uint8_t deep[8000], *at = deep + sizeof(deep);

	for (int i = 0; i < 1000; i++) {
		at -= 3;
		at[0] = i == 999 ? 0x22 : 0x1a;
		at[1] = (uint8_t)(len | 0x80);
		at[2] = (uint8_t)(len >> 7);
		len += 3;
	}
	bytes[n++] = 0x0a;
	bytes[n++] = (uint8_t)((len + 3) | 0x80);
	bytes[n++] = (uint8_t)((len + 3) >> 7);
	memcpy(bytes + n, "\x0a\x01z", 3);
	memcpy(bytes + n + 3, at, len);
	s = read_set(n + 3 + len);
	assert_string_equal(said, "user.bin: file 2 of the set is damaged, and is left out\n");
	assert_int_equal(count(s, "p.q.A"), 1);
	apollo_set_destroy(s);
}

TEST(a_file_that_is_not_a_descriptor_set_is_refused)
{
	struct apollo_set *s = NULL;

	said[0] = '\0';
	assert_int_equal(apollo_set_read("user.bin", "hello", 5, &says, &s), -EBADMSG);
	assert_int_equal(apollo_set_read("user.bin", "", 0, &says, &s), -EBADMSG);
	assert_non_null(strstr(said, "user.bin: that is no FileDescriptorSet, as of protoc"));
	assert_true(was_fatal);
	said[0] = '\0';
	assert_int_equal(apollo_set_load("/nowhere/user.bin", APOLLO_10, &says, &s), -ENOENT);
	assert_string_equal(said, "/nowhere/user.bin: it cannot be read: No such file or directory\n");
	assert_null(s);
}

/* ---- Apollo's ---- */

static void same_as_ours(enum apollo_release release, const char *path)
{
	struct iovec ours[APOLLO_FILES_MAX], theirs[APOLLO_FILES_MAX];
	const struct apollo_type *t;
	struct apollo_set *s = NULL;

	said[0] = '\0';
	assert_int_equal(apollo_set_load(path, release, &says, &s), 0);
	apollo_set_say_missing(s, release, &says);
	assert_string_equal(said, "");
	for (unsigned i = 0; (t = apollo_type_at(release, false, i)); i++) {
		size_t n = apollo_type_files(t, ours);

		if (!n)
			continue;
		assert_int_equal(apollo_set_files(s, apollo_type_name(t), theirs), n);
		for (size_t k = 0, j; k < n; k++) {
			for (j = 0; j < n && (ours[k].iov_len != theirs[j].iov_len ||
					      memcmp(ours[k].iov_base, theirs[j].iov_base, ours[k].iov_len) != 0);)
				j++;
			assert_in_range(j, 0, n - 1);
		}
	}
	apollo_set_destroy(s);
}

/*
 * A set with names in JSON, as protoc writes it; or .proto files, which compile to the same bytes; and the messages
 * missing in a set.
 */
TEST(the_built_in_definitions_equal_those_of_protoc_and_the_releases)
{
	struct apollo_set *s = NULL;

	same_as_ours(APOLLO_5, APOLLO_SETS "apollo5/protoc.bin");
	same_as_ours(APOLLO_10, APOLLO_SETS "apollo10/protoc.bin");
	same_as_ours(APOLLO_5, "schemas/apollo/5");
	same_as_ours(APOLLO_10, "schemas/apollo/10");
	s = read_set(MAKE({ "a", NULL, "A" }));
	apollo_set_say_missing(s, APOLLO_10, &says);
	assert_non_null(strstr(
		said,
		"user.bin: it lacks messages that are sent: apollo.transform.TransformStampeds, apollo.drivers.Image, "));
	assert_non_null(strstr(said, ", apollo.localization.Gps, apollo.canbus.Chassis and 4 more\n"));
	assert_null(strstr(said, "apollo.cyber.proto.Clock"));
	assert_false(was_fatal);
	apollo_set_destroy(s);
}

/* ---- a folder ---- */

#define TRANSFORM "modules/common_msgs/transform_msgs/transform.proto"

static void put_file(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (char *at = strchr(path + strlen(folder) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*at = '/';
	}
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
}

static const struct {
	const char *text, *said; /* behind the folder */
} bad[] = {
	{ "package p;\nimport \"a.proto\";",
	  TRANSFORM ":2: it imports a file that is missing or too large: a.proto: it is left out" },
	{ "package p;\nmessage M {\n optional int32 x = ;",
	  TRANSFORM ":3: a whole number from 1 to 536870911 is expected" },
	{ "message M {\n optional int32 x = 00000000000000000000000000000015;",
	  TRANSFORM ":2: a whole number from 1 to 536870911 is expected" },
	{ "message M {\n optional int32 x = 1", TRANSFORM ":2: \";\" is expected, not \"\"" },
	{ "message M {\n int32 x = 1; }",
	  TRANSFORM ":2: \"optional\", \"required\" or \"repeated\" is expected, not \"int32\"" },
	{ "message M {\n optional N n = 1; }",
	  TRANSFORM ":2: there is no message or enum \"N\" in it or what it imports" },
	{ "package apollo.drivers.gnss;\n\n\nmessage Imu {}",
	  "modules/common_msgs/sensor_msgs/imu.proto:3: it defines apollo.drivers.gnss.Imu, as in " TRANSFORM
	  ":4: it is left out" },
	{ "/* \n\n", TRANSFORM ":1: a string or comment is not closed, or a character is invalid" },
	{ "option java_package = \"a\\q\";", TRANSFORM ":1: a text has the unknown escape \"\\q\"" },
	{ "option (mine) = 1;", TRANSFORM ":1: custom options are not supported" },
	{ "nonsense S {}",
	  TRANSFORM ":1: \"nonsense\" begins nothing: syntax, import, package, option, message, enum, service and "
		    "extend do" },
	{ "service S {\n rpc A (M) returns (N); }",
	  TRANSFORM ":2: there is no message \"M\" in it or what it imports" },
	{ "enum E { A = 0; }\nextend E { optional int32 x = 1; }",
	  TRANSFORM ":2: there is no message \"E\" in it or what it imports" },
	{ "syntax = \"proto3\"; message M {}\nextend M { int32 x = 1; }",
	  TRANSFORM ":2: proto3 extends no messages but those of options" },
	{ "message M {\n optional group g = 1 {} }",
	  TRANSFORM ":2: the name of a group must begin with a capital letter: \"g\"" },
	{ "message M {\n optional fixed32 x = 1 [default = 1e3]; }",
	  TRANSFORM ":2: a whole number is expected, not \"1e3\"" },
	{ "enum E {\n A = 1 [mine = 2]; }", TRANSFORM ":2: the option \"mine\" is not known here" },
};

static void check_bad(const char *folder, const char *text, const char *what)
{
	struct apollo_set *s = NULL;

	put_file(folder, TRANSFORM, text);
	said[0] = '\0';
	assert_int_equal(apollo_set_load(folder, APOLLO_10, &says, &s), 0);
	if (strncmp(said, folder, strlen(folder)) != 0 || strncmp(said + strlen(folder) + 1, what, strlen(what)) != 0 ||
	    said[strlen(folder) + 1 + strlen(what)] != '\n')
		fail_msg("%s of \"%.80s\", not %s", said, text, what);
	assert_int_equal(count(s, "apollo.drivers.gnss.Imu"), 1);
	apollo_set_destroy(s);
}

/* Fields of another number, name, form, message type or label. */
TEST(missing_fields_are_named)
{
	static char folder[TEST_PATH_MAX];
	struct apollo_set *s = NULL;

	assert_non_null(mkdtemp((char *)(uintptr_t)test_path(folder, "setXXXXXX")));
	put_file(folder, "modules/common_msgs/sensor_msgs/ultrasonic_radar.proto",
		 "syntax = \"proto2\"; package apollo.drivers;\n"
		 "message Ultrasonic { optional int32 header = 1; optional float ranges = 2; }\n");
	put_file(folder, TRANSFORM,
		 "syntax = \"proto2\"; package apollo.transform; message Else {}\n"
		 "message Transform { optional Else translation = 1; optional Else rotate = 2; }\n"
		 "message TransformStamped { optional Else header = 1; optional int32 child_frame_id = 2;\n"
		 "  optional Transform transform = 4; }\n"
		 "message TransformStampeds { optional Else header = 1; repeated TransformStamped transform = 2; }\n");
	said[0] = '\0';
	assert_int_equal(apollo_set_load(folder, APOLLO_10, &says, &s), 0);
	assert_false(was_fatal);
	assert_non_null(strstr(said, ": it lacks, or defines differently, fields that are sent: "
				     "apollo.drivers.Ultrasonic.header, apollo.drivers.Ultrasonic.ranges, "
				     "apollo.transform.Transform.translation, apollo.transform.Transform.rotation, "
				     "apollo.transform.TransformStamped.header, "
				     "apollo.transform.TransformStamped.child_frame_id, "
				     "apollo.transform.TransformStamped.transform, "
				     "apollo.transform.TransformStampeds.header, "
				     "apollo.transform.TransformStampeds.transforms\n"));
	apollo_set_destroy(s);
}

/* A user's descriptor may hold any bytes: the name ends at its first NUL, whatever stands behind it in memory. */
TEST(a_package_that_contains_nul_matches_no_name)
{
	static const uint8_t blob[] = { 2 << 3 | 2, 8, 'p',        0, 'x', 'x', 'x', 'x', 'x', 'x', /* package */
					4 << 3 | 2, 3, 1 << 3 | 2, 1, 'M' };                        /* message M */
	static const char name[] = "p\0xxxxxx.M";
	const struct apollo_file file = { .blob = blob, .size = sizeof(blob) };
	struct apollo_descriptor d;

	assert_false(apollo_message_find(&file, 1, name, &d));
}

/* Each that is sent is one of Apollo's. */
TEST(every_sent_message_exists_in_a_release)
{
	struct apollo_file own[2][APOLLO_DEFINITIONS_MAX];
	size_t n[2] = { apollo_own_files(APOLLO_5, own[0]), apollo_own_files(APOLLO_10, own[1]) };
	const struct apollo_sent *m;

	for (unsigned i = 0; (m = apollo_sent_at(i)); i++)
		for (unsigned k = 0; m->field[k]; k++) {
			struct apollo_descriptor d;
			struct apollo_field f;
			bool found = false;

			for (unsigned r = 0; r < 2; r++)
				found |= apollo_message_find(own[r], n[r], m->message, &d) &&
					 apollo_field_find(&d, m->field[k], &f);
			if (!found)
				fail_msg("there is no field %u of %s", m->field[k], m->message);
		}
}

TEST(errors_in_a_folder_are_reported_with_file_and_line)
{
	static char deep[20000], folder[TEST_PATH_MAX];
	struct apollo_set *s = NULL;
	size_t n = 0;

	assert_non_null(mkdtemp((char *)(uintptr_t)test_path(folder, "setXXXXXX")));
	assert_int_equal(apollo_set_load(folder, APOLLO_10, &says, &s), -EBADMSG);
	assert_non_null(strstr(said, ": it has none of the .proto files of Apollo's sources"));
	put_file(folder, "modules/common_msgs/sensor_msgs/imu.proto",
		 "syntax = \"proto2\"; package apollo.drivers.gnss;\n\nmessage Imu {}\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_bad(folder, bad[i].text, bad[i].said);
	for (int i = 0; i < 1000; i++)
		n += (size_t)sprintf(deep + n, "message M {\n");
	check_bad(folder, deep, TRANSFORM ":61: it nests more than 60 deep, or a name has more than 511 bytes");
	put_file(folder, TRANSFORM, "import \"b.proto\"; message M { optional N n = 1; }");
	put_file(folder, "b.proto", "\nnonsense");
	said[0] = '\0';
	assert_int_equal(apollo_set_load(folder, APOLLO_10, &says, &s), 0);
	assert_non_null(strstr(said, "/b.proto:2: \"nonsense\" begins nothing"));
	assert_non_null(strstr(said, TRANSFORM ":1: it imports b.proto: it is left out\n"));
	apollo_set_destroy(s);
}

/* ---- as protoc has it ---- */

static const char *const texts[] = {
	"syntax = 'proto2'; package p; option optimize_for = SPEED; option java_package = 'a' \"\\x62\\143\\n\";\n"
	"message M { reserved 5, 7 to 9; reserved 'old'; extensions 100 to max; optional float f = 1 [deprecated = true, default = 0.1];\n"
	"optional sint64 s = 2 [default = -0x10]; optional E e = 3 [default = B]; optional bytes b = 4 [default = 'x'];\n"
	"optional double d = 6 [default = -inf]; enum E { option allow_alias = true; A = -1; B = 0; C = 0; } ; }",

	"syntax = 'proto2'; package p.q; message A {} message B { message C {} }\n"
	"service S { option deprecated = true; rpc One (A) returns (B.C); rpc Two (stream .p.q.A) returns (stream B) {}\n"
	" rpc Three (A) returns (stream q.B) { option idempotency_level = IDEMPOTENT; ; option deprecated = false; }; }\n"
	"service Empty {}",

	"syntax = 'proto2'; package p; message A { extensions 10 to 20; message In { extensions 1 to max; }\n"
	" extend In { repeated B b = 7 [deprecated = true]; optional group G = 8 { optional int32 x = 1; } }\n"
	" extend A { optional int32 own = 11 [default = 3]; } }\n"
	"message B {} extend A { optional B b = 12; repeated group Top = 13 { optional B b = 1; } } extend A.In { optional string s = 9; }",

	"syntax = 'proto2'; message A { optional group First = 1 { required int32 x = 1; message Deep {} optional Deep d = 2; }\n"
	" message Between {} repeated group SecondOne = 2 [deprecated = true] {}\n"
	" oneof o { int32 y = 3; group Third = 4 { optional First.Deep d = 1; } } optional First f = 5; }",

	"syntax = 'proto3'; package p; message A { optional int32 a = 1; oneof o { string s = 2; A oneof_in = 3; }\n"
	" optional A b = 4; optional string X_a = 5; message N { optional bytes x = 1; oneof p { int32 q = 2; } }\n"
	" oneof _a { bool t = 6; } int32 plain = 7; repeated int32 oneof = 8; map<int32, A> m = 9; optional E e = 10; }\n"
	"enum E { ZERO = 0; }",
};

struct declared {
	char name[40][64];
	bool is_enum[40];
	unsigned n;
};

static void on_declare(void *arg, const char *name, bool is_enum, unsigned line)
{
	struct declared *d = arg;

	(void)line;
	assert_true(d->n < 40 && strlen(name) < 64);
	strcpy(d->name[d->n], name);
	d->is_enum[d->n++] = is_enum;
}

static bool on_find(void *arg, const char *name, bool *ret_enum)
{
	const struct declared *d = arg;
	size_t n = strlen(name);
	bool is_package = false;

	for (unsigned i = 0; i < d->n; i++) {
		*ret_enum = d->is_enum[i];
		if (strcmp(d->name[i], name) == 0)
			return true;
		is_package |= strncmp(d->name[i], name, n) == 0 && d->name[i][n] == '.';
	}
	*ret_enum = false;
	return is_package;
}

/* What protoc writes of it, without names in JSON. */
static size_t protoc(const char *text, uint8_t *ret, size_t room)
{
	FILE *f = popen("d=${TMPDIR:-/tmp} && cat >$d/a.proto && protoc-c -I$d --descriptor_set_out=$d/a.set a.proto",
			"we");
	static uint8_t set[4096];
	char path[TEST_PATH_MAX];
	struct pb_reader r;
	int error = 0;
	size_t n;

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(pclose(f), 0);
	f = fopen(test_path(path, "a.set"), "re");
	assert_non_null(f);
	n = fread(set, 1, sizeof(set), f);
	fclose(f);
	pb_read_begin(&r, set, n, &error);
	assert_true(pb_next(&r) && r.len <= room);
	return (size_t)plain_file(r.data, r.len, ret);
}

/* The same bytes: of each kind of declaration, in orders that a descriptor does not keep. */
TEST(a_proto_file_compiles_to_the_bytes_of_protoc)
{
	static uint8_t want[4096];

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		static const struct proto_ops first = { .declare = on_declare }, then = { .find = on_find };
		size_t len = strlen(texts[i]), n = protoc(texts[i], want, sizeof(want));
		struct declared names = { .n = 0 };
		struct iovec iov[IOV_BUF_PIECES];
		struct iov_buf o;
		char why[200] = "";

		iov_buf_init(&o);
		assert_int_equal(proto_file_describe("a.proto", texts[i], len, &first, &names, &o, why, sizeof(why)),
				 0);
		iov_buf_reset(&o);
		if (proto_file_describe("a.proto", texts[i], len, &then, &names, &o, why, sizeof(why)) < 0)
			fail_msg("%s", why);
		assert_int_equal(iov_buf_iov(&o, iov), 1);
		assert_int_equal(iov[0].iov_len, n);
		assert_memory_equal(iov[0].iov_base, want, n);
		iov_buf_finish(&o);
	}
}
