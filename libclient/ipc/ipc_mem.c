/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_mem: the data plane inside one process; see ipc_mem.h. It mirrors what iceoryx 2.0.3 does: the
 * smallest fitting pool without fallback, a queue that drops its oldest, history of one message, ports
 * that outlive a killed process.
 *
 * Objects: a bus has at most one present `gen` (a life of RouDi). A gen owns the arena, the pools, and
 *          the lists of ports; a `life` (one attachment) owns the memory of its ports, so a handle of a
 *          dead process never dangles.
 * Thread:  any; one lock a bus guards everything. Deterministic: deliveries follow creation order.
 */
#include "ipc_mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "ipc_int.h"

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
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define SLOT_OVERHEAD IPC_ALIGN     /* a loan needs its size and the alignment, as in iceoryx */

struct mem_chunk {
	struct mem_pool  *pool;
	struct mem_chunk *next_free;
	uint32_t          refs;         /* one a loan, queue entry, held slot, kept message */
};

struct mem_pool {
	uint64_t          size, stride;
	char             *base;
	uint32_t          total, used, min_free;
	struct mem_chunk *chunks, *free;
};

struct mem_port {
	struct mem_life *life;
	struct mem_port *next, **link;      /* gen::pubs or gen::subs, in order of creation; link NULL: closed */
	struct mem_port *next_owned;        /* life::ports */
	bool             is_pub;
	char             channel[128];
};

struct mem_pub {
	struct mem_port   p;
	uint32_t          history, n_loans;
	struct mem_chunk *kept;
	struct mem_chunk *loans[IPC_LOANS_MAX];
};

struct mem_sub {
	struct mem_port    p;
	uint32_t           depth, head, count, n_held;
	bool               lost;
	struct mem_waiter *waiter;
	struct mem_chunk  *held[IPC_DEPTH_MAX];
	struct mem_chunk  *queue[IPC_DEPTH_MAX];
};

struct mem_waiter {
	struct mem_life   *life;
	struct mem_waiter *next;            /* life::waiters */
	pthread_cond_t     cond;
	bool               event, woken;
};

struct mem_life {
	struct mem_gen    *gen;
	struct mem_life   *next;            /* gen::lives */
	_Atomic uint32_t  *state;           /* of the ipc; NULL once detached */
	bool               killed;
	struct mem_port   *ports;
	struct mem_waiter *waiters;
	char               name[IPC_APP_MAX + 8];
};

struct mem_gen {
	struct ipc_mem_bus *bus;
	uint32_t         refs;              /* the bus, while it is present, and every life not detached */
	char            *arena;
	size_t           arena_size;
	uint32_t         n_pools, n_pubs, n_subs;
	struct mem_pool  pools[IPC_MEM_POOLS_MAX];
	struct mem_port *pubs, *subs;
	struct mem_life *lives;
};

struct ipc_mem_bus {
	pthread_mutex_t     lock;
	uint32_t            refs;           /* the creator and every gen */
	bool                virtual_time, stopped;
	uint32_t            max_publishers, max_subscribers, n_pools;
	struct ipc_mem_pool pools[IPC_MEM_POOLS_MAX];
	struct mem_gen     *gen;            /* NULL: RouDi is dead */
};

static const struct ipc_mem_pool default_pools[] = {
	{ 256, 4096 }, { 1024, 2048 }, { 4096, 1024 }, { 16384, 512 }, { 65536, 256 }, { 262144, 128 },
	{ 1048576, 64 }, { 8388608, 16 }, { 33554432, 8 },
};

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

static void *chunk_addr(const struct mem_chunk *c)
{
	return c->pool->base + (size_t)(c - c->pool->chunks) * c->pool->stride;
}

static struct mem_chunk *chunk_of(struct mem_gen *gen, const void *slot)
{
	for (uint32_t i = 0; i < gen->n_pools; i++) {
		struct mem_pool *p = &gen->pools[i];
		uintptr_t at = (uintptr_t)slot - (uintptr_t)p->base;

		if ((uintptr_t)slot >= (uintptr_t)p->base && at < p->stride * p->total)
			return &p->chunks[at / p->stride];
	}
	return NULL;
}

static void chunk_unref(struct mem_chunk *c)
{
	if (--c->refs)
		return;
	ASAN_POISON_MEMORY_REGION(chunk_addr(c), c->pool->stride);
	c->next_free = c->pool->free;
	c->pool->free = c;
	c->pool->used--;
}

static int chunk_get(struct mem_gen *gen, size_t size, struct mem_chunk **ret)
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
	ASAN_UNPOISON_MEMORY_REGION(chunk_addr(c), size);
	*ret = c;
	return 0;
}

/* ---- a life of RouDi ---- */

static void life_free(struct mem_life *life)
{
	struct mem_port *next;

	for (struct mem_port *p = life->ports; p; p = next) {
		next = p->next_owned;
		free(p);
	}
	free(life);
}

static void bus_unref(struct ipc_mem_bus *bus)
{
	bool last = --bus->refs == 0;

	pthread_mutex_unlock(&bus->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&bus->lock);
	free(bus);
}

/* bus->lock held on entry, released on return. */
static void gen_unref(struct mem_gen *gen)
{
	struct ipc_mem_bus *bus = gen->bus;
	struct mem_life *next;

	if (--gen->refs) {
		pthread_mutex_unlock(&bus->lock);
		return;
	}
	for (struct mem_life *l = gen->lives; l; l = next) {
		next = l->next;
		life_free(l);
	}
	for (uint32_t i = 0; i < gen->n_pools; i++)
		free(gen->pools[i].chunks);
	if (gen->arena) {
		ASAN_UNPOISON_MEMORY_REGION(gen->arena, gen->arena_size);
		munmap(gen->arena, gen->arena_size);
	}
	free(gen);
	bus_unref(bus);
}

static size_t arena_bytes(const struct ipc_mem_bus *bus)
{
	size_t n = 0;

	for (uint32_t i = 0; i < bus->n_pools; i++)
		n += (size_t)bus->pools[i].count * (bus->pools[i].size + SLOT_OVERHEAD);
	return n;
}

/* bus->lock held. */
static int gen_create(struct ipc_mem_bus *bus)
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
		gen_unref(gen);
		pthread_mutex_lock(&bus->lock);
		return r;
	}
	bus->gen = gen;
	return 0;
}

/* ---- the bus ---- */

static int check_pools(const struct ipc_mem_pool *p, uint32_t n)
{
	if (n < 1 || n > IPC_MEM_POOLS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++)
		if (p[i].count == 0 || p[i].size % IPC_ALIGN || (i && p[i].size <= p[i - 1].size))
			return -EINVAL;
	return 0;
}

int ipc_mem_bus_create(const struct ipc_mem_options *o, struct ipc_mem_bus **ret)
{
	static const struct ipc_mem_options defaults;
	struct ipc_mem_bus *bus;
	bool own;
	int r;

	o = o ? o : &defaults;
	own = o->pools && o->n_pools;
	r = own ? check_pools(o->pools, o->n_pools) : 0;
	if (r < 0)
		return ipc_fail(r, "pools must be 1 to %d, ascending, multiples of 64", IPC_MEM_POOLS_MAX);
	bus = calloc(1, sizeof(*bus));
	if (!bus)
		return ipc_fail(-ENOMEM, "out of memory for a bus");
	bus->refs = 1;
	bus->virtual_time = o->virtual_time;
	bus->max_publishers = o->max_publishers ? o->max_publishers : 506;
	bus->max_subscribers = o->max_subscribers ? o->max_subscribers : 1024;
	bus->n_pools = own ? o->n_pools : sizeof(default_pools) / sizeof(default_pools[0]);
	memcpy(bus->pools, own ? o->pools : default_pools, bus->n_pools * sizeof(bus->pools[0]));
	pthread_mutex_init(&bus->lock, NULL);
	pthread_mutex_lock(&bus->lock);
	r = gen_create(bus);
	if (r < 0) {
		bus_unref(bus);
		return ipc_fail(r, "out of memory for the pools of a bus");
	}
	pthread_mutex_unlock(&bus->lock);
	*ret = bus;
	return 0;
}

static struct ipc_mem_bus *default_bus(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct ipc_mem_bus *bus;     /* the one exception: options.bus NULL means "of this process" */
	struct ipc_mem_bus *b;

	pthread_mutex_lock(&lock);
	if (!bus)
		ipc_mem_bus_create(NULL, &bus);
	b = bus;
	pthread_mutex_unlock(&lock);
	return b;
}

static void waiter_signal(struct mem_waiter *w, bool event)
{
	if (event)
		w->event = true;
	else
		w->woken = true;
	pthread_cond_signal(&w->cond);
}

static void life_end(struct mem_life *life)
{
	uint32_t live = IPC_LIVE;

	if (life->state)
		atomic_compare_exchange_strong(life->state, &live, IPC_STALE);
	for (struct mem_waiter *w = life->waiters; w; w = w->next)
		waiter_signal(w, false);
}

void ipc_mem_roudi_kill(struct ipc_mem_bus *bus)
{
	struct mem_gen *gen;

	pthread_mutex_lock(&bus->lock);
	gen = bus->gen;
	bus->gen = NULL;
	bus->stopped = false;
	if (!gen) {
		pthread_mutex_unlock(&bus->lock);
		return;
	}
	for (struct mem_life *l = gen->lives; l; l = l->next)
		life_end(l);
	gen_unref(gen);
}

int ipc_mem_roudi_start(struct ipc_mem_bus *bus)
{
	int r;

	pthread_mutex_lock(&bus->lock);
	r = bus->gen ? -EEXIST : gen_create(bus);
	pthread_mutex_unlock(&bus->lock);
	return r < 0 ? ipc_fail(r, "RouDi of this bus cannot be started: %s", strerror(-r)) : 0;
}

void ipc_mem_roudi_stop(struct ipc_mem_bus *bus, bool stopped)
{
	pthread_mutex_lock(&bus->lock);
	bus->stopped = stopped;
	pthread_mutex_unlock(&bus->lock);
}

void ipc_mem_bus_destroy(struct ipc_mem_bus *bus)
{
	if (!bus)
		return;
	ipc_mem_roudi_kill(bus);
	pthread_mutex_lock(&bus->lock);
	bus_unref(bus);
}

uint32_t ipc_mem_slots_used(struct ipc_mem_bus *bus)
{
	uint32_t n = 0;

	pthread_mutex_lock(&bus->lock);
	for (uint32_t i = 0; bus->gen && i < bus->gen->n_pools; i++)
		n += bus->gen->pools[i].used;
	pthread_mutex_unlock(&bus->lock);
	return n;
}

uint32_t ipc_mem_ports_used(struct ipc_mem_bus *bus)
{
	uint32_t n;

	pthread_mutex_lock(&bus->lock);
	n = bus->gen ? bus->gen->n_pubs + bus->gen->n_subs : 0;
	pthread_mutex_unlock(&bus->lock);
	return n;
}

/* ---- ports ---- */

static void port_open(struct mem_port *p, struct mem_life *life, const char *channel, bool is_pub)
{
	struct mem_port **at = is_pub ? &life->gen->pubs : &life->gen->subs;

	p->life = life;
	p->is_pub = is_pub;
	snprintf(p->channel, sizeof(p->channel), "%s", channel);
	p->next_owned = life->ports;
	life->ports = p;
	while (*at)
		at = &(*at)->next;
	*at = p;
	p->link = at;
	*(is_pub ? &life->gen->n_pubs : &life->gen->n_subs) += 1;
}

static void drain_queue(struct mem_sub *s)
{
	while (s->count) {
		chunk_unref(s->queue[s->head]);
		s->head = (s->head + 1) % s->depth;
		s->count--;
	}
}

/* Off the bus: no more deliveries. Held slots and loans stay. */
static void port_unlink(struct mem_port *p)
{
	struct mem_gen *gen = p->life->gen;

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

static void port_close(struct mem_port *p)
{
	struct mem_pub *pub = (struct mem_pub *)p;
	struct mem_sub *sub = (struct mem_sub *)p;

	port_unlink(p);
	if (!p->is_pub) {
		while (sub->n_held)
			chunk_unref(sub->held[--sub->n_held]);
		return;
	}
	while (pub->n_loans)
		chunk_unref(pub->loans[--pub->n_loans]);
	if (pub->kept)
		chunk_unref(pub->kept);
	pub->kept = NULL;
}

static void port_free(struct mem_port *p)
{
	struct mem_port **at = &p->life->ports;

	while (*at != p)
		at = &(*at)->next_owned;
	*at = p->next_owned;
	free(p);
}

/* A handle of a killed process is dropped: its port stays on the bus as it is. */
static void port_destroy(void *back)
{
	struct mem_port *p = back;
	struct ipc_mem_bus *bus = p->life->gen->bus;

	pthread_mutex_lock(&bus->lock);
	if (!p->life->killed) {
		port_close(p);
		port_free(p);
	}
	pthread_mutex_unlock(&bus->lock);
}

static void enqueue(struct mem_sub *s, struct mem_chunk *c)
{
	if (s->count == s->depth) {
		chunk_unref(s->queue[s->head]);
		s->head = (s->head + 1) % s->depth;
		s->count--;
		s->lost = true;
	}
	s->queue[(s->head + s->count++) % s->depth] = c;
	c->refs++;
	if (s->waiter && !s->p.life->killed)
		waiter_signal(s->waiter, true);
}

/* Whether a port can be made now; bus->lock held. */
static int may_create(const struct mem_life *life, struct ipc_text *why)
{
	const char *what = NULL;
	int r = 0;

	if (life->gen != life->gen->bus->gen) {
		what = "RouDi of this attachment is gone; attach again";
		r = -ESTALE;
	} else if (life->gen->bus->stopped) {
		what = "RouDi does not answer; it may be stopped or stuck, simd restarts it";
		r = -ETIMEDOUT;
	}
	if (what)
		snprintf(why->s, sizeof(why->s), "%s", what);
	return r;
}

static int pub_create(void *back, const char *channel, uint32_t history, struct ipc_text *why, void **ret)
{
	struct mem_life *life = back;
	struct ipc_mem_bus *bus = life->gen->bus;
	struct mem_pub *pub = calloc(1, sizeof(*pub));
	int r = pub ? 0 : -ENOMEM;

	pthread_mutex_lock(&bus->lock);
	if (r == 0)
		r = may_create(life, why);
	if (r == 0 && life->gen->n_pubs >= bus->max_publishers) {
		snprintf(why->s, sizeof(why->s), "channel %s: all %u publisher ports of the data plane are in use",
			 channel, bus->max_publishers);
		r = -EMFILE;
	}
	if (r == 0) {
		pub->history = history;
		port_open(&pub->p, life, channel, true);
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
	for (struct mem_port *p = s->p.life->gen->pubs; p; p = p->next) {
		struct mem_pub *pub = (struct mem_pub *)p;

		if (pub->kept && strcmp(p->channel, s->p.channel) == 0)
			enqueue(s, pub->kept);
	}
}

static int sub_create(void *back, const char *channel, uint32_t depth, bool history, struct ipc_text *why, void **ret)
{
	struct mem_life *life = back;
	struct ipc_mem_bus *bus = life->gen->bus;
	struct mem_sub *sub = calloc(1, sizeof(*sub));
	int r = sub ? 0 : -ENOMEM;

	pthread_mutex_lock(&bus->lock);
	if (r == 0)
		r = may_create(life, why);
	if (r == 0 && life->gen->n_subs >= bus->max_subscribers) {
		snprintf(why->s, sizeof(why->s), "channel %s: all %u subscriber ports of the data plane are in use",
			 channel, bus->max_subscribers);
		r = -EMFILE;
	}
	if (r == 0) {
		sub->depth = depth;
		port_open(&sub->p, life, channel, false);
		if (history)
			deliver_history(sub);
		*ret = sub;
	} else {
		free(sub);
	}
	pthread_mutex_unlock(&bus->lock);
	return r;
}

static void sub_close(void *back)
{
	struct mem_sub *sub = back;
	struct ipc_mem_bus *bus = sub->p.life->gen->bus;

	pthread_mutex_lock(&bus->lock);
	if (!sub->p.life->killed)
		port_unlink(&sub->p);
	pthread_mutex_unlock(&bus->lock);
}

/* ---- the data path ---- */

static int loan(void *back, size_t size, void **ret)
{
	struct mem_pub *pub = back;
	struct ipc_mem_bus *bus = pub->p.life->gen->bus;
	struct mem_chunk *c;
	int r;

	pthread_mutex_lock(&bus->lock);
	r = chunk_get(pub->p.life->gen, size, &c);
	if (r == 0) {
		pub->loans[pub->n_loans++] = c;
		*ret = chunk_addr(c);
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

static int unloan(void *back, void *slot)
{
	struct mem_pub *pub = back;
	struct ipc_mem_bus *bus = pub->p.life->gen->bus;
	struct mem_chunk *c;

	pthread_mutex_lock(&bus->lock);
	c = unlist(pub->loans, &pub->n_loans, chunk_of(pub->p.life->gen, slot));
	if (c && !pub->p.life->killed)
		chunk_unref(c);
	pthread_mutex_unlock(&bus->lock);
	return c ? 0 : -EINVAL;
}

static int publish(void *back, void *slot)
{
	struct mem_pub *pub = back;
	struct ipc_mem_bus *bus = pub->p.life->gen->bus;
	struct mem_chunk *c;

	pthread_mutex_lock(&bus->lock);
	c = unlist(pub->loans, &pub->n_loans, chunk_of(pub->p.life->gen, slot));
	for (struct mem_port *p = c ? pub->p.life->gen->subs : NULL; p; p = p->next)
		if (strcmp(p->channel, pub->p.channel) == 0)
			enqueue((struct mem_sub *)p, c);
	if (c && pub->history) {
		if (pub->kept)
			chunk_unref(pub->kept);
		pub->kept = c;
	} else if (c) {
		chunk_unref(c);
	}
	pthread_mutex_unlock(&bus->lock);
	return c ? 0 : -EINVAL;
}

static bool has_subscribers(const void *back)
{
	const struct mem_pub *pub = back;
	struct ipc_mem_bus *bus = pub->p.life->gen->bus;
	struct mem_port *p;

	pthread_mutex_lock(&bus->lock);
	for (p = pub->p.life->gen->subs; p && strcmp(p->channel, pub->p.channel) != 0; p = p->next)
		;
	pthread_mutex_unlock(&bus->lock);
	return p != NULL;
}

static int take(void *back, const void **ret)
{
	struct mem_sub *s = back;
	struct ipc_mem_bus *bus = s->p.life->gen->bus;
	int r = -EAGAIN;

	pthread_mutex_lock(&bus->lock);
	if (s->count) {
		struct mem_chunk *c = s->queue[s->head];

		s->head = (s->head + 1) % s->depth;
		s->count--;
		s->held[s->n_held++] = c;
		*ret = chunk_addr(c);
		r = 0;
	}
	pthread_mutex_unlock(&bus->lock);
	return r;
}

static int release(void *back, const void *slot)
{
	struct mem_sub *s = back;
	struct ipc_mem_bus *bus = s->p.life->gen->bus;
	struct mem_chunk *c = NULL;

	pthread_mutex_lock(&bus->lock);
	if (!s->p.life->killed) {
		c = unlist(s->held, &s->n_held, chunk_of(s->p.life->gen, slot));
		if (c)
			chunk_unref(c);
	}
	pthread_mutex_unlock(&bus->lock);
	return c ? 0 : -EINVAL;
}

static bool lost(void *back)
{
	struct mem_sub *s = back;
	struct ipc_mem_bus *bus = s->p.life->gen->bus;
	bool yes;

	pthread_mutex_lock(&bus->lock);
	yes = s->lost;
	s->lost = false;
	pthread_mutex_unlock(&bus->lock);
	return yes;
}

static bool has_data(const void *back)
{
	const struct mem_sub *s = back;
	struct ipc_mem_bus *bus = s->p.life->gen->bus;
	bool yes;

	pthread_mutex_lock(&bus->lock);
	yes = s->count > 0;
	pthread_mutex_unlock(&bus->lock);
	return yes;
}

/* ---- waiters ---- */

static int waiter_create(void *back, struct ipc_text *why, void **ret)
{
	struct mem_life *life = back;
	struct ipc_mem_bus *bus = life->gen->bus;
	struct mem_waiter *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;
	int r = w ? 0 : -ENOMEM;

	pthread_mutex_lock(&bus->lock);
	if (r == 0)
		r = may_create(life, why);
	if (r == 0) {
		pthread_condattr_init(&attr);
		pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		pthread_cond_init(&w->cond, &attr);
		pthread_condattr_destroy(&attr);
		w->life = life;
		w->next = life->waiters;
		life->waiters = w;
		*ret = w;
	} else {
		free(w);
	}
	pthread_mutex_unlock(&bus->lock);
	return r;
}

static void forget_waiter(struct mem_life *life, const struct mem_waiter *w)
{
	struct mem_waiter **at = &life->waiters;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	for (struct mem_port *p = life->ports; p; p = p->next_owned)
		if (!p->is_pub && ((struct mem_sub *)p)->waiter == w)
			((struct mem_sub *)p)->waiter = NULL;
}

static void waiter_destroy(void *back)
{
	struct mem_waiter *w = back;
	struct ipc_mem_bus *bus = w->life->gen->bus;

	pthread_mutex_lock(&bus->lock);
	forget_waiter(w->life, w);
	pthread_mutex_unlock(&bus->lock);
	pthread_cond_destroy(&w->cond);
	free(w);
}

static int waiter_add(void *back, void *sub)
{
	struct mem_waiter *w = back;
	struct ipc_mem_bus *bus = w->life->gen->bus;

	pthread_mutex_lock(&bus->lock);
	((struct mem_sub *)sub)->waiter = w;
	pthread_mutex_unlock(&bus->lock);
	return 0;
}

static void waiter_del(void *back, void *sub)
{
	struct mem_waiter *w = back;
	struct ipc_mem_bus *bus = w->life->gen->bus;

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

static int waiter_wait(void *back, int64_t timeout_dur_ns)
{
	struct mem_waiter *w = back;
	struct ipc_mem_bus *bus = w->life->gen->bus;
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

static void waiter_wake(void *back)
{
	struct mem_waiter *w = back;
	struct ipc_mem_bus *bus = w->life->gen->bus;

	pthread_mutex_lock(&bus->lock);
	waiter_signal(w, false);
	pthread_mutex_unlock(&bus->lock);
}

/* ---- attachments ---- */

/* All that a dead process left on the bus goes back; bus->lock held. */
static void life_reap(struct mem_life *life)
{
	for (struct mem_port *p = life->ports; p; p = p->next_owned)
		port_close(p);
}

static void life_remove(struct mem_life *life)
{
	struct mem_life **at = &life->gen->lives;

	while (*at != life)
		at = &(*at)->next;
	*at = life->next;
	life_free(life);
}

/* Reaps what a killed process of that name left, as RouDi does. -EEXIST: it lives. */
static int take_name(struct mem_gen *gen, const char *name)
{
	struct mem_life *next;

	for (struct mem_life *l = gen->lives; l; l = next) {
		next = l->next;
		if (strcmp(l->name, name) != 0)
			continue;
		if (!l->killed)
			return -EEXIST;
		life_reap(l);
		if (!l->state)
			life_remove(l);
	}
	return 0;
}

static int attach_locked(struct ipc_mem_bus *bus, const struct ipc_start *start, struct ipc_text *why,
			 struct mem_life **ret)
{
	struct mem_life *life;
	int r = !bus->gen ? -ENOENT : bus->stopped ? -ETIMEDOUT : take_name(bus->gen, start->name);

	if (r < 0) {
		snprintf(why->s, sizeof(why->s), "%s", r == -ENOENT ? "RouDi is not running; start simd" :
			 r == -EEXIST ? "an application of this name is attached already; give each its own name" :
			 "RouDi does not answer; it may be stopped or stuck, simd restarts it");
		return r;
	}
	life = calloc(1, sizeof(*life));
	if (!life) {
		snprintf(why->s, sizeof(why->s), "out of memory while attaching to the data plane");
		return -ENOMEM;
	}
	life->gen = bus->gen;
	life->gen->refs++;
	life->state = start->state;
	snprintf(life->name, sizeof(life->name), "%s", start->name);
	life->next = bus->gen->lives;
	bus->gen->lives = life;
	*ret = life;
	return 0;
}

static int attach(const struct ipc_start *start, struct ipc_text *why, void **ret)
{
	struct ipc_mem_bus *bus = start->bus ? start->bus : default_bus();
	struct mem_life *life;
	int r;

	if (!bus) {
		snprintf(why->s, sizeof(why->s), "out of memory for the default bus");
		return -ENOMEM;
	}
	pthread_mutex_lock(&bus->lock);
	r = attach_locked(bus, start, why, &life);
	if (r == 0)
		*ret = life;
	pthread_mutex_unlock(&bus->lock);
	return r;
}

static void detach(void *back, bool dead)
{
	struct mem_life *life = back;
	struct mem_gen *gen = life->gen;

	(void)dead;
	pthread_mutex_lock(&gen->bus->lock);
	life->state = NULL;
	if (!life->killed) {
		life_reap(life);
		life_remove(life);
	}
	gen_unref(gen);
}

static int free_peer(void *back, const char *app, struct ipc_text *why)
{
	struct mem_gen *gen = ((struct mem_life *)back)->gen;
	int r;

	pthread_mutex_lock(&gen->bus->lock);
	r = take_name(gen, app);
	pthread_mutex_unlock(&gen->bus->lock);
	if (r < 0)
		snprintf(why->s, sizeof(why->s), "application %s lives; only a dead one may be freed", app);
	return r < 0 ? -EBUSY : 0;
}

void ipc_mem_kill(struct ipc *ipc)
{
	struct mem_life *life = ipc->life;
	struct ipc_mem_bus *bus = life->gen->bus;

	pthread_mutex_lock(&bus->lock);
	life->killed = true;
	life_end(life);
	pthread_mutex_unlock(&bus->lock);
}

static int segment(void *back, struct ipc_segment *ret)
{
	const struct mem_gen *gen = ((struct mem_life *)back)->gen;

	*ret = (struct ipc_segment){ .base = gen->arena, .size = gen->arena_size };
	return 0;
}

static int prefault(void *back, int64_t until_mono_ns)
{
	(void)back;
	(void)until_mono_ns;
	return 0;     /* private memory of this process: nothing that would pay */
}

static int pools(void *back, struct ipc_pool *ret, unsigned int max)
{
	struct mem_gen *gen = ((struct mem_life *)back)->gen;
	unsigned int n;

	pthread_mutex_lock(&gen->bus->lock);
	for (n = 0; n < gen->n_pools && n < max; n++) {
		const struct mem_pool *p = &gen->pools[n];

		ret[n] = (struct ipc_pool){ .size = p->size, .total = p->total, .used = p->used, .min_free = p->min_free };
	}
	pthread_mutex_unlock(&gen->bus->lock);
	return (int)n;
}

#define MEM_OPS(blocks) { \
	.abi = IPC_OPS_ABI, .size = sizeof(struct ipc_ops), .name = "mem", .blocking = (blocks), \
	.attach = attach, .detach = detach, .segment = segment, .prefault = prefault, .pools = pools, \
	.free_peer = free_peer, \
	.pub_create = pub_create, .pub_destroy = port_destroy, .loan = loan, .unloan = unloan, .publish = publish, \
	.has_subscribers = has_subscribers, \
	.sub_create = sub_create, .sub_close = sub_close, .sub_destroy = port_destroy, .take = take, \
	.release = release, .lost = lost, .has_data = has_data, \
	.waiter_create = waiter_create, .waiter_destroy = waiter_destroy, .waiter_add = waiter_add, \
	.waiter_del = waiter_del, .waiter_wait = waiter_wait, .waiter_wake = waiter_wake }

const struct ipc_ops *ipc_mem_ops(struct ipc_mem_bus *bus)
{
	static const struct ipc_ops threaded = MEM_OPS(true);
	static const struct ipc_ops virtual = MEM_OPS(false);

	return bus && bus->virtual_time ? &virtual : &threaded;
}
