/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: messages on the heap, laid out as slots, so that a writer fills one without knowing where it lies. They are used again and
 * again: in steady state nothing is allocated.
 *
 * Thread: loan and unloan by one at a time (the writer's); the last reference of a message may fall in any.
 */
#ifndef COMPONENT_HEAP_H
#define COMPONENT_HEAP_H

#include <stddef.h>

#include "msg.h"

#define HEAP_MESSAGES_MAX 1024u /* of one writer at a time */

struct heap; /* lives on until its last message is back */

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

/* One with room for body_size bytes and one reference; its header is all zero. -ENOBUFS HEAP_MESSAGES_MAX are out; -ENOMEM. */
int heap_loan(struct heap *h, size_t body_size, struct heap_msg **ret);
/* The slot is filled: what readers see is the header as it is now. */
void heap_seal(struct heap_msg *m);

#endif
