/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component_idle: the processor time, in percent of a core, of simhost with 20 components in reality, each with a channel on which nothing
 * comes, while time runs.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bench.h"
#include "fd.h"

#define COMPONENTS 20

static int write_dag(const struct bench *b, const char *path)
{
	char text[BENCH_PATH + 128 * COMPONENTS];
	size_t at = (size_t)snprintf(text, sizeof(text),
				     "{\"modules\":[{\"library\":\"%s/../test/plugins/components.so\",\"components\":[",
				     b->bin);

	for (int i = 0; i < COMPONENTS; i++)
		at += (size_t)
			snprintf(text + at, sizeof(text) - at,
				 "%s{\"class\":\"Times\",\"name\":\"t%d\",\"readers\":[{\"channel\":\"/idle/%d\"}]}",
				 i ? "," : "", i, i);
	snprintf(text + at, sizeof(text) - at, "]}]}\n");
	return fd_write_file(path, text, strlen(text), 0644);
}

static pid_t spawn(const struct bench *b, const char *dag, int log)
{
	char program[BENCH_PATH + 16];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(log, STDERR_FILENO);
	snprintf(program, sizeof(program), "%s/simhost", b->bin);
	execl(program, "simhost", "-d", dag, "--socket", b->socket, (char *)NULL);
	_exit(127);
}

/* Until its log says that it is running; on a time-out its log is printed. */
static int await_running(int log)
{
	int64_t end_ms = wait_now_ms() + 20000;
	struct pollfd p = { .fd = log, .events = POLLIN };
	char said[16384];
	size_t n = 0;

	for (said[0] = 0; !strstr(said, " components run in reality"); said[n] = 0) {
		int64_t left_ms = end_ms - wait_now_ms();
		ssize_t r =
			left_ms > 0 && poll(&p, 1, (int)left_ms) == 1 ? read(log, said + n, sizeof(said) - 1 - n) : 0;

		if (r <= 0) {
			fprintf(stderr, "bench: simhost does not run: %s\n", said);
			return -1;
		}
		n += (size_t)r;
	}
	return 0;
}

static double percent(pid_t pid, int64_t dur_ns)
{
	int64_t cpu_ns = bench_cpu_ns(pid), start_mono_ns = mono_now_ns();

	mono_sleep_until(start_mono_ns + dur_ns);
	cpu_ns = bench_cpu_ns(pid) - cpu_ns;
	return 100.0 * (double)cpu_ns / (double)(mono_now_ns() - start_mono_ns);
}

/* It may well have used nothing at all. */
static bool has_exited(pid_t pid)
{
	siginfo_t si = { 0 };

	return waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || si.si_pid == pid;
}

static int measure(struct bench *b, pid_t pid)
{
	int64_t dur_ns = b->smoke ? 200 * NS_PER_MS : 4 * NS_PER_S;
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 5);

	mono_sleep_until(mono_now_ns() + dur_ns / 4); /* what starting has left to do is no idling */
	for (unsigned i = 0; i < n; i++) {
		pairs[i] = (struct bench_pair){ .ours = percent(pid, dur_ns) };
		if (has_exited(pid))
			return -1;
	}
	bench_report(b, "component_idle", "%", "", BENCH_VALUE, pairs, n, 0.5);
	return 0;
}

static int run_host(struct bench *b)
{
	char dag[BENCH_PATH + 16];
	int log[2], r;
	pid_t pid;

	snprintf(dag, sizeof(dag), "%s/idle.dag.json", b->dir);
	if (write_dag(b, dag) < 0 || pipe(log) < 0)
		return -1;
	pid = spawn(b, dag, log[1]);
	close(log[1]);
	r = await_running(log[0]);
	if (r == 0)
		r = measure(b, pid);
	kill(pid, SIGTERM);
	bench_wait(pid);
	close(log[0]);
	return r;
}

static int run_component_idle(struct bench *b)
{
	int r = bench_call(b, "io.simd.Control.SetSource", "{\"source\":\"system\"}", NULL);

	if (r >= 0)
		r = run_host(b);
	if (bench_call(b, "io.simd.Control.SetSource", "{\"source\":\"unity\"}", NULL) < 0)
		r = -1;
	return r;
}

const struct bench_case bench_component_idle = { "component_idle", run_component_idle, NULL };
