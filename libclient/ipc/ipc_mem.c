/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_mem: the data plane inside one process; see ipc_mem.h. It imitates iceoryx 2.0.3: the smallest fitting pool
 * without fallback, a queue that drops its oldest, history of one message, ports that outlive a killed process. This
 * file: buses, attachments, the table.
 *
 * Thread: any; bus->lock.
 */
#include "ipc_mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc_mem_int.h"

static const struct ipc_mem_pool default_pools[] = {
	{ 256, 4096 },   { 1024, 2048 },  { 4096, 1024 },  { 16384, 512 },  { 65536, 256 },
	{ 262144, 128 }, { 1048576, 64 }, { 8388608, 16 }, { 33554432, 8 },
};

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
	r = mem_gen_create(bus);
	if (r < 0) {
		mem_bus_unref(bus);
		return ipc_fail(r, "out of memory for the pools of a bus");
	}
	pthread_mutex_unlock(&bus->lock);
	*ret = bus;
	return 0;
}

static struct ipc_mem_bus *default_bus(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	/* the one mutable global: the bus of this process, which options.bus NULL means */
	static struct ipc_mem_bus *bus;
	struct ipc_mem_bus *b;

	pthread_mutex_lock(&lock);
	if (!bus)
		ipc_mem_bus_create(NULL, &bus);
	b = bus;
	pthread_mutex_unlock(&lock);
	return b;
}

static void attachment_end(struct mem_attachment *att)
{
	uint32_t live = IPC_LIVE;

	if (att->state)
		atomic_compare_exchange_strong(att->state, &live, IPC_STALE);
	for (struct mem_waiter *w = att->waiters; w; w = w->next)
		mem_waiter_signal(w, false);
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
	for (struct mem_attachment *l = gen->attachments; l; l = l->next)
		attachment_end(l);
	mem_gen_unref(gen);
}

int ipc_mem_roudi_start(struct ipc_mem_bus *bus)
{
	int r;

	pthread_mutex_lock(&bus->lock);
	r = bus->gen ? -EEXIST : mem_gen_create(bus);
	pthread_mutex_unlock(&bus->lock);
	return r < 0 ? ipc_fail(r, "RouDi of this bus cannot be started: %s", strerror(-r)) : 0;
}

void ipc_mem_roudi_stop(struct ipc_mem_bus *bus, bool stopped)
{
	pthread_mutex_lock(&bus->lock);
	bus->stopped = stopped;
	pthread_mutex_unlock(&bus->lock);
}

void ipc_mem_roudi_starve(struct ipc_mem_bus *bus, bool starved)
{
	pthread_mutex_lock(&bus->lock);
	bus->starved = starved;
	pthread_mutex_unlock(&bus->lock);
}

void ipc_mem_bus_destroy(struct ipc_mem_bus *bus)
{
	if (!bus)
		return;
	ipc_mem_roudi_kill(bus);
	pthread_mutex_lock(&bus->lock);
	mem_bus_unref(bus);
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

uint32_t ipc_mem_requests(struct ipc_mem_bus *bus)
{
	uint32_t n;

	pthread_mutex_lock(&bus->lock);
	n = bus->requests;
	pthread_mutex_unlock(&bus->lock);
	return n;
}

/* ---- attachments ---- */

/* Frees everything that a dead process left on the bus; bus->lock held. */
static void attachment_reap(struct mem_attachment *att)
{
	for (struct mem_port *p = att->ports; p; p = p->next_owned)
		mem_port_close(p);
	att->reaped = true;
}

static void attachment_remove(struct mem_attachment *att)
{
	struct mem_attachment **at = &att->gen->attachments;

	while (*at != att)
		at = &(*at)->next;
	*at = att->next;
	mem_attachment_free(att);
}

/* Frees what a killed process of that name left, as RouDi does. -EEXIST: it runs. */
static int take_name(struct mem_gen *gen, const char *name)
{
	struct mem_attachment *next;

	for (struct mem_attachment *l = gen->attachments; l; l = next) {
		next = l->next;
		if (strcmp(l->name, name) != 0)
			continue;
		/* abandoned by a running process: with iceoryx its next attachment has another runtime name */
		if (!l->killed && l->state && atomic_load(l->state) == IPC_STALE)
			continue;
		if (!l->killed)
			return -EEXIST;
		attachment_reap(l);
		if (!l->state)
			attachment_remove(l);
	}
	return 0;
}

static int attach_locked(struct ipc_mem_bus *bus, const struct ipc_start *start, struct ipc_text *why,
			 struct mem_attachment **ret)
{
	struct mem_attachment *att;
	int r = !bus->gen ? -ENOENT : bus->stopped ? -ETIMEDOUT : take_name(bus->gen, start->name);

	if (r < 0) {
		snprintf(why->s, sizeof(why->s), "%s",
			 r == -ENOENT   ? "RouDi is not running; start simd"
			 : r == -EEXIST ? "an application of this name is attached already; give each its own name"
					: "RouDi does not answer; it may be stopped or stuck, simd restarts it");
		return r;
	}
	att = calloc(1, sizeof(*att));
	if (!att) {
		snprintf(why->s, sizeof(why->s), "out of memory while attaching to the data plane");
		return -ENOMEM;
	}
	att->gen = bus->gen;
	att->gen->refs++;
	att->state = start->state;
	snprintf(att->name, sizeof(att->name), "%s", start->name);
	att->next = bus->gen->attachments;
	bus->gen->attachments = att;
	*ret = att;
	return 0;
}

static int attach(const struct ipc_start *start, struct ipc_text *why, void **ret)
{
	struct ipc_mem_bus *bus = start->bus ? start->bus : default_bus();
	struct mem_attachment *att;
	int r;

	if (!bus) {
		snprintf(why->s, sizeof(why->s), "out of memory for the default bus");
		return -ENOMEM;
	}
	pthread_mutex_lock(&bus->lock);
	r = attach_locked(bus, start, why, &att);
	if (r == 0)
		*ret = att;
	pthread_mutex_unlock(&bus->lock);
	return r;
}

static void be_prompt(void *back)
{
	((struct mem_attachment *)back)->prompt = true;
}

static void detach(void *back, bool dead)
{
	struct mem_attachment *att = back;
	struct mem_gen *gen = att->gen;

	(void)dead;
	pthread_mutex_lock(&gen->bus->lock);
	att->state = NULL;
	if (!att->killed) {
		attachment_reap(att);
		attachment_remove(att);
	}
	mem_gen_unref(gen);
}

static int free_peer(void *back, const char *app, struct ipc_text *why)
{
	struct mem_gen *gen = ((struct mem_attachment *)back)->gen;
	int r;

	pthread_mutex_lock(&gen->bus->lock);
	r = take_name(gen, app);
	pthread_mutex_unlock(&gen->bus->lock);
	if (r < 0)
		snprintf(why->s, sizeof(why->s), "application %s runs; only a dead one may be freed", app);
	return r < 0 ? -EBUSY : 0;
}

void ipc_mem_kill(struct ipc *ipc)
{
	struct mem_attachment *att = ipc->back;
	struct ipc_mem_bus *bus = att->gen->bus;

	pthread_mutex_lock(&bus->lock);
	att->killed = true;
	attachment_end(att);
	pthread_mutex_unlock(&bus->lock);
}

static int segment(void *back, struct ipc_segment *ret)
{
	const struct mem_gen *gen = ((struct mem_attachment *)back)->gen;

	*ret = (struct ipc_segment){ .base = gen->arena, .size = gen->arena_size };
	return 0;
}

static int prefault(void *back, uint64_t at, uint64_t bytes, int64_t until_mono_ns)
{
	(void)at;
	(void)bytes;
	(void)back;
	(void)until_mono_ns;
	return 0; /* private memory of this process: populating it would not help */
}

static int pools(void *back, struct ipc_pool *ret, unsigned int max)
{
	struct mem_gen *gen = ((struct mem_attachment *)back)->gen;
	unsigned int n;

	pthread_mutex_lock(&gen->bus->lock);
	for (n = 0; n < gen->n_pools && n < max; n++) {
		const struct mem_pool *p = &gen->pools[n];

		ret[n] = (struct ipc_pool){
			.size = p->size, .total = p->total, .used = p->used, .min_free = p->min_free
		};
	}
	pthread_mutex_unlock(&gen->bus->lock);
	return (int)n;
}

#define MEM_OPS(blocks) \
	{ \
		.abi = IPC_OPS_ABI, .size = sizeof(struct ipc_ops), .name = "mem", .blocking = (blocks), \
		.attach = attach, .be_prompt = be_prompt, .detach = detach, .segment = segment, .prefault = prefault, \
		.pools = pools, .scan_open = mem_scan_open, .scan = mem_scan, .peers = mem_peers, \
		.origin = mem_origin, .free_peer = free_peer, .pub_create = mem_pub_create, \
		.pub_destroy = mem_port_destroy, .loan = mem_loan, .unloan = mem_unloan, .publish = mem_publish, \
		.has_subscribers = mem_has_subscribers, .sub_create = mem_sub_create, .sub_close = mem_sub_close, \
		.sub_destroy = mem_port_destroy, .take = mem_take, .slot_origin = mem_slot_origin, \
		.release = mem_release, .lost = mem_lost, .has_data = mem_has_data, .connected = mem_connected, \
		.waiter_create = mem_waiter_create, .waiter_destroy = mem_waiter_destroy, \
		.waiter_add = mem_waiter_add, .waiter_del = mem_waiter_del, .waiter_wait = mem_waiter_wait, \
		.waiter_wake = mem_waiter_wake \
	}

const struct ipc_ops *ipc_mem_ops(struct ipc_mem_bus *bus)
{
	static const struct ipc_ops threaded = MEM_OPS(true);
	static const struct ipc_ops virtual = MEM_OPS(false);

	return bus && bus->virtual_time ? &virtual : &threaded;
}
