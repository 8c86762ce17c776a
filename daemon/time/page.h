/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the clock page is written: the one place that holds the order on which readers rely.
 * Inside daemon/time only. Thread: the engine's.
 */
#ifndef TIME_PAGE_H
#define TIME_PAGE_H

#include "exec.h"

#include <sim/clock_page.h>

/*
 * Mark the page odd, let the mark become visible, and only then read the clock: returns that time.
 * readers_extrapolate: the page has a rate > 0 now, so readers may be about to read the clock too: they get 1 us to
 * finish or to see the mark.
 */
int64_t page_write_begin(struct sim_clock_page *p, struct exec *x, bool readers_extrapolate);

/* Even again, and the futex word moved. Payload stores go between the two, with page_store(). */
void page_write_end(struct sim_clock_page *p);
/* Wake whoever waits on the futex word; a system call, so that it may be called a little later. */
void page_wake(struct sim_clock_page *p);

/*
 * Adds the state that the page is about to have to its history, unless time stands and the last piece is equal. Between begin and end, and
 * before the payload: so the piece is there when readers see that state.
 */
void page_note_piece(struct sim_clock_history *h, const struct sim_clock_piece *p);

#define page_store(field, value) __atomic_store_n((field), (value), __ATOMIC_RELAXED)

/*
 * What a reader would compute at now_mono_ns, for virtual time, where readers must not read the real clock.
 * Returns 0, or -1 when the page is being written.
 */
int page_sample_at(const struct sim_clock_page *p, int64_t now_mono_ns, struct sim_clock_sample *ret);

#endif
