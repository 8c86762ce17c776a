/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channels_cost: the processor time that simd spends on a lone message (publish, null bridge, completion, and only then
 * the next one) while it has 400 channels, against the same while it has one. channels_spread_cost: the same, but each
 * message is of the next channel and, after 50, of the next client, so that their data is in no cache. A simd for each
 * repetition, on one CPU, and the clients on the other one.
 */
#include <pthread.h>
#include <stdio.h>

#include <sim/sim.h>

#include "bench.h"

#define CHANNELS 400
#define CLIENTS  8
#define EACH     (CHANNELS / CLIENTS)
/* So many messages are on their way in a channel, and each publisher has 8 loans: all of that is reserved. */
#define WINDOW   128
#define RIGS     "{\"name\":\"bench\",\"bridges\":[{\"name\":\"null\",\"plugin\":\"null\",\"channels\":[\"/busy/*\"]}]}"
#define SLICE    400
#define SLICES   20u
#define PAUSE_NS (100 * NS_PER_US) /* in which all fall asleep */

_Static_assert(CHANNELS *(WINDOW + 8) <= 65536, "the pool holds all channels");

struct channels_arena {
	struct bench *b;
	double cost_us[3]; /* with one channel; of one, with all; of all */
};

struct share { /* a client with its channels */
	struct channels_arena *a;
	unsigned first;
	struct sim_client *c;
	struct sim_publisher *p[EACH];
	pthread_t thread;
};

static void advertise(struct share *s, unsigned i)
{
	char name[32];

	snprintf(name, sizeof(name), "/busy/%u", s->first + i);
	s->p[i] = bench_advertise(s->c, name, 64, 0);
	bench_await_bridge(s->p[i]);
}

/* Each waits for RouDi to connect it, so they wait side by side. */
static void *advertise_all(void *arg)
{
	struct share *s = arg;

	for (unsigned i = 0; i < EACH; i++)
		if (!s->p[i])
			advertise(s, i);
	return NULL;
}

static int publish(struct sim_publisher *p)
{
	struct sim_slot *slot;
	int r = sim_loan(p, 64, &slot);

	return r < 0 ? r : sim_publish_sync(p, slot, NULL, NULL);
}

static int measure_slice(struct share *s, unsigned n, double *ret_us)
{
	const struct channels_arena *a = s->a;
	int64_t cpu_ns = bench_cpu_ns(a->b->simd_pid);

	for (unsigned i = 0; i < SLICE; i++) {
		int r = publish(s[i % n / EACH].p[i % n % EACH]);

		if (r < 0)
			return r;
		mono_sleep_until(mono_now_ns() + PAUSE_NS);
	}
	*ret_us = (double)(bench_cpu_ns(a->b->simd_pid) - cpu_ns) / SLICE / NS_PER_US;
	return 0;
}

/* The median of slices, as now and then a neighbour takes caches and CPUs away. */
static int measure(struct share *s, unsigned n, double *ret_us)
{
	double v[SLICES];
	unsigned slices = s->a->b->smoke ? 1 : SLICES;

	for (unsigned i = 0; i < slices; i++) {
		int r = measure_slice(s, n, &v[i]);

		if (r < 0)
			return r;
	}
	*ret_us = bench_median(v, slices);
	return 0;
}

static int measure_both(struct share *s, struct channels_arena *a)
{
	int r;

	advertise(s, 0);
	r = measure(s, 1, &a->cost_us[0]);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < CLIENTS; i++)
		if (pthread_create(&s[i].thread, NULL, advertise_all, &s[i]) != 0)
			return -EAGAIN;
	for (unsigned i = 0; i < CLIENTS; i++)
		pthread_join(s[i].thread, NULL);
	r = measure(s, 1, &a->cost_us[1]);
	return r < 0 ? r : measure(s, CHANNELS, &a->cost_us[2]);
}

static int producer_main(void *arg)
{
	struct share s[CLIENTS] = { 0 };
	char name[32];
	int r;

	bench_pin(1);
	for (unsigned i = 0; i < CLIENTS; i++) {
		snprintf(name, sizeof(name), "producer%u", i);
		s[i].a = arg;
		s[i].first = i * EACH;
		s[i].c = bench_connect(s[i].a->b, name);
	}
	r = measure_both(s, arg);
	if (r < 0)
		fprintf(stderr, "bench: producer: %s\n", sim_why());
	for (unsigned i = 0; i < CLIENTS; i++)
		sim_disconnect(s[i].c);
	return r < 0;
}

static int run_channels(struct bench *b)
{
	struct channels_arena *a = bench_arena(sizeof(*a));
	struct bench_pair pairs[BENCH_PAIRS_MAX], spread[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 5);
	int r = 0;

	a->b = b;
	for (unsigned i = 0; i < n && r == 0; i++) {
		r = bench_simd(b, RIGS);
		bench_pin_process(b->simd_pid, 0);
		if (r == 0)
			r = bench_wait(bench_fork(producer_main, a)) ? -1 : 0;
		pairs[i] = (struct bench_pair){ .ours = a->cost_us[1], .reference = a->cost_us[0] };
		spread[i] = (struct bench_pair){ .ours = a->cost_us[2], .reference = a->cost_us[0] };
	}
	if (r == 0)
		bench_report(b, "channels_cost", "us", "one channel", BENCH_COST, pairs, n, 1.15);
	if (r == 0)
		bench_report(b, "channels_spread_cost", "us", "one channel", BENCH_COST, spread, n, 0);
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_channels = { "channels", run_channels, NULL };
