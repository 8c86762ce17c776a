/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dead time: what is put in comes out later by a fixed time, exact to the nanosecond whatever the step, since each value
 * carries the moment at which it takes effect. One value a moment; when more wait than there is room for, the newest
 * replaces the one before it.
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
	double value; /* that holds now */
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
/* Let everything take effect that is due by then. */
void dead_time_pass(struct dead_time *d, int64_t now_ns);

#endif
