/* SPDX-License-Identifier: Apache-2.0 */
/* See log_limit.h. */
#include "log_limit.h"

bool log_limit_pass(struct log_limit *l, int64_t now_ns, uint64_t *ret_held)
{
	if (l->start_mono_ns == INT64_MIN || now_ns - l->start_mono_ns >= l->every_dur_ns ||
	    now_ns < l->start_mono_ns) {
		l->start_mono_ns = now_ns;
		l->used = 0;
	}
	if (l->used >= l->burst) {
		l->held++;
		return false;
	}
	l->used++;
	*ret_held = l->held;
	l->held = 0;
	return true;
}
