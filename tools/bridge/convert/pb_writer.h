/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf's wire format, written field by field after what an iov_buf already holds. Fields are written in the order
 * of the calls: if that is the order of their numbers, and lengths are minimal, the bytes are those of protobuf-c and
 * of protobuf itself.
 *
 * Errors do not interrupt: the first one is kept, and the output must then be discarded. Thread: one per writer.
 * Inline, because a message consists of many small fields whose numbers are known at compile time.
 */
#ifndef PB_WRITER_H
#define PB_WRITER_H

#include <stdbool.h>
#include <string.h>

#include "iov_buf.h"

#define PB_DEPTH_MAX 32u         /* nested messages */
#define PB_SIZE_MAX  0x7fffffffu /* bytes of a message: protobuf's own limit */

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_LENGTH = 2, PB_GROUP = 3, PB_GROUP_END = 4, PB_FIXED32 = 5 };

struct pb_writer {
	struct iov_buf *out;
	int error; /* the first one: -ENOMEM, -E2BIG; later writes are ignored */
	/* the members below are private */
	unsigned depth;
	size_t start;              /* out->total at the beginning */
	uint8_t *at, *end;         /* unused room from iov_buf_room(); NULL: none */
	size_t open[PB_DEPTH_MAX]; /* offsets in out->buf at which the contents of open messages begin */
};

/* Appends to out, which it borrows until pb_end(); it must not be changed otherwise until then. */
void pb_begin(struct pb_writer *w, struct iov_buf *out);
/* 0 or the first error: -ENOMEM; -E2BIG larger than PB_SIZE_MAX or deeper than PB_DEPTH_MAX. */
int pb_end(struct pb_writer *w);

/* Begin and end a nested message. */
void pb_open(struct pb_writer *w, uint32_t field);
void pb_close(struct pb_writer *w);

void pb_string(struct pb_writer *w, uint32_t field, const char *s, size_t len);
/*
 * In the outermost message, from IOV_BUF_REF_MIN on, appended by reference if that pays: p must stay valid until the
 * iov_buf is reset.
 */
void pb_bytes(struct pb_writer *w, uint32_t field, const void *p, size_t len);
/* Room for len bytes, to be filled before the next call. NULL: no memory, or an earlier error. */
void *pb_bytes_room(struct pb_writer *w, uint32_t field, size_t len);

/*
 * Room for n bytes of fields that the caller writes itself; pb_wrote() states how many were used. NULL: no memory, or
 * an earlier error.
 */
uint8_t *pb_room_slow(struct pb_writer *w, size_t n);

static inline uint8_t *pb_room(struct pb_writer *w, size_t n)
{
	return (size_t)(w->end - w->at) >= n ? w->at : pb_room_slow(w, n);
}
static inline void pb_wrote(struct pb_writer *w, uint8_t *end)
{
	w->at = end;
}

/* ---- writing into that room; each function returns the end of what it wrote ---- */

#define PB_VARINT_MAX 10u
#define PB_TAG_MAX    5u

static inline uint8_t *pb_put_varint(uint8_t *at, uint64_t v)
{
	while (v >= 0x80) {
		*at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*at++ = (uint8_t)v;
	return at;
}
static inline uint8_t *pb_put_tag(uint8_t *at, uint32_t field, enum pb_wire wire)
{
	return pb_put_varint(at, field << 3 | wire);
}
/* Number of bytes of a varint: 1 to 10. */
static inline unsigned pb_varint_size(uint64_t v)
{
	return (70u - (unsigned)__builtin_clzll(v | 1)) / 7u;
}

/* ---- fields ---- */

/* uint32, uint64, enum >= 0 */
static inline void pb_u64(struct pb_writer *w, uint32_t field, uint64_t v)
{
	uint8_t *at = pb_room(w, PB_TAG_MAX + PB_VARINT_MAX);

	if (at)
		pb_wrote(w, pb_put_varint(pb_put_tag(at, field, PB_VARINT), v));
}
/* int32, int64, enum: negative values take ten bytes */
static inline void pb_i64(struct pb_writer *w, uint32_t field, int64_t v)
{
	pb_u64(w, field, (uint64_t)v);
}
static inline void pb_bool(struct pb_writer *w, uint32_t field, bool v)
{
	pb_u64(w, field, v);
}
static inline void pb_f64(struct pb_writer *w, uint32_t field, double v)
{
	uint8_t *at = pb_room(w, PB_TAG_MAX + sizeof(v));

	if (!at)
		return;
	at = pb_put_tag(at, field, PB_FIXED64);
	memcpy(at, &v, sizeof(v));
	pb_wrote(w, at + sizeof(v));
}
static inline void pb_f32(struct pb_writer *w, uint32_t field, float v)
{
	uint8_t *at = pb_room(w, PB_TAG_MAX + sizeof(v));

	if (!at)
		return;
	at = pb_put_tag(at, field, PB_FIXED32);
	memcpy(at, &v, sizeof(v));
	pb_wrote(w, at + sizeof(v));
}
/* A nested message whose fields 1 to n are doubles: a point, a quaternion. n: up to 13. */
static inline void pb_f64_message(struct pb_writer *w, uint32_t field, const double *v, unsigned n)
{
	uint8_t *at = pb_room(w, PB_TAG_MAX + 1 + n * (1 + sizeof(*v)));

	if (!at)
		return;
	at = pb_put_varint(pb_put_tag(at, field, PB_LENGTH), n * (1 + sizeof(*v)));
	for (unsigned i = 0; i < n; i++, at += 1 + sizeof(*v)) {
		*at = (uint8_t)((i + 1) << 3 | PB_FIXED64);
		memcpy(at + 1, &v[i], sizeof(*v));
	}
	pb_wrote(w, at);
}

#endif
