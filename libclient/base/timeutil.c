/* SPDX-License-Identifier: Apache-2.0 */
/* Time arithmetic, see timeutil.h. Thread: any. */
#include "timeutil.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static int64_t now(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return timespec_to_ns(&t);
}

int64_t mono_now_ns(void)
{
	return now(CLOCK_MONOTONIC);
}

int64_t real_now_ns(void)
{
	return now(CLOCK_REALTIME);
}

void mono_sleep_until(int64_t until_mono_ns)
{
	struct timespec t = timespec_from_ns(until_mono_ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		continue;
}

const char *stamp_format(int64_t ns, char buf[STAMP_FORMAT_MAX])
{
	uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	snprintf(buf, STAMP_FORMAT_MAX, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", v / (uint64_t)NS_PER_S,
		 v % (uint64_t)NS_PER_S);
	return buf;
}
