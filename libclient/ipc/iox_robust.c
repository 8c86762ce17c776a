/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repairs what a process that dies inside iceoryx 2.0.3 leaves to the others: functions under names that iceoryx calls
 * through the dynamic linker, linked into the module ipc_iox.so and into roudi_robust.so, which simd preloads into the
 * RouDi that it starts.
 *
 *   locks   Mutexes that processes share are made robust (RouDi creates them, in its management segment), and one whose
 *           owner has died is taken over. In plain iceoryx such a mutex could never be locked again, not even by RouDi.
 *           For one whose owner is stopped see iox_stopped.h.
 *   queues  A publisher that dies inside a push takes one index of that subscriber's queue with it. In plain iceoryx
 *           each later push into the queue, once it is full, then waits for the lost index for ever. Also, a queue's
 *           lock is taken only if there is something that it guards, so that publishers do not wait for each other.
 *
 * Thread: any thread that iceoryx runs in. Loaded before iceoryx, in its link namespace, so it never sees a mutex of a
 * host program.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "iox_hook.h"
#include "iox_queue.h"
#include "iox_stopped.h"

/* ---- locks ---- */

typedef int (*init_fn)(pthread_mutex_t *, const pthread_mutexattr_t *);
typedef int (*lock_fn)(pthread_mutex_t *);

#define PSHARED 128 /* glibc: flag of a mutex that processes share */

HOOK int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	static _Atomic(void *) next;
	pthread_mutexattr_t robust;
	init_fn init;
	int shared;

	*(void **)&init = iox_next(&next, "pthread_mutex_init");
	if (!attr || pthread_mutexattr_getpshared(attr, &shared) || shared != PTHREAD_PROCESS_SHARED)
		return init(m, attr);
	robust = *attr;
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	return init(m, &robust);
}

/*
 * Takes over a lock from a dead owner. What it guards is consistent: lists that only RouDi changes, and a pointer that
 * is written at once.
 */
static int taken_over(pthread_mutex_t *m, int r)
{
	return r == EOWNERDEAD ? pthread_mutex_consistent(m) : r;
}

static int try_lock(pthread_mutex_t *m)
{
	static _Atomic(void *) next;
	lock_fn lock;

	*(void **)&lock = iox_next(&next, "pthread_mutex_trylock");
	return lock(m);
}

HOOK int pthread_mutex_lock(pthread_mutex_t *m)
{
	static _Atomic(void *) next;
	lock_fn lock;
	int r;

	if (m->__data.__kind & PSHARED) {
		r = try_lock(m);
		if (__builtin_expect(r == EBUSY, 0))
			r = iox_wait_for_lock(m, false);
		return __builtin_expect(r, 0) ? taken_over(m, r) : 0;
	}
	*(void **)&lock = iox_next(&next, "pthread_mutex_lock");
	return lock(m);
}

HOOK int pthread_mutex_trylock(pthread_mutex_t *m)
{
	int r = try_lock(m);

	return __builtin_expect(r, 0) ? taken_over(m, r) : 0;
}

/* ---- queues ---- */

/*
 * How a C++ function returns an object of 16 bytes is implemented here for this architecture only; on others iceoryx's
 * own function is used.
 */
#ifdef __x86_64__

#define HEALTHY_TRIES 32  /* a process is inside, and returns an index in a moment */
#define TRIES         512 /* ... or has lost it */

/*
 * The lock of a queue guards the pointer to a waitset's condition variable: a publisher must not notify one that its
 * subscriber has detached and destroyed meanwhile. Without a waitset there is nothing to guard: the queue itself is
 * lock-free. iceoryx sets the pointer before the index that belongs to it; here it is set last and cleared first, so
 * that it can be read without the lock.
 */
#define NOWHERE UINT64_MAX /* the offset of a null pointer */

typedef void (*policy_fn)(const pthread_mutex_t *);

struct wakes { /* in popo::ChunkQueueData, at IOX_QUEUE_WAKES */
	uint64_t segment, offset, index;
	bool has_index;
};

struct subscriber_user { /* popo::SubscriberPortUser */
	uint64_t other[3];
	pthread_mutex_t *lock; /* the lock of its queue */
};

static struct wakes *wakes_of(const pthread_mutex_t *m)
{
	return (struct wakes *)((uintptr_t)m + IOX_QUEUE_WAKES);
}

static void mark_as_queues(struct iox_queue *q)
{
	pthread_mutex_t *m = (pthread_mutex_t *)(void *)((char *)q - IOX_QUEUE_AT);

	if (__builtin_expect(__atomic_load_n(&m->__data.__spins, __ATOMIC_RELAXED) != IOX_QUEUE_MARK, 0))
		__atomic_store_n(&m->__data.__spins, IOX_QUEUE_MARK, __ATOMIC_RELAXED);
}

static bool is_queues(const pthread_mutex_t *m)
{
	return __atomic_load_n(&m->__data.__spins, __ATOMIC_RELAXED) == IOX_QUEUE_MARK;
}

/*
 * Whether the lock guards nothing. If it is held, an iceoryx application without these hooks is about to attach a
 * waitset.
 */
static bool guards_nothing(const pthread_mutex_t *m)
{
	return !__atomic_load_n(&m->__data.__lock, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&wakes_of(m)->offset, __ATOMIC_ACQUIRE) == NOWHERE;
}

HOOK void hook_lock(const pthread_mutex_t *m) __asm__("_ZNK3iox4popo16ThreadSafePolicy4lockEv");
HOOK void hook_unlock(const pthread_mutex_t *m) __asm__("_ZNK3iox4popo16ThreadSafePolicy6unlockEv");
HOOK void hook_attach(struct subscriber_user *u, void *variable, uint64_t index) __asm__(
	"_ZN3iox4popo18SubscriberPortUser20setConditionVariableERNS0_21ConditionVariableDataEm");
HOOK void hook_detach(struct subscriber_user *u) __asm__("_ZN3iox4popo18SubscriberPortUser22unsetConditionVariableEv");

/* Functions of iceoryx: a relative pointer. */
uint64_t segment_of(void *p) __asm__("_ZN3iox2rp19BaseRelativePointer8searchIdEPv");
uint64_t offset_of(uint64_t segment, const void *p) __asm__("_ZN3iox2rp19BaseRelativePointer9getOffsetEmPKv");

/*
 * Only pushes take the lock of a queue here. If its owner is stopped and must not be touched, the push goes on without
 * the lock: the owner is in a push too, as a subscriber waits for the lock before it detaches.
 */
void hook_lock(const pthread_mutex_t *m)
{
	static _Atomic(void *) next;
	pthread_mutex_t *own = (pthread_mutex_t *)(uintptr_t)m;
	policy_fn lock;
	int r;

	if (is_queues(m)) {
		if (guards_nothing(m))
			return;
		r = try_lock(own);
		if (__builtin_expect(r == EBUSY, 0))
			r = iox_wait_for_lock(own, true);
		(void)taken_over(own, r);
		return;
	}
	*(void **)&lock = iox_next(&next, "_ZNK3iox4popo16ThreadSafePolicy4lockEv");
	lock(m);
}

void hook_unlock(const pthread_mutex_t *m)
{
	static _Atomic(void *) next;
	policy_fn unlock;

	if (is_queues(m)) {
		(void)pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)m); /* EPERM: it was not locked */
		return;
	}
	*(void **)&unlock = iox_next(&next, "_ZNK3iox4popo16ThreadSafePolicy6unlockEv");
	unlock(m);
}

/*
 * Sets the pointer before it is checked whether the queue has messages: a concurrent push is either seen there, or sees
 * the pointer.
 */
void hook_attach(struct subscriber_user *u, void *variable, uint64_t index)
{
	struct wakes *w = wakes_of(u->lock);
	uint64_t segment = segment_of(variable);

	w->index = index;
	w->has_index = true;
	__atomic_store_n(&w->segment, segment, __ATOMIC_RELEASE);
	__atomic_store_n(&w->offset, offset_of(segment, variable), __ATOMIC_SEQ_CST);
}

/* The index is not cleared. */
void hook_detach(struct subscriber_user *u)
{
	pthread_mutex_lock(u->lock);
	__atomic_store_n(&wakes_of(u->lock)->offset, NOWHERE, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(u->lock);
}

/* Functions of iceoryx. */
bool index_pop(struct iox_index_queue *q, uint64_t *ret) __asm__("_ZN3iox10concurrent10IndexQueueILm256EmE3popERm");
bool index_pop_full(struct iox_index_queue *q, uint64_t size,
		    uint64_t *ret) __asm__("_ZN3iox10concurrent10IndexQueueILm256EmE18popIfSizeIsAtLeastEmRm");
void index_push(struct iox_index_queue *q, uint64_t index) __asm__("_ZN3iox10concurrent10IndexQueueILm256EmE4pushEm");

/*
 * Gets an index to write to: a free one, or that of the oldest message, which is dropped. While no index was lost, the
 * oldest is dropped only when the queue is full; if the queue can never get full any more, it is dropped anyway.
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

/* ResizeableLockFreeQueue::pushImpl(). The caller releases the returned chunk and counts it as lost. */
struct iox_evicted *hook_push(struct iox_evicted *ret, struct iox_queue *q, const uint64_t *chunk)
{
	uint64_t index;

	mark_as_queues(q);
	/* false: all indices are lost, or held by stopped processes, so this subscriber misses the message */
	if (!obtain(q, &index, &ret->has)) {
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
