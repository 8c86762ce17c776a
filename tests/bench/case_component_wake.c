/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component_wake: from the call that publishes until proc begins in another process, against two futex hops on the same
 * path: to a thread of the other process, and from it to another one there, as a message goes to the receiving thread
 * and to a worker. Both ends are asleep before each. Writer and worker on CPU 0, the receiving thread on CPU 1, as the
 * ends and the middle of dispatch_start; then nothing pinned, for information.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <sim/sim.h>

#include "component.h"
#include "futex.h"

#define SAMPLES   4000
#define SETTLE_US 60 /* everybody is asleep by then */
#define FIRST_MS  20 /* for the message that finds no subscriber yet */

struct wake_arena {
	struct bench *b;
	unsigned runs, count;
	bool pinned;
	_Atomic bool failed;
	_Alignas(64) _Atomic uint32_t to_receiver, to_worker; /* of the floor: bumped for each hop */
	_Alignas(64) _Atomic uint32_t begun;                  /* bumped by the process woken last; a futex */
	_Atomic int64_t begun_mono_ns;
	struct bench_pair pair[BENCH_PAIRS_MAX];
	double sample[SAMPLES];
};

static void bump(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	futex_wake_all(word, FUTEX_BETWEEN_PROCESSES);
}

static void await(_Atomic uint32_t *word, uint32_t seen)
{
	while (atomic_load(word) == seen)
		futex_wait(word, seen, INT64_MAX, FUTEX_BETWEEN_PROCESSES);
}

static void begun(struct wake_arena *a)
{
	atomic_store(&a->begun_mono_ns, mono_now_ns());
	bump(&a->begun);
}

/* ---- the process that is woken ---- */

static void *floor_receiver(void *arg)
{
	struct wake_arena *a = arg;

	if (a->pinned)
		bench_pin(1);
	for (uint32_t n = 0;; n++) {
		await(&a->to_receiver, n);
		bump(&a->to_worker);
	}
	return NULL;
}

static void *floor_worker(void *arg)
{
	struct wake_arena *a = arg;

	if (a->pinned)
		bench_pin(0);
	for (uint32_t n = 0;; n++) {
		await(&a->to_worker, n);
		begun(a);
	}
	return NULL;
}

static struct wake_arena *arena; /* of this process */

static int proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)c;
	(void)self;
	(void)m;
	begun(arena);
	return 0;
}

static const struct sim_component_class woken = {
	.abi = SIM_COMPONENT_ABI, .size = sizeof(woken), .name = "Woken", .n_inputs = 1, .proc = proc
};

static int host_main(void *arg)
{
	static const char apart[] = "{\"threads\":[{\"name\":\"shm\",\"cpuset\":\"1\"}],\"classic_conf\":{\"groups\":["
				    "{\"processor_num\":1,\"cpuset\":\"0\"}]}}";
	struct sim_component_options o = { .size = sizeof(o), .n_inputs = 1, .input[0] = { .channel = "/wake" } };
	struct wake_arena *a = arena = arg;
	struct sim_host *h = bench_host(a->b, "wake-host", a->pinned ? apart : NULL);
	struct sim_component *c;
	pthread_t t[2];

	o.name = a->pinned ? "woken" : "woken-anywhere"; /* simd may not have noticed yet that the other one is gone */
	if (sim_component_create(h, &woken, &o, &c) < 0 || sim_host_start(h) < 0) {
		fprintf(stderr, "bench: woken: %s\n", sim_why());
		atomic_store(&a->failed, true);
		return 1;
	}
	if (pthread_create(&t[0], NULL, floor_receiver, a) || pthread_create(&t[1], NULL, floor_worker, a))
		return 1;
	return sim_host_run(h); /* until it is killed */
}

/* ---- the one that wakes ---- */

static int publish(struct sim_node_writer *w)
{
	char body[64] = { 0 };

	return sim_node_write_copy(w, body, sizeof(body), 0);
}

static int one(struct wake_arena *a, struct sim_node_writer *w, double *ret_ns)
{
	uint32_t before = atomic_load(&a->begun);
	int64_t start_mono_ns;
	int r = 0;

	pace_us(SETTLE_US);
	start_mono_ns = mono_now_ns();
	if (w)
		r = publish(w);
	else
		bump(&a->to_receiver);
	if (r == 0)
		await(&a->begun, before);
	*ret_ns = (double)(atomic_load(&a->begun_mono_ns) - start_mono_ns);
	return r;
}

/* w NULL: of the floor. */
static int measure(struct wake_arena *a, struct sim_node_writer *w, double *ret_ns)
{
	for (unsigned i = 0; i < a->count; i++) {
		int r = one(a, w, &a->sample[i]);

		if (r < 0)
			return r;
	}
	*ret_ns = bench_median(a->sample, a->count);
	return 0;
}

/* The first messages are not delivered: the writer does not know its readers yet. */
static int await_first(struct wake_arena *a, struct sim_node_writer *w)
{
	for (int64_t end_ms = wait_now_ms() + 20000; wait_now_ms() < end_ms && !atomic_load(&a->failed);) {
		int r = publish(w);

		if (r < 0)
			return r;
		if (HOLDS_WITHIN(FIRST_MS, atomic_load(&a->begun)))
			return 0;
	}
	fprintf(stderr, "bench: nobody is woken\n");
	return -1;
}

static int writer_main(void *arg)
{
	struct wake_arena *a = arg;
	struct sim_node_writer *w;
	struct sim_host *h;
	int r;

	if (a->pinned)
		bench_pin(0);
	h = bench_host(a->b, "wake-writer", NULL);
	w = bench_writer(bench_node(h, a->pinned ? "wakes" : "wakes-anywhere"), "/wake", SIM_TRANSPORT_HYBRID);
	r = await_first(a, w);
	pace_us(1000 * FIRST_MS); /* messages on their way arrive */
	for (unsigned i = 0; i < a->runs && r == 0; i++) {
		r = measure(a, NULL, &a->pair[i].reference);
		if (r == 0)
			r = measure(a, w, &a->pair[i].ours);
	}
	if (r < 0)
		fprintf(stderr, "bench: wakes: %s\n", sim_why());
	return r < 0;
}

static int run_pair(struct bench *b, struct wake_arena *a, bool pinned)
{
	pid_t host;
	int r;

	*a = (struct wake_arena){ .b = b, .runs = bench_runs(b, 9), .count = b->smoke ? 20 : 1000, .pinned = pinned };
	host = bench_fork(host_main, a);
	r = bench_wait(bench_fork(writer_main, a)) ? -1 : 0;
	kill(host, SIGKILL);
	bench_wait(host);
	if (r == 0)
		bench_report(b, pinned ? "component_wake" : "component_wake_unpinned", "ns", "two futex hops",
			     BENCH_COST, a->pair, a->runs, pinned ? 1.5 : 0);
	return r;
}

static int run_component_wake(struct bench *b)
{
	struct wake_arena *a = bench_arena(sizeof(*a));
	int r = 0;

	for (int pinned = sysconf(_SC_NPROCESSORS_ONLN) > 1; pinned >= 0 && r == 0; pinned--)
		r = run_pair(b, a, pinned);
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_component_wake = { "component_wake", run_component_wake, NULL };
