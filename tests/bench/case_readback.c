/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readback_waits_*: how often a thread that draws 1280 x 720 at 60 Hz is put to sleep by 100 read-backs into slots, one frame later, against
 * waiting for each. readback_copies_*: how often the CPU copies an image on its way.
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

/* How often the thread slept in the library's calls. wait: each request is waited for, at once. */
static double frames(const struct role *r, struct sim_readback *rb, unsigned n, bool wait)
{
	int64_t due = mono_now_ns();
	double slept = 0;

	for (unsigned i = 0; i < n; i++) {
		struct sim_readback_source s = { .size = sizeof(s), .format = SIM_READBACK_RGBA8 };
		long before = sleeps();

		sim_readback_process(rb);
		slept += (double)(sleeps() - before);
		r->scene->draw(i % SCENE_RING);
		r->scene->source(i % SCENE_RING, &s);
		before = sleeps();
		if (sim_readback_start(rb, &s, NULL) < 0 || (wait && sim_readback_drain(rb, 10 * NS_PER_S) < 0))
			return -1;
		slept += (double)(sleeps() - before);
		mono_sleep_until(due += PERIOD_DUR_NS);
	}
	return sim_readback_drain(rb, 10 * NS_PER_S) < 0 ? -1 : slept;
}

static int measure(const struct role *r, struct sim_readback *rb)
{
	struct sim_readback_counters n;
	double a, b;

	if (frames(r, rb, WARM_FRAMES, true) < 0 || (a = frames(r, rb, r->frames, false)) < 0 ||
	    (b = frames(r, rb, r->frames, true)) < 0) {
		fprintf(stderr, "readback: %s\n", sim_readback_why());
		return 1;
	}
	sim_readback_get_counters(rb, &n);
	r->m->waits = a;
	r->m->waits_each = b;
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

static int run_scene(struct bench *b, const struct scene *scene, const char *waits, const char *copies)
{
	struct measured *m = bench_arena(sizeof(*m));
	struct role r = { b, scene, m, b->smoke ? 10 : FRAMES };
	struct bench_pair slept[BENCH_PAIRS_MAX], copied[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 5), i = 0;

	for (; i < n; i++) {
		if (bench_wait(bench_fork(role, &r)) != 0 || m->images == 0)
			break;
		/* not 0, so that there is a ratio */
		slept[i] = (struct bench_pair){ m->waits, m->waits_each > 0 ? m->waits_each : 1 };
		copied[i] = (struct bench_pair){ m->copies / m->images, 0 };
	}
	bench_arena_free(m, sizeof(*m));
	if (i < n)
		return -1;
	bench_report(b, waits, "sleeps", "waiting for each image", BENCH_COST, slept, n, 0.1);
	bench_report(b, copies, "copies/image", "", BENCH_VALUE, copied, n, 0.01);
	return 0;
}

static int run_readback(struct bench *b)
{
	int r = run_scene(b, &scene_vulkan, "readback_waits_vulkan", "readback_copies_vulkan");

	return r < 0 ? r : run_scene(b, &scene_gl, "readback_waits_gl", "readback_copies_gl");
}

const struct bench_case bench_readback = { "readback", run_readback, NULL };
