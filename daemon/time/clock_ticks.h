/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock thread's arithmetic without the waiting: the next deadline, when to wake for it, and what was missed.
 * Deadline k is exactly start + k x period (floored to ns): errors do not accumulate.
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
	uint64_t missed;     /* deadlines without a tick */
	int64_t lead_dur_ns; /* learned: how long before the deadline to wake and start the busy wait */
	int64_t lead_max_dur_ns;
};

/* lead_max_dur_ns: 0: no learning. At most a quarter of the period is used. */
void clock_ticks_init(struct clock_ticks *t, int64_t start_mono_ns, uint32_t rate_hz, int64_t lead_max_dur_ns);

int64_t clock_ticks_deadline(const struct clock_ticks *t);
int64_t clock_ticks_wake_at(const struct clock_ticks *t);
/* Reports that the sleep until wanted_mono_ns ended at now_mono_ns, to learn how late sleeps end. */
void clock_ticks_woke(struct clock_ticks *t, int64_t wanted_mono_ns, int64_t now_mono_ns);

/*
 * Returns whether a deadline has passed. If so, that is one tick, *ret_late_dur_ns after the oldest open deadline; all
 * deadlines up to now are done, and all but one count as missed.
 */
bool clock_ticks_take(struct clock_ticks *t, int64_t now_mono_ns, int64_t *ret_late_dur_ns);

#endif
