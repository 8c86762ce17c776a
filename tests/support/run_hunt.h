/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hunts verdicts that depend on the machine: processes of tests stand still for 1 to 2000 ms, at random. Thread: the runner's.
 *
 * A process of its own does it, by ptrace: unlike SIGSTOP and SIGCONT that shows to nobody, and what a test itself has stopped stays so.
 * A process that is traced already is left alone.
 */
#ifndef TEST_RUN_HUNT_H
#define TEST_RUN_HUNT_H

#include <stdint.h>
#include <sys/types.h>

/* The hunter, of all processes below the caller; 0 if it cannot be started. */
pid_t hunt_start(uint64_t seed);
/* Lets all go on and ends it. */
void hunt_stop(pid_t hunter);
/* In a test's process before it begins: one processor, and behind all others. What it starts inherits both. */
void hunt_handicap(void);

#endif
