/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dying.so, a module (SIM_IPC_MODULE) that kills its process between two steps of loan or publish: it is loaded before
 * the real one and wraps the functions of iceoryx that move a chunk, so that they may die on entry and on exit. It is
 * controlled through memory at a fixed address, as a linker namespace of its own has no other way in.
 */
#ifndef TEST_DYING_H
#define TEST_DYING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define DYING_ADDRESS ((void *)UINT64_C(0x600000000000))

struct dying {
	uintptr_t thread; /* the thread whose steps count; 0: none */
	uint32_t steps;   /* so far */
	uint32_t at;      /* at which it dies; 0: never */
};

/* Before the attach. NULL: that address is taken. */
static inline struct dying *dying_map(void)
{
	void *p = mmap(DYING_ADDRESS, sizeof(struct dying), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return p == DYING_ADDRESS ? (struct dying *)p : NULL;
}

static inline void dying_arm(struct dying *d, uint32_t at)
{
	d->steps = 0;
	d->at = at;
	d->thread = (uintptr_t)__builtin_thread_pointer();
}

#endif
