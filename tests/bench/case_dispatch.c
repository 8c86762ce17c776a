/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch_start: publish -> the bridge has the slot, against two hops of a chain of futexes; flat over sizes.
 * dispatch_cycle: publish -> callback, against four. Producer and bridge on CPU 0, simd on CPU 1, in floor and ours;
 * then the same with nothing pinned, for information.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sim/sim.h>

#include "chain.h"
#include "futex.h"
#include "plugins/stamp.h"

#define SAMPLES   4000
#define SETTLE_US 60 /* everybody is asleep by then */

enum size { SMALL, LARGE, SIZES };
static const size_t sizes[SIZES] = { 64, 24u << 20 };

struct track { /* medians of one repetition */
	struct bench_pair start, cycle, flat;
};

struct disp_arena {
	struct chain chain;
	struct bench *b;
	struct stamp_page *stamp;
	unsigned runs, count;
	bool pinned;
	_Alignas(64) _Atomic uint32_t done; /* callbacks so far; a futex */
	_Atomic int64_t done_mono_ns;
	_Atomic int refused;
	struct track track[BENCH_PAIRS_MAX];
	double half[SAMPLES], full[SAMPLES];
};

static void on_done(void *user, bool ok, enum sim_reason reason)
{
	struct disp_arena *a = user;

	atomic_store(&a->done_mono_ns, mono_now_ns());
	if (!ok) {
		atomic_store(&a->refused, 1);
		fprintf(stderr, "bench: a message was not delivered: %s\n", sim_reason_name(reason));
	}
	atomic_fetch_add(&a->done, 1);
	futex_wake_all(&a->done, FUTEX_BETWEEN_PROCESSES);
}

static int one(struct disp_arena *a, struct sim_publisher *p, size_t size, unsigned i)
{
	uint32_t before = atomic_load(&a->done);
	int64_t start;
	int r = bench_queue(p, size, on_done, a, &start);

	while (r == 0 && atomic_load(&a->done) == before)
		futex_wait(&a->done, before, INT64_MAX, FUTEX_BETWEEN_PROCESSES);
	a->half[i] = (double)(atomic_load(&a->stamp->mono_ns) - start);
	a->full[i] = (double)(atomic_load(&a->done_mono_ns) - start);
	return r < 0 || atomic_load(&a->refused) ? -EIO : 0;
}

static int ours(struct disp_arena *a, struct sim_publisher *p, size_t size, double *ret_half, double *ret_full)
{
	for (unsigned i = 0; i < a->count; i++) {
		int r = one(a, p, size, i);

		if (r < 0)
			return r;
		pace_us(SETTLE_US);
	}
	*ret_half = bench_median(a->half, a->count);
	*ret_full = bench_median(a->full, a->count);
	return 0;
}

static void bare(struct disp_arena *a, double *ret_half, double *ret_full)
{
	for (unsigned i = 0; i < a->count; i++) {
		chain_round(&a->chain, &a->half[i], &a->full[i]);
		pace_us(SETTLE_US);
	}
	*ret_half = bench_median(a->half, a->count);
	*ret_full = bench_median(a->full, a->count);
}

static int repeat(struct disp_arena *a, struct sim_publisher **p)
{
	double unused;
	int r = 0;

	for (unsigned i = 0; i < a->runs && r == 0; i++) {
		struct track *t = &a->track[i];

		bare(a, &t->start.reference, &t->cycle.reference);
		r = ours(a, p[SMALL], sizes[SMALL], &t->start.ours, &t->cycle.ours);
		t->flat.reference = t->start.ours;
		if (r == 0)
			r = ours(a, p[LARGE], sizes[LARGE], &t->flat.ours, &unused);
	}
	return r;
}

static int producer_main(void *arg)
{
	struct disp_arena *a = arg;
	struct sim_publisher *p[SIZES];
	struct sim_client *c;
	char name[32];
	int r;

	if (a->pinned)
		bench_pin(CHAIN_END);
	c = bench_connect(a->b, "producer");
	for (int i = 0; i < SIZES; i++) {
		snprintf(name, sizeof(name), "/stamp/%d", i);
		p[i] = bench_advertise(c, name, sizes[i], 0);
	}
	r = repeat(a, p);
	if (r < 0)
		fprintf(stderr, "bench: producer: %s\n", sim_why());
	sim_disconnect(c);
	return r < 0;
}

static int measure(struct disp_arena *a, bool pinned)
{
	pid_t bridge;
	int r;

	BENCH_UNTIL(20, atomic_load(&a->stamp->pid)); /* the bridge is connected */
	bridge = (pid_t)atomic_load(&a->stamp->pid);
	a->pinned = pinned;
	bench_pin_process(a->b->simd_pid, pinned ? CHAIN_MID : -1);
	bench_pin_process(bridge, pinned ? CHAIN_END : -1);
	chain_start(&a->chain, pinned);
	r = bench_wait(bench_fork(producer_main, a));
	chain_stop(&a->chain);
	bench_pin_process(a->b->simd_pid, -1);
	bench_pin_process(bridge, -1);
	return r ? -1 : 0;
}

static void report(struct disp_arena *a, bool pinned)
{
	struct bench_pair start[BENCH_PAIRS_MAX], cycle[BENCH_PAIRS_MAX], flat[BENCH_PAIRS_MAX];

	for (unsigned i = 0; i < a->runs; i++) {
		start[i] = a->track[i].start;
		cycle[i] = a->track[i].cycle;
		flat[i] = a->track[i].flat;
	}
	bench_report(a->b, pinned ? "dispatch_start" : "dispatch_start_unpinned", "ns", "two futex hops", BENCH_COST,
		     start, a->runs, pinned ? 1.5 : 0);
	bench_report(a->b, pinned ? "dispatch_cycle" : "dispatch_cycle_unpinned", "ns", "four futex hops", BENCH_COST,
		     cycle, a->runs, pinned ? 1.5 : 0);
	if (pinned)
		bench_report(a->b, "dispatch_start_flatness", "ns", "64 B (ours: 24 MiB)", BENCH_COST, flat, a->runs,
			     1.2);
}

static int run_dispatch(struct bench *b)
{
	struct disp_arena *a = bench_arena(sizeof(*a));
	int r = 0;

	a->b = b;
	a->runs = bench_runs(b, 7);
	a->count = b->smoke ? 20 : 1000;
	a->stamp = b->stamp;
	for (int pinned = 1; pinned >= 0 && r == 0; pinned--) {
		r = measure(a, pinned);
		if (r == 0)
			report(a, pinned);
	}
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_dispatch = { "dispatch", run_dispatch, NULL };
