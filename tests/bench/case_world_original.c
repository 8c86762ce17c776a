/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-world --compat tr2016 as it starts without more options, with clients as TR-2016-06 had them (world_peers.h): the server on CPU 0, clients on CPU 1.
 *   world_pair   positions of the other one that each of two sees in a second, of 1000 that are sent, against 571, the least that the original was seen to carry
 *   world_ten    of ten the same, against a bare server with a thread for each
 *   world_age    of two, from an update's sending to its being seen, against the bare server, or 3.33 ms where that is faster
 */
#include "timeutil.h"
#include "world_peers.h"
#include "world_server.h"

#define ORIGINAL_LEAST 571.0
#define AGE_FINE_US    (5000 / 1.5)

struct carried {
	double positions_per_s, age_us; /* of each, of each of the others */
};

static int measure_carried(struct peers *p, int64_t dur_ns, struct carried *ret)
{
	pid_t pid = bench_fork(peers_clients, p);
	static double ages[AGES_MAX];
	const unsigned ways = p->clients * (p->clients - 1);
	uint64_t seen;
	int64_t begin;
	unsigned n;

	BENCH_UNTIL(60, atomic_load(&p->seen) >= 20ull * ways);
	atomic_store(&p->window, true);
	seen = atomic_load(&p->seen);
	begin = mono_now_ns();
	mono_sleep_until(begin + dur_ns);
	seen = atomic_load(&p->seen) - seen;
	ret->positions_per_s = (double)seen / ways / ((double)(mono_now_ns() - begin) / 1e9);
	n = atomic_load(&p->n_ages);
	n = n < AGES_MAX ? n : AGES_MAX;
	for (unsigned i = 0; i < n; i++)
		ages[i] = p->ages_us[i];
	ret->age_us = n ? bench_median(ages, n) : 1e9;
	world_end(pid);
	return 0;
}

static void reset(struct peers *p, unsigned clients)
{
	p->clients = clients;
	atomic_store(&p->port, 0);
	atomic_store(&p->sent, 0);
	atomic_store(&p->seen, 0);
	atomic_store(&p->n_ages, 0);
	atomic_store(&p->window, false);
}

static int measure_ours(struct bench *b, struct peers *p, unsigned clients, int64_t dur_ns, struct carried *ret)
{
	struct world_server s = { .pid = 0 };
	int r = world_server_start_old(b, &s);

	reset(p, clients);
	atomic_store(&p->port, s.port);
	if (r == 0)
		r = measure_carried(p, dur_ns, ret);
	world_server_stop(&s);
	return r;
}

static int measure_bare(struct peers *p, unsigned clients, int64_t dur_ns, struct carried *ret)
{
	pid_t pid;
	int r;

	reset(p, clients);
	pid = bench_fork(peers_server, p);
	BENCH_UNTIL(20, atomic_load(&p->port));
	r = measure_carried(p, dur_ns, ret);
	world_end(pid);
	return r;
}

static int measure_both(struct bench *b, struct peers *p, unsigned clients, struct carried *ret_ours,
			struct carried *ret_bare)
{
	int64_t dur = b->smoke ? 200 * NS_PER_MS : 3 * NS_PER_S;
	int r = measure_ours(b, p, clients, dur, ret_ours);

	return r < 0 ? r : measure_bare(p, clients, dur, ret_bare);
}

static int run_world_original(struct bench *b)
{
	struct peers *p = bench_arena(sizeof(*p));
	struct bench_pair pair[BENCH_PAIRS_MAX], ten[BENCH_PAIRS_MAX], age[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 5);
	struct carried ours, bare;
	int r = 0;

	for (unsigned i = 0; i < n && r == 0; i++) {
		r = measure_both(b, p, 2, &ours, &bare);
		pair[i] = (struct bench_pair){ .ours = ours.positions_per_s, .reference = ORIGINAL_LEAST };
		age[i] = (struct bench_pair){ .ours = ours.age_us,
					      .reference = bare.age_us > AGE_FINE_US ? bare.age_us : AGE_FINE_US };
		if (r == 0)
			r = measure_both(b, p, 10, &ours, &bare);
		ten[i] = (struct bench_pair){ .ours = ours.positions_per_s, .reference = bare.positions_per_s };
	}
	if (r == 0) {
		bench_report(b, "world_pair", "positions/s", "the least of the original", BENCH_RATE, pair, n, 1);
		bench_report(b, "world_age", "us", "a bare server, or 3.3 ms", BENCH_COST, age, n, 1.5);
		bench_report(b, "world_ten", "positions/s", "a bare server", BENCH_RATE, ten, n, 1);
	}
	bench_arena_free(p, sizeof(*p));
	return r;
}

const struct bench_case bench_world_original = { "world_original", run_world_original,
						 "world_pair world_ten world_age" };
