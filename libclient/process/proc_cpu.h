/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process that does not answer had a chance to: on an overloaded machine a process that is ready to run may
 * get no CPU for seconds, although it is neither stopped nor stuck. Read from /proc. A process whose /proc cannot be
 * read, as in another pid namespace, counts as one that had a chance. Thread: any.
 */
#ifndef PROC_CPU_H
#define PROC_CPU_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

struct proc_cpu {
	int64_t ran_ns; /* CPU time of all its threads */
	bool ready;     /* a thread is running or waits for a CPU */
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

/* Returns zeros if the process does not exist or is hidden. */
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

/*
 * Whether the process was ready and got less than a quarter of the time since then. A process in an endless loop gets
 * more.
 */
static inline bool proc_cpu_starved(const struct proc_cpu *now, const struct proc_cpu *since, int64_t passed_ns)
{
	return now->ready && now->ran_ns - since->ran_ns < passed_ns / 4;
}

#define PROC_SLICE_DUR_NS INT64_C(100000000)
/* most time that a wait excuses: a process that never runs must not delay others without bound */
#define PROC_SPARE_DUR_NS INT64_C(8000000000)

/*
 * A wait for other processes, in slices. Only slices in which the processes could run count towards the bound; of a
 * slice that ended late, because this process had no CPU itself, only one slice length counts. The first slice is never
 * excused as starved: /proc is read at its end for the first time, so that short waits need not read it.
 */
struct proc_wait {
	pid_t pid[2];                      /* 0: none */
	int64_t left_dur_ns, spare_dur_ns; /* rest of the bound; rest of what may be excused, 0: all time counts */
	int64_t slice_mono_ns;             /* start of the current slice */
	bool looked;
	struct proc_cpu before[2];
};

static inline bool proc_wait_starved(struct proc_wait *w, int64_t passed_ns)
{
	bool starved = false;

	for (unsigned i = 0; i < 2 && w->spare_dur_ns > 0; i++) {
		struct proc_cpu c = proc_cpu_now(w->pid[i]);

		starved |= w->looked && proc_cpu_starved(&c, &w->before[i], passed_ns);
		w->before[i] = c;
	}
	w->looked = true;
	return starved;
}

static inline void proc_wait_account(struct proc_wait *w, int64_t passed_ns)
{
	int64_t excused = passed_ns > PROC_SLICE_DUR_NS ? passed_ns - PROC_SLICE_DUR_NS : 0;

	if (proc_wait_starved(w, passed_ns))
		excused = passed_ns;
	if (excused > w->spare_dur_ns)
		excused = w->spare_dur_ns;
	w->spare_dur_ns -= excused;
	w->left_dur_ns -= passed_ns - excused;
}

static inline void proc_wait_begin(struct proc_wait *w, int64_t now_mono_ns, int64_t bound_dur_ns, int64_t spare_dur_ns)
{
	w->slice_mono_ns = now_mono_ns;
	w->left_dur_ns = bound_dur_ns;
	w->spare_dur_ns = spare_dur_ns;
}

/* Time until which to sleep before the next call of proc_wait_over(). */
static inline int64_t proc_wait_until(const struct proc_wait *w)
{
	return w->slice_mono_ns + (w->left_dur_ns < PROC_SLICE_DUR_NS ? w->left_dur_ns : PROC_SLICE_DUR_NS);
}

/* Whether the bound is used up. Call it at proc_wait_until(), or more often. */
static inline bool proc_wait_over(struct proc_wait *w, int64_t now_mono_ns)
{
	if (now_mono_ns >= proc_wait_until(w)) {
		proc_wait_account(w, now_mono_ns - w->slice_mono_ns);
		w->slice_mono_ns = now_mono_ns;
	}
	return w->left_dur_ns <= 0;
}

#endif
