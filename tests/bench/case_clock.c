/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_*: how late and how often the clock thread ticks, against bare loops on absolute deadlines with the same
 * scheduling policy. Both run in this process, alternately; the thread is the one that simd uses.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "time/clock_thread.h"
#include "time/clock_ticks.h"
#include "timeutil.h"

#define SAMPLES_MAX   100000
#define FIFO_PRIORITY 80

static struct sim_clock_page page;
static double samples[SAMPLES_MAX];

static int count_only(void *ctx, const struct clock_tick *tick)
{
	(void)ctx;
	(void)tick;
	return 0;
}

/* ---- the bare loop ---- */

struct bare {
	uint32_t rate_hz;
	int64_t dur_ns;
	unsigned n;      /* samples */
	uint64_t missed; /* as the clock thread counts */
};

static void *bare_main(void *arg)
{
	struct bare *b = arg;
	struct clock_ticks t;
	int64_t start = mono_now_ns(), late;

	clock_ticks_init(&t, start, b->rate_hz, 0);
	for (;;) {
		struct timespec at = timespec_from_ns(clock_ticks_deadline(&t));
		int64_t now;

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		now = mono_now_ns();
		if (clock_ticks_take(&t, now, &late) && b->n < SAMPLES_MAX)
			samples[b->n++] = (double)late;
		if (now - start >= b->dur_ns)
			break;
	}
	b->missed = t.missed;
	return NULL;
}

static struct bare bare_run(uint32_t rate_hz, int64_t dur_ns, int fifo)
{
	struct sched_param p = { .sched_priority = fifo };
	struct bare b = { .rate_hz = rate_hz, .dur_ns = dur_ns };
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	if (fifo) {
		pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&a, SCHED_FIFO);
		pthread_attr_setschedparam(&a, &p);
	}
	if (pthread_create(&t, &a, bare_main, &b) && pthread_create(&t, NULL, bare_main, &b))
		abort();
	pthread_join(t, NULL);
	pthread_attr_destroy(&a);
	return b;
}

/* ---- ours ---- */

static int ours_run(uint32_t rate_hz, int64_t dur_ns, int fifo, int64_t spin_dur_ns, struct clock_thread_stats *ret)
{
	struct clock_thread_options o = {
		.page = &page, .rate_hz = rate_hz, .fifo_priority = fifo, .spin_max_dur_ns = spin_dur_ns
	};
	struct clock_sink sink = { .publish = count_only };
	struct clock_thread *t;
	int r = clock_thread_create(&o, &t);

	if (r < 0)
		return r;
	clock_thread_set_sink(t, &sink);
	mono_sleep_until(mono_now_ns() + dur_ns);
	clock_thread_stats(t, ret);
	clock_thread_destroy(t);
	return 0;
}

/* Standing time above 0: the thread publishes it. */
static void make_page(void)
{
	page = (struct sim_clock_page){ .abi = SIM_CLOCK_PAGE_ABI,
					.magic = SIM_CLOCK_PAGE_MAGIC,
					.sim_ns = 1,
					.flags = SIM_CLOCK_DRIVEN | SIM_CLOCK_STARTED };
}

/* ---- cases ---- */

static int wake_error(struct bench *b, const char *name, int fifo, int64_t spin_dur_ns, double bar)
{
	unsigned n = bench_runs(b, 7);
	int64_t dur_ns = b->smoke ? 50 * NS_PER_MS : NS_PER_S;
	struct bench_pair pairs[BENCH_PAIRS_MAX];

	for (unsigned i = 0; i < n; i++) {
		struct bare bare = bare_run(1000, dur_ns, 0);
		struct clock_thread_stats s;

		if (ours_run(1000, dur_ns, fifo, spin_dur_ns, &s) < 0)
			return -1;
		pairs[i] = (struct bench_pair){ fmax((double)s.lateness.p50_dur_ns, 1), bench_median(samples, bare.n) };
	}
	bench_report(b, name, "ns", "clock_nanosleep, default slack", BENCH_TIMES, pairs, n, bar);
	return 0;
}

/* Ours and the bare loop in turns, so much of each in all. Both counts + 1: none missed at all is a tie. */
static int ticks_missed(struct bench *b, const char *name, int64_t total_dur_ns, double bar)
{
	int64_t slice = b->smoke ? 50 * NS_PER_MS : 2 * NS_PER_S;
	struct bench_pair pair = { 1, 1 };

	for (int64_t done = 0; done < (b->smoke ? slice : total_dur_ns); done += slice) {
		struct bare bare = bare_run(1000, slice, 0);
		struct clock_thread_stats s;

		if (ours_run(1000, slice, 0, -1, &s) < 0)
			return -1;
		pair.ours += (double)s.missed;
		pair.reference += (double)bare.missed;
	}
	bench_report(b, name, "ticks", "a bare deadline loop (both + 1)", BENCH_COST, &pair, 1, bar);
	return 0;
}

static int ticks_missed_loaded(struct bench *b)
{
	struct bench_burners burners;
	int r;

	bench_burn_start(&burners, false);
	r = ticks_missed(b, "clock_ticks_missed_loaded", 20 * NS_PER_S, 0);
	bench_burn_stop(&burners);
	return r;
}

static int share_missed(struct bench *b, const char *name, uint32_t rate_hz, int priority, double bar)
{
	unsigned n = bench_runs(b, 5);
	int64_t dur_ns = b->smoke ? 50 * NS_PER_MS : 3 * NS_PER_S;
	struct bench_pair pairs[BENCH_PAIRS_MAX];

	for (unsigned i = 0; i < n; i++) {
		struct clock_thread_stats s;

		if (ours_run(rate_hz, dur_ns, priority, -1, &s) < 0)
			return -1;
		pairs[i].ours = 100.0 * (double)s.missed / (double)(s.missed + s.published);
	}
	bench_report(b, name, "%", "the share of deadlines missed", BENCH_VALUE, pairs, n, bar);
	return 0;
}

/* As simd is configured by default, where it is allowed a priority, beside at least four processes that compute. */
static int missed_hogs(struct bench *b)
{
	struct bench_burners burners[4] = { 0 };
	unsigned n = 0, sets = 0;
	int r;

	while (n < 4) {
		bench_burn_start(&burners[sets], false);
		n += burners[sets++].n;
	}
	r = share_missed(b, "clock_missed_hogs", 1000, CLOCK_PRIORITY_AUTO, 0.1);
	while (sets)
		bench_burn_stop(&burners[--sets]);
	return r;
}

/* Deadline k against start + k x period in 128 bits, under sleeps that end late by up to three periods. */
static double drift(uint32_t rate_hz, uint64_t ticks)
{
	int64_t start = 123456789, late, worst = 0;
	unsigned seed = rate_hz;
	struct clock_ticks t;

	clock_ticks_init(&t, start, rate_hz, 0);
	while (t.next < ticks) {
		int64_t exact = start + (int64_t)((int128)t.next * NS_PER_S / rate_hz),
			off = clock_ticks_deadline(&t) - exact;

		if (llabs(off) > llabs(worst))
			worst = off;
		clock_ticks_take(&t, exact + (int64_t)((int128)rand_r(&seed) * 3 * NS_PER_S / RAND_MAX / rate_hz),
				 &late);
	}
	return fabs((double)worst);
}

static void no_drift(struct bench *b)
{
	static const uint32_t rates[] = { 1, 3, 7, 30, 60, 100, 999, 1000, 9973, 10000 };
	uint64_t ticks = b->smoke ? 10000 : 10000000;
	struct bench_pair pair = { 0, 0 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		pair.ours = fmax(pair.ours, drift(rates[i], ticks));
	bench_report(b, "clock_drift", "ns", "start + k x period", BENCH_VALUE, &pair, 1, 0);
}

static int run_clock(struct bench *b)
{
	int r;

	make_page();
	no_drift(b);
	r = wake_error(b, "clock_wake_error", 0, -1, 3); /* as configured by default, no privilege */
	if (r == 0)
		r = wake_error(b, "clock_wake_error_nospin", 0, 0, 0);
	if (r == 0)
		r = wake_error(b, "clock_wake_error_spin", FIFO_PRIORITY, -1, 100);
	if (r == 0)
		r = share_missed(b, "clock_10khz", 10000, FIFO_PRIORITY, 0.5);
	if (r == 0)
		r = missed_hogs(b);
	if (r == 0)
		r = ticks_missed(b, "clock_ticks_missed", 60 * NS_PER_S, 1);
	if (r == 0)
		r = ticks_missed_loaded(b);
	return r;
}

const struct bench_case bench_clock = { "clock", run_clock, NULL };
