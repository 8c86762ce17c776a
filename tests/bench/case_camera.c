/* SPDX-License-Identifier: Apache-2.0 */
/*
 * camera_atlas: processor time of a moment that four cameras of 320 x 240 see, drawn by one submission and each read back, against one camera of as many
 * pixels. camera_cpu: percent of a core that one camera of 640 x 480 takes at 20 Hz. The town of the demo, with 60 vehicles around; drivers without a GPU
 * compute in this process.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sim/readback.h>

#include "bench.h"
#include "err.h"
#include "sources/camera/cameras.h"
#include "sources/camera/net.h"
#include "sources/camera/render.h"
#include "timeutil.h"

#define FRAMES   40u
#define WARM     3u
#define CAMERAS  4u
#define VEHICLES 60u
#define CPU_RATE 20.0 /* images a second */

struct town {
	struct gpu gpu;
	struct streets streets;
	struct stage stage;
};

struct cost {
	_Atomic double one, four; /* ns a moment: of 640 x 480, of four of 320 x 240 */
};

struct role {
	struct cost *cost;
	unsigned frames;
};

static int build(struct town *t)
{
	struct net net;
	int r = net_load("config/rigs/demo/town.net.xml", &net);

	if (r < 0)
		return r;
	r = streets_build(&net, &t->streets);
	net_free(&net);
	if (r == 0)
		r = stage_add_buildings(&t->stage, "config/rigs/demo/town.buildings.json");
	for (unsigned i = 0; r == 0 && i < VEHICLES; i++)
		t->stage.things[t->stage.n++] = (struct thing){ .at = { 110 + 3.0 * i, 93 + 3.5 * (i % 3), 0 },
								.size = { 4.4, 1.8, 1.5 },
								.colour = 0x806040 + 97 * i,
								.id = i + 1,
								.form = FORM_CAR,
								.label = LABEL_CAR };
	return r;
}

static void done(void *arg, struct sim_readback_ticket *t)
{
	(void)arg;
	if (t->result < 0)
		fprintf(stderr, "camera: %s\n", t->why);
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)timespec_to_ns(&t);
}

/* One camera's images, into memory of the program. */
static struct sim_readback *reader(const struct gpu *g, uint32_t width, uint32_t height)
{
	const struct sim_readback_options o = {
		.size = sizeof(o),
		.backend = SIM_READBACK_VULKAN,
		.shape = { .format = SIM_READBACK_RGBA8, .width = width, .height = height },
		.done = done,
		.vulkan = { .instance = g->instance,
			    .physical_device = g->physical,
			    .device = g->device,
			    .queue = g->queue,
			    .queue_family = g->family }
	};
	struct sim_readback *rb = NULL;

	if (sim_readback_create(&o, &rb) < 0)
		fprintf(stderr, "camera: %s\n", sim_readback_why());
	return rb;
}

struct cameras_of {
	struct render *r;
	struct sim_readback *readers[CAMERAS];
	size_t n;
	struct render_moment moment;
};

/* All of them, once: drawn by one submission, each read. */
static bool moment(const struct cameras_of *c, uint8_t *memory, size_t size)
{
	if (render_draw(c->r, &c->moment) < 0)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		struct sim_readback_source s = { .size = sizeof(s),
						 .format = SIM_READBACK_RGBA8,
						 .memory = memory + i * size,
						 .vulkan = { .image = (uint64_t)render_image(c->r, i),
							     .layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL } };

		if (!c->readers[i] || sim_readback_start(c->readers[i], &s, NULL) < 0)
			return false;
	}
	for (size_t i = 0; i < c->n; i++)
		if (sim_readback_drain(c->readers[i], 30 * NS_PER_S) < 0)
			return false;
	return render_wait(c->r) == 0;
}

static double spend(const struct cameras_of *c, size_t size, unsigned frames)
{
	uint8_t *memory = malloc(CAMERAS * size);
	double begin = 0;
	bool ok = memory;

	for (unsigned f = 0; ok && f < WARM + frames; f++) {
		if (f == WARM)
			begin = cpu_ns();
		ok = moment(c, memory, size);
	}
	free(memory);
	return ok ? (cpu_ns() - begin) / frames : -1;
}

/* Processor time of a moment. Below 0: it cannot be. */
static double measure(struct town *t, uint32_t width, uint32_t height, size_t n, unsigned frames)
{
	static const double at[3] = { 105, 93.4, 1.35 };
	const struct pose optical = { .axes = { 0, 0, 1, -1, 0, 0, 0, -1, 0 } };
	const struct lens_params lens = lens_from_fov(LENS_PLUMB_BOB, width, height, 80 * M_PI / 180);
	struct render_camera cameras[CAMERAS];
	struct render_options o = { .cameras = cameras, .n = n, .streets = &t->streets, .haze_m = 2500 };
	struct camera_spec spec = camera_default();
	struct pose mount = pose_from_rpy(at, 0, 0, 0), views[CAMERAS];
	struct cameras_of c = {
		.n = n,
		.moment = { .stage = &t->stage, .sun = { -0.5, -0.4, 0.77 }, .views = views, .due = (1u << n) - 1 }
	};
	double spent;

	if (camera_complete(&spec, &lens, "bench") < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		cameras[i] = (struct render_camera){ spec.kind, spec.lens };
		views[i] = pose_in(&mount, &optical);
	}
	if (render_create(&t->gpu, &o, &c.r) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		c.readers[i] = reader(&t->gpu, width, height);
	spent = spend(&c, (size_t)width * height * 4, frames);
	for (size_t i = 0; i < n; i++)
		sim_readback_destroy(c.readers[i]);
	render_destroy(c.r);
	return spent;
}

static int role(void *arg)
{
	static struct town t;
	double four, one;
	const struct role *r = arg;

	if (gpu_open(&t.gpu, NULL) < 0 || build(&t) < 0) {
		fprintf(stderr, "camera: %s\n", err_why());
		return 1;
	}
	four = measure(&t, 320, 240, CAMERAS, r->frames);
	one = measure(&t, 640, 480, 1, r->frames);
	r->cost->four = four;
	r->cost->one = one;
	return four < 0 || one < 0;
}

static int run_camera(struct bench *b)
{
	struct cost *c = bench_arena(sizeof(*c));
	struct role r = { c, b->smoke ? 3 : FRAMES };
	struct bench_pair atlas[BENCH_PAIRS_MAX], cpu[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 5), i = 0;

	for (; i < n && bench_wait(bench_fork(role, &r)) == 0; i++) {
		atlas[i] = (struct bench_pair){ c->four, c->one };
		cpu[i] = (struct bench_pair){ c->one * CPU_RATE / 1e9 * 100, 0 };
	}
	bench_arena_free(c, sizeof(*c));
	if (i < n)
		return -1;
	bench_report(b, "camera_atlas", "ns", "one camera of as many pixels", BENCH_COST, atlas, n, 1.25);
	bench_report(b, "camera_cpu", "% of a core", NULL, BENCH_VALUE, cpu, n, 0);
	return 0;
}

const struct bench_case bench_camera = { "camera", run_camera, NULL };
