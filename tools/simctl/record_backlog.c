/* SPDX-License-Identifier: Apache-2.0 */
/* See record_backlog.h. */
#include "record_backlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "mem.h"

#define ALIGNMENT 64u /* of a copied body, as in a slot */

struct entry {
	struct backlog_item item; /* must be first: backlog_free() gets a pointer to it */
	struct list link;         /* backlog::all */
	struct list by_size;      /* backlog::large; a small message is linked to itself */
	size_t bytes;
	void *data; /* the copied body */
};

struct backlog {
	struct list all, large;
	size_t most, bytes, n;
	void (*lost)(void *owner, const struct sim_message *held);
};

size_t backlog_share(int64_t left)
{
	int64_t share = left / 4;

	if (share > (int64_t)BACKLOG_BYTES)
		return BACKLOG_BYTES;
	return share > (int64_t)BACKLOG_LEAST ? (size_t)share : BACKLOG_LEAST;
}

int backlog_create(size_t bytes, void (*lost)(void *owner, const struct sim_message *held), struct backlog **ret)
{
	struct backlog *b = MEM_NEW(struct backlog);

	if (!b)
		return -ENOMEM;
	list_init(&b->all);
	list_init(&b->large);
	b->most = bytes ? bytes : BACKLOG_BYTES;
	b->lost = lost;
	*ret = b;
	return 0;
}

static void unlink_entry(struct backlog *b, struct entry *e)
{
	list_remove(&e->link);
	list_remove(&e->by_size);
	b->bytes -= e->bytes;
	b->n--;
}

static void lose(struct backlog *b, struct entry *e)
{
	unlink_entry(b, e);
	b->lost(e->item.owner, e->item.held);
	backlog_free(&e->item);
}

/*
 * Drops messages until `bytes` fit. False: only small messages are left, and the new one is large. A message is always
 * accepted into an empty backlog.
 */
static bool make_room(struct backlog *b, size_t bytes, bool large)
{
	while (b->n && b->bytes + bytes > b->most) {
		if (!list_empty(&b->large))
			lose(b, list_first(&b->large, struct entry, by_size));
		else if (large)
			return false;
		else
			lose(b, list_first(&b->all, struct entry, link));
	}
	return true;
}

static struct entry *new_entry(const struct sim_message *m, bool held)
{
	struct entry *e = MEM_NEW(struct entry);

	if (!e)
		return NULL;
	e->item.m = *m;
	if (held) {
		e->item.held = m;
		return e;
	}
	e->data = mem_alloc(m->body_size + ALIGNMENT);
	if (!e->data) {
		mem_free(e);
		return NULL;
	}
	e->item.m.body = (void *)(((uintptr_t)e->data + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
	memcpy((void *)(uintptr_t)e->item.m.body, m->body, m->body_size);
	return e;
}

void backlog_put(struct backlog *b, void *owner, const struct sim_message *m, bool held,
		 const struct recording_moment *at)
{
	bool large = m->body_size >= BACKLOG_LARGE;
	size_t bytes = sizeof(struct entry) + m->body_size;
	struct entry *e = make_room(b, bytes, large) ? new_entry(m, held) : NULL;

	if (!e) {
		b->lost(owner, held ? m : NULL);
		return;
	}
	e->item.owner = owner;
	e->item.at = *at;
	e->bytes = bytes;
	list_init(&e->by_size);
	if (large)
		list_append(&b->large, &e->by_size);
	list_append(&b->all, &e->link);
	b->bytes += bytes;
	b->n++;
}

struct backlog_item *backlog_take(struct backlog *b)
{
	struct entry *e;

	if (!b->n)
		return NULL;
	e = list_first(&b->all, struct entry, link);
	unlink_entry(b, e);
	return &e->item;
}

void backlog_free(struct backlog_item *i)
{
	struct entry *e = (struct entry *)(void *)i;

	mem_free(e->data);
	mem_free(e);
}

void backlog_drop(struct backlog *b, const void *owner)
{
	struct entry *e, *tmp;

	list_for_each_safe(e, tmp, &b->all, link)
		if (e->item.owner == owner)
			lose(b, e);
}

size_t backlog_count(const struct backlog *b)
{
	return b->n;
}

void backlog_destroy(struct backlog *b)
{
	struct backlog_item *i;

	if (!b)
		return;
	while ((i = backlog_take(b)))
		backlog_free(i);
	mem_free(b);
}
