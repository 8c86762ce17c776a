/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: reference-counted messages. The body lies in a slot that an intake has taken, or on the heap; it may be read
 * by every holder of a reference. The last reference frees the message by `release`, in whatever thread that happens.
 */
#ifndef COMPONENT_MSG_H
#define COMPONENT_MSG_H

#include <stdatomic.h>
#include <stdbool.h>

#include <sim/slot.h>

struct msg {
	struct sim_message m; /* first member: users hold its address */
	_Atomic uint32_t refs;
	bool shm; /* it came through shared memory */
	void (*release)(struct msg *m);
};

static inline struct msg *msg_ref(struct msg *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}

/*
 * Adds a reference; only for the caller's own reference, not used by another thread. A message that was not handed out
 * yet needs no locked instruction.
 */
static inline struct msg *msg_ref_held(struct msg *m)
{
	/* acquire: other threads may have released theirs before */
	if (atomic_load_explicit(&m->refs, memory_order_acquire) != 1)
		return msg_ref(m);
	atomic_store_explicit(&m->refs, 2, memory_order_relaxed);
	return m;
}

static inline void msg_unref(struct msg *m)
{
	if (!m)
		return;
	/* with one reference left no other thread can add one: that common case needs no locked instruction */
	if (atomic_load_explicit(&m->refs, memory_order_acquire) == 1 ||
	    atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1)
		m->release(m);
}

static inline struct msg *msg_of(const struct sim_message *m)
{
	return (struct msg *)(uintptr_t)m;
}

#endif
