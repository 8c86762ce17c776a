/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pools of iceoryx 2.0.3 as they lie in shared memory: which chunks are out, who owns them, which are lost.
 *
 * Where things lie is known of Debian's build (tests/abi holds it against its headers) and proved at run time: the walk
 * from a publisher's port has to arrive at the slot which that publisher has just sent. Nothing here includes or calls iceoryx.
 *
 * Trust: what is read later may have been written by anybody. Geometry is checked once, against the segments, and kept; an index
 * or an offset that comes from shared memory is compared with it before use; no loop is longer than the pools are.
 *
 * Thread: one at a time.
 */
#ifndef IPC_IOX_POOL_H
#define IPC_IOX_POOL_H

#include "ipc_ops.h"

struct iox_pools;

struct iox_pools_where {
	struct ipc_segment mgmt, payload;
	int mgmt_fd; /* of the first, borrowed: only what has been written is looked at, the rest may have no memory; -1: all of it */
	const void *port;   /* PublisherPortData of this process */
	const void *header; /* ChunkHeader of the slot that it sent last */
};

/* -EPROTO: this is not the layout that we know; what does not fit in why. -ENOMEM. */
int iox_pools_open(const struct iox_pools_where *w, struct ipc_text *why, struct iox_pools **ret);
void iox_pools_close(struct iox_pools *p); /* NULL is fine */

unsigned int iox_pools_gauges(const struct iox_pools *p, struct ipc_pool *ret, unsigned int max);
void iox_pools_scan(struct iox_pools *p, const struct ipc_scan_order *o, struct ipc_scan *ret);

#endif
