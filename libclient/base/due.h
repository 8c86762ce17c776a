/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is due, the earliest first: a pairing heap. To add is O(1), to remove O(log n) on average, and nothing allocates: the links
 * lie in what is due, which must not move meanwhile. Thread: none of its own; the owner's.
 */
#ifndef BASE_DUE_H
#define BASE_DUE_H

#include <stdbool.h>
#include <stdint.h>

struct due {
	int64_t at_ns;  /* by the clock of the owner */
	uint64_t order; /* of those that are due at one time the smallest comes first */
	bool queued;
	struct due *child, *next, *prev; /* private; prev is the parent for a first child, the left sibling otherwise */
};

struct due_queue {
	struct due *first; /* NULL: empty */
};

/* d is all zero, or was in this queue before; where it is in it, it is moved. */
void due_add(struct due_queue *q, struct due *d, int64_t at_ns, uint64_t order);
void due_remove(struct due_queue *q, struct due *d); /* harmless if it is not in it */

#endif
