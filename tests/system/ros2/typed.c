/* SPDX-License-Identifier: Apache-2.0 */
/* See typed.h. Nested messages are flattened into the structure around them; elements of lists have op codes of their own. */
#include "typed.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/ros_tree.h"

#define WORDS_MAX   1024u
#define PENDING_MAX 64u

struct typed {
	const struct ros_type *type;
	char name[128];
	uint32_t ops[WORDS_MAX];
	uint32_t n;
	bool bad;
	struct pending { /* a list of messages or times whose element has yet to be described */
		uint32_t at;
		const struct ros_field *of;
	} pending[PENDING_MAX];
	uint32_t n_pending;
	dds_topic_descriptor_t desc;
};

static const uint8_t sizes[ROS_PRIM_END] = {
#define X(id, bytes) [ROS_##id] = bytes,
	ROS_PRIMS(X)
#undef X
};

/* ---- the structure in memory ---- */

struct extent {
	size_t size, align;
};

static struct extent extent_of(const struct ros_type *t);

static struct extent extent_of_one(const struct ros_field *f)
{
	if (f->prim == ROS_NESTED)
		return extent_of(f->type);
	if (f->prim == ROS_STRING)
		return (struct extent){ sizeof(char *), _Alignof(char *) };
	if (f->prim == ROS_TIME || f->prim == ROS_DURATION)
		return (struct extent){ 8, 4 };
	return (struct extent){ sizes[f->prim], sizes[f->prim] };
}

static struct extent extent_of_field(const struct ros_field *f)
{
	struct extent e = extent_of_one(f);

	if (f->array == ROS_FIXED)
		return (struct extent){ e.size * f->count, e.align };
	if (f->array != ROS_ONE)
		return (struct extent){ sizeof(dds_sequence_t), _Alignof(dds_sequence_t) };
	return e;
}

static size_t up(size_t v, size_t align)
{
	return (v + align - 1) / align * align;
}

static struct extent extent_of(const struct ros_type *t)
{
	struct extent all = { 0, 1 };

	for (uint32_t i = 0; i < t->n_fields; i++) {
		struct extent e = extent_of_field(&t->fields[i]);

		all.size = up(all.size, e.align) + e.size;
		all.align = e.align > all.align ? e.align : all.align;
	}
	all.size = up(all.size ? all.size : 1, all.align);
	return all;
}

/* Where a field lies, behind the one before it; *at moves on. */
static size_t place(const struct ros_field *f, size_t *at)
{
	struct extent e = extent_of_field(f);
	size_t here = up(*at, e.align);

	*at = here + e.size;
	return here;
}

/* ---- op codes ---- */

static void word(struct typed *t, uint32_t w)
{
	if (t->n < WORDS_MAX)
		t->ops[t->n++] = w;
	else
		t->bad = true;
}

/* What a number or a string is: its place among the types, or among the subtypes of a list or an array. */
static uint32_t code_of(unsigned prim, bool sub, bool *bad)
{
	if (prim == ROS_STRING)
		return sub ? DDS_OP_SUBTYPE_STR : DDS_OP_TYPE_STR;
	switch (sizes[prim]) {
	case 1:
		return sub ? DDS_OP_SUBTYPE_1BY : DDS_OP_TYPE_1BY;
	case 2:
		return sub ? DDS_OP_SUBTYPE_2BY : DDS_OP_TYPE_2BY;
	case 4:
		return sub ? DDS_OP_SUBTYPE_4BY : DDS_OP_TYPE_4BY;
	case 8:
		return sub ? DDS_OP_SUBTYPE_8BY : DDS_OP_TYPE_8BY;
	default:
		*bad = true;
		return 0;
	}
}

static void describe(struct typed *t, const struct ros_type *type, size_t base);

static void describe_one(struct typed *t, const struct ros_field *f, size_t at)
{
	if (f->prim == ROS_NESTED) {
		describe(t, f->type, at);
	} else if (f->prim == ROS_TIME || f->prim == ROS_DURATION) {
		word(t, DDS_OP_ADR | DDS_OP_TYPE_4BY | DDS_OP_FLAG_SGN);
		word(t, (uint32_t)at);
		word(t, DDS_OP_ADR | DDS_OP_TYPE_4BY);
		word(t, (uint32_t)at + 4);
	} else {
		word(t, DDS_OP_ADR | code_of(f->prim, false, &t->bad));
		word(t, (uint32_t)at);
	}
}

static bool is_structure(const struct ros_field *f)
{
	return f->prim == ROS_NESTED || f->prim == ROS_TIME || f->prim == ROS_DURATION;
}

/* The word of where it goes on, after n words, and where its element is, which is filled in later. */
static void describe_later(struct typed *t, const struct ros_field *f, uint32_t n)
{
	word(t, n << 16);
	if (t->n_pending == PENDING_MAX || t->bad)
		t->bad = true;
	else
		t->pending[t->n_pending++] = (struct pending){ t->n - 4, f };
}

static void describe_list(struct typed *t, const struct ros_field *f, size_t at)
{
	bool structure = is_structure(f);

	word(t, DDS_OP_ADR | DDS_OP_TYPE_SEQ |
			(structure ? (uint32_t)DDS_OP_SUBTYPE_STU : code_of(f->prim, true, &t->bad)));
	word(t, (uint32_t)at);
	if (!structure)
		return;
	word(t, (uint32_t)extent_of_one(f).size);
	describe_later(t, f, 4);
}

static void describe_array(struct typed *t, const struct ros_field *f, size_t at)
{
	bool structure = is_structure(f);

	word(t, DDS_OP_ADR | DDS_OP_TYPE_ARR |
			(structure ? (uint32_t)DDS_OP_SUBTYPE_STU : code_of(f->prim, true, &t->bad)));
	word(t, (uint32_t)at);
	word(t, f->count);
	if (!structure)
		return;
	describe_later(t, f, 5);
	word(t, (uint32_t)extent_of_one(f).size);
}

static void describe(struct typed *t, const struct ros_type *type, size_t base)
{
	size_t at = 0;

	if (!type->n_fields) { /* ROS puts a byte where nothing is */
		word(t, DDS_OP_ADR | DDS_OP_TYPE_1BY);
		word(t, (uint32_t)base);
	}
	for (uint32_t i = 0; i < type->n_fields; i++) {
		const struct ros_field *f = &type->fields[i];
		size_t here = base + place(f, &at);

		if (f->array == ROS_ONE)
			describe_one(t, f, here);
		else if (f->array == ROS_FIXED)
			describe_array(t, f, here);
		else
			describe_list(t, f, here);
	}
}

/* Its members are const. */
static void make_descriptor(struct typed *t)
{
	struct extent e = extent_of(t->type);
	dds_topic_descriptor_t desc = { .m_size = (uint32_t)e.size,
					.m_align = (uint32_t)e.align,
					.m_typename = t->name,
					.m_nops = t->n,
					.m_ops = t->ops,
					.m_meta = "" };

	memcpy(&t->desc, &desc, sizeof(desc));
}

struct typed *typed_new(const struct ros_type *type)
{
	struct typed *t = type ? calloc(1, sizeof(*t)) : NULL;

	if (!t || ros_type_dds_name(type, t->name, sizeof(t->name)) < 0)
		return NULL;
	t->type = type;
	describe(t, type, 0);
	word(t, DDS_OP_RTS);
	for (uint32_t i = 0; i < t->n_pending && !t->bad; i++) {
		struct pending p = t->pending[i];

		t->ops[p.at + 3] |= t->n - p.at;
		describe_one(t, p.of, 0);
		word(t, DDS_OP_RTS);
	}
	make_descriptor(t);
	return t->bad ? NULL : t;
}

const dds_topic_descriptor_t *typed_descriptor(const struct typed *t)
{
	return &t->desc;
}

void *typed_sample(const struct typed *t)
{
	return calloc(1, extent_of(t->type).size);
}

/* ---- from memory ---- */

static json_t *tree_of(const struct ros_type *t, const uint8_t *from);

static json_t *tree_of_one(const struct ros_field *f, const uint8_t *at)
{
	const char *s;
	int32_t time[2];

	if (f->prim == ROS_NESTED)
		return tree_of(f->type, at);
	if (f->prim == ROS_STRING) {
		memcpy(&s, at, sizeof(s));
		return json_string(s ? s : "");
	}
	if (f->prim == ROS_TIME || f->prim == ROS_DURATION) {
		memcpy(time, at, sizeof(time));
		return json_pack("{si,sI}", "sec", (int)time[0], "nanosec", (json_int_t)(uint32_t)time[1]);
	}
	return ros_tree_number(f->prim, at);
}

static json_t *tree_of_field(const struct ros_field *f, const uint8_t *at)
{
	size_t size = extent_of_one(f).size;
	uint32_t n = f->count;
	dds_sequence_t seq;
	json_t *a;

	if (f->array == ROS_ONE)
		return tree_of_one(f, at);
	if (f->array != ROS_FIXED) {
		memcpy(&seq, at, sizeof(seq));
		n = seq._length;
		at = seq._buffer;
	}
	a = json_array();
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(a, tree_of_one(f, at + i * size));
	return a;
}

static json_t *tree_of(const struct ros_type *t, const uint8_t *from)
{
	json_t *o = json_object();
	size_t at = 0;

	for (uint32_t i = 0; i < t->n_fields; i++)
		json_object_set_new(o, t->fields[i].name,
				    tree_of_field(&t->fields[i], from + place(&t->fields[i], &at)));
	return o;
}

json_t *typed_tree(const struct typed *t, const void *sample)
{
	return tree_of(t->type, sample);
}

/* ---- into memory ---- */

static void fill_number(unsigned prim, json_t *j, void *at)
{
	json_int_t i64 = json_is_boolean(j) ? json_is_true(j) : json_integer_value(j);
	double f64 = json_number_value(j);
	float f32 = (float)f64;

	if (prim == ROS_FLOAT32)
		memcpy(at, &f32, sizeof(f32));
	else if (prim == ROS_FLOAT64)
		memcpy(at, &f64, sizeof(f64));
	else
		memcpy(at, &i64, sizes[prim]);
}

static int fill(const struct ros_type *t, json_t *j, uint8_t *to);

static int fill_one(const struct ros_field *f, json_t *j, uint8_t *at)
{
	uint32_t time[2];
	char *s;

	if (f->prim == ROS_NESTED)
		return fill(f->type, j, at);
	if (f->prim == ROS_STRING) {
		s = strdup(j ? json_string_value(j) : "");
		memcpy(at, &s, sizeof(s));
	} else if (f->prim == ROS_TIME || f->prim == ROS_DURATION) {
		time[0] = (uint32_t)json_integer_value(json_object_get(j, "sec"));
		time[1] = (uint32_t)json_integer_value(json_object_get(j, "nanosec"));
		memcpy(at, time, sizeof(time));
	} else {
		fill_number(f->prim, j, at);
	}
	return 0;
}

/* A list becomes a sequence, an array lies in place. */
static int fill_many(const struct ros_field *f, json_t *j, uint8_t *at)
{
	size_t size = extent_of_one(f).size, n = json_array_size(j);
	dds_sequence_t seq = { ._maximum = (uint32_t)n, ._length = (uint32_t)n, ._release = true };
	uint8_t *to = at;

	if (f->array != ROS_FIXED) {
		seq._buffer = to = calloc(n + 1, size);
		memcpy(at, &seq, sizeof(seq));
	}
	if (!to || (f->array == ROS_FIXED && n > f->count))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (fill_one(f, json_array_get(j, i), to + i * size) < 0)
			return -1;
	return 0;
}

static int fill(const struct ros_type *t, json_t *j, uint8_t *to)
{
	size_t at = 0, known = 0;

	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct ros_field *f = &t->fields[i];
		json_t *v = json_object_get(j, f->name);
		uint8_t *here = to + place(f, &at);

		known += v != NULL;
		if ((f->array == ROS_ONE ? fill_one(f, v, here) : fill_many(f, v, here)) < 0)
			return -1;
	}
	return known == json_object_size(j) ? 0 : -1;
}

int typed_fill(const struct typed *t, json_t *tree, void *sample)
{
	return fill(t->type, tree, sample);
}
