/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mono.so, in front of libfaketime 0.9.10, which takes a moment of CLOCK_MONOTONIC for one of the wall clock in clock_nanosleep(), also where
 * it is told to leave that clock alone: the kernel has such a sleep itself.
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
