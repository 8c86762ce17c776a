/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as JSON text: see json_num.h. The digits come from shortest.h. */
#include "json_num.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "shortest.h"

size_t json_put_u64(char *out, uint64_t v)
{
	return (size_t)(shortest_u64(v, out) - out);
}

size_t json_put_i64(char *out, int64_t v)
{
	return (size_t)(shortest_i64(v, out) - out);
}

/* ---- floating point ---- */

static size_t put_exponent(char *out, int e)
{
	out[0] = 'e';
	return 1 + json_put_i64(out + 1, e);
}

static size_t put_digits(char *out, struct shortest_decimal d)
{
	char text[SHORTEST_ROOM];
	size_t n = json_put_u64(text, d.digits);
	int point = (int)n + d.exponent; /* position of the decimal point within the digits */

	if (point > 0 && point <= 17 && d.exponent >= 0) { /* 1200.0 */
		memcpy(out, text, n);
		memset(out + n, '0', (size_t)d.exponent);
		memcpy(out + point, ".0", 2);
		return (size_t)point + 2;
	}
	if (point > 0 && point <= 17) { /* 12.5 */
		memcpy(out, text, (size_t)point);
		out[point] = '.';
		memcpy(out + point + 1, text + point, n - (size_t)point);
		return n + 1;
	}
	if (point > -5 && point <= 0) { /* 0.00125 */
		memcpy(out, "0.0000", 6);
		memcpy(out + 2 - point, text, n);
		return (size_t)(2 - point) + n;
	}
	out[0] = text[0]; /* 1.25e-9 */
	if (n == 1)
		return 1 + put_exponent(out + 1, point - 1);
	out[1] = '.';
	memcpy(out + 2, text + 1, n - 1);
	return n + 1 + put_exponent(out + n + 1, point - 1);
}

/* Writes zeros, and null for values that JSON does not have. */
static size_t put_special(char *out, double v)
{
	const char *text = !isfinite(v) ? "null" : signbit(v) ? "-0.0" : "0.0";

	memcpy(out, text, strlen(text));
	return strlen(text);
}

static bool special(double v)
{
	return !isfinite(v) || fpclassify(v) == FP_ZERO;
}

static size_t put_signed(char *out, bool negative, struct shortest_decimal d)
{
	out[0] = '-';
	return (size_t)negative + put_digits(out + negative, d);
}

size_t json_put_f64(char *out, double v)
{
	return special(v) ? put_special(out, v) : put_signed(out, signbit(v), shortest_decimal_f64(v));
}

size_t json_put_f32(char *out, float v)
{
	return special((double)v) ? put_special(out, (double)v) : put_signed(out, signbit(v), shortest_decimal_f32(v));
}
