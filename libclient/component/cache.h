/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: a ring of the newest `size` tuples of one to four messages. It is a reader's history and, by cache_push()
 * and cache_pop(), a queue for a single owner that takes each tuple once.
 *
 * Thread: any; the owner locks. cache_put() and cache_clear() release references under that lock; where release() must
 * not run there, use push and pop, which return the dropped tuple.
 */
#ifndef COMPONENT_CACHE_H
#define COMPONENT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "msg.h"

#define TUPLE_MAX 4u
#define CACHE_MAX 256u

struct tuple {
	struct msg *m[TUPLE_MAX]; /* referenced; NULL after the last one */
};

struct cache {
	struct tuple *at; /* `size` of them: number i lies at i % size */
	uint32_t size;    /* 1..CACHE_MAX */
	/* numbers of the oldest and of the newest tuple, from 1; head is tail + 1 if there is none */
	uint64_t head, tail;
};

int cache_init(struct cache *c, uint32_t size); /* -EINVAL, -ENOMEM, with a sentence; *c is then all zero */
void cache_finish(struct cache *c);             /* *c may be all zero */
void cache_clear(struct cache *c);              /* empty, as after cache_init() */

/* Takes the references. Drops the oldest tuple when full. */
void cache_put(struct cache *c, struct tuple t);

/* The i-th newest (0: the newest), borrowed; NULL if there are fewer. */
const struct tuple *cache_newest(const struct cache *c, uint32_t i);
uint32_t cache_count(const struct cache *c);

/* As cache_put(), but returns the dropped tuple with its references; all NULL if nothing was dropped. */
struct tuple cache_push(struct cache *c, struct tuple t);
/* Takes the oldest out, with its references. False: empty. */
bool cache_pop(struct cache *c, struct tuple *ret);

void tuple_unref(struct tuple *t); /* *t is all NULL afterwards */

#endif
