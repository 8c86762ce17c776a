/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "list.h"
#include "mem.h"

struct heap {
	_Atomic(struct heap_msg *) returned; /* a stack: any thread pushes a message, the writer takes all */
	/* after destroy: messages still out; negative while some came back before heap_destroy() added their number */
	_Atomic int64_t left;
	/* used by the writer's thread */
	struct heap_msg *free;
	uint32_t n;
};

static struct heap_msg closed; /* value of heap::returned after destroy; only its address is used */

struct heap *heap_create(void)
{
	return MEM_NEW(struct heap);
}

static uint32_t free_all(struct heap_msg *m)
{
	struct heap_msg *next;
	uint32_t n = 0;

	for (; m; m = next, n++) {
		next = m->next;
		free(m);
	}
	return n;
}

/* Returns true if no message is out any more and only the caller uses the heap. */
static bool count_out(struct heap *h, int64_t change)
{
	return atomic_fetch_add_explicit(&h->left, change, memory_order_acq_rel) + change == 0;
}

void heap_destroy(struct heap *h)
{
	if (!h)
		return;
	h->n -= free_all(h->free);
	h->n -= free_all(atomic_exchange_explicit(&h->returned, &closed, memory_order_acq_rel));
	if (count_out(h, h->n))
		mem_free(h);
}

static void give_back(struct msg *msg)
{
	struct heap_msg *m = container_of(msg, struct heap_msg, msg);
	struct heap *h = m->heap;
	struct heap_msg *newest = atomic_load_explicit(&h->returned, memory_order_relaxed);

	do {
		if (newest == &closed) {
			free(m);
			if (count_out(h, -1))
				mem_free(h);
			return;
		}
		m->next = newest;
	} while (!atomic_compare_exchange_weak_explicit(&h->returned, &newest, m, memory_order_release,
							memory_order_relaxed));
}

/* Appends the returned messages to the free list, which is usually empty. */
static void collect(struct heap *h)
{
	struct heap_msg **end = &h->free;

	while (*end)
		end = &(*end)->next;
	*end = atomic_exchange_explicit(&h->returned, NULL, memory_order_acquire);
}

/* Takes the first free message that is large enough. */
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

	if (h->free) { /* all are too small: free one, so that number and sizes follow the messages in use */
		m = h->free;
		h->free = m->next;
		h->n--;
		free(m);
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
	struct heap_msg *m = take_free(h, body_size);
	int r = 0;

	if (!m) {
		collect(h);
		m = take_free(h, body_size);
	}
	if (!m)
		r = message_new(h, body_size, &m);
	if (r < 0)
		return r;
	memset(&m->slot, 0, sizeof(m->slot));
	m->msg.shm = false;
	atomic_store_explicit(&m->msg.refs, 1, memory_order_relaxed);
	*ret = m;
	return 0;
}

void heap_seal(struct heap_msg *m)
{
	m->msg.m.header = m->slot;
	m->msg.m.body = &m->slot + 1;
	m->msg.m.body_size = m->slot.body_size;
}
