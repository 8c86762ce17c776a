/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch_pool_rate: empty tasks a second in simd's pool against GLib's GThreadPool. dispatch_pool_latency: push ->
 * start of a task against the plain queue anybody would write (list, mutex, condition variable). Two threads each.
 */
#include <glib.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "dispatch/pool.h"
#include "timeutil.h"

#define WORKERS   2
#define TASKS_MAX 200000
#define SAMPLES   4000
#define GAP_US    50

struct task {
	struct pool_task pool; /* first */
	struct task *next;
};

struct plain {                /* the queue anybody would write */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	struct task *head, **tail;
	bool stop;
	pthread_t thread[WORKERS];
};

struct pool_arena {
	bool smoke;
	unsigned runs;
	struct bench_pair rate[BENCH_PAIRS_MAX], latency[BENCH_PAIRS_MAX];
};

static struct task tasks[TASKS_MAX];
static _Alignas(64) _Atomic uint32_t started;
static _Atomic int64_t started_mono_ns;

static void count_one(void)
{
	atomic_fetch_add_explicit(&started, 1, memory_order_relaxed);
}

static void note_start(void)
{
	atomic_store(&started_mono_ns, mono_now_ns());
	atomic_fetch_add(&started, 1);
}

static void await_all(uint32_t n)
{
	while (atomic_load(&started) < n)
		sched_yield();
}

/* ---- rates ---- */

static void run_count(struct pool_task *t)
{
	(void)t;
	count_one();
}

static void glib_count(gpointer data, gpointer user)
{
	(void)data;
	(void)user;
	count_one();
}

static double rate_ours(struct pool *p, unsigned n)
{
	int64_t start = mono_now_ns();

	atomic_store(&started, 0);
	for (unsigned i = 0; i < n; i++) {
		tasks[i].pool.run = run_count;
		pool_push(p, &tasks[i].pool);
	}
	await_all(n);
	return n * 1e9 / (double)(mono_now_ns() - start);
}

static double rate_glib(GThreadPool *p, unsigned n)
{
	int64_t start = mono_now_ns();

	atomic_store(&started, 0);
	for (unsigned i = 0; i < n; i++)
		g_thread_pool_push(p, &tasks[i], NULL);
	await_all(n);
	return n * 1e9 / (double)(mono_now_ns() - start);
}

/* ---- latencies ---- */

static void run_note(struct pool_task *t)
{
	(void)t;
	note_start();
}

static struct task *plain_pop(struct plain *q)
{
	struct task *t;

	pthread_mutex_lock(&q->lock);
	while (!q->head && !q->stop)
		pthread_cond_wait(&q->changed, &q->lock);
	t = q->head;
	if (t && !(q->head = t->next))
		q->tail = &q->head;
	pthread_mutex_unlock(&q->lock);
	return t;
}

static void *plain_main(void *arg)
{
	while (plain_pop(arg))
		note_start();
	return NULL;
}

static void plain_push(struct plain *q, struct task *t)
{
	t->next = NULL;
	pthread_mutex_lock(&q->lock);
	*q->tail = t;
	q->tail = &t->next;
	pthread_mutex_unlock(&q->lock);
	pthread_cond_signal(&q->changed);
}

static void plain_start(struct plain *q)
{
	*q = (struct plain){ .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	q->tail = &q->head;
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&q->thread[i], NULL, plain_main, q))
			abort();
}

static void plain_stop(struct plain *q)
{
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_mutex_unlock(&q->lock);
	pthread_cond_broadcast(&q->changed);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(q->thread[i], NULL);
}

static double latency(struct pool *p, struct plain *q, bool ours, unsigned n)
{
	static double sample[SAMPLES];

	atomic_store(&started, 0);
	for (unsigned i = 0; i < n; i++) {
		int64_t start;

		usleep(GAP_US);
		tasks[i].pool.run = run_note;
		start = mono_now_ns();
		if (ours)
			pool_push(p, &tasks[i].pool);
		else
			plain_push(q, &tasks[i]);
		await_all(i + 1);
		sample[i] = (double)(atomic_load(&started_mono_ns) - start);
	}
	return bench_median(sample, n);
}

/* ---- both, in a process of their own ---- */

static int pool_main(void *arg)
{
	struct pool_arena *a = arg;
	unsigned n = a->smoke ? 2000 : TASKS_MAX, m = a->smoke ? 50 : SAMPLES / 4;
	struct pool_options o = { .name = "bench", .threads_min = WORKERS, .threads_max = WORKERS };
	GThreadPool *g = g_thread_pool_new(glib_count, NULL, WORKERS, TRUE, NULL);
	struct plain q;
	struct pool *p;

	if (!g || pool_create(&o, &p) < 0)
		return 1;
	plain_start(&q);
	for (unsigned i = 0; i < a->runs; i++) {
		a->rate[i].reference = rate_glib(g, n);
		a->rate[i].ours = rate_ours(p, n);
		a->latency[i].reference = latency(p, &q, false, m);
		a->latency[i].ours = latency(p, &q, true, m);
	}
	plain_stop(&q);
	pool_destroy(p);
	g_thread_pool_free(g, FALSE, TRUE);
	return 0;
}

static int run_pool(struct bench *b)
{
	struct pool_arena *a = bench_arena(sizeof(*a));
	int r;

	a->smoke = b->smoke;
	a->runs = bench_runs(b, 9);
	r = bench_wait(bench_fork(pool_main, a)) ? -1 : 0;
	if (r == 0) {
		bench_report(b, "dispatch_pool_rate", "task/s", "GThreadPool", BENCH_RATE, a->rate, a->runs, 5);
		bench_report(b, "dispatch_pool_latency", "ns", "mutex and condition", BENCH_COST, a->latency, a->runs,
			     1.1);
	}
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_pool = { "pool", run_pool, "dispatch_pool_rate dispatch_pool_latency" };
