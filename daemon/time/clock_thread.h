/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock thread: reads the clock page and publishes it at a constant wall rate, whatever the scale, through a sink.
 * It uses nothing else of the daemon. In a pause it repeats the frozen time; it publishes nothing while time is 0.
 * After missed deadlines it publishes once and counts the misses: no burst.
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

#define CLOCK_PRIORITY_AUTO    (-1) /* CLOCK_PRIORITY_DEFAULT, or lower if RLIMIT_RTPRIO allows no more */
#define CLOCK_PRIORITY_DEFAULT 50

struct clock_tick {
	struct sim_clock_sample now;
	int64_t publish_mono_ns; /* time of this tick; now.mono_ns may be older, if time is driven or stands still */
	uint64_t number;         /* ticks offered, from 1 */
};

/*
 * Receiver of ticks. publish runs on the clock thread and must not block. 0 or a negative errno (counted, not retried).
 */
struct clock_sink {
	int (*publish)(void *ctx, const struct clock_tick *tick);
	void *ctx;
};

struct clock_thread_options {
	const struct sim_clock_page *page; /* borrowed until destroy */
	uint32_t rate_hz;                  /* 1 .. 10000; 0: 100 */
	int fifo_priority; /* 1..99: SCHED_FIFO if permitted; 0: simd's own scheduling; or CLOCK_PRIORITY_AUTO */
	/* longest busy wait in each period, for precision; 0: none; < 0: 100 us, none with one CPU */
	int64_t spin_max_dur_ns;
	struct exec *exec; /* NULL: a thread; otherwise ticks on this exec, without a thread. Borrowed until destroy */
};

/*
 * Starts at once. -ERANGE: rate; -EINVAL: priority; -EAGAIN: no thread. Returns 1, with err_why() set, without
 * permission for SCHED_FIFO.
 */
int clock_thread_create(const struct clock_thread_options *o, struct clock_thread **ret);
void clock_thread_destroy(struct clock_thread *t); /* stops and joins; NULL is fine */

/*
 * Publishes through *sink from now on; NULL: publishes nothing (ticks go on). When it returns, the old sink is not used
 * any more and may be destroyed. Waits for at most one publish.
 */
void clock_thread_set_sink(struct clock_thread *t, const struct clock_sink *sink);

struct clock_thread_stats {
	uint64_t published;
	uint64_t missed;   /* deadlines without a publish */
	uint64_t failed;   /* publishes that the sink refused */
	uint64_t unstable; /* skipped because the page was not stable */
	uint32_t rate_hz;
	int priority;        /* of SCHED_FIFO; 0: not in use */
	int64_t spin_dur_ns; /* learned: sleeps end that much earlier, and a busy wait follows */
	struct histogram_summary lateness;
};

void clock_thread_stats(const struct clock_thread *t, struct clock_thread_stats *ret);

#endif
