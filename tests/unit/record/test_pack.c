/* SPDX-License-Identifier: Apache-2.0 */
/* Shuffled arrays and packed messages: any can be unpacked, and other data is refused. */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pack.h"
#include "shuffle.h"
#include "unit/introspect/random_msg.h"

#define MOST 20000u

static uint8_t from[MOST], to[MOST + PACK_HEAD_MAX], back[MOST + 1];

static void fill(uint64_t *seed)
{
	for (size_t i = 0; i < sizeof(from); i += 8) {
		uint64_t v = random_next(seed);

		memcpy(from + i, &v, sizeof(v));
	}
}

TEST(shuffled_records_are_restored)
{
	uint64_t seed = test_seed(1);

	for (unsigned stride = 1; stride <= SHUFFLE_STRIDE_MAX; stride++) {
		size_t size = (size_t)(random_next(&seed) % MOST), records = size / stride;

		fill(&seed);
		back[size] = to[size] = 0x5a;
		shuffle(to, from, size, stride);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(to[i],
					 i < records * stride ? from[i % records * stride + i / records] : from[i]);
		unshuffle(back, to, size, stride);
		assert_memory_equal(back, from, size);
		assert_int_equal(back[size], 0x5a);
		assert_int_equal(to[size], 0x5a);
	}
}

static unsigned some_ranges(uint64_t *seed, struct pack_range *r, uint32_t size)
{
	unsigned n = (unsigned)(random_next(seed) % (PACK_RANGES_MAX + 1));
	uint32_t at = 0;

	for (unsigned i = 0; i < n; i++) {
		r[i].offset = at + (uint32_t)(random_next(seed) % (size - at + 1));
		r[i].len = (uint32_t)(random_next(seed) % (size - r[i].offset + 1));
		r[i].stride = 1 + (uint32_t)(random_next(seed) % SHUFFLE_STRIDE_MAX);
		at = r[i].offset + r[i].len;
	}
	return n;
}

TEST(packed_messages_are_restored)
{
	uint64_t seed = test_seed(2);

	for (unsigned k = 0; k < 500; k++) {
		uint32_t size = (uint32_t)(random_next(&seed) % MOST),
			 cut = (uint32_t)(random_next(&seed) % (size + 1));
		struct iovec pieces[] = { { from, cut }, { from + cut, size - cut } };
		struct pack_range ranges[PACK_RANGES_MAX];
		unsigned n = some_ranges(&seed, ranges, size);
		int64_t len;

		fill(&seed);
		len = pack_encode(to, pieces, 2, ranges, n);
		assert_int_equal(len, 8 + 12 * n + size);
		assert_int_equal(pack_size(to, (size_t)len), size);
		assert_int_equal(pack_decode(back, to, (size_t)len), 0);
		assert_memory_equal(back, from, size);
	}
}

TEST(a_range_is_shuffled)
{
	struct iovec piece = { from, 1000 };
	const struct pack_range range = { 10, 960, 32 };
	uint64_t seed = 3;

	fill(&seed);
	assert_int_equal(pack_encode(to, &piece, 1, &range, 1), 1020);
	shuffle(back, from + 10, 960, 32);
	assert_memory_equal(to + 20 + 10, back, 960);
}

/* Between two pieces, where each could have it. */
TEST(an_empty_range_is_valid)
{
	struct iovec pieces[] = { { from, 50 }, { from + 50, 50 } };
	const struct pack_range range = { 50, 0, 4 };
	uint64_t seed = 5;

	fill(&seed);
	assert_int_equal(pack_encode(to, pieces, 2, &range, 1), 120);
	assert_memory_equal(to + 20, from, 100);
	assert_int_equal(pack_decode(back, to, 120), 0);
	assert_memory_equal(back, from, 100);
}

TEST(invalid_ranges_are_refused)
{
	struct iovec piece = { from, 100 };
	const struct pack_range bad[][2] = { { { 0, 101, 1 } }, { { 101, 0, 1 } }, { { 1, UINT32_MAX, 4 } },
					     { { 0, 8, 0 } },   { { 0, 8, 257 } }, { { 8, 8, 4 }, { 15, 8, 4 } } };
	struct pack_range many[PACK_RANGES_MAX + 1] = { { 0, 0, 0 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(pack_encode(to, &piece, 1, bad[i], bad[i][1].stride ? 2 : 1), -EINVAL);
	assert_int_equal(pack_encode(to, &piece, 1, many, PACK_RANGES_MAX + 1), -EINVAL);
}

/* In memory of exactly its size, so that a sanitizer sees a read beyond it. */
static void decode(const uint8_t *packed, size_t size)
{
	uint8_t *in = malloc(size + 1), *out;
	int64_t n;

	assert_non_null(in);
	memcpy(in, packed, size);
	n = pack_size(in, size);
	out = malloc(n < 0 ? 1 : (size_t)n + 1);
	assert_non_null(out);
	assert_int_equal(pack_decode(out, in, size), n < 0 ? -EBADMSG : 0);
	free(out);
	free(in);
}

TEST(invalid_packed_data_is_refused)
{
	struct iovec piece = { from, 300 };
	const struct pack_range ranges[] = { { 4, 100, 3 }, { 104, 96, 32 } };
	uint64_t seed = test_seed(4);
	size_t size;

	fill(&seed);
	size = (size_t)pack_encode(to, &piece, 1, ranges, 2);
	for (size_t n = 0; n < size; n++) {
		assert_int_equal(pack_size(to, n), -EBADMSG);
		decode(to, n);
	}
	for (unsigned bit = 0; bit < 8 * 32; bit++) {
		to[bit / 8] ^= (uint8_t)(1u << bit % 8);
		decode(to, size);
		to[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}
