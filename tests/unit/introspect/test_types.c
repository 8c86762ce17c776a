/* SPDX-License-Identifier: Apache-2.0 */
/* Types as JSON: both ways, and definitions that a peer may not send. */
#include "support/test.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "err.h"
#include "probe/msg/Every.h"
#include "sim/introspect.h"
#include "sim/msg/PointCloud.h"

static void same_type(const struct sim_type *a, const struct sim_type *b)
{
	assert_true(sim_type_equal(a, b));
	assert_int_equal(a->fixed_size, b->fixed_size);
	assert_int_equal(a->align, b->align);
	assert_string_equal(a->comment, b->comment);
	assert_int_equal(a->n_fields, b->n_fields);
	assert_int_equal(a->n_constants, b->n_constants);
	for (uint32_t i = 0; i < a->n_fields; i++) {
		const struct sim_field *f = &a->fields[i], *g = &b->fields[i];

		assert_string_equal(f->name, g->name);
		assert_string_equal(f->unit, g->unit);
		assert_string_equal(f->comment, g->comment);
		assert_int_equal(f->offset, g->offset);
		assert_int_equal(f->count, g->count);
		assert_int_equal(f->elem_size, g->elem_size);
		assert_int_equal(f->elem_align, g->elem_align);
		assert_int_equal(f->string_max, g->string_max);
		assert_int_equal(f->kind, g->kind);
		assert_int_equal(f->array, g->array);
		assert_int_equal(!f->type, !g->type);
		if (f->type)
			same_type(f->type, g->type);
	}
	for (uint32_t i = 0; i < a->n_constants; i++) {
		assert_string_equal(a->constants[i].name, b->constants[i].name);
		assert_string_equal(a->constants[i].value, b->constants[i].value);
		assert_int_equal(a->constants[i].kind, b->constants[i].kind);
	}
}

static void there_and_back(const struct sim_type *t)
{
	const struct sim_type *u, *ref;
	char *json, *again;

	assert_int_equal(sim_type_to_json(t, &json), 0);
	if (sim_type_from_json(json, strlen(json), &u) < 0)
		fail_msg("%s: %s", t->name, err_why());
	same_type(t, u);
	ref = sim_type_ref(u);
	sim_type_unref(u);
	assert_int_equal(sim_type_to_json(ref, &again), 0);
	assert_string_equal(json, again);
	sim_type_unref(ref);
	free(json);
	free(again);
}

TEST(all_types_read_back_from_json)
{
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
		there_and_back(*t);
	there_and_back(&probe_Every_type);
}

/* A nested type keeps all it came with alive. */
TEST(nested_types_are_counted_references)
{
	const struct sim_type *u, *leaf = NULL;
	char *json;

	assert_int_equal(sim_type_to_json(&sim_PointCloud_type, &json), 0);
	assert_int_equal(sim_type_from_json(json, strlen(json), &u), 0);
	free(json);
	for (uint32_t i = 0; i < u->n_fields; i++)
		if (u->fields[i].type)
			leaf = sim_type_ref(u->fields[i].type);
	sim_type_unref(u);
	assert_string_equal(leaf->name, "sim/PointField");
	assert_string_equal(leaf->fields[0].name, "name");
	sim_type_unref(leaf);
	sim_type_unref(NULL);
	sim_type_unref(&sim_PointCloud_type);
	assert_ptr_equal(sim_type_ref(&sim_PointCloud_type), &sim_PointCloud_type);
	assert_false(sim_type_equal(NULL, &sim_PointCloud_type));
	assert_false(sim_type_equal(&probe_Every_type, &sim_PointCloud_type));
}

#define HEAD        "{\"sim_type\":1,\"name\":\"p/T\",\"hash\":\"00\",\"types\":["
#define ONE(fields) HEAD "{\"name\":\"p/T\",\"fields\":[" fields "]}]}"

static const struct {
	const char *json;
	int r;
	const char *why;
} bad[] = {
	{ "", -EINVAL, "at byte" },
	{ "{", -EINVAL, "at byte" },
	{ "[]", -EINVAL, "sim_type is not 1" },
	{ "{\"sim_type\":2}", -EINVAL, "sim_type is not 1" },
	{ "{\"sim_type\":1}", -EINVAL, "types is missing" },
	{ "{\"sim_type\":1,\"types\":{}}", -EINVAL, "types is missing" },
	{ "{\"sim_type\":1,\"types\":[]}", -EINVAL, "types is missing" },
	{ HEAD "5]}", -EINVAL, "no name" },
	{ HEAD "{\"name\":\"T\",\"fields\":[]}]}", -EINVAL, "no name" },
	{ HEAD "{\"name\":\"p/\",\"fields\":[]}]}", -EINVAL, "no name" },
	{ HEAD "{\"name\":\"p/T\"}]}", -EINVAL, "fields is missing" },
	{ HEAD "{\"name\":\"p/T\",\"fields\":5}]}", -EINVAL, "fields is missing" },
	{ HEAD "{\"name\":\"p/U\",\"fields\":[]}]}", -EINVAL, "the last type is p/U" },
	{ HEAD "{\"name\":\"p/T\",\"fields\":[]},{\"name\":\"p/T\",\"fields\":[]}]}", -EINVAL, "is there twice" },
	{ ONE(""), -EBADMSG, "has the hash" },
	{ ONE("5"), -EINVAL, "field 0: name or type is missing" },
	{ ONE("{\"name\":\"x\"}"), -EINVAL, "name or type is missing" },
	{ ONE("{\"name\":\"9\",\"type\":\"int8\"}"), -EINVAL, "not a name" },
	{ ONE("{\"name\":\"x\",\"type\":\"p/T\"}"), -EINVAL, "not defined before" },
	{ ONE("{\"name\":\"x\",\"type\":\"message\"}"), -EINVAL, "not defined before" },
	{ ONE("{\"name\":\"x\",\"type\":\"int8\",\"array\":\"many\"}"), -EINVAL, "array is not one of" },
	{ ONE("{\"name\":\"x\",\"type\":\"int8\",\"array\":5}"), -EINVAL, "array is not one of" },
	{ ONE("{\"name\":\"x\",\"type\":\"int8\",\"array\":\"fixed\"}"), -EINVAL, "count or max" },
	{ ONE("{\"name\":\"x\",\"type\":\"int8\",\"count\":5}"), -EINVAL, "count or max" },
	{ ONE("{\"name\":\"x\",\"type\":\"int8\",\"array\":\"fixed\",\"count\":-5}"), -EINVAL, "count or max" },
	{ ONE("{\"name\":\"x\",\"type\":\"int8\",\"array\":\"fixed\",\"count\":4294967296}"), -EINVAL, "count or max" },
	{ ONE("{\"name\":\"x\",\"type\":\"int8\",\"array\":\"fixed\",\"count\":1.5}"), -EINVAL, "count or max" },
	{ ONE("{\"name\":\"x\",\"type\":\"int8\",\"array\":\"fixed\",\"count\":4294967295}"), -E2BIG,
	  "more than 1048576" },
	{ ONE("{\"name\":\"x\",\"type\":\"int8\",\"max\":5}"), -EINVAL, "max is for strings" },
	{ ONE("{\"name\":\"x\",\"type\":\"int8\",\"unit\":5}"), -EINVAL, "no text" },
	{ ONE("{\"name\":\"x\",\"type\":\"int8\"},{\"name\":\"x\",\"type\":\"int8\"}"), -EINVAL,
	  "two fields of the same name" },
	{ HEAD "{\"name\":\"p/T\",\"fields\":[],\"constants\":[{}]}]}", -EINVAL, "constant 0" },
	{ HEAD
	  "{\"name\":\"p/T\",\"fields\":[],\"constants\":[{\"name\":\"A\",\"type\":\"uint8\",\"value\":\"300\"}]}]}",
	  -EINVAL, "canonical form" },
	{ HEAD
	  "{\"name\":\"p/T\",\"fields\":[],\"constants\":[{\"name\":\"A\",\"type\":\"uint8\",\"value\":\"0x3\"}]}]}",
	  -EINVAL, "canonical form" },
};

TEST(bad_json_is_refused)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct sim_type *t = NULL;
		int r = sim_type_from_json(bad[i].json, strlen(bad[i].json), &t);

		if (r != bad[i].r || t || !strstr(err_why(), bad[i].why))
			fail_msg("%s: %d: %s", bad[i].json, r, err_why());
	}
	assert_int_equal(sim_type_from_json(NULL, 0, NULL), -EINVAL);
}

/* A chain of n types, each nesting the one before. */
static int chain(unsigned n, const char *array)
{
	char *json = malloc(n * 200 + 200);
	const struct sim_type *t;
	size_t at = (size_t)sprintf(json, "{\"sim_type\":1,\"types\":[{\"name\":\"p/T0\",\"fields\":[]}");
	int r;

	for (unsigned i = 1; i < n; i++)
		at += (size_t)sprintf(json + at,
				      ",{\"name\":\"p/T%u\",\"fields\":[{\"name\":\"a\",\"type\":\"p/T%u\"%s}]}", i,
				      i - 1, array);
	sprintf(json + at, "]}");
	r = sim_type_from_json(json, strlen(json), &t);
	free(json);
	return r;
}

TEST(depth_and_size_are_bounded)
{
	static char large[SIM_TYPE_JSON_MAX + 2];
	const struct sim_type *t;

	assert_int_equal(chain(8, ""), -EBADMSG); /* fine but for the missing hash */
	assert_int_equal(chain(9, ""), -E2BIG);
	assert_int_equal(chain(65, ""), -E2BIG);
	assert_int_equal(chain(4, ",\"array\":\"fixed\",\"count\":1000"), -E2BIG);
	memset(large, ' ', sizeof(large));
	assert_int_equal(sim_type_from_json(large, sizeof(large), &t), -E2BIG);
}

/* Each byte of a good text damaged in turn: refused, or still the same type (a comment, an unknown member). */
TEST(damaged_json_is_survived)
{
	uint64_t seed = test_seed(1);
	size_t len;
	char *json;

	assert_int_equal(sim_type_to_json(&probe_Every_type, &json), 0);
	len = strlen(json);
	for (size_t i = 0; i < len; i++) {
		const struct sim_type *t;
		char old = json[i];

		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		json[i] = (char)(seed >> 57);
		if (sim_type_from_json(json, len, &t) == 0) {
			assert_int_equal(t->hash, probe_Every_type.hash);
			sim_type_unref(t);
		}
		json[i] = old;
	}
	free(json);
}

/* What simctl and simd are sent is JSON that others read too. */
TEST(a_type_is_valid_json)
{
	json_error_t e;
	json_t *j;
	char *json;

	assert_int_equal(sim_type_to_json(&probe_Every_type, &json), 0);
	j = json_loads(json, JSON_REJECT_DUPLICATES, &e);
	assert_non_null(j);
	assert_string_equal(json_string_value(json_object_get(j, "name")), "probe/Every");
	assert_int_equal(json_integer_value(json_object_get(j, "size")), sizeof(struct probe_Every));
	json_decref(j);
	free(json);
	assert_int_equal(sim_type_to_json(NULL, &json), -EINVAL);
}
