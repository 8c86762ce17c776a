/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf with fields by order: see dec_pb.h. A message is scanned once when it is opened, to find the positions of
 * its fields, so that reading them takes linear time, in whatever order they are.
 */
#include "dec_pb.h"

#include <errno.h>
#include <stdlib.h>

#include "named_private.h"

#define FRAME_MAX 255u

struct dec_pb_block {
	struct dec_pb_block *older;
	_Alignas(16) uint8_t bytes[];
};

static struct dec_pb *pb_of(struct sim_dec *d)
{
	return (struct dec_pb *)(void *)d;
}

static void *keep(struct dec_pb *d, size_t n)
{
	struct dec_pb_block *b = malloc(sizeof(*b) + n);

	if (!b) {
		sim_dec_fail(&d->dec, -ENOMEM);
		return NULL;
	}
	b->older = d->blocks;
	d->blocks = b;
	return b->bytes;
}

static void forget(struct dec_pb *d)
{
	for (struct dec_pb_block *b = d->blocks, *older; b; b = older) {
		older = b->older;
		free(b);
	}
	d->blocks = NULL;
}

/* ---- finding ---- */

static void check(struct dec_pb *d)
{
	if (d->error)
		sim_dec_fail(&d->dec, d->error);
}

static int by_number(const void *key, const void *entry)
{
	uint32_t a = *(const uint32_t *)key, b = ((const struct pb_entry *)entry)->number;

	return (a > b) - (a < b);
}

/*
 * Index in the table, from 1, of the field at the reader's position. 0: the table lacks it, or its wire type differs.
 * Tries the entry after `before` first, where most fields are found.
 */
static uint32_t place_in(const struct pb_message *m, const struct pb_reader *r, uint32_t before)
{
	const struct pb_entry *f = before < m->n ? &m->entry[before] : NULL;

	if (before && m->entry[before - 1].number == r->field)
		f = &m->entry[before - 1];
	else if (!f || f->number != r->field)
		f = m->n ? bsearch(&r->field, m->entry, m->n, sizeof(*m->entry), by_number) : NULL;
	if (!f || (r->wire != f->wire && !(f->list && r->wire == PB_LENGTH)))
		return 0;
	return (uint32_t)(f - m->entry) + 1;
}

/* Opens a message and records where its fields are. */
static void open_message(struct dec_pb *d, struct dec_pb_level *l, const struct pb_reader *message,
			 const struct pb_message *table)
{
	struct pb_reader r = *message;
	const uint8_t *at = r.at;
	uint32_t i = 0, place;

	l->r = *message;
	l->number = 0;
	l->list = false;
	l->table = table;
	l->asks = table && table->words;
	l->made = ++d->made;
	for (; pb_next(&r); at = r.at) {
		struct dec_pb_field *f;

		place = table ? place_in(table, &r, i) : r.field <= DEC_PB_FIELDS ? r.field : 0;
		if (!place) {
			if (!d->unknown)
				d->unknown = table ? r.field : 0;
			continue;
		}
		i = place;
		f = &l->field[place];
		if (f->made != l->made)
			f->first = at;
		f->made = l->made;
		f->last = at;
	}
	check(d);
}

/* Finds the next field, at its last occurrence; in a list the next element. False: it is absent. */
static bool find(struct dec_pb *d, struct pb_reader *ret, const struct dec_pb_field **ret_field)
{
	struct dec_pb_level *l;
	const struct dec_pb_field *f;

	if (d->dec.err) /* level[depth] may not exist */
		return false;
	l = &d->level[d->depth];
	if (l->list) {
		while (pb_next(&l->r))
			if (l->r.field == l->tag && l->r.wire == PB_LENGTH) {
				*ret = l->r;
				return true;
			}
		return false;
	}
	f = ++l->number <= (l->table ? l->table->n : DEC_PB_FIELDS) ? &l->field[l->number] : NULL;
	l->tag = f && l->table ? l->table->entry[l->number - 1].number : l->number;
	if (!f || f->made != l->made)
		return false;
	*ret = l->r;
	ret->at = f->last;
	*ret_field = f;
	return pb_next(ret);
}

static bool find_value(struct dec_pb *d, struct pb_reader *ret)
{
	const struct dec_pb_field *f;

	return find(d, ret, &f);
}

/* Table entry of the field searched last; NULL: no table, or an element of a list. */
static const struct pb_entry *entry_of(const struct dec_pb *d)
{
	const struct dec_pb_level *l = d->dec.err ? NULL : &d->level[d->depth];

	return l && l->table && !l->list && l->number && l->number <= l->table->n ? &l->table->entry[l->number - 1]
										  : NULL;
}

static bool push(struct dec_pb *d)
{
	if (++d->depth < DEC_PB_DEPTH)
		return true;
	sim_dec_fail(&d->dec, -E2BIG); /* find() returns false from now on */
	return false;
}

/* ---- values ---- */

/* take() with a table: a value that is too large loses its upper bits, as in protobuf. */
static bool take_entry(struct pb_reader *r, const struct pb_entry *f, enum sim_kind kind, void *ret)
{
	size_t size = named_size(kind);
	uint64_t u = 0;
	double d;
	float s;

	if (f->wire == PB_FIXED64 && pb_item_f64(r, &d)) {
		memcpy(ret, &d, sizeof(d));
		return true;
	}
	if (f->wire == PB_FIXED32 && pb_item_f32(r, &s)) {
		memcpy(ret, &s, sizeof(s));
		return true;
	}
	if (f->wire != PB_VARINT || !pb_item_u64(r, &u))
		return false;
	if (f->zigzag) {
		u = size == 4 ? (uint32_t)u : u;
		u = u >> 1 ^ (0 - (u & 1));
	}
	if (kind == SIM_KIND_BOOL)
		u = u != 0;
	memcpy(ret, &u, size);
	return true;
}

/* Reads a number into ret. False: the wire type does not fit. */
static bool take(struct dec_pb *d, struct pb_reader *r, enum sim_kind kind, void *ret)
{
	const struct pb_entry *f = entry_of(d);
	uint64_t u = 0;
	bool negative;

	if (f)
		return take_entry(r, f, kind, ret);
	if (kind == SIM_KIND_FLOAT64 || kind == SIM_KIND_FLOAT32)
		return kind == SIM_KIND_FLOAT64 ? pb_item_f64(r, ret) : pb_item_f32(r, ret);
	if (!pb_item_u64(r, &u))
		return false;
	if (kind == SIM_KIND_BOOL)
		u = u != 0;
	negative = (int64_t)u < 0 && kind != SIM_KIND_UINT64;
	if (!named_store_integer(kind, negative, u, ret))
		sim_dec_fail(&d->dec, -EBADMSG);
	return true;
}

static void pb_value(struct sim_dec *s, const char *name, enum sim_kind kind, void *ret)
{
	const struct pb_entry *f;
	struct pb_reader r;

	(void)name;
	memset(ret, 0, named_size(kind));
	if (find_value(pb_of(s), &r) && r.wire != PB_LENGTH) {
		take(pb_of(s), &r, kind, ret);
		return;
	}
	f = entry_of(pb_of(s));
	if (f && f->absent)
		memcpy(ret, f->absent, named_size(kind));
}

static const char *text(struct dec_pb *d, const struct pb_reader *r, size_t max, size_t *ret_len)
{
	const void *p = "";

	*ret_len = 0;
	pb_get_bytes(r, &p, ret_len);
	if (*ret_len > max) {
		sim_dec_fail(&d->dec, -EMSGSIZE);
		*ret_len = 0;
	}
	return p;
}

static const char *pb_string_read(struct sim_dec *s, const char *name, size_t max, size_t *ret_len)
{
	const struct pb_entry *f;
	struct pb_reader r;

	(void)name;
	*ret_len = 0;
	if (find_value(pb_of(s), &r))
		return text(pb_of(s), &r, max, ret_len);
	f = entry_of(pb_of(s));
	if (!f || !f->absent)
		return "";
	*ret_len = f->absent_len;
	return f->absent;
}

/* Reads a message Time; returns ns. */
static int64_t time_of(struct dec_pb *d, const struct pb_reader *message)
{
	struct pb_reader r;
	int64_t sec = 0, ns;
	uint32_t nanosec = 0;

	for (pb_enter(message, &r); pb_next(&r);) {
		if (r.field == 1)
			pb_get_i64(&r, &sec);
		else if (r.field == 2)
			pb_get_u32(&r, &nanosec);
	}
	check(d);
	if (!__builtin_mul_overflow(sec, 1000000000, &ns) && !__builtin_add_overflow(ns, nanosec, &ns))
		return ns;
	/* the earliest representable second fits only together with its nanoseconds */
	if (sec < 0 && !__builtin_mul_overflow(sec + 1, 1000000000, &ns) &&
	    !__builtin_add_overflow(ns, (int64_t)nanosec - 1000000000, &ns))
		return ns;
	sim_dec_fail(&d->dec, -EBADMSG);
	return 0;
}

static int64_t pb_time(struct sim_dec *s, const char *name, enum sim_kind kind)
{
	struct pb_reader r;

	(void)name;
	(void)kind;
	return find_value(pb_of(s), &r) ? time_of(pb_of(s), &r) : 0;
}

/* ---- arrays ---- */

/* Reads all numbers of a field; with to NULL only counts them. */
static uint32_t gather(struct dec_pb *d, const struct pb_reader *message, const struct dec_pb_field *f,
		       enum sim_kind kind, uint8_t *to)
{
	const uint8_t *behind = f->last;
	struct pb_reader r = *message;
	uint32_t n = 0;
	uint64_t any;

	for (r.at = f->first; r.at <= behind && !d->dec.err && pb_next(&r);) {
		if (r.field != d->level[d->depth].tag)
			continue;
		while (take(d, &r, kind, to ? to + (size_t)n * named_size(kind) : (uint8_t *)&any))
			n++;
	}
	check(d);
	return d->dec.err ? 0 : n;
}

static const void *numbers(struct dec_pb *d, const struct pb_reader *r, const struct dec_pb_field *f,
			   enum sim_kind kind, uint32_t *ret_n)
{
	bool as_it_lies = kind == SIM_KIND_UINT8 || kind == SIM_KIND_FLOAT32 || kind == SIM_KIND_FLOAT64;
	size_t size = named_size(kind);
	void *to;

	if (as_it_lies && r->wire == PB_LENGTH && (kind == SIM_KIND_UINT8 || f->first == f->last)) {
		if (r->len % size)
			sim_dec_fail(&d->dec, -EBADMSG);
		*ret_n = d->dec.err ? 0 : (uint32_t)(r->len / size);
		return r->data;
	}
	if (kind == SIM_KIND_UINT8) /* uint8[] is `bytes` in protobuf, never repeated */
		return NULL;
	*ret_n = gather(d, &d->level[d->depth].r, f, kind, NULL);
	to = *ret_n ? keep(d, *ret_n * size) : NULL;
	*ret_n = to ? gather(d, &d->level[d->depth].r, f, kind, to) : 0;
	return to;
}

static uint32_t counted(struct dec_pb *d, uint32_t n, uint32_t fixed)
{
	if (fixed && n > fixed)
		sim_dec_fail(&d->dec, -EBADMSG);
	return d->dec.err ? 0 : n;
}

/* Computes the words of `present`. */
static const void *words(struct dec_pb_level *l, uint32_t *ret_n)
{
	memset(l->present, 0, sizeof(l->present));
	for (uint32_t i = 0; i < l->table->n; i++) {
		int bit = l->table->entry[i].bit;

		if (bit >= 0 && l->field[i + 1].made == l->made)
			l->present[bit / 32] |= 1u << bit % 32;
	}
	l->asks = false;
	*ret_n = l->table->words;
	return l->present;
}

static const void *pb_array(struct sim_dec *s, const char *name, enum sim_kind kind, uint32_t fixed, uint32_t *ret_n)
{
	struct dec_pb *d = pb_of(s);
	const struct dec_pb_field *f;
	const struct pb_entry *e;
	const void *p = NULL;
	struct pb_reader r;

	(void)name;
	*ret_n = 0;
	if (!d->dec.err && d->level[d->depth].asks)
		return words(&d->level[d->depth], ret_n);
	if (find(d, &r, &f)) {
		p = numbers(d, &r, f, kind, ret_n);
	} else if ((e = entry_of(d)) && e->absent) {
		p = e->absent;
		*ret_n = (uint32_t)e->absent_len;
	}
	*ret_n = counted(d, *ret_n, fixed);
	return *ret_n ? p : NULL;
}

/* ---- messages and lists of them ---- */

static void pb_begin_nested(struct sim_dec *s, const char *name)
{
	struct dec_pb *d = pb_of(s);
	struct pb_reader r = { .wire = PB_TAKEN, .error = &d->error }, in;
	const struct pb_message *table;

	(void)name;
	find_value(d, &r);
	pb_enter(&r, &in);
	check(d);
	table = d->dec.err ? NULL : d->level[d->depth].table;
	if (push(d))
		open_message(d, &d->level[d->depth], &in, table);
}

static void pb_end_nested(struct sim_dec *s)
{
	pb_of(s)->depth--;
}

/* Counts the messages or strings in a field. */
static uint32_t count(struct dec_pb *d, const struct pb_reader *message, const struct dec_pb_field *f, uint32_t number)
{
	struct pb_reader r = *message;
	uint32_t n = 0;

	while (r.at <= f->last && pb_next(&r))
		n += r.field == number && r.wire == PB_LENGTH;
	check(d);
	return n;
}

static uint32_t pb_list(struct sim_dec *s, const char *name, uint32_t fixed, size_t min)
{
	struct dec_pb *d = pb_of(s);
	const struct dec_pb_field *f;
	const struct pb_entry *e;
	struct pb_reader r = { .error = &d->error };
	uint32_t n = 0, tag = 0;

	(void)name;
	(void)min; /* not a limit here: an element takes two bytes on the wire and may be all zero */
	if (find(d, &r, &f)) {
		e = entry_of(d);
		r = d->level[d->depth].r;
		r.at = e && !e->list ? f->last : f->first;
		tag = d->level[d->depth].tag;
		n = count(d, &r, f, tag);
	}
	e = entry_of(d);
	if (push(d)) {
		d->level[d->depth].r = r;
		d->level[d->depth].tag = tag;
		d->level[d->depth].list = true;
		d->level[d->depth].asks = false;
		d->level[d->depth].table = e ? e->message : NULL;
	}
	return counted(d, n, fixed);
}

static int64_t pb_header(struct sim_dec *s, const char *name, const char **ret_frame, size_t *ret_len)
{
	struct dec_pb *d = pb_of(s);
	struct pb_reader r = { .wire = PB_TAKEN, .error = &d->error }, in;
	const char *frame = "";
	size_t len = 0;
	int64_t ns = 0;

	(void)name;
	find_value(d, &r);
	for (pb_enter(&r, &in); pb_next(&in);) {
		if (in.field == 1)
			ns = time_of(d, &in);
		else if (in.field == 2)
			frame = text(d, &in, FRAME_MAX, &len);
	}
	check(d);
	if (ret_frame) {
		*ret_frame = frame;
		*ret_len = len;
	}
	return ns;
}

static const struct sim_dec_ops pb_ops = {
	.abi = SIM_DEC_ABI,
	.size = sizeof(pb_ops),
	.value = pb_value,
	.string = pb_string_read,
	.time = pb_time,
	.array = pb_array,
	.begin = pb_begin_nested,
	.end = pb_end_nested,
	.list = pb_list,
	.list_end = pb_end_nested,
	.header = pb_header,
};

void dec_pb_init(struct dec_pb *d)
{
	memset(d, 0, sizeof(*d));
}

void dec_pb_finish(struct dec_pb *d)
{
	forget(d);
}

void dec_pb_begin_table(struct dec_pb *d, const void *data, size_t len, const struct pb_message *table)
{
	struct pb_reader r;

	forget(d);
	d->dec = (struct sim_dec){ .ops = &pb_ops };
	d->error = 0;
	d->unknown = 0;
	d->depth = 0;
	pb_read_begin(&r, data, len, &d->error);
	open_message(d, &d->level[0], &r, table);
}

void dec_pb_begin(struct dec_pb *d, const void *data, size_t len)
{
	dec_pb_begin_table(d, data, len, NULL);
}
