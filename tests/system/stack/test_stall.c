/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No process has died, yet nothing moves: simd is stopped for seconds; the machine has no shared memory left. Clients
 * stay within the bounds that their headers name, none crashes, and afterwards everything continues as before.
 */
#include "peer.h"
#include "stack.h"

#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"dispatch\":{\"wait_ms\":300},\"process\":{\"restart_ms\":20}," \
	"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"b\",\"plugin\":\"null\",\"options\":{}}]}]"

static pid_t simd;

static int setup(void **state)
{
	(void)state;
	if (getpid() == 1)
		(void)!mount("tmpfs", "/dev/shm", NULL, MS_REMOUNT, "size=1g");
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	return 0;
}

/* ---- simd is stopped ---- */

/* As peer_publisher, but it waits for credits. */
static int waiting_publisher(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "waiting");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/waiting", 64, 0);

	while (!atomic_load(&p->stop)) {
		int r = peer_queue(p, pub, 64, NULL);

		PEER(p, r == 0 || (r == -ETIMEDOUT && strstr(sim_why(), "300 ms")));
		atomic_store(&p->ready, 1);
		pace_us(500);
	}
	return peer_leave(p, c, pub);
}

/* Asks simd for something while it does not answer; the sentence in `why`. */
static int asker(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "asker");
	struct sim_subscriber *s;
	int r;

	atomic_store(&p->ready, 1);
	PEER_AWAIT(p, atomic_load(&p->command));
	r = sim_subscribe(c, "/asked", NULL, NULL, &s);
	snprintf(p->why, sizeof(p->why), "%s", sim_why());
	atomic_store(&p->result, r);
	atomic_store(&p->ready, 2);
	AWAIT(atomic_load(&p->stop) || sim_subscribe(c, "/asked", NULL, NULL, &s) >= 0);
	atomic_store(&p->ready, 3);
	PEER_IDLE(p);
	sim_disconnect(c);
	return 0;
}

/* simd does not answer: bounded by the caller's own time. */
static int newcomer(struct peer *p)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "newcomer", .timeout_ms = 500 };
	struct sim_client *c;
	int r = sim_connect(&o, &c);

	snprintf(p->why, sizeof(p->why), "%s", sim_why());
	atomic_store(&p->result, r);
	return 0;
}

/* Has an hour to connect, so it is still there when simd is again. */
static int patient(struct peer *p)
{
	struct sim_client *c;

	atomic_store(&p->ready, 1);
	c = peer_connect(p, "patient");
	atomic_store(&p->ready, 2);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(calls_of_clients_keep_their_time_limits_while_simd_is_stopped, setup, stack_sweep)
{
	struct peer *pub = peer_new(), *ex = peer_new(), *ask = peer_new(), *late = peer_new(), *waits = peer_new();
	pid_t pub_pid = peer_fork(pub, waiting_publisher), ex_pid = peer_fork(ex, peer_exchange),
	      ask_pid = peer_fork(ask, asker), late_pid, waits_pid;
	uint64_t received, ok, refused;
	uint32_t slots, life;
	const char *within;
	int64_t bridge;

	AWAIT(pub->ok > 20 && ex->ready && ask->ready);
	life = stack_life();
	bridge = stack_bridge("b", "pid");
	slots = stack_slots();
	assert_int_equal(kill(simd, SIGSTOP), 0);
	AWAIT(test_stands(simd));
	waits_pid = peer_fork(waits, patient);
	AWAIT(waits->ready);
	peer_tell(ask, 1);
	late_pid = peer_fork(late, newcomer);

	/*
	 * All bounds are of calls that end while simd is stopped; each reports its own. The window fills, then each
	 * call waits its time and is refused; local messages still flow.
	 */
	refused = pub->refusals[SIM_REASON_TIMEOUT];
	AWAIT(pub->refusals[SIM_REASON_TIMEOUT] >= refused + 4 || pub->failed);
	received = ex->received;
	AWAIT(ex->received > received + 100);
	peer_join(late, late_pid);
	assert_int_equal(late->result, -ETIMEDOUT);
	within = strstr(late->why, "within ");
	if (!within || atoi(within + strlen("within ")) > 500)
		fail_msg("not of its own time: %s", late->why);
	AWAIT(ask->ready == 2 || ask->failed); /* 5 s */
	assert_int_equal(ask->result, -ETIMEDOUT);
	assert_non_null(strstr(ask->why, "has not answered within 5000 ms"));
	assert_int_equal(pub->failed + ex->failed + waits->failed, 0);
	assert_int_equal(waits->ready, 1);

	assert_int_equal(kill(simd, SIGCONT), 0);
	peer_join(waits, waits_pid);
	ok = pub->ok;
	AWAIT(pub->ok > ok + 100);
	AWAIT(ask->ready == 3 || ask->failed);
	peer_join(pub, pub_pid);
	peer_join(ex, ex_pid);
	peer_join(ask, ask_pid);
	peer_check(pub, false);
	assert_int_equal(pub->called, pub->offered);
	/* none is lost */
	if (pub->ok != pub->accepted)
		for (int r = 1; r < SIM_REASON_COUNT; r++)
			print_message("%s: %llu\n", sim_reason_name((enum sim_reason)r),
				      (unsigned long long)pub->reasons[r]);
	assert_int_equal(pub->ok, pub->accepted);
	assert_int_equal(stack_life(), life);
	assert_int_equal(stack_bridge("b", "pid"), bridge);
	AWAIT(stack_in_flight("/t/waiting") <= 0);
	AWAIT(stack_slots() <= slots);
	stack_stop(simd);
	peer_free(pub);
	peer_free(ex);
	peer_free(ask);
	peer_free(late);
	peer_free(waits);
}

/* ---- no shared memory is left ---- */

/* Room for so much more than is taken now. Only in a mount namespace of its own. */
static void shm_leave(uint64_t bytes)
{
	char size[40];
	struct statvfs v;

	if (getpid() != 1)
		skip();
	assert_int_equal(statvfs("/dev/shm", &v), 0);
	snprintf(size, sizeof(size), "size=%llu",
		 (unsigned long long)((uint64_t)(v.f_blocks - v.f_bfree) * v.f_frsize + bytes));
	assert_int_equal(mount("tmpfs", "/dev/shm", NULL, MS_REMOUNT, size), 0);
}

/* What a life needs it has: old and new clients, ports and messages of every size. */
TEST_WITH(a_generation_keeps_working_when_dev_shm_becomes_full, setup, stack_sweep)
{
	struct peer *p, *q, *ex;
	pid_t pid, q_pid, ex_pid;
	uint32_t life;
	uint64_t ok;

	if (getpid() != 1)
		skip(); /* it would be the machine's own /dev/shm */
	p = peer_new();
	q = peer_new();
	ex = peer_new();
	pid = peer_fork(p, peer_publisher);
	peer_tell(p, 500);
	AWAIT(p->ok > 20);
	life = stack_life();
	shm_leave(0);
	ok = p->ok;
	peer_tell(q, 500);
	q_pid = peer_fork(q, peer_publisher);
	ex_pid = peer_fork(ex, peer_exchange);
	AWAIT(p->ok > ok + 200 && q->ok > 200 && ex->received > 200);
	peer_join(p, pid);
	peer_join(q, q_pid);
	peer_join(ex, ex_pid);
	peer_check(p, false);
	peer_check(q, false);
	assert_int_equal(p->ok, p->accepted);
	assert_int_equal(q->ok, q->accepted);
	assert_int_equal(stack_life(), life);
	stack_stop(simd);
	peer_free(p);
	peer_free(q);
	peer_free(ex);
}

/* A new life does not fit: it is tried again and again, with a sentence, until there is room. */
TEST_WITH(a_generation_without_memory_is_retried, setup, stack_sweep)
{
	struct peer *p;
	pid_t pid;
	uint32_t life;
	uint64_t ok;

	if (getpid() != 1)
		skip(); /* it would be the machine's own /dev/shm */
	p = peer_new();
	pid = peer_fork(p, peer_publisher);
	life = stack_life();
	peer_tell(p, 500);
	AWAIT(p->ok > 20);
	shm_leave(1 << 20);
	assert_int_equal(kill(stack_roudi(), SIGKILL), 0);
	AWAIT(stack_said("/dev/shm"));
	assert_int_equal(p->failed, 0);
	shm_leave(1 << 30);
	AWAIT(stack_life() > life);
	ok = p->ok;
	AWAIT(p->ok > ok + 100);
	peer_join(p, pid);
	peer_check(p, false);
	assert_int_equal(p->called, p->offered);
	stack_stop(simd);
	peer_free(p);
}
