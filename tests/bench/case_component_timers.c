/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component_timers: how late the callbacks of a node's 1000 timers of 1 to 1000 ms are (p99), against a bare loop that sleeps until the very
 * same deadlines, one after the other, without the default slack of 50 us, as the timers' thread. Each in a process of its own, on the same
 * CPU, in turns; simd, with wall-driven time, on another one. Callbacks that are due together wait for each other: that counts, in both.
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include <sim/sim.h>

#include "component.h"

#define TIMERS      1000
#define SAMPLES_MAX 65536u
#define ROUNDS      5 /* the best of: a CPU that was taken away says nothing about the code, and is most of a p99 */

struct arena {
	struct bench *b;
	int64_t dur_ns;
	unsigned n;
	int64_t due_ns[SAMPLES_MAX]; /* since the first one */
	double late_ns[SAMPLES_MAX];
};

static void pin(void)
{
	bench_pin(sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : 0);
}

/* ---- ours ---- */

static struct {
	struct arena *a;
	struct sim_host *h;
	_Atomic bool on;
} measured; /* by the one worker that a process on one CPU has */

static void on_timer(void *user, int64_t due_sim_ns, uint64_t missed)
{
	struct arena *a = measured.a;

	(void)user;
	(void)missed;
	if (!atomic_load_explicit(&measured.on, memory_order_relaxed) || a->n >= SAMPLES_MAX)
		return;
	a->due_ns[a->n] = due_sim_ns;
	a->late_ns[a->n++] = (double)(sim_host_now(measured.h) - due_sim_ns);
}

static int timers_main(void *arg)
{
	struct arena *a = measured.a = arg;
	struct sim_node_timer *t;
	struct sim_node *n;
	char name[32];

	pin();
	a->n = 0;
	snprintf(name, sizeof(name), "timers-%d",
		 (int)getpid()); /* simd may not have noticed yet that the last one is gone */
	measured.h = bench_host(a->b, "timers", NULL);
	n = bench_node(measured.h, name);
	for (int64_t i = 1; i <= TIMERS; i++)
		if (sim_node_timer_create(n, NULL, i * NS_PER_MS, false, on_timer, NULL, &t) < 0)
			return 1;
	if (sim_host_start(measured.h) < 0)
		return 1;
	mono_sleep_until(mono_now_ns() + a->dur_ns / 10); /* what came before the start is late, and done */
	atomic_store(&measured.on, true);
	mono_sleep_until(mono_now_ns() + a->dur_ns);
	atomic_store(&measured.on, false);
	return 0;
}

/* ---- the bare loop ---- */

static int bare_main(void *arg)
{
	struct arena *a = arg;
	int64_t start_mono_ns = mono_now_ns() + 10 * NS_PER_MS;

	pin();
	prctl(PR_SET_TIMERSLACK, 1UL);
	for (unsigned i = 0; i < a->n; i++) {
		int64_t due_mono_ns = start_mono_ns + a->due_ns[i] - a->due_ns[0];
		struct timespec at = timespec_from_ns(due_mono_ns);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		a->late_ns[i] = (double)(mono_now_ns() - due_mono_ns);
	}
	return 0;
}

/* ---- the case ---- */

/* Keeps the best. */
static int p99(struct arena *a, int (*role)(void *), double *best)
{
	double v;

	if (bench_wait(bench_fork(role, a)) || !a->n)
		return -1;
	v = bench_percentile(a->late_ns, a->n, 0.99);
	*best = v < *best ? v : *best;
	return 0;
}

static int measure(struct bench *b, struct arena *a)
{
	unsigned n = bench_runs(b, 9), rounds = b->smoke ? 1 : ROUNDS;
	struct bench_pair pairs[BENCH_PAIRS_MAX];

	a->b = b;
	a->dur_ns = b->smoke ? 100 * NS_PER_MS : NS_PER_S;
	for (unsigned i = 0; i < n; i++) {
		pairs[i] = (struct bench_pair){ 1e18, 1e18 };
		for (unsigned k = 0; k < rounds; k++)
			if (p99(a, timers_main, &pairs[i].ours) < 0 || p99(a, bare_main, &pairs[i].reference) < 0)
				return -1;
	}
	bench_report(b, "component_timers", "ns", "bare sleeps until the same", BENCH_COST, pairs, n, 2);
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
