/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the newest `size` tuples of one to four messages: a reader's history; and, by cache_push() and cache_pop(), a queue for a
 * single owner who wants each once.
 *
 * Thread: none of its own; the owner locks. The calls that drop references do so under that lock: where release() may not run
 * there, push and pop hand out what falls.
 */
#ifndef COMPONENT_CACHE_H
#define COMPONENT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "msg.h"

#define TUPLE_MAX 4u
#define CACHE_MAX 256u

struct tuple {
	struct msg *m[TUPLE_MAX]; /* referenced; NULL behind the last */
};

struct cache {
	struct tuple *at;    /* size of them: number i lies at i % size */
	uint32_t size;       /* 1..CACHE_MAX */
	uint64_t head, tail; /* numbers of the oldest and of the newest, from 1; head is tail + 1 when there is none */
};

int cache_init(struct cache *c, uint32_t size); /* -EINVAL, -ENOMEM, with a sentence; *c is then all zero */
void cache_finish(struct cache *c);             /* all zero is fine */
void cache_clear(struct cache *c);              /* empty, as if never one had come */

/* Takes the references. The oldest is dropped when it is full. */
void cache_put(struct cache *c, struct tuple t);

/* The i-th newest (0: the newest), borrowed; NULL: there are fewer. */
const struct tuple *cache_newest(const struct cache *c, uint32_t i);
uint32_t cache_count(const struct cache *c);

/* As cache_put(); returns the oldest with its references where it was full, else all NULL. */
struct tuple cache_push(struct cache *c, struct tuple t);
/* Takes the oldest out, with its references. False: there is none. */
bool cache_pop(struct cache *c, struct tuple *ret);

void tuple_unref(struct tuple *t); /* it is all NULL then */

#endif
