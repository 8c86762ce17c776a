/* SPDX-License-Identifier: Apache-2.0 */
/* ipc_mem: the memory of one generation (a run of RouDi): arena, pools, chunks. Thread: any, with bus->lock held. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ipc_mem_int.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

/* ---- pools ---- */

static int pool_init(struct mem_pool *p, const struct ipc_mem_pool *o, char *base)
{
	p->size = o->size;
	p->stride = o->size + SLOT_OVERHEAD;
	p->base = base;
	p->total = p->min_free = o->count;
	p->chunks = calloc(o->count, sizeof(*p->chunks));
	if (!p->chunks)
		return -ENOMEM;
	for (uint32_t i = o->count; i-- > 0;) {
		p->chunks[i].pool = p;
		p->chunks[i].next_free = p->free;
		p->free = &p->chunks[i];
	}
	return 0;
}

void *mem_chunk_addr(const struct mem_chunk *c)
{
	return c->pool->base + (size_t)(c - c->pool->chunks) * c->pool->stride;
}

struct mem_chunk *mem_chunk_of(struct mem_gen *gen, const void *slot)
{
	for (uint32_t i = 0; i < gen->n_pools; i++) {
		struct mem_pool *p = &gen->pools[i];
		uintptr_t at = (uintptr_t)slot - (uintptr_t)p->base;

		if ((uintptr_t)slot >= (uintptr_t)p->base && at < p->stride * p->total)
			return &p->chunks[at / p->stride];
	}
	return NULL;
}

void mem_chunk_unref(struct mem_chunk *c)
{
	if (--c->refs)
		return;
	ASAN_POISON_MEMORY_REGION(mem_chunk_addr(c), c->pool->stride);
	c->next_free = c->pool->free;
	c->pool->free = c;
	c->pool->used--;
}

int mem_chunk_get(struct mem_gen *gen, size_t size, struct mem_chunk **ret)
{
	struct mem_pool *p = gen->pools;
	struct mem_chunk *c;

	while (p < gen->pools + gen->n_pools && (size > p->size || p->size - size < SLOT_OVERHEAD))
		p++;
	if (p == gen->pools + gen->n_pools)
		return -EMSGSIZE;
	c = p->free;
	if (!c)
		return -ENOMEM;
	p->free = c->next_free;
	p->used++;
	if (p->total - p->used < p->min_free)
		p->min_free = p->total - p->used;
	c->refs = 1;
	c->since = 0;
	ASAN_UNPOISON_MEMORY_REGION(mem_chunk_addr(c), size);
	*ret = c;
	return 0;
}

/* ---- a generation: one run of RouDi ---- */

void mem_attachment_free(struct mem_attachment *att)
{
	struct mem_port *next;

	for (struct mem_port *p = att->ports; p; p = next) {
		next = p->next_owned;
		free(p);
	}
	free(att);
}

void mem_bus_unref(struct ipc_mem_bus *bus)
{
	bool last = --bus->refs == 0;

	pthread_mutex_unlock(&bus->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&bus->lock);
	free(bus);
}

/* bus->lock held on entry, released on return. */
void mem_gen_unref(struct mem_gen *gen)
{
	struct ipc_mem_bus *bus = gen->bus;
	struct mem_attachment *next;

	if (--gen->refs) {
		pthread_mutex_unlock(&bus->lock);
		return;
	}
	for (struct mem_attachment *l = gen->attachments; l; l = next) {
		next = l->next;
		mem_attachment_free(l);
	}
	for (uint32_t i = 0; i < gen->n_pools; i++)
		free(gen->pools[i].chunks);
	if (gen->arena) {
		ASAN_UNPOISON_MEMORY_REGION(gen->arena, gen->arena_size);
		munmap(gen->arena, gen->arena_size);
	}
	free(gen);
	mem_bus_unref(bus);
}

static size_t arena_bytes(const struct ipc_mem_bus *bus)
{
	size_t n = 0;

	for (uint32_t i = 0; i < bus->n_pools; i++)
		n += (size_t)bus->pools[i].count * (bus->pools[i].size + SLOT_OVERHEAD);
	return n;
}

/* bus->lock held. */
int mem_gen_create(struct ipc_mem_bus *bus)
{
	struct mem_gen *gen = calloc(1, sizeof(*gen));
	char *at;
	int r = 0;

	if (!gen)
		return -ENOMEM;
	gen->bus = bus;
	gen->refs = 1;
	gen->arena_size = arena_bytes(bus);
	at = mmap(NULL, gen->arena_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED) {
		free(gen);
		return -ENOMEM;
	}
	gen->arena = at;
	for (uint32_t i = 0; i < bus->n_pools && r == 0; i++) {
		r = pool_init(&gen->pools[i], &bus->pools[i], at);
		at += gen->pools[i].stride * gen->pools[i].total;
		gen->n_pools++;
	}
	bus->refs++;
	if (r < 0) {
		mem_gen_unref(gen);
		pthread_mutex_lock(&bus->lock);
		return r;
	}
	bus->gen = gen;
	return 0;
}
