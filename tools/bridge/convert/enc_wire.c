/* SPDX-License-Identifier: Apache-2.0 */
/* CDR, ROS 1 and positional: see enc_wire.h. */
#include "enc_wire.h"

#include <errno.h>
#include <stdbool.h>

struct wire_style {
	bool align;        /* numbers are aligned to their size */
	bool string_nul;   /* strings end in a NUL, which their length includes */
	bool seq;          /* headers have a sequence number */
	bool count_fixed;  /* fixed-size arrays have a count, too */
	bool time_signed;  /* seconds are int32, else uint32 */
	bool encapsulated; /* 4 header bytes, padding to 4 at the end; an empty message is one byte */
};

static const struct wire_style styles[] = {
	[WIRE_CDR] = { .align = true, .string_nul = true, .time_signed = true, .encapsulated = true },
	[WIRE_ROS1] = { .seq = true },
	[WIRE_POSITIONAL] = { .count_fixed = true, .time_signed = true },
};

static const uint8_t sizes[SIM_KIND_END] = {
#define X(id, num, name, bytes) [SIM_KIND_##id] = bytes,
	SIM_KINDS(X)
#undef X
};

static struct enc_wire *wire_of(struct sim_enc *e)
{
	return (struct enc_wire *)(void *)e;
}

static void *room(struct enc_wire *w, size_t n)
{
	void *at = iov_buf_room(w->out, n);

	if (!at)
		sim_enc_fail(&w->enc, -ENOMEM);
	return at;
}

/* Padding bytes up to the next multiple of `to`. */
static size_t gap(const struct enc_wire *w, size_t to)
{
	return w->style->align ? -(w->out->total - w->start) & (to - 1) : 0;
}

static void align(struct enc_wire *w, size_t to)
{
	size_t pad = gap(w, to);
	void *at = pad ? room(w, pad) : NULL;

	if (at)
		memset(at, 0, pad);
}

/* Writes one number of n bytes, aligned. */
static void put(struct enc_wire *w, const void *v, size_t n)
{
	size_t pad = gap(w, n);
	uint8_t *at = room(w, pad + n);

	if (!at)
		return;
	for (size_t i = 0; i < pad; i++)
		at[i] = 0;
	at += pad;
	if (n == 8)
		memcpy(at, v, 8);
	else if (n == 4)
		memcpy(at, v, 4);
	else
		memcpy(at, v, n);
}

static void put_u32(struct enc_wire *w, uint32_t v)
{
	put(w, &v, sizeof(v));
}

static void wire_value(struct sim_enc *e, const char *name, enum sim_kind kind, const void *v)
{
	(void)name;
	put(wire_of(e), v, sizes[kind]);
}

static void wire_string(struct sim_enc *e, const char *name, const char *s, size_t len)
{
	struct enc_wire *w = wire_of(e);
	size_t n = len + (w->style->string_nul ? 1 : 0);
	char *at;

	(void)name;
	if (n > UINT32_MAX) {
		sim_enc_fail(e, -EMSGSIZE);
		return;
	}
	put_u32(w, (uint32_t)n);
	at = n ? room(w, n) : NULL;
	if (!at)
		return;
	memcpy(at, s, len);
	if (n > len)
		at[len] = '\0';
}

static void wire_time(struct sim_enc *e, const char *name, enum sim_kind kind, int64_t ns)
{
	struct enc_wire *w = wire_of(e);
	int64_t sec = ns / 1000000000, rest = ns % 1000000000;
	bool negative_ok = w->style->time_signed || kind == SIM_KIND_DURATION;

	(void)name;
	if (rest < 0) {
		sec--;
		rest += 1000000000;
	}
	if (sec < (negative_ok ? INT32_MIN : 0) || sec > (negative_ok ? INT32_MAX : (int64_t)UINT32_MAX))
		sim_enc_fail(e, -ERANGE);
	put_u32(w, (uint32_t)sec);
	put_u32(w, (uint32_t)rest);
}

static void begin_array(struct enc_wire *w, enum sim_kind kind, uint32_t n, int fixed)
{
	if (!fixed || w->style->count_fixed)
		put_u32(w, n);
	if (n)
		align(w, sizes[kind]);
}

static void wire_array(struct sim_enc *e, const char *name, enum sim_kind kind, const void *data, uint32_t n, int fixed)
{
	struct enc_wire *w = wire_of(e);
	int r;

	(void)name;
	begin_array(w, kind, n, fixed);
	r = iov_buf_array(w->out, data, (size_t)n * sizes[kind]);
	if (r < 0)
		sim_enc_fail(e, r);
}

static void *wire_room(struct sim_enc *e, const char *name, enum sim_kind kind, uint32_t n, int fixed)
{
	struct enc_wire *w = wire_of(e);
	void *at;

	(void)name;
	begin_array(w, kind, n, fixed);
	at = n ? room(w, (size_t)n * sizes[kind]) : NULL;
	if (at)
		w->out->copied += (uint64_t)n * sizes[kind];
	return at;
}

static void wire_begin_nested(struct sim_enc *e, const char *name)
{
	struct enc_wire *w = wire_of(e);

	(void)name;
	w->opened = w->out->total;
}

/* CDR encodes an empty message as one byte. It is empty if nothing was written since the message opened last. */
static void wire_end_nested(struct sim_enc *e)
{
	struct enc_wire *w = wire_of(e);

	if (w->style->encapsulated && w->opened == w->out->total)
		put(w, "", 1);
}

static void wire_list(struct sim_enc *e, const char *name, uint32_t n, int fixed)
{
	(void)name;
	if (!fixed || wire_of(e)->style->count_fixed)
		put_u32(wire_of(e), n);
}
static void wire_list_end(struct sim_enc *e)
{
	(void)e;
}

static void wire_header(struct sim_enc *e, const char *name, const struct sim_enc_header *h)
{
	struct enc_wire *w = wire_of(e);

	(void)name;
	if (w->style->seq)
		put_u32(w, h->seq);
	wire_time(e, "stamp", SIM_KIND_TIME, h->stamp_sim_ns);
	wire_string(e, "frame_id", h->frame, strlen(h->frame));
}

static const struct sim_enc_ops wire_ops = {
	.abi = SIM_ENC_ABI,
	.size = sizeof(wire_ops),
	.value = wire_value,
	.string = wire_string,
	.time = wire_time,
	.array = wire_array,
	.room = wire_room,
	.begin = wire_begin_nested,
	.end = wire_end_nested,
	.list = wire_list,
	.list_end = wire_list_end,
	.header = wire_header,
};

void wire_begin(struct enc_wire *w, enum wire_format format, struct iov_buf *out)
{
	static const uint8_t cdr_le[4] = { 0, 1, 0, 0 };

	iov_buf_reset(out);
	*w = (struct enc_wire){ .enc.ops = &wire_ops, .style = &styles[format], .out = out };
	if (!w->style->encapsulated)
		return;
	put(w, cdr_le, sizeof(cdr_le));
	w->start = out->total;
}

int wire_finish(struct enc_wire *w)
{
	if (w->style->encapsulated && w->out->total == w->start)
		put(w, "", 1);
	if (w->style->encapsulated)
		align(w, 4);
	return w->enc.err;
}
