/* SPDX-License-Identifier: Apache-2.0 */
/* See enc_cbor.h; RFC 8949. */
#include "enc_cbor.h"

#include "utf8.h"

enum { UINT = 0, NEGATIVE = 1, BYTES = 2, TEXT = 3, ARRAY = 4, MAP = 5, TAG = 6 };
enum { FALSE = 0xf4, TRUE = 0xf5, FLOAT32 = 0xfa, FLOAT64 = 0xfb, OPEN_MAP = 0xbf, BREAK = 0xff };

static const uint8_t sizes[SIM_KIND_END] = {
#define X(id, num, name, bytes) [SIM_KIND_##id] = bytes,
	SIM_KINDS(X)
#undef X
};

/* Of typed arrays; 0: it is none. */
static const uint8_t tags[SIM_KIND_END] = {
	[SIM_KIND_UINT16] = 69, [SIM_KIND_UINT32] = 70,  [SIM_KIND_UINT64] = 71,
	[SIM_KIND_INT8] = 72,   [SIM_KIND_INT16] = 77,   [SIM_KIND_INT32] = 78,
	[SIM_KIND_INT64] = 79,  [SIM_KIND_FLOAT32] = 85, [SIM_KIND_FLOAT64] = 86,
};

#define HEAD_MAX 9u

static struct enc_cbor *cbor_of(struct sim_enc *e)
{
	return (struct enc_cbor *)(void *)e;
}

/* ---- bytes ---- */

static uint8_t *put_be(uint8_t *at, uint64_t v, unsigned n)
{
	for (unsigned i = n; i-- > 0; v >>= 8)
		at[i] = (uint8_t)v;
	return at + n;
}

static uint8_t *head(uint8_t *at, unsigned major, uint64_t v)
{
	unsigned more = v < 24 ? 0 : v <= UINT8_MAX ? 1 : v <= UINT16_MAX ? 2 : v <= UINT32_MAX ? 4 : 8;

	*at++ = (uint8_t)(major << 5 | (more ? 24u + (more > 1) + (more > 2) + (more > 4) : (unsigned)v));
	return put_be(at, v, more);
}

static void *room(struct enc_cbor *c, size_t n)
{
	void *at = iov_buf_room(c->out, n);

	if (!at)
		sim_enc_fail(&c->enc, -ENOMEM);
	return at;
}

static int put_head(struct iov_buf *out, unsigned major, uint64_t v)
{
	uint8_t *at = iov_buf_room(out, HEAD_MAX);

	if (!at)
		return -ENOMEM;
	iov_buf_trim(out, (size_t)(at + HEAD_MAX - head(at, major, v)));
	return 0;
}

int cbor_put_map(struct iov_buf *out, uint32_t n)
{
	return put_head(out, MAP, n);
}

/* Each byte that is not UTF-8 becomes the three of U+FFFD. */
static int put_mended(struct iov_buf *out, const char *s, size_t len)
{
	size_t more = 0, n;
	char *at;

	for (size_t i = 0; i < len; i += n ? n : 1) {
		n = utf8_char(s + i, len - i);
		more += n ? 0 : 2;
	}
	at = put_head(out, TEXT, len + more) < 0 ? NULL : iov_buf_room(out, len + more);
	for (size_t i = 0; at && i < len; i += n ? n : 1, at += n ? n : 3) {
		n = utf8_char(s + i, len - i);
		memcpy(at, n ? s + i : "\xef\xbf\xbd", n ? n : 3);
	}
	return at ? 0 : -ENOMEM;
}

int cbor_put_string(struct iov_buf *out, const char *s, size_t len)
{
	char *at;

	if (utf8_prefix(s, len) < len)
		return put_mended(out, s, len);
	at = put_head(out, TEXT, len) < 0 ? NULL : iov_buf_room(out, len);
	if (at)
		memcpy(at, s, len);
	return at ? 0 : -ENOMEM;
}

/* ---- what stands before a value ---- */

/* The bools that a mapping filled in. */
static void flush(struct enc_cbor *c)
{
	uint8_t *at = c->out->buf + c->out->used - c->n_bools;

	for (uint32_t i = 0; i < c->n_bools; i++)
		at[i] = at[i] ? TRUE : FALSE;
	c->n_bools = 0;
}

/* The name of what comes next. Returns its field. */
static const struct ros_field *next(struct enc_cbor *c, const char *name)
{
	const struct ros_field *f = enc_names_next(&c->names);

	if (c->n_bools)
		flush(c);
	name = name && f ? f->name : name;
	if (name && cbor_put_string(c->out, name, strlen(name)) < 0)
		sim_enc_fail(&c->enc, -ENOMEM);
	return f;
}

static void put_integer(struct enc_cbor *c, int64_t v)
{
	if (put_head(c->out, v < 0 ? NEGATIVE : UINT, v < 0 ? ~(uint64_t)v : (uint64_t)v) < 0)
		sim_enc_fail(&c->enc, -ENOMEM);
}

static void put_float(struct enc_cbor *c, uint8_t what, const void *v, unsigned n)
{
	uint8_t *at = room(c, n + 1);
	uint64_t bits = 0;

	if (!at)
		return;
	memcpy(&bits, v, n);
	*at = what;
	put_be(at + 1, bits, n);
}

static void put_number(struct enc_cbor *c, enum sim_kind kind, const void *v)
{
	unsigned shift = 64 - 8u * sizes[kind];
	uint64_t u = 0;
	uint8_t *at;

	memcpy(&u, v, sizes[kind]);
	switch (kind) {
	case SIM_KIND_FLOAT32:
		put_float(c, FLOAT32, v, 4);
		break;
	case SIM_KIND_FLOAT64:
		put_float(c, FLOAT64, v, 8);
		break;
	case SIM_KIND_BOOL:
		at = room(c, 1);
		if (at)
			*at = u ? TRUE : FALSE;
		break;
	case SIM_KIND_INT8:
	case SIM_KIND_INT16:
	case SIM_KIND_INT32:
	case SIM_KIND_INT64:
		put_integer(c, (int64_t)(u << shift) >> shift);
		break;
	default:
		if (put_head(c->out, UINT, u) < 0)
			sim_enc_fail(&c->enc, -ENOMEM);
	}
}

/* ---- the operations ---- */

static void cbor_value(struct sim_enc *e, const char *name, enum sim_kind kind, const void *v)
{
	next(cbor_of(e), name);
	put_number(cbor_of(e), kind, v);
}

static void cbor_string(struct sim_enc *e, const char *name, const char *s, size_t len)
{
	next(cbor_of(e), name);
	if (cbor_put_string(cbor_of(e)->out, s, len) < 0)
		sim_enc_fail(e, -ENOMEM);
}

static void put_time(struct enc_cbor *c, enum sim_kind kind, int64_t ns)
{
	struct enc_time t = enc_time(&c->enc, c->words, kind, ns);
	bool ros1 = c->words == ROS_GENERIC_ROS1;

	if (cbor_put_map(c->out, 2) < 0 || cbor_put_string(c->out, ros1 ? "secs" : "sec", ros1 ? 4 : 3) < 0)
		sim_enc_fail(&c->enc, -ENOMEM);
	put_integer(c, t.sec);
	if (cbor_put_string(c->out, ros1 ? "nsecs" : "nanosec", ros1 ? 5 : 7) < 0)
		sim_enc_fail(&c->enc, -ENOMEM);
	put_integer(c, t.nsec);
}

static void cbor_time(struct sim_enc *e, const char *name, enum sim_kind kind, int64_t ns)
{
	next(cbor_of(e), name);
	put_time(cbor_of(e), kind, ns);
}

/* What stands before n numbers: their bytes follow. */
static void begin_array(struct enc_cbor *c, const char *name, enum sim_kind kind, uint32_t n)
{
	int r = 0;

	next(c, name);
	if (tags[kind])
		r = put_head(c->out, TAG, tags[kind]);
	if (r == 0)
		r = put_head(c->out, kind == SIM_KIND_BOOL ? ARRAY : BYTES, (uint64_t)n * sizes[kind]);
	if (r < 0)
		sim_enc_fail(&c->enc, r);
}

static void *cbor_room(struct sim_enc *e, const char *name, enum sim_kind kind, uint32_t n, int fixed)
{
	struct enc_cbor *c = cbor_of(e);
	void *at;

	(void)fixed;
	begin_array(c, name, kind, n);
	at = n ? room(c, (size_t)n * sizes[kind]) : NULL;
	if (!at)
		return NULL;
	c->out->copied += (uint64_t)n * sizes[kind];
	c->n_bools = kind == SIM_KIND_BOOL ? n : 0;
	return at;
}

static void cbor_array(struct sim_enc *e, const char *name, enum sim_kind kind, const void *data, uint32_t n, int fixed)
{
	struct enc_cbor *c = cbor_of(e);
	int r;

	if (kind == SIM_KIND_BOOL) {
		void *at = cbor_room(e, name, kind, n, fixed);

		if (at)
			memcpy(at, data, n);
		return;
	}
	begin_array(c, name, kind, n);
	r = iov_buf_array(c->out, data, (size_t)n * sizes[kind]);
	if (r < 0)
		sim_enc_fail(e, r);
}

/* A map of as many pairs as the definition has fields, or one that says where it ends. */
static void open_map(struct enc_cbor *c, const struct ros_type *type)
{
	uint8_t *at = type ? NULL : room(c, 1);

	if (at)
		*at = OPEN_MAP;
	if (type && cbor_put_map(c->out, type->n_fields) < 0)
		sim_enc_fail(&c->enc, -ENOMEM);
}

static void close_map(struct enc_cbor *c)
{
	uint8_t *at;

	if (c->n_bools)
		flush(c);
	at = c->names.level[c->names.depth].type ? NULL : room(c, 1);
	if (at)
		*at = BREAK;
}

static void cbor_open(struct sim_enc *e, const char *name)
{
	struct enc_cbor *c = cbor_of(e);

	open_map(c, enc_names_push(&c->names, e, next(c, name), false));
}

static void cbor_close(struct sim_enc *e)
{
	close_map(cbor_of(e));
	enc_names_pop(&cbor_of(e)->names);
}

static void cbor_list(struct sim_enc *e, const char *name, uint32_t n, int fixed)
{
	struct enc_cbor *c = cbor_of(e);

	(void)fixed;
	enc_names_push(&c->names, e, next(c, name), true);
	if (put_head(c->out, ARRAY, n) < 0)
		sim_enc_fail(e, -ENOMEM);
}

static void cbor_list_end(struct sim_enc *e)
{
	if (cbor_of(e)->n_bools)
		flush(cbor_of(e));
	enc_names_pop(&cbor_of(e)->names);
}

static void cbor_header(struct sim_enc *e, const char *name, const struct sim_enc_header *h)
{
	struct enc_cbor *c = cbor_of(e);
	bool seq = c->words == ROS_GENERIC_ROS1;
	int r;

	next(c, name);
	r = cbor_put_map(c->out, seq ? 3 : 2);
	if (r == 0 && seq)
		r = cbor_put_string(c->out, "seq", 3);
	if (r == 0 && seq)
		put_integer(c, h->seq);
	if (r == 0)
		r = cbor_put_string(c->out, "stamp", 5);
	if (r == 0)
		put_time(c, SIM_KIND_TIME, h->stamp_sim_ns);
	if (r == 0)
		r = cbor_put_string(c->out, "frame_id", 8);
	if (r == 0)
		r = cbor_put_string(c->out, h->frame, strlen(h->frame));
	if (r < 0)
		sim_enc_fail(e, r);
}

static const struct sim_enc_ops cbor_ops = {
	.abi = SIM_ENC_ABI,
	.size = sizeof(cbor_ops),
	.value = cbor_value,
	.string = cbor_string,
	.time = cbor_time,
	.array = cbor_array,
	.room = cbor_room,
	.begin = cbor_open,
	.end = cbor_close,
	.list = cbor_list,
	.list_end = cbor_list_end,
	.header = cbor_header,
};

void cbor_begin(struct enc_cbor *c, enum ros_generic_words words, const struct ros_type *type, struct iov_buf *out)
{
	c->enc = (struct sim_enc){ .ops = &cbor_ops };
	c->out = out;
	c->words = words;
	c->n_bools = 0;
	enc_names_begin(&c->names, type);
	open_map(c, type);
}

int cbor_finish(struct enc_cbor *c)
{
	close_map(c);
	return c->enc.err;
}
