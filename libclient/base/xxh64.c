/* SPDX-License-Identifier: Apache-2.0 */
/* XXH64: see xxh64.h. Written from the algorithm's description; little-endian machines only, as all of simd. */
#include "xxh64.h"

#include <string.h>

#define P1 UINT64_C(0x9E3779B185EBCA87)
#define P2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define P3 UINT64_C(0x165667B19E3779F9)
#define P4 UINT64_C(0x85EBCA77C2B2AE63)
#define P5 UINT64_C(0x27D4EB2F165667C5)

static uint64_t rotl(uint64_t v, int by)
{
	return v << by | v >> (64 - by);
}

static uint64_t u64_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t stir(uint64_t acc, uint64_t lane)
{
	return rotl(acc + lane * P2, 31) * P1;
}

void xxh64_init(struct xxh64 *h)
{
	*h = (struct xxh64){ .acc = { P1 + P2, P2, 0, 0 - P1 } };
}

static void stripes(uint64_t acc[4], const uint8_t *p, size_t n)
{
	uint64_t a = acc[0], b = acc[1], c = acc[2], d = acc[3];

	for (; n--; p += 32) {
		a = stir(a, u64_at(p));
		b = stir(b, u64_at(p + 8));
		c = stir(c, u64_at(p + 16));
		d = stir(d, u64_at(p + 24));
	}
	acc[0] = a;
	acc[1] = b;
	acc[2] = c;
	acc[3] = d;
}

void xxh64_add(struct xxh64 *h, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t had = h->total % 32, fill = had ? 32 - had : 0;

	h->total += len;
	if (fill && len >= fill) {
		memcpy(h->rest + had, p, fill);
		stripes(h->acc, h->rest, 1);
		p += fill;
		len -= fill;
		had = 0;
	}
	if (!had && len >= 32) {
		stripes(h->acc, p, len / 32);
		p += len / 32 * 32;
		len %= 32;
	}
	if (len)
		memcpy(h->rest + had, p, len);
}

/* Everything but the rest that is shorter than a stripe. */
static uint64_t merged(const struct xxh64 *h)
{
	const uint64_t *acc = h->acc;
	uint64_t v;

	if (h->total < 32)
		return P5;
	v = rotl(acc[0], 1) + rotl(acc[1], 7) + rotl(acc[2], 12) + rotl(acc[3], 18);
	for (int i = 0; i < 4; i++)
		v = (v ^ stir(0, acc[i])) * P1 + P4;
	return v;
}

uint64_t xxh64_value(const struct xxh64 *h)
{
	const uint8_t *p = h->rest;
	size_t n = h->total % 32;
	uint64_t v = merged(h) + h->total;
	uint32_t word;

	for (; n >= 8; n -= 8, p += 8)
		v = rotl(v ^ stir(0, u64_at(p)), 27) * P1 + P4;
	if (n >= 4) {
		memcpy(&word, p, sizeof(word));
		v = rotl(v ^ word * P1, 23) * P2 + P3;
		n -= 4;
		p += 4;
	}
	while (n--)
		v = rotl(v ^ *p++ * P5, 11) * P1;
	v = (v ^ v >> 33) * P2;
	v = (v ^ v >> 29) * P3;
	return v ^ v >> 32;
}
