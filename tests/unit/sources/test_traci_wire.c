/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TraCI bytes: written requests, the meaning of real answers of SUMO, and refused ones. The answers were recorded from
 * SUMO 1.15; the fuzz harness sees them too.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tools/sources/sumo/traci_wire.h"

#define CORPUS "tests/fuzz/corpus/traci"

static size_t load(const char *name, uint8_t *buf, size_t cap)
{
	char path[256];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", CORPUS, name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("%s: %s (tests run in the top folder)", path, strerror(errno));
	n = fread(buf, 1, cap, f);
	fclose(f);
	assert_true(n > 1 && n < cap);
	return n;
}

TEST(a_get_has_the_bytes_of_the_protocol)
{
	static const uint8_t want[] = { 0, 0, 0, 18, 0, 0, 0, 0, 14, 0xa4, 0x40, 0, 0, 0, 3, 'e', 'g', 'o' };
	struct traci_out o;
	uint8_t buf[64];

	traci_out_init(&o, buf, sizeof(buf));
	traci_out_get(&o, TRACI_VEHICLE, TRACI_VAR_SPEED, "ego");
	assert_int_equal(traci_out_finish(&o), sizeof(want));
	assert_memory_equal(buf, want, sizeof(want));
}

TEST(a_context_subscription_has_the_bytes_of_the_protocol)
{
	static const uint8_t want[] = { 0,   0,    0,    43,   0,    0, 0, 0, 39, 0x84, 0, 0,    0,   0, 0,
					0,   0,    0,    0x3f, 0xe0, 0, 0, 0, 0,  0,    0, 0,    0,   0, 1,
					'e', 0xae, 0x40, 0x59, 0,    0, 0, 0, 0,  0,    2, 0x39, 0x43 };
	static const uint8_t vars[] = { 0x39, 0x43 };
	struct traci_out o;
	uint8_t buf[64];

	traci_out_init(&o, buf, sizeof(buf));
	traci_out_subscribe_context(&o, TRACI_VEHICLE, "e", 0, 0.5, TRACI_PERSON, 100, vars, 2);
	assert_int_equal(traci_out_finish(&o), sizeof(want));
	assert_memory_equal(buf, want, sizeof(want));
}

TEST(a_request_that_is_too_large_is_not_sent)
{
	struct traci_out o;
	uint8_t buf[32];

	traci_out_init(&o, buf, 17);
	traci_out_get(&o, TRACI_VEHICLE, TRACI_VAR_SPEED, "ego");
	assert_int_equal(traci_out_finish(&o), -EMSGSIZE);
	traci_out_init(&o, buf, sizeof(buf));
	traci_out_get(&o, TRACI_VEHICLE, TRACI_VAR_SPEED, "a name that is longer than the whole buffer is");
	assert_int_equal(traci_out_finish(&o), -EMSGSIZE);
}

struct ego_seen {
	double pos[3], angle, speed;
	int32_t signals;
	int items, contexts;
	char last_class[24];
};

static void on_item(void *user, const struct traci_item *it)
{
	struct ego_seen *e = user;

	assert_true(it->ok);
	e->items++;
	e->contexts += it->context;
	if (it->context) {
		assert_true(traci_str_is(it->centre, "ego"));
		if (it->var == TRACI_VAR_CLASS)
			traci_str_copy(it->value.s, e->last_class, sizeof(e->last_class));
		return;
	}
	assert_true(traci_str_is(it->object, "ego"));
	if (it->var == TRACI_VAR_POSITION_3D)
		memcpy(e->pos, it->value.pos, sizeof(e->pos));
	else if (it->var == TRACI_VAR_ANGLE)
		e->angle = it->value.d;
	else if (it->var == TRACI_VAR_SPEED)
		e->speed = it->value.d;
	else if (it->var == TRACI_VAR_SIGNALS)
		e->signals = it->value.i;
}

TEST(a_step_of_sumo_is_parsed)
{
	uint8_t buf[4096];
	size_t n = load("step", buf, sizeof(buf));
	struct traci_str text;
	struct ego_seen e = { 0 };
	struct traci_in in;

	traci_in_init(&in, buf + 1, n - 1);
	assert_int_equal(traci_in_step(&in, on_item, &e, &text), 0);
	assert_true(in.p == in.end);
	assert_int_equal(e.items - e.contexts, 4);
	assert_true(e.contexts > 0 && e.contexts % 7 == 0);
	assert_true(e.pos[0] > 123 && e.pos[0] < 125 && e.pos[1] > 210 && e.pos[1] < 220);
	assert_true(e.angle > 94 && e.angle < 95 && e.speed > 8 && e.speed < 8.1);
	assert_string_equal(e.last_class, "passenger");
}

TEST(a_refusal_has_sumos_text)
{
	uint8_t buf[256];
	size_t n = load("refused", buf, sizeof(buf));
	struct traci_value v;
	struct traci_str text;
	struct traci_in in;

	traci_in_init(&in, buf + 1, n - 1);
	assert_int_equal(traci_in_get(&in, TRACI_VEHICLE, TRACI_VAR_SPEED, &v, &text), -EREMOTEIO);
	assert_true(traci_str_is(text, "Vehicle 'nobody' is not known."));
}

TEST(lists_and_shapes_are_parsed)
{
	uint8_t buf[4096];
	struct traci_value v, group, links;
	struct traci_str text, from;
	struct traci_in in;
	size_t n;

	n = load("edges", buf, sizeof(buf));
	traci_in_init(&in, buf + 1, n - 1);
	assert_int_equal(traci_in_get(&in, TRACI_VEHICLE, TRACI_VAR_EDGES, &v, &text), 0);
	assert_int_equal(v.type, TRACI_STRING_LIST);
	assert_true(v.list.count >= 2);

	n = load("shape", buf, sizeof(buf));
	traci_in_init(&in, buf + 1, n - 1);
	assert_int_equal(traci_in_get(&in, TRACI_LANE, TRACI_VAR_SHAPE, &v, &text), 0);
	assert_int_equal(v.type, TRACI_POLYGON);
	assert_int_equal((v.list.body.end - v.list.body.p), 16 * v.list.count);

	n = load("links", buf, sizeof(buf));
	traci_in_init(&in, buf + 1, n - 1);
	assert_int_equal(traci_in_get(&in, TRACI_LIGHT, TRACI_VAR_LIGHT_LINKS, &v, &text), 0);
	assert_int_equal(v.type, TRACI_COMPOUND);
	assert_int_equal(traci_in_value(&v.list.body, &group), 0);
	assert_int_equal(group.type, TRACI_INTEGER);
	assert_int_equal(traci_in_value(&v.list.body, &group), 0);
	assert_int_equal(traci_in_value(&v.list.body, &links), 0);
	assert_int_equal(links.type, TRACI_STRING_LIST);
	from = traci_in_str(&links.list.body);
	assert_true(from.len > 4 && memchr(from.p, '_', from.len));
}

/* Every answer, cut at every byte: an error, never a success, never a byte beyond. */
TEST(a_cut_answer_is_an_error)
{
	uint8_t buf[4096], *exact;
	size_t n = load("step", buf, sizeof(buf));

	for (size_t cut = 0; cut + 1 < n; cut++) {
		struct ego_seen e = { 0 };
		struct traci_str text;
		struct traci_in in;

		exact = malloc(cut ? cut : 1); /* a sanitizer sees the end */
		assert_non_null(exact);
		memcpy(exact, buf + 1, cut);
		traci_in_init(&in, exact, cut);
		assert_int_equal(traci_in_step(&in, on_item, &e, &text), -EBADMSG);
		free(exact);
	}
}

/* A number inside `depth` compounds of one element each. */
static size_t nest(uint8_t *buf, int depth)
{
	size_t n = 0;

	for (; depth > 0; depth--, n += 5)
		memcpy(buf + n, (uint8_t[]){ TRACI_COMPOUND, 0, 0, 0, 1 }, 5);
	memcpy(buf + n, (uint8_t[]){ TRACI_UBYTE, 7 }, 2);
	return n + 2;
}

TEST(too_deep_nesting_and_wrong_counts_are_refused)
{
	uint8_t buf[64];
	struct traci_value v;
	struct traci_in in;

	traci_in_init(&in, buf, nest(buf, TRACI_NEST_MAX));
	assert_int_equal(traci_in_value(&in, &v), 0);
	traci_in_init(&in, buf, nest(buf, TRACI_NEST_MAX + 1));
	assert_int_equal(traci_in_value(&in, &v), -EBADMSG);
	memcpy(buf, (uint8_t[]){ TRACI_STRING_LIST, 0x7f, 0xff, 0xff, 0xff }, 5);
	traci_in_init(&in, buf, sizeof(buf));
	assert_int_equal(traci_in_value(&in, &v), -EBADMSG);
	memcpy(buf, (uint8_t[]){ TRACI_STRING, 0xff, 0xff, 0xff, 0xff }, 5);
	traci_in_init(&in, buf, sizeof(buf));
	assert_int_equal(traci_in_value(&in, &v), -EBADMSG);
}
