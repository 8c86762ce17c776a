/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a subscriber as iceoryx 2.0.3 has it in shared memory. No API: tests/abi holds it against
 * iceoryx's own headers.
 */
#ifndef IOX_QUEUE_H
#define IOX_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define IOX_QUEUE_MAX 256

struct iox_index_queue { /* concurrent::IndexQueue<256>; its functions are iceoryx's */
	uint64_t words[IOX_QUEUE_MAX + 2];
};

/* concurrent::ResizeableLockFreeQueue<mepoo::ShmSafeUnmanagedChunk, 256>: the queue of a subscriber. */
struct iox_queue {
	struct iox_index_queue free, used;
	uint64_t chunk[IOX_QUEUE_MAX]; /* by index */
	uint64_t size, capacity;       /* atomic */
};

/* popo::ChunkQueueData, as far as it matters: what publishers see of a subscriber's port. */
#define IOX_QUEUE_AT 56 /* its queue */
#define IOX_QUEUE_WAKES \
	8328 /* relative pointer to the condition variable of a waitset, which is what its lock guards */

struct iox_evicted { /* cxx::optional<mepoo::ShmSafeUnmanagedChunk> */
	uint64_t chunk;
	bool has;
};

#endif
