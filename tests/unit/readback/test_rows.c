/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: each change of an image on its way, against the same done pixel by pixel. */
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

TEST(pitches_and_flips)
{
	for (int flip = 0; flip < 2; flip++) {
		struct rows r = rows(SIM_READBACK_RGBA8, SIM_READBACK_RGBA8);

		r.flip = flip;
		rows_copy(&r);
		for (size_t y = 0; y < H; y++) {
			const uint8_t *f = from + (flip ? H - 1 - y : y) * r.from_pitch;

			assert_memory_equal(to + y * r.to_pitch, f, W * 4);
			for (size_t x = W * 4; x < r.to_pitch; x++)
				assert_int_equal(to[y * r.to_pitch + x], 0xee); /* what is between rows stays */
		}
	}
}

TEST(without_pitches_it_is_one_piece)
{
	struct rows r = rows(SIM_READBACK_R8, SIM_READBACK_R8);

	r.from_pitch = r.to_pitch = W;
	rows_copy(&r);
	assert_memory_equal(to, from, (size_t)W * H);
	assert_int_equal(to[W * H], 0xee);
}

TEST(red_and_blue_are_exchanged)
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

TEST(depth_in_millimetres)
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

TEST(what_is_possible)
{
	assert_true(rows_possible(SIM_READBACK_R8, SIM_READBACK_R8));
	assert_true(rows_possible(SIM_READBACK_RGBA8, SIM_READBACK_BGRA8));
	assert_true(rows_possible(SIM_READBACK_BGRA8, SIM_READBACK_RGBA8));
	assert_true(rows_possible(SIM_READBACK_R32F, SIM_READBACK_R16));
	assert_false(rows_possible(SIM_READBACK_R16, SIM_READBACK_R32F));
	assert_false(rows_possible(SIM_READBACK_RGBA8, SIM_READBACK_R32F));
	assert_false(rows_possible((enum sim_readback_format)0, (enum sim_readback_format)0));
	assert_false(rows_possible((enum sim_readback_format)77, (enum sim_readback_format)77));
}
