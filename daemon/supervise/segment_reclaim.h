/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of dead lives of the data plane: the payload segments of RouDis that are gone. Their pages are given
 * back when the last client has moved on, or after 10 s; mappings stay valid and then read zeros.
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
	struct list lives; /* dead_segment::link */
};

void segment_reclaim_init(struct segment_reclaim *g, struct exec *x);
/* Forgets them all; the memory goes with its last mapping. */
void segment_reclaim_finish(struct segment_reclaim *g);
/* segment_fd: takes. */
void segment_reclaim_add(struct segment_reclaim *g, int segment_fd, uint32_t generation);
/* Nobody reads them any more: give all of it back now. */
void segment_reclaim_now(struct segment_reclaim *g);

#endif
