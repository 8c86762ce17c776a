/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See shortest.h. A number c * 2^q is the middle of an interval of numbers that are read back as it. With a k for which
 * 10^k is just below the interval's width, one or two multiples of 10^k lie in it, and at most one of 10^(k+1): the
 * shortest is one of these. They are compared in units of 10^k / 4; for that 10^-k is needed to 128 bits (64 for
 * float), and the product is rounded so that its last bit shows whether anything was lost.
 *
 * Steps that all numbers share have no branch that depends on the digits: which candidate wins, how many digits it has
 * and where its point is are as good as random in a scan, and a mispredicted branch costs more than all the rest.
 */
#include "shortest.h"

#include <stdbool.h>
#include <string.h>

#include "shortest_private.h"

typedef unsigned __int128 u128;

static inline __attribute__((always_inline)) const struct shortest_power *power(int k)
{
	return &shortest_powers[k - SHORTEST_POWER_MIN];
}

/*
 * floor(log10(2^q)), or of 3/4 of it: the interval's width at a power of two, below which numbers are closer together.
 */
static inline int log10_pow2(int q, bool three_quarters)
{
	return (q * 1262611 - (three_quarters ? 524031 : 0)) >> 22;
}

static inline int log2_pow10(int k)
{
	return (k * 1741647) >> 19;
}

/*
 * In quarters of a unit: the number is mid, and all numbers between low and high are read back as it. Returns the
 * shortest one, in units; a multiple of ten if there is one in between.
 */
static inline __attribute__((always_inline)) uint64_t choose(uint64_t low, uint64_t mid, uint64_t high)
{
	uint64_t s = mid / 4, ten = s / 10;
	bool ten_below = low <= 40 * ten, ten_above = 40 * ten + 40 <= high;
	bool below = low <= 4 * s, above = 4 * s + 4 <= high;
	bool nearer = mid + (s & 1) > 4 * s + 2;
	uint64_t alone = -(uint64_t)(below != above), whole = -(uint64_t)(ten_below != ten_above);
	uint64_t one = s + ((above & alone) | (nearer & ~alone));

	return (one & ~whole) | ((10 * ten + 10u * ten_above) & whole);
}

/* The upper 64 bits of g * c, with a last bit that is set if anything was lost. */
static inline uint64_t mul_odd(const struct shortest_power *g, uint64_t c)
{
	u128 x = (u128)g->low * c, y = (u128)g->high * c + (uint64_t)(x >> 64);

	return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

/* c * 2^q; closer: the next lower number is at half the distance. */
static inline __attribute__((always_inline)) struct shortest_decimal shortest64(uint64_t c, int q, bool closer)
{
	int k = log10_pow2(q, closer), h = q + log2_pow10(-k) + 1;
	const struct shortest_power *g = power(-k);
	uint64_t odd = c & 1; /* ties are rounded to even: the ends belong to even numbers */

	return (struct shortest_decimal){ choose(mul_odd(g, (4 * c - 2 + closer) << h) + odd, mul_odd(g, 4 * c << h),
						 mul_odd(g, (4 * c + 2) << h) - odd),
					  k };
}

static inline uint32_t mul_odd32(uint64_t g, uint32_t c)
{
	u128 x = (u128)g * c;

	return (uint32_t)(uint64_t)(x >> 64) | ((uint32_t)((uint64_t)x >> 32) > 1);
}

static inline __attribute__((always_inline)) struct shortest_decimal shortest32(uint32_t c, int q, bool closer)
{
	int k = log10_pow2(q, closer), h = q + log2_pow10(-k) + 1;
	uint64_t g = power(-k)->high + (power(-k)->low != 0);
	uint32_t odd = c & 1;

	return (struct shortest_decimal){ choose(mul_odd32(g, (4 * c - 2 + closer) << h) + odd,
						 mul_odd32(g, 4 * c << h), mul_odd32(g, (4 * c + 2) << h) - odd),
					  k };
}

/* ---- integers ---- */

static const uint64_t tens[20] = { 1,
				   10,
				   100,
				   1000,
				   10000,
				   100000,
				   1000000,
				   10000000,
				   100000000,
				   1000000000,
				   10000000000,
				   100000000000,
				   1000000000000,
				   10000000000000,
				   100000000000000,
				   1000000000000000,
				   10000000000000000,
				   100000000000000000,
				   1000000000000000000,
				   10000000000000000000u };

/* Number of digits; 0 has none. */
static int digits_of(uint64_t v)
{
	int n = (64 - __builtin_clzll(v | 1)) * 1233 >> 12;

	return n + (v >= tens[n]);
}

/*
 * The eight digits of v < 10^8, one a byte, the first in the lowest: split into two of four, four of two, eight of one.
 */
static inline __attribute__((always_inline)) uint64_t eight(uint32_t v)
{
	uint64_t high = (uint64_t)v * 109951163 >> 40; /* v / 10000 */
	uint64_t x = high | (v - high * 10000) << 32, y;

	y = (x * 10486 >> 20) & 0x7f0000007f; /* / 100 */
	x = y | (x - y * 100) << 16;
	y = (x * 103 >> 10) & 0xf000f000f000f; /* / 10 */
	return y | (x - y * 10) << 8;
}

#define ZEROS UINT64_C(0x3030303030303030)

/* How many of eight digits, up to the last that is not 0. */
static inline unsigned significant(uint64_t digits)
{
	return (64u - (unsigned)__builtin_clzll(digits << 1 | 1) + 6) / 8;
}

static inline void store(char *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

char *shortest_u64(uint64_t v, char *out)
{
	uint64_t high;
	unsigned skip;
	int n = digits_of(v);
	char text[24];

	n = n ? n : 1;
	if (v < 100000000) {
		store(out, (eight((uint32_t)v) | ZEROS) >> 8 * (8 - n));
		return out + n;
	}
	high = v / 100000000;
	store(text + 16, eight((uint32_t)(v % 100000000)) | ZEROS);
	store(text + 8, eight((uint32_t)(high % 100000000)) | ZEROS);
	store(text, eight((uint32_t)(high / 100000000)) | ZEROS);
	skip = 24 - (unsigned)n;
	memcpy(out, text + skip, (size_t)n);
	return out + n;
}

char *shortest_i64(int64_t v, char *out)
{
	*out = '-';
	return shortest_u64(v < 0 ? -(uint64_t)v : (uint64_t)v, out + (v < 0));
}

/* ---- with a point ---- */

static inline struct shortest_decimal without_zeros(struct shortest_decimal d)
{
	while (d.digits % 10 == 0) {
		d.digits /= 10;
		d.exponent++;
	}
	return d;
}

/* All other numbers: very large and very small ones. */
static __attribute__((noinline)) char *put_slow(struct shortest_decimal d, char *out)
{
	int n, point;
	char *end;

	d = without_zeros(d);
	n = digits_of(d.digits);
	point = n + d.exponent;
	if (point > n && point <= 21) {
		end = shortest_u64(d.digits, out);
		memset(end, '0', (size_t)(point - n));
		return out + point;
	}
	if (point > 0 && point <= 21) {
		shortest_u64(d.digits, out);
		memmove(out + point + 1, out + point, (size_t)(n - point));
		out[point] = '.';
		return out + n + (point < n);
	}
	if (point <= 0 && point > -6) {
		memcpy(out, "0.000000", 8);
		return shortest_u64(d.digits, out + 2 - point);
	}
	end = shortest_u64(d.digits, out + 1);
	out[0] = out[1];
	out[1] = '.';
	end = n > 1 ? end : out + 1;
	*end++ = 'e';
	*end++ = point > 0 ? '+' : '-';
	return shortest_u64((uint64_t)(point > 0 ? point - 1 : 1 - point), end);
}

/* Splits eight digits at the point. The point may be from 8 before the first digit to 8 after the last. */
struct split {
	uint64_t before, point;
};
#define DOT ((uint64_t)'.')
static const struct split splits[8 + 17] = {
	[8] = { 0, DOT },
	[9] = { 0xff, DOT << 8 },
	[10] = { 0xffff, DOT << 16 },
	[11] = { 0xffffff, DOT << 24 },
	[12] = { 0xffffffff, DOT << 32 },
	[13] = { 0xffffffffff, DOT << 40 },
	[14] = { 0xffffffffffff, DOT << 48 },
	[15] = { 0xffffffffffffff, DOT << 56 },
	[16] = { UINT64_MAX, 0 },
	[17] = { UINT64_MAX, 0 },
	[18] = { UINT64_MAX, 0 },
	[19] = { UINT64_MAX, 0 },
	[20] = { UINT64_MAX, 0 },
	[21] = { UINT64_MAX, 0 },
	[22] = { UINT64_MAX, 0 },
	[23] = { UINT64_MAX, 0 },
	[24] = { UINT64_MAX, 0 },
};

/* The digits with the point inserted. */
static inline uint64_t joined(uint64_t text, const struct split *s)
{
	return (text & s->before) | s->point | (text & ~s->before) << 8;
}

/* The end of n digits at out, with the point after the first `point` of them, or before all. */
static inline char *end_of(char *out, unsigned n, int point)
{
	unsigned whole = point > 0 ? (unsigned)point : 0, with_point = n + (point > 0);

	return out + (n > whole ? with_point : whole);
}

/* Where the digits begin: after "0.000" if there are none before the point. */
static inline char *zeros(char *out, int point)
{
	memcpy(out, "0.000000", 8);
	return out + ((point > 0 ? 0 : 2 - point));
}

/* Writes the first digit and eight more, one a byte. */
static inline __attribute__((always_inline)) char *put8(uint8_t first, uint64_t digits, int point, char *out)
{
	uint64_t text = digits | ZEROS;

	out = zeros(out, point);
	out[0] = (char)('0' + first);
	store(out + 1, joined(text, &splits[point > 0 ? 7 + point : 16]));
	out[9] = (char)(text >> 56);
	return end_of(out, 1 + significant(digits), point);
}

/* Writes 7 to 9 digits. */
static inline __attribute__((always_inline)) char *put9(struct shortest_decimal d, char *out)
{
	static const uint32_t pad[3] = { 100, 10, 1 };
	unsigned over = 0u + (d.digits >= 10000000) + (d.digits >= 100000000);
	uint32_t v = (uint32_t)d.digits * pad[over], first = v / 100000000;
	uint64_t digits = eight(v - first * 100000000);
	int point = 7 + (int)over + d.exponent;

	if (__builtin_expect(point < -5 || point > 9, 0))
		return put_slow(d, out);
	return put8((uint8_t)first, digits, point, out);
}

/* Writes the first digit and two times eight, one a byte. */
static inline __attribute__((always_inline)) char *put16(uint8_t first, uint64_t high, uint64_t low, int point,
							 char *out)
{
	const struct split *s = &splits[point > 0 ? 7 + point : 24];
	uint64_t text = high | ZEROS;

	out = zeros(out, point);
	out[0] = (char)('0' + first);
	store(out + 1, joined(text, s));
	text = (text & ~s->before) >> 56;
	s -= 8;
	store(out + 9, joined(low | ZEROS, s) | text);
	out[17] = (char)((low | ZEROS) >> 56);
	return end_of(out, 1 + (low ? 8 + significant(low) : significant(high)), point);
}

/* Writes 16 or 17 digits. */
static inline __attribute__((always_inline)) char *put17(struct shortest_decimal d, char *out)
{
	bool over = d.digits >= 10000000000000000;
	uint64_t v = d.digits * (over ? 1 : 10), first = v / 10000000000000000, rest = v - first * 10000000000000000;
	uint64_t high = eight((uint32_t)(rest / 100000000)), low = eight((uint32_t)(rest % 100000000));
	int point = 16 + over + d.exponent;

	if (__builtin_expect(point < -5 || point > 17, 0))
		return put_slow(d, out);
	return put16((uint8_t)first, high, low, point, out);
}

static inline __attribute__((always_inline)) char *put_f64(uint64_t bits, char *out)
{
	uint64_t c = bits & ((UINT64_C(1) << 52) - 1);
	int e = (int)(bits >> 52 & 2047);

	*out = '-';
	out += bits >> 63;
	if (__builtin_expect(e != 0, 1))
		return put17(shortest64(c | UINT64_C(1) << 52, e - 1075, !c && e > 1), out);
	*out = '0';
	return c ? put_slow(shortest64(c, -1074, false), out) : out + 1;
}

static inline __attribute__((always_inline)) char *put_f32(uint32_t bits, char *out)
{
	uint32_t c = bits & ((1u << 23) - 1);
	int e = (int)(bits >> 23 & 255);

	*out = '-';
	out += bits >> 31;
	if (__builtin_expect(e != 0, 1))
		return put9(shortest32(c | 1u << 23, e - 150, !c && e > 1), out);
	*out = '0';
	return c ? put_slow(shortest32(c, -149, false), out) : out + 1;
}

char *shortest_f64(double v, char *out)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return put_f64(bits, out);
}

char *shortest_f32(float v, char *out)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return put_f32(bits, out);
}

struct shortest_decimal shortest_decimal_f64(double v)
{
	uint64_t bits, c;
	int e;

	memcpy(&bits, &v, sizeof(bits));
	c = bits & ((UINT64_C(1) << 52) - 1);
	e = (int)(bits >> 52 & 2047);
	return without_zeros(e ? shortest64(c | UINT64_C(1) << 52, e - 1075, !c && e > 1)
			       : shortest64(c, -1074, false));
}

struct shortest_decimal shortest_decimal_f32(float v)
{
	uint32_t bits, c;
	int e;

	memcpy(&bits, &v, sizeof(bits));
	c = bits & ((1u << 23) - 1);
	e = (int)(bits >> 23 & 255);
	return without_zeros(e ? shortest32(c | 1u << 23, e - 150, !c && e > 1) : shortest32(c, -149, false));
}

/* ---- floats, eight at a time ---- */

#if defined(__x86_64__)
#include <immintrin.h>

/*
 * Most floats, from 2^-14 to 2^23: 10^-k is an integer of at most 28 bits, so that a double holds the product exactly,
 * and half the interval's width too. The nearest multiple of ten is the shortest if it is within half the width, else
 * the nearest integer is. So this works in doubles, four at a time, including their digits.
 */
#define QUICK_FIRST 113 /* exponents, as encoded in a float */
#define QUICK_LAST  149

struct quick {
	int32_t point[8];           /* digits before the point */
	uint64_t first[8], rest[8]; /* digits: the first, and eight more, one a byte */
	uint32_t odd;               /* a bit for each number outside that range */
};

static const double quick_tens[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12 };

#define AVX2 __attribute__((target("avx2"), always_inline)) static inline

/* The digits of four numbers. */
AVX2 __m128i quick_digits(__m128 f, __m128i e, __m128i m)
{
	const __m256d near = _mm256_set1_pd(0.1), ten = _mm256_set1_pd(10);
	__m256d scale = _mm256_i32gather_pd(quick_tens, m, 8);
	__m256d s = _mm256_mul_pd(_mm256_cvtps_pd(f), scale), round10, off;
	__m256i width = _mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm_add_epi32(e, _mm_set1_epi32(1023 - 151))), 52);
	__m256i odd = _mm256_and_si256(_mm256_cvtepi32_epi64(_mm_castps_si128(f)), _mm256_set1_epi64x(1));
	__m256d half = _mm256_mul_pd(scale, _mm256_castsi256_pd(width));

	/* the interval's end belongs to even numbers */
	half = _mm256_castsi256_pd(_mm256_sub_epi64(_mm256_castpd_si256(half), odd));
	round10 = _mm256_mul_pd(_mm256_round_pd(_mm256_mul_pd(s, near), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
				ten);
	off = _mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(s, round10));
	return _mm256_cvtpd_epi32(_mm256_blendv_pd(s, round10, _mm256_cmp_pd(off, half, _CMP_LE_OQ)));
}

/* eight() for four numbers, in 64 bits each. */
AVX2 __m256i quick_digits8(__m256i v)
{
	__m256i high = _mm256_srli_epi64(_mm256_mul_epu32(v, _mm256_set1_epi64x(109951163)), 40), x, y;

	x = _mm256_sub_epi64(v, _mm256_mul_epu32(high, _mm256_set1_epi64x(10000)));
	x = _mm256_or_si256(high, _mm256_slli_epi64(x, 32));
	y = _mm256_srli_epi32(_mm256_mullo_epi32(x, _mm256_set1_epi32(10486)), 20);
	x = _mm256_or_si256(y,
			    _mm256_slli_epi32(_mm256_sub_epi32(x, _mm256_mullo_epi16(y, _mm256_set1_epi32(100))), 16));
	y = _mm256_srli_epi16(_mm256_mullo_epi16(x, _mm256_set1_epi16(103)), 10);
	return _mm256_or_si256(y,
			       _mm256_slli_epi16(_mm256_sub_epi16(x, _mm256_mullo_epi16(y, _mm256_set1_epi16(10))), 8));
}

/* The nine digits of four numbers. */
AVX2 void quick_split(__m256i v, uint64_t *first, uint64_t *rest)
{
	__m256i one = _mm256_srli_epi64(_mm256_mul_epu32(v, _mm256_set1_epi64x(1441151881)), 57);

	v = _mm256_sub_epi64(v, _mm256_mul_epu32(one, _mm256_set1_epi64x(100000000)));
	_mm256_storeu_si256((__m256i *)(void *)first, one);
	_mm256_storeu_si256((__m256i *)(void *)rest, quick_digits8(v));
}

AVX2 void quick_make(const uint8_t *v, struct quick *q)
{
	__m256i bits = _mm256_loadu_si256((const __m256i *)(const void *)v);
	__m256i e = _mm256_and_si256(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(255)), odd, m, d, more, most, pad;
	__m256 f;

	odd = _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(QUICK_FIRST), e),
			      _mm256_cmpgt_epi32(e, _mm256_set1_epi32(QUICK_LAST)));
	q->odd = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(odd));
	e = _mm256_min_epi32(_mm256_max_epi32(e, _mm256_set1_epi32(QUICK_FIRST)), _mm256_set1_epi32(QUICK_LAST));
	f = _mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff)));
	/* -floor((e - 150) * log10(2)) */
	m = _mm256_sub_epi32(e, _mm256_set1_epi32(150));
	m = _mm256_sub_epi32(_mm256_setzero_si256(),
			     _mm256_srai_epi32(_mm256_mullo_epi32(m, _mm256_set1_epi32(1262611)), 22));
	d = _mm256_set_m128i(quick_digits(_mm256_extractf128_ps(f, 1), _mm256_extracti128_si256(e, 1),
					  _mm256_extracti128_si256(m, 1)),
			     quick_digits(_mm256_castps256_ps128(f), _mm256_castsi256_si128(e),
					  _mm256_castsi256_si128(m)));
	more = _mm256_cmpgt_epi32(d, _mm256_set1_epi32(9999999));
	most = _mm256_cmpgt_epi32(d, _mm256_set1_epi32(99999999));
	pad = _mm256_blendv_epi8(_mm256_set1_epi32(100), _mm256_set1_epi32(10), more);
	pad = _mm256_blendv_epi8(pad, _mm256_set1_epi32(1), most);
	d = _mm256_mullo_epi32(d, pad);
	more = _mm256_add_epi32(_mm256_add_epi32(more, most), m);
	_mm256_storeu_si256((__m256i *)(void *)q->point, _mm256_sub_epi32(_mm256_set1_epi32(7), more));
	quick_split(_mm256_cvtepu32_epi64(_mm256_castsi256_si128(d)), q->first, q->rest);
	quick_split(_mm256_cvtepu32_epi64(_mm256_extracti128_si256(d, 1)), q->first + 4, q->rest + 4);
}

/* Returns how many were written: a multiple of eight, or up to the first that is not finite. */
__attribute__((target("avx2"))) static uint32_t f32s_avx2(const uint8_t *v, uint32_t n, char **out)
{
	struct quick q;
	char *at = *out;
	uint32_t bits, i;

	q.odd = 0;
	for (i = 0; i < (n & ~7u); i++, *at++ = ',') {
		if (i % 8 == 0)
			quick_make(v + i * sizeof(bits), &q);
		memcpy(&bits, v + i * sizeof(bits), sizeof(bits));
		*at = '-';
		if (__builtin_expect(!(q.odd >> i % 8 & 1), 1))
			at = put8((uint8_t)q.first[i % 8], q.rest[i % 8], q.point[i % 8], at + (bits >> 31));
		else if ((bits >> 23 & 255) == 255)
			break;
		else
			at = put_f32(bits, at);
	}
	*out = at;
	return i;
}

/* ---- doubles, eight at a time: the digits of one do not wait for those of another ---- */

struct quick64 {
	uint64_t high[8], low[8]; /* eight digits each, at first as numbers */
	int32_t point[8];
	uint8_t first[8];
	uint32_t odd;
};

AVX2 void quick_eight(uint64_t *at)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)at);

	_mm256_storeu_si256((__m256i *)(void *)at, quick_digits8(v));
}

/* Splits one of them into numbers of eight digits. */
AVX2 void quick64_one(uint64_t bits, struct quick64 *q, unsigned i)
{
	uint64_t c = bits & ((UINT64_C(1) << 52) - 1), v, rest, first;
	int e = (int)(bits >> 52 & 2047);
	struct shortest_decimal d = shortest64(c | UINT64_C(1) << 52, e - 1075, !c);
	bool over = d.digits >= 10000000000000000;

	v = d.digits * (over ? 1 : 10);
	first = v / 10000000000000000;
	rest = v - first * 10000000000000000;
	q->first[i] = (uint8_t)first;
	q->high[i] = rest / 100000000;
	q->low[i] = rest - q->high[i] * 100000000;
	q->point[i] = 16 + over + d.exponent;
	q->odd |= (uint32_t)(q->point[i] < -5 || q->point[i] > 17 || e == 0 || e == 2047) << i;
}

AVX2 void quick64_make(const uint8_t *v, struct quick64 *q)
{
	uint64_t bits;

	q->odd = 0;
	for (unsigned i = 0; i < 8; i++) {
		memcpy(&bits, v + i * sizeof(bits), sizeof(bits));
		quick64_one(bits, q, i);
	}
	for (unsigned i = 0; i < 8; i += 4) {
		quick_eight(q->high + i);
		quick_eight(q->low + i);
	}
}

__attribute__((target("avx2"))) static uint32_t f64s_avx2(const uint8_t *v, uint32_t n, char **out)
{
	struct quick64 q;
	char *at = *out;
	uint64_t bits;
	uint32_t i;

	q.odd = 0;
	for (i = 0; i < (n & ~7u); i++, *at++ = ',') {
		if (i % 8 == 0)
			quick64_make(v + i * sizeof(bits), &q);
		memcpy(&bits, v + i * sizeof(bits), sizeof(bits));
		*at = '-';
		if (__builtin_expect(!(q.odd >> i % 8 & 1), 1))
			at = put16(q.first[i % 8], q.high[i % 8], q.low[i % 8], q.point[i % 8], at + (bits >> 63));
		else if ((bits >> 52 & 2047) == 2047)
			break;
		else
			at = put_f64(bits, at);
	}
	*out = at;
	return i;
}
#endif

uint32_t shortest_f64s(const void *v, uint32_t n, char **out)
{
	char *at;
	uint64_t bits;
	uint32_t i = 0;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		i = f64s_avx2(v, n, out);
#endif
	at = *out;
	for (; i < n; i++) {
		memcpy(&bits, (const uint8_t *)v + i * sizeof(bits), sizeof(bits));
		if ((bits >> 52 & 2047) == 2047)
			break;
		at = put_f64(bits, at);
		*at++ = ',';
	}
	*out = at;
	return i;
}

uint32_t shortest_f32s(const void *v, uint32_t n, char **out)
{
	char *at;
	uint32_t bits, i = 0;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		i = f32s_avx2(v, n, out);
#endif
	at = *out;

	for (; i < n; i++) {
		memcpy(&bits, (const uint8_t *)v + i * sizeof(bits), sizeof(bits));
		if ((bits >> 23 & 255) == 255)
			break;
		at = put_f32(bits, at);
		*at++ = ',';
	}
	*out = at;
	return i;
}
