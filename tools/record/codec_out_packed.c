/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `packed`: native with its arrays of records shuffled, so that they compress better. The records of a cloud are its
 * points, of an image its pixels, else the numbers of an array. The header of each message (pack.h) lists the ranges.
 * See codec_out.h.
 */
#include "codec_out_private.h"

#include "pack.h"
#include "shuffle.h"

#include <sim/introspect.h>
#include <sim/msg/Image.h>
#include <sim/msg/PointCloud.h>

#include <errno.h>
#include <string.h>

#define HOW \
	"each message is native behind a header of little-endian numbers: u8 version 1, u8 n, u16 0, u32 size, n times (u32 offset, " \
	"u32 length, u32 bytes of a record); these ranges have the first bytes of all records first, then the second ones, ...; what is " \
	"behind the last whole record stays. simctl bag convert unpacks it"

struct arrays { /* arrays in a body: their start, and the size of a record */
	const uint8_t *body;
	size_t size;
	struct {
		const void *at;
		uint32_t stride;
	} list[PACK_RANGES_MAX];
	unsigned n;
};

static void add(struct arrays *a, uint32_t offset, uint32_t stride)
{
	if (offset >= a->size || stride < 2 || stride > SHUFFLE_STRIDE_MAX || a->n == PACK_RANGES_MAX)
		return;
	a->list[a->n].at = a->body + offset;
	a->list[a->n++].stride = stride;
}

/* Finds arrays of numbers, also in nested messages, but not in arrays of messages. */
static void find_numbers(struct arrays *a, const struct sim_type *t, size_t at)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *f = &t->fields[i];
		struct sim_span span;

		if (f->kind == SIM_KIND_MESSAGE && f->array == SIM_ARRAY_NONE)
			find_numbers(a, f->type, at + f->offset);
		if (f->kind < SIM_KIND_INT8 || f->kind > SIM_KIND_FLOAT64 ||
		    (f->array != SIM_ARRAY_VARIABLE && f->array != SIM_ARRAY_BOUNDED))
			continue;
		memcpy(&span, a->body + at + f->offset, sizeof(span));
		add(a, span.offset, f->elem_size);
	}
}

/*
 * point_step and the like come from other programs and may be wrong: a message with a wrong record size compresses
 * worse, but is restored exactly.
 */
static void find_arrays(struct arrays *a, const struct sim_type *t)
{
	if (a->size < t->fixed_size)
		return;
	if (sim_type_equal(t, &sim_PointCloud_type)) {
		const struct sim_PointCloud *m = (const void *)a->body;

		add(a, m->data.offset, m->point_step);
	} else if (sim_type_equal(t, &sim_Image_type)) {
		const struct sim_Image *m = (const void *)a->body;

		add(a, m->data.offset, m->width ? m->step / m->width : 0);
	} else {
		find_numbers(a, t, 0);
	}
}

/* Finds arrays that were not copied: they are pieces of their own. */
static unsigned ranges_of(const struct arrays *a, const struct iovec *pieces, unsigned n,
			  struct pack_range ret[PACK_RANGES_MAX])
{
	size_t offset = 0;
	unsigned found = 0;

	for (unsigned i = 0; i < n && found < PACK_RANGES_MAX; offset += pieces[i++].iov_len)
		for (unsigned k = 0; k < a->n; k++)
			if (pieces[i].iov_base == a->list[k].at) {
				ret[found++] = (struct pack_range){ .offset = (uint32_t)offset,
								    .len = (uint32_t)pieces[i].iov_len,
								    .stride = a->list[k].stride };
				break;
			}
	return found;
}

static int encode_packed(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why,
			 size_t why_size)
{
	struct pack_range ranges[PACK_RANGES_MAX];
	struct iovec pieces[IOV_BUF_PIECES];
	struct arrays a = { .body = m->body, .size = m->body_size };
	int r = codec_out_encode_native(c, m, &c->plain, why, why_size);
	unsigned n, n_ranges;
	int64_t len;
	uint8_t *to;

	if (r < 0)
		return r;
	find_arrays(&a, c->type);
	n = iov_buf_iov(&c->plain, pieces);
	n_ranges = ranges_of(&a, pieces, n, ranges);
	iov_buf_reset(out);
	to = iov_buf_room(out, PACK_HEAD_MAX + c->plain.total);
	if (!to)
		return -ENOMEM;
	len = pack_encode(to, pieces, n, ranges, n_ranges);
	if (len < 0)
		return (int)len;
	iov_buf_trim(out, PACK_HEAD_MAX + c->plain.total - (size_t)len);
	return 0;
}

int codec_out_open_packed(struct codec_out *c, char *why, size_t why_size)
{
	int r = codec_out_open_native(c, why, why_size);

	c->encode = encode_packed;
	c->channel.message_encoding = CODEC_PACKED_ENCODING;
	codec_out_pair(c, "packing", HOW);
	return r;
}
