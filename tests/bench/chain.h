/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of three processes over futexes: ends on CPU 0, the middle on CPU 1. It is the lower bound for anything that
 * goes from one process through simd to another and, for a whole cycle, back. Thread: the caller's, as one end.
 */
#ifndef CHAIN_H
#define CHAIN_H

#include <stdatomic.h>

#include "bench.h"

#define CHAIN_END  0
#define CHAIN_MID  1
#define CHAIN_HOPS 4 /* of a round */

struct chain {
	_Atomic uint32_t quit;
	_Alignas(64) _Atomic uint32_t to_middle; /* bumped for each hop */
	_Alignas(64) _Atomic uint32_t to_peer;
	_Alignas(64) _Atomic uint32_t from_peer;
	_Alignas(64) _Atomic uint32_t to_caller;
	_Alignas(64) _Atomic int64_t peer_mono_ns; /* when the peer was woken last */
	uint32_t rounds;
	pid_t pid[2];
};

/* c: in memory shared with children. pinned: or wherever the kernel likes. */
void chain_start(struct chain *c, bool pinned);
/* The same, ends and middle on these CPUs; -1: wherever the kernel likes. */
void chain_start_on(struct chain *c, int end_cpu, int middle_cpu);
void chain_stop(struct chain *c);
/* One round. *ret_half_ns: until the peer was woken (two hops); *ret_full_ns: until the caller was (four). */
void chain_round(struct chain *c, double *ret_half_ns, double *ret_full_ns);

#endif
