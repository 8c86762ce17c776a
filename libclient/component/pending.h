/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the messages that wait for a reader's callback, in order. When more come than there is room for, the
 * consumer continues with the newest, and the skipped ones are counted, as with Cyber's CacheBuffer.
 *
 * Thread: put and skip by one at a time (the owner locks); take by one at a time, without that lock, concurrently with
 * them.
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
	_Atomic uint64_t head; /* the next to be taken; written by take */
	_Atomic uint64_t tail; /* where the next one goes; written by put */
	/* guarded by put's lock: */
	struct msg *newest; /* set by put: the message for which there was no room */
	uint64_t n_over;    /* messages that newest has displaced */
	_Atomic bool over;  /* newest is set */
};

int pending_init(struct pending *p, uint32_t size); /* -EINVAL, -ENOMEM, with a sentence; *p is then all zero */
void pending_finish(struct pending *p);             /* *p may be all zero */

/*
 * Takes m. True: all messages before it had been taken, so the consumer may be idle and must be woken. False: the
 * consumer has yet to see that it is empty.
 */
bool pending_put(struct pending *p, struct msg *m);

/* The oldest, with its reference; NULL: empty. Then check pending_overrun() as well before going idle. */
struct msg *pending_take(struct pending *p);
/* More messages came than there is room for: call pending_skip(). */
static inline bool pending_overrun(const struct pending *p)
{
	return atomic_load(&p->over);
}
/*
 * Called by the consumer with put's lock held: returns the newest, with its reference, and drops those before it. NULL:
 * there was no overrun.
 */
struct msg *pending_skip(struct pending *p, uint64_t *ret_skipped);

#endif
