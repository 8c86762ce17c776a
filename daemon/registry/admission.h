/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Size classes of the data plane's memory: which RouDi makes, which class and window a channel gets, and the account that admits a
 * publisher or a subscriber only while queues, messages in flight and 9 slots per publisher have memory. So a well-behaved client never
 * meets an empty pool, nor a page that there is no memory for.
 *
 * A class of the built-in ladder has far more slots than anybody needs, and none has memory (is committed) before an admission needs it.
 * RouDi hands out a class's free slots last in, first out, beginning with the lowest (tests/system/ipc/test_sparse.c): while no more are
 * out than are committed, all that are out are committed. So what is committed counts those that are reserved and those that were
 * reserved until just now and may be in somebody's hand still (leaving). The slots of "pools", and those of somebody else's RouDi, all
 * have memory from the start.
 *
 * Thread: simd-main. All numbers here are ours; nothing is read from shared memory.
 */
#ifndef REGISTRY_ADMISSION_H
#define REGISTRY_ADMISSION_H

#include "conf.h"

#include <stdbool.h>
#include <stdint.h>

#define POOLS_MAX          32
#define POOL_PER_PUBLISHER 9 /* iceoryx: 8 loans and the last one sent; at most, see pools_per_publisher() */
#define POOL_SLOT_ALIGN    64
#define POOL_WINDOW_LEAST  2                 /* what a window may shrink to */
#define POOL_WINDOW_SMALL  64                /* a channel of small slots has at least this window */
#define POOL_OWN           200               /* of the smallest class, for simd itself, and for who attaches */
#define POOL_QUEUE_SHARE   64                /* of a class's slots that are left a queue gets one in so many */
#define POOL_QUEUE_LEAST   2                 /* and this at least */
#define POOL_CHUNK_HEADER  40                /* iceoryx's own, beside each slot */
#define POOL_CHUNK_ENTRY   56                /* of each slot with memory, in the management segment */
#define POOL_CHUNK_LISTED  8                 /* of each slot, there too */
#define POOL_MGMT_BYTES    (25LL << 20)      /* the management segment without slots, rounded up: measured */
#define POOL_ASIDE_BYTES   (8LL << 20)       /* put by for the next generation, at the beginning */
#define POOL_BYTES_MAX     ((1LL << 32) - 1) /* above 4 GiB iceoryx 2.0.3 hands out overlapping chunks */

struct pool_class {
	uint64_t size; /* usable bytes of a slot: multiple of 64, ascending */
	uint32_t count;
	uint32_t reserved; /* by channels, publishers and subscribers */
	uint32_t leaving;
	uint32_t committed; /* the first so many have memory */
	uint32_t listed; /* what the channels that the rigs list are to need of it, with their publishers and two subscribers each */
};

/* The operations that give slots their memory. */
struct pool_memory {
	/* Gives it to the first `slots` slots of a class. Negative: to none of them. */
	int (*commit)(void *arg, unsigned cls, uint32_t slots);
	/* The bytes that are put by for the next generation. */
	int64_t (*aside)(void *arg);
	/* The bytes that are left, and the name of the place that has no more; static. */
	int64_t (*room)(void *arg, const char **ret_whose);
};

struct pools {
	unsigned n;
	struct pool_class c[POOLS_MAX];
	bool fixed;  /* all slots have memory from the start: of "pools", or of somebody else's RouDi */
	bool found;  /* an earlier simd has given memory, nobody knows how much */
	int64_t max; /* pools_max: bytes of slots; INT64_MAX: there is no such bound */
	const struct pool_memory *memory; /* NULL: all have it */
	void *memory_arg;
};

/*
 * From "pools", or the built-in ladder. shm_free: bytes that /dev/shm has room for, counting what an own earlier generation will free;
 * < 0: not checked (mem). -ENOSPC, -EINVAL, -EFBIG with the numbers.
 */
int pools_compute(const struct conf *c, int64_t shm_free, struct pools *ret);

/* Bytes of /dev/shm that RouDi takes with all admitted slots, management included. */
int64_t pools_bytes(const struct pools *p);
/* The same in whole MiB: what a start demands and everybody reports. */
int64_t pools_need(const struct pools *p);
/* Bytes for the channels that the rigs list. */
int64_t pools_listed_bytes(const struct pools *p);
/* Bytes of all slots that have memory. */
int64_t pools_committed_bytes(const struct pools *p);
/* How much more there can be: 0 or more. */
int64_t pools_room(const struct pools *p);
/* Largest slot that can be loaned: header and body. */
uint64_t pools_max_slot(const struct pools *p);

/* Class that serves slots of `slot_size` bytes (header and body). -EMSGSIZE with a sentence. */
int pools_class(const struct pools *p, uint64_t slot_size);
/* The slot of a body of so many bytes, and the class that serves it. -EMSGSIZE with a sentence. */
uint64_t pools_slot_of(uint64_t max_body);
int pools_body_class(const struct pools *p, uint64_t max_body);
/* The longest body that the slots of a class hold. */
uint64_t pools_body_max(const struct pools *p, int cls);
/* Default window of a channel whose slots have that size, in a class of so many: 128 .. 2. */
uint32_t pools_window(uint64_t slot_size, uint32_t count);

/* Admission. -ENOSPC with a sentence (what: "channel /x"). */
int pools_reserve(struct pools *p, int cls, uint32_t slots, const char *what);
void pools_release(struct pools *p, int cls, uint32_t slots);
/* So many are out of a class: more cannot be leaving. */
void pools_settle(struct pools *p, int cls, uint32_t used);
/* A generation begins, and what is reserved gets memory; it ends, and has none. -ENOSPC with a sentence. */
int pools_begin(struct pools *p);
void pools_end(struct pools *p);
/* The deepest queue that a subscriber gets in a class: a part of its slots that are left, so that many more find some. */
uint32_t pools_queue_max(const struct pools *p, int cls);
/* The slots of a class that a publisher there may have at once: its loans, and the last one sent. */
uint32_t pools_per_publisher(const struct pools *p, int cls);
/* How many slots a class has left. */
uint32_t pools_left(const struct pools *p, int cls);
/* The slots of a class that a user may still have who has `has` of them, and `has_bytes` in all classes: `percent` of all memory, or the listed channels' need if that is more. */
uint32_t pools_part_left(const struct pools *p, int cls, uint32_t percent, uint32_t has, int64_t has_bytes);
/* The slots of a class that have memory. */
uint32_t pools_backed(const struct pools *p, int cls);
/* Bytes of the payload segment from one slot of a class to the next. */
int64_t pools_chunk_bytes(const struct pools *p, int cls);
/* Where the slots of a class begin in the payload segment. */
int64_t pools_at(const struct pools *p, int cls);
/* Bytes of a slot of the class, with its header and its entry in the management segment. */
int64_t pools_slot_bytes(const struct pools *p, int cls);

#endif
