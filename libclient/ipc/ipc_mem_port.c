/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_mem: ports, deliveries, waiters. Deterministic: deliveries follow the order in which subscribers
 * were created. Thread: any; bus->lock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc_mem_int.h"
#include "thread.h"
#include "timeutil.h"

void mem_waiter_signal(struct mem_waiter *w, bool event)
{
	if (event)
		w->event = true;
	else
		w->woken = true;
	pthread_cond_signal(&w->cond);
}

static void unlock(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

/* Holds the lock of an attachment's bus until the function returns. */
#define LOCKED(att) \
	__attribute__((cleanup(unlock), unused)) pthread_mutex_t *lock_ = &(att)->gen->bus->lock; \
	pthread_mutex_lock(lock_)

/* ---- ports ---- */

static void port_open(struct mem_port *p, struct mem_attachment *att, const char *channel, bool is_pub)
{
	struct mem_port **at = is_pub ? &att->gen->pubs : &att->gen->subs;

	p->att = att;
	p->is_pub = is_pub;
	snprintf(p->channel, sizeof(p->channel), "%s", channel);
	p->next_owned = att->ports;
	att->ports = p;
	while (*at)
		at = &(*at)->next;
	*at = p;
	p->link = at;
	*(is_pub ? &att->gen->n_pubs : &att->gen->n_subs) += 1;
}

static void drain_queue(struct mem_sub *s)
{
	while (s->count) {
		mem_chunk_unref(s->queue[s->head]);
		s->head = (s->head + 1) % s->depth;
		s->count--;
	}
}

/* Removes the port from the bus: no more deliveries. Held slots and loans stay. */
static void port_unlink(struct mem_port *p)
{
	struct mem_gen *gen = p->att->gen;

	if (!p->link)
		return;
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	p->link = NULL;
	*(p->is_pub ? &gen->n_pubs : &gen->n_subs) -= 1;
	if (!p->is_pub)
		drain_queue((struct mem_sub *)p);
}

void mem_port_close(struct mem_port *p)
{
	struct mem_pub *pub = (struct mem_pub *)p;
	struct mem_sub *sub = (struct mem_sub *)p;

	port_unlink(p);
	if (!p->is_pub) {
		while (sub->n_held)
			mem_chunk_unref(sub->held[--sub->n_held]);
		return;
	}
	while (pub->n_loans)
		mem_chunk_unref(pub->loans[--pub->n_loans]);
	if (pub->kept)
		mem_chunk_unref(pub->kept);
	pub->kept = NULL;
}

static void port_free(struct mem_port *p)
{
	struct mem_port **at = &p->att->ports;

	while (*at != p)
		at = &(*at)->next_owned;
	*at = p->next_owned;
	free(p);
}

/* Drops the handle; if its process was killed, its port stays on the bus as it is. */
void mem_port_destroy(void *back)
{
	struct mem_port *p = back;
	LOCKED(p->att);

	if (p->att->killed)
		return;
	mem_port_close(p);
	port_free(p);
}

static void enqueue(struct mem_sub *s, struct mem_chunk *c)
{
	if (s->count == s->depth) {
		mem_chunk_unref(s->queue[s->head]);
		s->head = (s->head + 1) % s->depth;
		s->count--;
		s->lost = true;
	}
	s->queue[(s->head + s->count++) % s->depth] = c;
	c->refs++;
	if (s->waiter && !s->p.att->killed)
		mem_waiter_signal(s->waiter, true);
}

/* 0 if a port or waiter can be created now, else why not; bus->lock held. */
static int may_create(struct mem_attachment *att, struct ipc_text *why)
{
	struct ipc_mem_bus *bus = att->gen->bus;

	bus->requests++;
	if (att->gen == bus->gen && att->prompt && bus->starved) {
		snprintf(why->s, sizeof(why->s), "RouDi has no CPU to answer; try again in a moment");
		return -EAGAIN;
	}
	if (att->gen == bus->gen && !bus->stopped)
		return 0;
	snprintf(why->s, sizeof(why->s), "%s",
		 att->gen != bus->gen ? "RouDi of this attachment has exited; attach again"
				      : "RouDi does not answer; it may be stopped or stuck, simd restarts it");
	return att->gen != bus->gen ? -ESTALE : -ETIMEDOUT;
}

/* Creates a port of `size` bytes: struct mem_pub or mem_sub; bus->lock held. */
static int port_create(struct mem_attachment *att, size_t size, const char *channel, bool is_pub, struct ipc_text *why,
		       struct mem_port **ret)
{
	const struct ipc_mem_bus *bus = att->gen->bus;
	uint32_t n = is_pub ? att->gen->n_pubs : att->gen->n_subs;
	uint32_t max = is_pub ? bus->max_publishers : bus->max_subscribers;
	struct mem_port *p;
	int r = may_create(att, why);

	if (r < 0)
		return r;
	if (n >= max) {
		snprintf(why->s, sizeof(why->s), "channel %s: all %u %s ports of the data plane are in use", channel,
			 max, is_pub ? "publisher" : "subscriber");
		return -EMFILE;
	}
	p = calloc(1, size);
	if (!p)
		return -ENOMEM;
	port_open(p, att, channel, is_pub);
	*ret = p;
	return 0;
}

int mem_pub_create(void *back, const char *channel, uint32_t history, struct ipc_text *why, void **ret)
{
	struct mem_attachment *att = back;
	LOCKED(att);
	struct mem_port *p;
	int r = port_create(att, sizeof(struct mem_pub), channel, true, why, &p);

	if (r < 0)
		return r;
	((struct mem_pub *)p)->history = history;
	((struct mem_pub *)p)->origin = ++att->gen->origins;
	*ret = p;
	return 0;
}

/* Delivers the kept messages of all publishers of the channel to a new subscriber. */
static void deliver_history(struct mem_sub *s)
{
	for (struct mem_port *p = s->p.att->gen->pubs; p; p = p->next) {
		struct mem_pub *pub = (struct mem_pub *)p;

		if (pub->kept && strcmp(p->channel, s->p.channel) == 0)
			enqueue(s, pub->kept);
	}
}

int mem_sub_create(void *back, const char *channel, uint32_t depth, bool history, struct ipc_text *why, void **ret)
{
	struct mem_attachment *att = back;
	LOCKED(att);
	struct mem_sub *sub;
	struct mem_port *p;
	int r = port_create(att, sizeof(*sub), channel, false, why, &p);

	if (r < 0)
		return r;
	sub = (struct mem_sub *)p;
	sub->depth = depth;
	if (history)
		deliver_history(sub);
	*ret = sub;
	return 0;
}

void mem_sub_close(void *back)
{
	struct mem_sub *sub = back;
	LOCKED(sub->p.att);

	if (!sub->p.att->killed)
		port_unlink(&sub->p);
}

/* ---- the data path ---- */

int mem_loan(void *back, size_t size, void **ret)
{
	struct mem_pub *pub = back;
	LOCKED(pub->p.att);
	struct mem_chunk *c;
	int r = mem_chunk_get(pub->p.att->gen, size, &c);

	if (r < 0)
		return r;
	c->origin = pub->origin;
	pub->loans[pub->n_loans++] = c;
	*ret = mem_chunk_addr(c);
	return 0;
}

static struct mem_chunk *unlist(struct mem_chunk **list, uint32_t *n, const struct mem_chunk *c)
{
	for (uint32_t i = *n; i-- > 0;) {
		if (list[i] != c)
			continue;
		list[i] = list[--*n];
		return (struct mem_chunk *)(uintptr_t)c;
	}
	return NULL;
}

int mem_unloan(void *back, void *slot)
{
	struct mem_pub *pub = back;
	LOCKED(pub->p.att);
	struct mem_chunk *c = unlist(pub->loans, &pub->n_loans, mem_chunk_of(pub->p.att->gen, slot));

	if (c && !pub->p.att->killed)
		mem_chunk_unref(c);
	return c ? 0 : -EINVAL;
}

int mem_publish(void *back, void *slot)
{
	struct mem_pub *pub = back;
	LOCKED(pub->p.att);
	struct mem_chunk *c = unlist(pub->loans, &pub->n_loans, mem_chunk_of(pub->p.att->gen, slot)), *done = c;

	if (!c)
		return -EINVAL;
	for (struct mem_port *p = pub->p.att->gen->subs; p; p = p->next)
		if (strcmp(p->channel, pub->p.channel) == 0)
			enqueue((struct mem_sub *)p, c);
	if (pub->history) {
		done = pub->kept;
		pub->kept = c;
	}
	if (done)
		mem_chunk_unref(done);
	return 0;
}

bool mem_has_subscribers(const void *back)
{
	const struct mem_pub *pub = back;
	LOCKED(pub->p.att);
	struct mem_port *p = pub->p.att->gen->subs;

	while (p && strcmp(p->channel, pub->p.channel) != 0)
		p = p->next;
	return p != NULL;
}

int mem_take(void *back, const void **ret, size_t *ret_size)
{
	struct mem_sub *s = back;
	LOCKED(s->p.att);
	struct mem_chunk *c = s->queue[s->head];

	if (!s->count)
		return -EAGAIN;
	s->head = (s->head + 1) % s->depth;
	s->count--;
	s->held[s->n_held++] = c;
	*ret = mem_chunk_addr(c);
	*ret_size = c->pool->size;
	return 0;
}

uint64_t mem_slot_origin(const void *back, const void *slot)
{
	const struct mem_sub *s = back;
	LOCKED(s->p.att);
	const struct mem_chunk *c = mem_chunk_of(s->p.att->gen, slot);

	return c ? c->origin : 0;
}

int mem_release(void *back, const void *slot)
{
	struct mem_sub *s = back;
	LOCKED(s->p.att);
	struct mem_chunk *c = s->p.att->killed ? NULL : unlist(s->held, &s->n_held, mem_chunk_of(s->p.att->gen, slot));

	if (!c)
		return -EINVAL;
	mem_chunk_unref(c);
	return 0;
}

bool mem_lost(void *back)
{
	struct mem_sub *s = back;
	LOCKED(s->p.att);
	bool yes = s->lost;

	s->lost = false;
	return yes;
}

bool mem_connected(const void *back)
{
	(void)back;
	return true;
}

bool mem_has_data(const void *back)
{
	const struct mem_sub *s = back;
	LOCKED(s->p.att);

	return s->count > 0;
}

/* ---- waiters ---- */

int mem_waiter_create(void *back, struct ipc_text *why, void **ret)
{
	struct mem_attachment *att = back;
	LOCKED(att);
	struct mem_waiter *w;
	int r = may_create(att, why);

	if (r < 0)
		return r;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	thread_cond_init(&w->cond);
	w->att = att;
	w->next = att->waiters;
	att->waiters = w;
	*ret = w;
	return 0;
}

static void forget_waiter(struct mem_attachment *att, const struct mem_waiter *w)
{
	struct mem_waiter **at = &att->waiters;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	for (struct mem_port *p = att->ports; p; p = p->next_owned)
		if (!p->is_pub && ((struct mem_sub *)p)->waiter == w)
			((struct mem_sub *)p)->waiter = NULL;
}

void mem_waiter_destroy(void *back)
{
	struct mem_waiter *w = back;
	struct ipc_mem_bus *bus = w->att->gen->bus;

	pthread_mutex_lock(&bus->lock);
	forget_waiter(w->att, w);
	pthread_mutex_unlock(&bus->lock);
	pthread_cond_destroy(&w->cond);
	free(w);
}

int mem_waiter_add(void *back, void *sub)
{
	struct mem_waiter *w = back;
	LOCKED(w->att);

	((struct mem_sub *)sub)->waiter = w;
	return 0;
}

void mem_waiter_del(void *back, void *sub)
{
	LOCKED(((struct mem_waiter *)back)->att);

	((struct mem_sub *)sub)->waiter = NULL;
}

int mem_waiter_wait(void *back, int64_t timeout_dur_ns)
{
	struct mem_waiter *w = back;
	LOCKED(w->att);
	struct timespec until = timespec_from_ns(ns_add(mono_now_ns(), timeout_dur_ns));
	int r = 0;

	if (w->att->gen->bus->virtual_time)
		timeout_dur_ns = 0;
	while (!w->event && !w->woken && timeout_dur_ns != 0 && r == 0)
		r = timeout_dur_ns < 0 ? pthread_cond_wait(&w->cond, lock_)
				       : pthread_cond_timedwait(&w->cond, lock_, &until);
	r = w->event;
	w->event = w->woken = false;
	return r;
}

void mem_waiter_wake(void *back)
{
	struct mem_waiter *w = back;
	LOCKED(w->att);

	mem_waiter_signal(w, false);
}
