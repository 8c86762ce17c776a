/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text: they read back to the same value, are short, and are JSON in any locale. */
#include "support/test.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "libclient/introspect/json_num.h"
#include "random_msg.h"

static const char *f64(double v)
{
	static char out[JSON_NUM_MAX + 1];
	size_t n = json_put_f64(out, v);

	assert_true(n <= JSON_NUM_MAX);
	out[n] = '\0';
	return out;
}

static const char *f32(float v)
{
	static char out[JSON_NUM_MAX + 1];
	size_t n = json_put_f32(out, v);

	assert_true(n <= JSON_NUM_MAX);
	out[n] = '\0';
	return out;
}

TEST(known_numbers_have_their_exact_texts)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = {
		{ 0.0, "0.0" },
		{ -0.0, "-0.0" },
		{ 1, "1.0" },
		{ -1.5, "-1.5" },
		{ 0.1, "0.1" },
		{ 100, "100.0" },
		{ 123456.789, "123456.789" },
		{ 1e16, "10000000000000000.0" },
		{ 1e17, "1e17" },
		{ 1e22, "1e22" },
		{ 0.0001, "0.0001" },
		{ 1e-6, "1e-6" },
		{ 5e-324, "5e-324" },
		{ DBL_MAX, "1.7976931348623157e308" },
		{ DBL_MIN, "2.2250738585072014e-308" },
		{ 9.81, "9.81" },
		{ 1e-300, "1e-300" },
		{ -2.5e-10, "-2.5e-10" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(f64(cases[i].v), cases[i].text);
	assert_string_equal(f32(0.1f), "0.1");
	assert_string_equal(f32(FLT_MAX), "3.4028235e38");
	assert_string_equal(f32(FLT_TRUE_MIN), "1e-45");
	assert_string_equal(f32(16777216.0f), "16777216.0");
	assert_string_equal(f64((double)NAN), "null");
	assert_string_equal(f64((double)-NAN), "null");
	assert_string_equal(f64((double)INFINITY), "null");
	assert_string_equal(f32(-INFINITY), "null");
}

TEST(printed_numbers_read_back_the_same)
{
	uint64_t seed = test_seed(5);
	unsigned longer = 0;

	for (int i = 0; i < 200000; i++) {
		uint64_t bits = random_next(&seed);
		uint32_t half = (uint32_t)(bits >> 32);
		char brief[32];
		double d;
		float f;

		memcpy(&d, &bits, sizeof(d));
		memcpy(&f, &half, sizeof(f));
		if (i & 1) {
			d = (double)(int64_t)(bits >> 30) / 1000;
			f = (float)((int32_t)half >> 12) / 128;
		}
		if (isfinite(d) && strtod(f64(d), NULL) != d)
			fail_msg("%a: %s", d, f64(d));
		if (isfinite(f) && strtof(f32(f), NULL) != f)
			fail_msg("%a: %s", (double)f, f32(f));
		if (isfinite(d) && i % 16 == 0) {
			int digits = 1;

			do
				snprintf(brief, sizeof(brief), "%.*e", digits++ - 1, d);
			while (strtod(brief, NULL) != d);
			longer += strlen(f64(d)) > strlen(brief) + 2;
		}
	}
	assert_true(longer < 200); /* of 12500: nearly always the shortest */
}

/* At a power of two the neighbour below is half as far as the one above. */
TEST(powers_of_two_read_back_the_same)
{
	for (int e = -1074; e <= 1023; e++) {
		double d = ldexp(1, e), below = nextafter(d, 0);

		assert_true(strtod(f64(d), NULL) == d);
		assert_true(strtod(f64(below), NULL) == below);
	}
	for (int e = -149; e <= 127; e++) {
		float f = ldexpf(1, e), below = nextafterf(f, 0);

		assert_true(strtof(f32(f), NULL) == f);
		assert_true(strtof(f32(below), NULL) == below);
	}
}

TEST(integers_are_exact)
{
	static const int64_t values[] = { 0, 1, -1, 9, 10, 99, 100, 101, -12345, INT64_MAX, INT64_MIN, 1000000000000 };
	char out[JSON_NUM_MAX + 1], expected[32];
	size_t n;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		out[json_put_i64(out, values[i])] = '\0';
		snprintf(expected, sizeof(expected), "%lld", (long long)values[i]);
		assert_string_equal(out, expected);
	}
	n = json_put_u64(out, UINT64_MAX);
	out[n] = '\0';
	assert_string_equal(out, "18446744073709551615");
}
