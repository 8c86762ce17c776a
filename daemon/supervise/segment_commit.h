/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages behind the shared memory of the present generation. The segments of a RouDi that simd starts are sparse: a
 * page is allocated when it is first touched, and a process that touches one when /dev/shm is full is killed by SIGBUS.
 * So simd allocates the pages before they can be touched: in the management segment those that RouDi and each port
 * write, in the payload segment those of the admitted slots (admission.h), and in the management segment the entries of
 * these slots.
 *
 * Layout of the management segment: ipc_iox_layout.h. If iceoryx has another layout, the whole segment gets pages.
 *
 * Thread: simd-main.
 */
#ifndef SUPERVISE_SEGMENT_COMMIT_H
#define SUPERVISE_SEGMENT_COMMIT_H

#include "admission.h"

struct segment_commit {
	int payload_fd, mgmt_fd; /* -1: not open */
	/* a file that reserves room for the next management segment, while clients still hold pages of this one */
	int ballast_fd;
	int64_t ballast; /* bytes reserved in it */
	unsigned n;
	uint64_t at[POOLS_MAX];    /* offset of each class in the payload segment */
	uint64_t chunk[POOLS_MAX]; /* bytes of one slot */
	uint32_t count[POOLS_MAX]; /* slots in the class */
	uint32_t slots[POOLS_MAX]; /* slots that have pages */
	uint64_t mgmt_size, entries_at;
	bool whole; /* the layout is unknown, so the whole management segment has pages */
};

void segment_commit_init(struct segment_commit *c);
/*
 * Opens the segments of the RouDi in that plane, which has these pools, and allocates the pages of the management
 * segment. -ENOSPC or another negative errno, with err_why() set.
 */
int segment_commit_begin(struct segment_commit *c, const char *plane, const struct pools *p);
/*
 * Opens the segments of a generation that was set aside (roudi_files.h), and allocates no pages. -EPROTO: the layout is
 * unknown, or a file is a link or belongs to another user.
 */
int segment_commit_find(struct segment_commit *c, const char *plane, uint32_t generation, const struct pools *p);
/* Allocates pages for the first `slots` slots of a class. -ENOSPC: /dev/shm is full. */
int segment_commit_slots(struct segment_commit *c, unsigned cls, uint32_t slots);
/*
 * Reserves as many bytes as have been written to the management segment, which grow with each port. Called when all
 * admitted slots have pages, and regularly after that. If /dev/shm has no room for the reserve, a restart may have to
 * wait for room.
 */
void segment_commit_ballast(struct segment_commit *c, const char *plane);
/* The generation has ended: returns its open segments, without the ballast, and resets *c. */
struct segment_commit segment_commit_end(struct segment_commit *c);
/* Closes the segments returned by segment_commit_end(). */
void segment_commit_close(struct segment_commit *dead);
/*
 * Offset in the management segment of a class's list of free slots: for each slot the number of the next free one, or a
 * number above count while the slot is in use.
 */
uint64_t segment_commit_list_at(const struct segment_commit *c, unsigned cls);

#endif
