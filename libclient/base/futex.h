/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeping until a 32-bit word changes. scope: FUTEX_PRIVATE_FLAG for threads of one process, FUTEX_BETWEEN_PROCESSES
 * for a word in shared memory. A wait may also end early, without a reason: the caller checks again. Thread: any.
 */
#ifndef BASE_FUTEX_H
#define BASE_FUTEX_H

#include "timeutil.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FUTEX_BETWEEN_PROCESSES 0

static inline void futex_wake_all(const void *word, int scope)
{
	syscall(SYS_futex, word, FUTEX_WAKE | scope, INT_MAX, NULL, NULL, 0);
}

/* Wakes waiters whose bits intersect with `bits`. */
static inline void futex_wake_bits(const void *word, uint32_t bits, int scope)
{
	syscall(SYS_futex, word, FUTEX_WAKE_BITSET | scope, INT_MAX, NULL, NULL, bits);
}

/* Waits while the word is `seen`, at most dur_ns; INT64_MAX: for ever. */
static inline void futex_wait(const void *word, uint32_t seen, int64_t dur_ns, int scope)
{
	struct timespec t = timespec_from_ns(dur_ns);

	syscall(SYS_futex, word, FUTEX_WAIT | scope, seen, dur_ns == INT64_MAX ? NULL : &t, NULL, 0);
}

/* Waits until a wake-up with one of the bits. */
static inline void futex_wait_bits(const void *word, uint32_t seen, int64_t until_mono_ns, uint32_t bits, int scope)
{
	struct timespec t = timespec_from_ns(until_mono_ns);

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET | scope, seen, &t, NULL, bits);
}

static inline void futex_wait_until(const void *word, uint32_t seen, int64_t until_mono_ns, int scope)
{
	futex_wait_bits(word, seen, until_mono_ns, FUTEX_BITSET_MATCH_ANY, scope);
}

#endif
