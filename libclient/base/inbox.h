/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes objects from any thread to one reader, in order, without a lock and without memory of its own: a stack of
 * links inside the objects, which the reader reverses. All zeros is an empty one.
 *
 * Thread: any puts; one at a time takes.
 */
#ifndef BASE_INBOX_H
#define BASE_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct inbox_item { /* embedded in the objects */
	struct inbox_item *next;
};

struct inbox {
	_Atomic(struct inbox_item *) newest;
};

/* Keeps the item until it is read. Returns true if it was empty: the reader may have to be woken. */
static inline bool inbox_put(struct inbox *b, struct inbox_item *item)
{
	struct inbox_item *newest = atomic_load_explicit(&b->newest, memory_order_relaxed);

	do
		item->next = newest;
	while (!atomic_compare_exchange_weak(&b->newest, &newest, item));
	return !newest;
}

static inline bool inbox_empty(struct inbox *b)
{
	return !atomic_load_explicit(&b->newest, memory_order_acquire);
}

/* Takes all items, oldest first, as a list. */
static inline struct inbox_item *inbox_take(struct inbox *b)
{
	struct inbox_item *newest = inbox_empty(b) ? NULL : atomic_exchange(&b->newest, NULL), *oldest = NULL;

	while (newest) {
		struct inbox_item *i = newest;

		newest = i->next;
		i->next = oldest;
		oldest = i;
	}
	return oldest;
}

#endif
