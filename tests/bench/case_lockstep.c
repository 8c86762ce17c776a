/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lockstep_lanes: messages a second in lock-step through a bridge that computes for 2 ms over each, with four lanes, against the
 * same with one: lanes compute side by side and write in one order. Nothing is pinned; with one CPU there is nothing to win.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include <sim/sim.h>

#include "bench.h"

#define LANES    4
#define WORK_US  2000
#define CHANNELS 2
#define MESSAGES 16 /* of each channel in a step */
#define WARM_UP  4  /* steps in which lanes open */

struct lockstep {
	struct bench *b;
	unsigned steps;
	_Atomic int joined, over;
	double rate;
};

/* ---- the publisher ---- */

static int publish(struct sim_publisher *const *p)
{
	int r = 0;

	for (unsigned i = 0; i < CHANNELS * MESSAGES && r == 0; i++)
		r = bench_queue(p[i % CHANNELS], 64, NULL, NULL, NULL);
	return r;
}

static int sensor_main(void *arg)
{
	struct lockstep *a = arg;
	struct sim_client *c = bench_connect(a->b, "sensor");
	struct sim_publisher *p[CHANNELS];
	struct sim_step_turn turn;
	struct sim_step *s;
	char name[16];
	int r;

	for (int i = 0; i < CHANNELS; i++) {
		snprintf(name, sizeof(name), "/l/%d", i);
		p[i] = bench_advertise(c, name, 64, 0);
		bench_await_bridge(p[i]);
	}
	r = sim_step_join(c, 0, &s);
	atomic_store(&a->joined, 1);
	while (r == 0 && (r = sim_step_wait(s, -1, &turn)) == 0 && (r = publish(p)) == 0)
		r = sim_step_done(s);
	if (!atomic_load(&a->over))
		fprintf(stderr, "bench: sensor: %s\n", sim_why());
	return r < 0;
}

/* ---- the measuring driver ---- */

static int driver_main(void *arg)
{
	struct lockstep *a = arg;
	struct sim_client *c = bench_connect(a->b, "engine");
	int64_t granted, start = 0;
	struct sim_driver *d;
	int r = sim_driver_acquire(c, SIM_DRIVER_FREEWHEEL, &d);

	for (unsigned i = 0; r == 0 && i < WARM_UP + a->steps; i++) {
		start = i == WARM_UP ? mono_now_ns() : start;
		r = sim_driver_advance(d, 10 * NS_PER_MS, &granted);
	}
	a->rate = a->steps * CHANNELS * MESSAGES * 1e9 / (double)(mono_now_ns() - start);
	atomic_store(&a->over, 1);
	if (r < 0)
		fprintf(stderr, "bench: driver: %s\n", sim_why());
	sim_disconnect(c);
	return r < 0;
}

static int measure(struct lockstep *a, unsigned lanes, double *ret_rate)
{
	char rig[2 * BENCH_PATH];
	pid_t sensor;
	int r;

	a->b->lanes = lanes;
	snprintf(rig, sizeof(rig),
		 "{\"name\":\"l\",\"bridges\":[{\"name\":\"work\",\"plugin\":\"%s/../test/plugins/bridge_faulty.so\","
		 "\"options\":{\"mode\":\"work\",\"delay_us\":%d}}]}",
		 a->b->bin, WORK_US);
	r = bench_simd(a->b, rig);
	if (r < 0)
		return r;
	atomic_store(&a->joined, 0);
	atomic_store(&a->over, 0);
	sensor = bench_fork(sensor_main, a);
	BENCH_UNTIL(20, atomic_load(&a->joined));
	r = bench_wait(bench_fork(driver_main, a)) ? -EIO : 0;
	kill(sensor, SIGKILL);
	bench_wait(sensor);
	*ret_rate = a->rate;
	return r;
}

static int run_lockstep(struct bench *b)
{
	struct lockstep *a = bench_arena(sizeof(*a));
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 5);
	int r = 0;

	a->b = b;
	a->steps = b->smoke ? 2 : 10;
	for (unsigned i = 0; i < n && r == 0; i++) {
		r = measure(a, 1, &pairs[i].reference);
		if (r == 0)
			r = measure(a, LANES, &pairs[i].ours);
	}
	b->lanes = 0;
	if (r == 0)
		bench_report(b, "lockstep_lanes", "msgs/s", "one lane", BENCH_RATE, pairs, n, 1.5);
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_lockstep = { "lockstep", run_lockstep, NULL };
