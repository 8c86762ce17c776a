/* SPDX-License-Identifier: Apache-2.0 */
/* See dying.h. Each function is forwarded with the registers that it may use; all of these take pointers and integers. */
#include "dying.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default"), used))

/* With a lock held is another matter. */
static int locks;

static int counts(void)
{
	const struct dying *d = (const struct dying *)DYING_ADDRESS;

	return d->thread == (uintptr_t)__builtin_thread_pointer();
}

static void step(void)
{
	struct dying *d = (struct dying *)DYING_ADDRESS;

	if (counts() && !locks && ++d->steps == d->at)
		kill(getpid(), SIGKILL);
}

#define STEP(name, symbol) \
	VISIBLE void *name(void *a, void *b, void *c, void *d) __asm__(symbol); \
	void *name(void *a, void *b, void *c, void *d) \
	{ \
		static void *(*real)(void *, void *, void *, void *); \
		void *r; \
\
		if (!real) \
			*(void **)&real = dlsym(RTLD_NEXT, symbol); \
		step(); \
		r = real(a, b, c, d); \
		step(); \
		return r; \
	}

STEP(pool_get, "_ZN3iox5mepoo7MemPool8getChunkEv")
STEP(pool_free, "_ZN3iox5mepoo7MemPool9freeChunkEPKv")
STEP(list_pop, "_ZN3iox10concurrent6LoFFLi3popERj")
STEP(list_push, "_ZN3iox10concurrent6LoFFLi4pushEj")
STEP(manager_get, "_ZN3iox5mepoo13MemoryManager8getChunkERKNS0_13ChunkSettingsE")
STEP(set_origin, "_ZN3iox5mepoo11ChunkHeader11setOriginIdENS_4popo12UniquePortIdE")
STEP(shared_end, "_ZN3iox5mepoo11SharedChunkD1Ev")
STEP(shared_free, "_ZN3iox5mepoo11SharedChunk9freeChunkEv")
STEP(shared_less, "_ZN3iox5mepoo11SharedChunk25decrementReferenceCounterEv")
STEP(unmanaged_clone, "_ZN3iox5mepoo21ShmSafeUnmanagedChunk18cloneToSharedChunkEv")
STEP(unmanaged_release, "_ZN3iox5mepoo21ShmSafeUnmanagedChunk20releaseToSharedChunkEv")
STEP(used_insert, "_ZN3iox4popo13UsedChunkListILj8EE6insertENS_5mepoo11SharedChunkE")
STEP(used_remove, "_ZN3iox4popo13UsedChunkListILj8EE6removeEPKNS_5mepoo11ChunkHeaderERNS3_11SharedChunkE")

VISIBLE int pthread_mutex_lock(pthread_mutex_t *m);
VISIBLE int pthread_mutex_unlock(pthread_mutex_t *m);

int pthread_mutex_lock(pthread_mutex_t *m)
{
	static int (*real)(pthread_mutex_t *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	if (counts())
		locks++;
	return real(m);
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
	static int (*real)(pthread_mutex_t *);
	int r;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	r = real(m);
	if (r == 0 && counts())
		locks--;
	return r;
}
