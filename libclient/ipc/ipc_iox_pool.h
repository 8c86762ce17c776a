/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pools of iceoryx 2.0.3 in shared memory: which chunks are out, which ports own them, which are lost.
 *
 * The layout is that of Debian's build (tests/abi checks it against its headers) and is verified at run time: the walk
 * from a publisher's port must arrive at the slot which that publisher has just sent. Nothing here includes or calls
 * iceoryx.
 *
 * Trust: data read later may have been written by any process. Geometry is checked once, against the segments, and
 * kept; an index or an offset from shared memory is checked before use; no loop is longer than the pools are.
 *
 * Thread: one at a time.
 */
#ifndef IPC_IOX_POOL_H
#define IPC_IOX_POOL_H

#include "ipc_ops.h"

struct iox_pools;

struct iox_pools_where {
	struct ipc_segment mgmt, payload;
	/* of mgmt, borrowed: only written pages are read, the others may have no memory; -1: read all of it */
	int mgmt_fd;
	const void *port;   /* PublisherPortData of this process */
	const void *header; /* ChunkHeader of the slot that it sent last */
};

/* -EPROTO: not the known layout; why says what differs. -ENOMEM. */
int iox_pools_open(const struct iox_pools_where *w, struct ipc_text *why, struct iox_pools **ret);
void iox_pools_close(struct iox_pools *p); /* NULL is fine */

unsigned int iox_pools_gauges(const struct iox_pools *p, struct ipc_pool *ret, unsigned int max);
void iox_pools_scan(struct iox_pools *p, const struct ipc_scan_order *o, struct ipc_scan *ret);

#endif
