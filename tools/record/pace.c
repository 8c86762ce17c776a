/* SPDX-License-Identifier: Apache-2.0 */
/* See pace.h. Thread: any. */
#include "pace.h"

#include "timeutil.h"

static int64_t clip(int128 ns)
{
	return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

static int128 divide_down(int128 a, int128 b)
{
	return a / b - (a % b < 0);
}

int64_t pace_due(const struct pace *p, int64_t log_ns)
{
	int128 dur_ns = (int128)log_ns - p->base_log_ns;

	return clip((int128)p->base_now_ns - divide_down(-dur_ns * PACE_ONE, p->rate_e6));
}

int64_t pace_log(const struct pace *p, int64_t now_ns)
{
	int128 dur_ns = (int128)now_ns - p->base_now_ns;

	return clip((int128)p->base_log_ns + divide_down(dur_ns * p->rate_e6, PACE_ONE));
}

void pace_set_rate(struct pace *p, int64_t now_ns, int64_t rate_e6)
{
	*p = (struct pace){ .base_now_ns = now_ns, .base_log_ns = pace_log(p, now_ns), .rate_e6 = rate_e6 };
}

void pace_shift(struct pace *p, int64_t dur_ns)
{
	p->base_now_ns = ns_add(p->base_now_ns, dur_ns);
}
