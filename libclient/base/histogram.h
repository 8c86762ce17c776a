/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histogram of durations, 1 ns .. 2^42 ns (73 min): 8 buckets per doubling, so a quantile is at most 12.5 % high. All
 * zeros is an empty one. One writer; readers in other threads see counts that may be a few values old.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 320

struct histogram {
	_Atomic uint64_t count[HISTOGRAM_BUCKETS], total;
	_Atomic int64_t max_dur_ns;
};

struct histogram_summary {
	uint64_t count;
	int64_t p50_dur_ns, p99_dur_ns, max_dur_ns; /* 0 while count is 0 */
};

/* A negative duration counts as 0. Thread: the writer's. */
void histogram_add(struct histogram *h, int64_t dur_ns);
/*
 * The same for a histogram of the recent past: at a million values all counts are halved first. Thread: the writer's.
 */
void histogram_add_recent(struct histogram *h, int64_t dur_ns);
/* Upper end of the bucket that holds the quantile, q_e6 in millionths; never above the maximum. Any thread. */
int64_t histogram_quantile(const struct histogram *h, uint32_t q_e6);
/* Adds the counts of `from`. Thread: to's writer. */
void histogram_merge(struct histogram *to, const struct histogram *from);
/* The count of bucket b < HISTOGRAM_BUCKETS, and its greatest value, except for the last bucket. Any thread. */
uint64_t histogram_count(const struct histogram *h, unsigned b);
int64_t histogram_bucket_end(unsigned b);
/* Adds a value n times. Thread: the writer's. */
void histogram_add_many(struct histogram *h, int64_t dur_ns, uint64_t n);
void histogram_summarise(const struct histogram *h, struct histogram_summary *ret);

#endif
