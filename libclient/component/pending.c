/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring, plus one place for the newest message when the ring is full. Each end has its own number, so neither waits
 * for the other. take() stores head before it looks at tail for the last time, put() loads head after it has stored
 * tail: so at least one of the two sees the other.
 */
#include "pending.h"

#include <errno.h>

#include "err.h"
#include "mem.h"

int pending_init(struct pending *p, uint32_t size)
{
	uint32_t room = 1;

	*p = (struct pending){ 0 };
	if (!size || size > PENDING_MAX)
		return err_set(-EINVAL, "a queue of %u messages: 1 to %u are allowed", size, PENDING_MAX);
	while (room < size)
		room *= 2;
	p->at = mem_calloc(room, sizeof(*p->at));
	if (!p->at)
		return err_nomem();
	p->size = size;
	p->mask = room - 1;
	return 0;
}

void pending_finish(struct pending *p)
{
	struct msg *m;

	while (p->at && (m = pending_take(p)))
		msg_unref(m);
	msg_unref(p->newest);
	mem_free(p->at);
	*p = (struct pending){ 0 };
}

static void put_over(struct pending *p, struct msg *m)
{
	p->n_over += p->newest != NULL;
	msg_unref(p->newest);
	p->newest = m;
	atomic_store(&p->over, true);
}

bool pending_put(struct pending *p, struct msg *m)
{
	uint64_t tail = atomic_load_explicit(&p->tail, memory_order_relaxed);

	if (p->newest || tail - atomic_load_explicit(&p->head, memory_order_acquire) == p->size) {
		put_over(p, m);
	} else {
		p->at[tail & p->mask] = m;
		atomic_store(&p->tail, tail + 1);
	}
	return atomic_load(&p->head) == tail;
}

/* Returns true if no message came meanwhile; the next put() then sees that all were taken. */
static bool none_left(struct pending *p, uint64_t head)
{
	atomic_store(&p->head, head);
	return atomic_load(&p->tail) == head;
}

struct msg *pending_take(struct pending *p)
{
	uint64_t head = atomic_load_explicit(&p->head, memory_order_relaxed);
	struct msg *m;

	if (atomic_load_explicit(&p->tail, memory_order_acquire) == head && none_left(p, head))
		return NULL;
	m = p->at[head & p->mask];
	atomic_store_explicit(&p->head, head + 1, memory_order_release);
	return m;
}

struct msg *pending_skip(struct pending *p, uint64_t *ret_skipped)
{
	struct msg *old, *m = p->newest;

	*ret_skipped = p->n_over;
	for (; m && (old = pending_take(p)); ++*ret_skipped)
		msg_unref(old);
	p->newest = NULL;
	p->n_over = 0;
	atomic_store(&p->over, false);
	return m;
}
