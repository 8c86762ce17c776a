/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time arithmetic. Time is int64_t nanoseconds; the name tells which clock: _sim_ns, _mono_ns (CLOCK_MONOTONIC),
 * _real_ns (CLOCK_REALTIME), _dur_ns (a span).
 *
 * Thread: any. The state machines of the daemon must not call mono_now_ns(): callers pass the time to them.
 */
#ifndef BASE_TIMEUTIL_H
#define BASE_TIMEUTIL_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

__extension__ typedef __int128 int128;

int64_t mono_now_ns(void);
int64_t real_now_ns(void);

static inline int64_t timespec_to_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * NS_PER_S + t->tv_nsec;
}

/* Correct for negative values too: tv_nsec is always 0..999999999. */
static inline struct timespec timespec_from_ns(int64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };

	if (t.tv_nsec < 0) {
		t.tv_sec--;
		t.tv_nsec += (long)NS_PER_S;
	}
	return t;
}

/* Saturating addition: a deadline never wraps into the past. */
static inline int64_t ns_add(int64_t a, int64_t b)
{
	int64_t s;

	if (__builtin_add_overflow(a, b, &s))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return s;
}

/* Sleeps until an absolute CLOCK_MONOTONIC time; continues after signals. */
void mono_sleep_until(int64_t until_mono_ns);

#define STAMP_FORMAT_MAX 64
/* Seconds with nine decimals, "12.000000340", for time stamps. Returns buf. */
const char *stamp_format(int64_t ns, char buf[STAMP_FORMAT_MAX]);

#endif
