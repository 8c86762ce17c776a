/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dying.so, a module (SIM_IPC_MODULE) that kills its process between two steps of loan or publish: it comes before the real one
 * and has the functions of iceoryx that move a chunk call at the door, in and out. It is told by memory at a fixed address, for a
 * namespace of its own has no other way in.
 */
#ifndef TEST_DYING_H
#define TEST_DYING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define DYING_ADDRESS ((void *)UINT64_C(0x600000000000))

struct dying {
	uintptr_t thread; /* whose steps count; 0: nobody's */
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
