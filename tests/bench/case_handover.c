/* SPDX-License-Identifier: Apache-2.0 */
/* handover_*: our hand-over against a futex, flat over sizes, and hot. overhead: ours against the bare binding. */
#include "link.h"

static int pairs_of(struct link_pair *p, enum link_mode ours, unsigned ours_class, enum link_mode ref,
		    unsigned ref_class, unsigned count, struct bench_pair *pairs, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		pairs[i].reference = link_latency(p, ref, ref_class, count);
		pairs[i].ours = link_latency(p, ours, ours_class, count);
		if (pairs[i].reference < 0 || pairs[i].ours < 0)
			return -1;
	}
	return 0;
}

static int run_handover(struct bench *b)
{
	unsigned n = bench_runs(b, 7), count = b->smoke ? 50 : 2000;
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	struct link_pair p;
	int r = link_start(b, "handover", false, &p);

	if (r < 0 || (r = pairs_of(&p, LINK_OURS, LINK_64B, LINK_FUTEX, LINK_64B, count, pairs, n)) < 0)
		goto out;
	bench_report(b, "handover_event_64B", "ns", "futex hand-over", BENCH_COST, pairs, n, 1.5);
	if ((r = pairs_of(&p, LINK_OURS, LINK_24MIB, LINK_OURS, LINK_64B, count, pairs, n)) < 0)
		goto out;
	bench_report(b, "handover_flatness", "ns", "64 B (ours: 24 MiB)", BENCH_COST, pairs, n, 1.2);
	if ((r = pairs_of(&p, LINK_OURS, LINK_64B_SPIN, LINK_OURS, LINK_64B, count, pairs, n)) < 0)
		goto out;
	bench_report(b, "handover_spin_64B", "ns", "handover_event_64B", BENCH_COST, pairs, n, 0.1);
out:
	link_stop(&p);
	return r;
}

static int run_overhead(struct bench *b)
{
	unsigned n = bench_runs(b, 7), count = b->smoke ? 50 : 2000, bursts = b->smoke ? 50 : 4000;
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	struct link_pair p;
	int r = link_start(b, "overhead", true, &p);

	if (r < 0 || (r = pairs_of(&p, LINK_OURS, LINK_64B, LINK_RAW, LINK_64B, count, pairs, n)) < 0)
		goto out;
	bench_report(b, "api_overhead_latency", "ns", "iceoryx C binding", BENCH_COST, pairs, n, 1.10);
	for (unsigned i = 0; i < n; i++) {
		pairs[i].reference = link_rate(&p, LINK_RAW_RATE, bursts);
		pairs[i].ours = link_rate(&p, LINK_OURS_RATE, bursts);
		if (pairs[i].reference < 0 || pairs[i].ours < 0) {
			r = -1;
			goto out;
		}
	}
	bench_report(b, "api_overhead_rate", "msg/s", "iceoryx C binding", BENCH_RATE, pairs, n, 0.95);
out:
	link_stop(&p);
	return r;
}

const struct bench_case bench_handover = { "handover", run_handover, NULL };
const struct bench_case bench_overhead = { "overhead", run_overhead, "api_overhead_latency api_overhead_rate" };
