/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_mem: ports, deliveries, waiters. Deterministic: deliveries follow the order in which subscribers
 * were created. Thread: any; bus->lock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ipc_mem_int.h"
#include "thread.h"

void mem_waiter_signal(struct mem_waiter *w, bool event)
{
	if (event)
		w->event = true;
	else
		w->woken = true;
	pthread_cond_signal(&w->cond);
}

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

/* Off the bus: no more deliveries. Held slots and loans stay. */
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

/* A handle of a killed process is dropped: its port stays on the bus as it is. */
void mem_port_destroy(void *back)
{
	struct mem_port *p = back;
	struct ipc_mem_bus *bus = p->att->gen->bus;

	pthread_mutex_lock(&bus->lock);
	if (!p->att->killed) {
		mem_port_close(p);
		port_free(p);
	}
	pthread_mutex_unlock(&bus->lock);
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

/* Whether a port can be made now; bus->lock held. */
static int may_create(struct mem_attachment *att, struct ipc_text *why)
{
	const char *what = NULL;
	int r = 0;

	att->gen->bus->requests++;
	if (att->gen != att->gen->bus->gen) {
		what = "RouDi of this attachment is gone; attach again";
		r = -ESTALE;
	} else if (att->gen->bus->stopped) {
		what = "RouDi does not answer; it may be stopped or stuck, simd restarts it";
		r = -ETIMEDOUT;
	}
	if (what)
		snprintf(why->s, sizeof(why->s), "%s", what);
	return r;
}

int mem_pub_create(void *back, const char *channel, uint32_t history, struct ipc_text *why, void **ret)
{
	struct mem_attachment *att = back;
	struct ipc_mem_bus *bus = att->gen->bus;
	struct mem_pub *pub = calloc(1, sizeof(*pub));
	int r = pub ? 0 : -ENOMEM;

	pthread_mutex_lock(&bus->lock);
	if (r == 0)
		r = may_create(att, why);
	if (r == 0 && att->gen->n_pubs >= bus->max_publishers) {
		snprintf(why->s, sizeof(why->s), "channel %s: all %u publisher ports of the data plane are in use",
			 channel, bus->max_publishers);
		r = -EMFILE;
	}
	if (r == 0) {
		pub->history = history;
		port_open(&pub->p, att, channel, true);
		*ret = pub;
	} else {
		free(pub);
	}
	pthread_mutex_unlock(&bus->lock);
	return r;
}

/* The kept messages of all publishers of the channel, for one that comes later. */
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
	struct ipc_mem_bus *bus = att->gen->bus;
	struct mem_sub *sub = calloc(1, sizeof(*sub));
	int r = sub ? 0 : -ENOMEM;

	pthread_mutex_lock(&bus->lock);
	if (r == 0)
		r = may_create(att, why);
	if (r == 0 && att->gen->n_subs >= bus->max_subscribers) {
		snprintf(why->s, sizeof(why->s), "channel %s: all %u subscriber ports of the data plane are in use",
			 channel, bus->max_subscribers);
		r = -EMFILE;
	}
	if (r == 0) {
		sub->depth = depth;
		port_open(&sub->p, att, channel, false);
		if (history)
			deliver_history(sub);
		*ret = sub;
	} else {
		free(sub);
	}
	pthread_mutex_unlock(&bus->lock);
	return r;
}

void mem_sub_close(void *back)
{
	struct mem_sub *sub = back;
	struct ipc_mem_bus *bus = sub->p.att->gen->bus;

	pthread_mutex_lock(&bus->lock);
	if (!sub->p.att->killed)
		port_unlink(&sub->p);
	pthread_mutex_unlock(&bus->lock);
}

/* ---- the data path ---- */

int mem_loan(void *back, size_t size, void **ret)
{
	struct mem_pub *pub = back;
	struct ipc_mem_bus *bus = pub->p.att->gen->bus;
	struct mem_chunk *c;
	int r;

	pthread_mutex_lock(&bus->lock);
	r = mem_chunk_get(pub->p.att->gen, size, &c);
	if (r == 0) {
		pub->loans[pub->n_loans++] = c;
		*ret = mem_chunk_addr(c);
	}
	pthread_mutex_unlock(&bus->lock);
	return r;
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
	struct ipc_mem_bus *bus = pub->p.att->gen->bus;
	struct mem_chunk *c;

	pthread_mutex_lock(&bus->lock);
	c = unlist(pub->loans, &pub->n_loans, mem_chunk_of(pub->p.att->gen, slot));
	if (c && !pub->p.att->killed)
		mem_chunk_unref(c);
	pthread_mutex_unlock(&bus->lock);
	return c ? 0 : -EINVAL;
}

int mem_publish(void *back, void *slot)
{
	struct mem_pub *pub = back;
	struct ipc_mem_bus *bus = pub->p.att->gen->bus;
	struct mem_chunk *c;

	pthread_mutex_lock(&bus->lock);
	c = unlist(pub->loans, &pub->n_loans, mem_chunk_of(pub->p.att->gen, slot));
	for (struct mem_port *p = c ? pub->p.att->gen->subs : NULL; p; p = p->next)
		if (strcmp(p->channel, pub->p.channel) == 0)
			enqueue((struct mem_sub *)p, c);
	if (c && pub->history) {
		if (pub->kept)
			mem_chunk_unref(pub->kept);
		pub->kept = c;
	} else if (c) {
		mem_chunk_unref(c);
	}
	pthread_mutex_unlock(&bus->lock);
	return c ? 0 : -EINVAL;
}

bool mem_has_subscribers(const void *back)
{
	const struct mem_pub *pub = back;
	struct ipc_mem_bus *bus = pub->p.att->gen->bus;
	struct mem_port *p;

	pthread_mutex_lock(&bus->lock);
	for (p = pub->p.att->gen->subs; p && strcmp(p->channel, pub->p.channel) != 0; p = p->next)
		;
	pthread_mutex_unlock(&bus->lock);
	return p != NULL;
}

int mem_take(void *back, const void **ret)
{
	struct mem_sub *s = back;
	struct ipc_mem_bus *bus = s->p.att->gen->bus;
	int r = -EAGAIN;

	pthread_mutex_lock(&bus->lock);
	if (s->count) {
		struct mem_chunk *c = s->queue[s->head];

		s->head = (s->head + 1) % s->depth;
		s->count--;
		s->held[s->n_held++] = c;
		*ret = mem_chunk_addr(c);
		r = 0;
	}
	pthread_mutex_unlock(&bus->lock);
	return r;
}

int mem_release(void *back, const void *slot)
{
	struct mem_sub *s = back;
	struct ipc_mem_bus *bus = s->p.att->gen->bus;
	struct mem_chunk *c = NULL;

	pthread_mutex_lock(&bus->lock);
	if (!s->p.att->killed) {
		c = unlist(s->held, &s->n_held, mem_chunk_of(s->p.att->gen, slot));
		if (c)
			mem_chunk_unref(c);
	}
	pthread_mutex_unlock(&bus->lock);
	return c ? 0 : -EINVAL;
}

bool mem_lost(void *back)
{
	struct mem_sub *s = back;
	struct ipc_mem_bus *bus = s->p.att->gen->bus;
	bool yes;

	pthread_mutex_lock(&bus->lock);
	yes = s->lost;
	s->lost = false;
	pthread_mutex_unlock(&bus->lock);
	return yes;
}

bool mem_has_data(const void *back)
{
	const struct mem_sub *s = back;
	struct ipc_mem_bus *bus = s->p.att->gen->bus;
	bool yes;

	pthread_mutex_lock(&bus->lock);
	yes = s->count > 0;
	pthread_mutex_unlock(&bus->lock);
	return yes;
}

/* ---- waiters ---- */

int mem_waiter_create(void *back, struct ipc_text *why, void **ret)
{
	struct mem_attachment *att = back;
	struct ipc_mem_bus *bus = att->gen->bus;
	struct mem_waiter *w = calloc(1, sizeof(*w));
	int r = w ? 0 : -ENOMEM;

	pthread_mutex_lock(&bus->lock);
	if (r == 0)
		r = may_create(att, why);
	if (r == 0) {
		thread_cond_init(&w->cond);
		w->att = att;
		w->next = att->waiters;
		att->waiters = w;
		*ret = w;
	} else {
		free(w);
	}
	pthread_mutex_unlock(&bus->lock);
	return r;
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
	struct ipc_mem_bus *bus = w->att->gen->bus;

	pthread_mutex_lock(&bus->lock);
	((struct mem_sub *)sub)->waiter = w;
	pthread_mutex_unlock(&bus->lock);
	return 0;
}

void mem_waiter_del(void *back, void *sub)
{
	struct mem_waiter *w = back;
	struct ipc_mem_bus *bus = w->att->gen->bus;

	pthread_mutex_lock(&bus->lock);
	((struct mem_sub *)sub)->waiter = NULL;
	pthread_mutex_unlock(&bus->lock);
}

static struct timespec deadline_after(int64_t dur_ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += dur_ns / 1000000000;
	t.tv_nsec += dur_ns % 1000000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

int mem_waiter_wait(void *back, int64_t timeout_dur_ns)
{
	struct mem_waiter *w = back;
	struct ipc_mem_bus *bus = w->att->gen->bus;
	struct timespec until;
	int r = 0;

	pthread_mutex_lock(&bus->lock);
	if (bus->virtual_time)
		timeout_dur_ns = 0;
	if (timeout_dur_ns > 0)
		until = deadline_after(timeout_dur_ns);
	while (!w->event && !w->woken && timeout_dur_ns != 0 && r == 0)
		r = timeout_dur_ns < 0 ? pthread_cond_wait(&w->cond, &bus->lock)
				       : pthread_cond_timedwait(&w->cond, &bus->lock, &until);
	r = w->event;
	w->event = w->woken = false;
	pthread_mutex_unlock(&bus->lock);
	return r;
}

void mem_waiter_wake(void *back)
{
	struct mem_waiter *w = back;
	struct ipc_mem_bus *bus = w->att->gen->bus;

	pthread_mutex_lock(&bus->lock);
	mem_waiter_signal(w, false);
	pthread_mutex_unlock(&bus->lock);
}
