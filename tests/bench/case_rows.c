/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert_bgra_rgb, convert_bgra_rgba, depth_f32_u16: cost of the single pass over an image that was read back, against
 * a memcpy() of its input. One thread.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "libclient/readback/rows.h"
#include "timeutil.h"

#define WIDTH  1280u
#define HEIGHT 720u
#define SIZE   (WIDTH * HEIGHT * 4u)
#define PASSES 25 /* best of a few: a preempted pass says nothing about the code */

static double best_ns(const struct rows *r)
{
	double best = 1e18;

	for (int i = 0; i < PASSES; i++) {
		int64_t start_mono_ns = mono_now_ns();
		double ns;

		if (r->from_format == r->to_format)
			memcpy(r->to, r->from, SIZE);
		else
			rows_copy(r);
		__asm__ volatile("" : : "r"(r->to) : "memory");
		ns = (double)(mono_now_ns() - start_mono_ns);
		best = ns < best ? ns : best;
	}
	return best;
}

/* Depths of a street: up to 60 m, and a tenth that sees nothing. */
static void fill(uint8_t *from)
{
	for (size_t i = 0; i < SIZE / 4; i++) {
		float v = i % 10 ? (float)(i * 2654435761u % 60000) / 1000 : 0;

		memcpy(from + 4 * i, &v, sizeof(v));
	}
}

static int run_rows(struct bench *b)
{
	static const struct {
		const char *name;
		enum sim_readback_format from, to;
	} of[] = { { "convert_bgra_rgb", SIM_READBACK_BGRA8, SIM_READBACK_RGB8 },
		   { "convert_bgra_rgba", SIM_READBACK_BGRA8, SIM_READBACK_RGBA8 },
		   { "depth_f32_u16", SIM_READBACK_R32F, SIM_READBACK_R16 } };
	uint8_t *from = aligned_alloc(64, SIZE), *to = aligned_alloc(64, SIZE);
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 9);

	if (!from || !to) {
		free(from);
		free(to);
		return -ENOMEM;
	}
	fill(from);
	memset(to, 1, SIZE);
	for (size_t k = 0; k < sizeof(of) / sizeof(of[0]); k++) {
		struct rows r = { .from = from,
				  .to = to,
				  .from_pitch = WIDTH * 4,
				  .to_pitch = WIDTH * sim_readback_pixel_size(of[k].to),
				  .width = WIDTH,
				  .height = HEIGHT,
				  .from_format = of[k].from,
				  .to_format = of[k].to,
				  .depth_scale = 1000.0f };
		struct rows copy = r;

		copy.to_format = r.from_format;
		for (unsigned i = 0; i < n; i++)
			pairs[i] = (struct bench_pair){ best_ns(&r), best_ns(&copy) };
		bench_report(b, of[k].name, "ns", "memcpy() of what is read", BENCH_COST, pairs, n, 1.3);
	}
	free(from);
	free(to);
	return 0;
}

const struct bench_case bench_rows = { "rows", run_rows, "convert_bgra depth_f32" };
