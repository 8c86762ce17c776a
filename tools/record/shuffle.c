/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See shuffle.h. Sixteen records at a time, of them sixteen bytes at a time: a square that is turned in registers. The last
 * square of a record lies over the one before it where a record is no multiple of sixteen bytes.
 */
#include "shuffle.h"

#include <assert.h>
#include <string.h>

#define SIDE 16u

typedef uint8_t row __attribute__((vector_size(SIDE)));

/* clang-format off */
#define LOWER 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define UPPER 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
/* clang-format on */

/*
 * Bytes of the first eight rows between those of the last eight: four times that, and columns are rows. Unrolled, here and below, as
 * gcc -O2 does not do by itself: rows stay in registers, and it takes a third of the time.
 */
static inline void interleave(row to[SIDE], const row from[SIDE])
{
#pragma GCC unroll 16
	for (unsigned i = 0; i < SIDE / 2; i++) {
		to[2 * i] = __builtin_shufflevector(from[i], from[i + SIDE / 2], LOWER);
		to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + SIDE / 2], UPPER);
	}
}

/* Rows and columns of a square change places; each row lies `step` bytes behind the last one. */
static void turn(uint8_t *to, size_t to_step, const uint8_t *from, size_t from_step)
{
	row a[SIDE], b[SIDE];

#pragma GCC unroll 16
	for (unsigned i = 0; i < SIDE; i++)
		memcpy(&a[i], from + i * from_step, SIDE);
	interleave(b, a);
	interleave(a, b);
	interleave(b, a);
	interleave(a, b);
#pragma GCC unroll 16
	for (unsigned i = 0; i < SIDE; i++)
		memcpy(to + i * to_step, &a[i], SIDE);
}

/* Where the square ends that follows the one which ends at `end`; the last one is at `stride`. */
static unsigned next_end(unsigned end, unsigned stride)
{
	return end + SIDE < stride ? end + SIDE : stride;
}

/* How many records are done by squares. */
static size_t in_squares(size_t records, unsigned stride)
{
	return stride < SIDE ? 0 : records - records % SIDE;
}

void shuffle(uint8_t *to, const uint8_t *from, size_t size, unsigned stride)
{
	size_t records = size / stride, done = in_squares(records, stride);

	assert(stride && stride <= SHUFFLE_STRIDE_MAX);
	for (size_t i = 0; i < done; i += SIDE)
		for (unsigned end = 0; end < stride;) {
			end = next_end(end, stride);
			turn(to + (end - SIDE) * records + i, records, from + i * stride + end - SIDE, stride);
		}
	for (unsigned k = 0; k < stride; k++)
		for (size_t i = done; i < records; i++)
			to[k * records + i] = from[i * stride + k];
	memcpy(to + records * stride, from + records * stride, size - records * stride);
}

void unshuffle(uint8_t *to, const uint8_t *from, size_t size, unsigned stride)
{
	size_t records = size / stride, done = in_squares(records, stride);

	assert(stride && stride <= SHUFFLE_STRIDE_MAX);
	for (size_t i = 0; i < done; i += SIDE)
		for (unsigned end = 0; end < stride;) {
			end = next_end(end, stride);
			turn(to + i * stride + end - SIDE, stride, from + (end - SIDE) * records + i, records);
		}
	for (size_t i = done; i < records; i++)
		for (unsigned k = 0; k < stride; k++)
			to[i * stride + k] = from[k * records + i];
	memcpy(to + records * stride, from + records * stride, size - records * stride);
}
