/* SPDX-License-Identifier: Apache-2.0 */
/* number.h: valid and invalid numbers, durations and sizes. Thread: one. */
#include "tests/support/test.h"

#include "err.h"
#include "number.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct row {
	const char *text;
	unsigned base;
	int r;
	int64_t v;
};

TEST(unsigned_integers_are_parsed)
{
	static const struct row rows[] = {
		{ "0", NUMBER_DEC, 0, 0 },
		{ "007", NUMBER_DEC, 0, 7 },
		{ "9223372036854775807", NUMBER_DEC, 0, INT64_MAX },
		{ "18446744073709551615", NUMBER_DEC, 0, -1 },
		{ "18446744073709551616", NUMBER_DEC, -ERANGE, 0 },
		{ "99999999999999999999999", NUMBER_DEC, -ERANGE, 0 },
		{ "28446744073709551615", NUMBER_DEC, -ERANGE, 0 },
		{ "", NUMBER_DEC, -EINVAL, 0 },
		{ " 1", NUMBER_DEC, -EINVAL, 0 },
		{ "1 ", NUMBER_DEC, -EINVAL, 0 },
		{ "\t", NUMBER_DEC, -EINVAL, 0 },
		{ "+1", NUMBER_DEC, -EINVAL, 0 },
		{ "-1", NUMBER_DEC, -EINVAL, 0 },
		{ "1.0", NUMBER_DEC, -EINVAL, 0 },
		{ "1e3", NUMBER_DEC, -EINVAL, 0 },
		{ "0x10", NUMBER_DEC, -EINVAL, 0 },
		{ "a", NUMBER_DEC, -EINVAL, 0 },
		{ "\xd9\xa1", NUMBER_DEC, -EINVAL, 0 }, /* a one in Arabic */
		{ "755", NUMBER_OCT, 0, 0755 },
		{ "8", NUMBER_OCT, -EINVAL, 0 },
		{ "dEaD", NUMBER_HEX, 0, 0xdead },
		{ "ffffffffffffffff", NUMBER_HEX, 0, -1 },
		{ "10000000000000000", NUMBER_HEX, -ERANGE, 0 },
		{ "0xff", NUMBER_HEX, -EINVAL, 0 },
		{ "g", NUMBER_HEX, -EINVAL, 0 },
		{ "0x1F", NUMBER_ANY, 0, 31 },
		{ "0X1f", NUMBER_ANY, 0, 31 },
		{ "017", NUMBER_ANY, 0, 15 },
		{ "19", NUMBER_ANY, 0, 19 },
		{ "0", NUMBER_ANY, 0, 0 },
		{ "0x", NUMBER_ANY, -EINVAL, 0 },
		{ "0xg", NUMBER_ANY, -EINVAL, 0 },
		{ "08", NUMBER_ANY, -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t v = 77;
		int r = number_u64(rows[i].text, rows[i].base, UINT64_MAX, &v);

		if (r != rows[i].r || v != (r < 0 ? 77 : (uint64_t)rows[i].v))
			fail_msg("\"%s\": %d, %" PRIu64, rows[i].text, r, v);
	}
}

TEST(signed_integers_are_parsed)
{
	static const struct row rows[] = {
		{ "-9223372036854775808", NUMBER_DEC, 0, INT64_MIN },
		{ "-9223372036854775809", NUMBER_DEC, -ERANGE, 0 },
		{ "9223372036854775807", NUMBER_DEC, 0, INT64_MAX },
		{ "9223372036854775808", NUMBER_DEC, -ERANGE, 0 },
		{ "18446744073709551617", NUMBER_DEC, -ERANGE, 0 },
		{ "+5", NUMBER_DEC, 0, 5 },
		{ "-0", NUMBER_DEC, 0, 0 },
		{ "-0x10", NUMBER_ANY, 0, -16 },
		{ "--5", NUMBER_DEC, -EINVAL, 0 },
		{ "+-5", NUMBER_DEC, -EINVAL, 0 },
		{ "- 5", NUMBER_DEC, -EINVAL, 0 },
		{ "-", NUMBER_DEC, -EINVAL, 0 },
		{ "", NUMBER_DEC, -EINVAL, 0 },
		{ "\n5", NUMBER_DEC, -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t v = 77;
		int r = number_i64(rows[i].text, rows[i].base, INT64_MIN, INT64_MAX, &v);

		if (r != rows[i].r || v != (r < 0 ? 77 : rows[i].v))
			fail_msg("\"%s\": %d, %" PRId64, rows[i].text, r, v);
	}
}

TEST(a_range_includes_both_ends)
{
	int64_t i = 77;
	uint64_t u = 77;

	assert_int_equal(number_i64("-20", NUMBER_DEC, -20, 19, &i), 0);
	assert_int_equal(number_i64("19", NUMBER_DEC, -20, 19, &i), 0);
	assert_int_equal(number_i64("-21", NUMBER_DEC, -20, 19, &i), -ERANGE);
	assert_int_equal(number_i64("20", NUMBER_DEC, -20, 19, &i), -ERANGE);
	assert_int_equal(i, 19);
	assert_int_equal(number_u64("65535", NUMBER_DEC, UINT16_MAX, &u), 0);
	assert_int_equal(number_u64("65536", NUMBER_DEC, UINT16_MAX, &u), -ERANGE);
	assert_int_equal(u, 65535);
}

TEST(number_take_stops_behind_the_number)
{
	const char *s = "12,-3;4.5e1e2", *none = "x1";
	uint64_t u;
	int64_t i;
	double d;

	assert_int_equal(number_take_u64(&s, NUMBER_DEC, 99, &u), 0);
	assert_string_equal(s++, ",-3;4.5e1e2");
	assert_int_equal(number_take_i64(&s, NUMBER_DEC, -9, 9, &i), 0);
	assert_string_equal(s++, ";4.5e1e2");
	assert_int_equal(number_take_f64(&s, &d), 0);
	assert_string_equal(s, "e2");
	assert_true(u == 12 && i == -3 && d == 45);
	s = "0xg"; /* a 0, and then something else */
	assert_int_equal(number_take_u64(&s, NUMBER_ANY, 99, &u), 0);
	assert_string_equal(s, "xg");
	assert_int_equal(number_take_u64(&none, NUMBER_DEC, 99, &u), -EINVAL);
	assert_int_equal(number_take_f64(&none, &d), -EINVAL);
	assert_string_equal(none, "x1");
}

TEST(real_numbers_must_be_finite)
{
	static const struct {
		const char *text;
		int r;
		double v;
	} rows[] = {
		{ "1.5", 0, 1.5 },       { "-.5", 0, -.5 },          { "+2", 0, 2 },
		{ "1.", 0, 1 },          { "1e-3", 0, 1e-3 },        { "0x1p4", 0, 16 },
		{ "1e308", 0, 1e308 },   { "5e-324", 0, 5e-324 },    { "1e-999", 0, 0 },
		{ "1e309", -ERANGE, 0 }, { "-1e309", -ERANGE, 0 },   { "", -EINVAL, 0 },
		{ ".", -EINVAL, 0 },     { "-", -EINVAL, 0 },        { " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },    { "1,5", -EINVAL, 0 },      { "1.5x", -EINVAL, 0 },
		{ "1e", -EINVAL, 0 },    { "nan", -EINVAL, 0 },      { "-nan", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },   { "Infinity", -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double v = 77;
		int r = number_f64(rows[i].text, &v);

		if (r != rows[i].r || v != (r < 0 ? 77 : rows[i].v))
			fail_msg("\"%s\": %d, %g", rows[i].text, r, v);
	}
}

/* A locale whose point is a comma: a machine need not have one, so it is written here as localedef(1) does, its numbers alone. */
static locale_t with_comma(void)
{
	static const uint32_t head[] = {
		0x20031114, 6, 32, 34, 35, 36, 40, 44, ',', ',', 0
	}; /* what is where, and that */
	static const char charset[] = "ANSI_X3.4-1968";
	char dir[TEST_PATH_MAX], path[TEST_PATH_MAX];
	locale_t l;
	FILE *f;

	assert_true(mkdir(test_path(dir, "comma"), 0700) == 0 || errno == EEXIST); /* when run by hand */
	f = fopen(test_path(path, "comma/LC_NUMERIC"), "we");
	assert_non_null(f);
	assert_true(fwrite(head, sizeof(head), 1, f) == 1 && fwrite(charset, sizeof(charset), 1, f) == 1);
	assert_int_equal(fclose(f), 0);
	*strrchr(dir, '/') = '\0';
	setenv("LOCPATH", dir, 1);
	assert_non_null(
		setlocale(LC_NUMERIC, "comma")); /* of newlocale() the address sanitizer would see a leak in libc */
	l = duplocale(LC_GLOBAL_LOCALE);
	assert_non_null(l);
	assert_non_null(setlocale(LC_NUMERIC, "C"));
	return l;
}

TEST(no_locale_changes_a_number)
{
	locale_t comma = with_comma(), old;
	double v, two[2];
	int64_t ns;

	old = uselocale(comma);
	assert_true(strtod("1,5", NULL) == 1.5);
	assert_int_equal(number_f64("1.5", &v), 0);
	assert_true(v == 1.5);
	assert_int_equal(number_f64("1,5", &v), -EINVAL);
	assert_int_equal(number_f64s("1.5,2.5", two, 2), 2);
	assert_int_equal(dur_parse("1.5s", &ns), 0);
	uselocale(old);
	freelocale(comma);
}

TEST(lists_of_numbers_have_commas_between)
{
	double v[3] = { 0 };

	assert_int_equal(number_f64s("48.1,11.5", v, 3), 2);
	assert_true(v[0] == 48.1 && v[1] == 11.5);
	assert_int_equal(number_f64s(" 1 ,\t-2, 3 ", v, 3), 3);
	assert_true(v[0] == 1 && v[1] == -2 && v[2] == 3);
	assert_int_equal(number_f64s("1", v, 3), 1);
	assert_int_equal(number_f64s("", v, 3), -EINVAL);
	assert_int_equal(number_f64s("1,", v, 3), -EINVAL);
	assert_int_equal(number_f64s(",1", v, 3), -EINVAL);
	assert_int_equal(number_f64s("1,,2", v, 3), -EINVAL);
	assert_int_equal(number_f64s("1 2", v, 3), -EINVAL);
	assert_int_equal(number_f64s("1;2", v, 3), -EINVAL);
	assert_int_equal(number_f64s("1,2,3,4", v, 3), -EINVAL);
	assert_int_equal(number_f64s("1,nan", v, 3), -EINVAL);
}

TEST(a_hash_has_16_digits)
{
	uint64_t v = 77;

	assert_false(number_hash(NULL, &v));
	assert_false(number_hash("", &v));
	assert_false(number_hash("0123456789ABCDEF", &v));
	assert_false(number_hash("123456789abcdef", &v));
	assert_false(number_hash("00123456789abcdef", &v));
	assert_false(number_hash("0x23456789abcdef", &v));
	assert_false(number_hash(" 123456789abcdef", &v));
	assert_true(v == 77);
	assert_true(number_hash("fedcba9876543210", &v));
	assert_true(v == UINT64_C(0xfedcba9876543210));
}

TEST(durations_are_parsed_exactly)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{ "100ms", 100000000 },
		{ "1.5s", 1500000000 },
		{ "0", 0 },
		{ "0ms", 0 },
		{ "20us", 20000 },
		{ "250ns", 250 },
		{ "2m", INT64_C(120000000000) },
		{ "1h", INT64_C(3600000000000) },
		{ "0.000000001s", 1 },
		{ ".5s", 500000000 },
		{ "9223372036854775807ns", INT64_MAX },
	};
	static const char *const bad[] = { "",
					   "5",
					   "-5ms",
					   "1.5",
					   "ms",
					   "1.ms",
					   "1.2.3s",
					   "1 ms",
					   "0.5ns",
					   "1e3ms",
					   "1msx",
					   "9223372036854775808ns",
					   "99999999999999999999999999h",
					   "1.0000000000000000000s",
					   "1111111111111111111111111111111111s",
					   "nan",
					   "1MS" };
	int64_t v = 77;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(dur_parse(good[i].text, &v), 0);
		assert_int_equal(v, good[i].ns);
	}
	v = 77;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (dur_parse(bad[i], &v) >= 0 || v != 77)
			fail_msg("\"%s\" was taken", bad[i]);
	(void)!dur_parse("-5ms", &v);
	assert_string_equal(err_why(), "\"-5ms\" is not a duration: it is below zero");
}

TEST(sizes_are_parsed)
{
	int64_t v;

	assert_int_equal(size_parse("512", &v), 0);
	assert_int_equal(v, 512);
	assert_int_equal(size_parse("1.5KiB", &v), 0);
	assert_int_equal(v, 1536);
	assert_int_equal(size_parse("16MiB", &v), 0);
	assert_int_equal(v, 16 << 20);
	assert_int_equal(size_parse("10MB", &v), 0);
	assert_int_equal(v, 10000000);
	assert_int_equal(size_parse("9999999999999TiB", &v), -ERANGE);
	assert_int_equal(size_parse("16mib", &v), -EINVAL);
	assert_int_equal(size_parse("-1", &v), -EINVAL);
}
