/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that processes share, whose owner was stopped (SIGSTOP, Ctrl-Z, a debugger) in the few hundred nanoseconds in
 * which it holds the lock. Not an API: see iox_robust.c. Thread: any.
 */
#ifndef IOX_STOPPED_H
#define IOX_STOPPED_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Waits for a lock that is busy, as pthread_mutex_lock() does. If its owner turns out to be stopped by a signal, it is
 * continued until it has released the lock, and is then stopped again. That is done only to a process that maps the
 * file in which the lock lies. If it cannot be done, that is reported, and the wait goes on; or, with give_up, ends
 * with EBUSY.
 */
int iox_wait_for_lock(pthread_mutex_t *m, bool give_up);

/*
 * One line, without a newline. RouDi writes it to its output, where simd finds it by its first word; the module drops
 * it.
 */
#define IOX_STOPPED_WORD "stopped: "
void iox_stopped_say(const char *line);

#endif
