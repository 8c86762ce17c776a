/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers from text, see number.h. Thread: any. */
#include "number.h"

#include "err.h"
#include "timeutil.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- whole numbers ---- */

/* Value of a digit in any base; NUMBER_HEX: not a digit. */
static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : NUMBER_HEX;
}

/* The base of a number under NUMBER_ANY; *at moves past 0x. */
static unsigned base_of(const char **at)
{
	const char *s = *at;

	if (s[0] != '0')
		return NUMBER_DEC;
	if ((s[1] | 0x20) != 'x' || digit(s[2]) >= NUMBER_HEX)
		return NUMBER_OCT;
	*at += 2;
	return NUMBER_HEX;
}

int number_take_u64(const char **at, unsigned base, uint64_t max, uint64_t *ret)
{
	const char *s = *at;
	uint64_t v = 0;
	bool lost = false;

	if (base == NUMBER_ANY)
		base = base_of(&s);
	if (digit(*s) >= base)
		return -EINVAL;
	for (; digit(*s) < base; s++) {
		lost |= __builtin_mul_overflow(v, base, &v);
		lost |= __builtin_add_overflow(v, digit(*s), &v);
	}
	if (lost || v > max)
		return -ERANGE;
	*at = s;
	*ret = v;
	return 0;
}

int number_take_i64(const char **at, unsigned base, int64_t min, int64_t max, int64_t *ret)
{
	const char *s = *at;
	bool minus = *s == '-';
	uint64_t size;
	int64_t v;
	int r;

	s += minus || *s == '+';
	r = number_take_u64(&s, base, (uint64_t)INT64_MAX + minus, &size);
	if (r < 0)
		return r;
	v = (int64_t)(minus ? 0 - size : size);
	if (v < min || v > max)
		return -ERANGE;
	*at = s;
	*ret = v;
	return 0;
}

int number_u64(const char *s, unsigned base, uint64_t max, uint64_t *ret)
{
	uint64_t v;
	int r = number_take_u64(&s, base, max, &v);

	if (r < 0 || *s)
		return r < 0 ? r : -EINVAL;
	*ret = v;
	return 0;
}

int number_i64(const char *s, unsigned base, int64_t min, int64_t max, int64_t *ret)
{
	int64_t v;
	int r = number_take_i64(&s, base, min, max, &v);

	if (r < 0 || *s)
		return r < 0 ? r : -EINVAL;
	*ret = v;
	return 0;
}

bool number_hash(const char *s, uint64_t *ret)
{
	return s && strspn(s, "0123456789abcdef") == 16 && number_u64(s, NUMBER_HEX, UINT64_MAX, ret) == 0;
}

/* ---- real numbers ---- */

int number_take_f64(const char **at, double *ret)
{
	const char *s = *at + (**at == '-' || **at == '+');
	locale_t c;
	char *end;
	double v;

	if (digit(s[*s == '.']) >= NUMBER_DEC) /* strtod() would skip blanks, and accepts words such as "inf" */
		return -EINVAL;
	c = newlocale(LC_ALL_MASK, "C",
		      (locale_t)0); /* the C library's own copy: nothing is allocated, and it cannot fail */
	v = strtod_l(*at, &end, c);
	freelocale(c);
	if (!isfinite(v))
		return -ERANGE;
	*at = end;
	*ret = v;
	return 0;
}

int number_f64(const char *s, double *ret)
{
	double v;
	int r = number_take_f64(&s, &v);

	if (r < 0 || *s)
		return r < 0 ? r : -EINVAL;
	*ret = v;
	return 0;
}

int number_f64s(const char *s, double *ret, int max)
{
	int n = 0;

	do {
		s += strspn(s, " \t");
		if (n == max || number_take_f64(&s, &ret[n++]) < 0)
			return -EINVAL;
		s += strspn(s, " \t");
	} while (*s++ == ',');
	return s[-1] ? -EINVAL : n;
}

/* ---- with a unit ---- */

struct unit {
	const char *name;
	int64_t factor;
};

/*
 * Parses a decimal number with at most one point, then a unit of the table; exact. Decimals that the unit cannot
 * express are an error.
 */
static int parse_scaled(const char *s, const struct unit *units, size_t n, int64_t *ret)
{
	int128 whole = 0;
	int64_t frac_div = 1;
	const char *p = s;
	int digits = 0, point = 0;

	for (; digit(*p) < NUMBER_DEC || (*p == '.' && !point); p++) {
		if (*p == '.') {
			point = 1;
			continue;
		}
		if (++digits > 30)
			return -ERANGE;
		whole = whole * 10 + (*p - '0');
		if (point) {
			if (frac_div >= INT64_C(100000000000000000))
				return -ERANGE;
			frac_div *= 10;
		}
	}
	if (!digits || p[-1] == '.')
		return -EINVAL;
	if (!whole && !*p) {
		*ret = 0;
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		int128 v;

		if (strcmp(p, units[i].name) != 0)
			continue;
		if (whole > ((int128)1 << 80))
			return -ERANGE;
		v = whole * (int128)units[i].factor;
		if (v % (int128)frac_div)
			return -EINVAL;
		v /= (int128)frac_div;
		if (v > INT64_MAX)
			return -ERANGE;
		*ret = (int64_t)v;
		return 0;
	}
	return -EINVAL;
}

int dur_parse(const char *s, int64_t *ret_dur_ns)
{
	static const struct unit units[] = {
		{ "ns", 1 },       { "us", NS_PER_US },    { "ms", NS_PER_MS },
		{ "s", NS_PER_S }, { "m", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S },
	};
	int64_t size_ns;
	int r = parse_scaled(s, units, sizeof(units) / sizeof(units[0]), ret_dur_ns);

	if (*s == '-' && parse_scaled(s + 1, units, sizeof(units) / sizeof(units[0]), &size_ns) == 0)
		return err_set(r, "\"%.40s\" is not a duration: it is below zero", s);
	if (r < 0)
		return err_set(r,
			       "\"%.40s\" is not a duration; write a number and ns, us, ms, s, m or h, such as 100ms",
			       s);
	return 0;
}

int size_parse(const char *s, int64_t *ret_bytes)
{
	static const struct unit units[] = {
		{ "", 1 },          { "B", 1 },         { "KiB", 1 << 10 },
		{ "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { "TiB", INT64_C(1) << 40 },
		{ "kB", 1000 },     { "MB", 1000000 },  { "GB", 1000000000 },
	};
	int r = parse_scaled(s, units, sizeof(units) / sizeof(units[0]), ret_bytes);

	if (r < 0)
		return err_set(r, "\"%.40s\" is not a size; write bytes, or a number and KiB, MiB, GiB, kB, MB or GB",
			       s);
	return 0;
}
