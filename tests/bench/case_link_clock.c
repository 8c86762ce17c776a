/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_clock_error: by how much simulated time differs on two machines, of which one follows the other, with 1 ms of
 * delay each way in the switch between them: the 99th percentile of a minute, sampled every millisecond. Both machines
 * share one CLOCK_MONOTONIC here, and one process maps the clock pages of both, so that their times are compared for
 * exactly the same moment. link_clock_stated: the follower's own stated bound, the median of one query a second.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include <sim/sim.h>

#include "machines.h"
#include "switch.h"
#include "system/link/machine.h"

#define EVERY_US   1000
#define SAMPLES    60000u
#define SETTLED_NS (20 * NS_PER_MS) /* the follower has come to where it is to be */

struct arena {
	struct bench_pair error[BENCH_PAIRS_MAX], stated[BENCH_PAIRS_MAX];
	unsigned n, samples;
	double sample[SAMPLES], bound[SAMPLES / 1000 + 1];
};

static struct sim_client *watcher(const struct rig *r, unsigned i)
{
	char path[100];
	const struct sim_client_options o = {
		.size = sizeof(o), .name = "watcher", .socket = path, .flags = SIM_CLIENT_NO_DATA
	};
	struct sim_client *c = NULL;

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/rt/control", (int)r->m[i].holder);
	if (sim_connect(&o, &c) < 0)
		fprintf(stderr, "bench: watcher: %s\n", sim_why());
	return c;
}

static double error_now_ns(const struct sim_client *a, const struct sim_client *b)
{
	struct sim_clock_sample sa, sb;
	int64_t off;

	sim_now_sample(a, &sa);
	sim_now_sample(b, &sb);
	off = sb.sim_ns - sa.sim_ns - (sb.mono_ns - sa.mono_ns) * sa.rate_e6 / SIM_RATE_ONE;
	return (double)(off < 0 ? -off : off);
}

/* -1: it does not follow. */
static double stated_ns(struct sim_client *b)
{
	char *text = NULL;
	json_t *k, *v;
	double ns = -1;

	if (sim_call(b, "io.simd.Control.GetClock", "{}", &text) < 0)
		return -1;
	k = json_loads(text, 0, NULL);
	v = json_object_get(json_object_get(k, "clock"), "error_ns");
	if (json_is_integer(v))
		ns = (double)json_integer_value(v);
	json_decref(k);
	free(text);
	return ns;
}

static bool settled(const struct sim_client *a, struct sim_client *b)
{
	double ns = stated_ns(b);

	return ns >= 0 && ns < SETTLED_NS && error_now_ns(a, b) < SETTLED_NS;
}

static int sample(struct arena *x, const struct sim_client *a, struct sim_client *b, unsigned run)
{
	int64_t due_mono_ns = mono_now_ns();
	unsigned bounds = 0;
	double p50;

	for (unsigned i = 0; i < x->samples; i++) {
		x->sample[i] = error_now_ns(a, b) / 1e3;
		if (i % 1000 == 0) {
			double ns = stated_ns(b);

			if (ns < 0)
				return -ENOTCONN;
			x->bound[bounds++] = ns / 1e3;
		}
		due_mono_ns += EVERY_US * 1000;
		mono_sleep_until(due_mono_ns);
	}
	p50 = bench_median(x->sample, x->samples);
	x->error[run].ours = bench_percentile(x->sample, x->samples, 0.99);
	x->stated[run].ours = bench_median(x->bound, bounds);
	printf("  p50 %.1f us, p99 %.1f, max %.1f; stated %.1f\n", p50, x->error[run].ours, x->sample[x->samples - 1],
	       x->stated[run].ours);
	return 0;
}

static int measure(struct rig *r)
{
	static const struct switch_rules slow = { .delay_dur_ns = NS_PER_MS };
	struct arena *x = r->arg;
	struct sim_client *a, *b;
	int e = 0;

	for (unsigned i = 0; i < 2; i++)
		if (switch_set(r->net, i, SWITCH_OUT, &slow) < 0)
			return -EIO;
	rig_start(r, 0, false, "simulation", ",\"time\":\"give\"");
	rig_start(r, 1, false, "link", ",\"time\":\"follow\"");
	a = watcher(r, 0);
	b = watcher(r, 1);
	if (!a || !b)
		return -EIO;
	BENCH_UNTIL(30, settled(a, b));
	for (unsigned i = 0; i < x->n && e == 0; i++)
		e = sample(x, a, b, i);
	sim_disconnect(a);
	sim_disconnect(b);
	return e;
}

static int run_link_clock(struct bench *b)
{
	struct arena *x = bench_arena(sizeof(*x));
	int r;

	x->n = bench_runs(b, 3);
	x->samples = b->smoke ? 2000 : SAMPLES;
	r = rig_run(b, 2, measure, x);
	if (r == 0) {
		bench_report(b, "link_clock_error", "us", NULL, BENCH_VALUE, x->error, x->n, 200);
		bench_report(b, "link_clock_stated", "us", NULL, BENCH_VALUE, x->stated, x->n, 0);
	}
	bench_arena_free(x, sizeof(*x));
	return r < 0 ? r : 0;
}

const struct bench_case bench_link_clock = { "link_clock", run_link_clock, NULL };
