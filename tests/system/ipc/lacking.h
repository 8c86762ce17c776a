/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lacking.so, a module (SIM_IPC_MODULE) whose system calls fail from a chosen one on; for memory, only those of its own
 * threads. It is loaded before the real one. It is controlled through memory at a fixed address, as a linker namespace
 * of its own has no other way in.
 */
#ifndef TEST_LACKING_H
#define TEST_LACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define LACKING_ADDRESS ((void *)UINT64_C(0x600000100000))

struct lacking {
	_Atomic uint32_t calls; /* so far */
	_Atomic uint32_t at;    /* this one and all after it fail; 0: none */
	int error;
	_Atomic bool memory; /* it is memory that the failed one asked for: no error but ENOMEM */
};

/* Before the attach. NULL: that address is taken. */
static inline struct lacking *lacking_map(void)
{
	void *p = mmap(LACKING_ADDRESS, sizeof(struct lacking), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return p == LACKING_ADDRESS ? (struct lacking *)p : NULL;
}

#endif
