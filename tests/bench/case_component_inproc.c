/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component_inproc: messages a second from a writer to the callback of a reader of its own host, against the same through shared memory;
 * component_inproc_call: against a queue with a lock, whose thread calls a function. All threads on one CPU, in bursts: first all are
 * written, then all are taken, so that neither the kernel's scheduler nor which end is ahead decides the figure.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <sim/sim.h>

#include "component.h"
#include "futex.h"

#define BODY        64
#define BURST       128u /* what a queue holds */
#define LOST_DUR_NS (10 * NS_PER_S)
#define PASSES      10 /* best of: a preempted burst says nothing about the code */

enum way { OURS, SHM, CALL, WAYS };

struct inproc_arena {
	struct bench *b;
	unsigned runs, bursts;
	double rate[BENCH_PAIRS_MAX][WAYS];
};

/* What is called, whichever way: counts, and tells of the last one of a burst. */
struct counter {
	_Atomic uint32_t n; /* futex */
};

static void count(struct counter *c)
{
	uint32_t n = atomic_load_explicit(&c->n, memory_order_relaxed) + 1;

	atomic_store_explicit(&c->n, n, memory_order_release);
	if (n % BURST == 0)
		futex_wake_all(&c->n, FUTEX_PRIVATE_FLAG);
}

static int await(struct counter *c, uint32_t until)
{
	int64_t end_mono_ns = mono_now_ns() + LOST_DUR_NS;
	uint32_t now;

	while ((now = atomic_load_explicit(&c->n, memory_order_acquire)) != until) {
		if (mono_now_ns() > end_mono_ns) {
			fprintf(stderr, "bench: %u messages of a burst are missing\n", until - now);
			return -ETIMEDOUT;
		}
		futex_wait_until(&c->n, now, end_mono_ns, FUTEX_PRIVATE_FLAG);
	}
	return 0;
}

/* ---- a queue of calls ---- */

struct call {
	void (*fn)(void *user, const void *body);
	void *user;
	char body[BODY];
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct call call[2 * BURST];
	uint64_t head, tail;
} calls = { .lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER };

static void call(void (*fn)(void *, const void *), void *user, const void *body)
{
	struct call *c;
	bool wake;

	pthread_mutex_lock(&calls.lock);
	c = &calls.call[calls.tail % (2 * BURST)];
	c->fn = fn;
	c->user = user;
	memcpy(c->body, body, BODY);
	wake = calls.tail++ == calls.head;
	pthread_mutex_unlock(&calls.lock);
	if (wake)
		pthread_cond_signal(&calls.filled);
}

static void *serve(void *unused)
{
	struct call c;

	for (;;) {
		pthread_mutex_lock(&calls.lock);
		while (calls.head == calls.tail)
			pthread_cond_wait(&calls.filled, &calls.lock);
		c = calls.call[calls.head++ % (2 * BURST)];
		pthread_mutex_unlock(&calls.lock);
		c.fn(c.user, c.body);
	}
	return unused;
}

/* ---- a role ---- */

struct side {
	struct counter counter[WAYS];
	struct sim_node_writer *writer[WAYS];
};

static void on_message(void *user, const struct sim_message *m)
{
	(void)m;
	count(user);
}

static void on_call(void *user, const void *body)
{
	(void)body;
	count(user);
}

static int put(struct side *s, enum way way, const char *body)
{
	if (way != CALL)
		return sim_node_write_copy(s->writer[way], body, BODY, 0);
	call(on_call, &s->counter[CALL], body);
	return 0;
}

static int burst(struct side *s, enum way way)
{
	uint32_t before = atomic_load(&s->counter[way].n);
	char body[BODY] = { 0 };

	for (unsigned i = 0; i < BURST; i++) {
		int r = put(s, way, body);

		if (r < 0)
			return r;
	}
	return await(&s->counter[way], before + BURST);
}

/* Messages a second. */
static int measure(struct side *s, enum way way, unsigned bursts, double *best)
{
	int64_t start_mono_ns = mono_now_ns();
	double rate;

	for (unsigned i = 0; i < bursts; i++) {
		int r = burst(s, way);

		if (r < 0)
			return r;
	}
	rate = 1e9 * bursts * BURST / (double)(mono_now_ns() - start_mono_ns);
	*best = rate > *best ? rate : *best;
	return 0;
}

static int make_way(struct side *s, struct sim_node *n, enum way way, const char *channel, enum sim_transport transport)
{
	struct sim_node_reader_options o = { .size = sizeof(o), .pending = BURST };
	struct sim_node_reader *r;

	s->writer[way] = bench_writer(n, channel, transport);
	return sim_node_reader_create(n, channel, NULL, &o, on_message, &s->counter[way], &r);
}

static int measure_all(struct inproc_arena *a, struct side *s)
{
	int r = 0;

	for (unsigned i = 0; i < a->runs; i++)
		for (int pass = 0; pass < (a->b->smoke ? 1 : PASSES); pass++)
			for (enum way way = 0; way < WAYS && r == 0; way++)
				r = measure(s, way, a->bursts, &a->rate[i][way]);
	return r;
}

static int role_main(void *arg)
{
	struct inproc_arena *a = arg;
	static struct side s;
	struct sim_host *h;
	struct sim_node *n;
	pthread_t t;
	int r;

	bench_pin(sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : 0);
	h = bench_host(a->b, "inproc", NULL);
	n = bench_node(h, "inproc");
	r = make_way(&s, n, OURS, "/inproc", SIM_TRANSPORT_HYBRID);
	if (r == 0)
		r = make_way(&s, n, SHM, "/inshm", SIM_TRANSPORT_SHM);
	if (r == 0)
		r = sim_host_start(h);
	if (r == 0 && pthread_create(&t, NULL, serve, NULL))
		return 1;
	if (r == 0)
		r = measure_all(a, &s);
	if (r < 0)
		fprintf(stderr, "bench: inproc: %s\n", sim_why());
	return r < 0;
}

/* ---- the case ---- */

static void report(const struct inproc_arena *a, const char *name, const char *against, enum way way, double bar)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX];

	for (unsigned i = 0; i < a->runs; i++)
		pairs[i] = (struct bench_pair){ .ours = a->rate[i][OURS], .reference = a->rate[i][way] };
	bench_report(a->b, name, "1/s", against, BENCH_RATE, pairs, a->runs, bar);
}

static int run_component_inproc(struct bench *b)
{
	struct inproc_arena *a = bench_arena(sizeof(*a));
	int r;

	a->b = b;
	a->runs = bench_runs(b, 9);
	a->bursts = b->smoke ? 2 : 200;
	r = bench_wait(bench_fork(role_main, a)) ? -1 : 0;
	if (r == 0) {
		report(a, "component_inproc", "the same through shared memory", SHM, 10);
		report(a, "component_inproc_call", "a call through a queue", CALL, 0.5);
	}
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_component_inproc = { "component_inproc", run_component_inproc, NULL };
