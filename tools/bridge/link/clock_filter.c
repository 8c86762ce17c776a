/* SPDX-License-Identifier: Apache-2.0 */
/* clock_filter.h */
#include "clock_filter.h"

#include <errno.h>

#define LONGEST_NS (INT64_C(1) << 62)

static bool plausible(const struct clock_trip *t)
{
	return t->sent_mono_ns >= 0 && t->back_mono_ns >= t->sent_mono_ns && t->back_mono_ns <= LONGEST_NS &&
	       t->came_mono_ns >= 0 && t->left_mono_ns >= t->came_mono_ns && t->left_mono_ns <= LONGEST_NS;
}

int clock_filter_add(struct clock_filter *f, const struct clock_trip *t)
{
	int64_t delay, there, back;
	uint32_t i = f->n % CLOCK_TRIPS;

	if (!plausible(t))
		return -EINVAL;
	delay = (t->back_mono_ns - t->sent_mono_ns) - (t->left_mono_ns - t->came_mono_ns);
	if (delay < 0) /* their clock is faster than ours: by a little, in what it took to answer */
		delay = -delay;
	there = t->came_mono_ns - t->sent_mono_ns;
	back = t->left_mono_ns - t->back_mono_ns;
	f->trips[i].at_mono_ns = t->back_mono_ns;
	f->trips[i].ahead_dur_ns = there / 2 + back / 2 + (there % 2 + back % 2) / 2;
	f->trips[i].delay_dur_ns = delay;
	f->n++;
	return 0;
}

static int64_t error_of(const struct clock_filter *f, uint32_t i, int64_t now_mono_ns)
{
	int64_t age = now_mono_ns - f->trips[i].at_mono_ns;

	if (age < 0)
		age = 0;
	return f->trips[i].delay_dur_ns / 2 + 1 + age / 1000000 * CLOCK_DRIFT_E6 +
	       age % 1000000 * CLOCK_DRIFT_E6 / 1000000;
}

bool clock_filter_offset(const struct clock_filter *f, int64_t now_mono_ns, struct clock_offset *ret)
{
	uint32_t n = f->n < CLOCK_TRIPS ? f->n : CLOCK_TRIPS, best = 0;

	if (!n)
		return false;
	for (uint32_t i = 1; i < n; i++)
		if (error_of(f, i, now_mono_ns) < error_of(f, best, now_mono_ns))
			best = i;
	ret->ahead_dur_ns = f->trips[best].ahead_dur_ns;
	ret->error_dur_ns = error_of(f, best, now_mono_ns);
	ret->delay_dur_ns = f->trips[best].delay_dur_ns;
	return true;
}
