/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points as protobuf with AVX-512 VBMI: two points in a register, of which one permutation of bytes makes two messages.
 *
 * In the register the intensity becomes a number, and the eight bytes that hold the time offset the low eight bytes of the time
 * as a varint: all of a cloud's times have as many bytes, and where there is a ninth, the same one. What is constant is
 * or-ed to it. Which permutation it is depends on whether the intensities take one byte or two.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#include "pb_points_private.h"
#include "sim/msg/Point.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")))
#define BLOCK  8u  /* points between two looks at what the registers cannot do */
#define ZERO   13u /* a byte of a point that is 0: behind an intensity of one */

_Static_assert(sizeof(struct sim_Point) == 32 && offsetof(struct sim_Point, x) == 0 &&
		       offsetof(struct sim_Point, y) == 4 && offsetof(struct sim_Point, z) == 8 &&
		       offsetof(struct sim_Point, intensity) == 12 && offsetof(struct sim_Point, time_offset) == 20,
	       "bytes are permuted by number");

/* By whether the first (1) and the second point (2) are of 128 and brighter. */
struct recipe {
	uint8_t from[4][64], constant[4][64];
	uint8_t more[8]; /* of a time's first eight bytes: whether another follows */
	uint64_t limit;  /* times from here on have more bytes, or another ninth one */
	unsigned len;    /* of a dark point */
};

bool pb_points_vbmi_usable(void)
{
	return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512dq");
}

bool pb_points_vbmi_fits(const struct pb_points *p)
{
	return p->step == sizeof(struct sim_Point) && p->xyz == 0 &&
	       p->intensity == offsetof(struct sim_Point, intensity) &&
	       p->time == offsetof(struct sim_Point, time_offset) && p->stamped && p->stamp_ns >= 0;
}

/* One point at `to`, whose bytes lie in the register from `base` on. Returns how many bytes it has. */
static unsigned prescribe(uint8_t *from, uint8_t *constant, unsigned base, uint8_t tag, bool bright, unsigned time_n,
			  uint8_t ninth)
{
	static const uint8_t tags[] = { 0x0d, 0x15, 0x1d };
	unsigned at = 2;

	memset(from, (int)(base + ZERO), 32);
	memset(constant, 0, 32);
	for (unsigned i = 0; i < 3; i++) {
		constant[at++] = tags[i];
		for (unsigned k = 0; k < 4; k++)
			from[at++] = (uint8_t)(base + 4 * i + k);
	}
	constant[at++] = 0x20;
	from[at++] = (uint8_t)(base + offsetof(struct sim_Point, intensity));
	if (bright)
		constant[at++] = 1;
	constant[at++] = 0x28;
	for (unsigned k = 0; k < time_n && k < 8; k++)
		from[at++] = (uint8_t)(base + 16 + k);
	if (time_n == 9)
		constant[at++] = ninth;
	constant[0] = tag;
	constant[1] = (uint8_t)(at - 2);
	return at;
}

static void recipe_make(struct recipe *r, uint8_t tag, uint64_t stamp_ns)
{
	unsigned time_n = pb_varint_size(stamp_ns);
	uint8_t ninth = (uint8_t)(stamp_ns >> 56);

	for (unsigned c = 0; c < 4; c++) {
		prescribe(r->from[c], r->constant[c], 0, tag, c & 1, time_n, ninth);
		prescribe(r->from[c] + 32, r->constant[c] + 32, 32, tag, c & 2, time_n, ninth);
	}
	r->len = r->constant[0][1] + 2u;
	for (unsigned i = 0; i < 8; i++)
		r->more[i] = i + 1 < time_n ? 0x80 : 0;
	r->limit = time_n < 9 ? UINT64_C(1) << 7 * time_n : (uint64_t)(ninth + 1) << 56;
}

/* Whether one of the two points is to be left out. */
TARGET static inline bool has_zero(__m512i v)
{
	unsigned set = _mm512_mask_test_epi32_mask(0x0f0f, v, _mm512_set1_epi32(0x7fffffff));

	return !(set & 0x000f) || !(set & 0x0f00);
}

TARGET uint8_t *pb_points_vbmi(uint8_t *at, uint8_t tag, const struct pb_points *p, uint32_t from, uint32_t to,
			       uint32_t *n)
{
	struct recipe r;
	const __m512i groups =
		_mm512_set1_epi64(0x312a231c150e0700); /* the bits that each byte of a varint begins at */
	const __m512 one = _mm512_set1_ps(1.0f), full = _mm512_set1_ps(255.0f);
	const __m512i stamp = _mm512_set1_epi64(p->stamp_ns);
	const bool skip_zero = p->skip_zero;
	__m512i more, limit;
	long long bits;
	uint32_t i = from;

	recipe_make(&r, tag, (uint64_t)p->stamp_ns);
	memcpy(&bits, r.more, sizeof(bits));
	more = _mm512_set1_epi64(bits);
	limit = _mm512_set1_epi64((long long)r.limit);
	for (; i + BLOCK <= to; i += BLOCK) {
		const uint8_t *block = p->data + (size_t)i * sizeof(struct sim_Point);
		uint8_t *out = at;
		unsigned odd = 0; /* the block goes the portable way */

		for (unsigned k = 0; k < BLOCK / 2; k++) {
			__m512i v = _mm512_loadu_si512(block + (size_t)k * 64), time;
			__m512 light = _mm512_max_ps(_mm512_castsi512_ps(v), _mm512_setzero_ps()); /* NaN: 0 */
			unsigned bright;

			if (skip_zero)
				odd |= has_zero(v);
			light = _mm512_mul_ps(_mm512_min_ps(light, one), full);
			time = _mm512_add_epi64(_mm512_srli_epi64(v, 32), stamp);
			v = _mm512_mask_cvttps_epi32(v, 0x0808, light);
			odd |= _mm512_mask_cmpge_epu64_mask(0x44, time, limit);
			v = _mm512_mask_or_epi64(v, 0x44, _mm512_multishift_epi64_epi8(groups, time), more);
			bright = _mm512_mask_test_epi32_mask(0x0808, v, _mm512_set1_epi32(0x80));
			bright = (bright >> 3 | bright >> 10) & 3;
			v = _mm512_permutexvar_epi8(_mm512_loadu_si512(r.from[bright]), v);
			v = _mm512_or_si512(v, _mm512_loadu_si512(r.constant[bright]));
			_mm256_storeu_si256((__m256i *)(void *)out, _mm512_castsi512_si256(v));
			out += r.len + (bright & 1);
			_mm256_storeu_si256((__m256i *)(void *)out, _mm512_extracti64x4_epi64(v, 1));
			out += r.len + (bright >> 1);
		}
		if (odd) {
			at = pb_points_portable(at, tag, p, i, i + BLOCK, n);
			continue;
		}
		at = out;
		*n += BLOCK;
	}
	return pb_points_portable(at, tag, p, i, to, n);
}
#else
typedef int pb_points_vbmi_is_empty; /* a file must declare something */
#endif
