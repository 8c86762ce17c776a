/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of small numbers in an array of 64-bit words; n: the set holds 0 .. n-1. Thread: its owner's. */
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

/* The lowest number in the set from `from` on; n: none. */
static inline uint32_t bitmap_next(const uint64_t *set, uint32_t n, uint32_t from)
{
	uint64_t rest = from < n ? set[from / 64] & UINT64_MAX << (from % 64) : 0;

	for (uint32_t w = from / 64; w < BITMAP_WORDS(n); rest = ++w < BITMAP_WORDS(n) ? set[w] : 0)
		if (rest) {
			uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(rest);

			return i < n ? i : n;
		}
	return n;
}

/* In ascending order; numbers added after i meanwhile come too. */
#define bitmap_for_each(i, set, n) for (uint32_t i = bitmap_next(set, n, 0); i < (n); i = bitmap_next(set, n, i + 1))

/* The lowest number that is not in the set; n: all are. */
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
