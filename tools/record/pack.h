/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoding `packed`: a message whose arrays of records are shuffled (see shuffle.h) so that its chunk compresses\n * better. A header lists the shuffled ranges, so unpacking needs no type. All numbers are little-endian:
 *
 *   u8 version = 1, u8 number of ranges, u16 0, u32 size of the message
 *   for each range: u32 offset in the message, u32 length, u32 size of a record
 *   the message, each range shuffled in place
 *
 * Ranges are in ascending order and do not overlap. Thread: any.
 */
#ifndef PACK_H
#define PACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define PACK_RANGES_MAX 8u
#define PACK_HEAD_MAX   (8u + 12u * PACK_RANGES_MAX)

struct pack_range {
	uint32_t offset, len;
	uint32_t stride; /* size of a record: 1 to SHUFFLE_STRIDE_MAX bytes */
};

/*
 * Packs the message that consists of the pieces. A range that spans more than one piece is left as it is. `to` must
 * have room for PACK_HEAD_MAX bytes and the message. Returns the packed size; -EINVAL: ranges out of order or beyond
 * the message, too many, or an invalid stride; -E2BIG: 4 GiB or more.
 */
int64_t pack_encode(uint8_t *to, const struct iovec *pieces, unsigned n, const struct pack_range *ranges,
		    unsigned n_ranges) __attribute__((warn_unused_result));

/* Size of the message packed in these `size` bytes; -EBADMSG: not a packed message. */
int64_t pack_size(const uint8_t *packed, size_t size) __attribute__((warn_unused_result));

/* Unpacks into `to`, which has room for pack_size() bytes. 0 or -EBADMSG. */
int pack_decode(uint8_t *to, const uint8_t *packed, size_t size) __attribute__((warn_unused_result));

#endif
