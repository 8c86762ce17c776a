/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_step: an empty step of lock-step over two machines, one participant on each, as the driver on the time host sees
 * it, against a ping-pong of plain Cyclone over the same network and eight futex hops between processes placed alike.
 * link_step_8: the same over eight machines against two. Machine i is on CPU i, as far as there are so many; between
 * them is a bridge of the kernel.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <sim/sim.h>

#include "chain.h"
#include "machines.h"
#include "pings.h"

#define HANDOVERS  8
#define STEP_NS    1000000
#define READY_MS   30000
#define STEPS_MAX  5000u
#define STEPS_WARM 20u

enum want { WANT_NOTHING, WANT_STEPS, WANT_PLAIN, WANT_END };

struct arena {
	struct bench_pair pair[BENCH_PAIRS_MAX];
	struct chain chain;
	unsigned n, count;
	_Atomic uint32_t joined, far, plain; /* participants; the far plain program; pings that have come back */
	/* what the driver is asked for */
	_Atomic uint32_t command, done; /* numbers */
	enum want want;
	int result;
	double step_ns, plain_ns, hops_ns;
	double sample[STEPS_MAX];
};

struct role {
	const struct rig *rig;
	struct arena *a;
};

/* ---- on each machine ---- */

static int participant_main(void *arg)
{
	const struct role *x = arg;
	const struct sim_client_options o = { .size = sizeof(o), .name = "part" };
	struct sim_step_turn turn;
	struct sim_client *c;
	struct sim_step *s;
	int r = sim_connect(&o, &c);

	r = r < 0 ? r : sim_step_join(c, 0, &s);
	if (r < 0) {
		fprintf(stderr, "bench: participant: %s\n", sim_why());
		return 1;
	}
	atomic_fetch_add(&x->a->joined, 1);
	while ((r = sim_step_wait(s, -1, &turn)) == 0 && (r = sim_step_done(s)) == 0)
		continue;
	return r < 0;
}

static int far_main(void *arg)
{
	const struct role *x = arg;

	if (pings_plain_open(rig_participant(x->rig, 1), true, &x->a->plain) < 0)
		return 1;
	pings_tell(&x->a->far, 1);
	for (;;)
		pause();
}

/* ---- the driver ---- */

static int steps(struct arena *a, struct sim_driver *d)
{
	for (unsigned i = 0; i < STEPS_WARM + a->count; i++) {
		int64_t start_mono_ns = mono_now_ns(), granted;
		int r = sim_driver_advance(d, STEP_NS, &granted);

		if (r < 0)
			return r;
		if (i >= STEPS_WARM)
			a->sample[i - STEPS_WARM] = (double)(mono_now_ns() - start_mono_ns);
	}
	a->step_ns = bench_median(a->sample, a->count);
	return 0;
}

static int reference(struct arena *a, uint32_t *n)
{
	double half_ns;
	int r = pings_plain_run(&a->plain, n, a->count, &a->plain_ns);

	for (unsigned i = 0; i < a->count; i++)
		chain_round(&a->chain, &half_ns, &a->sample[i]);
	a->hops_ns = bench_median(a->sample, a->count) * HANDOVERS / CHAIN_HOPS;
	return r;
}

static int obey(struct arena *a, struct sim_driver *d)
{
	enum want want = WANT_NOTHING;
	uint32_t pings = 0;
	int r = pings_meet(pings_plain_write, &a->plain, &pings);

	pings_tell(&a->done, 1);
	for (uint32_t n = 1; r == 0 && want != WANT_END; n++) {
		r = pings_await(&a->command, n, 300 * NS_PER_S);
		want = a->want;
		if (r == 0 && want == WANT_STEPS)
			r = steps(a, d);
		else if (r == 0 && want == WANT_PLAIN)
			r = reference(a, &pings);
		a->result = r;
		pings_tell(&a->done, n + 1);
	}
	return r;
}

static int driver_main(void *arg)
{
	const struct role *x = arg;
	const struct sim_client_options o = { .size = sizeof(o), .name = "driver" };
	struct sim_driver *d;
	struct sim_client *c;
	int r = sim_connect(&o, &c);

	r = r < 0 ? r : sim_driver_acquire(c, 0, &d);
	if (r < 0)
		fprintf(stderr, "bench: driver: %s\n", sim_why());
	chain_start_on(&x->a->chain, 0, 0);
	r = r < 0 ? r : pings_plain_open(rig_participant(x->rig, 0), false, &x->a->plain);
	r = r < 0 ? r : obey(x->a, d);
	if (r < 0)
		fprintf(stderr, "bench: driver: %s: %s\n", strerror(-r), sim_why());
	chain_stop(&x->a->chain);
	return r < 0;
}

static int ask(struct arena *a, enum want want)
{
	uint32_t n = atomic_load(&a->command) + 1;
	int r;

	a->want = want;
	pings_tell(&a->command, n);
	r = pings_await(&a->done, n + 1, 120 * NS_PER_S);
	return r < 0 ? r : a->result;
}

/* ---- machines ---- */

struct crew {
	struct role role;
	pid_t driver, far, part[MACHINES_MAX];
};

static int join(struct rig *r, struct crew *w, unsigned i)
{
	uint32_t joined = atomic_load(&w->role.a->joined);
	char text[64];

	rig_start(r, i, true, i ? "link" : "unity",
		  i ? ",\"time\":\"follow\"" : ",\"time\":\"give\",\"lockstep\":true");
	w->part[i] = rig_fork(r, i, participant_main, &w->role);
	BENCH_UNTIL(READY_MS / 1000, atomic_load(&w->role.a->joined) > joined);
	snprintf(text, sizeof(text), "machine %c takes part\n", (char)('a' + i));
	if (i)
		BENCH_UNTIL(READY_MS / 1000, machine_logged(&r->m[0], text));
	return 0;
}

static void leave(struct rig *r, struct crew *w, unsigned i)
{
	kill(w->part[i], SIGKILL);
	bench_wait(w->part[i]);
	machine_simd_stop(&r->m[i]); /* its link says so to the time host, which would wait for it else */
}

static int begin(struct rig *r, struct crew *w)
{
	int e = join(r, w, 0);

	w->far = rig_fork(r, 1, far_main, &w->role);
	e = e < 0 ? e : pings_await(&w->role.a->far, 1, 20 * NS_PER_S);
	w->driver = rig_fork(r, 0, driver_main, &w->role);
	e = e < 0 ? e : pings_await(&w->role.a->done, 1, 30 * NS_PER_S);
	return e < 0 ? e : join(r, w, 1);
}

static int measure_two(struct rig *r)
{
	struct crew w = { .role = { r, r->arg } };
	struct arena *a = r->arg;
	int e = begin(r, &w);

	for (unsigned i = 0; i < a->n && e == 0; i++) {
		for (unsigned k = 0; k < 2 && e == 0; k++)
			e = ask(a, (i + k) % 2 ? WANT_PLAIN : WANT_STEPS);
		a->pair[i] = (struct bench_pair){ a->step_ns / 1e3, (a->plain_ns + a->hops_ns) / 1e3 };
		if (e == 0)
			printf("  step %.1f us; plain %.1f us, eight hops %.1f us\n", a->step_ns / 1e3,
			       a->plain_ns / 1e3, a->hops_ns / 1e3);
	}
	return e < 0 ? e : ask(a, WANT_END);
}

/* Those that make eight of two come and go in each repetition. */
static int measure_eight(struct rig *r)
{
	struct crew w = { .role = { r, r->arg } };
	struct arena *a = r->arg;
	int e = begin(r, &w);

	for (unsigned i = 0; i < a->n && e == 0; i++) {
		e = ask(a, WANT_STEPS);
		a->pair[i].reference = a->step_ns / 1e3;
		for (unsigned k = 2; k < r->n && e == 0; k++)
			e = join(r, &w, k);
		e = e < 0 ? e : ask(a, WANT_STEPS);
		a->pair[i].ours = a->step_ns / 1e3;
		if (e == 0)
			printf("  eight machines %.1f us, two %.1f us\n", a->pair[i].ours, a->pair[i].reference);
		for (unsigned k = 2; k < r->n && i + 1 < a->n && e == 0; k++)
			leave(r, &w, k);
	}
	return e < 0 ? e : ask(a, WANT_END);
}

static int run_link_step(struct bench *b)
{
	struct arena *a = bench_arena(sizeof(*a));
	unsigned n = bench_runs(b, 9);
	int r;

	a->n = n;
	a->count = b->smoke ? 20 : 2000;
	r = rig_run(b, 2, measure_two, a);
	if (r == 0)
		bench_report(b, "link_step", "us", "Cyclone ping-pong + eight hops", BENCH_COST, a->pair, n, 1.5);
	bench_arena_free(a, sizeof(*a));
	return r < 0 ? r : 0;
}

static int run_link_step_8(struct bench *b)
{
	struct arena *a = bench_arena(sizeof(*a));
	unsigned n = bench_runs(b, 5);
	int r;

	a->n = n;
	a->count = b->smoke ? 20 : 1000;
	r = rig_run(b, MACHINES_MAX, measure_eight, a);
	if (r == 0)
		bench_report(b, "link_step_8", "us", "two machines", BENCH_COST, a->pair, n, 2);
	bench_arena_free(a, sizeof(*a));
	return r < 0 ? r : 0;
}

const struct bench_case bench_link_step = { "link_step", run_link_step, NULL };
const struct bench_case bench_link_step_8 = { "link_step_8", run_link_step_8, NULL };
