/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RouDi killed or stopped under running processes: each of them continues by itself, in the same process; outstanding
 * messages complete as failed; the memory of the dead generation is freed.
 */
#include "hog.h"
#include "peer.h"
#include "stack.h"

#include <sys/statvfs.h>

#define PEERS       10
#define MIB         ((uint64_t)1 << 20)
#define LATE_DUR_NS (700 * NS_PER_MS) /* of one channel: longer than simd waits for RouDi */

/* 256 MiB: of 64 KiB slots. */
#define POOLS_256     "\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"66KiB\",\"count\":3900}]"
#define FAULTY_BRIDGE "\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"b\",\"plugin\":\"" FAULTY "\"%s}]}]"

static char conf[2048];

static uint64_t shm_used(void)
{
	struct statvfs v;

	assert_int_equal(statvfs("/dev/shm", &v), 0);
	return (uint64_t)(v.f_blocks - v.f_bfree) * v.f_frsize;
}

static void kill_roudi(void)
{
	pid_t pid = stack_roudi();

	assert_true(pid > 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
}

/* All peers have received something of a life after `generation`. */
static bool all_beyond(struct peer *const *p, uint32_t generation)
{
	for (int i = 0; i < PEERS; i++)
		if (atomic_load(&p[i]->generation) <= generation)
			return false;
	return true;
}

TEST_WITH(ten_processes_survive_restarts_of_roudi, NULL, stack_sweep)
{
	struct peer *p[PEERS];
	uint64_t before;
	uint32_t first;
	pid_t pid[PEERS], simd;

	snprintf(conf, sizeof(conf), "\"TimeSource\":\"system\"," POOLS_256);
	simd = stack_start(conf);
	before = shm_used();
	first = stack_life();
	assert_true(before > 256 * MIB);
	for (int i = 0; i < PEERS; i++) {
		p[i] = peer_new();
		pid[i] = peer_fork(p[i], peer_exchange);
	}
	for (int i = 0; i < PEERS; i++)
		AWAIT(p[i]->ready);
	for (uint32_t i = 0; i < 3; i++) {
		kill_roudi();
		AWAIT(all_beyond(p, first + i));
		assert_int_equal(stack_life(), first + i + 1);
		/* the dead one's payload goes when the last has moved, its management when the last lets go of it */
		AWAIT(shm_used() < before + 8 * MIB);
	}
	for (int i = 0; i < PEERS; i++) {
		peer_join(p[i], pid[i]);
		peer_free(p[i]);
	}
	stack_stop(simd);
}

/* ---- outstanding messages ---- */

TEST_WITH(outstanding_messages_complete_after_a_restart, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	uint64_t ok, before;
	pid_t pid, simd;

	snprintf(conf, sizeof(conf), "\"TimeSource\":\"system\"," STACK_POOLS "," FAULTY_BRIDGE,
		 ",\"options\":{\"mode\":\"slow\",\"delay_us\":20000}");
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	pid = peer_fork(p, peer_publisher);
	AWAIT(p->ok > 5);
	before = shm_used();
	for (int i = 0; i < 3; i++) {
		uint64_t restarts = atomic_load(&p->reasons[SIM_REASON_RESTART]);

		AWAIT(p->accepted > p->called - p->refused + 8);
		kill_roudi();
		AWAIT(p->reasons[SIM_REASON_RESTART] > restarts);
		ok = p->ok;
		AWAIT(p->ok > ok + 5);
	}
	peer_tell(p, -1);
	peer_join(p, pid);
	peer_check(p, false);
	assert_int_equal(p->called, p->offered);
	assert_int_equal(stack_bridge("b", "restarts"), 0);
	/* nor does the bridge, which has read of all lives, keep any of them */
	AWAIT(shm_used() < before + 8 * MIB);
	stack_stop(simd);
	peer_free(p);
}

/* ---- lives run out ---- */

/* A program that was not started by simd has 11 lives; then a sentence, and no abort. */
static int mortal(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "mortal");
	struct sim_publisher *pub = peer_advertise(p, c, "/p/mortal", 64, SIM_PUB_LOCAL);
	struct sim_slot *loan;

	while (sim_client_state(c) != SIM_CLIENT_FAILED && !atomic_load(&p->stop)) {
		int r = sim_loan(pub, 64, &loan);

		if (r == 0) {
			atomic_store(&p->generation, loan->iox_generation);
			sim_unloan(pub, loan);
		} else {
			PEER(p, r == -ESTALE || r == -ENOTCONN || r == -ENOTRECOVERABLE);
		}
		pace_us(1000);
	}
	snprintf(p->why, sizeof(p->why), "%s", sim_client_why(c));
	atomic_store(&p->ready, 1);
	PEER(p, sim_loan(pub, 64, &loan) < 0);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(the_last_possible_generation_of_a_process_is_reported, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid, simd;
	unsigned lives;

	unsetenv("GLIBC_TUNABLES");
	snprintf(conf, sizeof(conf), "\"TimeSource\":\"system\"," STACK_POOLS);
	simd = stack_start(conf);
	pid = peer_fork(p, mortal);
	AWAIT(p->generation > 0);
	for (lives = 1; lives < 20 && !p->ready; lives++) {
		uint32_t life = p->generation;

		kill_roudi();
		AWAIT(p->generation > life || p->ready);
	}
	assert_in_range(lives, 9, 15);
	if (!strstr(p->why, "attachments"))
		fail_msg("it said: %s", p->why);
	peer_join(p, pid);
	/* simd, which has more attachments, uses up its last as well: it restarts by itself, and continues */
	for (int i = 0; i < 8; i++) {
		uint32_t life = stack_life();

		kill_roudi();
		AWAIT((int64_t)stack_int("GetInfo", "iox_generation") > life && stack_roudi() > 1);
	}
	assert_int_equal(stack_int("GetInfo", "pid"), simd); /* by exec: the same process */
	stack_stop(simd);
	peer_free(p);
}

/* ---- stopped ---- */

/* Creating a port needs RouDi: it is answered without, and all is well when there is one again. */
static int creator(struct peer *p)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = 64, .flags = SIM_PUB_LOCAL };
	struct sim_client *c = peer_connect(p, "creator");
	struct sim_publisher *first = peer_advertise(p, c, "/p/first", 64, SIM_PUB_LOCAL), *pub = NULL;
	int r;

	atomic_store(&p->ready, 1);
	PEER_AWAIT(p, atomic_load(&p->command));
	r = sim_advertise(c, "/p/second", &sim_Ultrasonic_type, &o, &pub);
	atomic_store(&p->result, r);
	snprintf(p->why, sizeof(p->why), "%s", sim_why());
	sim_publisher_destroy(pub);
	atomic_store(&p->ready, 2);
	while (!atomic_load(&p->stop)) {
		struct sim_slot *loan;

		if (sim_loan(first, 64, &loan) == 0) {
			atomic_store(&p->generation, loan->iox_generation);
			sim_unloan(first, loan);
		}
		pace_us(1000);
	}
	sim_publisher_destroy(first);
	sim_disconnect(c);
	return 0;
}

/* On an overloaded machine it is not RouDi's fault that it does not answer, and a new one would not answer either. */
TEST_WITH(a_roudi_without_cpu_time_is_left_alone, NULL, stack_sweep)
{
	pid_t simd, roudi, hog = hog_start();
	uint32_t life;

	if (!hog)
		skip(); /* no right to real-time priority, or nothing left for the others */
	simd = stack_start(
		"\"TimeSource\":\"system\",\"roudi\":{\"probe_ms\":50,\"probe_timeout_ms\":50}," STACK_POOLS);
	roudi = stack_roudi();
	life = stack_life();
	hog_pin(roudi, hog_cpu());
	assert_int_equal(kill(hog, SIGCONT), 0);
	AWAIT(stack_said("was not given a CPU"));
	hog_end(hog);
	assert_int_equal(stack_roudi(), roudi);
	assert_int_equal(stack_life(), life);
	stack_stop(simd);
}

/*
 * New channels until one is late: simd has its subscriber when RouDi gets CPU time, and no earlier client loses
 * anything.
 */
static int maker(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "maker");
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = 64 };
	int64_t begin_mono_ns, took_dur_ns;
	char name[32];
	int n = 0, r;

	atomic_store(&p->ready, 1);
	PEER_AWAIT(p, atomic_load(&p->command));
	do {
		struct sim_publisher *pub = NULL;

		snprintf(name, sizeof(name), "/p/%d", n++ % 100);
		begin_mono_ns = mono_now_ns();
		r = sim_advertise(c, name, &sim_Ultrasonic_type, &o, &pub);
		took_dur_ns = mono_now_ns() - begin_mono_ns;
		sim_publisher_destroy(pub);
	} while (r != -EAGAIN && r != -ESTALE && took_dur_ns < LATE_DUR_NS);
	atomic_store(&p->result, r);
	snprintf(p->why, sizeof(p->why), "%s", r < 0 ? sim_why() : "");
	atomic_store(&p->ready, 2);
	PEER_AWAIT(p, atomic_load(&p->stop));
	sim_disconnect(c);
	return 0;
}

TEST_WITH(without_cpu_time_channels_are_created_late, NULL, stack_sweep)
{
	pid_t simd, roudi, pid, hog = hog_start();
	struct peer *p = peer_new();
	uint32_t life;

	if (!hog)
		skip();
	simd = stack_start("\"TimeSource\":\"system\"," STACK_POOLS);
	pid = peer_fork(p, maker);
	AWAIT(p->ready == 1);
	roudi = stack_roudi();
	life = stack_life();
	hog_pin(roudi, hog_cpu());
	assert_int_equal(kill(hog, SIGCONT), 0);
	peer_tell(p, 1);
	AWAIT(p->ready == 2);
	hog_end(hog);
	if (p->result < 0 && p->result != -EAGAIN)
		fail_msg("%d: %s", p->result, p->why);
	peer_join(p, pid);
	assert_int_equal(stack_roudi(), roudi);
	assert_int_equal(stack_life(), life);
	stack_stop(simd);
	peer_free(p);
}

TEST_WITH(roudi_may_be_stopped_while_a_port_is_created, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid, simd, roudi;
	uint32_t life;

	simd = stack_start("\"TimeSource\":\"system\",\"roudi\":{\"probe_timeout_ms\":10000}," STACK_POOLS);
	pid = peer_fork(p, creator);
	AWAIT(p->ready == 1);
	roudi = stack_roudi();
	life = stack_life();
	assert_int_equal(kill(roudi, SIGSTOP), 0);
	AWAIT(test_stands(roudi));
	peer_tell(p, 1);
	AWAIT(p->ready == 2);
	/* of this RouDi: had it waited for the next one, it would be -ESTALE */
	assert_int_equal(p->result, -ETIMEDOUT);
	assert_true(strlen(p->why) > 10);
	/* simd finds that it hangs, and starts another */
	AWAIT(p->generation > life && stack_roudi() > 1 && stack_roudi() != roudi);
	peer_join(p, pid);
	stack_stop(simd);
	peer_free(p);
}
