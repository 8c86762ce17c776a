/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_mem: lost slots. This backend knows which process has a slot, so it detects a caller that frees one too early.
 * Thread: any; bus->lock.
 */
#include <stdio.h>
#include <string.h>

#include "ipc_mem_int.h"

int mem_scan_open(void *back, void *pub, const void *slot, struct ipc_text *why)
{
	(void)back;
	(void)pub;
	(void)slot;
	(void)why;
	return 0;
}

uint64_t mem_origin(const void *pub)
{
	return ((const struct mem_pub *)pub)->origin;
}

int ipc_mem_lose(struct ipc_pub *pub, size_t size, enum ipc_mem_loss how)
{
	struct mem_pub *p = pub->h.back;
	struct mem_gen *gen = p->p.att->gen;
	struct mem_chunk *c;
	int r;

	pthread_mutex_lock(&gen->bus->lock);
	r = mem_chunk_get(gen, size, &c);
	if (r == 0)
		c->origin = how == IPC_MEM_LOSS_ORIGIN ? p->origin : 0;
	pthread_mutex_unlock(&gen->bus->lock);
	return r;
}

uint32_t ipc_mem_wrongly_freed(struct ipc_mem_bus *bus)
{
	uint32_t n;

	pthread_mutex_lock(&bus->lock);
	n = bus->gen ? bus->gen->wrong : 0;
	pthread_mutex_unlock(&bus->lock);
	return n;
}

/* ---- scanning; bus->lock held ---- */

static bool among(struct mem_chunk *const *v, uint32_t n, const struct mem_chunk *c)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i] == c)
			return true;
	return false;
}

static bool port_has(const struct mem_port *p, const struct mem_chunk *c)
{
	const struct mem_pub *pub = (const struct mem_pub *)p;
	const struct mem_sub *sub = (const struct mem_sub *)p;

	if (p->is_pub)
		return pub->kept == c || among(pub->loans, pub->n_loans, c);
	for (uint32_t i = 0; i < sub->count; i++)
		if (sub->queue[(sub->head + i) % sub->depth] == c)
			return true;
	return among(sub->held, sub->n_held, c);
}

static bool somebody_has(const struct mem_gen *gen, const struct mem_chunk *c)
{
	for (const struct mem_attachment *a = gen->attachments; a; a = a->next)
		for (const struct mem_port *p = a->ports; p; p = p->next_owned)
			if (port_has(p, c))
				return true;
	return false;
}

static bool listed(const uint64_t *v, uint32_t n, uint64_t origin)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i] == origin)
			return true;
	return false;
}

static void free_lost(struct mem_gen *gen, struct mem_chunk *c, struct ipc_scan *ret)
{
	if (somebody_has(gen, c)) {
		gen->wrong++;
		return;
	}
	c->since = 0;
	c->refs = 1;
	mem_chunk_unref(c);
	ret->freed++;
}

static void scan_chunk(struct mem_gen *gen, struct mem_chunk *c, const struct ipc_scan_order *o, struct ipc_scan *ret)
{
	bool held;

	if (!c->refs)
		return;
	if (c->origin && listed(o->dead, o->n_dead, c->origin)) {
		free_lost(gen, c, ret);
		return;
	}
	held = somebody_has(gen, c);
	if (c->origin && (listed(o->own, o->n_own, c->origin) || (!o->alone && (!o->marks || held)))) {
		if (o->marks || held)
			c->since = 0;
		return;
	}
	c->since = c->since ? c->since : gen->scans;
	if (c->since <= o->settled) {
		free_lost(gen, c, ret);
		return;
	}
	ret->suspects++;
	ret->oldest = ret->oldest && ret->oldest < c->since ? ret->oldest : c->since;
}

void mem_scan(void *back, const struct ipc_scan_order *o, struct ipc_scan *ret)
{
	struct mem_gen *gen = ((struct mem_attachment *)back)->gen;

	pthread_mutex_lock(&gen->bus->lock);
	*ret = (struct ipc_scan){ .number = ++gen->scans };
	for (uint32_t k = 0; k < gen->n_pools; k++) {
		for (uint32_t i = 0; i < gen->pools[k].total; i++)
			scan_chunk(gen, &gen->pools[k].chunks[i], o, ret);
		ret->used += gen->pools[k].used;
	}
	pthread_mutex_unlock(&gen->bus->lock);
}

int mem_peers(void *back, struct ipc_peer *ret, unsigned int max)
{
	struct mem_gen *gen = ((struct mem_attachment *)back)->gen;
	unsigned int n = 0;

	pthread_mutex_lock(&gen->bus->lock);
	for (const struct mem_attachment *a = gen->attachments; a; a = a->next) {
		if (a->reaped)
			continue;
		if (n < max) {
			snprintf(ret[n].name, sizeof(ret[n].name), "%s", a->name);
			ret[n].dead = a->killed;
		}
		n++;
	}
	pthread_mutex_unlock(&gen->bus->lock);
	return (int)n;
}
