/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The most frequent operations of iceoryx 2.0.3 on each message, in few instructions: functions under names that
 * iceoryx calls through the dynamic linker, linked into the module ipc_iox.so. They do the same as iceoryx's own.
 *
 *   checks    In iceoryx a condition that holds costs as much as one that fails: a stack frame for the error text.
 *   pointers  Each pointer in shared memory is a segment and an offset. To resolve one, some sixty times a message,
 *             iceoryx goes through four functions and a table of ten thousand segments, of which two are used.
 *   lines     The cache lines of a slot are in the cache of the processor that touched them last. They are prefetched
 *             as soon as the slot is known, while iceoryx does its part: before it is filled, and before its header is
 *             read.
 *   locks     iceoryx wraps each call of libc in an object that would format its error.
 *
 * Thread: any thread that iceoryx runs in. Segments are registered by the worker, before any port exists.
 */
#include "iox_fast.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iox_hook.h"
#include "ipc_iox_layout.h"

#define NOTHING    UINT64_MAX /* segment and offset of a null pointer, also in packed form */
#define LINE       64u        /* of the cache, bytes */
#define SLOT_LINES 3          /* the header of a slot, and the beginning of its body */

#define NEXT(type, name) \
	({ \
		static _Atomic(void *) cache_; \
		type fn_; \
		*(void **)&fn_ = iox_next(&cache_, name); \
		fn_; \
	})

/* ---- checks ---- */

typedef void (*require_fn)(bool, const char *, int, const char *, const char *);

HOOK void hook_require(bool holds, const char *file, int line, const char *function,
		       const char *condition) __asm__(IOX_REQUIRE);

void hook_require(bool holds, const char *file, int line, const char *function, const char *condition)
{
	if (__builtin_expect(!holds, 0))
		NEXT(require_fn, IOX_REQUIRE)(holds, file, line, function, condition);
}

/* ---- segments ---- */

typedef bool (*register_fn)(uint64_t, char *, uint64_t);
typedef bool (*unregister_fn)(uint64_t);
typedef void (*unregister_all_fn)(void);

HOOK bool hook_register(uint64_t id, char *base, uint64_t size) __asm__(IOX_REGISTER);
HOOK bool hook_unregister(uint64_t id) __asm__(IOX_UNREGISTER);
HOOK void hook_unregister_all(void) __asm__(IOX_UNREGISTER_ALL);

static struct {
	_Atomic(char *) base; /* NULL: not known here, resolved by iceoryx */
	_Atomic uint64_t size;
} segments[IOX_SEGMENTS];

bool hook_register(uint64_t id, char *base, uint64_t size)
{
	bool done = NEXT(register_fn, IOX_REGISTER)(id, base, size);

	if (done && id < IOX_SEGMENTS) {
		atomic_store_explicit(&segments[id].size, size, memory_order_relaxed);
		atomic_store_explicit(&segments[id].base, base, memory_order_release);
	}
	return done;
}

bool hook_unregister(uint64_t id)
{
	if (id < IOX_SEGMENTS)
		atomic_store(&segments[id].base, NULL);
	return NEXT(unregister_fn, IOX_UNREGISTER)(id);
}

void hook_unregister_all(void)
{
	for (unsigned int id = 0; id < IOX_SEGMENTS; id++)
		atomic_store(&segments[id].base, NULL);
	NEXT(unregister_all_fn, IOX_UNREGISTER_ALL)();
}

/* ---- pointers ---- */

typedef char *(*base_fn)(uint64_t);
typedef uint64_t (*search_fn)(const char *);

struct pointer {
	uint64_t segment, offset;
};

HOOK char *hook_base(uint64_t id) __asm__(IOX_BASE);
HOOK char *hook_ptr(uint64_t id, uint64_t offset) __asm__(IOX_PTR);
HOOK char *hook_raw(const struct pointer *p) __asm__(IOX_RAW);
HOOK uint64_t hook_search(const char *p) __asm__(IOX_SEARCH);

__attribute__((cold, noinline)) static char *other_base(uint64_t id)
{
	return NEXT(base_fn, IOX_BASE)(id);
}

static inline char *base_of(uint64_t id)
{
	char *base = id < IOX_SEGMENTS ? atomic_load_explicit(&segments[id].base, memory_order_relaxed) : NULL;

	return __builtin_expect(base != NULL, 1) ? base : other_base(id);
}

/* In an unknown segment the offset is an address. */
static inline char *resolve(uint64_t id, uint64_t offset)
{
	return __builtin_expect(offset == NOTHING, 0) ? NULL : (char *)((uintptr_t)base_of(id) + offset);
}

char *hook_base(uint64_t id)
{
	return base_of(id);
}

char *hook_ptr(uint64_t id, uint64_t offset)
{
	return resolve(id, offset);
}

char *hook_raw(const struct pointer *p)
{
	return resolve(p->segment, p->offset);
}

uint64_t hook_search(const char *p)
{
	if (!p)
		return NOTHING;
	for (unsigned int id = 1; id < IOX_SEGMENTS; id++) {
		const char *base = atomic_load_explicit(&segments[id].base, memory_order_acquire);
		uint64_t size = atomic_load_explicit(&segments[id].size, memory_order_relaxed);

		if (base && (uintptr_t)p - (uintptr_t)base < size)
			return id;
	}
	return NEXT(search_fn, IOX_SEARCH)(p);
}

/* ---- slots ---- */

typedef void (*chunk_fn)(char *, uint32_t, const void *);

HOOK void hook_chunk(char *chunk, uint32_t size, const void *settings) __asm__(IOX_CHUNK);
HOOK char *hook_shared(const char *const *entry) __asm__(IOX_SHARED);
HOOK char *hook_packed(const uint64_t *packed) __asm__(IOX_PACKED);

static inline void fetch_to_write(const char *line)
{
#ifdef __x86_64__ /* compilers define it only for targets that all have it; other processors ignore the instruction */
	__asm__ volatile("prefetchw %0" : : "m"(*line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/* Called when a chunk has been made, before it is filled. */
void hook_chunk(char *chunk, uint32_t size, const void *settings)
{
	const char *slot = (const char *)IOX_SLOT_AT((uintptr_t)chunk);

	for (unsigned int i = 0; i < SLOT_LINES; i++)
		fetch_to_write(slot + i * LINE);
	NEXT(chunk_fn, IOX_CHUNK)(chunk, size, settings);
}

static inline char *chunk_of(const char *entry)
{
	const struct pointer *p = (const struct pointer *)(const void *)(entry + IOX_ENTRY_HEADER);

	return resolve(p->segment, p->offset);
}

/* Called first after a chunk was taken from a queue. */
char *hook_shared(const char *const *entry)
{
	char *chunk = *entry ? chunk_of(*entry) : NULL;
	const char *slot = (const char *)IOX_SLOT_AT((uintptr_t)chunk);

	if (chunk) {
		__builtin_prefetch(slot);
		__builtin_prefetch(slot + LINE);
	}
	return chunk;
}

/* Called for each slot that a port holds, until the one to be released is found. */
char *hook_packed(const uint64_t *packed)
{
	return *packed == NOTHING ? NULL : chunk_of(resolve(*packed & UINT16_MAX, *packed >> 16));
}

/* ---- locks ---- */

HOOK bool hook_lock_mutex(pthread_mutex_t *m) __asm__(IOX_LOCK);
HOOK bool hook_unlock_mutex(pthread_mutex_t *m) __asm__(IOX_UNLOCK);

bool hook_lock_mutex(pthread_mutex_t *m)
{
	return pthread_mutex_lock(m) == 0;
}

bool hook_unlock_mutex(pthread_mutex_t *m)
{
	return pthread_mutex_unlock(m) == 0;
}
