/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of many, the so many that are nearest, in memory of that size.
 *
 * Thread: any; nothing is shared. No allocations.
 */
#ifndef SOURCES_SS2_NEAREST_H
#define SOURCES_SS2_NEAREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nearest_one {
	double far; /* the distance, or what grows with it */
	uint32_t at;
};

struct nearest {
	struct nearest_one *one; /* max of them, the caller's */
	size_t n, max;
	bool many; /* more than max have been put: the farthest is at the root of a heap */
};

void nearest_put(struct nearest *s, double far, uint32_t at);
/* No more is put: they are in the order in which they were, or, of more than max, in that of their distance. Equal ones go by `at`. */
void nearest_end(struct nearest *s);

#endif
