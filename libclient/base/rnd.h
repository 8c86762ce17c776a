/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeded pseudo-random numbers (xorshift64*), for tests, virtual time and back-off jitter, and the
 * FNV-1a hash for tables. Not for secrets. Thread: the owner of the state.
 */
#ifndef BASE_RND_H
#define BASE_RND_H

#include <stddef.h>
#include <stdint.h>

struct rnd {
	uint64_t state; /* never 0 */
};

static inline void rnd_seed(struct rnd *r, uint64_t seed)
{
	/* splitmix64, so that seeds 1, 2, 3 give unrelated sequences and 0 works */
	uint64_t z = seed + UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	r->state = z ? z : 1;
}

static inline uint64_t rnd_u64(struct rnd *r)
{
	uint64_t x = r->state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	r->state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* 0 .. n-1; n >= 1. The bias of the multiply-shift is below 2^-32 for n < 2^32. */
static inline uint32_t rnd_below(struct rnd *r, uint32_t n)
{
	return (uint32_t)(((rnd_u64(r) >> 32) * n) >> 32);
}

#define HASH64_INIT UINT64_C(0xcbf29ce484222325)

/* FNV-1a over bytes; chain by passing the previous result. Start: HASH64_INIT. */
static inline uint64_t hash64(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = (const unsigned char *)data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* A seed from the kernel, for programs that print the seed they chose. */
uint64_t rnd_entropy(void);

#endif
