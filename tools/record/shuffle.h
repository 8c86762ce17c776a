/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups the bytes of records by their position: the first byte of each record, then the second of each, ... Similar
 * bytes of neighbouring records become adjacent, which compresses better and faster. Bytes after the last complete
 * record are copied unchanged. Not in place. Thread: any.
 */
#ifndef SHUFFLE_H
#define SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

#define SHUFFLE_STRIDE_MAX 256u

/* size: of `to` and of `from`, which must not overlap. stride: size of a record, 1 to SHUFFLE_STRIDE_MAX bytes. */
void shuffle(uint8_t *to, const uint8_t *from, size_t size, unsigned stride);
/* The inverse of shuffle(). */
void unshuffle(uint8_t *to, const uint8_t *from, size_t size, unsigned stride);

#endif
