/* SPDX-License-Identifier: Apache-2.0 */
/* The newest tuples: a ring. Thread: the owner's. */
#include "cache.h"

#include <errno.h>

#include "err.h"
#include "mem.h"

/* ---- tuples ---- */

void tuple_unref(struct tuple *t)
{
	for (uint32_t i = 0; i < TUPLE_MAX && t->m[i]; i++)
		msg_unref(t->m[i]);
	*t = (struct tuple){ 0 };
}

/* ---- the ring ---- */

int cache_init(struct cache *c, uint32_t size)
{
	*c = (struct cache){ 0 };
	if (!size || size > CACHE_MAX)
		return err_set(-EINVAL, "a queue of %u messages: 1 to %u are allowed", size, CACHE_MAX);
	c->at = mem_calloc(size, sizeof(*c->at));
	if (!c->at)
		return err_nomem();
	c->size = size;
	c->head = 1;
	return 0;
}

void cache_finish(struct cache *c)
{
	cache_clear(c);
	mem_free(c->at);
	*c = (struct cache){ 0 };
}

void cache_clear(struct cache *c)
{
	struct tuple t;

	while (cache_pop(c, &t))
		tuple_unref(&t);
}

uint32_t cache_count(const struct cache *c)
{
	return c->size ? (uint32_t)(c->tail + 1 - c->head) : 0;
}

static struct tuple *at(const struct cache *c, uint64_t number)
{
	return &c->at[number % c->size];
}

struct tuple cache_push(struct cache *c, struct tuple t)
{
	struct tuple old = { 0 };

	if (cache_count(c) == c->size)
		old = *at(c, c->head++);
	*at(c, ++c->tail) = t;
	return old;
}

bool cache_pop(struct cache *c, struct tuple *ret)
{
	if (!cache_count(c))
		return false;
	*ret = *at(c, c->head++);
	return true;
}

void cache_put(struct cache *c, struct tuple t)
{
	struct tuple old = cache_push(c, t);

	tuple_unref(&old);
}

const struct tuple *cache_newest(const struct cache *c, uint32_t i)
{
	return i < cache_count(c) ? at(c, c->tail - i) : NULL;
}
