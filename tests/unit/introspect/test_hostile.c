/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies that a faulty or hostile peer wrote: random bytes, good messages with damaged spans. No code reads outside the
 * body (run with SAN=address,undefined: the body is the last thing in its allocation), the work stays bounded, and the
 * printed text stays JSON.
 */
#include "support/test.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "probe/msg/Every.h"
#include "random_msg.h"
#include "sim/introspect.h"
#include "sim/msg/Transforms.h"

struct counter {
	size_t len, limit;
};

static int count(void *user, const char *data, size_t len)
{
	struct counter *c = user;

	(void)data;
	c->len += len;
	return c->len > c->limit ? -EFBIG : 0;
}

static void look_at(const struct sim_type *t, const uint8_t *body, size_t size)
{
	/* The longest text of a byte is that of a 1-byte struct or number in an array, of the fixed part a name. */
	struct counter c = { .limit = size * 64 + 65536 };
	int checked = sim_msg_check(t, body, size), printed;

	printed = sim_msg_to_json(t, body, size, NULL, count, &c);
	assert_true(printed != -EFBIG);
	assert_int_equal(checked, printed);
	assert_int_equal(sim_msg_size(t, body, size) == 0, checked < 0);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		struct sim_field_path p;
		struct sim_field_view v;

		assert_int_equal(sim_field_find(t, t->fields[i].name, &p), 0);
		if (sim_field_get(&p, body, size, &v) == 0 && v.count) {
			volatile uint8_t first = *(const uint8_t *)v.data;
			volatile uint8_t last = ((const uint8_t *)v.data)[(size_t)v.count * v.field->elem_size - 1];

			(void)first, (void)last;
		}
	}
}

static void is_json(const struct sim_type *t, const uint8_t *body, size_t size)
{
	json_error_t e;
	char *json = NULL;
	json_t *j;

	(void)!sim_msg_to_json_alloc(t, body, size, NULL, &json, NULL);
	assert_non_null(json);
	j = json_loads(json, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &e);
	if (!j)
		fail_msg("%s: %s: %s", t->name, e.text, json);
	json_decref(j);
	free(json);
}

/* An exact allocation, so that a read past the body is seen. */
static void hostile(uint64_t *seed, const struct sim_type *t, bool noise)
{
	static _Alignas(64) uint8_t scratch[1 << 15];
	size_t size = t->fixed_size + random_next(seed) % 512;
	uint8_t *body;

	if (!noise) {
		size = random_msg(seed, t, scratch, sizeof(scratch));
		for (unsigned n = (unsigned)(random_next(seed) % 4) + 1; n; n--) {
			uint32_t v = (uint32_t)(random_next(seed) >> (random_next(seed) % 64));

			memcpy(scratch + random_next(seed) % (size / 4) * 4, &v, size < 4 ? size : 4);
		}
		if (random_next(seed) % 4 == 0)
			size = t->fixed_size + random_next(seed) % (size - t->fixed_size + 1);
	}
	body = malloc(size);
	assert_non_null(body);
	memcpy(body, scratch, size);
	for (size_t i = 0; noise && i < size; i++)
		body[i] = random_next(seed) % 3 ? 0 : (uint8_t)random_next(seed);
	look_at(t, body, size);
	if (random_next(seed) % 16 == 0)
		is_json(t, body, size);
	free(body);
}

TEST(random_bodies_are_survived)
{
	uint64_t seed = test_seed(99);

	for (int i = 0; i < 4000; i++) {
		hostile(&seed, &probe_Every_type, i & 1);
		if (i % 20 == 0)
			for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
				if ((*t)->fixed_size >= 4)
					hostile(&seed, *t, (i / 20) & 1);
	}
}

/* Arrays whose elements all point at the same long array: quadratic work, if each were believed. */
TEST(arrays_that_share_elements_are_refused)
{
	static _Alignas(64) uint8_t body[1 << 20];
	struct sim_builder b;
	struct probe_Every *m = probe_Every_init(body, sizeof(body), &b);
	struct probe_Leaf *l = probe_Every_leaves_alloc(&b, 20000);
	struct counter c = { .limit = 64 << 20 };

	assert_non_null(m);
	for (int i = 0; i < 20000; i++)
		l[i].values = (struct sim_span){ (uint32_t)sizeof(*m), 100000 };
	assert_int_equal(sim_msg_check(&probe_Every_type, body, sizeof(body)), -EBADMSG);
	assert_int_equal(sim_msg_to_json(&probe_Every_type, body, sizeof(body), NULL, count, &c), -EBADMSG);
}

/* The accessors themselves, over bodies with random spans. */
TEST(accessors_stay_inside_random_bodies)
{
	uint64_t seed = test_seed(4);

	for (int i = 0; i < 20000; i++) {
		size_t size = sizeof(struct sim_Transforms) + random_next(&seed) % 600;
		uint64_t *body = calloc(1, size);
		const struct sim_Transforms *m;
		const struct sim_Transform *t;
		uint32_t n;

		assert_non_null(body);
		for (size_t k = 0; k < size / 4; k++)
			if (random_next(&seed) % 2) {
				uint32_t v = (uint32_t)(random_next(&seed) >> (32 + random_next(&seed) % 32));

				memcpy((uint8_t *)body + 4 * k, &v, 4);
			}
		m = sim_Transforms_from(body, size);
		assert_non_null(m);
		t = sim_Transforms_transforms(m, size, &n);
		assert_true(t || n == 0);
		for (uint32_t k = 0; k < n; k++)
			assert_true(strlen(sim_Transform_child_frame_in(m, size, &t[k])) < size);
		free(body);
	}
}
