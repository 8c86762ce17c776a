/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in protobuf with AVX-512 VBMI: one register holds two points, another the values common to all points, and one
 * permutation of their bytes makes both messages. There are four permutations, by whether each intensity takes one byte
 * or two.
 *
 * First the intensities and times of a chunk are computed, eight at a time: eight bytes for each point, of which five
 * are the low bytes of the time as a varint (see struct pb_points_time), and the next one is the intensity. So no
 * permutation waits for them.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#include "pb_points_private.h"
#include "sim/msg/Point.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi2")))
#define BLOCK  8u /* points whose intensities and times are computed together */
#define CHUNK  8u /* blocks */
#define LEVEL  5u /* offset of the intensity in a point's eight bytes */

_Static_assert(sizeof(struct sim_Point) == 32 && offsetof(struct sim_Point, x) == 0 &&
		       offsetof(struct sim_Point, y) == 4 && offsetof(struct sim_Point, z) == 8 &&
		       offsetof(struct sim_Point, intensity) == 12 && offsetof(struct sim_Point, time_offset) == 20,
	       "bytes are permuted by number");

/* Sources of a permutation: the pair of points, their intensities and times, the common values. */
enum { POINTS = 0, MADE = 64, TAG = MADE + 16, LEN, LEN_BRIGHT, TAG_X, TAG_Y, TAG_Z, TAG_LEVEL, ONE, TAG_TIME, STAMP };

struct recipe {
	_Alignas(64) uint8_t from[64];
	uint64_t len; /* bytes of both points */
};

/* Values common to all points. */
struct common {
	/* index: whether the first (1) and the second point (2) have an intensity of 128 or more */
	struct recipe recipes[4];
	__m512i constants;
	__m512i gather;      /* indices of intensities and offsets */
	__m512i looked_for;  /* bits of which a usual intensity has at least one, and a usual offset none */
	uint16_t looks;      /* result of the test for usual points */
	__m512i groups;      /* first bit of each varint byte */
	__m512i stamp, more; /* more: continuation bits of the varint */
};

struct chunk {
	__m512i made[CHUNK]; /* eight bytes for each point */
	uint8_t bright[CHUNK];
	uint16_t unusual[CHUNK]; /* two bits per point: its intensity is 0, it is late */
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
	       p->time == offsetof(struct sim_Point, time_offset) && p->stamped &&
	       pb_varint_size((uint64_t)p->stamp_ns) >= PB_POINTS_LOW_BYTES;
}

/* Adds a point to a recipe from byte `at` on; second: of the pair. Returns the end. */
static unsigned prescribe(uint8_t *from, unsigned at, bool second, bool bright, unsigned time_n)
{
	const uint8_t point = second ? POINTS + 32 : POINTS, made = second ? MADE + 8 : MADE;

	from[at++] = TAG;
	from[at++] = bright ? LEN_BRIGHT : LEN;
	for (uint8_t i = 0; i < 12; i++) {
		if (i % 4 == 0)
			from[at++] = (uint8_t)(TAG_X + i / 4);
		from[at++] = (uint8_t)(point + i);
	}
	from[at++] = TAG_LEVEL;
	from[at++] = (uint8_t)(made + LEVEL);
	if (bright)
		from[at++] = ONE;
	from[at++] = TAG_TIME;
	for (uint8_t i = 0; i < time_n; i++)
		from[at++] = (uint8_t)((i < PB_POINTS_LOW_BYTES ? made : STAMP) + i);
	return at;
}

TARGET static void common_make(struct common *c, uint8_t tag, const struct pb_points *p)
{
	const struct pb_points_time t = pb_points_time(p);
	uint8_t constants[64] = { [TAG - MADE] = tag,
				  [LEN - MADE] = (uint8_t)(18 + t.n),
				  [LEN_BRIGHT - MADE] = (uint8_t)(19 + t.n),
				  [TAG_X - MADE] = 0x0d,
				  [TAG_Y - MADE] = 0x15,
				  [TAG_Z - MADE] = 0x1d,
				  [TAG_LEVEL - MADE] = 0x20,
				  [ONE - MADE] = 1,
				  [TAG_TIME - MADE] = 0x28 };

	memcpy(constants + (STAMP - MADE), t.bytes, sizeof(t.bytes));
	c->constants = _mm512_loadu_si512(constants);
	c->gather = _mm512_setr_epi32(3, 5, 11, 13, 19, 21, 27, 29, 0, 0, 0, 0, 0, 0, 0, 0);
	c->looked_for = _mm512_set1_epi64((long long)((uint64_t)t.late << 32 | (p->skip_zero ? 0x7fffffff : 0)));
	c->looks = p->skip_zero ? 0x5555 : 0;
	c->groups = _mm512_set1_epi64(0x3030281c150e0700);
	c->stamp = _mm512_set1_epi64((long long)t.low);
	c->more = _mm512_set1_epi64(t.n > PB_POINTS_LOW_BYTES ? 0x8080808080 : 0x80808080);
	for (unsigned i = 0; i < 4; i++) {
		uint8_t *from = c->recipes[i].from;

		memset(from, POINTS, sizeof(c->recipes[i].from));
		c->recipes[i].len = prescribe(from, prescribe(from, 0, false, i & 1, t.n), true, i & 2, t.n);
	}
}

/* Whether a point of the block may have to be left out: its x is 0 or -0. */
TARGET static bool has_zero(const uint8_t *block)
{
	__m512i least = _mm512_set1_epi32(-1);

	for (unsigned k = 0; k < BLOCK / 2; k++)
		least = _mm512_min_epu32(least, _mm512_slli_epi32(_mm512_loadu_si512(block + (size_t)k * 64), 1));
	return _mm512_mask_testn_epi32_mask(0x0101, least, least);
}

/* Computes block k of the chunk. */
TARGET static inline void make(struct chunk *chunk, unsigned k, const uint8_t *block, const struct common *c)
{
	__m512i first = _mm512_permutex2var_epi32(_mm512_loadu_si512(block), c->gather, _mm512_loadu_si512(block + 64));
	__m512i second =
		_mm512_permutex2var_epi32(_mm512_loadu_si512(block + 128), c->gather, _mm512_loadu_si512(block + 192));
	/* alternating intensities and offsets */
	__m512i v = _mm512_inserti64x4(first, _mm512_castsi512_si256(second), 1);
	__m512i time = _mm512_add_epi64(_mm512_srli_epi64(v, 32), c->stamp);
	__m512 light = _mm512_maskz_min_ps(0x5555, _mm512_set1_ps(1.0f), _mm512_castsi512_ps(v)); /* NaN stays NaN */
	__m512i level = _mm512_cvttps_epi32(_mm512_mul_ps(light, _mm512_set1_ps(255.0f)));        /* negative for NaN */

	level = _mm512_max_epi32(level, _mm512_setzero_si512());
	time = _mm512_or_si512(time, _mm512_slli_epi64(level, 8 * LEVEL));
	chunk->unusual[k] = _mm512_test_epi32_mask(v, c->looked_for) ^ c->looks;
	chunk->bright[k] = _mm512_test_epi64_mask(level, _mm512_set1_epi64(0x80));
	chunk->made[k] = _mm512_or_si512(_mm512_multishift_epi64_epi8(c->groups, time), c->more);
}

/* bright: two bits for this pair; higher bits are ignored */
TARGET static inline uint8_t *put_pair(uint8_t *at, const uint8_t *pair, const __m128i *made, unsigned bright,
				       const struct common *c)
{
	const struct recipe *r = &c->recipes[bright & 3];
	__m512i second = _mm512_mask_broadcast_i64x2(c->constants, 0x03, _mm_load_si128(made));

	_mm512_storeu_si512(at, _mm512_permutex2var_epi8(_mm512_loadu_si512(pair), _mm512_load_si512(r->from), second));
	return at + r->len;
}

TARGET static inline uint8_t *put_block(uint8_t *at, const uint8_t *block, const struct chunk *chunk, unsigned k,
					const struct common *c)
{
	const __m128i *made = (const __m128i *)&chunk->made[k];
	unsigned bright = chunk->bright[k];

	at = put_pair(at, block, made, bright, c);
	at = put_pair(at, block + 64, made + 1, bright >> 2, c);
	at = put_pair(at, block + 128, made + 2, bright >> 4, c);
	return put_pair(at, block + 192, made + 3, bright >> 6, c);
}

TARGET uint8_t *pb_points_vbmi(uint8_t *at, uint8_t tag, const struct pb_points *p, uint32_t from, uint32_t to,
			       uint32_t *n)
{
	struct common c;
	struct chunk chunk;
	uint32_t blocks, fast = 0;

	common_make(&c, tag, p);
	for (uint32_t left; (left = to - from) >= BLOCK;) {
		const uint8_t *points = p->data + (size_t)from * sizeof(struct sim_Point);

		blocks = left / BLOCK < CHUNK ? left / BLOCK : CHUNK;
		for (uint32_t k = 0; k < blocks; k++)
			make(&chunk, k, points + (size_t)k * BLOCK * sizeof(struct sim_Point), &c);
		for (uint32_t k = 0; k < blocks; k++, from += BLOCK) {
			const uint8_t *block = p->data + (size_t)from * sizeof(struct sim_Point);

			if (!chunk.unusual[k] || (!(chunk.unusual[k] & 0xaaaa) && !has_zero(block))) {
				at = put_block(at, block, &chunk, k, &c);
				fast += BLOCK;
				continue;
			}
			at = pb_points_portable(at, tag, p, from, from + BLOCK, n);
		}
	}
	*n += fast;
	return pb_points_portable(at, tag, p, from, to, n);
}
#else
typedef int pb_points_vbmi_is_empty; /* a translation unit must not be empty */
#endif
