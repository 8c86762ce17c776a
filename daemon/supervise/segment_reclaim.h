/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of earlier generations of the data plane: the segments of RouDis that have exited. The pages of the payload are freed when the
 * last client has moved on; mappings stay valid and then read zeros. Of a generation whose clients have not all moved within 10 s those of
 * the free slots are: a client that holds a slot may write to it whenever it goes on, and then there may be no other page for it. Where the
 * next generation has no room, the free slots and the unwritten pages of the management segment are freed at once, and after these 10 s all.
 *
 * Thread: simd-main.
 */
#ifndef SUPERVISE_SEGMENT_RECLAIM_H
#define SUPERVISE_SEGMENT_RECLAIM_H

#include "list.h"

#include <stdint.h>

struct exec;
struct pools;
struct segment_commit;

struct segment_reclaim {
	struct exec *x;
	const char *plane;    /* where they are set aside; "": nowhere */
	struct list segments; /* dead_segment::link */
};

/* plane: keeps. */
void segment_reclaim_init(struct segment_reclaim *g, struct exec *x, const char *plane);
/* Forgets them all; the memory is freed with its last mapping. */
void segment_reclaim_finish(struct segment_reclaim *g);
/* dead: takes its descriptors. It was set aside (roudi_files.h), and is forgotten there when all of it is freed. */
void segment_reclaim_add(struct segment_reclaim *g, struct segment_commit *dead, uint32_t generation);
/* Adds those, of which it does not know yet, which an earlier simd has set aside, whose RouDis had these pools; NULL: others, then they are forgotten. */
void segment_reclaim_inherit(struct segment_reclaim *g, const struct pools *p);
/* There is no room for the next generation: the pages that can be spared go back now. */
void segment_reclaim_for_room(struct segment_reclaim *g);
/* They are no longer read: free all of it now. */
void segment_reclaim_now(struct segment_reclaim *g);

#endif
