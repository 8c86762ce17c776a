/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process that does not answer could have: on a machine that is overloaded, a process that is ready to run may not be given a
 * CPU for seconds, and is neither stopped nor stuck. By /proc, so of any process whose /proc is readable: who is not seen there, as in
 * another pid namespace, is taken for one that could have. Thread: any.
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
static inline bool proc_cpu_starved(const struct proc_cpu *now, const struct proc_cpu *since, int64_t passed_ns)
{
	return now->ready && now->ran_ns - since->ran_ns < passed_ns / 4;
}

#define PROC_SLICE_DUR_NS INT64_C(100000000)
#define PROC_SPARE_DUR_NS INT64_C(8000000000) /* excused at the most: what never runs serves nobody */

/*
 * A wait for others, in slices: of its bound those count in which they could have run, and of one that we come back from late, as we
 * had no CPU either, no more than a slice. The first counts whatever happens: what most waits do not need is not looked up.
 */
struct proc_wait {
	pid_t pid[2];                      /* 0: nobody */
	int64_t left_dur_ns, spare_dur_ns; /* of the bound; of what may still be excused, 0: all time counts */
	int64_t slice_mono_ns;             /* begin of the present slice */
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

/* Until when to sleep before the next question. */
static inline int64_t proc_wait_until(const struct proc_wait *w)
{
	return w->slice_mono_ns + (w->left_dur_ns < PROC_SLICE_DUR_NS ? w->left_dur_ns : PROC_SLICE_DUR_NS);
}

/* Whether the bound is used up. Ask then, or more often. */
static inline bool proc_wait_over(struct proc_wait *w, int64_t now_mono_ns)
{
	if (now_mono_ns >= proc_wait_until(w)) {
		proc_wait_account(w, now_mono_ns - w->slice_mono_ns);
		w->slice_mono_ns = now_mono_ns;
	}
	return w->left_dur_ns <= 0;
}

#endif
