/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "list.h"
#include "mem.h"

struct heap {
	_Atomic uint32_t refs;
	struct inbox returned;
	/* by the writer */
	struct heap_msg *free;
	uint32_t n;
};

struct heap *heap_create(void)
{
	struct heap *h = MEM_NEW(struct heap);

	if (h)
		atomic_init(&h->refs, 1);
	return h;
}

static void collect(struct heap *h)
{
	struct inbox_item *next, *i = inbox_take(&h->returned);

	for (; i; i = next) {
		struct heap_msg *m = container_of(i, struct heap_msg, back);

		next = i->next;
		m->next = h->free;
		h->free = m;
	}
}

static void message_free(struct heap *h, struct heap_msg *m)
{
	h->n--;
	free(m);
}

void heap_unref(struct heap *h)
{
	struct heap_msg *m;

	if (!h || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) != 1)
		return;
	collect(h);
	while ((m = h->free)) {
		h->free = m->next;
		message_free(h, m);
	}
	mem_free(h);
}

static void give_back(struct msg *msg)
{
	struct heap_msg *m = container_of(msg, struct heap_msg, msg);
	struct heap *h = m->heap;

	inbox_put(&h->returned, &m->back);
	heap_unref(h);
}

/* The first free one that is large enough. */
static struct heap_msg *take_free(struct heap *h, size_t body_size)
{
	for (struct heap_msg **at = &h->free; *at; at = &(*at)->next) {
		struct heap_msg *m = *at;

		if (m->capacity < body_size)
			continue;
		*at = m->next;
		return m;
	}
	return NULL;
}

static int message_new(struct heap *h, size_t body_size, struct heap_msg **ret)
{
	size_t capacity = (body_size + 63) & ~(size_t)63;
	struct heap_msg *m;

	if (h->free) { /* too small: one goes, so that their number and their size follow the messages */
		m = h->free;
		h->free = m->next;
		message_free(h, m);
	}
	if (h->n >= HEAP_MESSAGES_MAX)
		return err_set(-ENOBUFS, "%u messages of this writer are held; give some back", HEAP_MESSAGES_MAX);
	m = aligned_alloc(64, sizeof(*m) + capacity);
	if (!m)
		return err_nomem();
	memset(m, 0, sizeof(*m));
	m->heap = h;
	m->capacity = capacity;
	m->msg.release = give_back;
	h->n++;
	*ret = m;
	return 0;
}

int heap_loan(struct heap *h, size_t body_size, struct heap_msg **ret)
{
	struct heap_msg *m;
	int r = 0;

	if (!inbox_empty(&h->returned))
		collect(h);
	m = take_free(h, body_size);
	if (!m)
		r = message_new(h, body_size, &m);
	if (r < 0)
		return r;
	memset(&m->slot, 0, sizeof(m->slot));
	m->msg.shm = false;
	atomic_store_explicit(&m->msg.refs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
	*ret = m;
	return 0;
}

void heap_seal(struct heap_msg *m)
{
	m->msg.m.header = m->slot;
	m->msg.m.body = &m->slot + 1;
	m->msg.m.body_size = m->slot.body_size;
}
