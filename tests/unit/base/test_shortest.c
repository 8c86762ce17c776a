/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in decimal: what ECMAScript writes, the fewest digits that the library of C reads back, for edges and for many at random. */
#include "support/test.h"

#include <math.h>

#include "shortest.h"
#include "shortest_private.h"
#include "unit/introspect/random_msg.h"

static const char *f64(double v)
{
	static char text[SHORTEST_MAX + 8];
	char *end = shortest_f64(v, text);

	assert_true(end - text <= SHORTEST_MAX);
	*end = '\0';
	return text;
}

static const char *f32(float v)
{
	static char text[SHORTEST_MAX + 8];
	char *end = shortest_f32(v, text);

	assert_true(end - text <= SHORTEST_MAX);
	*end = '\0';
	return text;
}

TEST(numbers_are_written_as_in_ecmascript)
{
	static const struct {
		double v;
		const char *text;
	} rows[] = {
		{ 0.1, "0.1" },
		{ 100, "100" },
		{ 1e21, "1e+21" },
		{ 123456789012345680000.0, "123456789012345680000" },
		{ 5e-324, "5e-324" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308" },
		{ 2.2250738585072014e-308, "2.2250738585072014e-308" },
		{ -1e-6, "-0.000001" },
		{ 1e-7, "1e-7" },
		{ -1.5e-9, "-1.5e-9" },
		{ 0.5, "0.5" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 9007199254740993.0, "9007199254740992" },
		{ 9007199254740994.0, "9007199254740994" },
		{ 2e300, "2e+300" },
		{ 4.35, "4.35" },
		{ 0, "0" },
		{ 1234.5, "1234.5" },
		{ 1e20, "100000000000000000000" },
		{ 2e-3, "0.002" },
		{ 9.5367431640625e-7, "9.5367431640625e-7" },
		{ 2251799813685249.5, "2251799813685249.5" },
		{ 179769313486231.5, "179769313486231.5" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(f64(rows[i].v), rows[i].text);
	assert_string_equal(f64(-0.0), "-0");
	assert_string_equal(f32(-0.0f), "-0");
	assert_string_equal(f32(0.1f), "0.1");
	assert_string_equal(f32(16777216.0f), "16777216");
	assert_string_equal(f32(3.4028235e38f), "3.4028235e+38");
	assert_string_equal(f32(1e-45f), "1e-45");
	assert_string_equal(f32(1.1754944e-38f), "1.1754944e-38");
	assert_string_equal(f32(3.0e7f), "30000000");
	assert_string_equal(f32(33554440.0f), "33554440");
}

/* Digits that count. */
static int significant(const char *s)
{
	int n = 0, zeros = 0;

	for (; *s && *s != 'e'; s++) {
		if (*s == '-' || *s == '.' || (!n && *s == '0'))
			continue;
		n++;
		zeros = *s == '0' ? zeros + 1 : 0;
	}
	return n - zeros;
}

static void check_f64(double v)
{
	char other[40];
	int p = 15;

	if (!isfinite(v))
		return;
	if (strtod(f64(v), NULL) != v)
		fail_msg("%.17g became %s", v, f64(v));
	for (snprintf(other, sizeof(other), "%.*e", p - 1, v); strtod(other, NULL) != v; p++)
		snprintf(other, sizeof(other), "%.*e", p, v);
	if (p > 15 && significant(f64(v)) > p)
		fail_msg("%.17g became %s: %s is shorter", v, f64(v), other);
	if (p == 15 && significant(f64(v)) > significant(other))
		fail_msg("%.17g became %s: %s is shorter", v, f64(v), other);
}

static void check_f32(float v)
{
	char other[40];
	int p = 6;

	if (!isfinite(v))
		return;
	if (strtof(f32(v), NULL) != v || (float)strtod(f32(v), NULL) != v)
		fail_msg("%.9g became %s", (double)v, f32(v));
	for (snprintf(other, sizeof(other), "%.*e", p - 1, (double)v); strtof(other, NULL) != v; p++)
		snprintf(other, sizeof(other), "%.*e", p, (double)v);
	if (significant(f32(v)) > (p > 6 ? p : significant(other)))
		fail_msg("%.9g became %s: %s is shorter", (double)v, f32(v), other);
}

TEST(every_power_of_two_and_its_neighbours_read_back)
{
	for (int e = -1074; e < 1024; e++)
		for (int k = -2; k <= 2; k++) {
			double v = ldexp(1, e);

			for (int i = 0; i < abs(k); i++)
				v = nextafter(v, k < 0 ? 0 : INFINITY);
			check_f64(v);
			check_f32((float)v);
		}
	for (int e = -323; e <= 308; e++) {
		char text[16];

		snprintf(text, sizeof(text), "1e%d", e);
		check_f64(strtod(text, NULL));
		check_f32(strtof(text, NULL));
	}
}

TEST(random_numbers_read_back)
{
	uint64_t seed = test_seed(3);

	for (int i = 0; i < 60000; i++) {
		uint64_t r = random_next(&seed);
		uint32_t low = (uint32_t)r;
		double d;
		float f;

		memcpy(&d, &r, sizeof(d));
		memcpy(&f, &low, sizeof(f));
		check_f64(d);
		check_f32(f);
		check_f64((double)(int64_t)(r % 2000000000) / 1000.0);
		check_f64((double)low / (double)(r >> 32 | 1));
		check_f32((float)(low % 100000) / 1000.0f);
		check_f32((float)low / 4294967296.0f * 100);
	}
}

TEST(whole_numbers_are_written_exactly)
{
	char text[SHORTEST_MAX], want[32];
	uint64_t v = 1;

	for (int i = 0; i < 20; i++, v *= 10)
		for (uint64_t w = v - 1; w != v + 2; w++) {
			*shortest_u64(w, text) = '\0';
			snprintf(want, sizeof(want), "%llu", (unsigned long long)w);
			assert_string_equal(text, want);
			*shortest_i64(-(int64_t)(w >> 1), text) = '\0';
			snprintf(want, sizeof(want), "%lld", -(long long)(w >> 1));
			assert_string_equal(text, want);
		}
	*shortest_u64(UINT64_MAX, text) = '\0';
	assert_string_equal(text, "18446744073709551615");
	*shortest_i64(INT64_MIN, text) = '\0';
	assert_string_equal(text, "-9223372036854775808");
}

/* ---- arrays ---- */

/* Each as it is by itself; the first that is not finite ends it. */
static void check_f32s(const float *v, uint32_t n)
{
	char text[40 * SHORTEST_ROOM], *end = text, *at = text;
	uint32_t done = shortest_f32s(v, n, &end), i = 0;

	for (; i < n && isfinite(v[i]); i++, at++) {
		const char *want = f32(v[i]);

		assert_memory_equal(at, want, strlen(want));
		at += strlen(want);
		assert_int_equal(*at, ',');
	}
	assert_int_equal(done, i);
	assert_ptr_equal(at, end);
}

static void check_f64s(const double *v, uint32_t n)
{
	char text[40 * SHORTEST_ROOM], *end = text, *at = text;
	uint32_t done = shortest_f64s(v, n, &end), i = 0;

	for (; i < n && isfinite(v[i]); i++, at++) {
		const char *want = f64(v[i]);

		assert_memory_equal(at, want, strlen(want));
		at += strlen(want);
		assert_int_equal(*at, ',');
	}
	assert_int_equal(done, i);
	assert_ptr_equal(at, end);
}

static float random_float(uint64_t r)
{
	uint32_t bits = (uint32_t)(r >> 32);
	float f;

	memcpy(&f, &bits, sizeof(f));
	switch (r % 8) {
	case 0:
		return f;
	case 1:
		return (float)(bits % 1000) / 10;
	case 2:
		return (float)(bits % 3);
	case 3:
		return ldexpf(1, (int)(bits % 40) - 16);
	default:
		return (float)bits / 4294967296.0f * (r & 16 ? 100.0f : -0.01f);
	}
}

TEST(numbers_in_arrays_are_written_as_single_ones)
{
	uint64_t seed = test_seed(5);
	float f[40];
	double d[40];

	for (int i = 0; i < 20000; i++) {
		uint32_t n = (uint32_t)(random_next(&seed) % 40);

		for (uint32_t k = 0; k < n; k++) {
			uint64_t r = random_next(&seed);

			f[k] = random_float(r);
			memcpy(&d[k], &r, sizeof(r));
			if (r % 4)
				d[k] = (double)random_float(r) * (r & 4 ? 1 : 0.1);
		}
		check_f32s(f, n);
		check_f64s(d, n);
	}
}

/* Every exponent of doubles, at both of its ends: powers of two have a neighbour that is closer. */
TEST(floats_at_the_edges_of_exponents_read_back)
{
	float f[8];

	for (uint32_t e = 1; e < 255; e++)
		for (uint32_t c = 0; c < 64; c++) {
			for (uint32_t k = 0; k < 8; k++) {
				uint32_t bits = e << 23 | ((c * 8 + k - 256) & 0x7fffff);

				memcpy(&f[k], &bits, sizeof(bits));
			}
			check_f32s(f, 8);
		}
}

/* ---- the table ---- */

#define LIMBS 42 /* 10^324 has 1077 bits, and 128 more */

struct big {
	uint32_t limb[LIMBS];
};

static void big_mul(struct big *b, uint32_t by)
{
	uint64_t carry = 0;

	for (int i = 0; i < LIMBS; i++) {
		carry += (uint64_t)b->limb[i] * by;
		b->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
}

static int big_bits(const struct big *b)
{
	for (int i = LIMBS; i-- > 0;)
		if (b->limb[i])
			return 32 * i + 32 - __builtin_clz(b->limb[i]);
	return 0;
}

/* b times a number of 128 bits. */
static struct big big_by(const struct big *b, unsigned __int128 v)
{
	struct big sum = { { 0 } };

	for (int part = 0; part < 4; part++, v >>= 32) {
		struct big one = *b;
		uint64_t carry = 0;

		big_mul(&one, (uint32_t)v);
		for (int i = part; i < LIMBS; i++) {
			carry += (uint64_t)sum.limb[i] + one.limb[i - part];
			sum.limb[i] = (uint32_t)carry;
			carry >>= 32;
		}
	}
	return sum;
}

static unsigned __int128 table(int k)
{
	const struct shortest_power *p = &shortest_powers[k - SHORTEST_POWER_MIN];

	return (unsigned __int128)p->high << 64 | p->low;
}

/* The upper 128 bits of b, rounded up. */
static unsigned __int128 upper(const struct big *b)
{
	int bits = big_bits(b);
	unsigned __int128 v = 0;
	bool more = false;

	for (int i = bits - 1; i >= bits - 128; i--)
		v = v << 1 | (i >= 0 && b->limb[i / 32] >> i % 32 & 1);
	for (int i = 0; i < bits - 128; i++)
		more |= b->limb[i / 32] >> i % 32 & 1;
	return v + more;
}

/* 10^-k is rounded up when its product with 10^k is just above a power of two, and that of the next smaller number is not. */
TEST(the_table_of_powers_is_exact)
{
	struct big b = { { 1 } }, above, below;

	for (int k = 0; k <= SHORTEST_POWER_MAX; k++, big_mul(&b, 10)) {
		assert_true(table(k) == upper(&b));
		if (-k < SHORTEST_POWER_MIN || k == 0)
			continue;
		assert_true(table(-k) >> 127);
		above = big_by(&b, table(-k));
		below = big_by(&b, table(-k) - 1);
		assert_int_equal(big_bits(&above), big_bits(&b) + 128);
		assert_int_equal(big_bits(&below), big_bits(&b) + 127);
	}
}
