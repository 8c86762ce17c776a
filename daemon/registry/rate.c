/* SPDX-License-Identifier: Apache-2.0 */
/* Rates from sampled totals. Thread: simd-main. */
#include "rate.h"

void rate_sample(struct rate *r, int64_t now_mono_ns, uint64_t messages, uint64_t bytes)
{
	r->at_mono_ns[r->head] = now_mono_ns;
	r->messages[r->head] = messages;
	r->bytes[r->head] = bytes;
	r->head = (r->head + 1) % RATE_SAMPLES;
	if (r->n < RATE_SAMPLES)
		r->n++;
}

void rate_get(const struct rate *r, int64_t now_mono_ns, uint64_t messages, uint64_t bytes, double *ret_hz,
	      double *ret_bytes_per_s)
{
	unsigned oldest = (r->head + RATE_SAMPLES - r->n) % RATE_SAMPLES;
	double s;

	*ret_hz = 0;
	*ret_bytes_per_s = 0;
	if (r->n == 0)
		return;
	s = (double)(now_mono_ns - r->at_mono_ns[oldest]) / 1e9;
	/* the span is too short for a rate, or a peer wrote nonsense and the totals decreased */
	if (s < 0.1 || messages < r->messages[oldest] || bytes < r->bytes[oldest])
		return;
	*ret_hz = (double)(messages - r->messages[oldest]) / s;
	*ret_bytes_per_s = (double)(bytes - r->bytes[oldest]) / s;
}
