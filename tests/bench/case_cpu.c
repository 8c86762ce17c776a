/* SPDX-License-Identifier: Apache-2.0 */
/* idle_cpu, busy_cpu: what simd itself costs, in percent of a core. */
#include <stdatomic.h>
#include <stdio.h>

#include <sim/sim.h>

#include "bench.h"

#define CHANNELS  20
#define PERIOD_NS (10 * NS_PER_MS)

struct load {
	struct bench *b;
	_Atomic bool running;
	_Atomic uint64_t accepted, delivered, ended; /* ended: its callback has run, with whatever outcome */
};

static double percent(struct bench *b, int64_t dur_ns)
{
	int64_t cpu = bench_cpu_ns(b->simd_pid), start = mono_now_ns();

	mono_sleep_until(start + dur_ns);
	cpu = bench_cpu_ns(b->simd_pid) - cpu;
	return 100.0 * (double)cpu / (double)(mono_now_ns() - start);
}

static void on_done(void *user, bool ok, enum sim_reason reason)
{
	struct load *l = user;

	(void)reason;
	if (ok)
		atomic_fetch_add(&l->delivered, 1);
	atomic_fetch_add(&l->ended, 1);
}

static void publish_all(struct load *l, struct sim_publisher **pub)
{
	for (int i = 0; i < CHANNELS; i++)
		if (bench_queue(pub[i], 64, on_done, l, NULL) == 0)
			atomic_fetch_add(&l->accepted, 1);
}

/* Messages in flight when the load stops would count as not delivered. */
static void await_ends(struct load *l)
{
	int64_t end_mono_ns = mono_now_ns() + 2 * NS_PER_S;

	while (atomic_load(&l->ended) < atomic_load(&l->accepted) && mono_now_ns() < end_mono_ns)
		mono_sleep_until(mono_now_ns() + NS_PER_MS);
}

static int load_main(void *arg)
{
	struct load *l = arg;
	struct sim_client *c = bench_connect(l->b, "load");
	struct sim_publisher *pub[CHANNELS];
	int64_t next;
	char name[32];

	for (int i = 0; i < CHANNELS; i++) {
		snprintf(name, sizeof(name), "/busy/%d", i);
		pub[i] = bench_advertise(c, name, 64, 0);
		bench_await_bridge(pub[i]);
	}
	atomic_store(&l->running, true);
	next = mono_now_ns(); /* advertising took its time: no burst to make up for it */
	while (atomic_load(&l->running)) {
		publish_all(l, pub);
		next += PERIOD_NS;
		mono_sleep_until(next);
	}
	await_ends(l);
	sim_disconnect(c);
	return 0;
}

static int measure_load(struct load *l, struct bench_pair *pairs, unsigned n, int64_t dur_ns)
{
	pid_t pid = bench_fork(load_main, l);

	BENCH_UNTIL(60, atomic_load(&l->running));
	for (unsigned i = 0; i < n; i++)
		pairs[i].ours = percent(l->b, dur_ns);
	atomic_store(&l->running, false);
	if (bench_wait(pid))
		return -1;
	if (atomic_load(&l->delivered) * 10 >= atomic_load(&l->accepted) * 9)
		return 0;
	fprintf(stderr, "bench: only %llu of %llu messages were delivered\n",
		(unsigned long long)atomic_load(&l->delivered), (unsigned long long)atomic_load(&l->accepted));
	return -1;
}

static int run_busy(struct bench *b, unsigned n, int64_t dur_ns)
{
	struct load *l = bench_arena(sizeof(*l));
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	int r;

	l->b = b;
	r = measure_load(l, pairs, n, dur_ns);
	if (r == 0)
		bench_report(b, "busy_cpu", "%", "", BENCH_VALUE, pairs, n, 10);
	bench_arena_free(l, sizeof(*l));
	return r;
}

static int run_cpu(struct bench *b)
{
	int64_t dur_ns = b->smoke ? 200 * NS_PER_MS : 4 * NS_PER_S;
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 5);

	for (unsigned i = 0; i < n; i++)
		pairs[i].ours = percent(b, dur_ns);
	bench_report(b, "idle_cpu", "%", "", BENCH_VALUE, pairs, n, 1);
	return run_busy(b, n, dur_ns);
}

const struct bench_case bench_cpu = { "cpu", run_cpu, "idle_cpu busy_cpu" };
