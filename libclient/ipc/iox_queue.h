/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a subscriber as iceoryx 2.0.3 has it in shared memory. Not an API: tests/abi checks it against iceoryx's
 * own headers.
 */
#ifndef IOX_QUEUE_H
#define IOX_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define IOX_QUEUE_MAX 256

struct iox_index_queue {              /* concurrent::IndexQueue<256>; its functions are iceoryx's */
	uint64_t cell[IOX_QUEUE_MAX]; /* an index, and the round in which it was stored: round * 256 + index */
	uint64_t read, write;         /* round * 256 + cell */
};

/* concurrent::ResizeableLockFreeQueue<mepoo::ShmSafeUnmanagedChunk, 256>: the queue of a subscriber. */
struct iox_queue {
	struct iox_index_queue free, used;
	uint64_t chunk[IOX_QUEUE_MAX]; /* by index */
	uint64_t size, capacity;       /* atomic */
};

/*
 * popo::ChunkQueueData, what publishers use of a subscriber's port. It begins with its lock; then come the queue, the
 * indices beyond its capacity (u64[256], followed by their number), and a relative pointer to the condition variable of
 * a waitset, which is all that the lock guards.
 */
#define IOX_QUEUE_AT     56
#define IOX_QUEUE_UNUSED 6256
#define IOX_QUEUE_WAKES  8328

/*
 * A mark identifies the lock of a queue. It is in a member that glibc uses only for other kinds of mutexes, and clears
 * when it initialises one. The mark outlives the mutex, whose kind is then negative.
 */
#define IOX_QUEUE_MARK 0x5153

struct iox_evicted { /* cxx::optional<mepoo::ShmSafeUnmanagedChunk> */
	uint64_t chunk;
	bool has;
};

#endif
