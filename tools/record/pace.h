/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a recorded message is due. A straight line through one point: at base_now_ns of the pacing clock (wall time, or
 * the clock that is followed) the log is at base_log_ns, and advances by rate_e6 millionths of a ns with each ns.
 * Deadlines are absolute, so a wait that took too long does not delay later ones. Pure; thread: any.
 */
#ifndef PACE_H
#define PACE_H

#include <stdint.h>

#define PACE_ONE INT64_C(1000000)
#define PACE_MIN INT64_C(1)
#define PACE_MAX (INT64_C(1000000) * PACE_ONE)

struct pace {
	int64_t base_now_ns, base_log_ns;
	int64_t rate_e6; /* PACE_MIN .. PACE_MAX */
};

/* When log_ns is due, rounded up; saturates. */
int64_t pace_due(const struct pace *p, int64_t log_ns);
/* The log's time at now_ns, rounded down; saturates. */
int64_t pace_log(const struct pace *p, int64_t now_ns);
/* Changes the rate from now_ns on, without a jump. */
void pace_set_rate(struct pace *p, int64_t now_ns, int64_t rate_e6);
/* Moves all deadlines by a time in which the log stood still. */
void pace_shift(struct pace *p, int64_t dur_ns);

#endif
