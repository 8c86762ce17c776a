/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When what was recorded is due again. A straight line through one point: at base_now_ns of the clock by which is paced (wall time, or
 * a clock that is followed) the log is at base_log_ns, and rate_e6 millionths of a ns further with each ns. Deadlines are absolute, so
 * no wait that took too long moves a later one. Pure; thread: any.
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
/* Where the log is at now_ns, rounded down; saturates. */
int64_t pace_log(const struct pace *p, int64_t now_ns);
/* The log goes on from where it is with another rate. */
void pace_set_rate(struct pace *p, int64_t now_ns, int64_t rate_e6);
/* The log stood still for so long. */
void pace_shift(struct pace *p, int64_t dur_ns);

#endif
