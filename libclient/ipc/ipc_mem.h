/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_mem: the data plane inside one process, with the limits and behaviour of iceoryx. A bus stands for one machine
 * with its RouDi; every ipc attached to it stands for one process. Any of them can vanish as with kill -9, and RouDi
 * itself can be killed, started again, stopped and continued.
 *
 * Thread: everything here is safe from any thread. A bus made with `virtual_time` never waits: ipc_waiter_wait()
 * returns at once, 1 if a subscriber has data, else 0.
 * Memory: slots live in one arena per generation; with ASan, free slots are poisoned.
 */
#ifndef IPC_MEM_H
#define IPC_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc.h"

#define IPC_MEM_POOLS_MAX 32

struct ipc_mem_bus;

struct ipc_mem_pool {
	uint64_t size; /* usable bytes of a slot, ascending, multiple of 64 */
	uint32_t count;
};

struct ipc_mem_options {
	const struct ipc_mem_pool *pools; /* borrows; NULL: 9 pools from 256 B to 32 MiB */
	uint32_t n_pools;
	uint32_t max_publishers;  /* 0: 506, as RouDi */
	uint32_t max_subscribers; /* 0: 1024 */
	bool virtual_time;
};

int ipc_mem_bus_create(const struct ipc_mem_options *o, struct ipc_mem_bus **ret);
/* The bus itself is freed when the last ipc on it is detached. Accepts NULL. */
void ipc_mem_bus_destroy(struct ipc_mem_bus *bus);

/*
 * Makes the process behind `ipc` die as by kill -9: its handles return -ESTALE, its ports and slots stay as they are
 * (its subscribers keep filling up) until ipc_free_peer() or until its name attaches again. ipc_detach() then only
 * frees the objects of this process. The slots it held must not be read any more.
 */
void ipc_mem_kill(struct ipc *ipc);

/*
 * Simulates a process that is killed between two instructions of loan or publish: the calling publisher loses a slot of
 * that size. How: with its origin and one reference too many; or as a slot without references.
 */
enum ipc_mem_loss { IPC_MEM_LOSS_ORIGIN, IPC_MEM_LOSS_NOBODYS };
int ipc_mem_lose(struct ipc_pub *pub, size_t size, enum ipc_mem_loss how);
/*
 * For tests of callers of ipc_scan(): slots that the caller asked to free although a process had them. They were not
 * freed.
 */
uint32_t ipc_mem_wrongly_freed(struct ipc_mem_bus *bus);

/* Kills RouDi: every attachment is over, attaching gives -ENOENT. Slots held stay readable until they are released. */
void ipc_mem_roudi_kill(struct ipc_mem_bus *bus);
/* Starts RouDi again: a new generation with new memory. */
int ipc_mem_roudi_start(struct ipc_mem_bus *bus);
/* Stops (SIGSTOP) or continues RouDi: while it is stopped, creations and attaches give -ETIMEDOUT. */
void ipc_mem_roudi_stop(struct ipc_mem_bus *bus, bool stopped);
/*
 * Gives RouDi no CPU: while it is starved, creations of a prompt ipc (ipc_options) give -EAGAIN, others are waited for.
 */
void ipc_mem_roudi_starve(struct ipc_mem_bus *bus, bool starved);

/* For tests of leaks: slots that are not free, and ports in use, in the present generation. */
uint32_t ipc_mem_slots_used(struct ipc_mem_bus *bus);
uint32_t ipc_mem_ports_used(struct ipc_mem_bus *bus);
/* For tests of waits for RouDi: ports and waiters requested so far. */
uint32_t ipc_mem_requests(struct ipc_mem_bus *bus);

#endif
