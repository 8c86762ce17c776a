/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dead time: a value takes effect a fixed time after it was put in, exact to the nanosecond for any step, because
 * each value carries its effective time. One value per instant; when the buffer is full, the newest value replaces the
 * one before it.
 *
 *
 *
 * Thread: the owner's; no allocation.
 */
#ifndef SOURCES_VEHICLE_DEAD_TIME_H
#define SOURCES_VEHICLE_DEAD_TIME_H

#include <stddef.h>
#include <stdint.h>

#define DEAD_TIME_VALUES 1024 /* 1 s at 1 kHz */

struct dead_time {
	int64_t dur_ns;
	double value; /* the value in effect */
	size_t first, n;
	struct {
		int64_t due_ns;
		double value;
	} waiting[DEAD_TIME_VALUES];
};

void dead_time_init(struct dead_time *d, int64_t dur_ns, double value);
void dead_time_put(struct dead_time *d, int64_t now_ns, double value);
/* When `value` changes next; INT64_MAX: never. */
int64_t dead_time_next_ns(const struct dead_time *d);
/* Applies all values that are due by now_ns. */
void dead_time_pass(struct dead_time *d, int64_t now_ns);

#endif
