/* SPDX-License-Identifier: Apache-2.0 */
/* simd killed: its clients hear it, wait, and go on under the handles they hold when the next simd takes over. */
#include "peer.h"
#include "stack.h"

#define BRIDGES(mode) \
	"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"b\",\"plugin\":\"" FAULTY "\",\"options\":{" mode "}}]}]"

static char conf[2048];

static pid_t again(pid_t simd)
{
	stack_kill(simd);
	return stack_start(conf);
}

/* ---- publishing and receiving ---- */

TEST_WITH(clients_continue_after_simd_is_killed, NULL, stack_sweep)
{
	struct peer *pub = peer_new(), *ex = peer_new();
	pid_t pid, ex_pid, simd, roudi;
	uint32_t slots, life;

	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"system\"," STACK_POOLS "," BRIDGES("\"mode\":\"slow\",\"delay_us\":3000"));
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	slots = stack_slots();
	peer_tell(pub, 2000); /* a second, at most */
	pid = peer_fork(pub, peer_publisher);
	ex_pid = peer_fork(ex, peer_exchange);
	AWAIT(pub->ok > 5 && ex->received > 5);
	roudi = stack_roudi();
	life = stack_life();
	for (int i = 0; i < 3; i++) {
		uint64_t lost = atomic_load(&pub->reasons[SIM_REASON_LOST]), ok, received;

		AWAIT(pub->accepted > pub->called - pub->refused + 8);
		stack_kill(simd);
		AWAIT(pub->reasons[SIM_REASON_LOST] > lost);
		/* what needs no simd goes on meanwhile */
		received = ex->received;
		AWAIT(ex->received > received + 20);
		ok = pub->ok;
		simd = stack_start(conf);
		AWAIT(pub->ok > ok + 20);
		received = ex->received;
		AWAIT(ex->received > received + 20);
		/* the same RouDi, the same life of it */
		assert_int_equal(stack_roudi(), roudi);
		assert_int_equal(stack_life(), life);
		assert_int_equal(ex->generation, life);
		assert_int_equal(stack_ctl("list", NULL)->code, 0);
		AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	}
	peer_tell(pub, -1);
	peer_join(pub, pid);
	peer_join(ex, ex_pid);
	peer_check(pub, false);
	assert_int_equal(pub->called, pub->offered);
	/* what the killed ones held is freed */
	AWAIT(stack_slots() <= slots);
	stack_stop(simd);
	peer_free(pub);
	peer_free(ex);
}

/* ---- time ---- */

static int watcher(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "watcher");
	struct sim_clock_sample s;

	while (!atomic_load(&p->stop)) {
		sim_now_sample(c, &s);
		atomic_store(&p->sim_ns, s.sim_ns);
		atomic_store(&p->flags, s.flags);
		atomic_store(&p->generation, s.clock_generation);
		atomic_store(&p->ready, 1);
		pace_us(500);
	}
	sim_disconnect(c);
	return 0;
}

TEST_WITH(time_stops_while_simd_is_dead, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	uint32_t generation;
	int64_t frozen;
	pid_t pid, simd;

	snprintf(conf, sizeof(conf), "\"TimeSource\":\"simulation\"," STACK_POOLS);
	simd = stack_start(conf);
	pid = peer_fork(p, watcher);
	AWAIT(p->ready && p->sim_ns > 0);
	assert_false(p->flags & SIM_CLOCK_STALE);
	generation = p->generation;
	stack_kill(simd);
	AWAIT(p->flags & SIM_CLOCK_STALE);
	frozen = p->sim_ns;
	for (int i = 0; i < 50; i++) {
		assert_int_equal(p->sim_ns, frozen);
		assert_true(p->flags & SIM_CLOCK_STALE);
		pace_us(1000);
	}
	simd = stack_start(conf);
	AWAIT(!(p->flags & SIM_CLOCK_STALE));
	AWAIT(p->generation != generation && p->sim_ns > 0);
	peer_join(p, pid);
	stack_stop(simd);
	peer_free(p);
}

/* ---- the driver ---- */

static int driver(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "driver");
	struct sim_driver *d;

	PEER(p, sim_driver_acquire(c, 0, &d) == 0);
	while (!atomic_load(&p->stop)) {
		int64_t granted;
		int r = sim_driver_advance(d, NS_PER_MS, &granted);

		if (r == 0) {
			atomic_fetch_add(&p->received, 1);
			atomic_store(&p->sim_ns, sim_now(c));
		} else {
			PEER(p, r == -ENOTCONN);
			atomic_store(&p->result, r);
		}
		atomic_store(&p->ready, 1);
		pace_us(500);
	}
	sim_driver_release(d);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(a_driver_continues_with_the_next_simd, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid, simd;

	snprintf(conf, sizeof(conf), "\"TimeSource\":\"unity\"," STACK_POOLS);
	simd = stack_start(conf);
	pid = peer_fork(p, driver);
	AWAIT(p->received > 10);
	for (int i = 0; i < 2; i++) {
		uint64_t n;

		stack_kill(simd);
		AWAIT(p->result == -ENOTCONN);
		simd = stack_start(conf);
		n = p->received;
		AWAIT(p->received > n + 10);
		assert_string_equal(stack_text("GetClock", "clock/driver/client"), "driver");
		AWAIT(stack_int("GetClock", "clock/sim_ns") > 0);
		p->result = 0;
	}
	/* the driver dies: time holds, and it is said */
	kill(pid, SIGKILL);
	stack_wait(pid);
	AWAIT(stack_int("GetClock", "clock/driver_lost") == 1);
	stack_stop(simd);
	peer_free(p);
}

/* ---- tokens and loans over the death of simd ---- */

static int token_holder(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "holder");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/token", 64, 0);
	struct sim_token *t;

	PEER(p, sim_token_open(c, "one", &t) == 0);
	while (!atomic_load(&p->stop)) {
		int r = peer_queue(p, pub, 64, t);

		PEER(p, r == 0 || r == -EBUSY || r == -ENOTCONN || r == -ESTALE);
		pace_us(500);
	}
	peer_settle(p);
	sim_token_close(t);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(tokens_are_acquired_again_from_the_next_simd, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid, simd;

	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"system\"," STACK_POOLS "," BRIDGES("\"mode\":\"slow\",\"delay_us\":5000"));
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	pid = peer_fork(p, token_holder);
	AWAIT(p->ok > 5);
	for (int i = 0; i < 3; i++) {
		uint64_t ok;

		simd = again(simd);
		AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
		ok = p->ok;
		AWAIT(p->ok > ok + 5);
	}
	peer_join(p, pid);
	peer_check(p, false);
	assert_true(p->refusals[SIM_REASON_TOKEN] > 0);
	stack_stop(simd);
	peer_free(p);
}

/* Killed at the worst moments: while it starts, while bridges attach. The next one always starts. */
TEST_WITH(simd_may_be_killed_while_it_starts, NULL, stack_sweep)
{
	uint64_t seed = test_seed(1);
	pid_t simd;

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	snprintf(conf, sizeof(conf), "\"TimeSource\":\"system\"," STACK_POOLS "," BRIDGES(""));
	for (int i = 0; i < 12; i++) {
		int fd;

		simd = stack_spawn(conf, &fd);
		moment_us((unsigned)(rand() % 250000));
		stack_kill(simd);
		close(fd);
	}
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	stack_stop(simd);
}
