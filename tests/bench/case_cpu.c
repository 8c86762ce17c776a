/* SPDX-License-Identifier: Apache-2.0 */
/* idle_cpu, busy_cpu: what simd itself costs, in percent of a core. */
#include <stdatomic.h>
#include <stdio.h>

#include <sim/sim.h>
#include <sim/msg/Ultrasonic.h>

#include "bench.h"
#include "timeutil.h"

#define CHANNELS  20
#define PERIOD_NS (10 * NS_PER_MS)

struct load {
	struct bench *b;
	_Atomic int state;                           /* 1 running, 2 stop, -1 failed */
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

static int publish_all(struct load *l, struct sim_publisher **pub)
{
	struct sim_slot *slot;
	struct sim_builder body;

	for (int i = 0; i < CHANNELS; i++) {
		if (sim_loan(pub[i], 64, &slot) < 0)
			return -1;
		sim_Ultrasonic_init(sim_slot_body_mut(slot), 64, &body);
		if (sim_try_queue(pub[i], slot, NULL, on_done, l) == 0)
			atomic_fetch_add(&l->accepted, 1);
	}
	return 0;
}

/* What is in flight when the load stops would count as not delivered. */
static void await_ends(struct load *l)
{
	int64_t end_mono_ns = mono_now_ns() + 2 * NS_PER_S;

	while (atomic_load(&l->ended) < atomic_load(&l->accepted) && mono_now_ns() < end_mono_ns)
		mono_sleep_until(mono_now_ns() + NS_PER_MS);
}

static int load_main(void *arg)
{
	struct load *l = arg;
	struct sim_client_options o = { .size = sizeof(o), .name = "load", .socket = l->b->socket };
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = 64 };
	struct sim_publisher *pub[CHANNELS];
	struct sim_client *c;
	int64_t next;
	char name[32];

	if (sim_connect(&o, &c) < 0)
		goto fail;
	for (int i = 0; i < CHANNELS; i++) {
		snprintf(name, sizeof(name), "/busy/%d", i);
		if (sim_advertise(c, name, &sim_Ultrasonic_type, &po, &pub[i]) < 0)
			goto fail;
	}
	for (int i = 0; i < CHANNELS; i++)
		if (bench_await_bridge(pub[i]) < 0)
			goto fail;
	atomic_store(&l->state, 1);
	next = mono_now_ns(); /* advertising took its time: no burst to make up for it */
	while (atomic_load(&l->state) == 1) {
		if (publish_all(l, pub) < 0)
			goto fail;
		next += PERIOD_NS;
		mono_sleep_until(next);
	}
	await_ends(l);
	sim_disconnect(c);
	return 0;
fail:
	fprintf(stderr, "bench: load: %s\n", sim_why());
	atomic_store(&l->state, -1);
	return 1;
}

static int run_busy(struct bench *b, unsigned n, int64_t dur_ns)
{
	struct load *l = bench_arena(sizeof(*l));
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	pid_t pid;
	int r = -1;

	l->b = b;
	pid = bench_fork(load_main, l);
	while (!atomic_load(&l->state))
		mono_sleep_until(mono_now_ns() + NS_PER_MS);
	if (atomic_load(&l->state) == 1) {
		for (unsigned i = 0; i < n; i++)
			pairs[i].ours = percent(b, dur_ns);
		atomic_store(&l->state, 2);
		bench_wait(pid);
		pid = 0;
		r = atomic_load(&l->delivered) * 10 < atomic_load(&l->accepted) * 9 ? -1 : 0;
		if (r)
			fprintf(stderr, "bench: only %llu of %llu messages were delivered\n",
				(unsigned long long)atomic_load(&l->delivered),
				(unsigned long long)atomic_load(&l->accepted));
		bench_report(b, "busy_cpu", "%", "", BENCH_VALUE, pairs, n, 10);
	}
	if (pid)
		bench_wait(pid);
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
