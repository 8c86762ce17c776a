/* SPDX-License-Identifier: Apache-2.0 */
/* What roles and the orchestrator share: processes, CPUs, memory, and clients of simd. Threads: one per process. */
#include "bench.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <sim/client.h>
#include <sim/msg/Ultrasonic.h>

void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0 && errno != EINVAL)
		perror("bench: pinning");
}

void bench_pin_process(pid_t pid, int cpu)
{
	char path[64];
	struct dirent *e;
	cpu_set_t set;
	DIR *d;

	CPU_ZERO(&set);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (cpu < 0 || i == cpu)
			CPU_SET((size_t)i, &set);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (*e->d_name != '.')
			sched_setaffinity((pid_t)strtol(e->d_name, NULL, 10), sizeof(set), &set);
	if (d)
		closedir(d);
}

void *bench_arena(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED) {
		perror("bench: arena");
		exit(1);
	}
	return p;
}

void bench_arena_free(void *arena, size_t size)
{
	munmap(arena, size);
}

pid_t bench_fork(int (*fn)(void *arg), void *arg)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	_exit(fn(arg));
}

int bench_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int64_t bench_cpu_ns(pid_t pid)
{
	char path[300];
	struct dirent *e;
	int64_t sum = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		long long ns = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, e->d_name);
		f = *e->d_name == '.' ? NULL : fopen(path, "r");
		if (f && fscanf(f, "%lld", &ns) == 1)
			sum += ns;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return sum;
}

int bench_call(struct bench *b, const char *method, const char *params, char **ret)
{
	struct sim_client_options o = { .size = sizeof(o),
					.name = "bench",
					.socket = b->socket,
					.flags = SIM_CLIENT_NO_DATA | SIM_CLIENT_NO_THREAD };
	struct sim_client *c;
	char *reply = NULL;
	int r = sim_connect(&o, &c);

	if (r < 0)
		return r;
	r = sim_call(c, method, params, &reply);
	sim_disconnect(c);
	if (r >= 0 && ret)
		*ret = reply;
	else
		free(reply);
	return r;
}

/* ---- roles ---- */

static int burn(void *apart)
{
	if (*(bool *)apart)
		setsid();
	for (volatile unsigned n = 0;; n++)
		continue;
	return 0;
}

void bench_burn_start(struct bench_burners *ret, bool apart)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (ret->n = 0; ret->n < 64 && ret->n < cpus; ret->n++)
		ret->pid[ret->n] = bench_fork(burn, &apart);
}

void bench_burn_stop(struct bench_burners *x)
{
	while (x->n) {
		kill(x->pid[--x->n], SIGKILL);
		bench_wait(x->pid[x->n]);
	}
}

static void give_up(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, sim_why());
	exit(1);
}

struct sim_client *bench_connect(const struct bench *b, const char *name)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = name, .socket = b->socket, .timeout_ms = 1000 * BENCH_PATIENCE
	};
	struct sim_client *c;

	if (sim_connect(&o, &c) < 0)
		give_up(name);
	return c;
}

struct sim_publisher *bench_advertise(struct sim_client *c, const char *channel, size_t max_body, unsigned flags)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = max_body, .flags = flags };
	struct sim_publisher *p;

	if (sim_advertise(c, channel, &sim_Ultrasonic_type, &o, &p) < 0)
		give_up(channel);
	return p;
}

void bench_await_bridge(const struct sim_publisher *p)
{
	struct sim_bridges known = { 0, 0 };

	for (int64_t until = mono_now_ns() + 20 * NS_PER_S; !sim_publisher_bridges(p).connected;)
		if (sim_publisher_bridges_wait(p, &known, until - mono_now_ns()) != 1)
			give_up("no bridge is connected");
}

int bench_queue(struct sim_publisher *p, size_t size, sim_done_fn cb, void *user, int64_t *ret_mono_ns)
{
	struct sim_slot *slot;
	int r = sim_loan(p, size, &slot);

	if (r < 0)
		return r;
	memset(sim_slot_body_mut(slot), 0, 64);
	if (ret_mono_ns)
		*ret_mono_ns = mono_now_ns();
	return sim_try_queue(p, slot, NULL, cb, user);
}
