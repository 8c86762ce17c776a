/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of any type with random content, made from the field table alone. Thread: the test's. */
#ifndef RANDOM_MSG_H
#define RANDOM_MSG_H

#include <stdbool.h>
#include <string.h>

#include "sim/introspect.h"

static inline uint64_t random_next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s * UINT64_C(2685821657736338717);
}

static bool random_ros_times; /* times and durations are such that ROS has a number for them */

static inline void random_string(struct sim_builder *b, uint64_t *seed, const struct sim_field *f, uint8_t *at)
{
	static const char *const pieces[] = { "a", "\"",  "\\",  "\n", "\x01", "\xc3\xa9", "\xf0\x9f\x9a\x97",
					      "/", "x y", "\x7f" };
	struct sim_span span;
	char text[64] = "";

	for (unsigned n = (unsigned)(random_next(seed) % 6); n; n--)
		strcat(text, pieces[random_next(seed) % 10]);
	if (f->string_max && strlen(text) > f->string_max)
		text[0] = '\0';
	if (sim_builder_text(b, &span, text, f->string_max) == 0)
		memcpy(at, &span, sizeof(span));
}

static inline void random_struct(struct sim_builder *b, uint64_t *seed, const struct sim_type *t, uint8_t *s);

static inline void random_value(struct sim_builder *b, uint64_t *seed, const struct sim_field *f, uint8_t *at)
{
	uint64_t v = random_next(seed);
	double d = (double)(int64_t)v / 1e6;
	float x = (float)((double)(int32_t)v / 128);

	switch (f->kind) {
	case SIM_KIND_MESSAGE:
		random_struct(b, seed, f->type, at);
		break;
	case SIM_KIND_STRING:
		random_string(b, seed, f, at);
		break;
	case SIM_KIND_FLOAT64:
		memcpy(at, &d, 8);
		break;
	case SIM_KIND_FLOAT32:
		memcpy(at, &x, 4);
		break;
	case SIM_KIND_BOOL:
		*at = v & 1;
		break;
	case SIM_KIND_UINT64:
		v >>= 1; /* what jansson can hold */
		memcpy(at, &v, 8);
		break;
	case SIM_KIND_TIME:
	case SIM_KIND_DURATION:
		v = random_ros_times ? v >> 4 : v;
		memcpy(at, &v, 8);
		break;
	default:
		memcpy(at, &v, f->elem_size);
	}
}

static inline void random_field(struct sim_builder *b, uint64_t *seed, const struct sim_field *f, uint8_t *s)
{
	struct sim_span span;
	uint32_t n = (uint32_t)(random_next(seed) % 5);
	uint8_t *at = s + f->offset;

	if (f->array == SIM_ARRAY_NONE || f->array == SIM_ARRAY_FIXED) {
		n = f->array == SIM_ARRAY_FIXED ? f->count : 1;
	} else {
		if (f->array == SIM_ARRAY_BOUNDED && n > f->count)
			n = f->count;
		at = sim_builder_array(b, &span, n, f->elem_size, f->elem_align, 0, 1);
		if (!at)
			return;
		memcpy(s + f->offset, &span, sizeof(span));
	}
	for (uint32_t i = 0; i < n; i++)
		random_value(b, seed, f, at + (size_t)i * f->elem_size);
}

static inline void random_struct(struct sim_builder *b, uint64_t *seed, const struct sim_type *t, uint8_t *s)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		random_field(b, seed, &t->fields[i], s);
}

/* Size of the body. */
static inline size_t random_msg(uint64_t *seed, const struct sim_type *t, void *buf, size_t capacity)
{
	struct sim_builder b;

	if (!sim_builder_begin(&b, buf, capacity, t->fixed_size, t->align))
		return 0;
	random_struct(&b, seed, t, b.base);
	return sim_builder_size(&b);
}

#endif
