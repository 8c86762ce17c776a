/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stepped.so, preloaded into a program: its wall clock is off by the seconds in the file that STEPPED names, which
 * changes at run time, as when the clock is set. wall.so makes waits for an absolute time of that clock crash.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default"), used))

VISIBLE int clock_gettime(clockid_t clock, struct timespec *ret);
VISIBLE int gettimeofday(struct timeval *restrict ret, void *restrict zone);
VISIBLE time_t time(time_t *ret);

static const _Atomic int64_t none_s;
static const _Atomic int64_t *step_s = &none_s;

__attribute__((constructor)) static void find_step(void)
{
	const char *path = getenv("STEPPED");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *p = fd >= 0 ? mmap(NULL, sizeof(*step_s), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (p != MAP_FAILED)
		step_s = (const _Atomic int64_t *)p;
	if (fd >= 0)
		close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static int (*next)(clockid_t, struct timespec *);
	int r;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
	r = next(clock, ret);
	if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ret->tv_sec += *step_s;
	return r;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	*ret = (struct timeval){ .tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}
