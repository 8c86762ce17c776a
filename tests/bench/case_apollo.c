/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apollo_cloud: cost of the points of a cloud in Apollo's form, in each of the possible ways: against protobuf-c, which
 * is given the same points, sizes and packs them, and against memcpy() of the result. One thread.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "pb_points_private.h"
#include "sim/msg/Point.h"
#include "unit/convert/pb_every.pb-c.h"

#define POINTS 300000u
#define PASSES 8 /* best of: a preempted pass says nothing about the code */

struct apollo_job {
	struct sim_Point *point;
	struct pb_points view;
	PbTest__Cloud cloud;
	PbTest__Point *theirs;
	uint8_t *packed, *copy; /* of POINTS * PB_POINT_MAX bytes */
	size_t n;               /* bytes of the message */
	struct iov_buf out;
	pb_points_way *way;
};

/* -1: failed */
typedef int pass(struct apollo_job *j);

static double best(pass *p, struct apollo_job *j)
{
	double least = 1e18;

	for (int i = 0; i < PASSES; i++) {
		int64_t start_mono_ns = mono_now_ns();
		double ns;

		if (p(j) < 0)
			return -1;
		ns = (double)(mono_now_ns() - start_mono_ns);
		least = ns < least ? ns : least;
	}
	return least;
}

static int protobuf_c(struct apollo_job *j)
{
	for (uint32_t i = 0; i < POINTS; i++) {
		const struct sim_Point *p = &j->point[i];
		float light = p->intensity > 0 ? p->intensity : 0;

		j->theirs[i] = (PbTest__Point){
			.base.descriptor = &pb_test__point__descriptor,
			.has_x = 1,
			.x = p->x,
			.has_y = 1,
			.y = p->y,
			.has_z = 1,
			.z = p->z,
			.has_intensity = 1,
			.intensity = (uint32_t)((light < 1 ? light : 1) * 255),
			.has_timestamp = 1,
			.timestamp = (uint64_t)j->view.stamp_ns + p->time_offset,
		};
	}
	if (pb_test__cloud__get_packed_size(&j->cloud) > (size_t)POINTS * PB_POINT_MAX)
		return -1;
	j->n = pb_test__cloud__pack(&j->cloud, j->packed);
	return 0;
}

static int ours(struct apollo_job *j)
{
	struct pb_writer w;

	iov_buf_reset(&j->out);
	pb_begin(&w, &j->out);
	pb_points_by(j->way, &w, 4, &j->view);
	return pb_end(&w) < 0 ? -1 : 0;
}

static int copy(struct apollo_job *j)
{
	memcpy(j->copy, j->packed, j->n);
	__asm__ volatile("" : : "r"(j->copy) : "memory");
	return 0;
}

static int measure(struct bench *b, const char *name, const char *against, struct apollo_job *j, pass *reference,
		   enum bench_form form, double bar)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 11);

	for (unsigned i = 0; i < n; i++) {
		pairs[i] = (struct bench_pair){ .reference = best(reference, j), .ours = best(ours, j) };
		if (pairs[i].reference < 0 || pairs[i].ours < 0)
			return -1;
	}
	bench_report(b, name, "ns", against, form, pairs, n, bar);
	return 0;
}

static int measure_way(struct bench *b, struct apollo_job *j, pb_points_way *way, const char *times, double times_bar,
		       const char *cost, double cost_bar)
{
	j->way = way;
	if (measure(b, times, "protobuf-c build and pack", j, protobuf_c, BENCH_TIMES, times_bar) < 0)
		return -1;
	if (j->out.total != j->n || memcmp(j->out.buf, j->packed, j->n) != 0)
		return -1; /* not the same work */
	return measure(b, cost, "memcpy of the output", j, copy, BENCH_COST, cost_bar);
}

static int job_init(struct apollo_job *j)
{
	PbTest__Point **list = malloc(POINTS * sizeof(*list));
	size_t room = (size_t)POINTS * PB_POINT_MAX;

	pb_test__cloud__init(&j->cloud);
	j->cloud.point = list;
	j->cloud.n_point = POINTS;
	j->point = aligned_alloc(64, POINTS * sizeof(*j->point));
	j->theirs = malloc(POINTS * sizeof(*j->theirs));
	j->packed = malloc(room);
	j->copy = malloc(room);
	if (!list || !j->point || !j->theirs || !j->packed || !j->copy)
		return -1;
	srand48(1);
	for (uint32_t i = 0; i < POINTS; i++) {
		list[i] = &j->theirs[i];
		j->point[i] = (struct sim_Point){
			.x = (float)(drand48() * 200 - 100),
			.y = (float)(drand48() * 200 - 100),
			.z = (float)(drand48() * 20 - 5),
			.intensity = (float)drand48(),
			.ring = (uint16_t)(i % 128),
			.time_offset = i * 333,
		};
	}
	j->view = (struct pb_points){ .data = (const uint8_t *)j->point,
				      .n = POINTS,
				      .step = sizeof(*j->point),
				      .intensity = offsetof(struct sim_Point, intensity),
				      .time = offsetof(struct sim_Point, time_offset),
				      .stamp_ns = 1792000000000000000,
				      .stamped = true,
				      .skip_zero = true };
	memset(j->copy, 0, room);
	return 0;
}

static int run_apollo(struct bench *b)
{
	struct apollo_job j = { .n = 0 };
	int r;

	iov_buf_init(&j.out);
	r = job_init(&j);
	if (r == 0)
		r = measure_way(b, &j, pb_points_portable, "apollo_cloud_300k", 20, "apollo_cloud_copy", 5);
#if defined(__x86_64__)
	if (r == 0 && pb_points_vbmi_usable())
		r = measure_way(b, &j, pb_points_vbmi, "apollo_cloud_300k_simd", 40, "apollo_cloud_copy_simd", 2.5);
#endif
	iov_buf_finish(&j.out);
	free(j.cloud.point);
	free(j.point);
	free(j.theirs);
	free(j.packed);
	free(j.copy);
	return r;
}

const struct bench_case bench_apollo = { "apollo", run_apollo, NULL };
