/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequence lock for one writer and any number of readers in any process. The payload's fields are
 * read and written as relaxed atomics of their own (seqlock_load / seqlock_store), never volatile.
 *
 *     writer:  seqlock_write_begin(&p->seq); seqlock_store(&p->x, v); seqlock_write_end(&p->seq);
 *     reader:  for (n = 0; n < TRIES; n++) {
 *                      if (!seqlock_read_begin(&p->seq, &s)) continue;
 *                      x = seqlock_load(&p->x);
 *                      if (seqlock_read_ok(&p->seq, s)) return 0;
 *              }                                  (the writer may have died inside a write: bound the tries)
 *
 * Thread: the writer calls are one thread's; readers any.
 */
#ifndef BASE_SEQLOCK_H
#define BASE_SEQLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define seqlock_load(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define seqlock_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

static inline void seqlock_write_begin(uint32_t *seq)
{
	/* `| 1`: a writer that takes over from one that died inside a write makes seq odd as well */
	__atomic_store_n(seq, (__atomic_load_n(seq, __ATOMIC_RELAXED) + 1) | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void seqlock_write_end(uint32_t *seq)
{
	__atomic_store_n(seq, __atomic_load_n(seq, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
}

/* False while a write is going on. */
static inline bool seqlock_read_begin(const uint32_t *seq, uint32_t *ret)
{
	*ret = __atomic_load_n(seq, __ATOMIC_ACQUIRE);
	return !(*ret & 1);
}

static inline bool seqlock_read_ok(const uint32_t *seq, uint32_t begin)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(seq, __ATOMIC_RELAXED) == begin;
}

#endif
