/* SPDX-License-Identifier: Apache-2.0 */
/* Functions under names that iceoryx calls through the dynamic linker, found before iceoryx's own. Not an API. */
#ifndef IOX_HOOK_H
#define IOX_HOOK_H

#include <dlfcn.h>
#include <stdatomic.h>

#define HOOK __attribute__((visibility("default"), used))

/*
 * The function that a hook replaces. Looked up at the first call, not in a constructor: other libraries are initialised
 * earlier and call it.
 */
static inline void *iox_next(_Atomic(void *) *cache, const char *name)
{
	void *fn = atomic_load_explicit(cache, memory_order_relaxed);

	if (__builtin_expect(!fn, 0)) {
		fn = dlsym(RTLD_NEXT, name);
		atomic_store_explicit(cache, fn, memory_order_relaxed);
	}
	return fn;
}

#endif
