/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol of clients and dispatch on the dispatch page, in every order of their steps: the channels' bits and the
 * doorbell (rung, awake, turns, deferred) and the wait for a credit (cells, waiters, freed). The sources are the real
 * ones; every switch of sides between two of their atomic operations is tried, with immediate stores and with delayed
 * stores (weave.h). A message that is never looked for, or a producer that is never woken, is a failure; the test
 * prints the order.
 */
#include "scenario/client/imu.h"

#include <errno.h>

#include "registry/simd.h"
#include "libclient/src/publisher.h"
#include "rnd.h"
#include "scenario/client/weave.h"

#define RANDOM_PLANS 1500
#define PUBLISHED    4  /* at most, in one try */
#define DEFERRED     16 /* deliveries that keep a bridge busy */

/* Linked with --wrap: what both sides do with a channel's queue is a step too. */
__typeof__(ipc_take) __real_ipc_take, __wrap_ipc_take;
__typeof__(ipc_sub_has_data) __real_ipc_sub_has_data, __wrap_ipc_sub_has_data;
__typeof__(ipc_publish) __real_ipc_publish, __wrap_ipc_publish;

static struct world w;

struct fixture {
	struct sim_client *c;
	struct sim_publisher *p;
	struct bridge_peer b;
	struct sim_slot *loan[PUBLISHED]; /* made before: the sides only publish */
	unsigned n;
	int refused;
	struct outcome done;
};

static struct fixture rig;

int __wrap_ipc_take(struct ipc_sub *sub, const void **ret, size_t *ret_size)
{
	weave_point();
	return __real_ipc_take(sub, ret, ret_size);
}

bool __wrap_ipc_sub_has_data(const struct ipc_sub *sub)
{
	weave_point();
	return __real_ipc_sub_has_data(sub);
}

static void publish_now(void *pub, void *slot)
{
	assert_int_equal(__real_ipc_publish(pub, slot), 0);
}

/* A store like any other: the slot may become visible after the next read. */
int __wrap_ipc_publish(struct ipc_pub *pub, void *slot)
{
	weave_defer(publish_now, pub, slot);
	return 0;
}

/* ---- the two sides ---- */

static void producer(void *arg)
{
	const struct client_env *env = rig.c->env;

	(void)arg;
	rig.c->env = NULL; /* real waits, which the weaver sees */
	for (unsigned i = 0; i < rig.n; i++)
		if (sim_try_queue(rig.p, rig.loan[i], NULL, on_done, &rig.done) < 0)
			rig.refused++;
	rig.c->env = env;
}

static void daemon_side(void *arg)
{
	(void)arg;
	for (;;) {
		if (exec_sim_one(w.x))
			continue;
		if (!weave_idle())
			return;
	}
}

static const struct weave_side sides[2] = { { producer, NULL }, { daemon_side, NULL } };

static struct weave_result run(const struct weave_plan *plan, unsigned n)
{
	rig.n = n;
	rig.refused = 0;
	for (unsigned i = 0; i < n; i++)
		rig.loan[i] = imu_loan(rig.p);
	return weave_run(sides, plan);
}

static _Noreturn void bad_order(const struct weave_plan *p, const char *what)
{
	fail_msg("%s; first %s, runs %u %u %u %u of %u, stores %s", what, p->first ? "daemon" : "client", p->run[0],
		 p->run[1], p->run[2], p->run[3], p->n, p->lazy ? "held back" : "at once");
	abort();
}

/* ---- orders ---- */

typedef struct weave_result (*try_fn)(const struct weave_plan *plan);

/* Every place for a first switch, and for each every place for a second one. */
static void two_switches(try_fn try, struct weave_plan *plan)
{
	struct weave_result r;

	plan->n = 2;
	plan->run[0] = 0;
	do {
		plan->run[1] = 1;
		do {
			r = try(plan);
			plan->run[1]++;
		} while (r.switches == 2);
		plan->run[0]++;
	} while (r.switches > 0);
}

static void random_switches(try_fn try, struct weave_plan *plan, struct rnd *rnd, unsigned steps)
{
	plan->n = 3 + rnd_below(rnd, 2);
	plan->first = rnd_below(rnd, 2);
	plan->lazy = rnd_below(rnd, 2);
	for (unsigned i = 0; i < plan->n; i++)
		plan->run[i] = rnd_below(rnd, steps);
	try(plan);
}

static void every_order(try_fn try)
{
	struct weave_plan plan = { 0 };
	struct rnd rnd;

	rnd_seed(&rnd, test_seed(7));
	for (unsigned i = 0; i < 4; i++) {
		plan.first = i & 1;
		plan.lazy = i & 2;
		two_switches(try, &plan);
	}
	for (unsigned i = 0; i < RANDOM_PLANS; i++)
		random_switches(try, &plan, &rnd, 40);
}

/* ---- the doorbell ---- */

/* Completed without time having passed: the house keeping, a second later, would find anything. */
static void all_completed(const struct weave_plan *plan, unsigned n)
{
	if (rig.refused)
		bad_order(plan, "a message was refused");
	exec_sim_settle(w.x);
	while (sim_process(rig.c) > 0)
		;
	if (rig.done.calls != n)
		bad_order(plan, "a message lies there, and dispatch sleeps");
	rig.done = (struct outcome){ 0 };
}

/* Dispatch sleeps; the client publishes twice. */
static struct weave_result try_sleeping(const struct weave_plan *plan)
{
	struct weave_result r = run(plan, 2);

	all_completed(plan, 2);
	return r;
}

/* The bell has been rung, for the message before. */
static struct weave_result try_rung(const struct weave_plan *plan)
{
	struct weave_result r;

	assert_int_equal(sim_try_queue(rig.p, imu_loan(rig.p), NULL, on_done, &rig.done), 0);
	r = run(plan, 2);
	all_completed(plan, 3);
	return r;
}

/* A client died after setting the channel's bit, and rang no bell for it. */
static struct weave_result try_marked(const struct weave_plan *plan)
{
	struct weave_result r;

	wire_rung_set(rig.p->reg->rung, rig.p->reg->rung_bit);
	r = run(plan, 2);
	all_completed(plan, 2);
	return r;
}

/* Without time passing: a deferred channel is looked at after a moment in any case. */
static unsigned answer_all(void)
{
	unsigned n = 0;

	for (exec_sim_settle(w.x); bridge_next(&rig.b, 0); exec_sim_settle(w.x)) {
		n += rig.b.p.count;
		bridge_answer(&rig.b, 0);
	}
	return n;
}

/* Its bridge was busy, so the channel is deferred; it has answered, which dispatch has yet to read. */
static struct weave_result try_deferred(const struct weave_plan *plan)
{
	struct weave_result r;
	unsigned got = 0;

	for (unsigned i = 0; i < DEFERRED; i++)
		assert_int_equal(sim_try_queue(rig.p, imu_loan(rig.p), NULL, on_done, &rig.done), 0);
	exec_sim_settle(w.x);
	assert_int_equal(atomic_load(&rig.p->reg->info->deferred), 1);
	while (got < DEFERRED) {
		got += bridge_next(&rig.b, 0);
		bridge_answer(&rig.b, 0);
	}
	r = run(plan, 2);
	if (answer_all() != 2)
		bad_order(plan, "a message of a deferred channel lies there");
	all_completed(plan, DEFERRED + 2);
	return r;
}

static int setup(void **state)
{
	(void)state;
	memset(&rig, 0, sizeof(rig));
	world_create(&w, test_seed(5), ", \"dispatch\": {\"wait_ms\": 60000}");
	rig.c = world_client(&w, "sensor", 0);
	weave_watch(0, rig.c->session->dispatch, w.simd->dispatch_page, sizeof(*w.simd->dispatch_page));
	weave_watch(1, rig.c->session->layout, w.simd->layout_page, sizeof(*w.simd->layout_page));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_disconnect(rig.c);
	world_destroy(&w);
	return 0;
}

TEST_WITH(a_doorbell_is_never_lost, setup, teardown)
{
	rig.p = imu_advertise(rig.c, "alone", 0);
	every_order(try_sleeping);
	every_order(try_rung);
	every_order(try_marked);
	sim_publisher_destroy(rig.p);
}

TEST_WITH(a_deferred_channel_is_never_lost, setup, teardown)
{
	bridge_start(&w, &rig.b);
	bridge_connected(&w, &rig.b);
	rig.p = imu_advertise(rig.c, "many", 0);
	assert_int_equal(sim_try_queue(rig.p, imu_loan(rig.p), NULL, on_done, &rig.done), 0);
	assert_int_equal(answer_all(), 1);
	exec_sim_settle(w.x);
	sim_process(rig.c);
	rig.done = (struct outcome){ 0 };
	every_order(try_deferred);
	sim_publisher_destroy(rig.p);
	bridge_end(&rig.b);
}

/* ---- credits ---- */

static void done(uint64_t id)
{
	struct sim_lane_result r = { .id = id };

	assert_int_equal(sim_lane_done(rig.b.lane, &r, 1), 0);
}

/* The window (2) is full, and the bridge has answered for one of both, which dispatch has yet to read. */
static struct weave_result try_waiting(const struct weave_plan *plan)
{
	struct weave_result r;
	uint64_t id[2];

	for (unsigned n = 0; n < 2; n++) {
		assert_int_equal(sim_try_queue(rig.p, imu_loan(rig.p), NULL, on_done, &rig.done), 0);
		exec_sim_settle(w.x);
		assert_int_equal(bridge_next(&rig.b, 0), 1);
		id[n] = rig.b.p.deliveries[0].id;
	}
	done(id[0]);
	r = run(plan, 1);
	if (r.lost_wake)
		bad_order(plan, "a credit is free, and the producer sleeps");
	exec_sim_settle(w.x);
	assert_int_equal(bridge_next(&rig.b, 0), 1);
	done(rig.b.p.deliveries[0].id);
	done(id[1]);
	all_completed(plan, 3);
	return r;
}

TEST_WITH(a_credit_is_never_lost, setup, teardown)
{
	bridge_start(&w, &rig.b);
	bridge_connected(&w, &rig.b);
	rig.p = imu_advertise(rig.c, "two", 0);
	every_order(try_waiting);
	sim_publisher_destroy(rig.p);
	bridge_end(&rig.b);
}
