/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: messages on the heap, laid out like slots, so that a writer fills both in the same way. They are reused: in
 * steady state nothing is allocated.
 *
 * Thread: loan and unloan by one at a time (the writer's thread); the last reference of a message may be released in
 * any.
 */
#ifndef COMPONENT_HEAP_H
#define COMPONENT_HEAP_H

#include <stddef.h>

#include "msg.h"

#define HEAP_MESSAGES_MAX 1024u /* of one writer at a time */

struct heap; /* freed when its last message has come back */

struct heap_msg {
	struct msg msg;
	struct heap_msg *next; /* heap::returned, then heap::free */
	struct heap *heap;
	size_t capacity;                                   /* bytes of a body */
	struct sim_slot slot __attribute__((aligned(64))); /* the body follows */
};

struct heap *heap_create(void); /* NULL: no memory */
/* Messages that are out are freed when they come back, in whatever thread that is. NULL is fine. */
void heap_destroy(struct heap *h);

/*
 * Loans a message with room for body_size bytes and one reference; its header is all zero. -ENOBUFS HEAP_MESSAGES_MAX
 * are out; -ENOMEM.
 */
int heap_loan(struct heap *h, size_t body_size, struct heap_msg **ret);
/* Call it when the slot is filled: readers see the header as it is now. */
void heap_seal(struct heap_msg *m);

#endif
