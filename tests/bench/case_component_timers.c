/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component_timers: how late the callbacks of 1000 timers of 1 to 1000 ms are (p99), against a bare loop on absolute deadlines that
 * wakes as often, without the default slack of 50 us, as the timers' thread. Each in a process of its own, on the same CPU, in turns;
 * simd, with wall-driven time, on another one. Callbacks that are due together wait for each other: that counts.
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include <sim/sim.h>

#include "bench.h"

#define TIMERS      1000
#define SAMPLES_MAX 65536u

struct arena {
	struct bench *b;
	int64_t dur_ns;
	unsigned n;
	double late_ns[SAMPLES_MAX];
};

static void pin(void)
{
	bench_pin(sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : 0);
}

/* ---- ours ---- */

struct measured {
	struct arena *a;
	struct sim_client *c;
	_Atomic bool on;
};

static void on_timer(void *user, const struct sim_timer_event *e)
{
	struct measured *m = user;
	struct arena *a = m->a;

	if (atomic_load_explicit(&m->on, memory_order_relaxed) && a->n < SAMPLES_MAX)
		a->late_ns[a->n++] = (double)(sim_now(m->c) - e->due_sim_ns);
}

static int timers_main(void *arg)
{
	struct arena *a = arg;
	struct measured m = { .a = a };
	struct sim_timer *t;

	pin();
	m.c = bench_connect(a->b, "timers");
	for (int64_t i = 1; i <= TIMERS; i++)
		if (sim_timer_create(m.c, i * NS_PER_MS, 0, on_timer, &m, &t) < 0)
			return 1;
	atomic_store(&m.on, true);
	mono_sleep_until(mono_now_ns() + a->dur_ns);
	atomic_store(&m.on, false);
	sim_disconnect(m.c);
	return 0;
}

/* ---- the bare loop ---- */

static int bare_main(void *arg)
{
	struct arena *a = arg;
	double wakes = 0; /* a second */
	int64_t start_mono_ns = mono_now_ns(), period_dur_ns;

	pin();
	prctl(PR_SET_TIMERSLACK, 1UL);
	for (int i = 1; i <= TIMERS; i++)
		wakes += 1000.0 / i;
	period_dur_ns = (int64_t)((double)NS_PER_S / wakes);
	for (int64_t due = start_mono_ns; due < start_mono_ns + a->dur_ns && a->n < SAMPLES_MAX; due += period_dur_ns) {
		struct timespec at = timespec_from_ns(due);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		a->late_ns[a->n++] = (double)(mono_now_ns() - due);
	}
	return 0;
}

/* ---- the case ---- */

static double p99(struct arena *a, int (*role)(void *))
{
	a->n = 0;
	if (bench_wait(bench_fork(role, a)) || !a->n)
		return -1;
	return bench_percentile(a->late_ns, a->n, 0.99);
}

static int measure(struct bench *b, struct arena *a)
{
	unsigned n = bench_runs(b, 9);
	struct bench_pair pairs[BENCH_PAIRS_MAX];

	a->b = b;
	a->dur_ns = b->smoke ? 100 * NS_PER_MS : 4 * NS_PER_S;
	for (unsigned i = 0; i < n; i++) {
		pairs[i] = (struct bench_pair){ .reference = p99(a, bare_main), .ours = p99(a, timers_main) };
		if (pairs[i].ours < 0 || pairs[i].reference < 0)
			return -1;
	}
	bench_report(b, "component_timers", "ns", "clock_nanosleep, no slack", BENCH_COST, pairs, n, 2);
	return 0;
}

static int run_component_timers(struct bench *b)
{
	struct arena *a = bench_arena(sizeof(*a));
	int r = bench_call(b, "io.simd.Control.SetSource", "{\"source\":\"system\"}", NULL);

	bench_pin_process(b->simd_pid, 0);
	if (r >= 0)
		r = measure(b, a);
	bench_pin_process(b->simd_pid, -1);
	if (bench_call(b, "io.simd.Control.SetSource", "{\"source\":\"unity\"}", NULL) < 0)
		r = -1;
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_component_timers = { "component_timers", run_component_timers, NULL };
