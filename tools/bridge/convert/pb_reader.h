/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf's wire format, read in place, field by field in the order they come:
 *
 *   int error = 0;
 *   pb_read_begin(&r, data, len, &error);
 *   while (pb_next(&r))
 *           switch (r.field) {
 *           case 1: has_speed |= pb_get_f64(&r, &speed); break;
 *           case 2: for (pb_enter(&r, &in); pb_next(&in);) ...; break;
 *           case 3: while (pb_item_f64(&r, &v)) ...; break;
 *           }
 *   if (error) ...
 *
 * A field that the caller does not read is skipped; so is one of another wire type than the getter's, as in protobuf.
 * Of a scalar that occurs twice the last one counts, and a message that occurs twice is merged with the first, if both
 * are read into the same place. Groups are skipped. Strings may be any bytes.
 *
 * The input is untrusted: the first error is kept, that reader and nested ones end, and the caller must discard what
 * was read. At most PB_DEPTH_MAX nested messages and groups. Thread: one per reader. Allocates no memory.
 */
#ifndef PB_READER_H
#define PB_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pb_writer.h"

struct pb_reader {
	uint32_t field;      /* of the field found by pb_next() */
	uint32_t wire;       /* enum pb_wire */
	uint64_t v;          /* of PB_VARINT, PB_FIXED64, PB_FIXED32 */
	const uint8_t *data; /* of PB_LENGTH, len bytes */
	size_t len;
	/* the members below are private */
	const uint8_t *at, *end;
	unsigned depth; /* remaining levels */
	int *error;
};

/*
 * Borrows data and error until the last call. *error must be 0; it is set to the first error: -EBADMSG malformed;
 * -E2BIG larger than PB_SIZE_MAX or deeper than PB_DEPTH_MAX.
 */
void pb_read_begin(struct pb_reader *r, const void *data, size_t len, int *error);

/*
 * Enters the message of a field; its reader ends with that message. A field of another wire type is an empty message.
 */
void pb_enter(const struct pb_reader *r, struct pb_reader *ret);

/* ---- finding the next field ---- */

bool pb_read_varint_slow(struct pb_reader *r, uint64_t *ret);
bool pb_read_fail(struct pb_reader *r); /* sets -EBADMSG; returns false */
bool pb_next_slow(struct pb_reader *r); /* handles groups */

static inline bool pb_read_varint(struct pb_reader *r, uint64_t *ret)
{
	if (r->at == r->end || *r->at >= 0x80)
		return pb_read_varint_slow(r, ret);
	*ret = *r->at++;
	return true;
}

/* Takes n bytes, of which the caller knows that they exist. */
static inline bool pb_read_fixed(struct pb_reader *r, size_t n)
{
	if ((size_t)(r->end - r->at) < n)
		return pb_read_fail(r);
	r->v = 0;
	memcpy(&r->v, r->at, n);
	r->at += n;
	return true;
}

/* Reads a tag and its value; for a group only the tag. */
static inline bool pb_read_field(struct pb_reader *r)
{
	uint64_t tag;

	if (r->at == r->end || !pb_read_varint(r, &tag))
		return false;
	r->field = (uint32_t)(tag >> 3);
	r->wire = tag & 7;
	if (!r->field || tag > UINT32_MAX)
		return pb_read_fail(r);
	switch (r->wire) {
	case PB_VARINT:
		return pb_read_varint(r, &r->v);
	case PB_FIXED64:
		return pb_read_fixed(r, 8);
	case PB_FIXED32:
		return pb_read_fixed(r, 4);
	case PB_LENGTH:
		if (!pb_read_varint(r, &r->v))
			return false;
		if (r->v > (size_t)(r->end - r->at))
			return pb_read_fail(r);
		r->len = (size_t)r->v;
		r->data = r->at;
		r->at += r->len;
		return true;
	case PB_GROUP:
	case PB_GROUP_END:
		return true;
	default:
		return pb_read_fail(r);
	}
}

/* Finds the next field. False: there is none, or an error. */
static inline bool pb_next(struct pb_reader *r)
{
	if (!pb_read_field(r))
		return false;
	return r->wire == PB_GROUP || r->wire == PB_GROUP_END ? pb_next_slow(r) : true;
}

/* ---- the value of the field that was found; false: another kind, *ret is unchanged ---- */

static inline bool pb_get_u64(const struct pb_reader *r, uint64_t *ret)
{
	if (r->wire != PB_VARINT)
		return false;
	*ret = r->v;
	return true;
}
static inline bool pb_get_i64(const struct pb_reader *r, int64_t *ret)
{
	if (r->wire != PB_VARINT)
		return false;
	*ret = (int64_t)r->v;
	return true;
}
/* The low 32 bits, as in protobuf. */
static inline bool pb_get_u32(const struct pb_reader *r, uint32_t *ret)
{
	if (r->wire != PB_VARINT)
		return false;
	*ret = (uint32_t)r->v;
	return true;
}
static inline bool pb_get_i32(const struct pb_reader *r, int32_t *ret)
{
	if (r->wire != PB_VARINT)
		return false;
	*ret = (int32_t)r->v;
	return true;
}
static inline bool pb_get_bool(const struct pb_reader *r, bool *ret)
{
	if (r->wire != PB_VARINT)
		return false;
	*ret = r->v != 0;
	return true;
}
static inline bool pb_get_f64(const struct pb_reader *r, double *ret)
{
	if (r->wire != PB_FIXED64)
		return false;
	memcpy(ret, &r->v, sizeof(*ret));
	return true;
}
static inline bool pb_get_f32(const struct pb_reader *r, float *ret)
{
	uint32_t v = (uint32_t)r->v;

	if (r->wire != PB_FIXED32)
		return false;
	memcpy(ret, &v, sizeof(*ret));
	return true;
}
/* A string or bytes, borrowed from the data, without a NUL. */
static inline bool pb_get_bytes(const struct pb_reader *r, const void **ret, size_t *ret_len)
{
	if (r->wire != PB_LENGTH)
		return false;
	*ret = r->data;
	*ret_len = r->len;
	return true;
}

/* ---- repeated numbers, packed or not: call until false ---- */

#define PB_TAKEN 7u /* a wire type that does not exist in protobuf: the value was taken */

bool pb_item_u64(struct pb_reader *r, uint64_t *ret);
bool pb_item_f64(struct pb_reader *r, double *ret);
bool pb_item_f32(struct pb_reader *r, float *ret);

#endif
