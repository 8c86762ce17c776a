/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_*: one empty step of lock-step (a driver's advance, a participant's turn, both through simd) against four bare
 * futex hops between three processes placed alike: driver and participant on CPU 0, simd's part on CPU 1.
 * stepclock_rate: steps by command in a second, of a wall clock without subscribers.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <sim/sim.h>

#include "chain.h"
#include "wire/step.h"

#define PEERS_MAX 16
#define SAMPLES   20000

struct step_arena {
	struct chain chain;
	_Atomic uint32_t joined; /* participants that take part */
	double sample[SAMPLES];
};

static struct bench *bench;
static struct step_arena *arena;

static double floor_run(unsigned count)
{
	double half_ns;

	for (unsigned i = 0; i < count; i++)
		chain_round(&arena->chain, &half_ns, &arena->sample[i]);
	return bench_median(arena->sample, count);
}

/* ---- ours ---- */

static int participant_main(void *arg)
{
	struct sim_client *c = bench_connect(bench, "peer");
	struct sim_step_turn turn;
	struct sim_step *s;
	int r;

	(void)arg;
	bench_pin(CHAIN_END);
	if (sim_step_join(c, 0, &s) < 0) {
		fprintf(stderr, "bench: participant: %s\n", sim_why());
		return 1;
	}
	atomic_fetch_add(&arena->joined, 1);
	while ((r = sim_step_wait(s, -1, &turn)) == 0 && (r = sim_step_done(s)) == 0)
		continue;
	return r < 0;
}

static double steps_run(struct sim_driver *d, unsigned count)
{
	int64_t granted;

	for (unsigned i = 0; i < count; i++) {
		int64_t start = mono_now_ns();

		if (sim_driver_advance(d, 1000, &granted) < 0)
			return -1;
		arena->sample[i] = (double)(mono_now_ns() - start);
	}
	return bench_median(arena->sample, count);
}

static void end(pid_t *pids, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		bench_wait(pids[i]);
	}
}

static int start_participants(pid_t *pids, unsigned n)
{
	atomic_store(&arena->joined, 0);
	for (unsigned i = 0; i < n; i++)
		pids[i] = bench_fork(participant_main, NULL);
	BENCH_UNTIL(20, atomic_load(&arena->joined) == n);
	return 0;
}

static int measure_one(struct sim_driver *d)
{
	unsigned n = bench_runs(bench, 9), count = bench->smoke ? 50 : 5000;
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	pid_t pid;
	int r = start_participants(&pid, 1);

	chain_start(&arena->chain, true);
	for (unsigned i = 0; r == 0 && i < n; i++) {
		pairs[i].reference = floor_run(count);
		pairs[i].ours = steps_run(d, count);
		r = pairs[i].ours < 0 ? -1 : 0;
	}
	chain_stop(&arena->chain);
	end(&pid, 1);
	if (r == 0)
		bench_report(bench, "step_latency", "ns", "four futex hops", BENCH_COST, pairs, n, 1.5);
	return r;
}

/* ---- sixteen of equal rank ---- */

/*
 * The bare coordinator: the same packets on the same kind of sockets and nothing else. It reads the answers in the
 * order in which it has sent the turns, so that it needs no poll().
 */
struct coordinator {
	int driver[2];           /* ours, its */
	int peers[PEERS_MAX][2]; /* its, theirs */
	pid_t pid, pids[PEERS_MAX];
};

static bool packet(int fd, struct step_packet *p, bool out)
{
	return (out ? send(fd, p, sizeof(*p), MSG_NOSIGNAL) : recv(fd, p, sizeof(*p), 0)) == (ssize_t)sizeof(*p);
}

static int bare_participant(void *arg)
{
	int fd = *(int *)arg;
	struct step_packet p;

	bench_pin(CHAIN_END);
	while (packet(fd, &p, false) && packet(fd, &p, true))
		continue;
	return 0;
}

static int bare_coordinator(void *arg)
{
	struct coordinator *c = arg;
	struct step_packet p, q;

	bench_pin(CHAIN_MID);
	while (packet(c->driver[1], &p, false)) {
		for (int i = 0; i < PEERS_MAX; i++)
			packet(c->peers[i][0], &p, true);
		for (int i = 0; i < PEERS_MAX; i++)
			packet(c->peers[i][0], &q, false);
		packet(c->driver[1], &p, true);
	}
	return 0;
}

static int coordinator_start(struct coordinator *c)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, c->driver) < 0)
		return -errno;
	for (int i = 0; i < PEERS_MAX; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, c->peers[i]) < 0)
			return -errno;
		c->pids[i] = bench_fork(bare_participant, &c->peers[i][1]);
	}
	c->pid = bench_fork(bare_coordinator, c);
	return 0;
}

static void coordinator_stop(struct coordinator *c)
{
	end(&c->pid, 1);
	end(c->pids, PEERS_MAX);
	for (int i = 0; i < 2; i++) {
		close(c->driver[i]);
		for (int j = 0; j < PEERS_MAX; j++)
			close(c->peers[j][i]);
	}
}

/* Steps a second. */
static double bare_rate(struct coordinator *c, unsigned count)
{
	int64_t start = mono_now_ns();
	struct step_packet p = { 0 };

	for (unsigned i = 0; i < count; i++)
		if (!packet(c->driver[0], &p, true) || !packet(c->driver[0], &p, false))
			return -1;
	return 1e9 * count / (double)(mono_now_ns() - start);
}

static double step_rate(struct sim_driver *d, unsigned count)
{
	int64_t start = mono_now_ns(), granted;

	for (unsigned i = 0; i < count; i++)
		if (sim_driver_advance(d, 1000, &granted) < 0)
			return -1;
	return 1e9 * count / (double)(mono_now_ns() - start);
}

static int measure_many(struct sim_driver *d)
{
	unsigned n = bench_runs(bench, 7), count = bench->smoke ? 20 : 2000;
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	struct coordinator c;
	pid_t pids[PEERS_MAX];
	int r = coordinator_start(&c);

	if (r == 0)
		r = start_participants(pids, PEERS_MAX);
	for (unsigned i = 0; r == 0 && i < n; i++) {
		pairs[i].reference = bare_rate(&c, count);
		pairs[i].ours = step_rate(d, count);
		r = pairs[i].ours < 0 || pairs[i].reference < 0 ? -1 : 0;
	}
	end(pids, PEERS_MAX);
	coordinator_stop(&c);
	if (r == 0)
		bench_report(bench, "step_rate_16", "steps/s", "a bare SEQPACKET coordinator", BENCH_RATE, pairs, n,
			     1.2);
	return r;
}

/* ---- by command ---- */

static int call(struct sim_client *c, const char *method, const char *params)
{
	char *json;
	int r = sim_call(c, method, params, &json);

	if (r < 0)
		fprintf(stderr, "bench: %s: %s\n", method, sim_why());
	else
		free(json);
	return r;
}

static int commands_run(struct sim_client *c, unsigned count, double *ret_per_s)
{
	int64_t start = mono_now_ns();
	int r = 0;

	for (unsigned i = 0; r == 0 && i < count; i++)
		r = call(c, "StepClock", "{\"dur_ns\": 1000000}");
	*ret_per_s = count * 1e9 / (double)(mono_now_ns() - start);
	return r;
}

/* Without participants and subscribers: each ends as soon as time has moved. */
static int measure_commands(struct sim_client *c)
{
	unsigned n = bench_runs(bench, 5), count = bench->smoke ? 20 : 5000;
	struct bench_pair pairs[BENCH_PAIRS_MAX] = { 0 };
	int r = call(c, "SetSource", "{\"source\": \"simulation\"}");

	if (r == 0)
		r = call(c, "PauseClock", NULL);
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = commands_run(c, count, &pairs[i].ours);
	if (r == 0)
		bench_report(bench, "stepclock_rate", "1/s", NULL, BENCH_LEAST, pairs, n, 5000);
	if (r == 0)
		r = call(c, "ResumeClock", NULL);
	return r < 0 ? r : call(c, "SetSource", "{\"source\": \"unity\"}");
}

static int run_step(struct bench *b)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "driver", .socket = b->socket, .flags = SIM_CLIENT_NO_DATA
	};
	struct sim_driver *d = NULL;
	struct sim_client *c;
	cpu_set_t before;
	int r;

	bench = b;
	arena = bench_arena(sizeof(*arena));
	sched_getaffinity(0, sizeof(before), &before);
	r = sim_connect(&o, &c);
	if (r == 0)
		r = sim_driver_acquire(c, 0, &d);
	if (r < 0) {
		fprintf(stderr, "bench: driver: %s\n", sim_why());
		return r;
	}
	bench_pin(CHAIN_END);
	bench_pin_process(b->simd_pid, CHAIN_MID);
	r = measure_one(d);
	if (r == 0)
		r = measure_many(d);
	bench_pin_process(b->simd_pid, -1);
	sched_setaffinity(0, sizeof(before), &before);
	sim_driver_release(d);
	if (r == 0)
		r = measure_commands(c);
	sim_disconnect(c);
	bench_arena_free(arena, sizeof(*arena));
	return r;
}

const struct bench_case bench_step = { "step", run_step, "stepclock" };
