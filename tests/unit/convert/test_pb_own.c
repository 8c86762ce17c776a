/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's own types as protobuf: the encoding reads back to the same message, for every kind and shape of field; the
 * definition sent to a peer is what protoc makes of the text, and with it protoc reads the bytes.
 */
#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dec_pb.h"
#include "enc_pb.h"
#include "generic.h"
#include "named_private.h"
#include "pb_proto.h"
#include "probe/msg/Every.h"
#include "random_type.h"
#include "ros/ros_generic.h"
#include "ros/ros_text.h"
#include "sample.h"
#include "sim/msg/LaneLines.h"

static _Alignas(64) uint8_t body[65536], back[65536];
static uint8_t wire[262144];
static struct dec_pb decoder;

static size_t flatten(const struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	for (unsigned i = 0, n = iov_buf_iov(o, iov); i < n; at += iov[i++].iov_len) {
		assert_true(iov[i].iov_len <= sizeof(wire) - at);
		memcpy(wire + at, iov[i].iov_base, iov[i].iov_len);
	}
	return at;
}

/* The message in body, into wire. */
static size_t emit(const struct sim_type *t, size_t size)
{
	struct enc_pb e;
	struct iov_buf o;
	size_t len;

	iov_buf_init(&o);
	enc_pb_begin(&e, &o);
	assert_int_equal(generic_emit(t, body, size, &e.enc), 0);
	assert_int_equal(enc_pb_finish(&e), 0);
	len = flatten(&o);
	iov_buf_finish(&o);
	return len;
}

static int take(const struct sim_type *t, const void *data, size_t len, size_t *ret_size)
{
	int r;

	dec_pb_begin(&decoder, data, len);
	r = generic_read(t, &decoder.dec, back, sizeof(back), ret_size);
	return decoder.dec.err ? decoder.dec.err : r;
}

static char *json_of(const struct sim_type *t, const void *from, size_t size)
{
	char *text = NULL;

	assert_int_equal(sim_msg_to_json_alloc(t, from, size, NULL, &text, NULL), 0);
	return text;
}

/* Whatever becomes of the bytes: refused, or a sound body. */
static void mutilate(const struct sim_type *t, uint64_t *seed, size_t len)
{
	for (unsigned i = 0; i < 20 && len; i++) {
		size_t n = random_next(seed) % 2 ? len : random_next(seed) % len, got;
		uint8_t *bytes = malloc(n + !n);

		assert_non_null(bytes);
		memcpy(bytes, wire, n);
		for (unsigned k = (unsigned)(random_next(seed) % 4); k && n; k--)
			bytes[random_next(seed) % n] = (uint8_t)random_next(seed);
		if (take(t, bytes, n, &got) == 0)
			assert_int_equal(sim_msg_check(t, back, got), 0);
		free(bytes);
	}
}

static void round_trip(const struct sim_type *t, uint64_t *seed, size_t size)
{
	char *a = json_of(t, body, size), *b;
	size_t len = emit(t, size), got = 0;
	int r = take(t, wire, len, &got);

	if (r < 0)
		fail_msg("%s: %s: %s", t->name, strerror(-r), a);
	assert_int_equal(sim_msg_check(t, back, got), 0);
	b = json_of(t, back, got);
	assert_string_equal(a, b);
	free(a);
	free(b);
	mutilate(t, seed, len);
}

TEST(messages_of_every_field_kind_read_back)
{
	uint64_t seed = test_seed(1);

	dec_pb_init(&decoder);
	round_trip(&probe_Every_type, &seed, sample_body(&probe_Every_type, body, sizeof(body)));
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
		round_trip(*t, &seed, sample_body(*t, body, sizeof(body)));
	dec_pb_finish(&decoder);
}

TEST(messages_of_random_types_read_back)
{
	uint64_t seed = test_seed(7);

	dec_pb_init(&decoder);
	for (int i = 0; i < 300; i++) {
		struct random_type t;

		assert_int_equal(random_type_make(&t, &seed), 0);
		for (int k = 0; k < 3; k++)
			round_trip(t.type, &seed, random_msg(&seed, t.type, body, sizeof(body)));
		random_type_finish(&t);
	}
	dec_pb_finish(&decoder);
}

/* ---- the definition that a peer gets ---- */

static struct ros_text *definition(const struct sim_type *t)
{
	char name[ROS_GENERIC_NAME_MAX], why[256], *text = ros_generic_text(t, ROS_GENERIC_ROS2);
	struct ros_text *ros = NULL;

	ros_generic_name(t->name, name);
	assert_int_equal(ros_text_create(name, text, ros2_types, why, sizeof(why), &ros), 0);
	free(text);
	return ros;
}

static char folder[TEST_PATH_MAX];

static void write_file(const char *name, const void *data, size_t len)
{
	char path[TEST_PATH_MAX + 200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static size_t read_file(const char *name, void *data, size_t room)
{
	char path[TEST_PATH_MAX + 200];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(data, 1, room, f);
	fclose(f);
	return n;
}

static void run(const char *command)
{
	char all[TEST_PATH_MAX + 8192];

	assert_true(snprintf(all, sizeof(all), "cd %s && %s", folder, command) < (int)sizeof(all));
	if (system(all) != 0)
		fail_msg("%s", all);
}

static int prepare(void **state)
{
	(void)state;
	test_path(folder, "pb-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int clean(void **state)
{
	char command[TEST_PATH_MAX + 8];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

/* Appends the descriptor of a type to set, as an element of a FileDescriptorSet. Its .proto goes into the folder. */
static void tell(const struct sim_type *t, struct iov_buf *set, char *command, size_t room)
{
	struct ros_text *ros = definition(t);
	char name[200], *text;
	struct iov_buf one;
	struct pb_writer w;

	assert_int_equal(pb_proto_name(ros_text_type(ros), name, sizeof(name)), 0);
	*strchr(name, '.') = '/';
	strcat(name, ".proto");
	assert_int_equal(pb_proto_text(ros_text_type(ros), &text), 0);
	write_file(name, text, strlen(text));
	free(text);
	snprintf(command + strlen(command), room - strlen(command), " %s", name);

	iov_buf_init(&one);
	assert_int_equal(pb_proto_descriptor(ros_text_type(ros), &one), 0);
	assert_int_equal(one.n, 1);
	pb_begin(&w, set);
	pb_string(&w, 1, (const char *)one.buf, one.total);
	assert_int_equal(pb_end(&w), 0);
	iov_buf_finish(&one);
	ros_text_destroy(ros);
}

TEST_WITH(the_descriptor_equals_that_of_protoc, prepare, clean)
{
	char command[8192] = "protoc-c -I. --descriptor_set_out=theirs";
	struct iov_buf set;
	uint8_t *theirs;

	iov_buf_init(&set);
	run("mkdir sim_msgs probe");
	tell(&probe_Every_type, &set, command, sizeof(command));
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
		tell(*t, &set, command, sizeof(command));
	run(command);
	theirs = malloc(set.total + 1);
	assert_non_null(theirs);
	assert_int_equal(read_file("theirs", theirs, set.total + 1), set.total);
	assert_memory_equal(theirs, set.buf, set.total);
	free(theirs);
	iov_buf_finish(&set);
}

/* With the descriptor alone. A field that it does not have would be printed by its number. */
TEST_WITH(protoc_reads_the_bytes, prepare, clean)
{
	static const struct sim_type *const types[] = { &probe_Every_type, &sim_LaneLines_type };
	static char text[65536];
	char command[700], files[300] = "";
	struct iov_buf set;
	size_t n;

	run("mkdir sim_msgs probe");
	for (unsigned i = 0; i < 2; i++) {
		n = emit(types[i], sample_body(types[i], body, sizeof(body)));
		write_file("bytes", wire, n);
		iov_buf_init(&set);
		files[0] = '\0';
		tell(types[i], &set, files, sizeof(files));
		write_file("ours", set.buf, set.total);
		iov_buf_finish(&set);
		snprintf(command, sizeof(command),
			 "rm%s && protoc-c --descriptor_set_in=ours --decode=%s%s <bytes >text", files,
			 i ? "sim_msgs.LaneLines" : "probe.Every", files);
		run(command);
		n = read_file("text", text, sizeof(text) - 1);
		text[n] = '\0';
		assert_true(n > 20);
		for (const char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			line += strspn(line, " ");
			assert_false(*line >= '0' && *line <= '9');
		}
	}
}

TEST(constants_are_written_as_comments)
{
	struct ros_text *ros = definition(sim_type_builtin("sim/Point"));
	char *text;

	assert_int_equal(pb_proto_text(ros_text_type(ros), &text), 0);
	assert_non_null(strstr(text, "message Point {\n  // uint8 RETURN_UNKNOWN=0\n"));
	assert_non_null(strstr(text, "\n  optional float x = 1;\n"));
	free(text);
	ros_text_destroy(ros);
}

/* ---- what only a peer sends ---- */

static const struct sim_field odd_fields[] = {
	{ .name = "n", .comment = "", .kind = SIM_KIND_INT8, .elem_size = 1, .elem_align = 1 },
	{ .name = "v",
	  .comment = "",
	  .kind = SIM_KIND_FLOAT64,
	  .array = SIM_ARRAY_VARIABLE,
	  .offset = 8,
	  .elem_size = 8,
	  .elem_align = 8 },
	{ .name = "t", .comment = "", .kind = SIM_KIND_TIME, .offset = 16, .elem_size = 8, .elem_align = 8 },
};
static const struct sim_type odd = { .abi = SIM_TYPE_ABI,
				     .name = "a/T",
				     .comment = "",
				     .fixed_size = 24,
				     .align = 8,
				     .fields = odd_fields,
				     .n_fields = 3 };

static int odd_read(const char *bytes, size_t len, int8_t *n, double *v, uint32_t *n_v, int64_t *t)
{
	struct sim_span span;
	size_t size;
	int r = take(&odd, bytes, len, &size);

	if (r < 0)
		return r;
	memcpy(n, back, 1);
	memcpy(&span, back + 8, sizeof(span));
	memcpy(v, back + span.offset, span.count * sizeof(*v));
	*n_v = span.count;
	memcpy(t, back + 16, sizeof(*t));
	return 0;
}
#define ODD(text) odd_read(text, sizeof(text) - 1, &n, v, &n_v, &t)

TEST(split_arrays_and_unordered_fields_are_read)
{
	double v[8] = { 0 };
	uint32_t n_v = 0;
	int64_t t = 0;
	int8_t n = 0;

	dec_pb_init(&decoder);
	assert_int_equal(ODD("\x11\0\0\0\0\0\0\xf0?\x20\x05\x08\x07\x12\x10\0\0\0\0\0\0\0@\0\0\0\0\0\0\x08@\x08\x7f"
			     "\x1a\x04\x08\x02\x10\x03"),
			 0);
	assert_int_equal(n, 127); /* the last one, whatever is between */
	assert_int_equal(n_v, 3);
	assert_true(v[0] == 1.0 && v[1] == 2.0 && v[2] == 3.0);
	assert_int_equal(t, 2000000003);
	assert_int_equal(ODD(""), 0);
	assert_true(n == 0 && n_v == 0 && t == 0);
	assert_int_equal(ODD("\x09\1\1\1\1\1\1\1\1\x10\x01\x18\x01"), 0); /* of other wire types */
	assert_true(n == 0 && n_v == 0 && t == 0);
	dec_pb_finish(&decoder);
}

TEST(values_out_of_range_are_refused)
{
	double v[8] = { 0 };
	uint32_t n_v = 0;
	int64_t t = 0;
	int8_t n = 0;

	dec_pb_init(&decoder);
	assert_int_equal(ODD("\x08\x80\x01"), -EBADMSG);                          /* 128 as int8 */
	assert_int_equal(ODD("\x08\x80\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0); /* -128 */
	assert_int_equal(n, -128);
	assert_int_equal(ODD("\x12\x07\0\0\0\0\0\0\0"), -EBADMSG);           /* half a double */
	assert_int_equal(ODD("\x1a\x06\x08\xff\xff\xff\xff\x3f"), -EBADMSG); /* 17179869183 s */
	assert_int_equal(ODD("\x1a\x02\x08"), -EBADMSG);
	assert_int_equal(ODD("\x0b"), -EBADMSG);
	dec_pb_finish(&decoder);
}

TEST(times_have_their_full_range)
{
	static const int64_t edge[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX, -1000000000, -1000000001 };
	size_t got;

	dec_pb_init(&decoder);
	for (unsigned i = 0; i < sizeof(edge) / sizeof(edge[0]); i++) {
		memset(body, 0, 24);
		memcpy(body + 16, &edge[i], 8);
		assert_int_equal(take(&odd, wire, emit(&odd, 24), &got), 0);
		assert_memory_equal(back + 16, &edge[i], 8);
	}
	dec_pb_finish(&decoder);
}

/* ---- what only a converter does ---- */

static void finish_into(struct enc_pb *e, struct iov_buf *o, uint8_t *to, size_t *ret_n)
{
	assert_int_equal(enc_pb_finish(e), 0);
	*ret_n = flatten(o);
	memcpy(to, wire, *ret_n);
	iov_buf_finish(o);
}

/* Numbers that are filled in later have the same bytes as those written at once. */
TEST(field_numbers_of_every_size_are_written)
{
	static uint8_t numbers[8 * 300], a[4096], b[4096];
	uint64_t seed = test_seed(3);

	for (int kind = SIM_KIND_BOOL; kind <= SIM_KIND_FLOAT64; kind++) {
		size_t size = kind == SIM_KIND_BOOL ? 1 : named_size((enum sim_kind)kind), n_a, n_b;
		struct iov_buf o;
		struct enc_pb e;
		void *at;

		for (size_t i = 0; i < sizeof(numbers); i++)
			numbers[i] = kind == SIM_KIND_BOOL ? random_next(&seed) & 1 : (uint8_t)random_next(&seed);
		iov_buf_init(&o);
		enc_pb_begin(&e, &o);
		e.enc.ops->array(&e.enc, "v", (enum sim_kind)kind, numbers, 300, 0);
		sim_enc_u8(&e.enc, "n", 1);
		finish_into(&e, &o, a, &n_a);
		enc_pb_begin(&e, &o);
		at = e.enc.ops->room(&e.enc, "v", (enum sim_kind)kind, 300, 0);
		assert_non_null(at);
		memcpy(at, numbers, 300 * size);
		if (kind == SIM_KIND_BOOL)
			for (unsigned i = 0; i < 300; i++)
				((uint8_t *)at)[i] *= 0x80; /* any byte but 0 is true */
		sim_enc_u8(&e.enc, "n", 1);
		finish_into(&e, &o, b, &n_b);
		assert_int_equal(n_a, n_b);
		assert_memory_equal(a, b, n_a);
	}
}

TEST(nesting_too_deep_is_an_error)
{
	uint8_t deep[40];
	struct iov_buf o;
	struct enc_pb e;

	iov_buf_init(&o);
	enc_pb_begin(&e, &o);
	for (unsigned i = 0; i < 100; i++)
		sim_enc_begin(&e.enc, "m");
	sim_enc_u8(&e.enc, "n", 1);
	for (unsigned i = 0; i < 100; i++)
		sim_enc_end(&e.enc);
	assert_int_equal(enc_pb_finish(&e), -E2BIG);
	iov_buf_finish(&o);

	for (unsigned i = 0; i < 20; i++) {
		deep[2 * i] = 0x0a;
		deep[2 * i + 1] = (uint8_t)(2 * (19 - i));
	}
	dec_pb_init(&decoder);
	dec_pb_begin(&decoder, deep, sizeof(deep));
	for (unsigned i = 0; i < 100; i++)
		sim_dec_begin(&decoder.dec, "m");
	assert_int_equal(sim_dec_list(&decoder.dec, "l", 1), 0);
	sim_dec_list_end(&decoder.dec);
	for (unsigned i = 0; i < 100; i++)
		sim_dec_end(&decoder.dec);
	assert_int_equal(decoder.dec.err, -E2BIG);
	dec_pb_finish(&decoder);
}
