/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the newest `size` tuples of one to four messages, by number, as Cyber's CacheBuffer: who reads keeps the number of
 * what it wants next, and goes on with the newest when that has been overwritten.
 *
 * Thread: none of its own; the owner locks.
 */
#ifndef COMPONENT_CACHE_H
#define COMPONENT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "msg.h"

#define TUPLE_MAX 4u

struct tuple {
	struct msg *m[TUPLE_MAX]; /* referenced; NULL behind the last */
};

struct cache {
	struct tuple *at;    /* size of them: number i lies at i % size */
	uint32_t size;       /* 1..256 */
	uint64_t head, tail; /* numbers of the oldest and of the newest; tail 0: never one */
};

int cache_init(struct cache *c, uint32_t size); /* -EINVAL, -ENOMEM */
void cache_finish(struct cache *c);             /* all zero is fine */
void cache_clear(struct cache *c);              /* empty, as if never one had come */

/* Takes the references. The oldest is dropped when it is full. */
void cache_put(struct cache *c, struct tuple t);

/*
 * Read number *next (0: the newest there is) and step on. Returns a tuple whose references the caller gives back.
 * True: *ret, and *next is the number behind it; *ret_skipped (may be NULL) how many were overwritten before they were read.
 * False: there is none yet; *next stays.
 */
bool cache_read(struct cache *c, uint64_t *next, struct tuple *ret, uint64_t *ret_skipped);

/* The i-th newest (0: the newest), borrowed; NULL: there are fewer. */
const struct tuple *cache_newest(const struct cache *c, uint32_t i);
uint32_t cache_count(const struct cache *c);

void tuple_unref(struct tuple *t);

#endif
