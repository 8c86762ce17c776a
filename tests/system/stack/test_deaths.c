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

/* Takes the waiting messages, as often as requested, and answers with their number. */
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
	AWAIT(atomic_load(&p->received) == (uint64_t)n);
	return atomic_load(&p->result);
}

TEST_WITH(a_publisher_killed_while_pushing_blocks_no_other, NULL, stack_sweep)
{
	pid_t simd = stack_start(CONF), r_pid, i_pid;
	struct peer *r = peer_new(), *i = peer_new();
	uint32_t life = stack_life();

	r_pid = peer_fork(r, reader);
	AWAIT(r->ready);
	i_pid = peer_fork(i, innocent);
	AWAIT(i->ready);
	for (unsigned k = 0; k < 2 * DEPTH; k++) {
		struct peer *v = peer_new();

		AWAIT((order(i), order(r)) > 0); /* none is left: only until the next renewal */
		assert_int_equal(stack_wait(peer_fork(v, victim)), SIGKILL);
		peer_free(v);
		order(i); /* does not wait for a lost index */
	}
	AWAIT((order(i), order(r)) == DEPTH);
	assert_int_equal(stack_life(), life);
	peer_join(r, r_pid);
	peer_join(i, i_pid);
	peer_free(r);
	peer_free(i);
	stack_stop(simd);
}

static void on_done(void *user, bool ok, enum sim_reason reason)
{
	struct peer *p = user;

	(void)ok;
	atomic_fetch_add(&p->reasons[reason], 1);
	atomic_fetch_add(&p->called, 1);
}

/* iceoryx's header of a slot: its distance stands in the word before the slot, the offset of the payload 36 bytes into it. */
static char *chunk_of(struct sim_slot *slot)
{
	uint32_t back;

	memcpy(&back, (char *)slot - sizeof(back), sizeof(back));
	return (char *)slot - back;
}

/* One whose word is not that offset itself, as it is where slot and header touch: the publisher would not find the chunk. */
static struct sim_slot *loan_apart(struct peer *p, struct sim_publisher *pub)
{
	struct sim_slot *slot[2];
	bool touches;

	PEER(p, sim_loan(pub, 64, &slot[0]) == 0);
	PEER(p, sim_loan(pub, 64, &slot[1]) == 0);
	touches = chunk_of(slot[0]) + 40 == (char *)slot[0];
	PEER(p, sim_unloan(pub, slot[!touches]) == 0);
	return slot[touches];
}

/* The second of three messages gets iceoryx's header before it destroyed, as if the slot before had been overrun. */
static int overrun(struct peer *p)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 8 };
	struct sim_client *c = peer_connect(p, "overrun");
	struct sim_subscriber_stats st;
	const struct sim_message *m;
	struct sim_subscriber *s;
	struct sim_publisher *pub;
	uint32_t far = 0x7ffffff0;

	PEER(p, sim_subscribe(c, "/t/o", NULL, &so, &s) == 0);
	pub = peer_advertise(p, c, "/t/o", 64, 0);
	for (int i = 0; i < 3; i++) {
		struct sim_slot *slot = loan_apart(p, pub);

		if (i == 1)
			memcpy(chunk_of(slot) + 36, &far, sizeof(far));
		PEER(p, sim_try_queue(pub, slot, NULL, on_done, p) == 0);
	}
	PEER(p, sim_wait(s, -1) == 1);
	AWAIT(atomic_load(&p->called) == 3);
	while (sim_take(s, &m) == 0)
		sim_release(s, m);
	sim_subscriber_stats(s, &st);
	PEER(p, st.received == 2 && st.invalid == 1);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(an_overwritten_header_is_reported_as_missing, NULL, stack_sweep)
{
	pid_t simd = stack_start(CONF);
	struct peer *p = peer_new();

	assert_int_equal(stack_wait(peer_fork(p, overrun)), 0);
	assert_int_equal(p->reasons[SIM_REASON_MISSING], 1);
	assert_int_equal(p->reasons[SIM_REASON_NO_BRIDGE], 2);
	assert_true(stack_said("/t/o"));
	peer_free(p);
	stack_stop(simd);
}

TEST_GROUP(NULL, NULL)
