/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-world with many clients, all on this machine: the server on CPU 0, those who load it on CPU 1.
 *   world_100x10      lock-step of 100 clients of 10 objects, all of whom see all, by TLS: ticks a second, against the worlds a second that each client of
 *                     the original's pattern gets, which is plain; world_ceiling: against a copy of 64 bytes an object without any protocol;
 *                     world_100x10_plain: the same two without TLS
 *   world_lockstep_2  two hosts by the library, one object each, against a bare barrier of two clients by TCP
 *   world_1000x1      1000 clients of one object at 20 Hz: percentage of heartbeats that came a quarter of a step late, or more
 *   world_interest    50 000 objects, 100 clients that see 1000 each at 20 Hz: the same
 *   world_threads     most threads of the server with 1 and with 2000 clients
 *   world_encode      time that a tick's sections cost to encode with 100 clients that see all, against one
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sim/world.h>

#include "bench.h"
#include "fd.h"
#include "tools/world/view.h"
#include "tools/world/world.h"
#include "world/frame.h"
#include "world_load.h"
#include "world_original.h"
#include "world_server.h"

/* A directory of keys for the server and the clients; an earlier run's will do. */
static int make_keys(const struct bench *b, char ret[BENCH_PATH + 16])
{
	char program[BENCH_PATH + 16];
	pid_t pid;

	snprintf(program, sizeof(program), "%s/keys/load.key", b->dir);
	snprintf(ret, BENCH_PATH + 16, "%s/keys", b->dir);
	if (access(program, R_OK) == 0)
		return 0;
	snprintf(program, sizeof(program), "%s/sim-world", b->bin);
	pid = fork();
	if (!pid) {
		execl(program, "sim-world", "--make-keys", ret, "--client", "load", (char *)NULL);
		_exit(127);
	}
	return bench_wait(pid) == 0 ? 0 : -EIO;
}

/* One server, one process of clients. objects: the number that the decoding client is to see. */
static int measure_load(struct bench *b, struct load *l, const char *step, const char *pace, int64_t dur_ns,
			uint64_t objects, struct world_measured *ret)
{
	struct world_server s = { .pid = 0 };
	pid_t pid;
	int r = world_server_start(b, &s, step, pace, l->o.keys);

	if (r == 0) {
		memset(&l->n, 0, sizeof(l->n));
		l->o.port = s.port;
		pid = bench_fork(load_main, l);
		r = world_measure(l, dur_ns, ret);
		if (r == 0 && objects && world_loaded(&l->n.seen) != objects) {
			fprintf(stderr, "bench: world: %llu of %llu objects were seen\n",
				(unsigned long long)world_loaded(&l->n.seen), (unsigned long long)objects);
			r = -EIO;
		}
		world_end(pid);
	}
	world_server_stop(&s);
	return r;
}

/* ---- against the original, and the ceiling ---- */

static int measure_roles(struct original *o, int (*server)(void *), int (*clients)(void *), int64_t dur_ns,
			 double *ret_worlds)
{
	pid_t pid[2];
	uint64_t worlds;
	int64_t begin;

	atomic_store(&o->port, 0);
	atomic_store(&o->worlds, 0);
	pid[0] = bench_fork(server, o);
	BENCH_UNTIL(20, atomic_load(&o->port));
	pid[1] = bench_fork(clients, o);
	BENCH_UNTIL(60, atomic_load(&o->worlds) >= o->clients);
	worlds = atomic_load(&o->worlds);
	begin = mono_now_ns();
	mono_sleep_until(begin + dur_ns);
	worlds = atomic_load(&o->worlds) - worlds;
	*ret_worlds = (double)worlds / o->clients / ((double)(mono_now_ns() - begin) / 1e9);
	world_end(pid[1]);
	world_end(pid[0]);
	return 0;
}

/* All see all; ours in *ret. keys: NULL: plain text. */
static int measure_100x10(struct bench *b, struct load *l, const char *keys, int64_t dur_ns, double *ret)
{
	struct world_measured m = { 0 };
	int r;

	l->o = (struct load_options){
		.clients = b->smoke ? 10 : 100, .objects = 10, .cpu = 1, .looks_on = true, .keys = keys
	};
	r = measure_load(b, l, "10ms", "0", dur_ns, (uint64_t)l->o.clients * l->o.objects, &m);
	*ret = m.ticks_per_s;
	return r;
}

static int run_100x10(struct bench *b, struct load *l, struct original *o)
{
	struct bench_pair original[BENCH_PAIRS_MAX], ceiling[BENCH_PAIRS_MAX], plain[BENCH_PAIRS_MAX];
	int64_t dur = b->smoke ? 200 * NS_PER_MS : 3 * NS_PER_S;
	char keys[BENCH_PATH + 16];
	unsigned n = bench_runs(b, 5);
	int r = make_keys(b, keys);

	o->clients = b->smoke ? 10 : 100;
	o->objects = 10;
	for (unsigned i = 0; i < n && r == 0; i++) {
		r = measure_100x10(b, l, keys, dur, &original[i].ours);
		if (r == 0)
			r = measure_100x10(b, l, NULL, dur, &plain[i].ours);
		if (r == 0)
			r = measure_roles(o, original_server, original_clients, dur, &original[i].reference);
		if (r == 0)
			r = measure_roles(o, ceiling_server, ceiling_clients, dur, &ceiling[i].reference);
		ceiling[i].ours = original[i].ours;
		plain[i].reference = original[i].reference;
	}
	if (r < 0)
		return r;
	bench_report(b, "world_100x10", "ticks/s", "the original's pattern", BENCH_RATE, original, n, 20);
	bench_report(b, "world_100x10_plain", "ticks/s", "the original's pattern", BENCH_RATE, plain, n, 0);
	bench_report(b, "world_ceiling", "ticks/s", "a bare copy", BENCH_RATE, ceiling, n, 100.0 / 360);
	return 0;
}

/* ---- two hosts ---- */

struct pair {
	struct world_server s;
	_Atomic uint64_t ticks;
};

static int host_main(void *arg)
{
	struct pair *p = arg;
	const struct sim_world_options o = {
		.size = sizeof(o), .address = p->s.address, .name = "host", .flags = SIM_WORLD_NO_THREAD
	};
	struct sim_world_object car = { .code = SIM_WORLD_VEHICLE, .velocity = { 10, 0, 0 } };
	struct sim_world_tick t;
	struct sim_world *w;
	int r;

	bench_pin(1);
	r = sim_world_connect(&o, &w);
	if (r == 0)
		r = sim_world_wait(w, -1, &t);
	while (r == 0) {
		car.time_sim_ns = t.time_sim_ns + t.step_dur_ns;
		car.position[0] = sin((double)t.tick);
		r = sim_world_put(w, &car);
		if (r == 0)
			r = sim_world_step(w, -1, &t);
		atomic_fetch_add(&p->ticks, 1);
	}
	fprintf(stderr, "bench: host: %s\n", sim_world_why());
	return 1;
}

static int measure_hosts(struct bench *b, struct pair *p, int64_t dur_ns, double *ret)
{
	pid_t pid[2];
	uint64_t ticks;
	int64_t begin;
	int r = world_server_start(b, &p->s, "10ms", "0", NULL);

	if (r < 0)
		return r;
	atomic_store(&p->ticks, 0);
	for (int i = 0; i < 2; i++)
		pid[i] = bench_fork(host_main, p);
	BENCH_UNTIL(20, atomic_load(&p->ticks) > 100);
	ticks = atomic_load(&p->ticks);
	begin = mono_now_ns();
	mono_sleep_until(begin + dur_ns);
	ticks = atomic_load(&p->ticks) - ticks;
	*ret = (double)ticks / 2 / ((double)(mono_now_ns() - begin) / 1e9);
	for (int i = 0; i < 2; i++)
		world_end(pid[i]);
	world_server_stop(&p->s);
	return 0;
}

static int run_lockstep_2(struct bench *b, struct original *o)
{
	struct pair *p = bench_arena(sizeof(*p));
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	int64_t dur = b->smoke ? 200 * NS_PER_MS : 2 * NS_PER_S;
	unsigned n = bench_runs(b, 5);
	int r = 0;

	o->clients = 2;
	o->objects = 1;
	for (unsigned i = 0; i < n && r == 0; i++) {
		r = measure_hosts(b, p, dur, &pairs[i].ours);
		if (r == 0)
			r = measure_roles(o, ceiling_server, ceiling_clients, dur, &pairs[i].reference);
	}
	if (r == 0)
		bench_report(b, "world_lockstep_2", "ticks/s", "a bare TCP barrier", BENCH_RATE, pairs, n, 0.5);
	bench_arena_free(p, sizeof(*p));
	return r;
}

/* ---- at 20 Hz ---- */

static int run_late(struct bench *b, struct load *l, const char *name, const struct load_options *o, uint64_t objects,
		    double bar)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 5);
	struct world_measured m = { 0 };
	int r = 0;

	l->o = *o;
	for (unsigned i = 0; i < n && r == 0; i++) {
		r = measure_load(b, l, "50ms", "1", b->smoke ? 300 * NS_PER_MS : 5 * NS_PER_S, objects, &m);
		pairs[i].ours = m.late_percent;
	}
	if (r == 0)
		bench_report(b, name, "%", NULL, BENCH_VALUE, pairs, n, bar);
	return r;
}

/* ---- threads ---- */

static int threads_of(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return (int)fd_stat_field(path, 20, NULL);
}

static int measure_threads(struct bench *b, struct load *l, unsigned clients, int *most)
{
	struct world_server s = { .pid = 0 };
	pid_t pid;
	int r = world_server_start(b, &s, "100ms", "1", NULL), n;

	if (r < 0)
		return r;
	memset(&l->n, 0, sizeof(l->n));
	l->o = (struct load_options){
		.port = s.port, .clients = clients, .objects = 1, .apart = 1000, .radius = 10, .cpu = 1
	};
	pid = bench_fork(load_main, l);
	BENCH_UNTIL(60, world_loaded(&l->n.here) == clients || world_loaded(&l->n.ended));
	n = threads_of(s.pid);
	*most = n > *most ? n : *most;
	r = world_loaded(&l->n.ended) ? -EIO : 0;
	world_end(pid);
	world_server_stop(&s);
	return r;
}

static int run_threads(struct bench *b, struct load *l)
{
	struct bench_pair pair = { 0 };
	int most = 0, r = measure_threads(b, l, 1, &most);

	if (r == 0)
		r = measure_threads(b, l, b->smoke ? 50 : 2000, &most);
	pair.ours = most;
	if (r == 0)
		bench_report(b, "world_threads", "threads", NULL, BENCH_VALUE, &pair, 1, 4);
	return r;
}

/* ---- what encoding costs: the core alone, in this process ---- */

static int64_t encode_ns;

/* The linker puts it in the place of section_encode() in what the server calls: tests/bench/module.mk. */
void __wrap_section_encode(const struct section *s, const struct section *base, struct wire_buf *out);
void __real_section_encode(const struct section *s, const struct section *base, struct wire_buf *out);
void __wrap_section_encode(const struct section *s, const struct section *base, struct wire_buf *out)
{
	int64_t begin = mono_now_ns();

	__real_section_encode(s, base, out);
	encode_ns += mono_now_ns() - begin;
}

static void say(struct session *s, struct wire_buf *b, size_t begin, int64_t now)
{
	if (frame_end(b, begin, FRAME_MAX_CLIENT) == 0)
		session_input(s, b->data, b->len, now);
	b->len = 0;
}

static void hello(struct session *s, struct wire_buf *b, unsigned who, int64_t now)
{
	uint8_t identity[16] = { (uint8_t)who, 1 };
	size_t begin = frame_begin(b, FRAME_HELLO);

	wire_u64(b, 1, 1);
	wire_bytes(b, 2, "one", 3);
	wire_u64(b, 3, who ? 3 : 1); /* the first drives, the others look on */
	wire_bytes(b, 4, identity, sizeof(identity));
	say(s, b, begin, now);
}

static void objects(struct session *s, struct wire_buf *b, unsigned n, uint64_t tick, int64_t now)
{
	for (unsigned i = 0; i < n; i++) {
		double x = i + sin((double)tick * 0.1 + i);
		size_t begin = frame_begin(b, FRAME_VEHICLE);

		wire_u64(b, 1, 1ull << 40 | (uint64_t)i << 16 | 1);
		wire_u64(b, 2, tick * 10000000);
		wire_doubles(b, 3, &x, 1);
		say(s, b, begin, now);
	}
}

static int encode_cost(unsigned clients, unsigned ticks, double *ret_ns)
{
	const struct world_options o = { .store = { .objects_max = 2000,
						    .objects_each_max = 2000,
						    .section_mm = 250000,
						    .step_dur_ns = 10000000 },
					 .number = 1,
					 .sessions_max = 200,
					 .members_max = 200,
					 .radius_mm = VIEW_ALL,
					 .ahead_dur_ns = NS_PER_S };
	struct session *s[128];
	struct wire_buf b = { 0 };
	const void *data;
	struct world *w;
	int64_t now = 1;
	int r = world_create(&o, now, &w);

	for (unsigned i = 0; i < clients && r == 0; i++) {
		r = session_open(w, now, &s[i]);
		if (r == 0)
			hello(s[i], &b, i, now);
	}
	if (r < 0)
		return r;
	encode_ns = 0;
	for (unsigned t = 1; t <= ticks; t++) {
		size_t begin;

		now += 10000000;
		objects(s[0], &b, 1000, t, now);
		begin = frame_begin(&b, FRAME_DONE);
		wire_u64(&b, 1, t - 1);
		say(s[0], &b, begin, now);
		while (world_turn(w, now) <= now)
			;
		for (unsigned i = 0; i < clients; i++)
			session_sent(s[i], session_output(s[i], &data));
	}
	*ret_ns = (double)encode_ns / ticks;
	world_destroy(w);
	wire_buf_finish(&b);
	return 0;
}

static int run_encode(struct bench *b)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 7), ticks = b->smoke ? 5 : 200;
	int r = 0;

	for (unsigned i = 0; i < n && r == 0; i++) {
		r = encode_cost(1, ticks, &pairs[i].reference);
		if (r == 0)
			r = encode_cost(100, ticks, &pairs[i].ours);
	}
	if (r == 0)
		bench_report(b, "world_encode", "ns", "one client", BENCH_COST, pairs, n, 1.2);
	return r;
}

/* ---- all ---- */

static int run_world(struct bench *b)
{
	const struct load_options thousand = {
		.clients = b->smoke ? 20 : 1000, .objects = 1, .cpu = 1, .looks_on = true
	};
	const struct load_options interest = {
		.clients = b->smoke ? 4 : 100, .objects = 500, .apart = 1000, .radius = 300, .cpu = 1
	};
	struct load *l = bench_arena(sizeof(*l));
	struct original *o = bench_arena(sizeof(*o));
	int r = run_100x10(b, l, o);

	if (r == 0)
		r = run_lockstep_2(b, o);
	if (r == 0)
		r = run_late(b, l, "world_1000x1", &thousand, thousand.clients, 0.5);
	if (r == 0)
		r = run_late(b, l, "world_interest", &interest, 0, 1);
	if (r == 0)
		r = run_threads(b, l);
	if (r == 0)
		r = run_encode(b);
	bench_arena_free(l, sizeof(*l));
	bench_arena_free(o, sizeof(*o));
	return r;
}

const struct bench_case bench_world = { "world", run_world, NULL };
