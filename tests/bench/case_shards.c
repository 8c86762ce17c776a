/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch_shards: the processor time that simd spends on a message of 64 B when eight rigs, each with a bridge of its own, share
 * the messages, against one rig that has all of them at the same rate. One process publishes on eight channels in both.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <sim/sim.h>

#include "bench.h"

#define RIGS      8
#define PERIOD_NS (250 * NS_PER_US) /* of all messages: 500 a second and rig */
#define WARM      500
#define IN_FLIGHT 200u

struct shards {
	struct bench *b;
	unsigned rigs, count;
	double cpu_ns; /* a message */
	_Atomic uint64_t ended, failed;
};

static void on_done(void *user, bool ok, enum sim_reason reason)
{
	struct shards *s = user;

	if (!ok && !atomic_fetch_add(&s->failed, 1))
		fprintf(stderr, "bench: a message was not delivered: %s\n", sim_reason_name(reason));
	atomic_fetch_add(&s->ended, 1);
}

static int send_all(struct shards *s, struct sim_publisher **p, unsigned count)
{
	int64_t next_mono_ns = mono_now_ns();

	atomic_store(&s->ended, 0);
	for (unsigned i = 0; i < count; i++) {
		int r = bench_queue(p[i % RIGS], 64, on_done, s, NULL);

		if (r < 0)
			return r;
		next_mono_ns += PERIOD_NS;
		mono_sleep_until(next_mono_ns);
		BENCH_UNTIL(10, i < atomic_load(&s->ended) + IN_FLIGHT); /* bridges that have no CPU fall behind */
	}
	BENCH_UNTIL(10, atomic_load(&s->ended) == count);
	return atomic_load(&s->failed) ? -EIO : 0;
}

static int producer_main(void *arg)
{
	struct shards *s = arg;
	struct sim_client *c = bench_connect(s->b, "producer");
	struct sim_publisher *p[RIGS];
	int64_t cpu_ns;
	char name[32];
	int r;

	for (unsigned i = 0; i < RIGS; i++) {
		snprintf(name, sizeof(name), "/r%u/c%u", i % s->rigs, i);
		p[i] = bench_advertise(c, name, 64, 0);
		bench_await_bridge(p[i]);
	}
	r = send_all(s, p, WARM);
	cpu_ns = bench_cpu_ns(s->b->simd_pid);
	if (r == 0)
		r = send_all(s, p, s->count);
	s->cpu_ns = (double)(bench_cpu_ns(s->b->simd_pid) - cpu_ns) / s->count;
	if (r < 0)
		fprintf(stderr, "bench: producer: %s\n", strerror(-r));
	sim_disconnect(c);
	return r < 0;
}

/* simd with so many rigs. */
static int measure(struct shards *s, unsigned rigs, double *ret_us)
{
	char text[RIGS * 128];
	int n = 0;

	for (unsigned i = 0; i < rigs; i++)
		n += snprintf(
			text + n, sizeof(text) - (size_t)n,
			"%s{\"name\":\"r%u\",\"prefix\":\"/r%u\",\"bridges\":[{\"name\":\"null%u\",\"plugin\":\"null\"}]}",
			i ? "," : "", i, i, i);
	s->rigs = rigs;
	if (bench_simd(s->b, text) < 0 || bench_wait(bench_fork(producer_main, s)))
		return -1;
	*ret_us = s->cpu_ns / 1e3;
	return 0;
}

static int run_shards(struct bench *b)
{
	struct shards *s = bench_arena(sizeof(*s));
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 7);
	int r = 0;

	s->b = b;
	s->count = b->smoke ? 200 : 20000;
	for (unsigned i = 0; r == 0 && i < n; i++) {
		r = measure(s, 1, &pairs[i].reference);
		if (r == 0)
			r = measure(s, RIGS, &pairs[i].ours);
	}
	if (r == 0)
		bench_report(b, "dispatch_shards", "us", "one rig, same rate", BENCH_COST, pairs, n, 1.15);
	bench_arena_free(s, sizeof(*s));
	return r;
}

const struct bench_case bench_shards = { "shards", run_shards, "dispatch_shards" };
