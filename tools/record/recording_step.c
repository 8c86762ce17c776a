/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log times in lock-step. They are the same whether messages are passed in the order of the step, as by a bridge, or of
 * publishing, as by a recorder: messages of one step do not affect each other. The caller holds the recording's lock.
 */
#include "recording_private.h"

static bool is_jump_back(const struct recording_step *st, const struct recording_moment *at)
{
	return at->log_time_ns < st->newest_ns && (!at->clock_generation || at->clock_generation != st->generation);
}

int64_t recording_step_time(struct recording *s, int64_t stamp_ns, const struct recording_moment *at)
{
	struct recording_step *st = &s->step;
	int64_t t;

	if (is_jump_back(st, at))
		st->newest_ns = at->log_time_ns;
	if (at->clock_generation != st->generation || at->log_time_ns > st->published_ns) {
		st->before_ns = st->newest_ns;
		st->published_ns = at->log_time_ns;
		st->generation = at->clock_generation;
	}
	t = stamp_ns > st->before_ns ? stamp_ns : st->before_ns;
	t = t < at->log_time_ns ? t : at->log_time_ns;
	if (st->newest_ns < t)
		st->newest_ns = t;
	return t;
}
