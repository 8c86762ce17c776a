/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishers that die in the middle of a push into a local subscriber's queue, each taking an index of it: an innocent one
 * goes on, RouDi stays, and soon the queue is as long as it was. See tests/system/ipc/test_deaths.c for what iceoryx does.
 */
#include "ipc_fault.h"
#include "peer.h"
#include "stack.h"

#define DEPTH 4
#define CONF  "\"TimeSource\":\"system\"," STACK_POOLS

/* Takes what lies there, as often as it is told to, and answers how many that was. */
static int reader(struct peer *p)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = DEPTH };
	struct sim_client *c = peer_connect(p, "reader");
	const struct sim_message *m;
	struct sim_subscriber *s;
	int done = 0, n;

	PEER(p, sim_subscribe(c, "/p/d", NULL, &so, &s) == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		PEER_AWAIT(p, atomic_load(&p->stop) || atomic_load(&p->command) != done);
		for (n = 0; sim_take(s, &m) == 0; n++)
			sim_release(s, m);
		atomic_store(&p->result, n);
		done = atomic_load(&p->command);
		atomic_store(&p->received, (uint64_t)done);
	}
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	return 0;
}

static struct sim_publisher *local(struct peer *p, const char *name)
{
	struct sim_publisher *pub = peer_advertise(p, peer_connect(p, name), "/p/d", 64, SIM_PUB_LOCAL);

	AWAIT(sim_publisher_has_subscribers(pub));
	return pub;
}

static void publish(struct peer *p, struct sim_publisher *pub)
{
	struct sim_slot *slot;

	PEER(p, sim_loan(pub, 64, &slot) == 0);
	PEER(p, sim_publish_local(pub, slot) == 0);
}

static int victim(struct peer *p)
{
	struct sim_publisher *pub;

	PEER(p, ipc_fault_at("push:1 4"));
	pub = local(p, "victim");
	for (;;) /* the port that replaces one without an index left may not be connected yet */
		publish(p, pub);
}

/* More than the queue takes, as often as it is told to. */
static int innocent(struct peer *p)
{
	struct sim_publisher *pub = local(p, "innocent");
	int done = 0;

	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		PEER_AWAIT(p, atomic_load(&p->stop) || atomic_load(&p->command) != done);
		for (int i = 0; i < 2 * DEPTH; i++)
			publish(p, pub);
		done = atomic_load(&p->command);
		atomic_store(&p->received, (uint64_t)done);
	}
	return 0;
}

static int order(struct peer *p)
{
	int n = atomic_load(&p->command) + 1;

	peer_tell(p, n);
	UNTIL(10000, atomic_load(&p->received) == (uint64_t)n);
	return atomic_load(&p->result);
}

TEST_WITH(killed_in_a_push, NULL, stack_sweep)
{
	pid_t simd = stack_start(CONF), r_pid, i_pid;
	struct peer *r = peer_new(), *i = peer_new();
	uint32_t life = stack_life();

	r_pid = peer_fork(r, reader);
	UNTIL(10000, r->ready);
	i_pid = peer_fork(i, innocent);
	UNTIL(10000, i->ready);
	for (unsigned k = 0; k < 2 * DEPTH; k++) {
		struct peer *v = peer_new();

		UNTIL(10000, (order(i), order(r)) > 0); /* none is left: only until the next renewal */
		assert_int_equal(stack_wait(peer_fork(v, victim), 20000), SIGKILL);
		peer_free(v);
		order(i); /* does not wait for a lost index */
	}
	UNTIL(10000, (order(i), order(r)) == DEPTH);
	assert_int_equal(stack_life(), life);
	peer_join(r, r_pid);
	peer_join(i, i_pid);
	peer_free(r);
	peer_free(i);
	stack_stop(simd);
}

TEST_GROUP(NULL, NULL)
