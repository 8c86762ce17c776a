/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates from totals that are sampled once a second, over the last five seconds; nothing is counted on a hot path.
 * Thread: simd-main.
 */
#ifndef REGISTRY_RATE_H
#define REGISTRY_RATE_H

#include <stdint.h>

#define RATE_SAMPLES 6

struct rate {
	int64_t at_mono_ns[RATE_SAMPLES];
	uint64_t messages[RATE_SAMPLES], bytes[RATE_SAMPLES];
	unsigned n, head; /* head: place of the next sample */
};

void rate_sample(struct rate *r, int64_t now_mono_ns, uint64_t messages, uint64_t bytes);

/* Means from the oldest kept sample to the totals of now. 0 before the first sample. */
void rate_get(const struct rate *r, int64_t now_mono_ns, uint64_t messages, uint64_t bytes, double *ret_hz,
	      double *ret_bytes_per_s);

#endif
