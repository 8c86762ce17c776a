/* SPDX-License-Identifier: Apache-2.0 */
/* See run_hunt.h. Threads: the runner's; the hunter is a process with one. */
#include "run_hunt.h"

#include "timeutil.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wait.h"

#define PAUSE_US    50000
#define HOLD_MAX_MS 2000
#define STOP_LOOKS  25 /* of 2 ms, for a thread to stop */
#define HELD_MAX    4  /* processes at once */
#define ONE_IN      8  /* of the turns strikes */
#define THREADS_MAX 256
#define BELOW_MAX   1024
#define DEPTH_MAX   32

struct held {
	int64_t until_mono_ns; /* 0: this place is free */
	unsigned n;
	pid_t thread[THREADS_MAX];
};

struct hunter {
	pid_t runner;
	uint64_t seed;
	struct held held[HELD_MAX];
};

static volatile sig_atomic_t stop;

static void on_stop(int sig)
{
	(void)sig;
	stop = 1;
}

static uint64_t draw(struct hunter *h)
{
	h->seed ^= h->seed << 13;
	h->seed ^= h->seed >> 7;
	h->seed ^= h->seed << 17;
	return h->seed;
}

/* ---- one process ---- */

/* The signal that a thread was about to take when it stopped, which goes on with it; 0: none. */
static int signal_of(int status)
{
	return status >> 16 ? 0 : WSTOPSIG(status);
}

static void let_thread_go(pid_t thread, int status)
{
	(void)ptrace(PTRACE_DETACH, thread, NULL, (void *)(intptr_t)signal_of(status));
}

static void let_go(struct held *p)
{
	for (unsigned i = 0; i < p->n; i++)
		let_thread_go(p->thread[i], PTRACE_EVENT_STOP << 16);
	p->n = 0;
	p->until_mono_ns = 0;
}

static void let_all_go(struct hunter *h)
{
	for (unsigned i = 0; i < HELD_MAX; i++)
		let_go(&h->held[i]);
}

/* One that waits for a child of vfork() stops only when that goes on, which may be held: then all go on. */
static pid_t await_stop(struct hunter *h, pid_t thread, int *ret_status)
{
	for (int looks = 0; !stop; looks++) {
		pid_t had;

		if (looks % STOP_LOOKS == 0)
			(void)ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
		had = waitpid(thread, ret_status, __WALL | WNOHANG);
		if (had)
			return had;
		if (looks == STOP_LOOKS)
			let_all_go(h);
		wait_look_again();
	}
	return -1;
}

/* A thread that ends meanwhile, by a SIGKILL, is reported here as well, and with that gone. */
static bool stop_thread(struct hunter *h, pid_t thread, int *ret_status)
{
	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0)
		return false;
	return await_stop(h, thread, ret_status) == thread && WIFSTOPPED(*ret_status);
}

static bool is_held(const struct held *p, pid_t thread)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->thread[i] == thread)
			return true;
	return false;
}

/* Stops the threads that are not held yet; how many that were. */
static unsigned hold_some(struct hunter *h, struct held *p, pid_t pid)
{
	unsigned had = p->n;
	struct dirent *e;
	char path[64];
	int status;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && p->n < THREADS_MAX && (e = readdir(d))) {
		pid_t thread = (pid_t)atoi(e->d_name);

		if (thread <= 0 || is_held(p, thread) || !stop_thread(h, thread, &status))
			continue;
		if (signal_of(status)) /* it has something to do first, and is left out */
			let_thread_go(thread, status);
		else
			p->thread[p->n++] = thread;
	}
	if (d)
		closedir(d);
	return p->n - had;
}

/* ---- which ---- */

static pid_t parent_of(pid_t pid)
{
	char path[64], line[512], *end;
	int parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (f && fgets(line, sizeof(line), f) && (end = strrchr(line, ')')))
		(void)sscanf(end, ") %*c %d", &parent);
	if (f)
		fclose(f);
	return (pid_t)parent;
}

/* Below the runner, and not the hunter. */
static bool is_of_a_test(const struct hunter *h, pid_t pid)
{
	pid_t self = getpid();

	for (int up = 0; pid > 1 && pid != self && up < DEPTH_MAX; up++)
		if ((pid = parent_of(pid)) == h->runner)
			return true;
	return false;
}

static pid_t choose(struct hunter *h)
{
	DIR *d = opendir("/proc");
	pid_t found[BELOW_MAX];
	struct dirent *e;
	unsigned n = 0;

	while (d && n < BELOW_MAX && (e = readdir(d))) {
		found[n] = (pid_t)atoi(e->d_name);
		n += found[n] > 1 && is_of_a_test(h, found[n]);
	}
	if (d)
		closedir(d);
	return n ? found[draw(h) % n] : 0;
}

/* ---- the hunter ---- */

static void strike(struct hunter *h, struct held *p)
{
	pid_t pid = choose(h);

	for (int rounds = 0; pid && rounds < 3 && hold_some(h, p, pid); rounds++)
		; /* threads that others had started meanwhile */
	if (p->n)
		p->until_mono_ns = mono_now_ns() + (int64_t)(1 + draw(h) % HOLD_MAX_MS) * NS_PER_MS;
}

static void hunt(struct hunter *h)
{
	int status;

	while (!stop && getppid() == h->runner) {
		struct held *spare = NULL;

		/* held ones that were killed: their parents learn of it when this process has */
		while (waitpid(-1, &status, WNOHANG | __WALL) > 0)
			;
		for (unsigned i = 0; i < HELD_MAX; i++) {
			if (h->held[i].until_mono_ns && h->held[i].until_mono_ns <= mono_now_ns())
				let_go(&h->held[i]);
			if (!h->held[i].until_mono_ns)
				spare = &h->held[i];
		}
		if (spare && draw(h) % ONE_IN == 0)
			strike(h, spare);
		pace_us(PAUSE_US);
	}
	let_all_go(h);
}

pid_t hunt_start(uint64_t seed)
{
	struct hunter h = { .runner = getpid(), .seed = seed * 2654435761u + 1 };
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		signal(SIGTERM, on_stop);
		signal(SIGINT, on_stop);
		hunt(&h);
		_exit(0); /* what it still traces goes on */
	}
	return pid > 0 ? pid : 0;
}

void hunt_stop(pid_t hunter)
{
	if (!hunter)
		return;
	kill(hunter, SIGTERM);
	waitpid(hunter, NULL, 0);
}

void hunt_handicap(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((unsigned)getpid() % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	(void)setpriority(PRIO_PROCESS, 0, 19);
}
