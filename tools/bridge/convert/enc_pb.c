/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf by order of the fields: see enc_pb.h. */
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

/* A number that becomes a varint. */
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

/* Whether an array lies on the wire as it does in memory; bools do, once they are 0 and 1. */
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

/* What the mapping has filled in since. */
static void flush(struct enc_pb *e)
{
	if (!e->late.n)
		return;
	pb_wrote(&e->w, put_varints(e->late.to, e->late.kind, e->late.from, e->late.n));
	pb_close(&e->w);
	e->late.n = 0;
}

static struct enc_pb_level *level_of(struct enc_pb *e)
{
	return &e->level[e->depth < ENC_PB_DEPTH ? e->depth : ENC_PB_DEPTH - 1];
}

/* The number of what comes next. */
static uint32_t next(struct enc_pb *e)
{
	struct enc_pb_level *l = level_of(e);

	flush(e);
	return l->list ? l->field : ++l->field;
}

static void push(struct enc_pb *e, struct enc_pb_level l)
{
	if (++e->depth >= ENC_PB_DEPTH)
		sim_enc_fail(&e->enc, -E2BIG);
	else
		e->level[e->depth] = l;
}

/* ---- the operations ---- */

static void pb_value(struct sim_enc *e, const char *name, enum sim_kind kind, const void *v)
{
	struct pb_writer *w = &pb_of(e)->w;
	uint32_t field = next(pb_of(e));
	double d;
	float f;

	(void)name;
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

static void pb_array(struct sim_enc *e, const char *name, enum sim_kind kind, const void *data, uint32_t n, int fixed)
{
	struct pb_writer *w = &pb_of(e)->w;
	uint32_t field = next(pb_of(e));
	uint8_t *at;

	(void)name;
	(void)fixed;
	if (!n)
		return;
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

/* What becomes varints is filled in behind the room that these may take. */
static void *pb_numbers(struct sim_enc *e, const char *name, enum sim_kind kind, uint32_t n, int fixed)
{
	struct enc_pb *p = pb_of(e);
	uint32_t field = next(p);
	size_t most = (size_t)n * (kind == SIM_KIND_BOOL ? 1 : PB_VARINT_MAX);
	uint8_t *at;

	(void)name;
	(void)fixed;
	if (!n)
		return NULL;
	p->w.out->copied += (uint64_t)n * sizes[kind];
	if (is_plain(kind))
		return pb_bytes_room(&p->w, field, (size_t)n * sizes[kind]);
	pb_open(&p->w, field);
	at = pb_room(&p->w, most + (size_t)n * sizes[kind]);
	if (!at) {
		pb_close(&p->w);
		return NULL;
	}
	p->late.kind = kind;
	p->late.n = n;
	p->late.to = at;
	p->late.from = at + most;
	return at + most;
}

static void pb_begin_nested(struct sim_enc *e, const char *name)
{
	uint32_t field = next(pb_of(e));

	(void)name;
	pb_open(&pb_of(e)->w, field);
	push(pb_of(e), (struct enc_pb_level){ .field = 0 });
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
	push(pb_of(e), (struct enc_pb_level){ .field = field, .list = true });
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

void enc_pb_begin(struct enc_pb *e, struct iov_buf *out)
{
	e->enc = (struct sim_enc){ .ops = &pb_ops };
	e->depth = 0;
	e->level[0] = (struct enc_pb_level){ .field = 0 };
	e->late.n = 0;
	pb_begin(&e->w, out);
}

int enc_pb_finish(struct enc_pb *e)
{
	int r;

	flush(e);
	r = pb_end(&e->w);
	return e->enc.err ? e->enc.err : r;
}
