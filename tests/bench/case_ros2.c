/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ros2_image_6MiB_latency, _rate, _cpu: the ROS 2 plug-in against a plain dds_write() of the same image, with the same settings, the same
 * reader and the same pace: at once, what overflows the buffer is sent again 100 ms later, and the rate is that of repairs.
 */
#include <stdio.h>

#include "ros2_link.h"

#define IN_FLIGHT 4u

/* One repetition: both writers, the order alternating. */
static int one(struct ros2_link *l, unsigned i, unsigned count, unsigned window, struct ros2_run ret[ROS2_WRITERS])
{
	for (unsigned k = 0; k < ROS2_WRITERS; k++) {
		enum ros2_writer who = (enum ros2_writer)((k + i) % ROS2_WRITERS);

		if (ros2_link_run(l, who, count, window, &ret[who]) < 0)
			return -1;
	}
	return 0;
}

/* Counted in a process of its own, which stands before the C library's memcpy(). */
static int count_copies(struct bench *b)
{
	unsigned long long moved = 0, size = 0;
	struct bench_pair p;
	char command[4 * BENCH_PATH];
	FILE *f;

	snprintf(command, sizeof(command), "'%s/bench-copies' '%s'", b->bin, b->ros2_plugin);
	f = popen(command, "re");
	if (!f || fscanf(f, "%llu %llu", &moved, &size) != 2 || pclose(f) != 0)
		return -1;
	p = (struct bench_pair){ (double)moved / (double)size, 0 };
	bench_report(b, "ros2_copies", "copies", NULL, BENCH_VALUE, &p, 1, 1);
	return 0;
}

static int run_ros2(struct bench *b)
{
	unsigned n = bench_runs(b, 9), count = b->smoke ? 4 : 40;
	struct bench_pair latency[BENCH_PAIRS_MAX], rate[BENCH_PAIRS_MAX], cpu[BENCH_PAIRS_MAX];
	struct ros2_run x[ROS2_WRITERS];
	struct ros2_link l;
	int r = ros2_link_start(b, NULL, &l);

	for (unsigned i = 0; r == 0 && i < n; i++) {
		r = one(&l, i, count, 1, x);
		latency[i] = (struct bench_pair){ x[ROS2_OURS].latency_ns / 1e3, x[ROS2_PLAIN].latency_ns / 1e3 };
		cpu[i] = (struct bench_pair){ x[ROS2_OURS].cpu_ns / 1e3, x[ROS2_PLAIN].cpu_ns / 1e3 };
		r = r < 0 ? r : one(&l, i, 2 * count, IN_FLIGHT, x);
		rate[i] = (struct bench_pair){ x[ROS2_OURS].rate, x[ROS2_PLAIN].rate };
	}
	ros2_link_stop(&l);
	if (r < 0)
		return r;
	bench_report(b, "ros2_image_6MiB_latency", "us", "dds_write, as paced", BENCH_COST, latency, n, 1.05);
	bench_report(b, "ros2_image_6MiB_rate", "msg/s", "dds_write, as paced", BENCH_RATE, rate, n, 0.9);
	bench_report(b, "ros2_image_6MiB_cpu", "us", "dds_write, as paced", BENCH_COST, cpu, n, 1.1);
	return count_copies(b);
}

const struct bench_case bench_ros2 = { "ros2", run_ros2, "ros2_copies" };
