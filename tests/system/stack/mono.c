/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mono.so, loaded before libfaketime 0.9.10, which treats an absolute time of CLOCK_MONOTONIC in clock_nanosleep() as
 * one of the wall clock, even where it is configured to leave that clock alone: here the system call is made directly.
 */
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default"), used))

VISIBLE int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left);

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
	static __typeof__(clock_nanosleep) *next;

	if (clock == CLOCK_MONOTONIC)
		return syscall(SYS_clock_nanosleep, clock, flags, until, left) < 0 ? errno : 0;
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_nanosleep");
	return next(clock, flags, until, left);
}
