/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process that does not answer could have: on a machine that is overloaded, a process that is ready to run may not be given a
 * CPU for seconds, and is neither stopped nor stuck. By /proc, so of any process whose /proc is readable. Thread: any.
 */
#ifndef IPC_PROC_CPU_H
#define IPC_PROC_CPU_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

struct proc_cpu {
	int64_t ran_ns; /* of all its threads */
	bool ready;     /* one of them would run, had it a CPU */
};

static inline void proc_cpu_add(struct proc_cpu *c, pid_t pid, const char *tid)
{
	char path[64], text[512];
	long long ran = 0;
	const char *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.10s/schedstat", (int)pid, tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%lld", &ran) == 1)
		c->ran_ns += ran;
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/task/%.10s/stat", (int)pid, tid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f) && (state = strrchr(text, ')')))
		c->ready = c->ready || strncmp(state, ") R", 3) == 0;
	if (f)
		fclose(f);
}

/* Zeros of one that is not there, or hidden. */
static inline struct proc_cpu proc_cpu_now(pid_t pid)
{
	struct proc_cpu c = { 0 };
	const struct dirent *e;
	char path[32];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = pid > 0 ? opendir(path) : NULL;
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			proc_cpu_add(&c, pid, e->d_name);
	if (d)
		closedir(d);
	return c;
}

/* Ready, and given less than a quarter of the time that has passed since: who computes without end gets more. */
static inline bool proc_cpu_starved(pid_t pid, const struct proc_cpu *since, int64_t passed_ns)
{
	struct proc_cpu c = proc_cpu_now(pid);

	return c.ready && c.ran_ns - since->ran_ns < passed_ns / 4;
}

#endif
