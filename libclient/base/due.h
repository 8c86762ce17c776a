/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of deadlines, the earliest first: a pairing heap. Adding is O(1), removing O(log n) on average, and nothing
 * allocates: the links lie in the queued objects, which must not move meanwhile. Thread: none of its own; the owner's.
 */
#ifndef BASE_DUE_H
#define BASE_DUE_H

#include <stdbool.h>
#include <stdint.h>

struct due {
	int64_t at_ns;  /* by the owner's clock */
	uint64_t order; /* of equal times the smallest order comes first */
	bool queued;
	struct due *child, *next, *prev; /* private; prev is the parent for a first child, the left sibling otherwise */
};

struct due_queue {
	struct due *first; /* NULL: empty */
};

/* d is all zero, or was in this queue before; if it is queued, it is moved. */
void due_add(struct due_queue *q, struct due *d, int64_t at_ns, uint64_t order);
void due_remove(struct due_queue *q, struct due *d); /* no effect if it is not queued */

#endif
