/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of records, apart by their place: first the first byte of each record, then the second of each, ... What is alike in
 * neighbours then lies together, which compresses better and faster. What is left behind the last whole record stays as it is.
 * Out of place. Thread: any.
 */
#ifndef SHUFFLE_H
#define SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

#define SHUFFLE_STRIDE_MAX 256u

/* size: bytes of `to` and of `from`, which do not overlap. stride: of a record, 1 to SHUFFLE_STRIDE_MAX bytes. */
void shuffle(uint8_t *to, const uint8_t *from, size_t size, unsigned stride);
/* And back. */
void unshuffle(uint8_t *to, const uint8_t *from, size_t size, unsigned stride);

#endif
