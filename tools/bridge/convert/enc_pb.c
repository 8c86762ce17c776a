/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf with fields by order: see enc_pb.h. */
#include "enc_pb.h"

#include <errno.h>

static const uint8_t sizes[SIM_KIND_END] = {
#define X(id, num, name, bytes) [SIM_KIND_##id] = bytes,
	SIM_KINDS(X)
#undef X
};

static struct enc_pb *pb_of(struct sim_enc *e)
{
	return (struct enc_pb *)(void *)e;
}

/* A number as the value of a varint. */
static uint64_t varint_of(enum sim_kind kind, const void *v)
{
	unsigned shift = 64 - 8u * sizes[kind];
	uint64_t u = 0;

	memcpy(&u, v, sizes[kind]);
	switch (kind) {
	case SIM_KIND_BOOL:
		return u != 0;
	case SIM_KIND_INT8:
	case SIM_KIND_INT16:
	case SIM_KIND_INT32:
	case SIM_KIND_INT64:
		return (uint64_t)((int64_t)(u << shift) >> shift);
	default:
		return u;
	}
}

/* Whether arrays are on the wire as in memory; bools are, once normalised to 0 and 1. */
static bool is_plain(enum sim_kind kind)
{
	return kind == SIM_KIND_UINT8 || kind == SIM_KIND_FLOAT32 || kind == SIM_KIND_FLOAT64;
}

static uint8_t *put_varints(uint8_t *to, enum sim_kind kind, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to = pb_put_varint(to, varint_of(kind, from + (size_t)i * sizes[kind]));
	return to;
}

/* ---- with a table ---- */

static uint8_t *put_item(uint8_t *to, const struct pb_entry *f, enum sim_kind kind, const void *v)
{
	uint64_t u;

	if (f->wire != PB_VARINT) {
		memcpy(to, v, sizes[kind]);
		return to + sizes[kind];
	}
	u = varint_of(kind, v);
	return pb_put_varint(to, f->zigzag ? u << 1 ^ (uint64_t)((int64_t)u >> 63) : u);
}

/* Elements of a repeated field, each with a tag, or packed behind one tag. */
static uint8_t *put_items(uint8_t *to, const struct pb_entry *f, enum sim_kind kind, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!f->packed)
			to = pb_put_tag(to, f->number, f->wire);
		to = put_item(to, f, kind, from + (size_t)i * sizes[kind]);
	}
	return to;
}

static void put_repeated(struct pb_writer *w, const struct pb_entry *f, enum sim_kind kind, const void *data,
			 uint32_t n)
{
	uint8_t *at;

	if (f->packed && f->wire != PB_VARINT) {
		pb_bytes(w, f->number, data, (size_t)n * sizes[kind]);
		return;
	}
	if (f->packed)
		pb_open(w, f->number);
	at = pb_room(w, (size_t)n * (PB_TAG_MAX + PB_VARINT_MAX));
	if (at)
		pb_wrote(w, put_items(at, f, kind, data, n));
	if (f->packed)
		pb_close(w);
	w->out->copied += (uint64_t)n * sizes[kind];
}

static bool is_zero(const uint8_t *v, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (v[i])
			return false;
	return true;
}

/* ---- levels ---- */

/* Encodes the numbers that the mapping has filled in. */
static void flush(struct enc_pb *e)
{
	if (!e->late.n)
		return;
	if (e->late.entry)
		pb_wrote(&e->w, put_items(e->late.to, e->late.entry, e->late.kind, e->late.from, e->late.n));
	else
		pb_wrote(&e->w, put_varints(e->late.to, e->late.kind, e->late.from, e->late.n));
	if (!e->late.entry || e->late.entry->packed)
		pb_close(&e->w);
	e->late.n = 0;
}

static struct enc_pb_level *level_of(struct enc_pb *e)
{
	return &e->level[e->depth < ENC_PB_DEPTH ? e->depth : ENC_PB_DEPTH - 1];
}

/* Advances to the next field; returns its number. */
static uint32_t next(struct enc_pb *e)
{
	struct enc_pb_level *l = level_of(e);

	flush(e);
	e->entry = NULL;
	if (l->list)
		return l->field;
	l->field++;
	if (!l->table)
		return l->field;
	if (l->field > l->table->n) { /* the mapping encodes another type */
		sim_enc_fail(&e->enc, -EINVAL);
		l->field = l->table->n;
		return 1;
	}
	e->entry = &l->table->entry[l->field - 1];
	return e->entry->number;
}

static void push(struct enc_pb *e, struct enc_pb_level l)
{
	l.asks = !l.list && l.table && l.table->words;
	if (++e->depth >= ENC_PB_DEPTH)
		sim_enc_fail(&e->enc, -E2BIG);
	else
		e->level[e->depth] = l;
}

/* Whether a single value is present. filled: it is not 0 or empty. */
static bool is_there(struct enc_pb *e, bool filled)
{
	const struct pb_entry *f = e->entry;

	if (!f)
		return true;
	return f->bit < 0 ? filled : level_of(e)->present[f->bit / 32] >> f->bit % 32 & 1;
}

/* ---- operations ---- */

static void pb_value(struct sim_enc *e, const char *name, enum sim_kind kind, const void *v)
{
	struct pb_writer *w = &pb_of(e)->w;
	uint32_t field = next(pb_of(e));
	uint8_t *at;
	double d;
	float f;

	(void)name;
	if (pb_of(e)->entry) {
		at = is_there(pb_of(e), !is_zero(v, sizes[kind])) ? pb_room(w, PB_TAG_MAX + PB_VARINT_MAX) : NULL;
		if (at)
			pb_wrote(w, put_item(pb_put_tag(at, field, pb_of(e)->entry->wire), pb_of(e)->entry, kind, v));
		return;
	}
	if (kind == SIM_KIND_FLOAT64) {
		memcpy(&d, v, sizeof(d));
		pb_f64(w, field, d);
	} else if (kind == SIM_KIND_FLOAT32) {
		memcpy(&f, v, sizeof(f));
		pb_f32(w, field, f);
	} else {
		pb_u64(w, field, varint_of(kind, v));
	}
}

static void pb_text(struct sim_enc *e, const char *name, const char *s, size_t len)
{
	uint32_t field = next(pb_of(e));

	(void)name;
	if (is_there(pb_of(e), len > 0))
		pb_string(&pb_of(e)->w, field, s, len);
}

static void put_time(struct pb_writer *w, uint32_t field, int64_t ns)
{
	int64_t sec = ns / 1000000000, rest = ns % 1000000000;

	if (rest < 0) {
		sec--;
		rest += 1000000000;
	}
	pb_open(w, field);
	pb_i64(w, 1, sec);
	pb_u64(w, 2, (uint64_t)rest);
	pb_close(w);
}

static void pb_time(struct sim_enc *e, const char *name, enum sim_kind kind, int64_t ns)
{
	uint32_t field = next(pb_of(e));

	(void)name;
	(void)kind;
	put_time(&pb_of(e)->w, field, ns);
}

/* Stores the words of `present`, the first field. */
static void take_words(struct enc_pb_level *l, const void *data, uint32_t n)
{
	size_t size = (n < PB_TABLE_WORDS ? n : PB_TABLE_WORDS) * sizeof(l->present[0]);

	memset(l->present, 0, sizeof(l->present));
	memcpy(l->present, data, size);
	l->asks = false;
}

static void pb_array(struct sim_enc *e, const char *name, enum sim_kind kind, const void *data, uint32_t n, int fixed)
{
	struct pb_writer *w = &pb_of(e)->w;
	const struct pb_entry *f;
	uint32_t field;
	uint8_t *at;

	(void)name;
	(void)fixed;
	if (level_of(pb_of(e))->asks) {
		take_words(level_of(pb_of(e)), data, n);
		return;
	}
	field = next(pb_of(e));
	f = pb_of(e)->entry;
	if (f && f->wire == PB_LENGTH) {
		if (is_there(pb_of(e), n > 0))
			pb_bytes(w, field, data, n);
		return;
	}
	if (!n)
		return;
	if (f) {
		put_repeated(w, f, kind, data, n);
		return;
	}
	if (is_plain(kind)) {
		pb_bytes(w, field, data, (size_t)n * sizes[kind]);
		return;
	}
	pb_open(w, field);
	at = pb_room(w, (size_t)n * PB_VARINT_MAX);
	if (at)
		pb_wrote(w, put_varints(at, kind, data, n));
	pb_close(w);
	w->out->copied += (uint64_t)n * sizes[kind];
}

/* Returns memory for n numbers. Those that become varints are placed after the room that the varints need. */
static void *pb_numbers(struct sim_enc *e, const char *name, enum sim_kind kind, uint32_t n, int fixed)
{
	struct enc_pb *p = pb_of(e);
	uint32_t field = next(p);
	const struct pb_entry *f = p->entry;
	size_t most = (size_t)n * ((f ? PB_TAG_MAX : 0) + (kind == SIM_KIND_BOOL ? 1 : PB_VARINT_MAX));
	uint8_t *at;

	(void)name;
	(void)fixed;
	if (!n)
		return NULL;
	p->w.out->copied += (uint64_t)n * sizes[kind];
	if (!f && is_plain(kind))
		return pb_bytes_room(&p->w, field, (size_t)n * sizes[kind]);
	if (!f || f->packed)
		pb_open(&p->w, field);
	at = pb_room(&p->w, most + (size_t)n * sizes[kind]);
	if (!at) {
		if (!f || f->packed)
			pb_close(&p->w);
		return NULL;
	}
	p->late.entry = f;
	p->late.kind = kind;
	p->late.n = n;
	p->late.to = at;
	p->late.from = at + most;
	return at + most;
}

static void pb_begin_nested(struct sim_enc *e, const char *name)
{
	uint32_t field = next(pb_of(e));
	const struct enc_pb_level *l = level_of(pb_of(e));

	(void)name;
	pb_open(&pb_of(e)->w, field);
	push(pb_of(e), (struct enc_pb_level){ .table = l->list ? l->table : NULL });
}

static void pb_end_nested(struct sim_enc *e)
{
	flush(pb_of(e));
	pb_close(&pb_of(e)->w);
	pb_of(e)->depth--;
}

static void pb_list(struct sim_enc *e, const char *name, uint32_t n, int fixed)
{
	uint32_t field = next(pb_of(e));

	(void)name;
	(void)n;
	(void)fixed;
	push(pb_of(e), (struct enc_pb_level){ .field = field,
					      .list = true,
					      .table = pb_of(e)->entry ? pb_of(e)->entry->message : NULL });
}

static void pb_list_end(struct sim_enc *e)
{
	flush(pb_of(e));
	pb_of(e)->depth--;
}

static void pb_header(struct sim_enc *e, const char *name, const struct sim_enc_header *h)
{
	struct pb_writer *w = &pb_of(e)->w;
	uint32_t field = next(pb_of(e));

	(void)name;
	pb_open(w, field);
	put_time(w, 1, h->stamp_sim_ns);
	pb_string(w, 2, h->frame, strlen(h->frame));
	pb_close(w);
}

static const struct sim_enc_ops pb_ops = {
	.abi = SIM_ENC_ABI,
	.size = sizeof(pb_ops),
	.value = pb_value,
	.string = pb_text,
	.time = pb_time,
	.array = pb_array,
	.room = pb_numbers,
	.begin = pb_begin_nested,
	.end = pb_end_nested,
	.list = pb_list,
	.list_end = pb_list_end,
	.header = pb_header,
};

void enc_pb_begin_table(struct enc_pb *e, struct iov_buf *out, const struct pb_message *table)
{
	e->enc = (struct sim_enc){ .ops = &pb_ops };
	e->depth = 0;
	e->level[0] = (struct enc_pb_level){ .table = table, .asks = table && table->words };
	e->late.n = 0;
	pb_begin(&e->w, out);
}

void enc_pb_begin(struct enc_pb *e, struct iov_buf *out)
{
	enc_pb_begin_table(e, out, NULL);
}

int enc_pb_finish(struct enc_pb *e)
{
	int r;

	flush(e);
	r = pb_end(&e->w);
	return e->enc.err ? e->enc.err : r;
}
