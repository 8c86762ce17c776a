/* SPDX-License-Identifier: Apache-2.0 */
/* first_message: the first message of two fresh processes against their steady state, and its page faults. */
#include <stdio.h>
#include <sys/types.h>

#include "link.h"

static int one(struct bench *b, unsigned run, unsigned size_class, struct bench_pair *ret,
	       struct bench_pair *ret_faults)
{
	char tag[32];
	struct link_pair p;
	int r;

	snprintf(tag, sizeof(tag), "first%u.%u", size_class, run);
	r = link_start(b, tag, false, &p);
	if (!r && !(r = link_run(&p, LINK_OURS, size_class, 1))) {
		ret->ours = p.arena->sample[0];
		ret_faults->ours = (double)(p.arena->faults[0] + p.arena->faults[1]);
		ret->reference = link_latency(&p, LINK_OURS, size_class, b->smoke ? 20 : 300);
	}
	link_stop(&p);
	return r;
}

static int run_first(struct bench *b)
{
	static const char *const names[] = { "first_message_64B", "first_message_6MiB", NULL };
	struct bench_pair pairs[BENCH_PAIRS_MAX], faults[2 * BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 7), all = 0;

	for (unsigned c = 0; names[c]; c++) {
		for (unsigned i = 0; i < n; i++)
			if (one(b, i, c, &pairs[i], &faults[all++]) < 0)
				return -1;
		bench_report(b, names[c], "ns", "steady state of the same pair", BENCH_COST, pairs, n, 3);
	}
	bench_report(b, "first_message_faults", "faults", "", BENCH_VALUE, faults, all, 0);
	return 0;
}

const struct bench_case bench_first = { "first", run_first, NULL };
