/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that processes share, whose owner was stopped (SIGSTOP, Ctrl-Z, a debugger) in the few hundred nanoseconds in which it
 * has it. No API: see iox_robust.c. Thread: any.
 */
#ifndef IOX_STOPPED_H
#define IOX_STOPPED_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Wait for a lock that is busy, as pthread_mutex_lock() does. If its owner turns out to be stopped by a signal, it goes on until it
 * has given the lock back, and is stopped again. That is done only to a process that maps the file in which the lock lies. Where it
 * cannot be done, that is said, and the wait goes on; or, with give_up, ends with EBUSY.
 */
int iox_wait_for_lock(pthread_mutex_t *m, bool give_up);

/* One line, without an end. RouDi's goes to its output, where simd finds it by its first word; the module keeps it to itself. */
#define IOX_STOPPED_WORD "stopped: "
void iox_stopped_say(const char *line);

#endif
