/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sensors in a hot loop, killed until one dies inside iceoryx's publish lock; RouDi then waits for that lock without
 * end and registers no process any more. simd detects that and replaces RouDi, every client attaches again within the
 * same process, and outstanding messages complete as failed. FAULT_KILLS=n kills at most (200); SEED=n.
 */
#include "peer.h"
#include "stack.h"

#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"roudi\":{\"probe_ms\":200,\"probe_timeout_ms\":1000}," \
	"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"b\",\"plugin\":\"" FAULTY "\",\"channels\":[\"/t/*\"]," \
	"\"options\":{\"mode\":\"slow\",\"delay_us\":20000}}]}]"

static int hot(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "hot");
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 4 };
	struct sim_publisher *pub = peer_advertise(p, c, "/p/hot", 64, SIM_PUB_LOCAL | SIM_PUB_LATCH);
	struct sim_subscriber *sub[4];
	struct sim_slot *loan;

	for (int i = 0; i < 4; i++)
		PEER(p, sim_subscribe(c, "/p/hot", NULL, &so, &sub[i]) == 0);
	AWAIT(sim_publisher_has_subscribers(pub));
	atomic_store(&p->ready, 1);
	for (;;)
		if (sim_loan(pub, 64, &loan) == 0 && sim_publish_local(pub, loan) == -EINVAL)
			return 1;
}

TEST_WITH(a_client_killed_while_it_holds_a_lock_is_recovered_from, NULL, stack_sweep)
{
	const char *max = getenv("FAULT_KILLS");
	unsigned n = 0, wanted = max ? (unsigned)atoi(max) : 200;
	uint64_t seed = test_seed(5), ok, received, restarts;
	struct peer *witness = peer_new(), *ex = peer_new();
	pid_t simd = stack_start(CONF), pid, ex_pid, roudi;
	uint32_t life, slots;

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	slots = stack_slots();
	life = stack_life();
	roudi = stack_roudi();
	pid = peer_fork(witness, peer_publisher);
	ex_pid = peer_fork(ex, peer_exchange);
	AWAIT(witness->ok > 10 && ex->ready);
	restarts = witness->reasons[SIM_REASON_RESTART];
	while (stack_life() == life && n < wanted) {
		struct peer *p = peer_new();
		pid_t victim = peer_fork(p, hot);

		/* a stuck RouDi admits no process: then the next generation starts */
		AWAIT(p->ready || stack_life() != life || p->failed);
		moment_us((unsigned)(rand() % 4000));
		kill(victim, SIGKILL);
		stack_wait(victim);
		peer_free(p);
		n++;
	}
	print_message("%u kills, RouDi %s\n", n, stack_life() == life ? "was not caught" : "was caught");
	if (stack_life() != life) {
		assert_true(stack_said("is unresponsive"));
		AWAIT(stack_roudi() > 1 && stack_roudi() != roudi);
		AWAIT(witness->reasons[SIM_REASON_RESTART] > restarts);
		AWAIT(ex->generation > life);
	}
	ok = witness->ok;
	received = ex->received;
	AWAIT(witness->ok > ok + 10 && ex->received > received + 10);
	peer_tell(witness, -1);
	peer_join(witness, pid);
	peer_join(ex, ex_pid);
	peer_check(witness, false);
	assert_int_equal(witness->called, witness->offered);
	assert_int_equal(stack_bridge("b", "restarts"), 0);
	AWAIT(stack_slots() <= slots);
	stack_stop(simd);
	peer_free(witness);
	peer_free(ex);
}
