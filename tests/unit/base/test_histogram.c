/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h. Thread: one. */
#include "tests/support/test.h"

#include "histogram.h"
#include "rnd.h"

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

TEST(quantiles_are_within_their_bucket)
{
	static struct histogram h;
	static int64_t v[5000];
	struct histogram_summary s;
	struct rnd rnd;

	histogram_summarise(&h, &s);
	assert_int_equal(s.count + (uint64_t)s.p50_dur_ns + (uint64_t)s.p99_dur_ns + (uint64_t)s.max_dur_ns, 0);
	rnd_seed(&rnd, 3);
	for (int i = 0; i < 5000; i++) {
		v[i] = (int64_t)(rnd_u64(&rnd) >> (25 + rnd_below(&rnd, 39)));
		histogram_add(&h, v[i]);
	}
	histogram_add(&h, -5); /* as 0 */
	v[0] = v[0] > 0 ? v[0] : 0;
	qsort(v, 5000, sizeof(v[0]), by_value);
	for (uint32_t q = 1; q <= 100; q++) {
		int64_t exact = v[q * 50 - 1], got = histogram_quantile(&h, q * 10000);

		/* the extra 0 moves the rank by one: allow for the neighbour */
		assert_true(got >= (q > 1 ? v[q * 50 - 2] : 0) && got <= exact + exact / 8 + 1);
	}
	histogram_summarise(&h, &s);
	assert_int_equal(s.count, 5001);
	assert_int_equal(s.max_dur_ns, v[4999]);
	histogram_add(&h, INT64_MAX); /* beyond the last bucket: counted there, and the maximum is reported */
	histogram_summarise(&h, &s);
	assert_int_equal(s.max_dur_ns, INT64_MAX);
	assert_int_equal(s.count, 5002);
}
/* A value a million values ago has half the weight, one two million values ago a quarter. */
TEST(recent_values_outweigh_old_ones)
{
	static struct histogram h;

	for (int i = 0; i < 1000000; i++)
		histogram_add_recent(&h, 1000);
	for (int i = 0; i < 500000; i++)
		histogram_add_recent(&h, 3);
	assert_int_equal(h.total, 1000000);
	assert_int_equal(histogram_quantile(&h, 500000), 3);
	assert_true(histogram_quantile(&h, 510000) >= 1000);
	histogram_add_recent(&h, 3);
	assert_int_equal(h.total, 500001);
}

TEST(a_merged_histogram_has_the_quantiles_of_both)
{
	static struct histogram a, b, both;

	for (int i = 0; i < 3000; i++) {
		histogram_add(i % 3 ? &a : &b, i * 1000);
		histogram_add(&both, i * 1000);
	}
	histogram_merge(&a, &b);
	for (uint32_t q = 0; q <= 1000000; q += 50000)
		assert_int_equal(histogram_quantile(&a, q), histogram_quantile(&both, q));
	assert_int_equal(a.total, 3000);
}

/* Its buckets are enough to make another one of the same quantiles: what travels over a socket. */
TEST(a_histogram_can_be_rebuilt_from_its_buckets)
{
	static struct histogram a, b;
	struct rnd rnd;

	rnd_seed(&rnd, 5);
	for (int i = 0; i < 3000; i++)
		histogram_add(&a, (int64_t)(rnd_u64(&rnd) >> (30 + rnd_below(&rnd, 34))));
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (histogram_count(&a, i))
			histogram_add_many(&b, histogram_bucket_end(i), histogram_count(&a, i));
	assert_int_equal(b.total, a.total);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		assert_int_equal(histogram_count(&b, i), histogram_count(&a, i));
	for (uint32_t q = 0; q < 999000; q += 1000)
		assert_int_equal(histogram_quantile(&b, q), histogram_quantile(&a, q));
	histogram_add_many(&b, 7, 0);
	assert_int_equal(b.total, a.total);
}
