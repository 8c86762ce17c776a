/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes by how much another host's clock is ahead of ours, from questions and answers with four timestamps:
 *
 *     sent: we send; came: it arrives there; left: the answer is sent; back: the answer arrives
 *     delay = (back - sent) - (left - came)      offset = ((came - sent) + (left - back)) / 2
 *
 * as in NTP (RFC 5905, section 8). However the delay is split between the two directions, the offset is wrong by at
 * most half of it. With age, the clocks' drift of up to CLOCK_DRIFT_E6 ppm is added. The trip with the smallest sum of
 * both is used, and that sum bounds the error (RFC 5905, 10: the clock filter).
 *
 * Within that bound there is a better estimate: the drift (skew) is measured between good trips some seconds apart, so
 * that a good trip can be used for longer. The bound in the result then is that of the estimate.
 *
 * Reads no clock: the caller passes the timestamps. Thread: one.
 */
#ifndef LINK_CLOCK_FILTER_H
#define LINK_CLOCK_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_TRIPS    64u
#define CLOCK_DRIFT_E6 200 /* largest drift between two clocks, in ppm: 100 each, as in their data sheets */

struct clock_trip {
	int64_t sent_mono_ns; /* our clock */
	int64_t came_mono_ns; /* other clock */
	int64_t left_mono_ns; /* other clock */
	int64_t back_mono_ns; /* our clock */
};

struct clock_offset {
	int64_t ahead_dur_ns; /* the other clock minus ours */
	int64_t error_dur_ns; /* bound of its error */
	int64_t delay_dur_ns; /* of the trip used */
};

struct clock_filter {
	struct {
		int64_t at_mono_ns, ahead_dur_ns, delay_dur_ns;
	} trips[CLOCK_TRIPS]; /* private */
	uint32_t n;           /* trips so far */
	int64_t skew_e9;      /* how much faster the other clock runs, as measured, in 1e-9 */
	bool skew_known;
};

static inline void clock_filter_reset(struct clock_filter *f)
{
	f->n = 0;
	f->skew_e9 = 0;
	f->skew_known = false;
}

/* -EINVAL: invalid timestamps, such as an answer sent before the question arrived. */
int clock_filter_add(struct clock_filter *f, const struct clock_trip *t) __attribute__((warn_unused_result));
/* False: no trip yet. */
bool clock_filter_offset(const struct clock_filter *f, int64_t now_mono_ns, struct clock_offset *ret);

#endif
