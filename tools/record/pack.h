/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message whose arrays of records are shuffled (see shuffle.h), for the encoding `packed`; it is compressed with its chunk.
 * A header says which bytes, so that unpacking needs no type. All numbers are little-endian:
 *
 *   u8 version = 1, u8 number of ranges, u16 0, u32 size of the message
 *   for each range: u32 offset in the message, u32 length, u32 bytes of a record
 *   the message, each range shuffled in its place
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
	uint32_t stride; /* bytes of a record: 1 to SHUFFLE_STRIDE_MAX */
};

/*
 * The message is what the pieces have, one behind the other. A range that lies in more than one piece is left as it is.
 * Writes into `to`, of PACK_HEAD_MAX bytes and the message. Returns how many; -EINVAL: ranges out of order or beyond the
 * message, too many, an invalid stride; -E2BIG: 4 GiB and more.
 */
int64_t pack_encode(uint8_t *to, const struct iovec *pieces, unsigned n, const struct pack_range *ranges,
		    unsigned n_ranges) __attribute__((warn_unused_result));

/* Bytes of the message that is packed in these `size` bytes; -EBADMSG: they are none. */
int64_t pack_size(const uint8_t *packed, size_t size) __attribute__((warn_unused_result));

/* Unpack into `to`, of pack_size() bytes. 0 or -EBADMSG. */
int pack_decode(uint8_t *to, const uint8_t *packed, size_t size) __attribute__((warn_unused_result));

#endif
