/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock thread's arithmetic without the waiting: which deadline is next, when to wake for it, what was
 * missed. Deadline k is start + k x period exactly (floored to ns), for ever: nothing adds up.
 *
 *     wake at clock_ticks_wake_at(); clock_ticks_woke(); spin until clock_ticks_deadline(); clock_ticks_take(); publish
 *
 * Thread: its owner's. Pure: the time is an argument.
 */
#ifndef TIME_CLOCK_TICKS_H
#define TIME_CLOCK_TICKS_H

#include <stdbool.h>
#include <stdint.h>

struct clock_ticks {
	int64_t start_mono_ns;
	uint32_t rate_hz;
	uint64_t next;       /* number of the next deadline, from 1 */
	uint64_t missed;     /* deadlines that got no tick of their own */
	int64_t lead_dur_ns; /* learned: wakes so much before the deadline and spins */
	int64_t lead_max_dur_ns;
};

/* lead_max_dur_ns: 0 switches learning off. It is bounded by a quarter of the period. */
void clock_ticks_init(struct clock_ticks *t, int64_t start_mono_ns, uint32_t rate_hz, int64_t lead_max_dur_ns);

int64_t clock_ticks_deadline(const struct clock_ticks *t);
int64_t clock_ticks_wake_at(const struct clock_ticks *t);
/* The sleep until wanted_mono_ns ended at now_mono_ns: learn how late sleeps end here. */
void clock_ticks_woke(struct clock_ticks *t, int64_t wanted_mono_ns, int64_t now_mono_ns);

/*
 * Is it time? If so: one tick, *ret_late_dur_ns after the oldest deadline that was open; all deadlines up to now are
 * done with, and all but one of them are counted as missed.
 */
bool clock_ticks_take(struct clock_ticks *t, int64_t now_mono_ns, int64_t *ret_late_dur_ns);

#endif
