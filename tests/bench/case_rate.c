/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch_rate: messages of 64 B a second from one producer through simd to the null bridge, each completed, against
 * how many such messages a second one process can send another over a SEQPACKET socket. Nothing is pinned.
 * dispatch_cpu: the processor time that simd spends on one of them, which says how many one thread can move.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>

#include <sim/sim.h>

#include "bench.h"
#include "fd.h"

struct rate_arena {
	struct bench *b;
	unsigned runs, count;
	int socket[2];
	_Atomic uint32_t done, failed;
	struct bench_pair pairs[BENCH_PAIRS_MAX], cpu[BENCH_PAIRS_MAX];
};

static double per_second(unsigned count, int64_t start_mono_ns)
{
	return count * 1e9 / (double)(mono_now_ns() - start_mono_ns);
}

/* ---- the reference ---- */

static int sender_main(void *arg)
{
	const struct rate_arena *a = arg;
	char text[64] = { 0 };

	for (unsigned i = 0; i < a->count; i++)
		if (send(a->socket[0], text, sizeof(text), MSG_NOSIGNAL) < 0)
			return 1;
	return 0;
}

static double bare(struct rate_arena *a)
{
	char text[64];
	int64_t start;
	double rate;
	pid_t pid;

	if (fd_packet_pair(a->socket, 0) < 0)
		return -1;
	pid = bench_fork(sender_main, a);
	close(a->socket[0]);
	recv(a->socket[1], text, sizeof(text), 0);
	start = mono_now_ns();
	for (unsigned i = 1; i < a->count; i++)
		if (recv(a->socket[1], text, sizeof(text), 0) <= 0)
			break;
	rate = per_second(a->count, start);
	close(a->socket[1]);
	return bench_wait(pid) ? -1 : rate;
}

/* ---- ours ---- */

static void on_done(void *user, bool ok, enum sim_reason reason)
{
	struct rate_arena *a = user;

	(void)reason;
	if (!ok)
		atomic_fetch_add_explicit(&a->failed, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&a->done, 1, memory_order_release);
}

static int send_all(struct rate_arena *a, struct sim_publisher *p, double *ret_rate)
{
	int64_t start = mono_now_ns();

	atomic_store(&a->done, 0);
	for (unsigned i = 0; i < a->count; i++) {
		int r = bench_queue(p, 64, on_done, a, NULL);

		if (r < 0)
			return r;
	}
	while (atomic_load_explicit(&a->done, memory_order_acquire) < a->count)
		pace_us(50);
	*ret_rate = per_second(a->count, start);
	return atomic_load(&a->failed) ? -EIO : 0;
}

static int producer_main(void *arg)
{
	struct rate_arena *a = arg;
	struct sim_client *c = bench_connect(a->b, "producer");
	struct sim_publisher *p = bench_advertise(c, "/busy/rate", 64, 0);
	int r = 0;

	bench_await_bridge(p);
	for (unsigned i = 0; i < a->runs && r == 0; i++) {
		int64_t cpu_ns;

		a->pairs[i].reference = bare(a);
		cpu_ns = bench_cpu_ns(a->b->simd_pid);
		r = a->pairs[i].reference < 0 ? -EIO : send_all(a, p, &a->pairs[i].ours);
		a->cpu[i].ours = (double)(bench_cpu_ns(a->b->simd_pid) - cpu_ns) / a->count;
	}
	if (r < 0)
		fprintf(stderr, "bench: producer: %s (%u not delivered)\n", sim_why(), atomic_load(&a->failed));
	sim_disconnect(c);
	return r < 0;
}

static int run_dispatch_rate(struct bench *b)
{
	struct rate_arena *a = bench_arena(sizeof(*a));
	int r;

	a->b = b;
	a->runs = bench_runs(b, 7);
	a->count = b->smoke ? 2000 : 200000;
	r = bench_wait(bench_fork(producer_main, a)) ? -1 : 0;
	if (r == 0)
		bench_report(b, "dispatch_rate", "msg/s", "SEQPACKET, one way", BENCH_RATE, a->pairs, a->runs, 0.8);
	if (r == 0)
		bench_report(b, "dispatch_cpu", "ns", NULL, BENCH_VALUE, a->cpu, a->runs, 0);
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_rate = { "rate", run_dispatch_rate, "dispatch_rate" };
