/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_cost: the processor time of `simctl top` on a terminal, in percent of a core, with 50 channels at 20 Hz;
 * top_simd_cost: the increase of simd's own meanwhile, as it answers the requests.
 */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include <sim/sim.h>

#include "bench.h"
#include "support/terminal.h"

#define CHANNELS  50
#define PERIOD_NS (50 * NS_PER_MS)
#define RIGS      "{\"name\":\"bench\",\"bridges\":[{\"name\":\"null\",\"plugin\":\"null\",\"channels\":[\"/busy/*\"]}]}"

struct flow {
	struct bench *b;
	_Atomic bool running, stop;
};

static int flow_main(void *arg)
{
	struct flow *f = arg;
	struct sim_client *c = bench_connect(f->b, "flow");
	struct sim_publisher *pub[CHANNELS];
	int64_t next = mono_now_ns();
	char name[32];

	for (int i = 0; i < CHANNELS; i++) {
		snprintf(name, sizeof(name), "/busy/%d", i);
		pub[i] = bench_advertise(c, name, 64, 0);
	}
	bench_await_bridge(pub[CHANNELS - 1]);
	atomic_store(&f->running, true);
	while (!atomic_load(&f->stop)) {
		for (int i = 0; i < CHANNELS; i++)
			(void)!bench_queue(pub[i], 64, NULL, NULL, NULL);
		next += PERIOD_NS;
		mono_sleep_until(next);
	}
	sim_disconnect(c);
	return 0;
}

static pid_t start_top(const struct bench *b, int *ret_terminal)
{
	struct winsize w = { .ws_col = 120, .ws_row = 60 }; /* all channels have room */
	char path[BENCH_PATH + 16];
	pid_t pid = forkpty(ret_terminal, NULL, NULL, &w);

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/simctl", b->bin);
	setenv("TERM", "xterm-256color", 1);
	execl(path, "simctl", "--socket", b->socket, "top", (char *)NULL);
	_exit(127);
}

/* The terminal's other end: reads the output for so long. Returns its bytes. */
static size_t look(int terminal, int64_t dur_ns)
{
	int64_t end = mono_now_ns() + dur_ns, left;
	char some[65536];
	size_t n = 0;

	while ((left = end - mono_now_ns()) > 0) {
		struct pollfd p = { .fd = terminal, .events = POLLIN };
		ssize_t got = poll(&p, 1, (int)(left / NS_PER_MS) + 1) == 1 ? read(terminal, some, sizeof(some)) : 0;

		if (got < 0)
			break;
		n += (size_t)got;
	}
	return n;
}

struct cost {
	double top, simd;
};

static double percent(int64_t cpu_ns, int64_t dur_ns)
{
	return 100.0 * (double)cpu_ns / (double)dur_ns;
}

static int measure(struct bench *b, int64_t dur_ns, struct cost *ret)
{
	int64_t simd = bench_cpu_ns(b->simd_pid), start = mono_now_ns(), top;
	double alone;
	int terminal;
	pid_t pid;

	mono_sleep_until(start + dur_ns);
	alone = percent(bench_cpu_ns(b->simd_pid) - simd, mono_now_ns() - start);
	pid = start_top(b, &terminal);
	if (pid < 0 || look(terminal, NS_PER_S) == 0)
		return -1;
	top = bench_cpu_ns(pid);
	simd = bench_cpu_ns(b->simd_pid);
	start = mono_now_ns();
	if (look(terminal, dur_ns) == 0 && !b->smoke)
		return -1;
	ret->top = percent(bench_cpu_ns(pid) - top, mono_now_ns() - start);
	ret->simd = percent(bench_cpu_ns(b->simd_pid) - simd, mono_now_ns() - start) - alone;
	kill(pid, SIGTERM);
	while (look(terminal, 20 * NS_PER_MS) > 0) /* it ends when it has drawn all */
		continue;
	close(terminal);
	return bench_wait(pid) ? -1 : 0;
}

static int run_top(struct bench *b)
{
	int64_t dur_ns = b->smoke ? 300 * NS_PER_MS : 4 * NS_PER_S;
	struct bench_pair top[BENCH_PAIRS_MAX], simd[BENCH_PAIRS_MAX];
	struct flow *f = bench_arena(sizeof(*f));
	unsigned n = bench_runs(b, 5);
	struct cost cost = { 0 };
	pid_t pid;
	int r;

	if (!terminal_can_be_had()) {
		printf("top_cost is not measured: " TERMINAL_NONE "\n");
		return 0;
	}
	r = bench_simd(b, RIGS);
	if (r < 0)
		return r;
	f->b = b;
	pid = bench_fork(flow_main, f);
	BENCH_UNTIL(60, atomic_load(&f->running));
	for (unsigned i = 0; i < n && r == 0; i++) {
		r = measure(b, dur_ns, &cost);
		top[i] = (struct bench_pair){ .ours = cost.top };
		simd[i] = (struct bench_pair){ .ours = cost.simd };
	}
	atomic_store(&f->stop, true);
	if (bench_wait(pid) || r < 0)
		return -1;
	bench_report(b, "top_cost", "%", "", BENCH_VALUE, top, n, 1);
	bench_report(b, "top_simd_cost", "%", NULL, BENCH_VALUE, simd, n, 0);
	bench_arena_free(f, sizeof(*f));
	return 0;
}

const struct bench_case bench_top = { "top", run_top, NULL };
