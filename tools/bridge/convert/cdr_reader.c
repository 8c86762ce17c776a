/* SPDX-License-Identifier: Apache-2.0 */
/* See cdr_reader.h. */
#include "cdr_reader.h"

#include <errno.h>

#define FRAME_MAX 255u

SIM_STATIC_ASSERT(SIM_DEC_EDOM_ == -EDOM, "the public header knows no errno.h");

static const uint8_t sizes[SIM_KIND_END] = {
#define X(id, num, name, bytes) [SIM_KIND_##id] = bytes,
	SIM_KINDS(X)
#undef X
};

static struct cdr_reader *dec_of(struct sim_dec *d)
{
	return (struct cdr_reader *)(void *)d;
}

/* Takes the next n bytes, aligned; NULL: the data ends before, or an earlier error. */
static const uint8_t *take(struct cdr_reader *d, size_t n, size_t alignment)
{
	size_t pad = d->cdr ? -d->at & (alignment - 1) : 0;

	if (d->dec.err)
		return NULL;
	if (pad > d->len - d->at || n > d->len - d->at - pad) {
		sim_dec_fail(&d->dec, -EBADMSG);
		return NULL;
	}
	d->at += pad + n;
	return d->p + d->at - n;
}

static void take_to(struct cdr_reader *d, void *to, size_t n)
{
	const uint8_t *at = take(d, n, n);

	if (at)
		memcpy(to, at, n);
	else
		memset(to, 0, n);
}

static uint32_t take_u32(struct cdr_reader *d)
{
	uint32_t v;

	take_to(d, &v, sizeof(v));
	return v;
}

static void dec_value(struct sim_dec *e, const char *name, enum sim_kind kind, void *ret)
{
	(void)name;
	take_to(dec_of(e), ret, sizes[kind]);
	if (kind != SIM_KIND_BOOL || *(uint8_t *)ret <= 1)
		return;
	*(uint8_t *)ret = 0;
	sim_dec_fail(e, -EBADMSG);
}

static const char *dec_string(struct sim_dec *e, const char *name, size_t max, size_t *ret_len)
{
	struct cdr_reader *d = dec_of(e);
	uint32_t n = take_u32(d);
	const char *s = (const char *)d->p + d->at;
	size_t nul = d->cdr ? 1 : 0;

	(void)name;
	*ret_len = 0;
	if (e->err)
		return "";
	if (n > d->len - d->at || n < nul || (nul && s[n - 1] != '\0') || memchr(s, '\0', n - nul)) {
		sim_dec_fail(e, -EBADMSG);
		return "";
	}
	if (n - nul > max) {
		sim_dec_fail(e, -EMSGSIZE);
		return "";
	}
	d->at += n;
	*ret_len = n - nul;
	return s;
}

static int64_t dec_time(struct sim_dec *e, const char *name, enum sim_kind kind)
{
	struct cdr_reader *d = dec_of(e);
	uint32_t sec = take_u32(d), rest = take_u32(d);
	int64_t whole = d->time_signed || kind == SIM_KIND_DURATION ? (int64_t)(int32_t)sec : (int64_t)sec;

	(void)name;
	if (rest >= 1000000000)
		sim_dec_fail(e, -EBADMSG);
	return e->err ? 0 : whole * 1000000000 + rest;
}

static uint32_t dec_list(struct sim_dec *e, const char *name, uint32_t fixed, size_t min)
{
	struct cdr_reader *d = dec_of(e);
	uint32_t n = fixed && !d->counted ? fixed : take_u32(d);

	(void)name;
	if (fixed && n > fixed)
		sim_dec_fail(&d->dec, -EBADMSG);
	if (n > (d->len - d->at) / (min ? min : 1))
		sim_dec_fail(e, -EBADMSG);
	return e->err ? 0 : n;
}

static const void *dec_array(struct sim_dec *e, const char *name, enum sim_kind kind, uint32_t fixed, uint32_t *ret_n)
{
	uint32_t n = dec_list(e, name, fixed, sizes[kind]);
	const uint8_t *at = n ? take(dec_of(e), (size_t)n * sizes[kind], sizes[kind]) : NULL;

	for (uint32_t i = 0; at && kind == SIM_KIND_BOOL && i < n; i++)
		if (at[i] > 1)
			sim_dec_fail(e, -EBADMSG);
	*ret_n = at && !e->err ? n : 0;
	return *ret_n ? at : NULL;
}

static void dec_open(struct sim_dec *e, const char *name)
{
	(void)name;
	dec_of(e)->opened = dec_of(e)->at;
}

/* CDR encodes an empty message as one byte. */
static void dec_close(struct sim_dec *e)
{
	struct cdr_reader *d = dec_of(e);

	if (d->cdr && d->opened == d->at)
		take(d, 1, 1);
}

static void dec_list_end(struct sim_dec *e)
{
	(void)e;
}

static int64_t dec_header(struct sim_dec *e, const char *name, const char **ret_frame, size_t *ret_len)
{
	int64_t stamp_sim_ns;
	const char *frame;
	size_t len;

	if (dec_of(e)->seq) {
		bool first = !dec_of(e)->at;
		uint32_t sequence = take_u32(dec_of(e));

		if (first)
			dec_of(e)->sequence = sequence;
	}
	stamp_sim_ns = dec_time(e, name, SIM_KIND_TIME);
	frame = dec_string(e, name, FRAME_MAX, &len);
	if (ret_frame) {
		*ret_frame = frame;
		*ret_len = len;
	}
	return stamp_sim_ns;
}

static const struct sim_dec_ops wire_ops = {
	.abi = SIM_DEC_ABI,
	.size = sizeof(wire_ops),
	.value = dec_value,
	.string = dec_string,
	.time = dec_time,
	.array = dec_array,
	.begin = dec_open,
	.end = dec_close,
	.list = dec_list,
	.list_end = dec_list_end,
	.header = dec_header,
};

void cdr_reader_begin(struct cdr_reader *d, enum wire_format format, const void *data, size_t len)
{
	*d = (struct cdr_reader){ .dec.ops = &wire_ops,
				  .p = data,
				  .len = len,
				  .cdr = format == WIRE_CDR,
				  .counted = format == WIRE_POSITIONAL,
				  .seq = format == WIRE_ROS1,
				  .time_signed = format != WIRE_ROS1 };
	if (!d->cdr)
		return;
	if (len < 4 || d->p[0] != 0 || d->p[1] > 1) {
		d->len = 0;
		sim_dec_fail(&d->dec, len < 4 ? -EBADMSG : -ENOTSUP);
		return;
	}
	if (d->p[1] == 0)
		sim_dec_fail(&d->dec, -ENOTSUP);
	d->p += 4;
	d->len -= 4;
}

int cdr_reader_end(struct cdr_reader *d)
{
	if (d->cdr && d->at == 0) /* an empty message is one byte */
		take(d, 1, 1);
	if (d->len - d->at > (d->cdr ? 3u : 0u))
		sim_dec_fail(&d->dec, -EBADMSG);
	return d->dec.err;
}
