/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_overhead_cloud: reading a cloud by the accessors of its type, with all that they check, against the same sum over the same points by
 * hand, which believes everything. One thread, no simd.
 */
#include <stdlib.h>

#include <sim/point_cloud.h>

#include "bench.h"
#include "timeutil.h"

#define POINTS 30000u /* a turn of a lidar */
#define PASSES 60     /* best of a few: a preempted pass says nothing about the code */

static __attribute__((noinline)) float by_accessors(const void *body, size_t size)
{
	const struct sim_PointCloud *m = sim_PointCloud_from(body, size);
	const struct sim_Point *p;
	uint32_t n = 0;
	float sum = 0;

	p = m ? sim_point_cloud_points(m, size, &n) : NULL;
	for (uint32_t i = 0; i < n; i++)
		sum += p[i].x * p[i].x + p[i].y * p[i].y + p[i].z * p[i].z;
	return sum;
}

static __attribute__((noinline)) float by_hand(const void *body, size_t size)
{
	const struct sim_PointCloud *m = body;
	const struct sim_Point *p = (const struct sim_Point *)((const uint8_t *)body + m->data.offset);
	uint32_t n = m->height * m->width;
	float sum = 0;

	(void)size;
	for (uint32_t i = 0; i < n; i++)
		sum += p[i].x * p[i].x + p[i].y * p[i].y + p[i].z * p[i].z;
	return sum;
}

static double once_ns(float (*read)(const void *body, size_t size), const void *body, size_t size)
{
	int64_t start_mono_ns = mono_now_ns();
	float sum = read(body, size);

	__asm__ volatile("" : : "r"(&sum) : "memory");
	return (double)(mono_now_ns() - start_mono_ns);
}

/* In turns, so that both have what the machine has to give. */
static struct bench_pair best_ns(const void *body, size_t size)
{
	struct bench_pair best = { 1e18, 1e18 };

	for (int i = 0; i < PASSES; i++) {
		double ours = once_ns(by_accessors, body, size), hand = once_ns(by_hand, body, size);

		best.ours = ours < best.ours ? ours : best.ours;
		best.reference = hand < best.reference ? hand : best.reference;
	}
	return best;
}

static size_t fill(void *body, size_t capacity)
{
	struct sim_builder b;
	struct sim_Point *p = sim_point_cloud_begin(body, capacity, POINTS, &b);

	for (uint32_t i = 0; p && i < POINTS; i++)
		p[i] = (struct sim_Point){ .x = (float)(i % 100), .y = (float)(i % 77), .z = (float)(i % 5) };
	return p ? sim_builder_size(&b) : 0;
}

static int run_accessors(struct bench *b)
{
	size_t capacity = (sim_point_cloud_size(POINTS) + 63) & ~(size_t)63, size;
	void *body = aligned_alloc(64, capacity);
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 9);

	size = body ? fill(body, capacity) : 0;
	if (!size || by_accessors(body, size) != by_hand(body, size)) {
		free(body);
		return -EINVAL;
	}
	for (unsigned i = 0; i < n; i++)
		pairs[i] = best_ns(body, size);
	bench_report(b, "api_overhead_cloud", "ns", "the same by hand", BENCH_COST, pairs, n, 1.02);
	free(body);
	return 0;
}

const struct bench_case bench_accessors = { "accessors", run_accessors, "api_overhead api_overhead_cloud" };
