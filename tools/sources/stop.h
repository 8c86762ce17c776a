/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending in order: SIGINT and SIGTERM set a flag and make a descriptor readable; a thread of its own,
 * "stop", waits for them. A program that is stuck in a call that cannot be interrupted (an advance of a
 * paused clock) is ended after a grace period, with exit status 0: the kernel then ends its children,
 * and simd gives back what it held.
 *
 * Thread: stop_init() on main before any other thread is started; the rest from any thread.
 */
#ifndef SOURCES_STOP_H
#define SOURCES_STOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct stop {
	int fd; /* readable once it was requested */
	atomic_bool requested;
	int grace_ms;
	pthread_t thread;
};

int stop_init(struct stop *s, int grace_ms);
static inline bool stop_requested(struct stop *s)
{
	return atomic_load(&s->requested);
}
/* Sleep for wall_ms or until stop; true: stop. */
bool stop_wait(struct stop *s, int wall_ms);

#endif
