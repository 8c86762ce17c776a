/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By how much another host's clock is ahead of ours, from questions and answers with four stamps:
 *
 *     we send at sent, it comes there at came, the answer leaves at left and is back at back
 *     delay = (back - sent) - (left - came)      offset = ((came - sent) + (left - back)) / 2
 *
 * as in NTP (RFC 5905, section 8). Whatever the two ways took of the delay, the offset is wrong by half of it at most; so the trip
 * with the lowest delay says most. An old one says less: two clocks may part by CLOCK_DRIFT_E6 millionths. What is taken is the trip
 * for which the sum of both is least, and that sum bounds the error (RFC 5905, 10: the clock filter).
 *
 * Within that bound there is a better guess: how fast the two part is measured between good trips that lie some seconds apart, so that a
 * good one counts for longer. The bound that is stated then is of the guess.
 *
 * Pure: the caller hands in the stamps. Thread: one.
 */
#ifndef LINK_CLOCK_FILTER_H
#define LINK_CLOCK_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_TRIPS    64u
#define CLOCK_DRIFT_E6 200 /* by which two clocks part, at most: 100 each, as their makers promise */

struct clock_trip {
	int64_t sent_mono_ns; /* here */
	int64_t came_mono_ns; /* there */
	int64_t left_mono_ns; /* there */
	int64_t back_mono_ns; /* here */
};

struct clock_offset {
	int64_t ahead_dur_ns; /* its clock before ours */
	int64_t error_dur_ns; /* it is wrong by that at most */
	int64_t delay_dur_ns; /* of the trip that says so */
};

struct clock_filter {
	struct {
		int64_t at_mono_ns, ahead_dur_ns, delay_dur_ns;
	} trips[CLOCK_TRIPS]; /* private */
	uint32_t n;           /* in all */
	int64_t skew_e9;      /* by which its clock is faster than ours, as far as is known */
	bool skew_known;
};

static inline void clock_filter_reset(struct clock_filter *f)
{
	f->n = 0;
	f->skew_e9 = 0;
	f->skew_known = false;
}

/* -EINVAL: invalid stamps, such as an answer that left before the question came. */
int clock_filter_add(struct clock_filter *f, const struct clock_trip *t) __attribute__((warn_unused_result));
/* False: there was no trip yet. */
bool clock_filter_offset(const struct clock_filter *f, int64_t now_mono_ns, struct clock_offset *ret);

#endif
