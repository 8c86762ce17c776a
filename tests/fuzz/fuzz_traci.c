/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TraCI answers. The first byte picks how the rest is read: 0 the answer to a step, 1 a status and a subscription, 2
 * any commands, 3 the answer to a get. All returned data is read, so that a sanitizer sees a pointer that leads
 * outside. The corpus was recorded from SUMO 1.15. Thread: one.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/sources/sumo/traci_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert() that NDEBUG does not take away */
#define REQUIRE(cond) \
	do { \
		if (!(cond)) \
			abort(); \
	} while (0)

struct seen {
	unsigned long bytes;
	const uint8_t *from, *to;
};

static void touch(struct seen *s, const void *p, size_t n)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < n; i++)
		s->bytes += c[i];
}

static void touch_value(struct seen *s, const struct traci_value *v)
{
	char text[8];

	if (v->type == TRACI_STRING || v->type == TRACI_ROAD_POS) {
		touch(s, v->s.p, v->s.len);
		REQUIRE(strlen(traci_str_copy(v->s, text, sizeof(text))) < sizeof(text));
	}
	if (v->type == TRACI_STRING_LIST) {
		struct traci_in in = v->list.body;

		for (uint32_t i = 0; i < v->list.count; i++) {
			struct traci_str t = traci_in_str(&in);

			touch(s, t.p, t.len);
		}
		REQUIRE(!in.failed && in.p == in.end); /* lists are checked before they are handed out */
	}
	if (v->type == TRACI_COMPOUND) {
		struct traci_in in = v->list.body;
		struct traci_value inner;

		for (uint32_t i = 0; i < v->list.count; i++)
			REQUIRE(traci_in_value(&in, &inner) == 0);
		REQUIRE(in.p == in.end);
	}
}

static void on_item(void *user, const struct traci_item *it)
{
	struct seen *s = user;

	touch(s, it->centre.p, it->centre.len);
	touch(s, it->object.p, it->object.len);
	touch_value(s, &it->value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct traci_str text = { .p = "" };
	struct seen s = { 0 };
	struct traci_in in, body;
	struct traci_value v;
	unsigned id;

	if (size < 1)
		return 0;
	traci_in_init(&in, data + 1, size - 1);
	switch (data[0] % 4) {
	case 0:
		(void)traci_in_step(&in, on_item, &s, &text);
		break;
	case 1:
		if (traci_in_status(&in, size > 2 ? data[2] : 0, &text) == 0)
			(void)traci_in_subscription(&in, on_item, &s);
		break;
	case 2:
		while (traci_in_command(&in, &id, &body) == 0)
			touch(&s, body.p, (size_t)(body.end - body.p));
		break;
	default:
		if (traci_in_get(&in, TRACI_LIGHT, TRACI_VAR_LIGHT_LINKS, &v, &text) == 0)
			touch_value(&s, &v);
		break;
	}
	touch(&s, text.p, text.len);
	return 0;
}
