/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ros1_6MiB_latency, _rate, ros1_24MiB_latency, _rate: images from a publisher through simd and the ROS 1 bridge to a
 * subscriber, against the same bytes over a bare TCP connection to it. ros1_24MiB_roscpp: against roscpp's publisher.
 * ros1_fanout: the bridge's cost of a message of 6 MiB for each of 8 subscribers, against its cost for one.
 */
#include <stdio.h>

#include "ros1_link.h"

#define IN_FLIGHT_6  4u
#define IN_FLIGHT_24 2u

static const char *const names[][2] = { { "ros1_6MiB_latency", "ros1_6MiB_rate" },
					{ "ros1_24MiB_latency", "ros1_24MiB_rate" } };

/* Ours and another, or the reverse. */
static int both(struct ros1_link *l, enum ros1_writer other, enum ros1_topic topic, unsigned count, unsigned window,
		unsigned i, struct ros1_run ret[2])
{
	for (unsigned k = 0; k < 2; k++) {
		unsigned which = (k + i) % 2;
		int r = ros1_link_run(l, which ? other : ROS1_OURS, topic, count, window, &ret[which]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int against_tcp(struct ros1_link *l, enum ros1_topic topic, unsigned n, unsigned count, unsigned window)
{
	struct bench_pair latency[BENCH_PAIRS_MAX], rate[BENCH_PAIRS_MAX];
	struct ros1_run x[2];

	for (unsigned i = 0; i < n; i++) {
		int r = both(l, ROS1_RAW, topic, count, 1, i, x);

		latency[i] = (struct bench_pair){ x[0].latency_ns / 1e3, x[1].latency_ns / 1e3 };
		r = r < 0 ? r : both(l, ROS1_RAW, topic, 2 * count, window, i, x);
		if (r < 0)
			return r;
		rate[i] = (struct bench_pair){ x[0].rate, x[1].rate };
	}
	bench_report(l->b, names[topic][0], "us", "bare TCP", BENCH_COST, latency, n, 1.15);
	bench_report(l->b, names[topic][1], "msg/s", "bare TCP", BENCH_RATE, rate, n, 0.9);
	return 0;
}

static int against_roscpp(struct ros1_link *l, unsigned n, unsigned count)
{
	struct bench_pair rate[BENCH_PAIRS_MAX];
	struct ros1_run x[2];

	if (!l->roscpp) {
		printf("ros1_24MiB_roscpp is not measured: no libroscpp-dev when this was built\n");
		return 0;
	}
	for (unsigned i = 0; i < n; i++) {
		int r = both(l, ROS1_ROSCPP, ROS1_24MIB, count, IN_FLIGHT_24, i, x);

		if (r < 0)
			return r;
		rate[i] = (struct bench_pair){ x[0].rate, x[1].rate };
	}
	bench_report(l->b, "ros1_24MiB_roscpp", "msg/s", "roscpp's publisher", BENCH_RATE, rate, n, 1.7);
	return 0;
}

static int fanout(struct ros1_link *l, unsigned n, unsigned count)
{
	struct bench_pair cpu[BENCH_PAIRS_MAX];
	struct ros1_run all, one;

	for (unsigned i = 0; i < n; i++) {
		int r = ros1_link_run(l, ROS1_OURS, ROS1_ALL, count, 1, &all);

		r = r < 0 ? r : ros1_link_run(l, ROS1_OURS, ROS1_6MIB, count, 1, &one);
		if (r < 0)
			return r;
		cpu[i] = (struct bench_pair){ all.cpu_ns / 1e3, one.cpu_ns / 1e3 };
	}
	bench_report(l->b, "ros1_fanout", "us", "one subscriber", BENCH_COST, cpu, n, 1.05);
	return 0;
}

static int run_ros1(struct bench *b)
{
	unsigned n = bench_runs(b, 9), count = b->smoke ? 4 : 40;
	struct ros1_link l;
	int r = ros1_link_start(b, &l);

	if (r == 0)
		r = against_tcp(&l, ROS1_6MIB, n, 2 * count, IN_FLIGHT_6);
	if (r == 0)
		r = against_tcp(&l, ROS1_24MIB, n, count, IN_FLIGHT_24);
	if (r == 0)
		r = against_roscpp(&l, n, count);
	if (r == 0)
		r = fanout(&l, n, count);
	ros1_link_stop(&l);
	return r;
}

const struct bench_case bench_ros1 = { "ros1", run_ros1, NULL };
