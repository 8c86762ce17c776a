/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_cost: the processor time of simd and a publisher for each message while ten clients watch all of it, against
 * one. watch_idle: the same with a foxglove bridge without clients, against a rig without it; watch_idle_bridge: its
 * process's share of a core then, in percent. simd and the publisher are on CPU 0, bridges and clients on CPU 1, so
 * that one does not empty the other's cache. watch_stalled: the most that the bridge's process grows while a client
 * that watches images does not read.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

#define CLIENTS  10u
#define NULL_RIG "{\"name\":\"null\",\"plugin\":\"null\",\"channels\":[\"/watch/*\"]}"
#define RIG(...) "{\"name\":\"bench\",\"bridges\":[" __VA_ARGS__ "]}"

struct crowd { /* clients, each a process */
	unsigned port, channels;
	pid_t pid[CLIENTS];
	unsigned n;
	_Atomic unsigned ready; /* that watch all */
	_Atomic bool stand;     /* still: from now on they read nothing */
};

static int client_main(void *arg)
{
	struct crowd *x = arg;
	struct watcher w;
	size_t size;

	bench_pin(1);
	if (watcher_open(&w, x->port, "foxglove.websocket.v1", "/watch/") < 0 || watcher_await(&w, x->channels) < 0)
		return 1;
	atomic_fetch_add(&x->ready, 1);
	while (!atomic_load(&x->stand))
		if (watcher_take(&w, &size) < 0)
			return 1;
	for (;;) /* ends with its parent's signal */
		pause();
}

static int crowd_start(struct crowd *x, unsigned n)
{
	atomic_store(&x->ready, 0);
	atomic_store(&x->stand, false);
	for (x->n = 0; x->n < n; x->n++)
		x->pid[x->n] = bench_fork(client_main, x);
	BENCH_UNTIL(30, atomic_load(&x->ready) == n);
	return 0;
}

static void crowd_stop(struct crowd *x)
{
	while (x->n) {
		kill(x->pid[--x->n], SIGKILL);
		bench_wait(x->pid[x->n]);
	}
}

/* ---- processor time ---- */

static double cost_us(const struct watch_load *l, int64_t dur_ns)
{
	uint64_t sent = atomic_load(&l->sent);
	int64_t cpu = bench_cpu_ns(l->b->simd_pid) + bench_cpu_ns(l->pid);

	mono_sleep_until(mono_now_ns() + dur_ns);
	cpu = bench_cpu_ns(l->b->simd_pid) + bench_cpu_ns(l->pid) - cpu;
	sent = atomic_load(&l->sent) - sent;
	return (double)cpu / 1e3 / (double)(sent ? sent : 1);
}

static int cost_with(struct watch_load *l, struct crowd *x, unsigned clients, int64_t dur_ns, double *ret_us)
{
	int r = crowd_start(x, clients);

	if (r == 0)
		*ret_us = cost_us(l, dur_ns);
	crowd_stop(x);
	return r;
}

static int measure_cost(struct watch_load *l, struct crowd *x, int64_t dur_ns, struct bench_pair *pair, unsigned n)
{
	int r = watch_load_start(l);

	for (unsigned i = 0; i < n && r == 0; i++)
		for (unsigned k = 0; k < 2 && r == 0; k++) {
			bool all = (k + i) % 2;

			r = cost_with(l, x, all ? CLIENTS : 1, dur_ns, all ? &pair[i].ours : &pair[i].reference);
		}
	return watch_load_stop(l) < 0 ? -EIO : r;
}

static int run_cost(struct bench *b, struct watch_load *l, struct crowd *x, unsigned n, int64_t dur_ns)
{
	struct bench_pair pair[BENCH_PAIRS_MAX] = { { 0, 0 } };
	pid_t bridge;
	int r = bench_simd(b, RIG(WATCH_BRIDGE("/watch/*")));

	*l = (struct watch_load){ .b = b, .images = 1, .bridges = 1 };
	x->channels = WATCH_SMALL + l->images;
	if (r == 0)
		r = watch_bridge(b, &bridge, &x->port);
	if (r == 0)
		r = measure_cost(l, x, dur_ns, pair, n);
	if (r == 0)
		bench_report(b, "watch_cost", "us", "one client", BENCH_COST, pair, n, 1.05);
	return r;
}

/* ---- without watching clients ---- */

struct idle {
	double cost_us, bridge_percent;
};

static int idle_with(struct bench *b, struct watch_load *l, bool foxglove, int64_t dur_ns, struct idle *ret)
{
	int r = bench_simd(b, foxglove ? RIG(NULL_RIG "," WATCH_BRIDGE("/watch/*")) : RIG(NULL_RIG));
	int64_t cpu = 0, start;
	pid_t bridge = 0;
	unsigned port;

	*l = (struct watch_load){ .b = b, .images = 1, .bridges = foxglove ? 2 : 1 };
	if (r == 0 && foxglove)
		r = watch_bridge(b, &bridge, &port);
	if (r == 0)
		r = watch_load_start(l);
	if (r < 0)
		return r;
	start = mono_now_ns();
	cpu = bridge ? bench_cpu_ns(bridge) : 0;
	ret->cost_us = cost_us(l, dur_ns);
	cpu = bridge ? bench_cpu_ns(bridge) - cpu : 0;
	ret->bridge_percent = 100.0 * (double)cpu / (double)(mono_now_ns() - start);
	return watch_load_stop(l);
}

static int run_idle(struct bench *b, struct watch_load *l, unsigned n, int64_t dur_ns)
{
	struct bench_pair cost[BENCH_PAIRS_MAX], bridge[BENCH_PAIRS_MAX];
	struct idle with = { 0, 0 }, without = { 0, 0 };

	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < 2; k++) {
			bool foxglove = (k + i) % 2;
			int r = idle_with(b, l, foxglove, dur_ns, foxglove ? &with : &without);

			if (r < 0)
				return r;
		}
		cost[i] = (struct bench_pair){ with.cost_us, without.cost_us };
		bridge[i] = (struct bench_pair){ .ours = with.bridge_percent };
	}
	bench_report(b, "watch_idle", "us", "no bridge to watch at", BENCH_COST, cost, n, 0);
	bench_report(b, "watch_idle_bridge", "%", NULL, BENCH_VALUE, bridge, n, 0);
	return 0;
}

/* ---- a client that stands still ---- */

/* Its own memory: slots are others'. MiB. */
static double own_mib(pid_t pid)
{
	char path[64], line[256];
	double kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "RssAnon:", 8) == 0)
			kib = strtod(line + 8, NULL);
	if (f)
		fclose(f);
	return kib / 1024;
}

/* A client that reads first: what the bridge needs for any client at all is there before. */
static int stall_once(struct crowd *x, pid_t bridge, int64_t dur_ns, double *ret_mib)
{
	int64_t start;
	double before, most = 0;
	int r = crowd_start(x, 1);

	if (r < 0)
		return r;
	mono_sleep_until(mono_now_ns() + dur_ns / 8);
	before = own_mib(bridge);
	atomic_store(&x->stand, true);
	start = mono_now_ns();
	while (mono_now_ns() < start + dur_ns) {
		double now = own_mib(bridge) - before;

		most = now > most ? now : most;
		mono_sleep_until(mono_now_ns() + 20 * NS_PER_MS);
	}
	*ret_mib = most;
	return 0;
}

static int run_stalled(struct bench *b, struct watch_load *l, struct crowd *x, unsigned n, int64_t dur_ns)
{
	struct bench_pair pair[BENCH_PAIRS_MAX];
	int r = 0;

	for (unsigned i = 0; i < n && r == 0;
	     i++) { /* each time another process: what malloc() keeps would hide the next one's */
		pid_t bridge;

		pair[i] = (struct bench_pair){ .ours = 0 };
		*l = (struct watch_load){ .b = b, .images = WATCH_IMAGES, .bridges = 1 };
		x->channels = WATCH_SMALL + l->images;
		r = bench_simd(b, RIG(WATCH_BRIDGE("/watch/*")));
		if (r == 0)
			r = watch_bridge(b, &bridge, &x->port);
		if (r == 0)
			r = watch_load_start(l);
		if (r == 0)
			r = stall_once(x, bridge, dur_ns, &pair[i].ours);
		crowd_stop(x);
		if (l->pid > 0 && watch_load_stop(l) < 0)
			r = -EIO;
	}
	if (r == 0) /* FOXGLOVE_HELD_MAX, and one message */
		bench_report(b, "watch_stalled", "MiB", "", BENCH_VALUE, pair, n, 32 + 6);
	return r;
}

static int run_watch(struct bench *b)
{
	int64_t dur_ns = b->smoke ? 300 * NS_PER_MS : 4 * NS_PER_S;
	struct watch_load *l = bench_arena(sizeof(*l));
	struct crowd *x = bench_arena(sizeof(*x));
	unsigned n = bench_runs(b, 5);
	int r = run_cost(b, l, x, bench_runs(b, 15), dur_ns / 3); /* short and many, since the machine's mood is long */

	if (r == 0)
		r = run_idle(b, l, n, dur_ns);
	if (r == 0)
		r = run_stalled(b, l, x, n, dur_ns);
	bench_arena_free(x, sizeof(*x));
	bench_arena_free(l, sizeof(*l));
	return r;
}

const struct bench_case bench_watch = { "watch", run_watch, "watch_cost watch_idle watch_stalled" };
