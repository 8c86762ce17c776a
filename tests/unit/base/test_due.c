/* SPDX-License-Identifier: Apache-2.0 */
/* due.h: the earliest first, against a search through all. Thread: one. */
#include "tests/support/test.h"

#include "due.h"
#include "rnd.h"

#define ITEMS 64u

static struct due items[ITEMS];
static struct due_queue queue;

static struct due *first_by_search(void)
{
	struct due *best = NULL;

	for (unsigned i = 0; i < ITEMS; i++) {
		struct due *d = &items[i];

		if (d->queued &&
		    (!best || d->at_ns < best->at_ns || (d->at_ns == best->at_ns && d->order < best->order)))
			best = d;
	}
	return best;
}

TEST(the_earliest_item_is_first_after_any_changes)
{
	struct rnd rnd;

	rnd_seed(&rnd, test_seed(4));
	for (unsigned step = 0; step < 200000; step++) {
		struct due *d = &items[rnd_below(&rnd, ITEMS)];
		unsigned what = rnd_below(&rnd, 8);

		if (what < 4) /* also those that are in it: moved, to either side */
			due_add(&queue, d, (int64_t)rnd_below(&rnd, 50) - 25, (uint64_t)(d - items));
		else if (what < 6)
			due_remove(&queue, d);
		else if (queue.first)
			due_remove(&queue, queue.first);
		assert_ptr_equal(queue.first, first_by_search());
	}
	while (queue.first) {
		assert_ptr_equal(queue.first, first_by_search());
		due_remove(&queue, queue.first);
	}
	assert_null(first_by_search());
}
