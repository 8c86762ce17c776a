/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of small numbers in an array of 64-bit words; n is how many numbers it is for. Thread: its owner's. */
#ifndef BASE_BITMAP_H
#define BASE_BITMAP_H

#include <stdbool.h>
#include <stdint.h>

#define BITMAP_WORDS(n) (((n) + 63) / 64)

static inline bool bitmap_get(const uint64_t *set, uint32_t i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static inline void bitmap_set(uint64_t *set, uint32_t i)
{
	set[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void bitmap_clear(uint64_t *set, uint32_t i)
{
	set[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

/* The lowest number that is not in it; n: all are. */
static inline uint32_t bitmap_first_clear(const uint64_t *set, uint32_t n)
{
	for (uint32_t w = 0; w < BITMAP_WORDS(n); w++)
		if (~set[w]) {
			uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(~set[w]);

			return i < n ? i : n;
		}
	return n;
}

#endif
