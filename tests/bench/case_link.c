/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_6MiB_latency, link_6MiB_rate: an image from a slot of one simbridge to a slot of the other, by the link plug-in in two processes,
 * against a plain dds_write() of the same image, typed, that is taken with dds_take(): the same settings and pace, over loopback.
 */
#include <stdio.h>

#include "ros2_link.h"

#define IN_FLIGHT 4u

static int one(struct ros2_link *l, unsigned i, unsigned count, unsigned window, struct ros2_run *ours,
	       struct ros2_run *plain)
{
	int r = 0;

	for (unsigned k = 0; k < 2 && r == 0; k++)
		r = (k + i) % 2 ? ros2_link_run(l, ROS2_PLAIN, count, window, plain)
				: ros2_link_run(l, ROS2_LINKED, count, window, ours);
	return r;
}

static int run_link(struct bench *b)
{
	unsigned n = bench_runs(b, 9), count = b->smoke ? 4 : 40;
	struct bench_pair latency[BENCH_PAIRS_MAX], rate[BENCH_PAIRS_MAX], cpu[BENCH_PAIRS_MAX];
	char plugin[2 * BENCH_PATH];
	struct ros2_run ours, plain;
	struct ros2_link l;
	int r;

	snprintf(plugin, sizeof(plugin), "%s/../lib/simd/bridge_link.so", b->bin);
	r = ros2_link_start(b, plugin, &l);
	for (unsigned i = 0; r == 0 && i < n; i++) {
		r = one(&l, i, count, 1, &ours, &plain);
		latency[i] = (struct bench_pair){ ours.latency_ns / 1e3, plain.latency_ns / 1e3 };
		cpu[i] = (struct bench_pair){ ours.cpu_ns / 1e3, plain.cpu_ns / 1e3 };
		r = r < 0 ? r : one(&l, i, 2 * count, IN_FLIGHT, &ours, &plain);
		rate[i] = (struct bench_pair){ ours.rate, plain.rate };
	}
	ros2_link_stop(&l);
	if (r < 0)
		return r;
	bench_report(b, "link_6MiB_latency", "us", "dds_write, as paced", BENCH_COST, latency, n, 1.1);
	bench_report(b, "link_6MiB_rate", "msg/s", "dds_write, as paced", BENCH_RATE, rate, n, 1.0);
	bench_report(b, "link_6MiB_cpu", "us", "dds_write, as paced", BENCH_COST, cpu, n, 0);
	return 0;
}

const struct bench_case bench_link = { "link", run_link, NULL };
