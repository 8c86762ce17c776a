/* SPDX-License-Identifier: Apache-2.0 */
/* Messages as JSON: every value against what another JSON reader gets, and the options. */
#include "support/test.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "err.h"
#include "probe/msg/Every.h"
#include "random_msg.h"
#include "sim/introspect.h"
#include "sim/msg/LaserScan.h"

static _Alignas(64) uint8_t buf[1 << 18];

static char *print(const struct sim_type *t, size_t size, const struct sim_json_options *o, int expected)
{
	char *json = NULL;
	size_t len = 0;
	int r = sim_msg_to_json_alloc(t, buf, size, o, &json, &len);

	if (r != expected)
		fail_msg("%s: %d: %s", t->name, r, err_why());
	if (json)
		assert_int_equal(strlen(json), len);
	return json;
}

/* ---- compare a body with its JSON, value by value ---- */

static void compare_struct(const struct sim_type *t, const uint8_t *s, size_t size, const json_t *j);

static void compare_value(const struct sim_field *f, const uint8_t *at, size_t size, const json_t *j)
{
	struct sim_field_view v = { .field = f, .data = at, .count = 1 };
	struct sim_span span;
	int64_t i;
	double d;

	switch (f->kind) {
	case SIM_KIND_MESSAGE:
		compare_struct(f->type, at, size, j);
		return;
	case SIM_KIND_STRING:
		memcpy(&span, at, sizeof(span));
		assert_int_equal(json_string_length(j), span.count);
		assert_memory_equal(json_string_value(j), buf + span.offset, span.count);
		return;
	case SIM_KIND_BOOL:
		assert_true(*at ? json_is_true(j) : json_is_false(j));
		return;
	case SIM_KIND_INT64:
	case SIM_KIND_UINT64:
	case SIM_KIND_TIME:
	case SIM_KIND_DURATION:
		memcpy(&i, at, sizeof(i));
		assert_true(json_is_integer(j) && json_integer_value(j) == i);
		return;
	default:
		assert_int_equal(sim_field_number(&v, 0, &d), 0);
		assert_true(json_is_real(j) == (f->kind == SIM_KIND_FLOAT32 || f->kind == SIM_KIND_FLOAT64));
		if (f->kind == SIM_KIND_FLOAT32)
			assert_true((float)json_number_value(j) == (float)d);
		else
			assert_true(json_number_value(j) == d);
	}
}

static void compare_field(const struct sim_field *f, const uint8_t *s, size_t size, const json_t *j)
{
	const uint8_t *at = s + f->offset;
	uint32_t n = f->array == SIM_ARRAY_FIXED ? f->count : 1;

	if (f->array == SIM_ARRAY_NONE) {
		compare_value(f, at, size, j);
		return;
	}
	if (f->array != SIM_ARRAY_FIXED) {
		struct sim_span span;

		memcpy(&span, at, sizeof(span));
		at = buf + span.offset;
		n = span.count;
	}
	if (f->kind == SIM_KIND_UINT8) { /* base64: its length at least */
		assert_int_equal(json_string_length(j), (n + 2) / 3 * 4);
		return;
	}
	assert_int_equal(json_array_size(j), n);
	for (uint32_t i = 0; i < n; i++)
		compare_value(f, at + (size_t)i * f->elem_size, size, json_array_get(j, i));
}

static void compare_struct(const struct sim_type *t, const uint8_t *s, size_t size, const json_t *j)
{
	assert_int_equal(json_object_size(j), t->n_fields);
	for (uint32_t i = 0; i < t->n_fields; i++)
		compare_field(&t->fields[i], s, size, json_object_get(j, t->fields[i].name));
}

static void compare(uint64_t *seed, const struct sim_type *t, bool pretty)
{
	size_t size = random_msg(seed, t, buf, sizeof(buf));
	char *json = print(t, size, &(struct sim_json_options){ .pretty = pretty }, 0);
	json_error_t e;
	json_t *j = json_loads(json, JSON_REJECT_DUPLICATES, &e);

	if (!j)
		fail_msg("%s: %s: %s", t->name, e.text, json);
	compare_struct(t, buf, size, j);
	assert_int_equal(!strchr(json, '\n'), !pretty || t->n_fields == 0);
	json_decref(j);
	free(json);
}

TEST(random_messages_print_as_json)
{
	uint64_t seed = test_seed(20);

	for (int i = 0; i < 20; i++) {
		for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
			compare(&seed, *t, i & 1);
		compare(&seed, &probe_Every_type, i & 1);
	}
}

/* ---- exact texts ---- */

static void expect(const struct sim_type *t, size_t size, const struct sim_json_options *o, int r, const char *text)
{
	char *json = print(t, size, o, r);

	if (!json || strcmp(json, text) != 0)
		fail_msg("%s, not %s", json, text);
	free(json);
}

static struct probe_Every *fill(struct sim_builder *b)
{
	struct probe_Every *m = probe_Every_init(buf, sizeof(buf), b);
	uint8_t *bytes = probe_Every_bytes_alloc(b, 5);
	int64_t *longs = probe_Every_longs_alloc(b, 4);
	struct probe_Leaf *leaf = probe_Every_leaves_alloc(b, 1);

	assert_true(m && bytes && longs && leaf);
	memcpy(bytes, "\x00\xff\x10hello", 5);
	longs[0] = INT64_MIN, longs[1] = INT64_MAX, longs[2] = 0, longs[3] = -1;
	leaf->tag = 200;
	assert_int_equal(probe_Every_text_set(b, "a\"b\\c\n\t\r\x02\xc3\xa9\xff\xed\xa0\x80/"), 0);
	m->u64 = UINT64_MAX;
	m->f64 = (double)NAN;
	m->f32 = -INFINITY;
	m->flag = 7;
	m->rgb[1] = 255;
	m->point.z = 1e-300;
	m->took = -1;
	return m;
}

TEST(a_single_field_can_be_printed)
{
	static const struct {
		const char *field, *text;
	} cases[] = {
		{ "longs", "[-9223372036854775808,9223372036854775807,0,-1]" },
		{ "longs[1]", "9223372036854775807" },
		{ "u64", "18446744073709551615" },
		{ "f64", "null" },
		{ "f32", "null" },
		{ "flag", "true" },
		{ "bytes", "\"AP8QaGU=\"" },
		{ "bytes[1]", "255" },
		{ "rgb", "\"AP8A\"" },
		{ "point", "{\"x\":0.0,\"y\":0.0,\"z\":1e-300}" },
		{ "took", "-1" },
		{ "leaves", "[{\"tag\":200,\"name\":\"\",\"values\":[]}]" },
		{ "leaves[0].tag", "200" },
		{ "pair[1].name", "\"\"" },
		{ "two_words", "[\"\",\"\"]" },
		{ "nothing", "[]" },
		{ "text", "\"a\\\"b\\\\c\\n\\t\\r\\u0002\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd/\"" },
	};
	struct sim_builder b;

	fill(&b);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(&probe_Every_type, sim_builder_size(&b), &(struct sim_json_options){ .field = cases[i].field },
		       0, cases[i].text);
}

/* Invalid UTF-8 becomes U+FFFD, byte by byte; valid text stays. */
TEST(invalid_utf8_is_replaced)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "\xc2\x80", "\\u0080" }, /* a control, as JSON says it */
		{ "\xc2\xa0", "\xc2\xa0" },
		{ "\xe2\x80\xae", "\\u202e" }, /* would turn the line around */
		{ "\xe0\xa0\x80", "\xe0\xa0\x80" },
		{ "\xf0\x90\x80\x80", "\xf0\x90\x80\x80" },
		{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
		{ "\xc0\x80", "??" }, /* overlong */
		{ "\xe0\x9f\xbf", "???" },
		{ "\xf0\x8f\xbf\xbf", "????" },
		{ "\xed\xa0\x80", "???" },      /* a surrogate */
		{ "\xf4\x90\x80\x80", "????" }, /* above U+10FFFF */
		{ "\xf5", "?" },
		{ "\x80", "?" },
		{ "\xe2\x82", "??" }, /* cut off */
		{ "\xe2\x82x", "??x" },
	};
	struct sim_builder b;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[64];
		size_t n = 0;

		expected[n++] = '"';
		for (const char *c = cases[i].out; *c; c++) {
			if (*c == '?') {
				memcpy(expected + n, "\xef\xbf\xbd", 3);
				n += 3;
			} else {
				expected[n++] = *c;
			}
		}
		memcpy(expected + n, "\"", 2);
		assert_non_null(probe_Every_init(buf, sizeof(buf), &b));
		assert_int_equal(probe_Every_text_set(&b, cases[i].in), 0);
		expect(&probe_Every_type, sim_builder_size(&b), &(struct sim_json_options){ .field = "text" }, 0,
		       expected);
	}
}

TEST(arrays_can_be_left_out)
{
	struct sim_builder b;
	struct sim_json_options o = { .no_arr = true };
	char *json;

	fill(&b);
	json = print(&probe_Every_type, sim_builder_size(&b), &o, 0);
	assert_non_null(strstr(json, "\"longs\":\"<int64[4]>\""));
	assert_non_null(strstr(json, "\"bytes\":\"<uint8[5]>\""));
	assert_non_null(strstr(json, "\"pair\":\"<probe/Leaf[2]>\""));
	assert_non_null(strstr(json, "\"leaf\":{"));
	free(json);
}

TEST(long_arrays_are_cut)
{
	struct sim_builder b;

	fill(&b);
	expect(&probe_Every_type, sim_builder_size(&b), &(struct sim_json_options){ .field = "longs", .max_array = 2 },
	       0, "[-9223372036854775808,9223372036854775807,\"... 2 more\"]");
	expect(&probe_Every_type, sim_builder_size(&b), &(struct sim_json_options){ .field = "longs", .max_array = 4 },
	       0, "[-9223372036854775808,9223372036854775807,0,-1]");
	expect(&probe_Every_type, sim_builder_size(&b), &(struct sim_json_options){ .field = "bytes", .max_array = 4 },
	       0, "[0,255,16,104,\"... 1 more\"]");
}

/* A longer array is printed as type, length and hash: equal for equal arrays, otherwise different. */
TEST(long_arrays_print_as_a_digest)
{
	struct sim_json_options o = { .field = "longs", .max_array = 2, .digest = true };
	struct sim_builder b;
	struct probe_Every *m = fill(&b);
	char *first, *second;

	/* as xxhsum -H64 has it */
	expect(&probe_Every_type, sim_builder_size(&b), &o, 0, "\"<int64[4] xxh64:79fa5709def78395>\"");
	o.max_array = 4;
	expect(&probe_Every_type, sim_builder_size(&b), &o, 0, "[-9223372036854775808,9223372036854775807,0,-1]");
	o = (struct sim_json_options){ .field = "bytes", .max_array = 4, .digest = true };
	expect(&probe_Every_type, sim_builder_size(&b), &o, 0, "\"<uint8[5] xxh64:3ad59831adc05a26>\"");
	o = (struct sim_json_options){ .field = "pair", .max_array = 1, .digest = true };
	first = print(&probe_Every_type, sim_builder_size(&b), &o, 0);
	assert_int_equal(strncmp(first, "\"<probe/Leaf[2] xxh64:", 22), 0);
	m->pair[1].tag++;
	second = print(&probe_Every_type, sim_builder_size(&b), &o, 0);
	assert_string_not_equal(first, second);
	free(first);
	free(second);
	m->pair[1].values.offset = UINT32_MAX; /* a span that does not hold is no less so behind a hash */
	m->pair[1].values.count = 1;
	free(print(&probe_Every_type, sim_builder_size(&b), &o, -EBADMSG));
}

TEST(pretty_output_has_a_line_per_member)
{
	struct sim_builder b;
	struct sim_json_options o = { .field = "leaves", .pretty = true };

	fill(&b);
	expect(&probe_Every_type, sim_builder_size(&b), &o, 0,
	       "[\n  {\n    \"tag\": 200,\n    \"name\": \"\",\n    \"values\": []\n  }\n]");
	o.field = "longs";
	expect(&probe_Every_type, sim_builder_size(&b), &o, 0, "[-9223372036854775808, 9223372036854775807, 0, -1]");
}

TEST(invalid_spans_print_as_null)
{
	struct sim_builder b;
	struct probe_Every *m = fill(&b);
	struct sim_json_options o = { .field = "longs" };
	json_error_t e;
	json_t *j;
	char *json;

	m->longs.offset = UINT32_MAX;
	m->text.count = UINT32_MAX;
	m->u64 = 0; /* jansson has no number as large as the one there */
	json = print(&probe_Every_type, sim_builder_size(&b), NULL, -EBADMSG);
	j = json_loads(json, 0, &e);
	assert_non_null(j);
	assert_true(json_is_null(json_object_get(j, "longs")));
	assert_true(json_is_null(json_object_get(j, "text")));
	assert_int_equal(json_array_size(json_object_get(j, "leaves")), 1);
	json_decref(j);
	free(json);
	expect(&probe_Every_type, sim_builder_size(&b), &o, -EBADMSG, "null");
	o.field = "nope";
	assert_null(print(&probe_Every_type, sim_builder_size(&b), &o, -ENOENT));
	o.field = "leaves[1].tag";
	assert_null(print(&probe_Every_type, sim_builder_size(&b), &o, -ERANGE));
	assert_null(print(&probe_Every_type, 10, NULL, -EINVAL));
}

/* ---- the sink ---- */

struct sink {
	size_t len, calls, stop_after;
};

static int take(void *user, const char *data, size_t len)
{
	struct sink *s = user;

	(void)data;
	s->len += len;
	return ++s->calls == s->stop_after ? -EPIPE : 0;
}

TEST(an_error_of_the_sink_ends_printing)
{
	struct sim_builder b;
	struct sink s = { .stop_after = 3 };
	float *r;

	assert_non_null(sim_LaserScan_init(buf, sizeof(buf), &b));
	r = sim_LaserScan_ranges_alloc(&b, 20000);
	memset(r, 0, 20000 * sizeof(*r));
	assert_int_equal(sim_msg_to_json(&sim_LaserScan_type, buf, sim_builder_size(&b), NULL, take, &s), -EPIPE);
	assert_int_equal(s.calls, 3);
	s = (struct sink){ 0 };
	assert_int_equal(sim_msg_to_json(&sim_LaserScan_type, buf, sim_builder_size(&b), NULL, take, &s), 0);
	assert_true(s.len > 80000);
	assert_int_equal(sim_msg_to_json(&sim_LaserScan_type, buf, sim_builder_size(&b), NULL, NULL, &s), -EINVAL);
}

/* A log or a socket buffer holds bodies at any address. */
TEST(bodies_at_any_alignment_are_printed)
{
	uint64_t seed = test_seed(3);
	size_t size = random_msg(&seed, &probe_Every_type, buf, sizeof(buf) - 1);
	char *a, *c;

	a = print(&probe_Every_type, size, NULL, 0);
	memmove(buf + 1, buf, size);
	assert_int_equal(sim_msg_to_json_alloc(&probe_Every_type, buf + 1, size, NULL, &c, NULL), 0);
	assert_string_equal(a, c);
	assert_int_equal(sim_msg_check(&probe_Every_type, buf + 1, size), 0);
	free(a);
	free(c);
}
