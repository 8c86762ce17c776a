/* SPDX-License-Identifier: Apache-2.0 */
/* The pairing heap of due.h. Thread: the owner's. */
#include "due.h"

#include <stddef.h>

static bool earlier(const struct due *a, const struct due *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static struct due *meld(struct due *a, struct due *b)
{
	struct due *t;

	if (!a || !b)
		return a ? a : b;
	if (earlier(b, a)) {
		t = a;
		a = b;
		b = t;
	}
	b->next = a->child;
	if (b->next)
		b->next->prev = b;
	b->prev = a;
	a->child = b;
	return a;
}

/* Pair the siblings from left to right, then meld the pairs from right to left. */
static struct due *meld_all(struct due *list)
{
	struct due *pairs = NULL, *root = NULL;

	while (list) {
		struct due *a = list, *b = a->next, *m;

		list = b ? b->next : NULL;
		a->next = a->prev = NULL;
		if (b)
			b->next = b->prev = NULL;
		m = meld(a, b);
		m->next = pairs;
		pairs = m;
	}
	while (pairs) {
		struct due *m = pairs;

		pairs = m->next;
		m->next = NULL;
		root = meld(root, m);
	}
	return root;
}

void due_add(struct due_queue *q, struct due *d, int64_t at_ns, uint64_t order)
{
	due_remove(q, d);
	d->at_ns = at_ns;
	d->order = order;
	d->queued = true;
	q->first = meld(q->first, d);
}

void due_remove(struct due_queue *q, struct due *d)
{
	struct due *sub;

	if (!d->queued)
		return;
	sub = meld_all(d->child);
	if (d == q->first) {
		q->first = sub;
	} else {
		if (d->prev->child == d)
			d->prev->child = d->next;
		else
			d->prev->next = d->next;
		if (d->next)
			d->next->prev = d->prev;
		q->first = meld(q->first, sub);
	}
	d->child = d->next = d->prev = NULL;
	d->queued = false;
}
