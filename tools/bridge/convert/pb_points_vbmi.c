/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points as protobuf with AVX-512 VBMI: two points in a register, of which one permutation of bytes makes two messages.
 *
 * In the register the intensity becomes a number, and the eight bytes that hold the time offset the low eight bytes of the time
 * as a varint (see struct pb_points_time). What is constant is or-ed to it. Which permutation it is depends on whether
 * the intensities take one byte or two.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#include "pb_points_private.h"
#include "sim/msg/Point.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi2")))
#define BLOCK  8u  /* points between two looks at what the registers cannot do */
#define ZERO   13u /* a byte of a point that is 0: behind an intensity of one */

_Static_assert(sizeof(struct sim_Point) == 32 && offsetof(struct sim_Point, x) == 0 &&
		       offsetof(struct sim_Point, y) == 4 && offsetof(struct sim_Point, z) == 8 &&
		       offsetof(struct sim_Point, intensity) == 12 && offsetof(struct sim_Point, time_offset) == 20,
	       "bytes are permuted by number");

struct recipe {
	uint8_t from[64], constant[64];
};

bool pb_points_vbmi_usable(void)
{
	return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2");
}

bool pb_points_vbmi_fits(const struct pb_points *p)
{
	return p->step == sizeof(struct sim_Point) && p->xyz == 0 &&
	       p->intensity == offsetof(struct sim_Point, intensity) &&
	       p->time == offsetof(struct sim_Point, time_offset) && p->stamped && p->stamp_ns >= 0;
}

/* A point from byte `at` on, whose bytes lie in the register from `base` on. Returns the place behind it. */
static unsigned prescribe(struct recipe *r, unsigned at, unsigned base, uint8_t tag, bool bright,
			  const struct pb_points_time *t)
{
	static const uint8_t tags[] = { 0x0d, 0x15, 0x1d };
	unsigned start = at;

	at += 2;
	for (unsigned i = 0; i < 3; i++) {
		r->constant[at++] = tags[i];
		for (unsigned k = 0; k < 4; k++)
			r->from[at++] = (uint8_t)(base + 4 * i + k);
	}
	r->constant[at++] = 0x20;
	r->from[at++] = (uint8_t)(base + offsetof(struct sim_Point, intensity));
	if (bright)
		r->constant[at++] = 1;
	r->constant[at++] = 0x28;
	for (unsigned k = 0; k < t->n && k < 8; k++, at++) {
		r->from[at] = (uint8_t)(base + 16 + k);
		r->constant[at] = (uint8_t)(t->more >> 8 * k);
	}
	if (t->n == 9)
		r->constant[at++] = t->ninth;
	r->constant[start] = tag;
	r->constant[start + 1] = (uint8_t)(at - start - 2);
	return at;
}

/* By whether the first (1) and the second point (2) are of 128 and brighter. */
struct recipes {
	_Alignas(64) struct recipe of[4];
	uint64_t len[4]; /* of both points */
};

static void recipes_make(struct recipes *r, uint8_t tag, const struct pb_points_time *t)
{
	for (unsigned c = 0; c < 4; c++) {
		memset(r->of[c].from, ZERO, sizeof(r->of[c].from));
		memset(r->of[c].constant, 0, sizeof(r->of[c].constant));
		r->len[c] = prescribe(&r->of[c], prescribe(&r->of[c], 0, 0, tag, c & 1, t), 32, tag, c & 2, t);
	}
}

/* Whether one of a block's points may have to be left out: its x is 0, or -0. */
TARGET static inline bool has_zero(const uint8_t *block)
{
	__m512i least = _mm512_set1_epi32(-1);

	for (unsigned k = 0; k < BLOCK / 2; k++)
		least = _mm512_min_epu32(least, _mm512_slli_epi32(_mm512_loadu_si512(block + (size_t)k * 64), 1));
	return _mm512_mask_testn_epi32_mask(0x0101, least, least);
}

/* What is the same for all points. */
struct registers {
	__m512i groups; /* the bits that each byte of a varint begins at */
	__m512i stamp, bright;
	__m512 one, full;
	__mmask16 intensities;
	__mmask64 times;
};

/* The intensity as a number, the time's bytes as the bits are; *latest becomes the later of itself and the times. */
TARGET static inline __m512i prepare(__m512i v, const struct registers *g, __m512i *latest)
{
	__m512 light = _mm512_mul_ps(_mm512_min_ps(g->one, _mm512_castsi512_ps(v)), g->full); /* NaN stays */
	__m512i time = _mm512_add_epi64(_mm512_srli_epi64(v, 32), g->stamp);
	__m512i number = _mm512_cvttps_epi32(light); /* of NaN negative */

	*latest = _mm512_max_epu64(*latest, time);
	v = _mm512_mask_max_epi32(v, g->intensities, number, _mm512_setzero_si512());
	return _mm512_mask_multishift_epi64_epi8(v, g->times, g->groups, time);
}

TARGET static inline uint8_t *put_pair(uint8_t *at, const uint8_t *pair, const struct recipes *recipes,
				       const struct registers *g, __m512i *latest)
{
	__m512i v = prepare(_mm512_loadu_si512(pair), g, latest);
	const struct recipe *r;
	unsigned c;

	c = _pext_u32(_mm512_test_epi32_mask(v, g->bright), 0x0808);
	r = &recipes->of[c];
	v = _mm512_permutexvar_epi8(_mm512_load_si512(r->from), v);
	_mm512_storeu_si512(at, _mm512_or_si512(v, _mm512_load_si512(r->constant)));
	return at + recipes->len[c];
}

/* Returns the place behind BLOCK points; NULL: they are to go the portable way. */
TARGET static inline uint8_t *put_block(uint8_t *at, const uint8_t *block, const struct recipes *recipes,
					const struct registers *g, __m512i limit, bool skip_zero)
{
	__m512i latest = _mm512_setzero_si512();

	if (skip_zero && has_zero(block))
		return NULL;
	at = put_pair(at, block, recipes, g, &latest);
	at = put_pair(at, block + 64, recipes, g, &latest);
	at = put_pair(at, block + 128, recipes, g, &latest);
	at = put_pair(at, block + 192, recipes, g, &latest);
	return _mm512_mask_cmpge_epu64_mask(0x44, latest, limit) ? NULL : at;
}

TARGET uint8_t *pb_points_vbmi(uint8_t *at, uint8_t tag, const struct pb_points *p, uint32_t from, uint32_t to,
			       uint32_t *n)
{
	const struct pb_points_time t = pb_points_time(p);
	const struct registers g = { .groups = _mm512_set1_epi64(0x312a231c150e0700),
				     .stamp = _mm512_set1_epi64(p->stamp_ns),
				     .bright = _mm512_set1_epi32(0x80),
				     .one = _mm512_set1_ps(1.0f),
				     .full = _mm512_set1_ps(255.0f),
				     .intensities = 0x0808,
				     .times = 0x00ff000000ff0000 };
	const __m512i limit = _mm512_set1_epi64((long long)t.limit);
	struct recipes recipes;
	uint32_t i = from;

	recipes_make(&recipes, tag, &t);
	for (; i + BLOCK <= to; i += BLOCK) {
		uint8_t *end = put_block(at, p->data + (size_t)i * sizeof(struct sim_Point), &recipes, &g, limit,
					 p->skip_zero);

		if (end)
			*n += BLOCK;
		else
			end = pb_points_portable(at, tag, p, i, i + BLOCK, n);
		at = end;
	}
	return pb_points_portable(at, tag, p, i, to, n);
}
#else
typedef int pb_points_vbmi_is_empty; /* a file must declare something */
#endif
