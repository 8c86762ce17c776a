/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recorder has received and not written yet, of all channels, in the order in which it came. Bounded in bytes: where there is no room
 * the oldest large message goes, and only when there is none the oldest small one; so no small message is lost before every large one is.
 *
 * Thread: one at a time, under its owner's lock.
 */
#ifndef SIMCTL_RECORD_BACKLOG_H
#define SIMCTL_RECORD_BACKLOG_H

#include <sim/slot.h>

#include "record/recording.h"

#define BACKLOG_BYTES ((size_t)256 << 20)
#define BACKLOG_LEAST ((size_t)4 << 20)
#define BACKLOG_LARGE ((size_t)64 << 10) /* a body from that size on is large */

struct backlog;

struct backlog_item { /* between take and free its taker's */
	void *owner;
	struct sim_message m;           /* of a copy, or of what is held */
	const struct sim_message *held; /* not copied: its owner releases it; NULL: copied */
	struct recording_moment at;
};

/* The bytes of one that nobody has given a bound, where so many are left of memory: a quarter of it, BACKLOG_BYTES at most. */
size_t backlog_share(int64_t left);
/* lost: one of the owner's was dropped, with what it held, if anything; must not call back. bytes 0: BACKLOG_BYTES. -ENOMEM. */
int backlog_create(size_t bytes, void (*lost)(void *owner, const struct sim_message *held), struct backlog **ret);
void backlog_destroy(struct backlog *b); /* NULL is fine; the messages left in it are not counted as lost */

/* held: keep the pointer, and copy nothing; else m is copied, and can be released. What cannot be kept is lost. */
void backlog_put(struct backlog *b, void *owner, const struct sim_message *m, bool held,
		 const struct recording_moment *at);
/* The oldest, for backlog_free(); NULL: none. */
struct backlog_item *backlog_take(struct backlog *b);
void backlog_free(struct backlog_item *i);
/* All of the owner's are lost. */
void backlog_drop(struct backlog *b, const void *owner);
size_t backlog_count(const struct backlog *b);

#endif
