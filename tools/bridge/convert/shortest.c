/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See shortest.h. A number c * 2^q lies in the middle of those that are read as it. With a k for which 10^k is just below their
 * width, one or two multiples of 10^k are among them, and at most one of 10^(k+1): the shortest is one of these. They are compared
 * in units of 10^k / 4, for which 10^-k is needed to 128 bits, and its product rounded so that what is lost shows in the last bit.
 */
#include "shortest.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

typedef unsigned __int128 u128;

#define POW_MIN (-292)
#define POW_MAX 324
#define LIMBS   36 /* 10^324 has 1077 bits */

struct decimal { /* digits * 10^exponent */
	uint64_t digits;
	int exponent;
};

/* ---- powers of ten: 10^k, 128 bits from the highest that is set, rounded up ---- */

static struct {
	uint64_t high, low;
} powers[POW_MAX - POW_MIN + 1];
static pthread_once_t powers_once = PTHREAD_ONCE_INIT;

struct big { /* little-endian */
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

static bool big_bit(const struct big *b, int i)
{
	return i >= 0 && b->limb[i / 32] >> i % 32 & 1;
}

static void big_double(struct big *b, bool in)
{
	for (int i = LIMBS; i-- > 1;)
		b->limb[i] = b->limb[i] << 1 | b->limb[i - 1] >> 31;
	b->limb[0] = b->limb[0] << 1 | in;
}

/* a -= b, unless it is less. */
static bool big_sub(struct big *a, const struct big *b)
{
	uint32_t borrow = 0;
	struct big d;

	for (int i = 0; i < LIMBS; i++) {
		uint64_t x = (uint64_t)a->limb[i] - b->limb[i] - borrow;

		d.limb[i] = (uint32_t)x;
		borrow = (uint32_t)(x >> 63);
	}
	if (!borrow)
		*a = d;
	return !borrow;
}

static void power_set(int k, u128 v, bool more)
{
	v += more;
	powers[k - POW_MIN].high = (uint64_t)(v >> 64);
	powers[k - POW_MIN].low = (uint64_t)v;
}

/* 10^k, of which b is the whole. */
static void power_up(int k, const struct big *b)
{
	int bits = big_bits(b);
	bool more = false;
	u128 v = 0;

	for (int i = 0; i < 128; i++)
		v = v << 1 | big_bit(b, bits - 1 - i);
	for (int i = 0; i < bits - 128 && !more; i++)
		more = big_bit(b, i);
	power_set(k, v, more);
}

/* 10^-k: as many bits of 1 / b as there is room for, behind the zeros. */
static void power_down(int k, const struct big *b)
{
	struct big rest = { { 1 } };
	u128 v = 0;

	for (int i = 0; i < big_bits(b) - 1; i++)
		big_double(&rest, false);
	for (int i = 0; i < 128; i++) {
		big_double(&rest, false);
		v = v << 1 | big_sub(&rest, b);
	}
	power_set(-k, v, big_bits(&rest) > 0);
}

static void powers_make(void)
{
	struct big b = { { 1 } };

	for (int k = 0; k <= POW_MAX; k++) {
		power_up(k, &b);
		if (k > 0 && -k >= POW_MIN)
			power_down(k, &b);
		big_mul(&b, 10);
	}
}

/* ---- the shortest ---- */

/* floor(log10(2^q)), or of 3/4 of it: the width of the numbers above a power of two, where those below lie closer. */
static int log10_pow2(int q, bool three_quarters)
{
	return (q * 1262611 - (three_quarters ? 524031 : 0)) >> 22;
}

static int log2_pow10(int k)
{
	return (k * 1741647) >> 19;
}

/* The upper 64 bits of g * c, with a last bit that is set if anything was lost. */
static uint64_t mul_odd(uint64_t high, uint64_t low, uint64_t c)
{
	u128 x = (u128)low * c, y = (u128)high * c + (uint64_t)(x >> 64);

	return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

/* In quarters of a unit: the number is at mid, and all between low and high are read as it. */
static struct decimal choose(uint64_t low, uint64_t mid, uint64_t high, int k)
{
	uint64_t s = mid / 4, ten = s / 10;
	bool below, above;

	if (s >= 10) {
		below = low <= 40 * ten;
		above = 40 * ten + 40 <= high;
		if (below != above)
			return (struct decimal){ ten + above, k + 1 };
	}
	below = low <= 4 * s;
	above = 4 * s + 4 <= high;
	if (below == above)
		above = mid > 4 * s + 2 || (mid == 4 * s + 2 && s & 1);
	return (struct decimal){ s + above, k };
}

/* c * 2^q; closer: the next number below is at half the distance. */
static struct decimal shortest(uint64_t c, int q, bool closer)
{
	int k = log10_pow2(q, closer), h = q + log2_pow10(-k) + 1;
	uint64_t high = powers[-k - POW_MIN].high, low = powers[-k - POW_MIN].low;
	bool odd = c & 1; /* ties go to even ones: the ends belong to those */

	return choose(mul_odd(high, low, (4 * c - 2 + closer) << h) + odd, mul_odd(high, low, 4 * c << h),
		      mul_odd(high, low, (4 * c + 2) << h) - odd, k);
}

/* ---- digits ---- */

static const char pairs[201] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
			       "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
			       "8081828384858687888990919293949596979899";

static int digits_of(uint64_t v)
{
	static const uint64_t tens[20] = { 0,
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
	int n = (64 - __builtin_clzll(v | 1)) * 1233 >> 12;

	return n + (v >= tens[n]);
}

/* All n of them, the last at out[n - 1]. */
static void put_digits(uint64_t v, int n, char *out)
{
	uint32_t low;

	while (v >= 100000000) { /* eight at a time, in 32 bits */
		low = (uint32_t)(v % 100000000);
		v /= 100000000;
		for (int i = 0; i < 4; i++) {
			n -= 2;
			memcpy(out + n, pairs + 2 * (low % 100), 2);
			low /= 100;
		}
	}
	for (low = (uint32_t)v; low >= 100; low /= 100) {
		n -= 2;
		memcpy(out + n, pairs + 2 * (low % 100), 2);
	}
	if (n == 2)
		memcpy(out, pairs + 2 * low, 2);
	else
		out[0] = (char)('0' + low);
}

char *shortest_u64(uint64_t v, char *out)
{
	int n = digits_of(v);

	n = n ? n : 1;
	put_digits(v, n, out);
	return out + n;
}

char *shortest_i64(int64_t v, char *out)
{
	if (v >= 0)
		return shortest_u64((uint64_t)v, out);
	*out = '-';
	return shortest_u64(-(uint64_t)v, out + 1);
}

static char *put_exponent(char *out, int e)
{
	*out++ = 'e';
	*out++ = e < 0 ? '-' : '+';
	return shortest_u64((uint64_t)(e < 0 ? -e : e), out);
}

/* n digits, the point behind the first `point` of them. */
static char *put_decimal(struct decimal d, char *out)
{
	int n, point;

	while (d.digits % 10 == 0 && d.digits) {
		d.digits /= 10;
		d.exponent++;
	}
	n = digits_of(d.digits);
	point = n + d.exponent;
	if (point > 21 || point < -5) {
		put_digits(d.digits, n, out + 1);
		out[0] = out[1];
		out[1] = '.';
		return put_exponent(n > 1 ? out + n + 1 : out + 1, point - 1);
	}
	if (point <= 0) {
		memcpy(out, "0.000000", 8);
		put_digits(d.digits, n, out + 2 - point);
		return out + 2 - point + n;
	}
	put_digits(d.digits, n, out);
	if (point >= n) {
		memset(out + n, '0', (size_t)(point - n));
		return out + point;
	}
	memmove(out + point + 1, out + point, (size_t)(n - point));
	out[point] = '.';
	return out + n + 1;
}

char *shortest_f64(double v, char *out)
{
	uint64_t bits, c;
	int e;

	memcpy(&bits, &v, sizeof(bits));
	if (bits >> 63)
		*out++ = '-';
	c = bits & ((UINT64_C(1) << 52) - 1);
	e = (int)(bits >> 52 & 2047);
	if (!e && !c) {
		*out++ = '0';
		return out;
	}
	if (e >= 1023 && e < 1023 + 53) { /* a whole number: of few digits, more often than not */
		uint64_t whole = (c | UINT64_C(1) << 52) >> (1075 - e);

		if ((double)whole == (v < 0 ? -v : v))
			return shortest_u64(whole, out);
	}
	pthread_once(&powers_once, powers_make);
	return put_decimal(e ? shortest(c | UINT64_C(1) << 52, e - 1075, !c && e > 1) : shortest(c, -1074, false), out);
}

char *shortest_f32(float v, char *out)
{
	uint32_t bits, c;
	int e;

	memcpy(&bits, &v, sizeof(bits));
	if (bits >> 31)
		*out++ = '-';
	c = bits & ((1u << 23) - 1);
	e = (int)(bits >> 23 & 255);
	if (!e && !c) {
		*out++ = '0';
		return out;
	}
	if (e >= 127 && e < 127 + 24) {
		uint32_t whole = (c | 1u << 23) >> (150 - e);

		if ((float)whole == (v < 0 ? -v : v))
			return shortest_u64(whole, out);
	}
	pthread_once(&powers_once, powers_make);
	return put_decimal(e ? shortest(c | 1u << 23, e - 150, !c && e > 1) : shortest(c, -149, false), out);
}
