/* SPDX-License-Identifier: Apache-2.0 */
/* growth_ms: a connected process asks for a channel of 6 MiB messages, for which simd has to find memory, until it has the first of them. */
#include <stdio.h>
#include <string.h>

#include <sim/sim.h>

#include "bench.h"

#define BODY ((size_t)6 << 20)

/* Milliseconds; negative: failed. */
static double grow(struct sim_client *c, unsigned i)
{
	struct sim_subscriber *sub;
	const struct sim_message *msg;
	int64_t from = mono_now_ns();
	struct sim_publisher *pub;
	struct sim_slot *slot;
	char name[32];

	snprintf(name, sizeof(name), "/growth/%u", i);
	pub = bench_advertise(c, name, BODY, 0);
	if (sim_subscribe(c, name, NULL, NULL, &sub) < 0 || sim_loan(pub, BODY, &slot) < 0)
		return -1;
	memset(sim_slot_body_mut(slot), 1, BODY);
	if (sim_publish_local(pub, slot) < 0 || sim_wait(sub, BENCH_PATIENCE * NS_PER_S) != 1 ||
	    sim_take(sub, &msg) < 0)
		return -1;
	sim_release(sub, msg);
	return (double)(mono_now_ns() - from) / NS_PER_MS;
}

static int run_growth(struct bench *b)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX] = { { 0 } };
	struct sim_client *c = bench_connect(b, "growth");
	unsigned n = bench_runs(b, 7);

	for (unsigned i = 0; i < n; i++) {
		pairs[i].ours = grow(c, i);
		if (pairs[i].ours < 0) {
			fprintf(stderr, "bench: growth: %s\n", sim_why());
			return -1;
		}
	}
	sim_disconnect(c);
	bench_report(b, "growth_ms", "ms", "", BENCH_VALUE, pairs, n, 50);
	return 0;
}

const struct bench_case bench_growth = { "growth", run_growth, NULL };
