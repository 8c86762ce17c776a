/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histogram of durations, 1 ns .. 2^40 ns (18 min): 8 buckets an octave, so a quantile is at most 12.5 %
 * high. One writer; readers in other threads see counts that may be a few ticks old.
 */
#ifndef TIME_LATENESS_H
#define TIME_LATENESS_H

#include <stdatomic.h>
#include <stdint.h>

#define LATENESS_BUCKETS (8 * 38 + 16)

struct lateness {
	_Atomic uint64_t count[LATENESS_BUCKETS];
	_Atomic int64_t max_dur_ns;
};

struct lateness_summary {
	uint64_t count;
	int64_t p50_dur_ns, p99_dur_ns, max_dur_ns; /* 0 while count is 0 */
};

/* Negative counts as 0. Thread: the writer's. */
void lateness_add(struct lateness *l, int64_t dur_ns);
/* Upper end of the bucket that holds the quantile, q_e6 in millionths; never above the maximum. Any thread. */
int64_t lateness_quantile(const struct lateness *l, uint32_t q_e6);
void lateness_summarise(const struct lateness *l, struct lateness_summary *ret);

#endif
