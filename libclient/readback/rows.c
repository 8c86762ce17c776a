/* SPDX-License-Identifier: Apache-2.0 */
/* See rows.h. */
#include "rows.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

size_t sim_readback_pixel_size(enum sim_readback_format format)
{
	switch (format) {
#define X(id, num, bytes) \
	case SIM_READBACK_##id: \
		return bytes;
		SIM_READBACK_FORMATS(X)
#undef X
	}
	return 0;
}

static bool exchanged(enum sim_readback_format from, enum sim_readback_format to)
{
	return (from == SIM_READBACK_RGBA8 && to == SIM_READBACK_BGRA8) ||
	       (from == SIM_READBACK_BGRA8 && to == SIM_READBACK_RGBA8);
}

static bool narrowed(enum sim_readback_format from, enum sim_readback_format to)
{
	return to == SIM_READBACK_RGB8 && (from == SIM_READBACK_RGBA8 || from == SIM_READBACK_BGRA8);
}

bool rows_possible(enum sim_readback_format from, enum sim_readback_format to)
{
	if (!sim_readback_pixel_size(from) || !sim_readback_pixel_size(to))
		return false;
	return from == to || exchanged(from, to) || narrowed(from, to) ||
	       (from == SIM_READBACK_R32F && to == SIM_READBACK_R16);
}

/* ---- a row, on any processor: also used for the pixels that the wide loops leave over ---- */

static void exchange_plain(const uint8_t *from, uint8_t *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v;

		memcpy(&v, from + 4 * (size_t)i, sizeof(v));
		v = (v & 0xff00ff00u) | (v >> 16 & 0xff) | (v & 0xff) << 16;
		memcpy(to + 4 * (size_t)i, &v, sizeof(v));
	}
}

/* swap: red becomes the third channel. */
static void narrow_plain(const uint8_t *from, uint8_t *to, uint32_t n, bool swap)
{
	for (uint32_t i = 0; i < n; i++, from += 4, to += 3) {
		to[0] = from[swap ? 2 : 0];
		to[1] = from[1];
		to[2] = from[swap ? 0 : 2];
	}
}

static void depth_plain(const uint8_t *from, uint8_t *to, uint32_t n, float scale)
{
	for (uint32_t i = 0; i < n; i++) {
		uint16_t units = 0;
		float v;

		memcpy(&v, from + 4 * (size_t)i, sizeof(v));
		v = v * scale + 0.5f;
		if (v >= 1.0f && v < 65536.0f) /* false for NaN */
			units = (uint16_t)v;
		memcpy(to + 2 * (size_t)i, &units, sizeof(units));
	}
}

/* ---- 8 or 16 pixels at once: return how many of n are done ---- */

#ifdef __x86_64__
__attribute__((target("avx2"))) static uint32_t exchange_avx2(const uint8_t *from, uint8_t *to, uint32_t n)
{
	const __m256i order = _mm256_setr_epi8(2, 1, 0, 3, 6, 5, 4, 7, 10, 9, 8, 11, 14, 13, 12, 15, 2, 1, 0, 3, 6, 5,
					       4, 7, 10, 9, 8, 11, 14, 13, 12, 15);
	uint32_t i = 0;

	for (; i + 8 <= n; i += 8) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(from + 4 * (size_t)i));

		_mm256_storeu_si256((__m256i *)(void *)(to + 4 * (size_t)i), _mm256_shuffle_epi8(v, order));
	}
	return i;
}

/* 0x80: the result byte is 0 */
#define NO       (-128)
#define TWICE(x) _mm256_broadcastsi128_si256(x)

/* Loads 16 bytes from each address into one register. */
__attribute__((target("avx2"))) static inline __m256i load_two(const uint8_t *low, const uint8_t *high)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)low)),
				       _mm_loadu_si128((const __m128i *)(const void *)high), 1);
}

__attribute__((target("avx2"))) static inline void store_two(uint8_t *low, uint8_t *high, __m256i v)
{
	_mm_storeu_si128((__m128i *)(void *)low, _mm256_castsi256_si128(v));
	_mm_storeu_si128((__m128i *)(void *)high, _mm256_extracti128_si256(v, 1));
}

/*
 * Each half makes 48 bytes from its 16 pixels, in groups a to d: a and the first part of b, the rest of b and the first
 * of c, the rest of c and d.
 */
__attribute__((target("avx2"))) static uint32_t narrow_avx2(const uint8_t *from, uint8_t *to, uint32_t n, bool swap)
{
	const char r = swap ? 2 : 0, g = 1, b = swap ? 0 : 2;
	const __m256i a0 = TWICE(_mm_setr_epi8(r, g, b, 4 + r, 5, 4 + b, 8 + r, 9, 8 + b, 12 + r, 13, 12 + b, NO, NO,
					       NO, NO)),
		      b0 = TWICE(_mm_setr_epi8(NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, r, g, b, 4 + r)),
		      b1 = TWICE(_mm_setr_epi8(5, 4 + b, 8 + r, 9, 8 + b, 12 + r, 13, 12 + b, NO, NO, NO, NO, NO, NO,
					       NO, NO)),
		      c1 = TWICE(_mm_setr_epi8(NO, NO, NO, NO, NO, NO, NO, NO, r, g, b, 4 + r, 5, 4 + b, 8 + r, 9)),
		      c2 = TWICE(
			      _mm_setr_epi8(8 + b, 12 + r, 13, 12 + b, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO)),
		      d2 = TWICE(_mm_setr_epi8(NO, NO, NO, NO, r, g, b, 4 + r, 5, 4 + b, 8 + r, 9, 8 + b, 12 + r, 13,
					       12 + b));
	uint32_t i = 0;

	for (; i + 32 <= n; i += 32, from += 128, to += 96) {
		__m256i pa = load_two(from, from + 64), pb = load_two(from + 16, from + 80),
			pc = load_two(from + 32, from + 96), pd = load_two(from + 48, from + 112);

		store_two(to, to + 48, _mm256_or_si256(_mm256_shuffle_epi8(pa, a0), _mm256_shuffle_epi8(pb, b0)));
		store_two(to + 16, to + 64, _mm256_or_si256(_mm256_shuffle_epi8(pb, b1), _mm256_shuffle_epi8(pc, c1)));
		store_two(to + 32, to + 80, _mm256_or_si256(_mm256_shuffle_epi8(pc, c2), _mm256_shuffle_epi8(pd, d2)));
	}
	return i;
}

/* Converts 8 floats to units in 32 bits; comparisons with NaN are false. */
__attribute__((target("avx2"))) static inline __m256i units_avx2(const uint8_t *from, __m256 scale)
{
	__m256 v = _mm256_loadu_ps((const float *)(const void *)from);
	__m256 ok;

	v = _mm256_add_ps(_mm256_mul_ps(v, scale), _mm256_set1_ps(0.5f));
	ok = _mm256_and_ps(_mm256_cmp_ps(v, _mm256_set1_ps(1.0f), _CMP_GE_OQ),
			   _mm256_cmp_ps(v, _mm256_set1_ps(65536.0f), _CMP_LT_OQ));
	return _mm256_cvttps_epi32(_mm256_and_ps(v, ok));
}

__attribute__((target("avx2"))) static uint32_t depth_avx2(const uint8_t *from, uint8_t *to, uint32_t n, float scale)
{
	const __m256 by = _mm256_set1_ps(scale);
	uint32_t i = 0;

	for (; i + 16 <= n; i += 16) {
		__m256i low = units_avx2(from + 4 * (size_t)i, by), high = units_avx2(from + 4 * (size_t)i + 32, by);
		__m256i both = _mm256_packus_epi32(low, high); /* the halves interleave: 0 2 1 3 */

		_mm256_storeu_si256((__m256i *)(void *)(to + 2 * (size_t)i), _mm256_permute4x64_epi64(both, 0xd8));
	}
	return i;
}

static bool is_wide(void)
{
	return __builtin_cpu_supports("avx2");
}
#else
static bool is_wide(void)
{
	return false;
}
#define exchange_avx2(from, to, n)     0u
#define narrow_avx2(from, to, n, swap) 0u
#define depth_avx2(from, to, n, scale) 0u
#endif

static void exchange_row(const uint8_t *from, uint8_t *to, uint32_t n, bool wide)
{
	size_t done = wide ? exchange_avx2(from, to, n) : 0;

	exchange_plain(from + 4 * done, to + 4 * done, n - (uint32_t)done);
}

static void narrow_row(const uint8_t *from, uint8_t *to, uint32_t n, bool swap, bool wide)
{
	size_t done = wide ? narrow_avx2(from, to, n, swap) : 0;

	narrow_plain(from + 4 * done, to + 3 * done, n - (uint32_t)done, swap);
}

static void depth_row(const uint8_t *from, uint8_t *to, uint32_t n, float scale, bool wide)
{
	size_t done = wide ? depth_avx2(from, to, n, scale) : 0;

	depth_plain(from + 4 * done, to + 2 * done, n - (uint32_t)done, scale);
}

void rows_copy(const struct rows *r)
{
	rows_copy_with(r, is_wide());
}

void rows_copy_with(const struct rows *r, bool wide)
{
	size_t row = r->width * sim_readback_pixel_size(r->from_format);
	const uint8_t *from = r->flip ? r->from + (r->height - 1) * r->from_pitch : r->from;
	uint8_t *to = r->to;

	if (r->from_format == r->to_format && !r->flip && r->from_pitch == row && r->to_pitch == row) {
		memcpy(to, from, row * r->height);
		return;
	}
	for (uint32_t y = 0; y < r->height; y++) {
		if (r->from_format == r->to_format)
			memcpy(to, from, row);
		else if (r->to_format == SIM_READBACK_RGB8)
			narrow_row(from, to, r->width, r->from_format == SIM_READBACK_BGRA8, wide);
		else if (r->to_format == SIM_READBACK_R16)
			depth_row(from, to, r->width, r->depth_scale, wide);
		else
			exchange_row(from, to, r->width, wide);
		from = r->flip ? from - r->from_pitch : from + r->from_pitch;
		to += r->to_pitch;
	}
}
