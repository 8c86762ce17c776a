/* SPDX-License-Identifier: Apache-2.0 */
/* reattach_ms: RouDi is killed under ten processes; until every one publishes and receives again. */
#include <jansson.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <sim/sim.h>

#include "bench.h"

#define PEERS 10

struct peers {
	struct bench *b;
	_Atomic int next, ready, stop;
	_Atomic uint32_t generation[PEERS]; /* of the newest message that each received */
};

#define PERIOD_NS (2 * NS_PER_MS)

/* Publishes, and takes the messages that have arrived. */
static int turn(struct peers *a, int me, struct sim_publisher *pub, struct sim_subscriber *sub)
{
	const struct sim_message *msg;
	struct sim_slot *loan;
	int n = 0;

	if (sim_loan(pub, 64, &loan) == 0 && sim_publish_local(pub, loan) < 0)
		return 0; /* in between: the next turn tries again */
	while (sim_take(sub, &msg) == 0) {
		atomic_store(&a->generation[me], msg->header.iox_generation);
		sim_release(sub, msg);
		n++;
	}
	return n;
}

static void exchange(struct peers *a, int me, struct sim_publisher *pub, struct sim_subscriber *sub)
{
	int64_t next = mono_now_ns();
	bool told = false;

	while (!atomic_load(&a->stop)) {
		if (turn(a, me, pub, sub) && !told) {
			atomic_fetch_add(&a->ready, 1);
			told = true;
		}
		next += PERIOD_NS;
		mono_sleep_until(next);
	}
}

static int peer_main(void *arg)
{
	struct peers *a = arg;
	int me = atomic_fetch_add(&a->next, 1);
	struct sim_client *c = bench_connect(a->b, "peer");
	struct sim_subscriber *sub;
	char name[32];

	snprintf(name, sizeof(name), "/peer/%d", me);
	if (sim_subscribe(c, name, NULL, NULL, &sub) < 0) {
		fprintf(stderr, "bench: %s: %s\n", name, sim_why());
		return 1;
	}
	exchange(a, me, bench_advertise(c, name, 64, SIM_PUB_LOCAL), sub);
	if (sim_client_state(c) != SIM_CLIENT_CONNECTED)
		fprintf(stderr, "bench: peer %d (pid %d) did not come back: %s\n", me, (int)getpid(),
			sim_client_why(c));
	sim_disconnect(c);
	return 0;
}

static bool all_beyond(struct peers *a, uint32_t generation)
{
	for (int i = 0; i < PEERS; i++)
		if (atomic_load(&a->generation[i]) <= generation)
			return false;
	return true;
}

static int kill_roudi(struct bench *b)
{
	char *text = NULL;
	json_t *info;
	pid_t pid;

	if (bench_call(b, "io.simd.Control.GetInfo", "{}", &text) < 0)
		return -1;
	info = json_loads(text, 0, NULL);
	pid = (pid_t)json_integer_value(json_object_get(info, "roudi_pid"));
	json_decref(info);
	free(text);
	return pid > 1 ? kill(pid, SIGKILL) : -1;
}

static int one_kill(struct bench *b, struct peers *a, double *ret_ms)
{
	uint32_t generation = atomic_load(&a->generation[0]);
	int64_t start;

	if (kill_roudi(b) < 0) {
		fprintf(stderr, "bench: simd names no iox-roudi that could be killed\n");
		return -1;
	}
	start = mono_now_ns();
	BENCH_UNTIL(BENCH_PATIENCE, all_beyond(a, generation));
	*ret_ms = (double)(mono_now_ns() - start) / 1e6;
	return 0;
}

static int measure(struct bench *b, struct peers *a, struct bench_pair *pairs, unsigned n)
{
	int r = 0;

	BENCH_UNTIL(BENCH_PATIENCE, atomic_load(&a->ready) == PEERS);
	for (unsigned i = 0; i < n && r == 0; i++)
		r = one_kill(b, a, &pairs[i].ours);
	return r;
}

static int run_reattach(struct bench *b)
{
	struct peers *a = bench_arena(sizeof(*a));
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 5);
	pid_t pid[PEERS];
	int r = bench_simd(b, NULL);

	a->b = b;
	for (int i = 0; i < PEERS; i++)
		pid[i] = bench_fork(peer_main, a);
	if (!r)
		r = measure(b, a, pairs, n);
	atomic_store(&a->stop, 1);
	for (int i = 0; i < PEERS; i++)
		r |= bench_wait(pid[i]);
	if (!r)
		bench_report(b, "reattach_ms", "ms", "", BENCH_VALUE, pairs, n, 2000);
	bench_arena_free(a, sizeof(*a));
	return r ? -1 : 0;
}

const struct bench_case bench_reattach = { "reattach", run_reattach, NULL };
