/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frees the memory of earlier generations of the data plane: segments of RouDis that have exited. The payload's pages
 * are freed when the last client has moved to a newer generation; mappings stay valid and then read zeros. If some
 * clients have not moved within 10 s, only the pages of free slots are freed: a client that holds a slot may still
 * write to it, and then there may be no other page for it. If the next generation has no room, the free slots and the
 * unwritten pages of the management segment are freed at once, and everything after the 10 s.
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
	const char *plane;    /* directory where dead segments are set aside; "": they are not */
	struct list segments; /* dead_segment::link */
};

/* plane: borrowed. */
void segment_reclaim_init(struct segment_reclaim *g, struct exec *x, const char *plane);
/* Forgets all dead segments; their memory is freed with its last mapping. */
void segment_reclaim_finish(struct segment_reclaim *g);
/*
 * Adds a dead generation; owns its descriptors. It was set aside (roudi_files.h); its files are removed when all of its
 * memory is freed.
 */
void segment_reclaim_add(struct segment_reclaim *g, struct segment_commit *dead, uint32_t generation);
/*
 * Adds the generations that an earlier simd has set aside, unless they are known already. p: the pools that their
 * RouDis had; NULL: other pools, then their files are removed and their memory is freed with its last mapping.
 */
void segment_reclaim_inherit(struct segment_reclaim *g, const struct pools *p);
/* The next generation has no room: frees the pages that can be spared now. */
void segment_reclaim_for_room(struct segment_reclaim *g);
/* No client reads these segments any more: frees all of them now. */
void segment_reclaim_now(struct segment_reclaim *g);

#endif
