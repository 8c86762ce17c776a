/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Size classes of the data plane's memory: the classes that RouDi makes, the class and window that a channel gets, and
 * the account that admits a publisher or a subscriber only if its queue, its messages in flight and 9 slots per
 * publisher have memory. So a client that keeps the rules never meets an empty pool, nor a page without memory behind
 * it.
 *
 * A class of the built-in ladder has far more slots than needed, and a slot gets memory (is committed) only when an
 * admission needs it. RouDi hands out a class's free slots last in, first out, beginning with the lowest
 * (tests/system/ipc/test_sparse.c): while no more slots are out than are committed, all slots that are out are
 * committed. So the committed count covers the reserved slots and those that were reserved until just now and that a
 * process may still hold (leaving). The slots of "pools", and those of a RouDi that simd did not start, all have memory
 * from the start.
 *
 * Thread: simd-main. All numbers here are simd's own; nothing is read from shared memory.
 */
#ifndef REGISTRY_ADMISSION_H
#define REGISTRY_ADMISSION_H

#include "conf.h"

#include <stdbool.h>
#include <stdint.h>

#define POOLS_MAX          32
#define POOL_PER_PUBLISHER 9 /* iceoryx: 8 loans and the last message sent; upper bound, see pools_per_publisher() */
#define POOL_SLOT_ALIGN    64
#define POOL_WINDOW_LEAST  2  /* a window never shrinks below this */
#define POOL_WINDOW_SMALL  64 /* a channel of small slots has at least this window */
/* slots of the smallest class for simd itself, and for processes that attach */
#define POOL_OWN          200
#define POOL_QUEUE_SHARE  64                /* a new queue gets at most 1/64 of the class's unreserved slots */
#define POOL_QUEUE_LEAST  2                 /* but at least this many */
#define POOL_CHUNK_HEADER 40                /* iceoryx's header of each slot */
#define POOL_CHUNK_ENTRY  56                /* in the management segment, per slot with memory */
#define POOL_CHUNK_LISTED 8                 /* in the management segment, per slot */
#define POOL_MGMT_BYTES   (25LL << 20)      /* management segment without slots, rounded up: measured */
#define POOL_ASIDE_BYTES  (8LL << 20)       /* initially reserved for the next generation */
#define POOL_BYTES_MAX    ((1LL << 32) - 1) /* above 4 GiB iceoryx 2.0.3 hands out overlapping chunks */

struct pool_class {
	uint64_t size; /* usable bytes of a slot: multiple of 64, ascending */
	uint32_t count;
	uint32_t reserved; /* by channels, publishers and subscribers */
	uint32_t leaving;
	uint32_t committed; /* the first so many slots have memory */
	/* slots that the channels listed by the rigs will need, with their publishers and two subscribers each */
	uint32_t listed;
};

/* Operations that give slots their memory. */
struct pool_memory {
	/* Gives memory to the first `slots` slots of a class. Negative: nothing was allocated. */
	int (*commit)(void *arg, unsigned cls, uint32_t slots);
	/* Bytes reserved for the next generation. */
	int64_t (*aside)(void *arg);
	/* Bytes that are left. ret_whose: name of the memory that limits them; static. */
	int64_t (*room)(void *arg, const char **ret_whose);
};

struct pools {
	unsigned n;
	struct pool_class c[POOLS_MAX];
	bool fixed;  /* all slots have memory from the start: "pools" is set, or simd did not start RouDi */
	bool found;  /* an earlier simd has allocated memory; how much is unknown */
	int64_t max; /* pools_max: bytes of slots; INT64_MAX: unlimited */
	const struct pool_memory *memory; /* NULL: all slots have memory */
	void *memory_arg;
};

/*
 * Fills *ret from "pools", or from the built-in ladder. shm_free: bytes that /dev/shm has room for, including what an
 * earlier generation of simd will free; < 0: not checked (mem). -ENOSPC, -EINVAL, -EFBIG, with the numbers in
 * err_why().
 */
int pools_compute(const struct conf *c, int64_t shm_free, struct pools *ret);

/* Bytes of /dev/shm that RouDi needs for all admitted slots, including management. */
int64_t pools_bytes(const struct pools *p);
/* pools_bytes() rounded up to MiB: demanded at the start and reported to users. */
int64_t pools_need(const struct pools *p);
/* Bytes that the channels listed by the rigs need. */
int64_t pools_listed_bytes(const struct pools *p);
/* Bytes of all slots that have memory. */
int64_t pools_committed_bytes(const struct pools *p);
/* Bytes that can still be given to slots: 0 or more. */
int64_t pools_room(const struct pools *p);
/* Largest slot that can be loaned: header and body. */
uint64_t pools_max_slot(const struct pools *p);

/* Class that serves slots of `slot_size` bytes (header and body). -EMSGSIZE, with err_why() set. */
int pools_class(const struct pools *p, uint64_t slot_size);
/* Slot size for a body of max_body bytes, and the class that serves it. -EMSGSIZE, with err_why() set. */
uint64_t pools_slot_of(uint64_t max_body);
int pools_body_class(const struct pools *p, uint64_t max_body);
/* The longest body that the slots of a class hold. */
uint64_t pools_body_max(const struct pools *p, int cls);
/* Default window (128 .. 2) of a channel with slots of that size, in a class of `count` slots. */
uint32_t pools_window(uint64_t slot_size, uint32_t count);

/* Reserves slots. what: "channel /x", for the error. -ENOSPC, with err_why() set. */
int pools_reserve(struct pools *p, int cls, uint32_t slots, const char *what);
void pools_release(struct pools *p, int cls, uint32_t slots);
/* Limits the count of leaving slots of a class (see above) to `used`, the slots that are in use at all. */
void pools_settle(struct pools *p, int cls, uint32_t used);
/*
 * pools_begin(): a generation begins, and the reserved slots get memory; -ENOSPC, with err_why() set. pools_end(): it
 * has ended, and no slot has memory.
 */
int pools_begin(struct pools *p);
void pools_end(struct pools *p);
/*
 * Depth limit for a subscriber's queue in a class: a share of the unreserved slots, so that many further subscribers
 * find room.
 */
uint32_t pools_queue_max(const struct pools *p, int cls);
/* Slots that a publisher in that class can hold at once: its loans, and the last message sent. */
uint32_t pools_per_publisher(const struct pools *p, int cls);
/* Slots of a class that can still be reserved. */
uint32_t pools_left(const struct pools *p, int cls);
/*
 * Slots of a class that a user may still reserve. has, has_bytes: slots of the class, and bytes in all classes, that
 * the user has already. The limit is `percent` of all memory, or the need of the listed channels if that is more.
 */
uint32_t pools_part_left(const struct pools *p, int cls, uint32_t percent, uint32_t has, int64_t has_bytes);
/* Slots of a class that have memory. */
uint32_t pools_backed(const struct pools *p, int cls);
/* Bytes of the payload segment from one slot of a class to the next. */
int64_t pools_chunk_bytes(const struct pools *p, int cls);
/* Offset of a class's slots in the payload segment. */
int64_t pools_at(const struct pools *p, int cls);
/* Bytes of a slot of the class, with its header and its entry in the management segment. */
int64_t pools_slot_bytes(const struct pools *p, int cls);

#endif
