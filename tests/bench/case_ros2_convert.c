/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdr_pointcloud2, rgb_bgr: cost of a message whose layout changes on its way out, against a memcpy() of the result.
 * One thread.
 */
#include <stdlib.h>
#include <string.h>

#include <sim/msg/Image.h>
#include <sim/point_cloud.h>

#include "bench.h"
#include "enc_wire.h"
#include "map.h"
#include "timeutil.h"

#define POINTS 262144u /* 6 MiB at AWSIM's 24 bytes */
#define WIDTH  4096u
#define HEIGHT 2048u /* 24 MiB of rgb8 */

struct job {
	const struct map *map;
	struct map_options options;
	struct map_message in;
	struct iov_buf out;
	uint8_t *from, *to; /* of the memcpy */
	size_t size;        /* of the result */
};

/* Best of a few: a preempted pass says nothing about the code. */
#define PASSES 15

static double emit_ns(struct job *j)
{
	double best = 1e18;

	for (int i = 0; i < PASSES; i++) {
		int64_t start_mono_ns = mono_now_ns();
		struct enc_wire w;

		wire_begin(&w, WIRE_CDR, &j->out);
		if (j->map->emit(&j->in, &w.enc) < 0 || wire_finish(&w) < 0)
			return -1;
		if ((double)(mono_now_ns() - start_mono_ns) < best)
			best = (double)(mono_now_ns() - start_mono_ns);
	}
	return best;
}

static double memcpy_ns(struct job *j)
{
	double best = 1e18;

	for (int i = 0; i < PASSES; i++) {
		int64_t start_mono_ns = mono_now_ns();

		memcpy(j->to, j->from, j->size);
		__asm__ volatile("" : : "r"(j->to) : "memory");
		if ((double)(mono_now_ns() - start_mono_ns) < best)
			best = (double)(mono_now_ns() - start_mono_ns);
	}
	return best;
}

static int measure(struct bench *b, const char *name, struct job *j, void *body, size_t body_size, double bar)
{
	unsigned n = bench_runs(b, 11);
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	int r;

	j->in = (struct map_message){
		.body = body, .size = body_size, .header = { .frame = "sensor" }, .options = &j->options
	};
	iov_buf_init(&j->out);
	r = emit_ns(j) < 0 ? -1 : 0; /* and all memory is there */
	j->size = j->out.total;
	j->from = calloc(1, j->size);
	j->to = malloc(j->size);
	if (r == 0 && j->from && j->to) {
		memset(j->from, 7, j->size);
		memcpy(j->to, j->from, j->size);
		for (unsigned i = 0; i < n; i++)
			pairs[i] = (struct bench_pair){ .reference = memcpy_ns(j) / 1e3, .ours = emit_ns(j) / 1e3 };
		bench_report(b, name, "us", "memcpy of the result", BENCH_COST, pairs, n, bar);
	}
	free(j->from);
	free(j->to);
	iov_buf_finish(&j->out);
	free(body);
	return r;
}

static int run_cloud(struct bench *b, const char *name, enum map_points points)
{
	size_t room = POINTS * sizeof(struct sim_Point) + 4096;
	struct job j = { .map = map_find("sim/PointCloud", NULL), .options = { .points = points } };
	struct sim_builder build;
	void *body = aligned_alloc(64, room);
	struct sim_Point *p = body ? sim_point_cloud_begin(body, room, POINTS, &build) : NULL;

	if (!p)
		return -1;
	for (uint32_t i = 0; i < POINTS; i++)
		p[i] = (struct sim_Point){ .x = (float)i, .ring = (uint8_t)i, .time_offset = i };
	return measure(b, name, &j, body, sim_builder_size(&build), 1.5);
}

static int run_image(struct bench *b)
{
	size_t size = (size_t)WIDTH * HEIGHT * 3, room = sim_Image_size(8, size) / 64 * 64 + 64;
	struct job j = { .map = map_find("sim/Image", NULL), .options = { .encoding = "bgr8" } };
	struct sim_builder build;
	struct sim_Image *m = aligned_alloc(64, room);

	if (!m || !sim_Image_init(m, room, &build))
		return -1;
	m->width = WIDTH;
	m->height = HEIGHT;
	m->step = WIDTH * 3;
	if (sim_Image_encoding_set(&build, "rgb8") < 0)
		return -1;
	memset(sim_Image_data_alloc(&build, (uint32_t)size), 7, size);
	return measure(b, "rgb_bgr", &j, m, sim_builder_size(&build), 1.2);
}

static int run_convert(struct bench *b)
{
	if (run_cloud(b, "cdr_pointcloud2", MAP_POINTS_AWSIM24) < 0 ||
	    run_cloud(b, "cdr_pointcloud2_48", MAP_POINTS_AWSIM48) < 0)
		return -1;
	return run_image(b);
}

const struct bench_case bench_convert = { "convert", run_convert, "cdr_pointcloud2 rgb_bgr" };
