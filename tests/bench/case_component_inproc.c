/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component_inproc: messages a second from a writer to the callback of a reader of its own host, against the same
 * through shared memory.
 *
 * component_inproc_call: against a plain call through a queue. Its writer makes the same message: a header with type,
 * number, frame, stamp in simulated time, its generation and the time of publishing (one look at the clock), and a copy
 * of the body. It fills that in in a ring, under a lock, and signals a condition if the ring was empty: as a task is
 * notified when nothing of it waits. One thread copies it out, under the lock, and calls the function with it. The
 * queue lacks all other features of a channel: no check for other subscribers or for concurrent writers, no counters,
 * no history, no bound. component_inproc_bare: the same queue with 64 bytes without stamp and number; the cost of a
 * message beside mere bytes.
 *
 * All threads on one CPU, in bursts: first all are written, then all are taken, so that neither the kernel's scheduler
 * nor which end is ahead decides the figure. SCHED_BATCH ensures that: otherwise the woken thread now and then takes
 * the CPU from the writing one, and goes to sleep again after one message; four such switches or ten in a burst cost
 * more than the messages.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <sim/msg/Ultrasonic.h>
#include <sim/sim.h>

#include "component.h"
#include "futex.h"

#define BODY        64
#define BURST       128u /* what a queue holds */
#define LOST_DUR_NS (10 * NS_PER_S)
#define PASSES      100 /* best of: a preempted burst says nothing about the code */

enum way { OURS, SHM, CALL, BARE, WAYS };

struct inproc_arena {
	struct bench *b;
	unsigned runs, bursts;
	double rate[BENCH_PAIRS_MAX][WAYS];
};

/* The function called in each case: counts, and reports the last message of a burst. */
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
	sim_node_reader_fn fn;
	void *user;
	size_t size; /* of what is used of it */
	char body[BODY];
	struct sim_message m; /* not in BARE */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct call call[2 * BURST];
	uint64_t head, tail, sequence;
} calls = { .lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER };

static void message_fill(struct sim_message *m, const struct sim_clock_sample *now)
{
	m->header = (struct sim_slot){ .magic = SIM_SLOT_MAGIC,
				       .version = SIM_SLOT_VERSION,
				       .type_hash = sim_Ultrasonic_type.hash,
				       .sequence = ++calls.sequence,
				       .stamp_sim_ns = now->sim_ns,
				       .publish_mono_ns = now->mono_ns,
				       .clock_generation = now->clock_generation,
				       .body_size = BODY,
				       .frame_id = "frame" };
	m->body_size = BODY;
}

/* now NULL: the body alone. */
static void call(sim_node_reader_fn fn, void *user, const void *body, const struct sim_clock_sample *now)
{
	struct call *c;
	bool wake;

	pthread_mutex_lock(&calls.lock);
	c = &calls.call[calls.tail % (2 * BURST)];
	c->fn = fn;
	c->user = user;
	c->size = now ? sizeof(*c) : offsetof(struct call, m);
	memcpy(c->body, body, BODY);
	if (now)
		message_fill(&c->m, now);
	wake = calls.tail++ == calls.head;
	pthread_mutex_unlock(&calls.lock);
	if (wake)
		pthread_cond_signal(&calls.filled);
}

static void *serve(void *unused)
{
	struct call c, *at;

	for (;;) {
		pthread_mutex_lock(&calls.lock);
		while (calls.head == calls.tail)
			pthread_cond_wait(&calls.filled, &calls.lock);
		at = &calls.call[calls.head++ % (2 * BURST)];
		memcpy(&c, at, at->size);
		pthread_mutex_unlock(&calls.lock);
		c.m.body = c.body;
		c.fn(c.user, &c.m);
	}
	return unused;
}

/* ---- a role ---- */

struct side {
	struct sim_client *client;
	struct counter counter[WAYS];
	struct sim_node_writer *writer[WAYS];
};

static void on_message(void *user, const struct sim_message *m)
{
	(void)m;
	count(user);
}

static int put(struct side *s, enum way way, const char *body)
{
	struct sim_clock_sample now;

	if (way == OURS || way == SHM)
		return sim_node_write_copy(s->writer[way], body, BODY, 0);
	if (way == CALL) {
		sim_now_sample(s->client, &now);
		now.mono_ns = now.rate_e6 > 0 ? now.mono_ns
					      : mono_now_ns(); /* where time does not run it was not looked at */
	}
	call(on_message, &s->counter[way], body, way == CALL ? &now : NULL);
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
	if (sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 }) < 0)
		return 1;
	h = bench_host(a->b, "inproc", NULL);
	n = bench_node(h, "inproc");
	s.client = sim_host_client(h);
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
	a->bursts = b->smoke ? 2 : 10;
	r = bench_wait(bench_fork(role_main, a)) ? -1 : 0;
	if (r == 0) {
		report(a, "component_inproc", "the same through shared memory", SHM, 10);
		report(a, "component_inproc_call", "a call through a queue", CALL, 0.5);
		report(a, "component_inproc_bare", "64 bytes through a queue", BARE, 0);
	}
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_component_inproc = { "component_inproc", run_component_inproc, NULL };
