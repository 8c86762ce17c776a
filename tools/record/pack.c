/* SPDX-License-Identifier: Apache-2.0 */
/* Packed messages: see pack.h. */
#include "pack.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shuffle.h"

#define VERSION 1u
#define HEAD    8u
#define RANGE   12u

static void put32(uint8_t *at, uint32_t v)
{
	v = htole32(v);
	memcpy(at, &v, sizeof(v));
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return le32toh(v);
}

/* Whether a range is valid after one that ends at `from`, in a message of `size` bytes. */
static bool is_valid(const struct pack_range *r, uint32_t from, uint32_t size)
{
	return r->offset >= from && r->offset <= size && r->len <= size - r->offset && r->stride &&
	       r->stride <= SHUFFLE_STRIDE_MAX;
}

static int check(const struct pack_range *ranges, unsigned n, uint32_t size)
{
	uint32_t from = 0;

	if (n > PACK_RANGES_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		if (!is_valid(&ranges[i], from, size))
			return -EINVAL;
		from = ranges[i].offset + ranges[i].len;
	}
	return 0;
}

/* ---- packing ---- */

/*
 * Packs a piece that begins at `offset` of the message: shuffles the ranges within it, and adds them to `head`. Returns
 * how many.
 */
static unsigned pack_piece(uint8_t *to, const struct iovec *piece, uint64_t offset, const struct pack_range *ranges,
			   unsigned n, uint8_t *head)
{
	const uint8_t *from = piece->iov_base;
	size_t done = 0;
	unsigned noted = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct pack_range *r = &ranges[i];
		uint8_t *at = head + (size_t)RANGE * noted;
		size_t start;

		if (!r->len || r->offset < offset || r->offset + (uint64_t)r->len > offset + piece->iov_len)
			continue;
		start = r->offset - offset;
		memcpy(to + done, from + done, start - done);
		shuffle(to + start, from + start, r->len, r->stride);
		done = start + r->len;
		put32(at, r->offset);
		put32(at + 4, r->len);
		put32(at + 8, r->stride);
		noted++;
	}
	if (piece->iov_len)
		memcpy(to + done, from + done, piece->iov_len - done);
	return noted;
}

int64_t pack_encode(uint8_t *to, const struct iovec *pieces, unsigned n, const struct pack_range *ranges,
		    unsigned n_ranges)
{
	uint64_t size = 0, offset = 0;
	size_t head = HEAD + (size_t)RANGE * n_ranges;
	unsigned noted = 0;

	for (unsigned i = 0; i < n; i++)
		size += pieces[i].iov_len;
	if (size > UINT32_MAX)
		return -E2BIG;
	if (check(ranges, n_ranges, (uint32_t)size) < 0)
		return -EINVAL;
	memset(to, 0, head);
	for (unsigned i = 0; i < n; i++) {
		noted += pack_piece(to + head + offset, &pieces[i], offset, ranges, n_ranges,
				    to + HEAD + (size_t)RANGE * noted);
		offset += pieces[i].iov_len;
	}
	to[0] = VERSION;
	to[1] = (uint8_t)n_ranges;
	put32(to + 4, (uint32_t)size);
	for (; noted < n_ranges; noted++) { /* ranges that were left unshuffled become empty ranges at the end */
		put32(to + HEAD + (size_t)RANGE * noted, (uint32_t)size);
		put32(to + HEAD + (size_t)RANGE * noted + 8, 1);
	}
	return (int64_t)(head + size);
}

/* ---- unpacking ---- */

/* Returns the size of the header; 0: invalid. */
static size_t read_head(const uint8_t *packed, size_t size, struct pack_range ranges[PACK_RANGES_MAX], unsigned *ret_n)
{
	unsigned n = size < HEAD ? 0 : packed[1];
	size_t head = HEAD + (size_t)RANGE * n;

	if (size < head || packed[0] != VERSION || n > PACK_RANGES_MAX || size - head != get32(packed + 4))
		return 0;
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *at = packed + HEAD + (size_t)RANGE * i;

		ranges[i] = (struct pack_range){ get32(at), get32(at + 4), get32(at + 8) };
	}
	*ret_n = n;
	return check(ranges, n, get32(packed + 4)) < 0 ? 0 : head;
}

int64_t pack_size(const uint8_t *packed, size_t size)
{
	struct pack_range ranges[PACK_RANGES_MAX];
	unsigned n;
	size_t head = read_head(packed, size, ranges, &n);

	return head ? (int64_t)(size - head) : -EBADMSG;
}

int pack_decode(uint8_t *to, const uint8_t *packed, size_t size)
{
	struct pack_range ranges[PACK_RANGES_MAX];
	unsigned n;
	size_t head = read_head(packed, size, ranges, &n), done = 0;

	if (!head)
		return -EBADMSG;
	packed += head;
	for (unsigned i = 0; i < n; i++) {
		const struct pack_range *r = &ranges[i];

		memcpy(to + done, packed + done, r->offset - done);
		unshuffle(to + r->offset, packed + r->offset, r->len, r->stride);
		done = r->offset + (size_t)r->len;
	}
	memcpy(to + done, packed + done, size - head - done);
	return 0;
}
