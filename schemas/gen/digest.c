/* SPDX-License-Identifier: Apache-2.0 */
/* MD5 and SHA-256 of a text that is in memory: see digest.h. Both work on blocks of 64 bytes. */
#include "gen/digest.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 64

typedef void (*block_fn)(uint32_t *state, const uint8_t *block);

static uint32_t rol(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}
static uint32_t ror(uint32_t v, unsigned n)
{
	return v >> n | v << (32 - n);
}

/* All whole blocks, then the rest with its padding: 0x80, zeros, the length in bits in 8 bytes. */
static void run(uint32_t *state, block_fn fn, const uint8_t *data, size_t len, bool big_endian)
{
	uint8_t tail[2 * BLOCK] = { 0 };
	size_t rest = len % BLOCK, n = rest + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
	uint64_t bits = (uint64_t)len * 8;

	for (size_t at = 0; at + BLOCK <= len; at += BLOCK)
		fn(state, data + at);
	if (rest)
		memcpy(tail, data + len - rest, rest);
	tail[rest] = 0x80;
	for (unsigned i = 0; i < 8; i++)
		tail[n - 8 + i] = (uint8_t)(bits >> (big_endian ? 56 - 8 * i : 8 * i));
	for (size_t at = 0; at < n; at += BLOCK)
		fn(state, tail + at);
}

static void hex(const uint32_t *state, unsigned words, bool big_endian, char *ret)
{
	for (unsigned i = 0; i < words * 4; i++) {
		unsigned shift = big_endian ? 24 - 8 * (i % 4) : 8 * (i % 4);

		snprintf(ret + 2 * (size_t)i, 3, "%02x", (unsigned)(state[i / 4] >> shift & 0xff));
	}
}

/* ---- MD5 ---- */

/* The constants are defined as the integer part of 2^32 |sin(i + 1)|. */
static uint32_t md5_constant(unsigned i)
{
	return (uint32_t)(int64_t)floor(4294967296.0 * fabs(sin((double)i + 1.0)));
}

static void md5_block(uint32_t *state, const uint8_t *block)
{
	static const uint8_t shifts[4][4] = {
		{ 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 }
	};
	static const uint8_t mul[4] = { 1, 5, 3, 7 }, add[4] = { 0, 1, 5, 0 };
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];

	for (unsigned i = 0; i < 64; i++) {
		unsigned round = i / 16, k = (mul[round] * i + add[round]) % 16 * 4;
		uint32_t word = (uint32_t)block[k] | (uint32_t)block[k + 1] << 8 | (uint32_t)block[k + 2] << 16 |
				(uint32_t)block[k + 3] << 24;
		uint32_t f = round == 0   ? (b & c) | (~b & d)
			     : round == 1 ? (d & b) | (~d & c)
			     : round == 2 ? b ^ c ^ d
					  : c ^ (b | ~d);
		uint32_t next = b + rol(a + f + md5_constant(i) + word, shifts[round][i % 4]);

		a = d;
		d = c;
		c = b;
		b = next;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
}

void digest_md5(const void *data, size_t len, char ret[DIGEST_MD5_HEX])
{
	uint32_t state[4] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };

	run(state, md5_block, data, len, false);
	hex(state, 4, false, ret);
}

/* ---- SHA-256 ---- */

/* clang-format off */
static const uint32_t sha_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
/* clang-format on */

static void sha_schedule(uint32_t w[64], const uint8_t *block)
{
	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | (uint32_t)block[4 * i + 3];
	for (unsigned i = 16; i < 64; i++) {
		uint32_t s0 = ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 = ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

static void sha_block(uint32_t *state, const uint8_t *block)
{
	uint32_t w[64], v[8];

	sha_schedule(w, block);
	memcpy(v, state, sizeof(v));
	for (unsigned i = 0; i < 64; i++) {
		uint32_t s1 = ror(v[4], 6) ^ ror(v[4], 11) ^ ror(v[4], 25), ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t s0 = ror(v[0], 2) ^ ror(v[0], 13) ^ ror(v[0], 22);
		uint32_t t1 = v[7] + s1 + ch + sha_k[i] + w[i];
		uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (unsigned i = 0; i < 8; i++)
		state[i] += v[i];
}

void digest_sha256(const void *data, size_t len, char ret[DIGEST_SHA256_HEX])
{
	uint32_t state[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	run(state, sha_block, data, len, true);
	hex(state, 8, true, ret);
}
