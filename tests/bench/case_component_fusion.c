/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component_fusion_4: cost of a tuple of four inputs, from the arrival of its four messages until it is released,
 * against a message of one reader. One thread puts and fetches, in a process that has another one. The cost of a
 * message before its arrival is not included.
 */
#include <pthread.h>

#include "bench.h"
#include "libclient/component/fusion.h"

#define MESSAGES 64u /* of an input, one after the other */
#define PASSES   40  /* best of: a preempted pass says nothing about the code */

static struct msg messages[TUPLE_MAX][MESSAGES];
static uint64_t released;

static void release(struct msg *m)
{
	(void)m;
	released++;
}

static void arrive(struct fusion *f, unsigned input, unsigned i)
{
	struct msg *m = &messages[input][i % MESSAGES];

	m->m.header.stamp_sim_ns = i;
	m->release = release;
	atomic_store_explicit(&m->refs, 1, memory_order_relaxed);
	fusion_put(f, input, m);
	msg_unref(m);
}

/* ns a tuple; negative: failed */
static double run(enum sim_fusion kind, uint32_t n, unsigned count)
{
	struct fusion_options o = {
		.kind = kind, .n = n, .pending = 1, .depth = { 4, 4, 4, 4 }, .tolerance_dur_ns = 10
	};
	int64_t start_mono_ns, end_mono_ns;
	struct fusion *f;
	unsigned got = 0;

	if (fusion_create(&o, &f) < 0)
		return -1;
	start_mono_ns = mono_now_ns();
	for (unsigned i = 0; i < count; i++) {
		struct tuple t;

		for (unsigned input = n; input-- > 0;)
			arrive(f, input, i);
		if (fusion_fetch(f, &t)) {
			tuple_unref(&t);
			got++;
		}
	}
	end_mono_ns = mono_now_ns();
	fusion_destroy(f);
	return got == count ? (double)(end_mono_ns - start_mono_ns) / count : -1;
}

static double best(enum sim_fusion kind, uint32_t n, unsigned count)
{
	double least = 1e18;

	for (int i = 0; i < PASSES; i++) {
		double ns = run(kind, n, count);

		if (ns < 0)
			return -1;
		least = ns < least ? ns : least;
	}
	return least;
}

static int measure(struct bench *b, const char *name, enum sim_fusion kind, double bar)
{
	unsigned n = bench_runs(b, 11), count = b->smoke ? 1000 : 20000;
	struct bench_pair pairs[BENCH_PAIRS_MAX];

	for (unsigned i = 0; i < n; i++) {
		pairs[i] = (struct bench_pair){ best(kind, TUPLE_MAX, count), best(SIM_FUSION_ALL_LATEST, 1, count) };
		if (pairs[i].ours < 0 || pairs[i].reference < 0)
			return -1;
	}
	bench_report(b, name, "ns", "one reader", BENCH_COST, pairs, n, bar);
	return 0;
}

static void *stand_by(void *until)
{
	AWAIT_BELL((uint32_t *)until, __atomic_load_n((uint32_t *)until, __ATOMIC_SEQ_CST));
	return NULL;
}

static int run_component_fusion(struct bench *b)
{
	uint32_t done = 0;
	pthread_t t;
	int r;

	if (pthread_create(&t, NULL, stand_by, &done))
		return -1;
	r = measure(b, "component_fusion_4", SIM_FUSION_ALL_LATEST, 3);
	if (r == 0)
		r = measure(b, "component_fusion_4_by_time", SIM_FUSION_BY_TIME, 0);
	bell_ring(&done);
	pthread_join(t, NULL);
	return r;
}

const struct bench_case bench_component_fusion = { "component_fusion", run_component_fusion, NULL };
