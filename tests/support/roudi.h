/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A RouDi for tests, started as simd starts it (with ROUDI_PLAIN in the environment: unmodified); ROUDI_OUTPUT names a
 * file for its output, ROUDI_ALSO another library to preload. Only under tests/support/ns.sh: its names are fixed.
 */
#ifndef TEST_ROUDI_H
#define TEST_ROUDI_H

#include <sys/types.h>

#include "ipc_mem.h"

struct roudi {
	pid_t pid;
};

/* Starts it and waits until it is ready. 0, or -1 with a line on stderr. */
int roudi_start(struct roudi *r, const struct ipc_mem_pool *pools, size_t n);
/* SIGKILL, and waits until it is gone. */
void roudi_kill(struct roudi *r);
/* Kills it, removes its leftovers as simd does, and starts it again. */
int roudi_restart(struct roudi *r, const struct ipc_mem_pool *pools, size_t n);

/* SIGSTOP, and waits until all its threads have stopped; SIGCONT. */
void roudi_stop(const struct roudi *r);
void roudi_continue(const struct roudi *r);

#endif
