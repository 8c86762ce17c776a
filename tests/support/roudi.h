/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A RouDi for tests, started as simd starts it (with ROUDI_PLAIN in the environment: as it comes); ROUDI_OUTPUT names a file for what it
 * prints, ROUDI_ALSO an object that is preloaded too. Only under tests/support/ns.sh: its names are fixed.
 */
#ifndef TEST_ROUDI_H
#define TEST_ROUDI_H

#include <sys/types.h>

#include "ipc_mem.h"

struct roudi {
	pid_t pid;
};

/* Starts it and waits until it takes messages. 0, or -1 with a line on stderr. */
int roudi_start(struct roudi *r, const struct ipc_mem_pool *pools, size_t n);
/* SIGKILL, and waits until it is gone. */
void roudi_kill(struct roudi *r);
/* Kills and starts it again, with what the dead one left taken away as simd does. */
int roudi_restart(struct roudi *r, const struct ipc_mem_pool *pools, size_t n);

/* SIGSTOP, and waits until every thread of it stands; SIGCONT. */
void roudi_stop(const struct roudi *r);
void roudi_continue(const struct roudi *r);

#endif
