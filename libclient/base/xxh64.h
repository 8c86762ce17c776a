/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH64, seed 0: the 64-bit hash that `xxhsum -H64` prints, of bytes that come in pieces. Against mistakes and for
 * comparing, not against people. One thread's; lives on the stack.
 */
#ifndef XXH64_H
#define XXH64_H

#include <stddef.h>
#include <stdint.h>

struct xxh64 {
	uint64_t acc[4], total;
	uint8_t rest[32]; /* total % 32 of it: what did not fill a stripe */
};

void xxh64_init(struct xxh64 *h);
void xxh64_add(struct xxh64 *h, const void *data, size_t len);
uint64_t xxh64_value(const struct xxh64 *h); /* of what was added so far */

#endif
