/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orderly end of a program: SIGINT and SIGTERM set a flag and make a descriptor readable; a separate thread, "stop",
 * waits for them. If the program is stuck in an uninterruptible call, it is ended after a grace period, with exit
 * status 0: the kernel then ends its children, and simd returns what the program held.
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
	int fd; /* readable once a stop was requested */
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
 * sim_driver_advance(), which waits during a pause. -ECANCELED: stop was requested; the caller then must release d.
 * While it waits it calls look(user) every 10 ms of wall time, in which the host of a world reports the pause. look
 * NULL: no calls.
 */
int stop_advance(struct stop *s, struct sim_driver *d, int64_t dur_ns, void (*look)(void *user), void *user,
		 int64_t *ret_granted_dur_ns);
/* The same for sim_driver_jump(). */
int stop_jump(struct stop *s, struct sim_driver *d, int64_t sim_ns);
/* Sleep for wall_ms or until stop is requested. True: stop is requested. */
bool stop_wait(struct stop *s, int wall_ms);

#endif
