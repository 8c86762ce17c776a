/* SPDX-License-Identifier: Apache-2.0 */
/* Log-linear histogram, see lateness.h. */
#include "lateness.h"

#define LINEAR 16 /* values below have a bucket each; above: 8 buckets an octave */

static unsigned bucket_of(uint64_t v)
{
	unsigned exp;

	if (v < LINEAR)
		return (unsigned)v;
	exp = 63 - (unsigned)__builtin_clzll(v);
	if (exp > 40)
		return LATENESS_BUCKETS - 1;
	return LINEAR + 8 * (exp - 4) + (unsigned)((v >> (exp - 3)) & 7);
}

/* The largest value that falls into the bucket. */
static int64_t bucket_end(unsigned b)
{
	unsigned exp;

	if (b < LINEAR)
		return (int64_t)b;
	exp = 4 + (b - LINEAR) / 8;
	return (INT64_C(1) << exp) + ((int64_t)((b - LINEAR) % 8 + 1) << (exp - 3)) - 1;
}

void lateness_add(struct lateness *l, int64_t dur_ns)
{
	unsigned b = bucket_of(dur_ns > 0 ? (uint64_t)dur_ns : 0);

	/* one writer: no read-modify-write cycle is needed */
	atomic_store_explicit(&l->count[b], atomic_load_explicit(&l->count[b], memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (dur_ns > atomic_load_explicit(&l->max_dur_ns, memory_order_relaxed))
		atomic_store_explicit(&l->max_dur_ns, dur_ns, memory_order_relaxed);
}

static uint64_t total(const struct lateness *l)
{
	uint64_t n = 0;

	for (unsigned b = 0; b < LATENESS_BUCKETS; b++)
		n += atomic_load_explicit(&l->count[b], memory_order_relaxed);
	return n;
}

int64_t lateness_quantile(const struct lateness *l, uint32_t q_e6)
{
	int64_t max_dur_ns = atomic_load_explicit(&l->max_dur_ns, memory_order_relaxed);
	uint64_t n = total(l), seen = 0, rank;

	if (!n)
		return 0;
	/* the smallest value that at least q of all do not exceed; split, so that large counts cannot overflow */
	rank = n / 1000000 * q_e6 + (n % 1000000 * q_e6 + 999999) / 1000000;
	if (!rank)
		rank = 1;
	for (unsigned b = 0; b < LATENESS_BUCKETS; b++) {
		seen += atomic_load_explicit(&l->count[b], memory_order_relaxed);
		if (seen >= rank)
			return bucket_end(b) < max_dur_ns ? bucket_end(b) : max_dur_ns;
	}
	return max_dur_ns;
}

void lateness_summarise(const struct lateness *l, struct lateness_summary *ret)
{
	*ret = (struct lateness_summary){
		.count = total(l),
		.p50_dur_ns = lateness_quantile(l, 500000),
		.p99_dur_ns = lateness_quantile(l, 990000),
		.max_dur_ns = atomic_load_explicit(&l->max_dur_ns, memory_order_relaxed),
	};
}
