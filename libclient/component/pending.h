/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the messages that wait for a reader's callback, in order. When more come than there is room for, whoever takes goes on with the
 * newest, and those between are counted, as with Cyber's CacheBuffer.
 *
 * Thread: put and skip by one at a time (the owner locks); take by one at a time, without that lock, beside them.
 */
#ifndef COMPONENT_PENDING_H
#define COMPONENT_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "msg.h"

#define PENDING_MAX 256u

struct pending {
	struct msg **at; /* number i lies at i & mask */
	uint32_t size, mask;
	_Atomic uint64_t head; /* the next to be taken; by who takes */
	_Atomic uint64_t tail; /* where the next one goes; by who puts */
	/* of who puts */
	struct msg *newest; /* there was no room for it */
	uint64_t n_over;    /* those it displaced, which had no room either */
	_Atomic bool over;  /* there is a newest */
};

int pending_init(struct pending *p, uint32_t size); /* -EINVAL, -ENOMEM, with a sentence; *p is then all zero */
void pending_finish(struct pending *p);             /* all zero is fine */

/* Takes m. True: all before it had been taken, so whoever takes may be at rest. False: it has yet to find that there is none left. */
bool pending_put(struct pending *p, struct msg *m);

/* The oldest, with its reference; NULL: there is none left. Then, too, ask pending_overrun() before coming to rest. */
struct msg *pending_take(struct pending *p);
/* More have come than there is room for: pending_skip(). */
static inline bool pending_overrun(const struct pending *p)
{
	return atomic_load(&p->over);
}
/* By who takes, with the lock of who puts: the newest, with its reference; those before it are dropped. NULL: there was no overrun. */
struct msg *pending_skip(struct pending *p, uint64_t *ret_skipped);

#endif
