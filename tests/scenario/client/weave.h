/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sides of a protocol over shared words, run step by step in one chosen order: the real sources, compiled with
 * this header in front (-include), so that each atomic operation on a watched page is a place to switch sides.
 *
 * Each side is a thread, of which one runs at a time. With `lazy`, stores are held back as a processor may do (a store
 * buffer, in order, visible to the side itself), until a full fence, an atomic read-modify-write, a sequentially
 * consistent store, sleep or the end of the side: what is correct only by luck of timing fails then.
 *
 * Thread: any; sides call in from theirs, other threads get the plain operations.
 */
#ifndef SCENARIO_CLIENT_WEAVE_H
#define SCENARIO_CLIENT_WEAVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Which side begins, and how many places each then passes before the other goes on; after the last the sides run
 * freely.
 */
struct weave_plan {
	unsigned first;
	unsigned n, run[4];
	bool lazy;
};

struct weave_side {
	void (*fn)(void *arg);
	void *arg;
};

struct weave_result {
	bool lost_wake; /* a side slept on a word and no side was left to wake it */
	unsigned steps[2];
	unsigned switches; /* switches of the plan that took place */
};

/* The same page, as each side maps it. page: 0 or 1. */
void weave_watch(unsigned page, const void *base0, const void *base1, uint64_t size);
struct weave_result weave_run(const struct weave_side side[2], const struct weave_plan *plan);

/* ---- inside a side ---- */

void weave_point(void); /* a place to switch, where there is no atomic operation */
/* Nothing to do: lets the other side continue. Returns false if it has ended, or sleeps too. */
bool weave_idle(void);
/* Does fn(a, b) as a store: at once, or when the buffer is written out. */
void weave_defer(void (*fn)(void *a, void *b), void *a, void *b);

/* ---- what the macros below become ---- */

uint64_t weave_load(const volatile void *at, uint64_t size);
void weave_store(volatile void *at, uint64_t size, uint64_t v, memory_order order);
uint64_t weave_add(volatile void *at, uint64_t size, uint64_t v);
void weave_or(volatile void *at, uint64_t v);
void weave_and(volatile void *at, uint64_t v);
bool weave_swap(volatile void *at, uint64_t size, volatile void *expected, uint64_t desired);
void weave_fence(memory_order order);
long weave_syscall(long number, const volatile void *word, int op, uint32_t value, const void *timeout, uint32_t bits);

#ifdef WEAVE_SOURCE
#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_or
#undef atomic_fetch_and
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_strong_explicit
#undef atomic_thread_fence
#define atomic_load_explicit(p, o)                             ((__typeof__((void)0, *(p)))weave_load((p), sizeof(*(p))))
#define atomic_load(p)                                         atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store_explicit(p, v, o)                         weave_store((p), sizeof(*(p)), (uint64_t)(v), (o))
#define atomic_store(p, v)                                     atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_add(p, v)                                 weave_add((p), sizeof(*(p)), (uint64_t)(v))
#define atomic_fetch_add_explicit(p, v, o)                     atomic_fetch_add(p, v)
#define atomic_fetch_sub(p, v)                                 weave_add((p), sizeof(*(p)), UINT64_C(0) - (uint64_t)(v))
#define atomic_fetch_or(p, v)                                  weave_or((p), (v))
#define atomic_fetch_and(p, v)                                 weave_and((p), (v))
#define atomic_compare_exchange_strong(p, e, d)                weave_swap((p), sizeof(*(p)), (e), (uint64_t)(d))
#define atomic_compare_exchange_strong_explicit(p, e, d, s, f) atomic_compare_exchange_strong(p, e, d)
#define atomic_thread_fence(o)                                 weave_fence(o)
#define syscall(number, word, op, value, timeout, none, bits) \
	weave_syscall(number, word, op, (uint32_t)(value), timeout, bits)
#endif

#endif
