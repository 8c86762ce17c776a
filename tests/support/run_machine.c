/* SPDX-License-Identifier: Apache-2.0 */
/* See run_machine.h. Thread: the runner's. */
#include "run_machine.h"

#include "timeutil.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MAX_DUR_NS NS_PER_S         /* the runner looks oftener, unless it was stopped */
#define WORK_STEPS      20000000         /* steps of work(), each waits for the one before it */
#define WORK_DUR_NS     (40 * NS_PER_MS) /* what they take on a processor of the kind for which limits were set */

struct ticks {
	uint64_t all, idle, steal;
	unsigned running; /* threads that run or want to */
};

static bool read_ticks(struct ticks *ret)
{
	uint64_t v[8] = { 0 };
	FILE *f = fopen("/proc/stat", "r");
	char line[512];

	*ret = (struct ticks){ 0 };
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "cpu ", 4))
			(void)sscanf(line, "cpu %lu %lu %lu %lu %lu %lu %lu %lu", &v[0], &v[1], &v[2], &v[3], &v[4],
				     &v[5], &v[6], &v[7]);
		(void)sscanf(line, "procs_running %u", &ret->running);
	}
	if (f)
		fclose(f);
	for (unsigned i = 0; i < 8; i++)
		ret->all += v[i];
	ret->idle = v[3] + v[4];
	ret->steal = v[7];
	return ret->all > 0;
}

static int64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static double slowness(void)
{
	int64_t began_ns = thread_cpu_ns(), took_dur_ns;
	volatile uint64_t sink;
	uint64_t x = 1;

	for (unsigned i = 0; i < WORK_STEPS; i++)
		x = x * 6364136223846793005u + i;
	sink = x;
	(void)sink;
	took_dur_ns = thread_cpu_ns() - began_ns;
	return took_dur_ns > WORK_DUR_NS ? (double)took_dur_ns / (double)WORK_DUR_NS : 1;
}

void machine_init(struct machine *m)
{
	struct ticks t;

	read_ticks(&t);
	*m = (struct machine){
		.looked_mono_ns = mono_now_ns(), .slowness = slowness(), .all = t.all, .idle = t.idle, .steal = t.steal
	};
}

int64_t machine_look(struct machine *m)
{
	int64_t now = mono_now_ns(), dur_ns = now - m->looked_mono_ns;
	double cores = (double)sysconf(_SC_NPROCESSORS_ONLN), share = 1;
	struct ticks t;

	if (read_ticks(&t) && t.all > m->all) {
		double all = (double)(t.all - m->all);

		m->has_idle = (double)(t.idle - m->idle) * cores / all >= 0.25;
		if (t.running > 1 && (double)(t.running - 1) > cores) /* without the runner */
			share = cores / (double)(t.running - 1);
		share *= 1 - (double)(t.steal - m->steal) / all;
		m->all = t.all;
		m->idle = t.idle;
		m->steal = t.steal;
	}
	m->looked_mono_ns = now;
	if (dur_ns > LOOK_MAX_DUR_NS)
		dur_ns = LOOK_MAX_DUR_NS;
	return (int64_t)((double)dur_ns * share / m->slowness);
}

bool machine_take_idle(struct machine *m)
{
	bool had = m->has_idle;

	m->has_idle = false;
	return had;
}
