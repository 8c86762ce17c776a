/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: counted messages. The body lies in a slot that an intake has taken, or on the heap; whoever holds a reference reads it.
 * The last reference gives it back by `release`, in whatever thread that is.
 */
#ifndef COMPONENT_MSG_H
#define COMPONENT_MSG_H

#include <stdatomic.h>
#include <stdbool.h>

#include <sim/slot.h>

struct msg {
	struct sim_message m; /* first: what users hold is its address */
	_Atomic uint32_t refs;
	bool shm; /* it has come through shared memory */
	void (*release)(struct msg *m);
};

static inline struct msg *msg_ref(struct msg *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}

/* One more, by who holds a reference that nobody else uses: a message that nobody has been shown yet needs no locked instruction. */
static inline struct msg *msg_ref_held(struct msg *m)
{
	/* acquire: others may have been through with it */
	if (atomic_load_explicit(&m->refs, memory_order_acquire) != 1)
		return msg_ref(m);
	atomic_store_explicit(&m->refs, 2, memory_order_relaxed);
	return m;
}

static inline void msg_unref(struct msg *m)
{
	if (!m)
		return;
	/* the last one is nobody else's to add to: often it is alone, and needs no locked instruction */
	if (atomic_load_explicit(&m->refs, memory_order_acquire) == 1 ||
	    atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1)
		m->release(m);
}

static inline struct msg *msg_of(const struct sim_message *m)
{
	return (struct msg *)(uintptr_t)m;
}

#endif
