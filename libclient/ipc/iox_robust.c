/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process that dies inside iceoryx 2.0.3 leaves behind, made harmless for the others: functions under names that
 * iceoryx calls through the dynamic linker, linked into the module ipc_iox.so and into roudi_robust.so, which simd preloads
 * into the RouDi that it starts.
 *
 *   locks   Mutexes that processes share are made robust (RouDi makes them: they lie in its management segment), and one
 *           whose owner has died is taken over. As they come, nobody could lock it again, RouDi neither.
 *   queues  A publisher that dies inside a push takes one index of that subscriber's queue with it. As it comes, each
 *           later push into the queue, once it is full, waits for the lost index without end.
 *
 * Thread: whichever thread iceoryx is in. Loaded before iceoryx, in its link namespace, so it meets no mutex of a host program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "iox_queue.h"

#define HOOK __attribute__((visibility("default"), used))

/* ---- locks ---- */

typedef int (*init_fn)(pthread_mutex_t *, const pthread_mutexattr_t *);
typedef int (*lock_fn)(pthread_mutex_t *);

/* libc's own. Not in a constructor: other libraries are initialised before this one, and lock. */
static void *next_of(_Atomic(void *) *cache, const char *name)
{
	void *fn = atomic_load_explicit(cache, memory_order_relaxed);

	if (__builtin_expect(!fn, 0)) {
		fn = dlsym(RTLD_NEXT, name);
		atomic_store_explicit(cache, fn, memory_order_relaxed);
	}
	return fn;
}

HOOK int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	static _Atomic(void *) next;
	pthread_mutexattr_t robust;
	init_fn init;
	int shared;

	*(void **)&init = next_of(&next, "pthread_mutex_init");
	if (!attr || pthread_mutexattr_getpshared(attr, &shared) || shared != PTHREAD_PROCESS_SHARED)
		return init(m, attr);
	robust = *attr;
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	return init(m, &robust);
}

/* What it guards is as the dead owner left it: lists that only RouDi changes, and a pointer that is written at once. */
static int taken_over(pthread_mutex_t *m, int r)
{
	return r == EOWNERDEAD ? pthread_mutex_consistent(m) : r;
}

HOOK int pthread_mutex_lock(pthread_mutex_t *m)
{
	static _Atomic(void *) next;
	lock_fn lock;
	int r;

	*(void **)&lock = next_of(&next, "pthread_mutex_lock");
	r = lock(m);
	return __builtin_expect(r, 0) ? taken_over(m, r) : 0;
}

HOOK int pthread_mutex_trylock(pthread_mutex_t *m)
{
	static _Atomic(void *) next;
	lock_fn lock;
	int r;

	*(void **)&lock = next_of(&next, "pthread_mutex_trylock");
	r = lock(m);
	return __builtin_expect(r, 0) ? taken_over(m, r) : 0;
}

/* ---- queues ---- */

/* How a C++ function returns an object of 16 bytes is written down here for this machine only; on others iceoryx's own serves. */
#ifdef __x86_64__

#define HEALTHY_TRIES 32  /* somebody is inside, who gives an index back in a moment */
#define TRIES         512 /* ... or has lost it */

/* iceoryx's own. */
bool index_pop(struct iox_index_queue *q, uint64_t *ret) __asm__("_ZN3iox10concurrent10IndexQueueILm256EmE3popERm");
bool index_pop_full(struct iox_index_queue *q, uint64_t size,
		    uint64_t *ret) __asm__("_ZN3iox10concurrent10IndexQueueILm256EmE18popIfSizeIsAtLeastEmRm");
void index_push(struct iox_index_queue *q, uint64_t index) __asm__("_ZN3iox10concurrent10IndexQueueILm256EmE4pushEm");

/*
 * An index to write to: a free one, or that of the oldest message, which goes. While none was lost, that is only done when the queue
 * is full; where it never gets full any more, the oldest goes all the same.
 */
static bool obtain(struct iox_queue *q, uint64_t *ret, bool *ret_oldest)
{
	*ret_oldest = false;
	for (unsigned int i = 0; i < TRIES; i++) {
		if (index_pop(&q->free, ret))
			return true;
		*ret_oldest = i < HEALTHY_TRIES
				      ? index_pop_full(&q->used, __atomic_load_n(&q->capacity, __ATOMIC_RELAXED), ret)
				      : index_pop(&q->used, ret);
		if (*ret_oldest)
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

HOOK struct iox_evicted *hook_push(struct iox_evicted *ret, struct iox_queue *q, const uint64_t *chunk) __asm__(
	"_ZN3iox10concurrent23ResizeableLockFreeQueueINS_5mepoo21ShmSafeUnmanagedChunkELm256EE8pushImplIKS3_EENS_3cxx8optionalIS3_EEOT_");

/* ResizeableLockFreeQueue::pushImpl(). What it returns is released by the caller, and counts as lost. */
struct iox_evicted *hook_push(struct iox_evicted *ret, struct iox_queue *q, const uint64_t *chunk)
{
	uint64_t index;

	if (!obtain(q, &index,
		    &ret->has)) { /* all are lost, or with processes that stand still: this subscriber goes without */
		*ret = (struct iox_evicted){ .chunk = *chunk, .has = true };
		return ret;
	}
	if (ret->has) {
		__atomic_fetch_sub(&q->size, 1, __ATOMIC_ACQUIRE);
		ret->chunk = q->chunk[index];
	}
	q->chunk[index] = *chunk;
	__atomic_fetch_add(&q->size, 1, __ATOMIC_RELEASE);
	index_push(&q->used, index);
	return ret;
}

#endif
