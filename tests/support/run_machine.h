/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much work the machine does for the tests: what the runner's limits count, and whether a processor has nothing to do.
 * From /proc/stat; without it wall time counts and nothing is idle. Thread: the runner's.
 */
#ifndef TEST_RUN_MACHINE_H
#define TEST_RUN_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

struct machine {
	int64_t looked_mono_ns;
	double slowness;           /* of a processor, against those on which the limits were set; 1 or more */
	uint64_t all, idle, steal; /* ticks of all processors since the machine started */
	bool has_idle;             /* a quarter of a processor or more since the look before */
};

void machine_init(struct machine *m);
/*
 * Looks again: ns of work since the last look. A second of wall time is less than one of work while more threads want to run than there
 * are processors, while a hypervisor takes them away, and on slow ones. Time in which the runner itself stood still does not count.
 */
int64_t machine_look(struct machine *m);
/* Whether the last look found an idle processor, once for each look. */
bool machine_take_idle(struct machine *m);

#endif
