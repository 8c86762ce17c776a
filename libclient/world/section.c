/* SPDX-License-Identifier: Apache-2.0 */
/* section.h: the object, and encoding. Decoding: section_decode.c */
#include "section.h"

#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL /* header only: nothing is linked */
#include <xxhash.h>

#include "mem.h"
#include "section_private.h"

/* As it is hashed: little-endian, as are all supported machines. */
struct hashed {
	uint64_t id;
	uint32_t code, owner;
	int64_t motion[MOTION_N];
};
_Static_assert(sizeof(struct hashed) == 128 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "what is hashed has no padding");

uint64_t object_hash(const struct object_state *o)
{
	struct hashed h = { .id = o->id, .code = o->code, .owner = o->owner };
	XXH64_state_t x;

	memcpy(h.motion, o->motion.v, sizeof(h.motion));
	XXH64_reset(&x, 0);
	XXH64_update(&x, &h, sizeof(h));
	if (o->body)
		XXH64_update(&x, o->body->data, o->body->len);
	return XXH64_digest(&x);
}

static int check(const struct object_state *objects, uint32_t count)
{
	if (count > SECTION_OBJECTS_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < count; i++)
		if (objects[i].id <= (i ? objects[i - 1].id : 0))
			return -EINVAL;
	return 0;
}

int section_create(struct section_key key, uint64_t tick, int64_t time_sim_ns, const struct object_state *objects,
		   uint32_t count, struct section **ret)
{
	struct section *s = NULL;
	int r = check(objects, count);

	if (!r) {
		s = mem_alloc(sizeof(*s) + count * sizeof(*objects));
		r = s ? 0 : -ENOMEM;
	}
	if (r) {
		for (uint32_t i = 0; i < count; i++)
			body_unref(objects[i].body);
		return r;
	}
	*s = (struct section){ .refs = 1, .count = count, .key = key, .tick = tick, .time_sim_ns = time_sim_ns };
	if (count)
		memcpy(s->objects, objects, count * sizeof(*objects));
	for (uint32_t i = 0; i < count; i++)
		s->hash += object_hash(&s->objects[i]);
	*ret = s;
	return 0;
}

struct section *section_ref(struct section *s)
{
	if (s)
		atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void section_unref(struct section *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (uint32_t i = 0; i < s->count; i++)
		body_unref(s->objects[i].body);
	mem_free(s);
}

const struct object_state *section_find(const struct section *s, uint64_t id)
{
	uint32_t low = 0, high = s->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->objects[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->count && s->objects[low].id == id ? &s->objects[low] : NULL;
}

/* ---- encoding ---- */

/* The numbers minus the prediction, without trailing zeros. */
static void encode_motion(const struct motion *m, const struct motion *predicted, struct wire_buf *row)
{
	uint8_t numbers[MOTION_N * WIRE_VARINT_MAX], *at = numbers, *end = numbers;

	for (int i = 0; i < MOTION_N; i++) {
		uint64_t v = wire_zigzag((int64_t)((uint64_t)m->v[i] - (uint64_t)predicted->v[i]));

		at = wire_put(at, v);
		if (v)
			end = at;
	}
	if (end > numbers)
		wire_bytes(row, ROW_MOTION, numbers, (size_t)(end - numbers));
}

static void encode_body(const struct body *base, const struct body *b, struct wire_buf *row, struct wire_buf *scratch)
{
	if (body_equal(base, b))
		return;
	scratch->len = 0;
	if (body_diff(base, b, scratch)) {
		if (scratch->len)
			wire_bytes(row, ROW_BODY, scratch->data, scratch->len);
		return;
	}
	if (b)
		wire_bytes(row, ROW_BODY, b->data, b->len);
	wire_u64(row, ROW_WHOLE, 1);
}

/* A row without its id. base: the object in the base, or NULL. */
static void encode_object(const struct object_state *o, const struct object_state *base, int64_t dt,
			  struct wire_buf *row, struct wire_buf *scratch)
{
	struct motion predicted = { 0 };

	if (base)
		motion_predict(&base->motion, dt, &predicted);
	if (!base || base->code != o->code)
		wire_u64(row, ROW_CODE, o->code);
	if (!base || base->owner != o->owner)
		wire_u64(row, ROW_OWNER, o->owner);
	encode_motion(&o->motion, &predicted, row);
	encode_body(base ? base->body : NULL, o->body, row, scratch);
}

struct encoder {
	struct wire_buf *out, row, fields, scratch;
	uint64_t last_id;
	int64_t dt;
};

static void encode_row(struct encoder *e, const struct object_state *o, const struct object_state *base)
{
	e->fields.len = 0;
	encode_object(o, base, e->dt, &e->fields, &e->scratch);
	if (base && !e->fields.len)
		return;
	e->row.len = 0;
	wire_u64(&e->row, ROW_ID, o->id - e->last_id);
	wire_append(&e->row, e->fields.data, e->fields.len);
	wire_bytes(e->out, SECTION_ROW, e->row.data, e->row.len);
	e->last_id = o->id;
}

/* Both ascend by id. */
static void encode_rows(struct encoder *e, const struct section *s, const struct section *base)
{
	uint32_t j = 0, n = base ? base->count : 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct object_state *o = &s->objects[i];

		while (j < n && base->objects[j].id < o->id)
			j++;
		encode_row(e, o, j < n && base->objects[j].id == o->id ? &base->objects[j] : NULL);
	}
}

static void encode_left(struct encoder *e, const struct section *s, const struct section *base)
{
	uint32_t i = 0;

	e->row.len = 0;
	for (uint32_t j = 0; base && j < base->count; j++) {
		uint64_t id = base->objects[j].id;
		uint8_t *at;

		while (i < s->count && s->objects[i].id < id)
			i++;
		if (i < s->count && s->objects[i].id == id)
			continue;
		at = wire_room(&e->row, WIRE_VARINT_MAX);
		if (at)
			e->row.len = (size_t)(wire_put(at, id) - e->row.data);
	}
	if (e->row.len)
		wire_bytes(e->out, SECTION_LEFT, e->row.data, e->row.len);
}

/* As in protobuf: a number that is 0 is omitted. */
static void put_u64(struct wire_buf *out, unsigned field, uint64_t v)
{
	if (v)
		wire_u64(out, field, v);
}

void section_encode(const struct section *s, const struct section *base, struct wire_buf *out)
{
	struct encoder e = { .out = out, .dt = base ? s->time_sim_ns - base->time_sim_ns : 0 };

	put_u64(out, SECTION_X, (uint32_t)wire_zigzag(s->key.x));
	put_u64(out, SECTION_Y, (uint32_t)wire_zigzag(s->key.y));
	put_u64(out, SECTION_LEVEL, s->key.level);
	put_u64(out, SECTION_TICK, s->tick);
	put_u64(out, SECTION_BASE, base ? base->tick : 0);
	encode_rows(&e, s, base);
	encode_left(&e, s, base);
	put_u64(out, SECTION_COUNT, s->count);
	if (s->hash)
		wire_fixed64(out, SECTION_HASH, s->hash);
	put_u64(out, SECTION_TIME, (uint64_t)s->time_sim_ns);
	out->failed |= e.row.failed | e.fields.failed | e.scratch.failed;
	wire_buf_finish(&e.row);
	wire_buf_finish(&e.fields);
	wire_buf_finish(&e.scratch);
}
