/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the clock page: the one place with the order of stores that readers rely on. Only inside daemon/time. Thread:
 * the engine's.
 */
#ifndef TIME_PAGE_H
#define TIME_PAGE_H

#include "exec.h"

#include <sim/clock_page.h>

/*
 * Makes the sequence odd, makes that visible, and only then reads the clock, whose time it returns.
 * readers_extrapolate: the page has a rate > 0 now, so readers may also be reading the clock: waits 1 us, so that they
 * finish or see the odd sequence.
 */
int64_t page_write_begin(struct sim_clock_page *p, struct exec *x, bool readers_extrapolate);

/*
 * Makes the sequence even again and changes the futex word. Payload stores go between begin and end, with page_store().
 */
void page_write_end(struct sim_clock_page *p);
/* Wakes the waiters of the futex word: a system call, so it may be made a little later. */
void page_wake(struct sim_clock_page *p);

/*
 * Adds the state that the page is about to get to its history, unless time stands still and the last piece is equal. To
 * be called between begin and end, before the payload, so that the piece is there when readers see that state.
 */
void page_note_piece(struct sim_clock_history *h, const struct sim_clock_piece *p);

#define page_store(field, value) __atomic_store_n((field), (value), __ATOMIC_RELAXED)

/*
 * Computes what a reader would at now_mono_ns; for virtual time, where readers must not read the real clock. Returns 0,
 * or -1 if the page is being written.
 */
int page_sample_at(const struct sim_clock_page *p, int64_t now_mono_ns, struct sim_clock_sample *ret);

#endif
