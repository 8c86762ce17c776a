/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending in order: SIGINT and SIGTERM set a flag and make a descriptor readable; a thread of its own,
 * "stop", waits for them. A program that is stuck in an uninterruptible call is ended after a grace
 * period, with exit status 0: the kernel then ends its children, and simd gives back what it held.
 *
 * Thread: stop_init() on main before any other thread is started; the rest from any thread.
 */
#ifndef SOURCES_STOP_H
#define SOURCES_STOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sim_driver;

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
/*
 * sim_driver_advance(), which a pause holds up: -ECANCELED on stop, and then d is to be released. While it waits it calls look(user) every 10 ms of
 * wall time, in which a host of a world tells that of the pause. look NULL: no calls.
 */
int stop_advance(struct stop *s, struct sim_driver *d, int64_t dur_ns, void (*look)(void *user), void *user,
		 int64_t *ret_granted_dur_ns);
/* The same of sim_driver_jump(). */
int stop_jump(struct stop *s, struct sim_driver *d, int64_t sim_ns);
/* Sleep for wall_ms or until stop; true: stop. */
bool stop_wait(struct stop *s, int wall_ms);

#endif
