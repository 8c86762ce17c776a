/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages behind the shared memory of the present generation. The segments of a RouDi that we start are sparse: a page is made when it
 * is touched, and who touches one when /dev/shm is full is killed by SIGBUS. So what can be touched is backed with pages before: of the
 * management segment what RouDi and each port write, of the payload segment the slots that are admitted (admission.h) and, of the
 * management segment again, their entries.
 *
 * Where things lie in the management segment: ipc_iox_layout.h; of an iceoryx that lays it out otherwise all of it is backed.
 *
 * Thread: simd-main.
 */
#ifndef SUPERVISE_SEGMENT_COMMIT_H
#define SUPERVISE_SEGMENT_COMMIT_H

#include "admission.h"

struct segment_commit {
	int payload_fd, mgmt_fd; /* -1: none */
	int ballast_fd; /* a file, so that there is room for the next management segment beside what clients keep of this one */
	int64_t ballast; /* its bytes */
	unsigned n;
	uint64_t at[POOLS_MAX];    /* of each class, in the payload segment */
	uint64_t chunk[POOLS_MAX]; /* bytes of each of its slots */
	uint32_t count[POOLS_MAX]; /* of its slots */
	uint32_t slots[POOLS_MAX]; /* that have pages */
	uint64_t mgmt_size, entries_at;
	bool whole; /* all of the management segment has pages: it is laid out otherwise */
};

void segment_commit_init(struct segment_commit *c);
/* Those of the RouDi in that plane, which has these pools; the management segment gets its pages. Negative: -ENOSPC, -errno, with a sentence. */
int segment_commit_begin(struct segment_commit *c, const char *plane, const struct pools *p);
/* Those of a generation that was set aside (roudi_files.h): no page is made. -EPROTO: they are laid out otherwise, or not ours. */
int segment_commit_find(struct segment_commit *c, const char *plane, uint32_t generation, const struct pools *p);
/* Pages for the first so many slots of a class. -ENOSPC: there are none. */
int segment_commit_slots(struct segment_commit *c, unsigned cls, uint32_t slots);
/*
 * When all slots that were admitted have pages, and now and then after that: puts by as many bytes as have been written of the management
 * segment, which grow with each port. If there is no room for them, a restart may have to wait until there is.
 */
void segment_commit_ballast(struct segment_commit *c, const char *plane);
/* The generation has ended: gives what is known of its segments, without the ballast, and is as new. */
struct segment_commit segment_commit_end(struct segment_commit *c);
/* Closes the segments that segment_commit_end() has given. */
void segment_commit_close(struct segment_commit *dead);
/* Where the list of a class's free slots begins in the management segment: of each slot the next free one, or, while it is out, more than count. */
uint64_t segment_commit_list_at(const struct segment_commit *c, unsigned cls);

#endif
