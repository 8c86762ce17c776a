/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_*: reading simulated time through the clock page, inline, against the same read under a pthread mutex (as
 * AWSIM does it), and wall-driven against a bare clock_gettime. The process has a second thread throughout.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include <sim/sim.h>

#include "bench.h"
#include "timeutil.h"

#define READERS 4

enum way { BY_PAGE, BY_MUTEX, BY_SYSTEM };

struct reader {
	const struct sim_clock_page *page;
	enum way way;
	unsigned count;
	int64_t elapsed_ns;
	pthread_t thread;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t guarded_sim_ns; /* guarded by lock: what the mutex readers read */

static void by_page(const struct reader *r)
{
	for (unsigned i = 0; i < r->count; i++) {
		int64_t now = sim_clock_now(r->page, -1);

		__asm__ volatile("" ::"r"(now) : "memory");
	}
}

static void by_mutex(const struct reader *r)
{
	for (unsigned i = 0; i < r->count; i++) {
		int64_t now;

		pthread_mutex_lock(&lock);
		now = guarded_sim_ns;
		pthread_mutex_unlock(&lock);
		__asm__ volatile("" ::"r"(now) : "memory");
	}
}

static void by_system(const struct reader *r)
{
	struct timespec t;

	for (unsigned i = 0; i < r->count; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		__asm__ volatile("" ::"r"(t.tv_sec), "r"(t.tv_nsec) : "memory");
	}
}

static void *read_main(void *arg)
{
	struct reader *r = arg;
	int64_t start = mono_now_ns();

	if (r->way == BY_PAGE)
		by_page(r);
	else if (r->way == BY_MUTEX)
		by_mutex(r);
	else
		by_system(r);
	r->elapsed_ns = mono_now_ns() - start;
	return NULL;
}

/* ns a read in one thread */
static double one_reader(const struct sim_clock_page *page, enum way way, unsigned count)
{
	struct reader r = { .page = page, .way = way, .count = count };

	read_main(&r);
	return (double)r.elapsed_ns / count;
}

/* ns a read, all readers together: wall time over the sum of their reads */
static double four_readers(const struct sim_clock_page *page, enum way way, unsigned count)
{
	struct reader r[READERS];
	int64_t start = mono_now_ns();

	for (int i = 0; i < READERS; i++) {
		r[i] = (struct reader){ .page = page, .way = way, .count = count };
		pthread_create(&r[i].thread, NULL, read_main, &r[i]);
	}
	for (int i = 0; i < READERS; i++)
		pthread_join(r[i].thread, NULL);
	return (double)(mono_now_ns() - start) / ((double)count * READERS);
}

typedef double (*measure_fn)(const struct sim_clock_page *, enum way, unsigned);

static void measure(struct bench *b, const struct sim_clock_page *page, measure_fn fn, enum way ref, const char *name,
		    const char *against, enum bench_form form, double bar)
{
	unsigned n = bench_runs(b, 9), count = b->smoke ? 10000 : 5000000;
	struct bench_pair pairs[BENCH_PAIRS_MAX];

	for (unsigned i = 0; i < n; i++)
		pairs[i] = (struct bench_pair){ fn(page, BY_PAGE, count), fn(page, ref, count) };
	bench_report(b, name, "ns", against, form, pairs, n, bar);
}

static int use_source(struct bench *b, const char *source)
{
	char params[64];

	snprintf(params, sizeof(params), "{\"source\":\"%s\"}", source);
	return bench_call(b, "io.simd.Control.SetSource", params, NULL);
}

static int run_time(struct bench *b)
{
	/* its sim-io thread is the second thread of this process */
	struct sim_client_options o = {
		.size = sizeof(o), .name = "bench", .socket = b->socket, .flags = SIM_CLIENT_NO_DATA
	};
	const struct sim_clock_page *page;
	struct sim_client *c;
	int r = sim_connect(&o, &c);

	if (r < 0 || (r = use_source(b, "unity")) < 0)
		return r;
	page = sim_clock_page(c);
	measure(b, page, one_reader, BY_MUTEX, "time_read", "under a pthread mutex", BENCH_TIMES, 7);
	measure(b, page, four_readers, BY_MUTEX, "time_read_4readers", "under a pthread mutex", BENCH_TIMES, 20);
	r = use_source(b, "simulation");
	if (!r)
		measure(b, page, one_reader, BY_SYSTEM, "time_read_wall", "clock_gettime", BENCH_COST, 1.2);
	if (use_source(b, "unity") < 0)
		r = -1;
	sim_disconnect(c);
	return r;
}

const struct bench_case bench_time = { "time", run_time, NULL };
