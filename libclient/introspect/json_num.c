/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as JSON text: see json_num.h. Floating point after F. Loitsch, "Printing Floating-Point Numbers
 * Quickly and Accurately with Integers" (PLDI 2010), the variant called Grisu2: the value and the two
 * borders of what reads back to it are multiplied by a power of ten that is kept with 64 bits, and digits
 * are made until they lie inside the (conservatively narrowed) borders. Exactness of the read-back is
 * guaranteed; in about one value of a thousand a digit more than necessary is written.
 */
#include "json_num.h"

#include <stdbool.h>
#include <string.h>

/* ---- integers ---- */

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
			    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
			    "8081828384858687888990919293949596979899";

size_t json_put_u64(char *out, uint64_t v)
{
	char text[20];
	size_t at = sizeof(text);

	while (v >= 100) {
		at -= 2;
		memcpy(text + at, pairs + 2 * (v % 100), 2);
		v /= 100;
	}
	if (v >= 10) {
		at -= 2;
		memcpy(text + at, pairs + 2 * v, 2);
	} else {
		text[--at] = (char)('0' + v);
	}
	memcpy(out, text + at, sizeof(text) - at);
	return sizeof(text) - at;
}

size_t json_put_i64(char *out, int64_t v)
{
	if (v >= 0)
		return json_put_u64(out, (uint64_t)v);
	out[0] = '-';
	return 1 + json_put_u64(out + 1, 0 - (uint64_t)v);
}

/* ---- floating point ---- */

/* f * 2^e */
struct fp {
	uint64_t f;
	int e;
};

#define POW_FIRST (-348)
#define POW_STEP  8

/* clang-format off */
/* 10^k for k = POW_FIRST, POW_FIRST + POW_STEP, ... 340, rounded to 64 bits with the top bit set. */
static const struct fp powers[] = {
	{UINT64_C(0xfa8fd5a0081c0288), -1220}, {UINT64_C(0xbaaee17fa23ebf76), -1193}, {UINT64_C(0x8b16fb203055ac76), -1166},
	{UINT64_C(0xcf42894a5dce35ea), -1140}, {UINT64_C(0x9a6bb0aa55653b2d), -1113}, {UINT64_C(0xe61acf033d1a45df), -1087},
	{UINT64_C(0xab70fe17c79ac6ca), -1060}, {UINT64_C(0xff77b1fcbebcdc4f), -1034}, {UINT64_C(0xbe5691ef416bd60c), -1007},
	{UINT64_C(0x8dd01fad907ffc3c), -980}, {UINT64_C(0xd3515c2831559a83), -954}, {UINT64_C(0x9d71ac8fada6c9b5), -927},
	{UINT64_C(0xea9c227723ee8bcb), -901}, {UINT64_C(0xaecc49914078536d), -874}, {UINT64_C(0x823c12795db6ce57), -847},
	{UINT64_C(0xc21094364dfb5637), -821}, {UINT64_C(0x9096ea6f3848984f), -794}, {UINT64_C(0xd77485cb25823ac7), -768},
	{UINT64_C(0xa086cfcd97bf97f4), -741}, {UINT64_C(0xef340a98172aace5), -715}, {UINT64_C(0xb23867fb2a35b28e), -688},
	{UINT64_C(0x84c8d4dfd2c63f3b), -661}, {UINT64_C(0xc5dd44271ad3cdba), -635}, {UINT64_C(0x936b9fcebb25c996), -608},
	{UINT64_C(0xdbac6c247d62a584), -582}, {UINT64_C(0xa3ab66580d5fdaf6), -555}, {UINT64_C(0xf3e2f893dec3f126), -529},
	{UINT64_C(0xb5b5ada8aaff80b8), -502}, {UINT64_C(0x87625f056c7c4a8b), -475}, {UINT64_C(0xc9bcff6034c13053), -449},
	{UINT64_C(0x964e858c91ba2655), -422}, {UINT64_C(0xdff9772470297ebd), -396}, {UINT64_C(0xa6dfbd9fb8e5b88f), -369},
	{UINT64_C(0xf8a95fcf88747d94), -343}, {UINT64_C(0xb94470938fa89bcf), -316}, {UINT64_C(0x8a08f0f8bf0f156b), -289},
	{UINT64_C(0xcdb02555653131b6), -263}, {UINT64_C(0x993fe2c6d07b7fac), -236}, {UINT64_C(0xe45c10c42a2b3b06), -210},
	{UINT64_C(0xaa242499697392d3), -183}, {UINT64_C(0xfd87b5f28300ca0e), -157}, {UINT64_C(0xbce5086492111aeb), -130},
	{UINT64_C(0x8cbccc096f5088cc), -103}, {UINT64_C(0xd1b71758e219652c), -77}, {UINT64_C(0x9c40000000000000), -50},
	{UINT64_C(0xe8d4a51000000000), -24}, {UINT64_C(0xad78ebc5ac620000), 3}, {UINT64_C(0x813f3978f8940984), 30},
	{UINT64_C(0xc097ce7bc90715b3), 56}, {UINT64_C(0x8f7e32ce7bea5c70), 83}, {UINT64_C(0xd5d238a4abe98068), 109},
	{UINT64_C(0x9f4f2726179a2245), 136}, {UINT64_C(0xed63a231d4c4fb27), 162}, {UINT64_C(0xb0de65388cc8ada8), 189},
	{UINT64_C(0x83c7088e1aab65db), 216}, {UINT64_C(0xc45d1df942711d9a), 242}, {UINT64_C(0x924d692ca61be758), 269},
	{UINT64_C(0xda01ee641a708dea), 295}, {UINT64_C(0xa26da3999aef774a), 322}, {UINT64_C(0xf209787bb47d6b85), 348},
	{UINT64_C(0xb454e4a179dd1877), 375}, {UINT64_C(0x865b86925b9bc5c2), 402}, {UINT64_C(0xc83553c5c8965d3d), 428},
	{UINT64_C(0x952ab45cfa97a0b3), 455}, {UINT64_C(0xde469fbd99a05fe3), 481}, {UINT64_C(0xa59bc234db398c25), 508},
	{UINT64_C(0xf6c69a72a3989f5c), 534}, {UINT64_C(0xb7dcbf5354e9bece), 561}, {UINT64_C(0x88fcf317f22241e2), 588},
	{UINT64_C(0xcc20ce9bd35c78a5), 614}, {UINT64_C(0x98165af37b2153df), 641}, {UINT64_C(0xe2a0b5dc971f303a), 667},
	{UINT64_C(0xa8d9d1535ce3b396), 694}, {UINT64_C(0xfb9b7cd9a4a7443c), 720}, {UINT64_C(0xbb764c4ca7a44410), 747},
	{UINT64_C(0x8bab8eefb6409c1a), 774}, {UINT64_C(0xd01fef10a657842c), 800}, {UINT64_C(0x9b10a4e5e9913129), 827},
	{UINT64_C(0xe7109bfba19c0c9d), 853}, {UINT64_C(0xac2820d9623bf429), 880}, {UINT64_C(0x80444b5e7aa7cf85), 907},
	{UINT64_C(0xbf21e44003acdd2d), 933}, {UINT64_C(0x8e679c2f5e44ff8f), 960}, {UINT64_C(0xd433179d9c8cb841), 986},
	{UINT64_C(0x9e19db92b4e31ba9), 1013}, {UINT64_C(0xeb96bf6ebadf77d9), 1039}, {UINT64_C(0xaf87023b9bf0ee6b), 1066},
};
/* clang-format on */

/* clang-format off */
static const uint64_t tens[] = {
	UINT64_C(1), UINT64_C(10), UINT64_C(100), UINT64_C(1000), UINT64_C(10000), UINT64_C(100000), UINT64_C(1000000),
	UINT64_C(10000000), UINT64_C(100000000), UINT64_C(1000000000), UINT64_C(10000000000), UINT64_C(100000000000),
	UINT64_C(1000000000000), UINT64_C(10000000000000), UINT64_C(100000000000000), UINT64_C(1000000000000000),
	UINT64_C(10000000000000000), UINT64_C(100000000000000000), UINT64_C(1000000000000000000),
	UINT64_C(10000000000000000000),
};
/* clang-format on */

struct digits {
	char text[24];
	int len;
	int exp10; /* of the last digit */
};

static struct fp normal(struct fp v)
{
	int shift = __builtin_clzll(v.f);

	return (struct fp){ v.f << shift, v.e - shift };
}

static struct fp times(struct fp a, struct fp b)
{
	unsigned __int128 p = (unsigned __int128)a.f * b.f;
	uint64_t hi = (uint64_t)(p >> 64), lo = (uint64_t)p;

	return (struct fp){ hi + (lo >> 63), a.e + b.e + 64 };
}

/* The power that brings a value of exponent e to an exponent of -60..-32, and the decimal exponent to add back. */
static struct fp power_for(int e, int *ret_exp10)
{
	double want = (-61 - e) * 0.30102999566398114; /* log10(2) */
	int k = (int)want + ((double)(int)want < want ? 1 : 0);
	int i = (k - POW_FIRST + POW_STEP - 1) / POW_STEP;

	*ret_exp10 = -(POW_FIRST + i * POW_STEP);
	return powers[i];
}

/* The last digit moves toward the value itself, as long as that brings it closer. */
static void weed(struct digits *d, uint64_t delta, uint64_t rest, uint64_t unit, uint64_t distance)
{
	while (rest < distance && delta - rest >= unit &&
	       (rest + unit < distance || distance - rest > rest + unit - distance)) {
		d->text[d->len - 1]--;
		rest += unit;
	}
}

static int count_tens(uint32_t v)
{
	int n = 1;

	while (n < 10 && v >= tens[n])
		n++;
	return n;
}

/* Digits of `high`, until what is left is within delta below it. */
static void generate(struct fp value, struct fp high, uint64_t delta, struct digits *d)
{
	int shift = -high.e;
	uint64_t mask = (UINT64_C(1) << shift) - 1, distance = high.f - value.f, fraction = high.f & mask;
	uint32_t whole = (uint32_t)(high.f >> shift);
	uint64_t unit = 1;

	for (int kappa = count_tens(whole); kappa > 0; kappa--) {
		uint32_t digit = whole / (uint32_t)tens[kappa - 1];
		uint64_t rest;

		whole %= (uint32_t)tens[kappa - 1];
		if (digit || d->len)
			d->text[d->len++] = (char)('0' + digit);
		rest = ((uint64_t)whole << shift) + fraction;
		if (rest <= delta) {
			d->exp10 += kappa - 1;
			weed(d, delta, rest, tens[kappa - 1] << shift, distance);
			return;
		}
	}
	for (int kappa = -1;; kappa--) {
		fraction *= 10;
		delta *= 10;
		unit *= 10;
		if (fraction >> shift || d->len)
			d->text[d->len++] = (char)('0' + (fraction >> shift));
		fraction &= mask;
		if (fraction < delta) {
			d->exp10 += kappa;
			weed(d, delta, fraction, mask + 1, distance * unit);
			return;
		}
	}
}

/* Value v.f * 2^v.e; `lone`: the neighbour below is half as far as the one above. */
static void shortest(struct fp v, bool lone, struct digits *d)
{
	struct fp high = normal((struct fp){ (v.f << 1) + 1, v.e - 1 });
	struct fp low = lone ? (struct fp){ (v.f << 2) - 1, v.e - 2 } : (struct fp){ (v.f << 1) - 1, v.e - 1 };
	struct fp p, value;

	low.f <<= low.e - high.e;
	low.e = high.e;
	p = power_for(high.e, &d->exp10);
	value = times(normal(v), p);
	high = times(high, p);
	low = times(low, p);
	low.f++; /* products are off by less than one: narrow the borders by it */
	high.f--;
	d->len = 0;
	generate(value, high, high.f - low.f, d);
}

/* ---- text ---- */

static size_t put_exponent(char *out, int e)
{
	out[0] = 'e';
	return 1 + json_put_i64(out + 1, e);
}

static size_t put_digits(char *out, const struct digits *d)
{
	int point = d->len + d->exp10; /* digits before the decimal point */
	size_t n = (size_t)d->len;

	if (point > 0 && point <= 17 && d->exp10 >= 0) { /* 1200.0 */
		memcpy(out, d->text, n);
		memset(out + n, '0', (size_t)d->exp10);
		memcpy(out + point, ".0", 2);
		return (size_t)point + 2;
	}
	if (point > 0 && point <= 17) { /* 12.5 */
		memcpy(out, d->text, (size_t)point);
		out[point] = '.';
		memcpy(out + point + 1, d->text + point, n - (size_t)point);
		return n + 1;
	}
	if (point > -5 && point <= 0) { /* 0.00125 */
		memcpy(out, "0.0000", 6);
		memcpy(out + 2 - point, d->text, n);
		return (size_t)(2 - point) + n;
	}
	out[0] = d->text[0]; /* 1.25e-9 */
	if (n == 1)
		return 1 + put_exponent(out + 1, point - 1);
	out[1] = '.';
	memcpy(out + 2, d->text + 1, n - 1);
	return n + 1 + put_exponent(out + n + 1, point - 1);
}

static size_t put_special(char *out, bool negative, bool zero)
{
	const char *text = !zero ? "null" : negative ? "-0.0" : "0.0";

	memcpy(out, text, strlen(text));
	return strlen(text);
}

static size_t put_float(char *out, bool negative, struct fp v, bool lone)
{
	struct digits d;

	shortest(v, lone, &d);
	out[0] = '-';
	return (size_t)negative + put_digits(out + negative, &d);
}

size_t json_put_f64(char *out, double v)
{
	uint64_t bits, f;
	int e;

	memcpy(&bits, &v, sizeof(bits));
	f = bits & ((UINT64_C(1) << 52) - 1);
	e = (int)(bits >> 52) & 0x7ff;
	if (e == 0x7ff || (bits << 1) == 0)
		return put_special(out, bits >> 63, e == 0);
	if (e == 0)
		return put_float(out, bits >> 63, (struct fp){ f, -1074 }, false);
	return put_float(out, bits >> 63, (struct fp){ f | UINT64_C(1) << 52, e - 1075 }, f == 0 && e > 1);
}

size_t json_put_f32(char *out, float v)
{
	uint32_t bits, f;
	int e;

	memcpy(&bits, &v, sizeof(bits));
	f = bits & ((1u << 23) - 1);
	e = (int)(bits >> 23) & 0xff;
	if (e == 0xff || (bits << 1) == 0)
		return put_special(out, bits >> 31, e == 0);
	if (e == 0)
		return put_float(out, bits >> 31, (struct fp){ f, -149 }, false);
	return put_float(out, bits >> 31, (struct fp){ f | 1u << 23, e - 150 }, f == 0 && e > 1);
}
