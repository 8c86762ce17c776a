/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: each conversion of an image, compared with the same done pixel by pixel. */
#include "tests/support/test.h"

#include <math.h>

#include "rows.h"

#define W 37u
#define H 11u

static uint8_t from[H * 4 * (W + 5)], to[H * 4 * (W + 9)];

static struct rows rows(enum sim_readback_format f, enum sim_readback_format t)
{
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 101 + i / 7);
	memset(to, 0xee, sizeof(to));
	return (struct rows){ .from = from,
			      .to = to,
			      .from_pitch = (W + 5) * sim_readback_pixel_size(f),
			      .to_pitch = (W + 9) * sim_readback_pixel_size(t),
			      .width = W,
			      .height = H,
			      .from_format = f,
			      .to_format = t,
			      .depth_scale = 1000.0f };
}

TEST(rows_are_copied_with_pitches_and_flipped)
{
	for (int flip = 0; flip < 2; flip++) {
		struct rows r = rows(SIM_READBACK_RGBA8, SIM_READBACK_RGBA8);

		r.flip = flip;
		rows_copy(&r);
		for (size_t y = 0; y < H; y++) {
			const uint8_t *f = from + (flip ? H - 1 - y : y) * r.from_pitch;

			assert_memory_equal(to + y * r.to_pitch, f, W * 4);
			for (size_t x = W * 4; x < r.to_pitch; x++)
				assert_int_equal(to[y * r.to_pitch + x], 0xee); /* bytes between rows stay */
		}
	}
}

TEST(without_pitches_the_image_is_copied_in_one_piece)
{
	struct rows r = rows(SIM_READBACK_R8, SIM_READBACK_R8);

	r.from_pitch = r.to_pitch = W;
	rows_copy(&r);
	assert_memory_equal(to, from, (size_t)W * H);
	assert_int_equal(to[W * H], 0xee);
}

TEST(red_and_blue_are_swapped)
{
	for (int flip = 0; flip < 2; flip++) {
		struct rows r = rows(SIM_READBACK_BGRA8, SIM_READBACK_RGBA8);

		r.flip = flip;
		rows_copy(&r);
		for (size_t y = 0; y < H; y++) {
			for (size_t x = 0; x < W; x++) {
				const uint8_t *f = from + (flip ? H - 1 - y : y) * r.from_pitch + 4 * x;
				const uint8_t *t = to + y * r.to_pitch + 4 * x;

				assert_int_equal(t[0], f[2]);
				assert_int_equal(t[1], f[1]);
				assert_int_equal(t[2], f[0]);
				assert_int_equal(t[3], f[3]);
			}
		}
	}
}

TEST(depth_is_converted_to_millimetres)
{
	static const struct {
		float metres;
		uint16_t mm;
	} of[] = { { 0.0f, 0 },     { 0.001f, 1 },    { 1.0f, 1000 }, { 12.3456f, 12346 }, { 65.535f, 65535 },
		   { 65.536f, 0 },  { -1.0f, 0 },     { 0.0004f, 0 }, { 1e30f, 0 },        { -1e30f, 0 },
		   { INFINITY, 0 }, { -INFINITY, 0 }, { NAN, 0 },     { 0.0006f, 1 } };
	enum { N = sizeof(of) / sizeof(of[0]) };
	float metres[N];
	uint16_t mm[N];
	struct rows r = { .from = (const uint8_t *)metres,
			  .to = (uint8_t *)mm,
			  .from_pitch = sizeof(metres),
			  .to_pitch = sizeof(mm),
			  .width = N,
			  .height = 1,
			  .from_format = SIM_READBACK_R32F,
			  .to_format = SIM_READBACK_R16,
			  .depth_scale = 1000.0f };

	for (int i = 0; i < N; i++)
		metres[i] = of[i].metres;
	rows_copy(&r);
	for (int i = 0; i < N; i++)
		assert_int_equal(mm[i], of[i].mm);
}

TEST(the_alpha_channel_is_dropped)
{
	for (int swap = 0; swap < 2; swap++) {
		struct rows r = rows(swap ? SIM_READBACK_BGRA8 : SIM_READBACK_RGBA8, SIM_READBACK_RGB8);

		rows_copy(&r);
		for (size_t y = 0; y < H; y++) {
			for (size_t x = 0; x < W; x++) {
				const uint8_t *f = from + y * r.from_pitch + 4 * x, *t = to + y * r.to_pitch + 3 * x;

				assert_int_equal(t[0], f[swap ? 2 : 0]);
				assert_int_equal(t[1], f[1]);
				assert_int_equal(t[2], f[swap ? 0 : 2]);
			}
			for (size_t x = 3 * W; x < r.to_pitch; x++)
				assert_int_equal(to[y * r.to_pitch + x], 0xee);
		}
	}
}

/* The vector code and the scalar one, with rows of all lengths and alignments, of any bits, NaN included. */
TEST(vector_and_scalar_conversions_agree)
{
	static const struct {
		enum sim_readback_format from, to;
	} of[] = { { SIM_READBACK_RGBA8, SIM_READBACK_BGRA8 },
		   { SIM_READBACK_RGBA8, SIM_READBACK_RGB8 },
		   { SIM_READBACK_BGRA8, SIM_READBACK_RGB8 },
		   { SIM_READBACK_R32F, SIM_READBACK_R16 } };
	static uint8_t in[4 * 80], wide[4 * 80 + 1], plain[4 * 80 + 1];
	unsigned seed = (unsigned)test_seed(3);

#ifdef __x86_64__
	if (!__builtin_cpu_supports("avx2"))
		skip();
#else
	skip();
#endif
	for (unsigned round = 0; round < 4000; round++) {
		struct rows r = {
			.to_pitch = 1, .from_pitch = 1, .height = 1, .width = round % 71, .depth_scale = 1000.0f
		};
		size_t at = 4 * (round % 3), i = round % 4;

		for (size_t k = 0; k < sizeof(in); k++)
			in[k] = (uint8_t)rand_r(&seed);
		for (size_t k = 0; round % 2 && k < sizeof(in); k += 4) /* floats that mostly are some metres */
			in[k + 3] = (uint8_t)(0x40 + rand_r(&seed) % 4);
		memset(wide, 0xee, sizeof(wide));
		memset(plain, 0xee, sizeof(plain));
		r.from = in + at;
		r.from_format = of[i].from;
		r.to_format = of[i].to;
		r.to = wide + round % 2;
		rows_copy_with(&r, true);
		r.to = plain + round % 2;
		rows_copy_with(&r, false);
		assert_memory_equal(wide, plain, sizeof(wide));
	}
}

TEST(possible_conversions_are_reported)
{
	assert_true(rows_possible(SIM_READBACK_BGRA8, SIM_READBACK_RGB8));
	assert_false(rows_possible(SIM_READBACK_RGB8, SIM_READBACK_RGBA8));
	assert_int_equal(rows_align(SIM_READBACK_RGB8), 1);
	assert_int_equal(rows_align(SIM_READBACK_RGBA32F), 16);
	assert_true(rows_possible(SIM_READBACK_R8, SIM_READBACK_R8));
	assert_true(rows_possible(SIM_READBACK_RGBA8, SIM_READBACK_BGRA8));
	assert_true(rows_possible(SIM_READBACK_BGRA8, SIM_READBACK_RGBA8));
	assert_true(rows_possible(SIM_READBACK_R32F, SIM_READBACK_R16));
	assert_false(rows_possible(SIM_READBACK_R16, SIM_READBACK_R32F));
	assert_false(rows_possible(SIM_READBACK_RGBA8, SIM_READBACK_R32F));
	assert_false(rows_possible((enum sim_readback_format)0, (enum sim_readback_format)0));
	assert_false(rows_possible((enum sim_readback_format)77, (enum sim_readback_format)77));
}
