/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in decimal: what ECMAScript writes, the fewest digits that the library of C reads back, for edges and for many at random. */
#include "support/test.h"

#include <math.h>

#include "shortest.h"
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

TEST(as_ecmascript_writes_them)
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

TEST(every_power_of_two_and_its_neighbours)
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

TEST(many_at_random)
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

TEST(whole_numbers)
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
