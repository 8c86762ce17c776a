/* SPDX-License-Identifier: Apache-2.0 */
/* See step_inbox.h. */
#include "step_inbox.h"

#include <errno.h>
#include <stdlib.h>

#define SEEN_MAX 8192u /* pairs of host and channel; a power of two */

struct seen {
	uint64_t host, channel, last; /* host 0: unused */
};

struct step_inbox {
	uint64_t settled;
	struct step_item *items;
	uint32_t n_items, size_items, taken; /* taken: of the items, the number already taken */
	bool sorted;
	struct step_need *needs;
	uint32_t n_needs, size_needs;
	uint32_t n_seen;
	struct seen seen[SEEN_MAX];
};

int step_inbox_create(struct step_inbox **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void step_inbox_destroy(struct step_inbox *x)
{
	if (!x)
		return;
	free(x->items);
	free(x->needs);
	free(x);
}

/* ---- last message received, per host and channel ---- */

static struct seen *seen_at(const struct step_inbox *x, uint64_t host, uint64_t channel)
{
	uint64_t i = (host ^ channel) * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	for (;; i++) {
		const struct seen *s = &x->seen[i % SEEN_MAX];

		if (!s->host || (s->host == host && s->channel == channel))
			return (struct seen *)(uintptr_t)s;
	}
}

static void mark(struct step_inbox *x, uint64_t host, uint64_t channel, uint64_t last)
{
	struct seen *s = seen_at(x, host, channel);

	if (!host || (!s->host && x->n_seen == SEEN_MAX / 2))
		return;
	x->n_seen += !s->host;
	s->host = host;
	s->channel = channel;
	s->last = last > s->last ? last : s->last;
}

/* ---- arrays ---- */

static void *grown(void *array, uint32_t n, uint32_t *size, uint32_t max, size_t of)
{
	uint32_t more = *size ? 2 * *size : 64;

	if (n < *size)
		return array;
	if (n >= max)
		return NULL;
	array = realloc(array, more * of); /* rare: the memory is kept */
	if (array)
		*size = more;
	return array;
}

static void drop_taken(struct step_inbox *x)
{
	if (!x->taken)
		return;
	memmove(x->items, x->items + x->taken, (x->n_items - x->taken) * sizeof(*x->items));
	x->n_items -= x->taken;
	x->taken = 0;
}

bool step_inbox_got(struct step_inbox *x, const struct step_item *item)
{
	struct step_item *items;

	mark(x, item->key.host, item->channel, item->key.sequence);
	if (item->step <= x->settled)
		return false;
	drop_taken(x);
	items = grown(x->items, x->n_items, &x->size_items, STEP_INBOX_ITEMS_MAX, sizeof(*items));
	if (!items)
		return false;
	x->items = items;
	x->items[x->n_items++] = *item;
	x->sorted = false;
	return true;
}

bool step_inbox_had(const struct step_inbox *x, const struct step_item *item)
{
	const struct seen *s = seen_at(x, item->key.host, item->channel);

	return item->step <= x->settled || (s->host && s->last >= item->key.sequence);
}

void step_inbox_need(struct step_inbox *x, const struct step_need *need)
{
	struct step_need *needs;

	if (need->step <= x->settled)
		return;
	needs = grown(x->needs, x->n_needs, &x->size_needs, STEP_INBOX_NEEDS_MAX, sizeof(*needs));
	if (!needs)
		return;
	x->needs = needs;
	x->needs[x->n_needs++] = *need;
}

bool step_inbox_missing(const struct step_inbox *x, uint64_t up_to, struct step_need *ret, bool *ret_ever)
{
	for (uint32_t i = 0; i < x->n_needs; i++) {
		const struct step_need *n = &x->needs[i];
		const struct seen *s = seen_at(x, n->host, n->channel);

		if (n->step > up_to || (s->host && s->last >= n->last) || (!s->host && x->n_seen == SEEN_MAX / 2))
			continue;
		*ret = *n;
		*ret_ever = s->host != 0;
		return true;
	}
	return false;
}

void step_inbox_give_up(struct step_inbox *x, const struct step_need *need)
{
	mark(x, need->host, need->channel, need->last);
}

/* ---- taking ---- */

static int by_order(const void *a, const void *b)
{
	const struct step_item *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return step_order(&x->key, &y->key);
}

void *step_inbox_take(struct step_inbox *x, uint64_t up_to)
{
	if (!x->sorted && x->n_items > 1)
		qsort(x->items, x->n_items, sizeof(*x->items), by_order);
	x->sorted = true;
	if (x->taken == x->n_items || x->items[x->taken].step > up_to)
		return NULL;
	return x->items[x->taken++].what;
}

void *step_inbox_take_of(struct step_inbox *x, const char *channel)
{
	drop_taken(x);
	for (uint32_t i = 0; i < x->n_items; i++) {
		void *what = x->items[i].what;

		if (strcmp(x->items[i].key.channel, channel) != 0)
			continue;
		memmove(&x->items[i], &x->items[i + 1], (x->n_items - i - 1) * sizeof(*x->items));
		x->n_items--;
		return what;
	}
	return NULL;
}

void step_inbox_settled(struct step_inbox *x, uint64_t up_to)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < x->n_needs; i++) {
		const struct step_need n = x->needs[i];

		if (n.step <= up_to)
			mark(x, n.host, n.channel, n.last); /* received or given up */
		else
			x->needs[kept++] = n;
	}
	x->n_needs = kept;
	x->settled = up_to > x->settled ? up_to : x->settled;
}

void step_inbox_begin(struct step_inbox *x, uint64_t settled)
{
	drop_taken(x);
	x->settled = settled;
	x->n_needs = x->n_seen = 0;
	memset(x->seen, 0, sizeof(x->seen));
	for (uint32_t i = 0; i < x->n_items; i++)
		mark(x, x->items[i].key.host, x->items[i].channel, x->items[i].key.sequence);
}
