/* SPDX-License-Identifier: Apache-2.0 */
/* Each way to wait for a moment of the wall clock crashes by wall.c, which is linked in here; by another clock it does not. */
#include "test.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

static const struct timespec past; /* of either clock: a wait ends at once */

static void wait_semaphore(clockid_t clock)
{
	sem_t sem;

	sem_init(&sem, 0, 0);
	(void)sem_clockwait(&sem, clock, &past);
}

static void wait_semaphore_timed(clockid_t clock)
{
	sem_t sem;

	sem_init(&sem, 0, 1);
	(void)(clock == CLOCK_REALTIME ? sem_timedwait(&sem, &past) : sem_wait(&sem));
}

static void wait_condition(clockid_t clock)
{
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	(void)pthread_cond_clockwait(&cond, &lock, clock, &past);
}

static void wait_condition_timed(clockid_t clock)
{
	pthread_cond_t cond;
	pthread_condattr_t attr;
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, clock);
	pthread_cond_init(&cond, &attr);
	pthread_mutex_lock(&lock);
	(void)pthread_cond_timedwait(&cond, &lock, &past);
}

static void wait_mutex(clockid_t clock)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	(void)pthread_mutex_clocklock(&lock, clock, &past);
}

static void wait_mutex_timed(clockid_t clock)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	(void)(clock == CLOCK_REALTIME ? pthread_mutex_timedlock(&lock, &past) : pthread_mutex_lock(&lock));
}

static void wait_read(clockid_t clock)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

	(void)pthread_rwlock_clockrdlock(&lock, clock, &past);
}

static void wait_read_timed(clockid_t clock)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

	(void)(clock == CLOCK_REALTIME ? pthread_rwlock_timedrdlock(&lock, &past) : pthread_rwlock_rdlock(&lock));
}

static void wait_write(clockid_t clock)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

	(void)pthread_rwlock_clockwrlock(&lock, clock, &past);
}

static void wait_write_timed(clockid_t clock)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

	(void)(clock == CLOCK_REALTIME ? pthread_rwlock_timedwrlock(&lock, &past) : pthread_rwlock_wrlock(&lock));
}

static void wait_sleeping(clockid_t clock)
{
	(void)clock_nanosleep(clock, TIMER_ABSTIME, &past, NULL);
}

static void wait_descriptor(clockid_t clock)
{
	(void)timerfd_create(clock, TFD_CLOEXEC);
}

static void wait_signal(clockid_t clock)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	timer_t timer;

	(void)timer_create(clock, &event, &timer);
}

/* How the process ended that did so. */
static int ended(void (*fn)(clockid_t clock), clockid_t clock)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)signal(SIGILL, SIG_DFL); /* which the tests' library catches */
		fn(clock);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

TEST(each_wait_until_a_wall_clock_time_crashes)
{
	static const struct {
		const char *name;
		void (*fn)(clockid_t clock);
	} ways[] = {
		{ "sem_clockwait", wait_semaphore },
		{ "sem_timedwait", wait_semaphore_timed },
		{ "pthread_cond_clockwait", wait_condition },
		{ "pthread_cond_timedwait", wait_condition_timed },
		{ "pthread_mutex_clocklock", wait_mutex },
		{ "pthread_mutex_timedlock", wait_mutex_timed },
		{ "pthread_rwlock_clockrdlock", wait_read },
		{ "pthread_rwlock_timedrdlock", wait_read_timed },
		{ "pthread_rwlock_clockwrlock", wait_write },
		{ "pthread_rwlock_timedwrlock", wait_write_timed },
		{ "clock_nanosleep", wait_sleeping },
		{ "timerfd_create", wait_descriptor },
		{ "timer_create", wait_signal },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int status = ended(ways[i].fn, CLOCK_REALTIME);

		if (!WIFSIGNALED(status))
			fail_msg("%s waits for the wall clock", ways[i].name);
		status = ended(ways[i].fn, CLOCK_MONOTONIC);
		if (status)
			fail_msg("%s by CLOCK_MONOTONIC: %d", ways[i].name, status);
	}
}

/* The sleep lasts for a duration, whatever the wall clock is set to. */
TEST(a_relative_sleep_does_not_crash)
{
	assert_int_equal(clock_nanosleep(CLOCK_REALTIME, 0, &past, NULL), 0);
}
