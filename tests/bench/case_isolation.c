/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch_isolation: how long a message of rig B takes from its publisher's queue call to the start of its delivery in B's bridge, at
 * 100 Hz, while rig A has 2000 messages a second, a bridge that sleeps 5 ms over each, and a full backlog, against the same
 * alone, in turns: the 99th percentile. _busy: while A also has a process that computes on each CPU. Nothing is pinned.
 */
#include <stdatomic.h>
#include <stdio.h>

#include <sim/sim.h>

#include "bench.h"
#include "plugins/stamp.h"

#define A_CHANNELS  16 /* their windows together are more than a bridge's queue takes */
#define A_PERIOD_NS (500 * NS_PER_US)
#define A_SLEEP_US  5000
#define B_PERIOD_NS (10 * NS_PER_MS)
#define B_SLICE     200u
#define B_SLICES    5u /* of each kind, in a run */
#define B_SAMPLES   (B_SLICE * B_SLICES)

enum with { ALONE, BESIDE, BUSY, WITHS };

struct isolation {
	struct bench *b;
	struct stamp_page *page[2]; /* of A's bridge, of B's */
	unsigned runs, slices;
	_Atomic bool flood, quit;
	_Atomic uint64_t accepted, ended, refused; /* of A: refused because the bridge's queue is full */
	_Atomic uint64_t b_ended, b_failed;
	double p99_us[WITHS][BENCH_PAIRS_MAX];
};

/* ---- rig A ---- */

static void on_done_a(void *user, bool ok, enum sim_reason reason)
{
	struct isolation *a = user;

	(void)ok;
	if (reason == SIM_REASON_BRIDGE_BUSY)
		atomic_fetch_add(&a->refused, 1);
	atomic_fetch_add(&a->ended, 1);
}

static int flood_main(void *arg)
{
	struct isolation *a = arg;
	struct sim_client *c = bench_connect(a->b, "a");
	struct sim_publisher *p[A_CHANNELS];
	int64_t next_mono_ns = mono_now_ns();
	char name[32];

	for (int i = 0; i < A_CHANNELS; i++) {
		snprintf(name, sizeof(name), "/a/%d", i);
		p[i] = bench_advertise(c, name, 64, SIM_PUB_NO_WAIT);
		bench_await_bridge(p[i]);
	}
	for (unsigned i = 0; !atomic_load(&a->quit); i++) {
		if (atomic_load(&a->flood) && bench_queue(p[i % A_CHANNELS], 64, on_done_a, a, NULL) == 0)
			atomic_fetch_add(&a->accepted, 1);
		next_mono_ns += A_PERIOD_NS;
		mono_sleep_until(next_mono_ns);
	}
	sim_disconnect(c);
	return 0;
}

static int await_full(struct isolation *a)
{
	uint64_t refused = atomic_load(&a->refused);

	BENCH_UNTIL(30, atomic_load(&a->refused) > refused);
	return 0;
}

static int await_empty(struct isolation *a)
{
	BENCH_UNTIL(30, atomic_load(&a->ended) == atomic_load(&a->accepted));
	return 0;
}

/* ---- rig B ---- */

static void on_done_b(void *user, bool ok, enum sim_reason reason)
{
	struct isolation *a = user;

	if (!ok && !atomic_fetch_add(&a->b_failed, 1))
		fprintf(stderr, "bench: a message of rig B was not delivered: %s\n", sim_reason_name(reason));
	atomic_fetch_add(&a->b_ended, 1);
}

/* *sequence: of the newest message. */
static int slice(struct isolation *a, struct sim_publisher *p, uint64_t *sequence, double *ret_us)
{
	static int64_t queued_mono_ns[B_SLICE];
	int64_t next_mono_ns = mono_now_ns();
	uint64_t first = *sequence + 1;

	for (unsigned i = 0; i < B_SLICE; i++) {
		next_mono_ns += B_PERIOD_NS;
		mono_sleep_until(next_mono_ns);
		if (bench_queue(p, 64, on_done_b, a, &queued_mono_ns[i]) < 0)
			return -EIO;
	}
	*sequence += B_SLICE;
	BENCH_UNTIL(30, atomic_load(&a->b_ended) == *sequence);
	for (unsigned i = 0; i < B_SLICE; i++) {
		int64_t start_mono_ns = atomic_load(&a->page[1]->at_mono_ns[(first + i) % STAMP_RING]);

		ret_us[i] = (double)(start_mono_ns - queued_mono_ns[i]) / 1e3;
	}
	return atomic_load(&a->b_failed) ? -EIO : 0;
}

/* One slice of each kind, so that all have the machine in the same mood. */
static int take_turns(struct isolation *a, struct sim_publisher *p, uint64_t *sequence, double (*sample)[B_SAMPLES],
		      unsigned at)
{
	struct bench_burners burners;
	int r = slice(a, p, sequence, &sample[ALONE][at]);

	atomic_store(&a->flood, true);
	if (r == 0)
		r = await_full(a);
	if (r == 0)
		r = slice(a, p, sequence, &sample[BESIDE][at]);
	bench_burn_start(&burners, true);
	if (r == 0)
		r = slice(a, p, sequence, &sample[BUSY][at]);
	bench_burn_stop(&burners);
	atomic_store(&a->flood, false);
	return r < 0 ? r : await_empty(a);
}

static int measure_run(struct isolation *a, struct sim_publisher *p, uint64_t *sequence, unsigned run)
{
	static double sample[WITHS][B_SAMPLES];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < a->slices; i++)
		r = take_turns(a, p, sequence, sample, i * B_SLICE);
	for (int i = 0; r == 0 && i < WITHS; i++)
		a->p99_us[i][run] = bench_percentile(sample[i], a->slices * B_SLICE, 0.99);
	return r;
}

static int measure_main(void *arg)
{
	struct isolation *a = arg;
	struct sim_client *c = bench_connect(a->b, "b");
	struct sim_publisher *p = bench_advertise(c, "/b/0", 64, 0);
	uint64_t sequence = 0;
	double warm_us[B_SLICE];
	int r;

	bench_await_bridge(p);
	r = slice(a, p, &sequence, warm_us);
	for (unsigned i = 0; r == 0 && i < a->runs; i++)
		r = measure_run(a, p, &sequence, i);
	sim_disconnect(c);
	return r < 0;
}

/* ---- both ---- */

static int start(struct isolation *a)
{
	char bridge[2][3 * BENCH_PATH], rigs[7 * BENCH_PATH];

	a->page[0] = bench_stamp(a->b, "stamp-a", "*", A_SLEEP_US, bridge[0], sizeof(bridge[0]));
	a->page[1] = bench_stamp(a->b, "stamp-b", "*", 0, bridge[1], sizeof(bridge[1]));
	snprintf(
		rigs, sizeof(rigs),
		"{\"name\":\"a\",\"prefix\":\"/a\",\"bridges\":[%s]},{\"name\":\"b\",\"prefix\":\"/b\",\"bridges\":[%s]}",
		bridge[0], bridge[1]);
	return a->page[0] && a->page[1] ? bench_simd(a->b, rigs) : -1;
}

static void report(const struct isolation *a, const char *name, enum with with, double bar)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX];

	for (unsigned i = 0; i < a->runs; i++)
		pairs[i] = (struct bench_pair){ a->p99_us[with][i], a->p99_us[ALONE][i] };
	bench_report(a->b, name, "us", "rig B alone, p99", BENCH_COST, pairs, a->runs, bar);
}

static int run_isolation(struct bench *b)
{
	struct isolation *a = bench_arena(sizeof(*a));
	int r;

	a->b = b;
	a->runs = bench_runs(b, 5);
	a->slices = b->smoke ? 1 : B_SLICES;
	r = start(a);
	if (r == 0) {
		pid_t flood = bench_fork(flood_main, a);

		r = bench_wait(bench_fork(measure_main, a));
		atomic_store(&a->quit, true);
		r |= bench_wait(flood);
	}
	if (r == 0) {
		report(a, "dispatch_isolation", BESIDE, 2);
		report(a, "dispatch_isolation_busy", BUSY, 0);
	}
	bench_arena_free(a, sizeof(*a));
	return r ? -1 : 0;
}

const struct bench_case bench_isolation = { "isolation", run_isolation, "dispatch_isolation" };
