/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes every call of ours that waits for an absolute time of CLOCK_REALTIME crash, as that clock may be set back by an
 * hour: loaded before RouDi, in lacking.so before the module, and before whole programs (tests/system/stack/wall.sh).
 * System libraries such as Cyclone DDS may do so: their own threads wait like this.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
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
VISIBLE int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict ret);
VISIBLE int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left);
VISIBLE int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict until);
VISIBLE int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict until);
VISIBLE int sem_clockwait(sem_t *restrict sem, clockid_t clock, const struct timespec *restrict until);
VISIBLE int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict lock, clockid_t clock,
				   const struct timespec *restrict until);
VISIBLE int pthread_mutex_clocklock(pthread_mutex_t *restrict lock, clockid_t clock,
				    const struct timespec *restrict until);
VISIBLE int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict lock, clockid_t clock,
				       const struct timespec *restrict until);
VISIBLE int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict lock, clockid_t clock,
				       const struct timespec *restrict until);

typedef int (*cond_fn)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
typedef int (*mutex_fn)(pthread_mutex_t *, const struct timespec *);

/*
 * Asked for what there is, as one that fails allocates its sentence: where the caller is a thread of the module's own libc, it would do so without
 * a lock beside the threads of the program's.
 */
static void *there(void *fn)
{
	if (!fn)
		abort();
	return fn;
}

static void *next(const char *name)
{
	return there(dlsym(RTLD_NEXT, name));
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
	/* dlsym() gives the oldest condition variables that the library has; this is the one that programs are linked with. */
	return ((cond_fn)there(dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2")))(cond, lock, until);
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
	return ((int (*)(int, int))next("timerfd_create"))(clock, flags);
}

/* Refused where an absolute time of that clock is waited for; `is`: what the call is then. */
#define OF_THE_WALL(is) \
	do { \
		if (is) \
			refuse(__builtin_return_address(0)); \
	} while (0)

#define PASS_ON(fn, ...) \
	static __typeof__(fn) *next_fn; \
	if (!next_fn) \
		next_fn = (__typeof__(fn) *)next(#fn); \
	return next_fn(__VA_ARGS__)

int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict ret)
{
	OF_THE_WALL(clock == CLOCK_REALTIME);
	PASS_ON(timer_create, clock, event, ret);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
	OF_THE_WALL(clock == CLOCK_REALTIME && (flags & TIMER_ABSTIME));
	PASS_ON(clock_nanosleep, clock, flags, until, left);
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict until)
{
	OF_THE_WALL(true);
	PASS_ON(pthread_rwlock_timedrdlock, lock, until);
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict until)
{
	OF_THE_WALL(true);
	PASS_ON(pthread_rwlock_timedwrlock, lock, until);
}

int sem_clockwait(sem_t *restrict sem, clockid_t clock, const struct timespec *restrict until)
{
	OF_THE_WALL(clock == CLOCK_REALTIME);
	PASS_ON(sem_clockwait, sem, clock, until);
}

int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict lock, clockid_t clock,
			   const struct timespec *restrict until)
{
	OF_THE_WALL(clock == CLOCK_REALTIME);
	PASS_ON(pthread_cond_clockwait, cond, lock, clock, until);
}

int pthread_mutex_clocklock(pthread_mutex_t *restrict lock, clockid_t clock, const struct timespec *restrict until)
{
	OF_THE_WALL(clock == CLOCK_REALTIME);
	PASS_ON(pthread_mutex_clocklock, lock, clock, until);
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict lock, clockid_t clock, const struct timespec *restrict until)
{
	OF_THE_WALL(clock == CLOCK_REALTIME);
	PASS_ON(pthread_rwlock_clockrdlock, lock, clock, until);
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict lock, clockid_t clock, const struct timespec *restrict until)
{
	OF_THE_WALL(clock == CLOCK_REALTIME);
	PASS_ON(pthread_rwlock_clockwrlock, lock, clock, until);
}
