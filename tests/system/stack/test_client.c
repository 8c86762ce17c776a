/* SPDX-License-Identifier: Apache-2.0 */
/* Clients killed or stopped while they publish, hold and subscribe: nothing leaks, and no other client notices. */
#include "peer.h"
#include "stack.h"

#define BRIDGES(mode) \
	"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"b\",\"plugin\":\"" FAULTY "\",\"options\":{" mode "}}]}]"
#define CONF(mode) "\"TimeSource\":\"system\"," STACK_POOLS "," BRIDGES(mode)

/* Publishes under a token on a shared channel, and holds loans and taken slots beside it, as long as it lives. */
static int busy(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "busy");
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 8 };
	struct sim_publisher *pub = peer_advertise(p, c, "/t/shared", 64, 0);
	struct sim_publisher *own = peer_advertise(p, c, "/t/own", 64, SIM_PUB_LOCAL);
	struct sim_subscriber *sub;
	const struct sim_message *got;
	struct sim_token *t;
	struct sim_slot *loan;

	PEER(p, sim_token_open(c, "shared", &t) == 0);
	PEER(p, sim_subscribe(c, "/t/shared", NULL, &so, &sub) == 0);
	for (int i = 0; i < 4; i++)
		PEER(p, sim_loan(own, 64, &loan) == 0); /* never released */
	for (int i = 0; !atomic_load(&p->stop); i++) {
		int r = peer_queue(p, pub, 64, i % 4 ? NULL : t);

		PEER(p, r == 0 || r == -EBUSY || r == -ETIMEDOUT);
		if (i % 8 == 0 && sim_take(sub, &got) == 0) /* held for ever: at most 8 + the queued ones */
			atomic_fetch_add(&p->received, 1);
		if (atomic_load(&p->received) >= 6)
			sim_release(sub, got), atomic_fetch_sub(&p->received, 1);
		atomic_store(&p->ready, 1);
		pace_us(200);
	}
	peer_settle(p);
	sim_subscriber_destroy(sub);
	sim_token_close(t);
	sim_publisher_destroy(own);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(clients_killed_at_any_moment_leave_nothing, NULL, stack_sweep)
{
	uint64_t seed = test_seed(3);
	struct peer *witness = peer_new(), *ex = peer_new();
	pid_t simd = stack_start(CONF("\"mode\":\"slow\",\"delay_us\":500")), pid, ex_pid;
	uint32_t slots;
	int64_t clients;

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	slots = stack_slots();
	clients = stack_int("GetInfo", "clients");
	pid = peer_fork(witness, busy);
	ex_pid = peer_fork(ex, peer_exchange);
	AWAIT(witness->ok > 10 && ex->ready);
	for (int i = 0; i < 25; i++) {
		struct peer *p = peer_new();
		pid_t victim = peer_fork(p, busy);

		AWAIT(p->ready || p->failed);
		assert_int_equal(p->failed, 0);
		moment_us((unsigned)(rand() % 15000));
		kill(victim, SIGKILL);
		stack_wait(victim);
		peer_check(p, true);
		peer_free(p);
	}
	/* the others have lost nothing, and the window is theirs */
	peer_join(witness, pid);
	peer_check(witness, false);
	assert_int_equal(witness->ok, witness->accepted);
	peer_join(ex, ex_pid);
	AWAIT(stack_int("GetInfo", "clients") == clients);
	AWAIT(stack_in_flight("/t/shared") <= 0);
	AWAIT(stack_slots() <= slots);
	stack_stop(simd);
	peer_free(witness);
	peer_free(ex);
}

/* A token whose holder dies is free again at once, although its message is not answered. */
static int holder(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "holder");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/held", 64, SIM_PUB_NO_WAIT);
	struct sim_token *t;

	PEER(p, sim_token_open(c, "held", &t) == 0);
	while (!atomic_load(&p->stop)) {
		atomic_store(&p->result, peer_queue(p, pub, 64, t));
		atomic_store(&p->ready, 1);
		pace_us(1000);
	}
	_exit(0);
}

TEST_WITH(a_token_of_a_dead_client_is_released, NULL, stack_sweep)
{
	struct peer *first = peer_new(), *second = peer_new();
	pid_t simd = stack_start(CONF("\"mode\":\"slow\",\"delay_us\":100000")), one, two;

	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	one = peer_fork(first, holder);
	AWAIT(first->accepted > 0);
	two = peer_fork(second, holder);
	AWAIT(second->ready);
	for (int i = 0; i < 5; i++) { /* whichever process holds it */
		struct peer *p = i % 2 ? second : first;
		pid_t *pid = i % 2 ? &two : &one;
		uint64_t n;

		kill(*pid, SIGKILL);
		stack_wait(*pid);
		n = (i % 2 ? first : second)->accepted;
		AWAIT((i % 2 ? first : second)->accepted > n);
		peer_free(p);
		p = peer_new();
		*pid = peer_fork(p, holder);
		*(i % 2 ? &second : &first) = p;
		AWAIT(p->ready);
	}
	kill(one, SIGKILL);
	kill(two, SIGKILL);
	stack_wait(one);
	stack_wait(two);
	stack_stop(simd);
}

/* Three seconds of standstill are not death: it goes on where it was. */
TEST_WITH(a_client_stopped_for_three_seconds_continues, NULL, stack_sweep)
{
	struct peer *p = peer_new(), *ex = peer_new();
	pid_t simd = stack_start(CONF("\"mode\":\"count\"")), pid, ex_pid;
	uint64_t ok, received, offered;
	uint32_t life;
	int64_t end;

	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	peer_tell(p, 1000);
	pid = peer_fork(p, peer_publisher);
	ex_pid = peer_fork(ex, peer_exchange);
	AWAIT(p->ok > 10 && ex->ready);
	life = stack_life();
	kill(pid, SIGSTOP);
	kill(ex_pid, SIGSTOP);
	end = mono_now_ns() + 3 * NS_PER_S;
	AWAIT(test_stands(pid) && test_stands(ex_pid));
	offered = p->offered;
	while (mono_now_ns() < end) {
		assert_int_equal(p->offered, offered);
		pace_us(100000);
	}
	kill(pid, SIGCONT);
	kill(ex_pid, SIGCONT);
	ok = p->ok;
	received = ex->received;
	AWAIT(p->ok > ok + 10 && ex->received > received + 10);
	assert_int_equal(stack_life(), life);
	peer_join(p, pid);
	peer_join(ex, ex_pid);
	peer_check(p, false);
	assert_int_equal(p->ok, p->accepted);
	stack_stop(simd);
	peer_free(p);
	peer_free(ex);
}

/* A client that never reads its completions: its own window fills, and that is all. */
static int deaf(struct peer *p)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "deaf", .flags = SIM_CLIENT_NO_THREAD, .timeout_ms = PATIENT_MS
	};
	struct sim_client *c;
	struct sim_publisher *pub;

	PEER(p, sim_connect(&o, &c) == 0);
	pub = peer_advertise(p, c, "/t/deaf", 64, SIM_PUB_NO_WAIT);
	while (!atomic_load(&p->stop)) {
		int r = peer_queue(p, pub, 64, NULL);

		PEER(p, r == 0 || r == -EAGAIN);
		if (r == -EAGAIN)
			atomic_store(&p->ready, 1);
		pace_us(100);
	}
	while (!peer_settled(p))
		PEER(p, sim_process(c) >= 0);
	PEER(p, peer_queue(p, pub, 64, NULL) == 0); /* and the window is open again */
	while (!peer_settled(p))
		PEER(p, sim_process(c) >= 0);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(a_client_that_does_not_read_holds_nothing_up, NULL, stack_sweep)
{
	struct peer *p = peer_new(), *other = peer_new();
	pid_t simd = stack_start(CONF("\"mode\":\"count\"")), pid, other_pid;

	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	pid = peer_fork(p, deaf);
	AWAIT(p->ready || p->failed);
	peer_tell(other, 2000);
	other_pid = peer_fork(other, peer_publisher);
	AWAIT(other->ok > 100);
	peer_join(other, other_pid);
	assert_int_equal(other->ok, other->accepted);
	peer_join(p, pid);
	peer_check(p, false);
	assert_int_equal(p->ok, p->accepted);
	stack_stop(simd);
	peer_free(p);
	peer_free(other);
}
