/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to ipc_mem*.c: the objects of the in-process data plane.
 *
 * A bus has at most one present `gen` (a run of RouDi). A gen owns the arena, the pools, and the lists of ports; an
 * attachment owns the memory of its ports, so a handle of a dead process never dangles. One lock per bus guards
 * everything.
 */
#ifndef IPC_MEM_INT_H
#define IPC_MEM_INT_H

#include <pthread.h>

#include "ipc_int.h"
#include "ipc_mem.h"

#define SLOT_OVERHEAD IPC_ALIGN /* a loan needs its size and the alignment, as in iceoryx */

struct mem_chunk {
	struct mem_pool *pool;
	struct mem_chunk *next_free;
	uint32_t refs;  /* one per loan, queue entry, held slot, kept message */
	uint32_t since; /* number of the scan since which it has been a suspect; 0: it is not */
	uint64_t origin;
};

struct mem_pool {
	uint64_t size, stride;
	char *base;
	uint32_t total, used, min_free;
	struct mem_chunk *chunks, *free;
};

struct mem_port {
	struct mem_attachment *att;
	struct mem_port *next, **link; /* gen::pubs or gen::subs, in order of creation; link NULL: closed */
	struct mem_port *next_owned;   /* attachment::ports */
	bool is_pub;
	char channel[128];
};

struct mem_pub {
	struct mem_port p;
	uint32_t history, n_loans;
	uint64_t origin;
	struct mem_chunk *kept;
	struct mem_chunk *loans[IPC_LOANS_MAX];
};

struct mem_sub {
	struct mem_port p;
	uint32_t depth, head, count, n_held;
	bool lost;
	struct mem_waiter *waiter;
	struct mem_chunk *held[IPC_DEPTH_MAX];
	struct mem_chunk *queue[IPC_DEPTH_MAX];
};

struct mem_waiter {
	struct mem_attachment *att;
	struct mem_waiter *next; /* attachment::waiters */
	pthread_cond_t cond;
	bool event, woken;
};

struct mem_attachment {
	struct mem_gen *gen;
	struct mem_attachment *next; /* gen::attachments */
	_Atomic uint32_t *state;     /* state word of the ipc; NULL once detached */
	bool killed, reaped, prompt;
	struct mem_port *ports;
	struct mem_waiter *waiters;
	char name[IPC_APP_MAX + 8];
};

struct mem_gen {
	struct ipc_mem_bus *bus;
	uint32_t refs; /* one for the bus while it is present, one for every attachment not detached */
	char *arena;
	size_t arena_size;
	uint32_t n_pools, n_pubs, n_subs;
	uint32_t scans, wrong;
	uint64_t origins; /* origins assigned so far */
	struct mem_pool pools[IPC_MEM_POOLS_MAX];
	struct mem_port *pubs, *subs;
	struct mem_attachment *attachments;
};

struct ipc_mem_bus {
	pthread_mutex_t lock;
	uint32_t refs; /* one for the creator and for every gen */
	bool virtual_time, stopped, starved;
	uint32_t requests; /* ports and waiters requested from RouDi */
	uint32_t max_publishers, max_subscribers, n_pools;
	struct ipc_mem_pool pools[IPC_MEM_POOLS_MAX];
	struct mem_gen *gen; /* NULL: RouDi is dead */
};

/* ---- ipc_mem_gen.c: memory; bus->lock held unless noted otherwise ---- */

void *mem_chunk_addr(const struct mem_chunk *c);
struct mem_chunk *mem_chunk_of(struct mem_gen *gen, const void *slot);
void mem_chunk_unref(struct mem_chunk *c);
int mem_chunk_get(struct mem_gen *gen, size_t size, struct mem_chunk **ret);
int mem_gen_create(struct ipc_mem_bus *bus);
/* These two release the lock. */
void mem_gen_unref(struct mem_gen *gen);
void mem_bus_unref(struct ipc_mem_bus *bus);
void mem_attachment_free(struct mem_attachment *att);

/* ---- ipc_mem_port.c, ipc_mem_pool.c: functions of struct ipc_ops; these take the lock ---- */

int mem_pub_create(void *att, const char *channel, uint32_t history, struct ipc_text *why, void **ret);
int mem_sub_create(void *att, const char *channel, uint32_t depth, bool history, struct ipc_text *why, void **ret);
void mem_sub_close(void *sub);
void mem_port_destroy(void *port);
int mem_loan(void *pub, size_t size, void **ret);
int mem_unloan(void *pub, void *slot);
int mem_publish(void *pub, void *slot);
bool mem_has_subscribers(const void *pub);
int mem_take(void *sub, const void **ret, size_t *ret_size);
int mem_release(void *sub, const void *slot);
bool mem_lost(void *sub);
bool mem_has_data(const void *sub);
bool mem_connected(const void *sub);
int mem_waiter_create(void *att, struct ipc_text *why, void **ret);
void mem_waiter_destroy(void *waiter);
int mem_waiter_add(void *waiter, void *sub);
void mem_waiter_del(void *waiter, void *sub);
int mem_waiter_wait(void *waiter, int64_t timeout_dur_ns);
void mem_waiter_wake(void *waiter);
int mem_scan_open(void *att, void *pub, const void *slot, struct ipc_text *why);
void mem_scan(void *att, const struct ipc_scan_order *o, struct ipc_scan *ret);
int mem_peers(void *att, struct ipc_peer *ret, unsigned int max);
uint64_t mem_origin(const void *pub);
uint64_t mem_slot_origin(const void *sub, const void *slot);
/* Closes a port: frees what it holds; removes a waiter. bus->lock held. */
void mem_port_close(struct mem_port *p);
void mem_waiter_signal(struct mem_waiter *w, bool event);

#endif
