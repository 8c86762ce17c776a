/* SPDX-License-Identifier: Apache-2.0 */
/* handover_*: our hand-over against a futex, flat over sizes, and hot. overhead: ours against the bare binding. */
#include "link.h"

struct latency {
	const char *name, *against;
	enum link_mode reference;
	enum link_class ours, of_reference;
	double bar;
};

static const struct latency handovers[] = {
	{ "handover_event_64B", "futex hand-over", LINK_FUTEX, LINK_64B, LINK_64B, 1.5 },
	{ "handover_flatness", "64 B (ours: 24 MiB)", LINK_OURS, LINK_24MIB, LINK_64B, 1.2 },
	{ "handover_spin_64B", "handover_event_64B", LINK_OURS, LINK_64B_SPIN, LINK_64B, 0.1 },
};
static const struct latency overhead = {
	"api_overhead_latency", "iceoryx C binding", LINK_RAW, LINK_64B, LINK_64B, 1.1
};

static int measure(struct bench *b, struct link_pair *p, const struct latency *l)
{
	unsigned n = bench_runs(b, 7), count = b->smoke ? 50 : 2000;
	struct bench_pair pairs[BENCH_PAIRS_MAX];

	for (unsigned i = 0; i < n; i++) {
		pairs[i].reference = link_latency(p, l->reference, l->of_reference, count);
		pairs[i].ours = link_latency(p, LINK_OURS, l->ours, count);
		if (pairs[i].reference < 0 || pairs[i].ours < 0)
			return -1;
	}
	bench_report(b, l->name, "ns", l->against, BENCH_COST, pairs, n, l->bar);
	return 0;
}

static int measure_rate(struct bench *b, struct link_pair *p)
{
	unsigned n = bench_runs(b, 7), bursts = b->smoke ? 50 : 4000;
	struct bench_pair pairs[BENCH_PAIRS_MAX];

	for (unsigned i = 0; i < n; i++) {
		pairs[i].reference = link_rate(p, LINK_RAW_RATE, bursts);
		pairs[i].ours = link_rate(p, LINK_OURS_RATE, bursts);
		if (pairs[i].reference < 0 || pairs[i].ours < 0)
			return -1;
	}
	bench_report(b, "api_overhead_rate", "msg/s", "iceoryx C binding", BENCH_RATE, pairs, n, 0.95);
	return 0;
}

static int run_handover(struct bench *b)
{
	struct link_pair p;
	int r = link_start(b, "handover", false, &p);

	for (unsigned i = 0; r == 0 && i < sizeof(handovers) / sizeof(handovers[0]); i++)
		r = measure(b, &p, &handovers[i]);
	link_stop(&p);
	return r;
}

static int run_overhead(struct bench *b)
{
	struct link_pair p;
	int r = link_start(b, "overhead", true, &p);

	if (r == 0)
		r = measure(b, &p, &overhead);
	if (r == 0)
		r = measure_rate(b, &p);
	link_stop(&p);
	return r;
}

const struct bench_case bench_handover = { "handover", run_handover, NULL };
const struct bench_case bench_overhead = { "overhead", run_overhead, "api_overhead" };
