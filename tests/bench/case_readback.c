/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readback_waits_*: how often a thread that draws 1280 x 720 at 60 Hz is put to sleep by 100 read-backs into slots, one frame later, against
 * waiting for each. readback_copies_*: how often the CPU copies an image on its way. readback_stall_*: the longest time that a frame keeps the
 * thread, against one that only draws; readback_sync_*: that of waiting for each against ours. readback_rate_*: frames a second as fast as it goes, against
 * drawing and transferring alone.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "bench.h"
#include "readback.h"

#define FRAMES        100u
#define PERIOD_DUR_NS (NS_PER_S / 60)
#define WARM_FRAMES   5u

struct measured {
	_Atomic double waits, waits_each, copies, images;
	_Atomic double longest, longest_each, longest_none; /* ns */
	_Atomic double rate, rate_bare;                     /* frames a second */
};

struct role {
	struct bench *b;
	const struct scene *scene;
	struct measured *m;
	unsigned frames;
};

static void done(void *arg, struct sim_readback_ticket *t)
{
	(void)arg;
	if (t->result < 0)
		fprintf(stderr, "readback: %s\n", t->why);
}

static long sleeps(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw;
}

enum how { NONE, LATER, AT_ONCE }; /* a picture is drawn alone, read back a frame later, waited for */

struct spent {
	double sleeps, longest_ns; /* in the library's calls; of a frame */
};

static bool frame(const struct role *r, struct sim_readback *rb, unsigned i, enum how how, struct spent *sum)
{
	struct sim_readback_source s = { .size = sizeof(s), .format = SIM_READBACK_RGBA8 };
	int64_t begin_mono_ns = mono_now_ns();
	long before = sleeps();
	double dur_ns;

	if (how != NONE)
		sim_readback_process(rb);
	sum->sleeps += (double)(sleeps() - before);
	r->scene->draw(i % SCENE_RING);
	r->scene->source(i % SCENE_RING, &s);
	before = sleeps();
	if (how != NONE && sim_readback_start(rb, &s, NULL) < 0)
		return false;
	if (how == AT_ONCE && sim_readback_drain(rb, 10 * NS_PER_S) < 0)
		return false;
	sum->sleeps += (double)(sleeps() - before);
	dur_ns = (double)(mono_now_ns() - begin_mono_ns);
	sum->longest_ns = dur_ns > sum->longest_ns ? dur_ns : sum->longest_ns;
	return true;
}

static bool frames(const struct role *r, struct sim_readback *rb, unsigned n, enum how how, struct spent *ret)
{
	int64_t due = mono_now_ns();

	*ret = (struct spent){ 0 };
	for (unsigned i = 0; i < n; i++) {
		if (!frame(r, rb, i, how, ret))
			return false;
		mono_sleep_until(due += PERIOD_DUR_NS);
	}
	return sim_readback_drain(rb, 10 * NS_PER_S) == 0;
}

/* ---- as fast as it goes ---- */

static double rate_of(unsigned n, int64_t begin_mono_ns)
{
	return n / ((double)(mono_now_ns() - begin_mono_ns) / NS_PER_S);
}

static double rate_bare(const struct role *r, unsigned n)
{
	int64_t begin_mono_ns = mono_now_ns();

	for (unsigned i = 0; i < n; i++)
		if (r->scene->bare(i) < 0)
			return -1;
	return rate_of(n, begin_mono_ns);
}

/* A picture is drawn into again when the one of a ring before has arrived. */
static double rate(const struct role *r, struct sim_readback *rb, unsigned n)
{
	int64_t begin_mono_ns = mono_now_ns();
	struct sim_readback_counters c;

	for (unsigned i = 0; i < n; i++) {
		struct sim_readback_source s = { .size = sizeof(s), .format = SIM_READBACK_RGBA8 };
		int e;

		r->scene->draw(i % SCENE_RING);
		r->scene->source(i % SCENE_RING, &s);
		e = sim_readback_start(rb, &s, NULL);
		if (e < 0)
			return -1;
		for (sim_readback_get_counters(rb, &c); c.started - c.completed - c.failed >= r->scene->ahead;
		     sim_readback_get_counters(rb, &c))
			if (sim_readback_process(rb) == 0)
				mono_sleep_until(mono_now_ns() + 50000);
	}
	return sim_readback_drain(rb, 10 * NS_PER_S) < 0 ? -1 : rate_of(n, begin_mono_ns);
}

static int measure(const struct role *r, struct sim_readback *rb)
{
	struct sim_readback_counters n;
	struct spent warm, none, later, each;
	double fast = 0, bare = 0;

	if (!frames(r, rb, WARM_FRAMES, AT_ONCE, &warm) || !frames(r, rb, r->frames, NONE, &none) ||
	    !frames(r, rb, r->frames, LATER, &later) || !frames(r, rb, r->frames, AT_ONCE, &each) ||
	    (fast = rate(r, rb, r->frames)) < 0 || (bare = rate_bare(r, r->frames)) < 0) {
		fprintf(stderr, "readback: %s\n", sim_readback_why());
		return 1;
	}
	sim_readback_get_counters(rb, &n);
	r->m->rate = fast;
	r->m->rate_bare = bare;
	r->m->waits = later.sleeps;
	r->m->waits_each = each.sleeps;
	r->m->longest_none = none.longest_ns;
	r->m->longest = later.longest_ns;
	r->m->longest_each = each.longest_ns;
	r->m->copies = (double)n.copies;
	r->m->images = (double)n.completed;
	return 0;
}

static int role(void *arg)
{
	const struct role *r = arg;
	struct sim_readback_options o = {
		.size = sizeof(o),
		.shape = { .format = SIM_READBACK_RGBA8, .width = SCENE_W, .height = SCENE_H },
		.in_flight = SCENE_RING,
		.full = SIM_READBACK_DROP_NEWEST,
		.head = SIM_READBACK_HEAD_ALIGN,
		.done = done,
	};
	struct sim_client *c = bench_connect(r->b, "bench-camera");
	struct sim_readback *rb;
	int result = 1;

	o.publisher = bench_advertise(c, "/readback", sim_readback_body_size(&o.shape, o.head), SIM_PUB_LOCAL);
	if (r->scene->init(&o) < 0)
		return 1;
	if (sim_readback_create(&o, &rb) < 0)
		fprintf(stderr, "readback: %s\n", sim_readback_why());
	else
		result = measure(r, rb), sim_readback_destroy(rb);
	r->scene->finish();
	sim_publisher_destroy(o.publisher);
	sim_disconnect(c);
	return result;
}

/* name: of the measured scene, and which back end. */
static void report(struct bench *b, const char *name, const struct scene *s, const char *unit, const char *against,
		   enum bench_form form, const struct bench_pair *pairs, unsigned n, double bar)
{
	char full[64];

	snprintf(full, sizeof(full), "readback_%s_%s", name, s->name);
	bench_report(b, full, unit, against, form, pairs, n, bar);
}

static int run_scene(struct bench *b, const struct scene *scene)
{
	struct measured *m = bench_arena(sizeof(*m));
	struct role r = { b, scene, m, b->smoke ? 10 : FRAMES };
	struct bench_pair slept[BENCH_PAIRS_MAX], copied[BENCH_PAIRS_MAX], stall[BENCH_PAIRS_MAX],
		sync[BENCH_PAIRS_MAX], fast[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 5), i = 0;

	for (; i < n; i++) {
		if (bench_wait(bench_fork(role, &r)) != 0 || m->images == 0)
			break;
		/* not 0, so that there is a ratio */
		slept[i] = (struct bench_pair){ m->waits, m->waits_each > 0 ? m->waits_each : 1 };
		copied[i] = (struct bench_pair){ m->copies / m->images, 0 };
		stall[i] = (struct bench_pair){ m->longest, m->longest_none };
		sync[i] = (struct bench_pair){ m->longest, m->longest_each };
		fast[i] = (struct bench_pair){ m->rate, m->rate_bare };
	}
	bench_arena_free(m, sizeof(*m));
	if (i < n)
		return -1;
	report(b, "waits", scene, "sleeps", "waiting for each image", BENCH_COST, slept, n, 0.1);
	report(b, "copies", scene, "copies/image", "", BENCH_VALUE, copied, n, 0.01);
	report(b, "stall", scene, "ns", "drawing alone, its longest frame", BENCH_COST, stall, n, 3);
	report(b, "sync", scene, "ns", "waiting for each image", BENCH_TIMES, sync, n, 0);
	report(b, "rate", scene, "frames/s", "drawing and transferring", BENCH_RATE, fast, n, 0.95);
	return 0;
}

static int run_readback(struct bench *b)
{
	int r = run_scene(b, &scene_vulkan);

	return r < 0 ? r : run_scene(b, &scene_gl);
}

const struct bench_case bench_readback = { "readback", run_readback, NULL };
