/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf's wire format where protobuf-c would be too slow, or the definition is not known: rows of sections, and
 * fields of unknown bodies. Appends to a buffer that grows; reads in place and checks everything. Thread: the owner's
 * of buffer and cursor.
 */
#ifndef WORLD_WIRE_H
#define WORLD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

#define WIRE_VARINT_MAX 10u /* bytes */

struct wire_buf {
	uint8_t *data; /* owned */
	size_t len, size;
	bool failed; /* out of memory: the appended data is incomplete */
	bool fixed;  /* data is not owned and does not grow: appending beyond it fails */
};

void wire_buf_finish(struct wire_buf *b);
/* Reserves n bytes at data + len, or returns NULL with failed set. */
uint8_t *wire_room(struct wire_buf *b, size_t n);
void wire_append(struct wire_buf *b, const void *p, size_t n);

static inline uint64_t wire_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}
static inline int64_t wire_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (~(v & 1) + 1));
}
/* Writes to at least WIRE_VARINT_MAX bytes at `at`; returns the end of what it wrote. */
static inline uint8_t *wire_put(uint8_t *at, uint64_t v)
{
	while (v >= 0x80) {
		*at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*at++ = (uint8_t)v;
	return at;
}
void wire_u64(struct wire_buf *b, unsigned field, uint64_t v);
void wire_fixed64(struct wire_buf *b, unsigned field, uint64_t v);
/* Appends a message whose fields 1 to n are v, without those that are 0; nothing if all are. n: at most 13. */
void wire_doubles(struct wire_buf *b, unsigned field, const double *v, unsigned n);
void wire_bytes(struct wire_buf *b, unsigned field, const void *p, size_t n);

/* ---- reading ---- */

struct wire_cursor {
	const uint8_t *at, *end;
	bool bad; /* malformed: nothing more is read */
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;       /* for WIRE_VARINT, WIRE_FIXED64, WIRE_FIXED32; the length for WIRE_LENGTH */
	const uint8_t *data;  /* for WIRE_LENGTH */
	const uint8_t *begin; /* where its tag begins */
};

static inline struct wire_cursor wire_cursor(const void *p, size_t n)
{
	const uint8_t *at = p;

	return (struct wire_cursor){ .at = at, .end = n ? at + n : at };
}
bool wire_varint(struct wire_cursor *c, uint64_t *ret);
/* Reads the next field. False: the end, or malformed (so are groups: proto3 has none). */
bool wire_next(struct wire_cursor *c, struct wire_field *ret);

#endif
