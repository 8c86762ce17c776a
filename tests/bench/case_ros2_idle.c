/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ros2_idle: packets a second of a bridge without readers, on a machine with one network and default settings: those
 * sent on lo and on the network together, beside the same bridge on loopback alone. ros2_idle_cpu: its process's share
 * of a CPU then. It has five topics and /clock. Threads: main of each process, the plug-in's and Cyclone's.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <sim/msg/Image.h>

#include "bench.h"
#include "system/ros2/cables.h"
#include "system/ros2/host.h"
#include "timeutil.h"

#define SETTLE_NS (5 * NS_PER_S) /* it has found all that there is */
#define TOPICS    5

struct arena {
	const char *plugin;
	bool loopback; /* alone */
	int64_t window_dur_ns;
	double packets, cpu_ms; /* a second */
};

/* Sent, by all devices. */
static uint64_t packets(void)
{
	FILE *f = fopen("/proc/net/dev", "re");
	char line[512];
	uint64_t sum = 0, n;

	while (f && fgets(line, sizeof(line), f))
		if (strchr(line, ':') &&
		    sscanf(strchr(line, ':') + 1, " %*u %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &n) == 1)
			sum += n;
	if (f)
		fclose(f);
	return sum;
}

static double cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void look(struct arena *a)
{
	double s = (double)a->window_dur_ns / NS_PER_S, cpu;
	uint64_t n;

	mono_sleep_until(mono_now_ns() + SETTLE_NS);
	n = packets();
	cpu = cpu_ms();
	mono_sleep_until(mono_now_ns() + a->window_dur_ns);
	a->packets = (double)(packets() - n) / s;
	a->cpu_ms = (cpu_ms() - cpu) / s;
}

/* A machine with one network of its own. */
static int machine_main(void *arg)
{
	static const char *const everywhere[] = { "graph_wait_ms", "0", NULL };
	static const char *const loopback[] = { "graph_wait_ms", "0", "localhost", "true", NULL };
	static struct host h;
	struct arena *a = arg;
	struct sim_bridge *b;
	char name[16];

	if (unshare(CLONE_NEWNET) < 0)
		return 1;
	cables_run("ip link set lo up; ip link set lo multicast on");
	if (cables_lay(NULL) < 0)
		return 1;
	cables_run("ip address flush dev near1; ip link set near1 down");
	host_init(&h, a->plugin, a->loopback ? loopback : everywhere);
	b = host_create(&h);
	for (int i = 0; i < TOPICS; i++) {
		snprintf(name, sizeof(name), "/camera%d", i);
		(void)host_open(&h, b, name, &sim_Image_type, "{}");
	}
	host_clock_start(&h, b);
	look(a);
	host_clock_stop(&h);
	h.ops->destroy(b);
	return cables_cut(NULL);
}

static int measure(struct arena *a, bool loopback)
{
	a->loopback = loopback;
	return bench_wait(bench_fork(machine_main, a)) ? -1 : 0;
}

static int run_ros2_idle(struct bench *b)
{
	struct bench_pair sent[BENCH_PAIRS_MAX], cpu[BENCH_PAIRS_MAX];
	struct arena *a = bench_arena(sizeof(*a));
	unsigned runs = bench_runs(b, 5);
	int r = 0;

	a->plugin = b->ros2_plugin;
	a->window_dur_ns = b->smoke ? 2 * NS_PER_S : 10 * NS_PER_S;
	for (unsigned i = 0; i < runs && r == 0; i++) {
		r = measure(a, false);
		sent[i].ours = a->packets;
		cpu[i].ours = a->cpu_ms;
		r = r < 0 ? r : measure(a, true);
		sent[i].reference = a->packets;
		cpu[i].reference = a->cpu_ms;
		printf("  %.1f packets/s and %.2f ms of CPU a second; on loopback alone %.1f and %.2f\n", sent[i].ours,
		       cpu[i].ours, sent[i].reference, cpu[i].reference);
	}
	bench_arena_free(a, sizeof(*a));
	if (r == 0) {
		bench_report(b, "ros2_idle", "packets/s", "on loopback alone", BENCH_COST, sent, runs, 2);
		bench_report(b, "ros2_idle_cpu", "ms/s", "on loopback alone", BENCH_COST, cpu, runs, 2);
	}
	return r;
}

const struct bench_case bench_ros2_idle = { "ros2_idle", run_ros2_idle, "ros2_idle_cpu" };
