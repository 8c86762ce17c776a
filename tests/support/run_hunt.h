/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds tests whose result depends on the machine's speed: stops random test processes for 1 to 2000 ms. Thread: the
 * runner's.
 *
 * A separate process does it, by ptrace: unlike SIGSTOP and SIGCONT, parents do not see that, and processes that a test
 * itself has stopped stay stopped. A process that is already traced is left alone.
 */
#ifndef TEST_RUN_HUNT_H
#define TEST_RUN_HUNT_H

#include <stdint.h>
#include <sys/types.h>

/* Starts the hunter, for all processes below the caller; 0: it cannot be started. */
pid_t hunt_start(uint64_t seed);
/* Resumes all processes and ends the hunter. */
void hunt_stop(pid_t hunter);
/*
 * In a test's process before it begins: binds it to one processor, with the lowest priority. Its children inherit both.
 */
void hunt_handicap(void);

#endif
