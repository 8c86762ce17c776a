/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock thread: reads the clock page and publishes it at a constant wall rate, whatever the scale, through
 * a sink. It touches nothing else of the daemon. In pause it repeats the frozen stamp; it publishes nothing
 * until time is above 0. A missed deadline is one publish and one count, never a burst.
 *
 * With an exec of virtual time (scenario tests) there is no thread: the same ticks run on a timer.
 *
 * Thread: `simd-clock` publishes; the functions below belong to the owner (simd-main).
 */
#ifndef TIME_CLOCK_THREAD_H
#define TIME_CLOCK_THREAD_H

#include "exec.h"
#include "histogram.h"

#include <sim/clock_page.h>

struct clock_thread;

#define CLOCK_RATE_MIN_HZ 1
#define CLOCK_RATE_MAX_HZ 10000

#define CLOCK_PRIORITY_AUTO    (-1) /* CLOCK_PRIORITY_DEFAULT, or less where RLIMIT_RTPRIO allows no more */
#define CLOCK_PRIORITY_DEFAULT 50

struct clock_tick {
	struct sim_clock_sample now;
	int64_t publish_mono_ns; /* now.mono_ns may be older: driven and held time */
	uint64_t number;         /* ticks offered, from 1 */
};

/* Where ticks go. publish runs on the clock thread; it must not block. 0 or negative errno (counted, not retried). */
struct clock_sink {
	int (*publish)(void *ctx, const struct clock_tick *tick);
	void *ctx;
};

struct clock_thread_options {
	const struct sim_clock_page *page; /* keeps until destroy */
	uint32_t rate_hz;                  /* 1 .. 10000; 0: 100 */
	int fifo_priority; /* 1..99: SCHED_FIFO if permitted; 0: as simd itself; or CLOCK_PRIORITY_AUTO */
	/* at most so much of each period is spun away for precision; 0: none; < 0: 100 us, none with one CPU */
	int64_t spin_max_dur_ns;
	struct exec *exec; /* NULL: a thread; else: ticks on this exec, no thread. keeps until destroy */
};

/*
 * Starts at once. Errors: -ERANGE rate, -EINVAL priority, -EAGAIN no thread. Without permission for SCHED_FIFO: 1, with a
 * sentence.
 */
int clock_thread_create(const struct clock_thread_options *o, struct clock_thread **ret);
void clock_thread_destroy(struct clock_thread *t); /* stops and joins; NULL is fine */

/*
 * Publish through *sink from now on; NULL: publish nothing (ticks go on). When it returns, the old sink
 * is not in use and not used again: it may be destroyed. Bounded by one publish.
 */
void clock_thread_set_sink(struct clock_thread *t, const struct clock_sink *sink);

struct clock_thread_stats {
	uint64_t published;
	uint64_t missed;   /* deadlines that passed without a publish of their own */
	uint64_t failed;   /* publishes that the sink refused */
	uint64_t unstable; /* the page was not stable: skipped */
	uint32_t rate_hz;
	int priority;        /* of SCHED_FIFO; 0: it is not in force */
	int64_t spin_dur_ns; /* learned: sleeps so much shorter and spins */
	struct histogram_summary lateness;
};

void clock_thread_stats(const struct clock_thread *t, struct clock_thread_stats *ret);

#endif
