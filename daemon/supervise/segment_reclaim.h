/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of earlier generations of the data plane: the segments of RouDis that have exited. The pages of the payload are freed when the
 * last client has moved on, or after 10 s; mappings stay valid and then read zeros. Where the next generation has no room, pages that were
 * never written are freed before.
 *
 * Thread: simd-main.
 */
#ifndef SUPERVISE_SEGMENT_RECLAIM_H
#define SUPERVISE_SEGMENT_RECLAIM_H

#include "list.h"

#include <stdint.h>

struct exec;

struct segment_reclaim {
	struct exec *x;
	struct list segments; /* dead_segment::link */
};

void segment_reclaim_init(struct segment_reclaim *g, struct exec *x);
/* Forgets them all; the memory is freed with its last mapping. */
void segment_reclaim_finish(struct segment_reclaim *g);
/* payload_fd, mgmt_fd: takes; the second may be -1. */
void segment_reclaim_add(struct segment_reclaim *g, int payload_fd, int mgmt_fd, uint32_t generation);
/* There is no room: what was never written is freed now. */
void segment_reclaim_unwritten(struct segment_reclaim *g);
/* They are no longer read: free all of it now. */
void segment_reclaim_now(struct segment_reclaim *g);

#endif
