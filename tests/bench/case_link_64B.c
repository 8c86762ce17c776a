/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_64B: a message of 64 bytes from a client on one machine to one on another, and back: client, simd, simbridge with the link, network,
 * simbridge with the link, client. Against a ping-pong of two plain Cyclone programs over the same network, and six futex hops between
 * processes that are placed as those are, as each way is handed over three times beside the network. Machine a is on CPU 0, b on
 * CPU 1; between them is a bridge of the kernel.
 */
#include <stdio.h>
#include <string.h>

#include <sim/msg/Ultrasonic.h>
#include <sim/sim.h>

#include "chain.h"
#include "machines.h"
#include "pings.h"

#define BODY      64u
#define HANDOVERS 6
#define MEET_MS   20000
#define PONG_NS   (10 * NS_PER_S)

struct arena {
	struct bench_pair pair[BENCH_PAIRS_MAX];
	struct chain chain;
	_Atomic uint32_t ready, quit, plain; /* plain: pings that have come back */
	unsigned n, count;
	double sample[PINGS_MAX];
};

struct role {
	const struct rig *rig;
	struct arena *a;
};

/* ---- a client at either end ---- */

struct end {
	struct sim_client *client;
	struct sim_publisher *out;
	struct sim_subscriber *in;
};

static int open_end(struct end *e, bool far)
{
	const struct sim_client_options o = { .size = sizeof(o), .name = far ? "far" : "near" };
	const struct sim_publisher_options p = { .size = sizeof(p), .max_body = BODY };
	const struct sim_subscriber_options s = { .size = sizeof(s), .depth = 16 };
	int r = sim_connect(&o, &e->client);

	if (r == 0)
		r = sim_advertise(e->client, far ? "/pong" : "/ping", &sim_Ultrasonic_type, &p, &e->out);
	if (r == 0)
		r = sim_subscribe(e->client, far ? "/ping" : "/pong", &sim_Ultrasonic_type, &s, &e->in);
	if (r < 0)
		fprintf(stderr, "bench: %s: %s\n", o.name, sim_why());
	return r;
}

static int write_ours(struct end *e, int64_t n)
{
	struct sim_slot *slot;
	int r = sim_loan(e->out, BODY, &slot);

	if (r < 0)
		return r;
	memset(sim_slot_body_mut(slot), 0, BODY);
	slot->stamp_sim_ns = n;
	return sim_try_queue(e->out, slot, NULL, NULL, NULL);
}

/* The number of the next one; -ETIMEDOUT. */
static int64_t read_ours(struct end *e, int64_t dur_ns)
{
	int64_t end_mono_ns = mono_now_ns() + dur_ns, n;
	const struct sim_message *m;
	int r;

	while ((r = sim_take(e->in, &m)) == -EAGAIN && mono_now_ns() < end_mono_ns)
		(void)!sim_wait(e->in, dur_ns);
	if (r < 0)
		return r == -EAGAIN ? -ETIMEDOUT : r;
	n = m->header.stamp_sim_ns;
	r = sim_release(e->in, m);
	return r < 0 ? r : n;
}

/* ---- far ---- */

static int far_main(void *arg)
{
	const struct role *x = arg;
	struct arena *a = x->a;
	struct end e;

	if (open_end(&e, true) < 0 || pings_plain_open(rig_participant(x->rig, 1), true, &a->plain) < 0)
		return 1;
	pings_tell(&a->ready, 1);
	while (!atomic_load(&a->quit)) {
		int64_t n = read_ours(&e, NS_PER_S / 10);

		if (n > 0 && write_ours(&e, n) < 0)
			fprintf(stderr, "bench: pong: %s\n", sim_why());
	}
	return 0;
}

/* ---- near ---- */

static int pings_ours(struct arena *a, struct end *e, int64_t *n, double *ret_ns)
{
	for (unsigned i = 0; i < a->count; i++) {
		int64_t start_mono_ns = mono_now_ns(), got;
		int r = write_ours(e, ++*n);

		while (r == 0 && (got = read_ours(e, PONG_NS)) != *n)
			r = got < 0 ? (int)got : 0;
		if (r < 0) {
			fprintf(stderr, "bench: ping %lld: %s: %s\n", (long long)*n, strerror(-r), sim_why());
			return r;
		}
		a->sample[i] = (double)(mono_now_ns() - start_mono_ns);
	}
	*ret_ns = bench_median(a->sample, a->count);
	return 0;
}

/* Until a message comes back. Messages lost meanwhile are not waited for. */
static int meet_ours(struct end *e, int64_t *n)
{
	for (unsigned i = 0; i < MEET_MS / 20; i++)
		if (write_ours(e, ++*n) == 0 && read_ours(e, 20 * NS_PER_MS) > 0)
			return 0;
	return -ETIMEDOUT;
}

static double hops(struct arena *a)
{
	double half_ns;

	for (unsigned i = 0; i < a->count; i++)
		chain_round(&a->chain, &half_ns, &a->sample[i]);
	return bench_median(a->sample, a->count) * HANDOVERS / CHAIN_HOPS;
}

static int pair(struct arena *a, struct end *e, unsigned i, int64_t *ours, uint32_t *bare)
{
	double ours_ns = 0, plain_ns = 0, hops_ns;
	int r = 0;

	for (unsigned k = 0; k < 2 && r == 0; k++)
		r = (i + k) % 2 ? pings_plain_run(&a->plain, bare, a->count, &plain_ns)
				: pings_ours(a, e, ours, &ours_ns);
	hops_ns = hops(a);
	a->pair[i] = (struct bench_pair){ ours_ns / 1e3, (plain_ns + hops_ns) / 1e3 };
	if (r == 0)
		printf("  %.1f us; plain %.1f us, six hops %.1f us\n", ours_ns / 1e3, plain_ns / 1e3, hops_ns / 1e3);
	return r;
}

static int near_main(void *arg)
{
	const struct role *x = arg;
	struct arena *a = x->a;
	struct end e;
	int64_t ours = 0;
	uint32_t bare = 0;
	int r = open_end(&e, false);

	r = r < 0 ? r : pings_plain_open(rig_participant(x->rig, 0), false, &a->plain);
	r = r < 0 ? r : meet_ours(&e, &ours);
	r = r < 0 ? r : pings_meet(pings_plain_write, &a->plain, &bare);
	if (r < 0)
		fprintf(stderr, "bench: no pong: %s\n", strerror(-r));
	chain_start_on(&a->chain, 0, 0);
	for (unsigned i = 0; i < a->n && r == 0; i++)
		r = pair(a, &e, i, &ours, &bare);
	chain_stop(&a->chain);
	fflush(NULL);
	return r < 0;
}

static int measure(struct rig *r)
{
	struct role x = { r, r->arg };
	pid_t far;
	int e;

	for (unsigned i = 0; i < 2; i++)
		rig_start(r, i, true, "simulation", "");
	far = rig_fork(r, 1, far_main, &x);
	e = pings_await(&x.a->ready, 1, 20 * NS_PER_S);
	if (e == 0 && bench_wait(rig_fork(r, 0, near_main, &x)) != 0)
		e = -EIO;
	atomic_store(&x.a->quit, 1);
	bench_wait(far);
	return e;
}

static int run_link_64B(struct bench *b)
{
	struct arena *a = bench_arena(sizeof(*a));
	int r;

	a->n = bench_runs(b, 9);
	a->count = b->smoke ? 20 : 2000;
	r = rig_run(b, 2, measure, a);
	if (r == 0)
		bench_report(b, "link_64B", "us", "Cyclone ping-pong + six hops", BENCH_COST, a->pair, a->n, 1.3);
	bench_arena_free(a, sizeof(*a));
	return r < 0 ? r : 0;
}

const struct bench_case bench_link_64B = { "link_64B", run_link_64B, NULL };
