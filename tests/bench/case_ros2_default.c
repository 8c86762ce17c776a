/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ros2_default_discovery: from the start of a node's process to its first /clock and what is kept for it, with nothing set on our side: at
 * worst over the settings of a node's environment, both rmws, and a machine with one network, with none, and without multicast on lo.
 * Threads: main of each process, the plug-in's and Cyclone's.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <sim/msg/Image.h>

#include "bench.h"
#include "system/ros2/cables.h"
#include "system/ros2/host.h"
#include "system/ros2/node.h"
#include "timeutil.h"

#define KEPT "{\"ros2\":{\"reliability\":\"reliable\",\"durability\":\"transient_local\",\"depth\":1}}"

static const struct {
	const char *name, *set_up;
} networks[] = {
	{ "one network", "ip link set lo multicast on" },
	{ "no multicast on lo", "ip link set lo multicast off" },
	{ "no network", "ip address flush dev near0; ip link set near0 down" },
};
#define NETWORKS (sizeof(networks) / sizeof(networks[0]))

struct arena {
	const char *plugin;
	unsigned runs;
	double ms[BENCH_PAIRS_MAX]; /* at worst, of each repetition */
};

static double one_node(bool fast, unsigned setting, const char *network)
{
	int64_t start_mono_ns = mono_now_ns();
	struct node n;
	double ms;

	node_start(&n, fast, setting, 0, 0);
	node_wait(&n);
	ms = (double)(mono_now_ns() - start_mono_ns) / 1e6;
	node_end(&n);
	printf("  %s, %s, %s: %.0f ms\n", network, fast ? "Fast DDS" : "Cyclone", node_settings[setting], ms);
	fflush(stdout);
	return ms;
}

static double worst_node(const char *network)
{
	double worst = 0;

	for (unsigned setting = 0; setting < NODE_HIDDEN; setting++)
		for (int fast = 0; fast < 2; fast++) {
			double ms = node_can_be(fast) ? one_node(fast, setting, network) : 0;

			worst = ms > worst ? ms : worst;
		}
	return worst;
}

static struct sim_bridge *open_bridge(struct host *h, const char *plugin)
{
	static const char *const options[] = { "graph_wait_ms", "0", NULL };
	struct sim_slot *s = host_image(64, 48);
	struct sim_bridge *b;

	host_init(h, plugin, options);
	b = host_create(h);
	(void)host_publish(h, b, host_open(h, b, "/camera", &sim_Image_type, KEPT), s);
	free(s);
	host_clock_start(h, b);
	return b;
}

/* A machine with networks of its own. */
static int machine_main(void *arg)
{
	static struct host h;
	struct arena *a = arg;
	struct sim_bridge *b;

	if (unshare(CLONE_NEWNET) < 0)
		return 1;
	cables_run("ip link set lo up");
	if (cables_lay(NULL) < 0)
		return 1;
	cables_run("ip address flush dev near1; ip link set near1 down");
	b = open_bridge(&h, a->plugin);
	for (unsigned k = 0; k < NETWORKS; k++) {
		cables_run("%s", networks[k].set_up);
		for (unsigned i = 0; i < a->runs; i++) {
			double ms = worst_node(networks[k].name);

			a->ms[i] = ms > a->ms[i] ? ms : a->ms[i];
		}
	}
	host_clock_stop(&h);
	h.ops->destroy(b);
	return cables_cut(NULL);
}

static int run_default(struct bench *b)
{
	struct bench_pair p[BENCH_PAIRS_MAX];
	struct arena *a = bench_arena(sizeof(*a));
	unsigned runs = bench_runs(b, 5);
	int r;

	a->plugin = b->ros2_plugin;
	a->runs = runs;
	r = bench_wait(bench_fork(machine_main, a)) ? -1 : 0;
	for (unsigned i = 0; i < runs; i++)
		p[i] = (struct bench_pair){ a->ms[i], 0 };
	bench_arena_free(a, sizeof(*a));
	if (r == 0)
		bench_report(b, "ros2_default_discovery", "ms", NULL, BENCH_VALUE, p, runs, 1000);
	return r;
}

const struct bench_case bench_default = { "default", run_default, "ros2_default_discovery" };
