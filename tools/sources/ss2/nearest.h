/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choose the nearest of many items, in memory for as many as are wanted.
 *
 * Thread: any; nothing is shared. No allocations.
 */
#ifndef SOURCES_SS2_NEAREST_H
#define SOURCES_SS2_NEAREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nearest_one {
	double far; /* the distance, or a value that grows with it */
	uint32_t at;
};

struct nearest {
	struct nearest_one *one; /* memory for max items, owned by the caller */
	size_t n, max;
	bool many; /* more than max items were put: `one` is a heap with the farthest at its root */
};

void nearest_put(struct nearest *s, double far, uint32_t at);
/*
 * Call it after the last put. Items are then in the order of the puts, or, if more than max were put, in order of
 * distance. Items at equal distance are ordered by `at`.
 */
void nearest_end(struct nearest *s);

#endif
