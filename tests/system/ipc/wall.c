/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of ours that waits for a moment of CLOCK_REALTIME, which somebody may set back by an hour, crashes here: in front of RouDi, in
 * lacking.so in front of the module, and in front of whole programs (tests/system/stack/wall.sh). Libraries of the system
 * may, such as Cyclone DDS: its own threads wait so.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

#define VISIBLE   __attribute__((visibility("default"), used))
#define MONOTONIC 2u /* the bit of a condition variable of glibc that says its clock */

VISIBLE int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict until);
VISIBLE int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict lock,
				   const struct timespec *restrict until);
VISIBLE int pthread_mutex_timedlock(pthread_mutex_t *restrict lock, const struct timespec *restrict until);
VISIBLE int timerfd_create(int clock, int flags);

typedef int (*cond_fn)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
typedef int (*mutex_fn)(pthread_mutex_t *, const struct timespec *);
typedef int (*timer_fn)(int, int);

/* dlsym() gives the oldest condition variables that the library has; these are the ones that programs are linked with. */
static void *next(const char *name)
{
	void *fn = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");

	if (!fn)
		fn = dlsym(RTLD_NEXT, name);
	if (!fn)
		abort();
	return fn;
}

static void refuse(const void *caller)
{
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname ||
	    (strncmp(info.dli_fname, "/usr/", 5) != 0 && strncmp(info.dli_fname, "/lib/", 5) != 0))
		__builtin_trap();
}

int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict until)
{
	(void)sem;
	(void)until;
	__builtin_trap();
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict lock,
			   const struct timespec *restrict until)
{
	if (!(cond->__data.__wrefs & MONOTONIC))
		refuse(__builtin_return_address(0));
	return ((cond_fn)next("pthread_cond_timedwait"))(cond, lock, until);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict lock, const struct timespec *restrict until)
{
	refuse(__builtin_return_address(0));
	return ((mutex_fn)next("pthread_mutex_timedlock"))(lock, until);
}

int timerfd_create(int clock, int flags)
{
	if (clock == CLOCK_REALTIME)
		refuse(__builtin_return_address(0));
	return ((timer_fn)next("timerfd_create"))(clock, flags);
}
