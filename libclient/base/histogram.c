/* SPDX-License-Identifier: Apache-2.0 */
/* Log-linear histogram, see histogram.h. */
#include "histogram.h"

#define SUB_BITS 3 /* buckets per doubling, as a power of two; lower values have a bucket each */
#define SUB      (1u << SUB_BITS)
#define RECENT   1000000

/* A single writer: plain loads and stores are enough. */
#define LOAD(p)     atomic_load_explicit(p, memory_order_relaxed)
#define STORE(p, v) atomic_store_explicit(p, v, memory_order_relaxed)

static unsigned bucket_of(uint64_t v)
{
	unsigned shift, b;

	if (v < SUB)
		return (unsigned)v;
	shift = 63 - SUB_BITS - (unsigned)__builtin_clzll(v);
	b = (shift << SUB_BITS) + (unsigned)(v >> shift); /* v >> shift is SUB .. 2 SUB - 1 */
	return b < HISTOGRAM_BUCKETS ? b : HISTOGRAM_BUCKETS - 1;
}

int64_t histogram_bucket_end(unsigned b)
{
	unsigned shift = b < SUB ? 0 : (b >> SUB_BITS) - 1;

	return ((int64_t)(b - (shift << SUB_BITS) + 1) << shift) - 1;
}

uint64_t histogram_count(const struct histogram *h, unsigned b)
{
	return LOAD(&h->count[b]);
}

void histogram_add_many(struct histogram *h, int64_t dur_ns, uint64_t n)
{
	_Atomic uint64_t *count = &h->count[bucket_of(dur_ns > 0 ? (uint64_t)dur_ns : 0)];

	STORE(count, LOAD(count) + n);
	STORE(&h->total, LOAD(&h->total) + n);
	if (dur_ns > LOAD(&h->max_dur_ns))
		STORE(&h->max_dur_ns, dur_ns);
}

void histogram_add(struct histogram *h, int64_t dur_ns)
{
	histogram_add_many(h, dur_ns, 1);
}

void histogram_add_recent(struct histogram *h, int64_t dur_ns)
{
	uint64_t total = 0;

	if (LOAD(&h->total) >= RECENT) {
		for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++) {
			STORE(&h->count[b], LOAD(&h->count[b]) / 2);
			total += LOAD(&h->count[b]);
		}
		STORE(&h->total, total);
	}
	histogram_add(h, dur_ns);
}

int64_t histogram_quantile(const struct histogram *h, uint32_t q_e6)
{
	int64_t max_dur_ns = LOAD(&h->max_dur_ns);
	uint64_t n = LOAD(&h->total), seen = 0, rank;

	if (!n)
		return 0;
	/*
	 * rank of the smallest value that at least q of all values do not exceed; split, so that large counts cannot
	 * overflow
	 */
	rank = n / 1000000 * q_e6 + (n % 1000000 * q_e6 + 999999) / 1000000;
	if (!rank)
		rank = 1;
	for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++) {
		seen += LOAD(&h->count[b]);
		if (seen >= rank)
			return histogram_bucket_end(b) < max_dur_ns ? histogram_bucket_end(b) : max_dur_ns;
	}
	return max_dur_ns;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	uint64_t total = LOAD(&to->total);

	for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++) {
		uint64_t n = LOAD(&from->count[b]);

		STORE(&to->count[b], LOAD(&to->count[b]) + n);
		total += n; /* summed from the buckets read here, as a writer may change them just now */
	}
	STORE(&to->total, total);
	if (LOAD(&from->max_dur_ns) > LOAD(&to->max_dur_ns))
		STORE(&to->max_dur_ns, LOAD(&from->max_dur_ns));
}

void histogram_summarise(const struct histogram *h, struct histogram_summary *ret)
{
	*ret = (struct histogram_summary){
		.count = LOAD(&h->total),
		.p50_dur_ns = histogram_quantile(h, 500000),
		.p99_dur_ns = histogram_quantile(h, 990000),
		.max_dur_ns = LOAD(&h->max_dur_ns),
	};
}
