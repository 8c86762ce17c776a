/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Size classes of the data plane's memory: which RouDi makes, which class and window a channel
 * gets, and the account that admits a publisher or a subscriber only while queues, messages in flight and 9
 * slots per publisher fit its class. So a well-behaved client never meets an empty pool.
 *
 * Thread: simd-main. All numbers here are ours; nothing is read from shared memory.
 */
#ifndef REGISTRY_ADMISSION_H
#define REGISTRY_ADMISSION_H

#include "conf.h"

#include <stdint.h>

#define POOLS_MAX          32
#define POOL_PER_PUBLISHER 9 /* iceoryx: 8 loans and the last one sent */
#define POOL_SLOT_ALIGN    64
#define POOL_WINDOW_SMALL  64                /* a channel of small slots has at least this window */
#define POOL_CHUNK_HEADER  40                /* iceoryx's own, beside each slot */
#define POOL_CHUNK_MGMT    64                /* of each slot, in the management segment */
#define POOL_MGMT_BYTES    (63LL << 20)      /* the management segment without slots, rounded up: measured */
#define POOL_BYTES_MAX     ((1LL << 32) - 1) /* above 4 GiB iceoryx 2.0.3 hands out overlapping chunks */

struct pool_class {
	uint64_t size; /* usable bytes of a slot: multiple of 64, ascending */
	uint32_t count;
	uint32_t reserved; /* by channels, publishers and subscribers */
	uint32_t listed; /* what the channels that the rigs list are to need of it, with their publishers and two subscribers each */
};

struct pools {
	unsigned n;
	struct pool_class c[POOLS_MAX];
};

/*
 * From "pools", or the built-in ladder grown to the rigs' channels. shm_free: bytes that /dev/shm has
 * room for, counting what an own earlier generation will free; < 0: not checked (mem). Two generations must fit,
 * because during a restart the old one is still held. -ENOSPC, -EINVAL, -EFBIG with the numbers.
 */
int pools_compute(const struct conf *c, int64_t shm_free, struct pools *ret);

/* What one RouDi takes in /dev/shm, management included; at most 1 MiB more than it does. */
int64_t pools_bytes(const struct pools *p);
/* What /dev/shm must have room for, two of them, in whole MiB: what a start demands and everybody reports. */
int64_t pools_need(const struct pools *p);
/* Largest slot that can be loaned: header and body. */
uint64_t pools_max_slot(const struct pools *p);

/* Class that serves slots of `slot_size` bytes (header and body). -EMSGSIZE with a sentence. */
int pools_class(const struct pools *p, uint64_t slot_size);
/* Default window of a channel whose slots have that size, in a class of so many: 128 .. 2. */
uint32_t pools_window(uint64_t slot_size, uint32_t count);

/* Admission. -ENOSPC with a sentence (what: "channel /x"). */
int pools_reserve(struct pools *p, int cls, uint32_t slots, const char *what);
void pools_release(struct pools *p, int cls, uint32_t slots);
/* How many slots a class has left. */
uint32_t pools_left(const struct pools *p, int cls);
/* How many of a class one user may have: so much of it, but never less than what the rigs list. */
uint32_t pools_part(const struct pools *p, int cls, uint32_t percent);

#endif
