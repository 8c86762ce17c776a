/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite of ipc.h, compiled for every backend: a backend's program fills the fixture and
 * opens its bus or RouDi. Each test attaches under names of its own. Whatever differs between backends (what
 * fits a pool, how a RouDi is lost) is in the fixture, never in a test.
 */
#ifndef IPC_SUITE_H
#define IPC_SUITE_H

#include "ipc.h"

struct suite {
	const char *backend;
	struct ipc_mem_bus *bus;
	size_t small_pool_slots; /* slots of the pool that a 100-byte loan comes from */
	size_t too_large;        /* size of a loan that fits no pool */
};

/* Defined by each backend: the fixture, and what runs before and after all tests; suite_open() returns 0 or -1. */
extern struct suite suite;
int suite_open(void);
void suite_close(void);

#endif
