/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_scale: cost of a step where 1000 tasks are ready, against 10; a step only counts. One worker, so that only
 * the scheduler's work is measured. A round: a task of the lowest priority notifies all others, of priorities 1 to 19;
 * they run, highest first; then it runs again. Its own steps count as steps. scheduler_scale_turns: of one priority,
 * each requeues itself. scheduler_names: making and ending a task where 1000 are made together, against 10: each name
 * is looked for among all, and among 1000 that the configuration has.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "libclient/component/scheduler.h"

#define MANY   1000u
#define FEW    10u
#define PASSES 10 /* best of: a preempted pass says nothing about the code */

struct load {
	struct sched *s;
	struct sched_task *task[MANY], *conductor;
	unsigned n;
	bool turns;
	/* by the worker, until done */
	uint64_t left, steps;
	unsigned going; /* tasks that have yet to see that none is left */
	int64_t start_mono_ns, end_mono_ns;
	uint32_t done; /* bell */
};

static void finish(struct load *l)
{
	l->end_mono_ns = mono_now_ns();
	bell_ring(&l->done);
}

static bool count(void *user)
{
	((struct load *)user)->steps++;
	return false;
}

static bool take_turns(void *user)
{
	struct load *l = user;

	l->steps++;
	if (l->left) {
		l->left--;
		return true;
	}
	if (--l->going == 0)
		finish(l);
	return false;
}

static bool conduct(void *user)
{
	struct load *l = user;

	if (!l->steps++)
		l->start_mono_ns = mono_now_ns();
	if (!l->turns && !l->left--) {
		finish(l);
		return false;
	}
	l->going = l->n;
	for (unsigned i = 0; i < l->n; i++)
		sched_notify(l->task[i]);
	return !l->turns;
}

static int sched_make(const struct load *l, struct sched **ret)
{
	static char json[64 * 1024];
	size_t at = (size_t)snprintf(
		json, sizeof(json),
		"{\"classic_conf\":{\"groups\":[{\"processor_num\":1,\"tasks\":[{\"name\":\"conductor\",\"prio\":0}");
	struct sched_conf *conf;
	int r;

	for (unsigned i = 0; i < l->n; i++)
		at += (size_t)snprintf(json + at, sizeof(json) - at, ",{\"name\":\"t%u\",\"prio\":%u}", i,
				       l->turns ? 0 : 1 + i % 19);
	snprintf(json + at, sizeof(json) - at, "]}]}}");
	if (sched_conf_read(json, &conf) < 0)
		return -1;
	r = sched_create(conf, ret);
	sched_conf_destroy(conf);
	return r;
}

static void load_destroy(struct load *l)
{
	if (!l)
		return;
	if (l->s)
		sched_stop(l->s);
	for (unsigned i = 0; i < l->n; i++)
		sched_task_destroy(l->task[i]);
	sched_task_destroy(l->conductor);
	sched_destroy(l->s);
	free(l);
}

static struct load *load_create(unsigned n, bool turns)
{
	struct load *l = calloc(1, sizeof(*l));
	char name[16];
	int r;

	if (!l)
		return NULL;
	l->n = n;
	l->turns = turns;
	r = sched_make(l, &l->s);
	if (r == 0)
		r = sched_task_create(l->s, "conductor", conduct, l, &l->conductor);
	for (unsigned i = 0; r == 0 && i < n; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		r = sched_task_create(l->s, name, turns ? take_turns : count, l, &l->task[i]);
	}
	if (r == 0)
		r = sched_start(l->s);
	if (r < 0) {
		load_destroy(l);
		return NULL;
	}
	return l;
}

/* ns a step */
static double pass(struct load *l, unsigned steps)
{
	uint32_t seen = __atomic_load_n(&l->done, __ATOMIC_SEQ_CST);

	l->left = l->turns ? steps : steps / (l->n + 1);
	l->steps = 0;
	sched_notify(l->conductor);
	AWAIT_BELL(&l->done, __atomic_load_n(&l->done, __ATOMIC_SEQ_CST) != seen);
	return (double)(l->end_mono_ns - l->start_mono_ns) / (double)l->steps;
}

static int measure(struct bench *b, const char *name, bool turns)
{
	unsigned n = bench_runs(b, 11), steps = b->smoke ? 5000 : 500000;
	struct load *many = load_create(MANY, turns), *few = load_create(FEW, turns);
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	int r = many && few ? 0 : -1;

	for (unsigned i = 0; r == 0 && i < n; i++) {
		pairs[i] = (struct bench_pair){ 1e18, 1e18 };
		for (int k = 0; k < PASSES; k++) {
			double ours = pass(many, steps), reference = pass(few, steps);

			pairs[i].ours = ours < pairs[i].ours ? ours : pairs[i].ours;
			pairs[i].reference = reference < pairs[i].reference ? reference : pairs[i].reference;
		}
	}
	if (r == 0)
		bench_report(b, name, "ns", "10 ready tasks", BENCH_COST, pairs, n, 1.3);
	load_destroy(many);
	load_destroy(few);
	return r;
}

/* ---- names ---- */

/* ns a task: `rounds` times n are made, and ended. */
static double make_and_end(struct sched *s, unsigned n, unsigned rounds)
{
	static struct sched_task *task[MANY];
	int64_t start = mono_now_ns();
	char name[16];
	int r = 0;

	for (unsigned k = 0; k < rounds; k++) {
		for (unsigned i = 0; i < n; i++) {
			task[i] = NULL;
			snprintf(name, sizeof(name), "t%u", i);
			r |= sched_task_create(s, name, count, NULL, &task[i]);
		}
		for (unsigned i = 0; i < n; i++)
			sched_task_destroy(task[i]);
	}
	return r < 0 ? -1 : (double)(mono_now_ns() - start) / (double)(n * rounds);
}

static int measure_names(struct bench *b)
{
	unsigned n = bench_runs(b, 11), passes = b->smoke ? 1 : PASSES;
	struct load conf = { .n = MANY };
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	struct sched *s;
	int r = sched_make(&conf, &s);

	if (r < 0)
		return r;
	for (unsigned i = 0; r == 0 && i < n; i++) {
		pairs[i] = (struct bench_pair){ 1e18, 1e18 };
		for (unsigned k = 0; r == 0 && k < passes; k++) {
			double ours = make_and_end(s, MANY, 1), reference = make_and_end(s, FEW, MANY / FEW);

			r = ours < 0 || reference < 0 ? -1 : 0;
			pairs[i].ours = ours < pairs[i].ours ? ours : pairs[i].ours;
			pairs[i].reference = reference < pairs[i].reference ? reference : pairs[i].reference;
		}
	}
	if (r == 0)
		bench_report(b, "scheduler_names", "ns", "10 tasks", BENCH_COST, pairs, n, 2);
	sched_stop(s);
	sched_destroy(s);
	return r;
}

static int run_scheduler(struct bench *b)
{
	int r = measure(b, "scheduler_scale", false);

	if (r == 0)
		r = measure(b, "scheduler_scale_turns", true);
	return r < 0 ? r : measure_names(b);
}

const struct bench_case bench_scheduler = { "scheduler", run_scheduler, NULL };
