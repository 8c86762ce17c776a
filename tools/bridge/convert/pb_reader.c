/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's wire format, read in place: see pb_reader.h. */
#include "pb_reader.h"

#include <errno.h>

static bool fail(struct pb_reader *r, int error)
{
	if (!*r->error)
		*r->error = error;
	r->at = r->end;
	r->wire = PB_TAKEN;
	return false;
}

void pb_read_begin(struct pb_reader *r, const void *data, size_t len, int *error)
{
	const uint8_t *at = len ? data : (const uint8_t *)"";

	*r = (struct pb_reader){ .at = at, .end = at + len, .depth = PB_DEPTH_MAX, .error = error };
	if (len > PB_SIZE_MAX)
		fail(r, -E2BIG);
}

void pb_enter(const struct pb_reader *r, struct pb_reader *ret)
{
	const uint8_t *at = r->wire == PB_LENGTH ? r->data : r->end;

	*ret = (struct pb_reader){ .at = at, .end = at, .depth = r->depth, .error = r->error };
	if (r->wire != PB_LENGTH)
		return;
	ret->end += r->len;
	if (!ret->depth--)
		fail(ret, -E2BIG);
}

bool pb_read_varint_slow(struct pb_reader *r, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; r->at < r->end && shift < 70; shift += 7) {
		uint8_t byte = *r->at++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = v;
			return true;
		}
	}
	return fail(r, -EBADMSG);
}

bool pb_read_fail(struct pb_reader *r)
{
	return fail(r, -EBADMSG);
}

/*
 * Skips to the end of the group that has begun. Nested groups are counted instead of recursed into: a peer must not
 * overflow the stack.
 */
static bool skip_group(struct pb_reader *r)
{
	uint32_t open[PB_DEPTH_MAX];
	unsigned n = 0;

	do {
		if (r->wire == PB_GROUP && n == r->depth)
			return fail(r, -E2BIG);
		if (r->wire == PB_GROUP)
			open[n++] = r->field;
		else if (r->wire == PB_GROUP_END && open[--n] != r->field)
			return fail(r, -EBADMSG);
	} while (n && pb_read_field(r));
	return n ? fail(r, -EBADMSG) : true;
}

bool pb_next_slow(struct pb_reader *r)
{
	while (r->wire == PB_GROUP)
		if (!skip_group(r) || !pb_read_field(r))
			return false;
	return r->wire == PB_GROUP_END ? fail(r, -EBADMSG) : true;
}

/* ---- repeated numbers ---- */

/* The next n bytes of a packed field; NULL: no more. */
static const uint8_t *packed(struct pb_reader *r, size_t n)
{
	const uint8_t *at = r->data;

	if (r->wire != PB_LENGTH || !r->len)
		return NULL;
	if (r->len < n) {
		fail(r, -EBADMSG);
		return NULL;
	}
	r->data += n;
	r->len -= n;
	return at;
}

bool pb_item_f64(struct pb_reader *r, double *ret)
{
	bool one = pb_get_f64(r, ret);
	const uint8_t *at = one ? NULL : packed(r, sizeof(*ret));

	if (one)
		r->wire = PB_TAKEN;
	if (at)
		memcpy(ret, at, sizeof(*ret));
	return one || at;
}

bool pb_item_f32(struct pb_reader *r, float *ret)
{
	bool one = pb_get_f32(r, ret);
	const uint8_t *at = one ? NULL : packed(r, sizeof(*ret));

	if (one)
		r->wire = PB_TAKEN;
	if (at)
		memcpy(ret, at, sizeof(*ret));
	return one || at;
}

bool pb_item_u64(struct pb_reader *r, uint64_t *ret)
{
	struct pb_reader in = *r;

	if (pb_get_u64(r, ret)) {
		r->wire = PB_TAKEN;
		return true;
	}
	if (r->wire != PB_LENGTH || !r->len)
		return false;
	in.at = r->data;
	in.end = r->data + r->len;
	if (!pb_read_varint(&in, ret))
		return fail(r, -EBADMSG);
	r->len = (size_t)(in.end - in.at);
	r->data = in.at;
	return true;
}
