/* SPDX-License-Identifier: Apache-2.0 */
/* section.h: decoding. No part of a frame is trusted. */
#include <errno.h>
#include <string.h>

#include "mem.h"
#include "section.h"
#include "section_private.h"

struct frame {
	struct section_head head;
	uint64_t count, hash;
	int64_t time_sim_ns;
	uint32_t rows;
};

/* Reads a number of the head. False: not a field of the head. */
static bool head_field(struct frame *f, const struct wire_field *w)
{
	int64_t place = wire_unzigzag(w->value);

	switch (w->number) {
	case SECTION_X:
		f->head.key.x = (int32_t)place;
		return true;
	case SECTION_Y:
		f->head.key.y = (int32_t)place;
		return true;
	case SECTION_LEVEL:
		f->head.key.level = w->value < SECTION_LEVELS ? (uint32_t)w->value : SECTION_LEVELS;
		return true;
	case SECTION_TICK:
		f->head.tick = w->value;
		return true;
	case SECTION_BASE:
		f->head.base = w->value;
		return true;
	case SECTION_COUNT:
		f->count = w->value;
		return true;
	case SECTION_TIME:
		f->time_sim_ns = (int64_t)w->value;
		return true;
	default:
		return false;
	}
}

static int read_frame(const void *data, size_t len, struct frame *ret)
{
	struct wire_cursor c = wire_cursor(data, len);
	struct frame f = { 0 };
	struct wire_field w;

	while (wire_next(&c, &w)) {
		if (w.type == WIRE_VARINT)
			head_field(&f, &w);
		else if (w.type == WIRE_FIXED64 && w.number == SECTION_HASH)
			f.hash = w.value;
		else if (w.type == WIRE_LENGTH && w.number == SECTION_ROW && ++f.rows > SECTION_OBJECTS_MAX)
			return -E2BIG;
	}
	if (c.bad || !f.head.tick || f.head.base >= f.head.tick || f.head.key.level == SECTION_LEVELS)
		return -EBADMSG;
	*ret = f;
	return 0;
}

int section_peek(const void *data, size_t len, struct section_head *ret)
{
	struct frame f;
	int r = read_frame(data, len, &f);

	if (!r)
		*ret = f.head;
	return r;
}

/* ---- one row ---- */

struct row {
	uint64_t id; /* 0: no more rows */
	bool has_code, has_owner, whole;
	uint32_t code, owner;
	struct wire_field motion, body; /* number 0: absent */
};

static bool number_of_32(const struct wire_field *w, uint32_t *ret)
{
	*ret = (uint32_t)w->value;
	return w->value <= UINT32_MAX;
}

static bool row_field(struct row *row, const struct wire_field *w)
{
	bool length = w->number == ROW_MOTION || w->number == ROW_BODY;

	if (w->number > ROW_WHOLE)
		return true;
	if (w->type != (length ? WIRE_LENGTH : WIRE_VARINT))
		return false;
	switch (w->number) {
	case ROW_ID:
		row->id = w->value;
		return true;
	case ROW_CODE:
		row->has_code = true;
		return number_of_32(w, &row->code);
	case ROW_OWNER:
		row->has_owner = true;
		return number_of_32(w, &row->owner);
	case ROW_MOTION:
		row->motion = *w;
		return true;
	case ROW_BODY:
		row->body = *w;
		return true;
	default:
		row->whole = w->value != 0;
		return true;
	}
}

/* Rows and removed ids, each in the order of the frame. */
struct decoder {
	const struct section *base;
	int64_t dt;
	struct wire_cursor rows, lefts, left; /* left: inside a packed list */
	struct row row;                       /* the next row */
	uint64_t left_id;                     /* the next removed id; 0: none */
	struct section *s;
	uint32_t room;
	int error;
};

static void next_row(struct decoder *d)
{
	struct row row = { 0 };
	struct wire_field w = { 0 }, f;
	struct wire_cursor c;

	while (wire_next(&d->rows, &w))
		if (w.number == SECTION_ROW && w.type == WIRE_LENGTH)
			break;
	if (w.number != SECTION_ROW || w.type != WIRE_LENGTH) {
		d->row = row;
		return;
	}
	c = wire_cursor(w.data, w.value);
	while (!d->error && wire_next(&c, &f))
		if (!row_field(&row, &f))
			d->error = -EBADMSG;
	if (c.bad || !row.id || __builtin_add_overflow(row.id, d->row.id, &row.id))
		d->error = -EBADMSG;
	d->row = row;
}

static void next_left(struct decoder *d)
{
	uint64_t before = d->left_id, id = 0;
	struct wire_field w;

	while (d->left.at == d->left.end && wire_next(&d->lefts, &w))
		if (w.number == SECTION_LEFT && w.type == WIRE_LENGTH)
			d->left = wire_cursor(w.data, w.value);
		else if (w.number == SECTION_LEFT)
			d->error = -EBADMSG;
	if (d->left.at != d->left.end && (!wire_varint(&d->left, &id) || id <= before))
		d->error = -EBADMSG;
	d->left_id = id;
}

static int decode_motion(const struct wire_field *w, struct motion *m)
{
	struct wire_cursor c = wire_cursor(w->data, w->value);
	uint64_t v;

	for (int i = 0; c.at < c.end; i++) {
		if (i == MOTION_N || !wire_varint(&c, &v))
			return -EBADMSG;
		m->v[i] = (int64_t)((uint64_t)m->v[i] + (uint64_t)wire_unzigzag(v));
	}
	return 0;
}

static int decode_body(const struct row *row, const struct body *base, struct body **ret)
{
	const void *data = row->body.number ? row->body.data : NULL;
	size_t len = row->body.number ? row->body.value : 0;

	return row->whole ? body_create(data, len, ret) : body_merge(base, data, len, ret);
}

/* Decodes an object of the base, with its row if it has one, or a new object. */
static int decode_object(struct decoder *d, const struct object_state *base, const struct row *row)
{
	struct object_state o = { 0 };
	int r = 0;

	if (d->s->count == d->room)
		return -EBADMSG;
	if (base)
		o = *base;
	if (base)
		motion_predict(&base->motion, d->dt, &o.motion);
	if (row) {
		o.id = row->id;
		o.code = row->has_code ? row->code : o.code;
		o.owner = row->has_owner ? row->owner : o.owner;
		r = decode_motion(&row->motion, &o.motion);
	}
	if (r || !motion_valid(&o.motion))
		return -EBADMSG;
	if (row && (row->whole || row->body.number))
		r = decode_body(row, base ? base->body : NULL, &o.body);
	else
		body_ref(o.body);
	if (!r)
		d->s->objects[d->s->count++] = o;
	return r;
}

/* Base and rows ascend by id: the smaller id is next. */
static void merge(struct decoder *d)
{
	uint32_t i = 0, n = d->base ? d->base->count : 0;

	while (!d->error && (i < n || d->row.id)) {
		const struct object_state *base = i < n ? &d->base->objects[i] : NULL;
		bool of_base = base && (!d->row.id || base->id <= d->row.id);
		bool has_row = d->row.id && (!of_base || base->id == d->row.id);

		if (of_base && base->id == d->left_id) {
			next_left(d);
			if (has_row)
				d->error = -EBADMSG;
		} else {
			int r = decode_object(d, of_base ? base : NULL, has_row ? &d->row : NULL);

			d->error = d->error ? d->error : r;
		}
		i += of_base;
		if (has_row && !d->error)
			next_row(d);
	}
	if (!d->error && d->left_id)
		d->error = -EBADMSG;
}

static int finish(struct decoder *d, const struct frame *f)
{
	struct section *s = d->s;

	if (d->error)
		return d->error;
	for (uint32_t i = 0; i < s->count; i++)
		s->hash += object_hash(&s->objects[i]);
	return s->count == f->count && s->hash == f->hash ? 0 : -ESTALE;
}

/* Whether the given base is the one that the frame was made from. */
static bool fits(const struct frame *f, const struct section *base)
{
	if (!f->head.base)
		return !base;
	return base && base->tick == f->head.base && section_key_equal(base->key, f->head.key);
}

int section_decode(const void *data, size_t len, const struct section *base, struct section **ret)
{
	struct decoder d = { .base = base, .rows = wire_cursor(data, len), .lefts = wire_cursor(data, len) };
	struct frame f;
	int r = read_frame(data, len, &f);

	if (r)
		return r;
	if (!fits(&f, base) || (base && __builtin_sub_overflow(f.time_sim_ns, base->time_sim_ns, &d.dt)))
		return -EBADMSG;
	d.room = f.rows + (base ? base->count : 0);
	if (d.room > SECTION_OBJECTS_MAX)
		d.room = SECTION_OBJECTS_MAX;
	d.s = mem_alloc(sizeof(*d.s) + d.room * sizeof(d.s->objects[0]));
	if (!d.s)
		return -ENOMEM;
	*d.s = (struct section){ .refs = 1, .key = f.head.key, .tick = f.head.tick, .time_sim_ns = f.time_sim_ns };
	next_row(&d);
	next_left(&d);
	merge(&d);
	r = finish(&d, &f);
	if (r) {
		section_unref(d.s);
		return r;
	}
	*ret = d.s;
	return 0;
}
