/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can die does, in a random order, under running clients: simd, RouDi, bridges, sensors, several at
 * once. After each death the witnesses go on, and in the end each message had exactly one outcome. A second simd beside it, with a data
 * plane of its own, notices nothing.
 * So it is when others have filled /dev/shm to the last page: nobody is killed by a page that there is no memory for. (Not when simd and
 * RouDi are killed at once there: then simd finds no room to start.)
 * FAULT_KILLS=n: a twentieth of it deaths (25), in a full /dev/shm a fiftieth; SEED=n.
 */
#include "peer.h"
#include "stack.h"

#include <signal.h>

#include "patient.h"

#define CONF \
	"\"TimeSource\":\"system\",\"process\":{\"restart_ms\":5,\"restart_max_ms\":50}," \
	"\"roudi\":{\"probe_ms\":200,\"probe_timeout_ms\":1000},\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"b1\",\"plugin\":\"" FAULTY "\",\"options\":{\"mode\":\"slow\",\"delay_us\":300}}," \
	"{\"name\":\"b2\",\"plugin\":\"" FAULTY "\",\"options\":{\"mode\":\"late\",\"delay_us\":300}}]}]"
#define WITNESSES 3
#define LIVES     6 /* of RouDi, until none is ended any more: a process has 11, and simd ends hung ones */

static pid_t simd, victim;
static struct peer *prey;
static uint32_t first_life;

static int sensor(struct peer *p)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "prey", .timeout_ms = PATIENT_MS };
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = 64 };
	struct sim_publisher *pub = NULL;
	struct sim_client *c = NULL;

	/* simd and RouDi may be away just now */
	while (!pub) {
		if (!c && sim_connect(&o, &c) < 0)
			c = NULL;
		if (c && sim_advertise(c, "/t/prey", &sim_Ultrasonic_type, &po, &pub) < 0)
			pub = NULL;
		pace_us(1000);
	}
	while (!atomic_load(&p->stop)) {
		(void)!peer_queue(p, pub, 64, NULL);
		atomic_store(&p->ready, 1);
		pace_us(500);
	}
	return 0;
}

static void hunt(void)
{
	if (prey) {
		kill(victim, SIGKILL);
		assert_int_equal(stack_wait(victim), SIGKILL); /* and by nothing else before */
		peer_check(prey, true);
		peer_free(prey);
	}
	prey = peer_new();
	victim = peer_fork(prey, sensor);
}

static void kill_one(int kind)
{
	static const char *const names[] = { "simd", "RouDi", "b1", "b2", "the sensor", "the sensor" };
	pid_t pid;

	print_message("kills %s\n", names[kind]);
	switch (kind) {
	case 0:
		stack_kill(simd);
		simd = stack_start(CONF);
		break;
	case 1:
		pid = stack_life() < first_life + LIVES ? stack_roudi() : 0;
		if (pid > 1)
			kill(pid, SIGKILL);
		break;
	case 2:
	case 3:
		pid = (pid_t)stack_bridge(kind == 2 ? "b1" : "b2", "pid");
		if (pid > 1)
			kill(pid, SIGKILL);
		break;
	default:
		hunt();
	}
}

/* ---- the other simd ---- */

#define OTHER_DIR "/tmp/rt-other"

static struct {
	struct peer *p;
	pid_t simd, client;
	uint32_t life;
} other;

static void other_goes_on(void)
{
	uint64_t had = other.p->received;

	AWAIT(other.p->received > had + 2 || other.p->failed);
	assert_int_equal(other.p->failed, 0);
}

static void other_begin(void)
{
	int fd;

	other.simd = stack_spawn_in(OTHER_DIR, "\"TimeSource\":\"system\"," STACK_POOLS, &fd);
	stack_await_ready(fd);
	setenv("SIMD_SOCKET", OTHER_DIR "/control", 1);
	other.p = peer_new();
	other.client = peer_fork(other.p, peer_exchange);
	other_goes_on();
	other.life = other.p->generation;
}

static void other_end(void)
{
	assert_int_equal(other.p->generation, other.life);
	peer_join(other.p, other.client);
	peer_free(other.p);
	assert_int_equal(kill(other.simd, SIGTERM), 0);
	assert_int_equal(stack_wait(other.simd), 0);
}

/* ---- rounds ---- */

struct round {
	uint64_t ok[WITNESSES], told[WITNESSES][SIM_REASON_COUNT], received;
};

static uint64_t told(const struct peer *w, int reason)
{
	return w->reasons[reason] + w->refusals[reason];
}

static void remember(struct round *r, struct peer *const w[WITNESSES], const struct peer *ex)
{
	for (int k = 0; k < WITNESSES; k++) {
		r->ok[k] = w[k]->ok;
		for (int i = 0; i < SIM_REASON_COUNT; i++)
			r->told[k][i] = told(w[k], i);
	}
	r->received = ex->received;
}

/* All that is to be known of it is in this one line: another run may not show it again. */
static void tell_of(const struct peer *w, const uint64_t was[SIM_REASON_COUNT])
{
	char text[1024];
	size_t n = 0;

	for (int i = 0; i < SIM_REASON_COUNT && n < sizeof(text) - 200; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %llu, ", sim_reason_name((enum sim_reason)i),
				      (unsigned long long)(told(w, i) - was[i]));
	n += (size_t)snprintf(text + n, sizeof(text) - n, "b1 %s, ", stack_bridge_text("b1", "status"));
	print_message("peer %llu does not go on yet; %sb2 %s, RouDi %d in life %u\n", (unsigned long long)w->number,
		      text, stack_bridge_text("b2", "status"), (int)stack_roudi(), stack_life());
}

static void goes_on(const struct peer *w, uint64_t ok, const uint64_t was[SIM_REASON_COUNT])
{
	for (unsigned looks = 0; w->ok <= ok + 2; looks++) {
		if (looks == WAIT_SAYS || w->failed)
			tell_of(w, was);
		assert_int_equal(w->failed, 0);
		wait_look_again();
	}
}

static void chaos(unsigned share, bool full)
{
	const char *all = getenv("FAULT_KILLS");
	unsigned rounds = (all ? (unsigned)atoi(all) : 500) / share;
	uint64_t seed = test_seed(21), accepted = 0;
	struct peer *w[WITNESSES], *ex = peer_new();
	pid_t pid[WITNESSES], ex_pid;
	uint32_t slots;

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	other_begin();
	simd = stack_start(CONF);
	AWAIT(stack_bridge("b1", "pid") > 1 && stack_bridge("b2", "pid") > 1);
	AWAIT(!strcmp(stack_bridge_text("b2", "status"), "connected"));
	slots = stack_slots();
	first_life = stack_life();
	for (int i = 0; i < WITNESSES; i++) {
		w[i] = peer_new();
		peer_tell(w[i], 500);
		pid[i] = peer_fork(w[i], peer_publisher);
		AWAIT(w[i]->ready || w[i]->failed);
	}
	ex_pid = peer_fork(ex, peer_exchange);
	AWAIT(ex->ready);
	hunt();
	AWAIT(prey->ready);
	if (full)
		stack_shm_fill(0);
	for (unsigned i = 0; i < rounds; i++) {
		struct round was;
		int first = rand() % 6;

		kill_one(first);
		if (rand() % 3 == 0 && !full) { /* a second blow before the first is over */
			moment_us((unsigned)(rand() % 100000));
			kill_one(rand() % 6);
		}
		remember(&was, w, ex);
		for (int k = 0; k < WITNESSES; k++)
			goes_on(w[k], was.ok[k], was.told[k]);
		AWAIT(ex->received > was.received + 2 || ex->failed);
		other_goes_on();
	}
	stack_shm_clear();
	other_end();
	kill(victim, SIGKILL);
	assert_int_equal(stack_wait(victim), SIGKILL);
	peer_check(prey, true);
	peer_free(prey);
	prey = NULL;
	for (int i = 0; i < WITNESSES; i++) {
		peer_tell(w[i], -1);
		peer_join(w[i], pid[i]);
		peer_check(w[i], false);
		assert_int_equal(w[i]->called, w[i]->offered);
		accepted += w[i]->accepted;
		peer_free(w[i]);
	}
	peer_join(ex, ex_pid);
	peer_free(ex);
	print_message("%u rounds, %u lives of RouDi, %llu messages\n", rounds, stack_life() - first_life + 1,
		      (unsigned long long)accepted);
	AWAIT(stack_slots() <= slots);
	stack_stop(simd);
}

TEST_WITH(everything_is_killed_and_comes_back, NULL, stack_sweep)
{
	chaos(20, false);
}

static int cleared(void **state)
{
	stack_shm_clear();
	return stack_sweep(state);
}

TEST_WITH(so_it_does_in_a_full_shm, NULL, cleared)
{
	chaos(50, true);
}
