/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of all channels that a recorder has received and not written yet, in order of arrival. Bounded in bytes: if
 * there is no room, the oldest large message is dropped, and a small one (the oldest) only if no large one is left.
 *
 * Thread: any, under the owner's lock.
 */
#ifndef SIMCTL_RECORD_BACKLOG_H
#define SIMCTL_RECORD_BACKLOG_H

#include <sim/slot.h>

#include "record/recording.h"

#define BACKLOG_BYTES ((size_t)256 << 20)
#define BACKLOG_LEAST ((size_t)4 << 20)
#define BACKLOG_LARGE ((size_t)64 << 10) /* bodies from this size on are large */

struct backlog;

struct backlog_item { /* owned by the caller of backlog_take() until backlog_free() */
	void *owner;
	struct sim_message m;           /* of the copy, or of `held` */
	const struct sim_message *held; /* not copied: its owner releases it; NULL: copied */
	struct recording_moment at;
};

/*
 * Default size of a backlog when `left` bytes of memory are available: a quarter of them, between BACKLOG_LEAST and
 * BACKLOG_BYTES.
 */
size_t backlog_share(int64_t left);
/*
 * lost: called when a message of that owner is dropped; held: its message if not copied, else NULL. It must not call
 * back into the backlog. bytes 0: BACKLOG_BYTES. -ENOMEM.
 */
int backlog_create(size_t bytes, void (*lost)(void *owner, const struct sim_message *held), struct backlog **ret);
void backlog_destroy(struct backlog *b); /* NULL-safe; remaining messages are not reported as lost */

/*
 * held: stores the pointer without a copy; else copies m, and the caller may release it. A message that does not fit is
 * reported as lost.
 */
void backlog_put(struct backlog *b, void *owner, const struct sim_message *m, bool held,
		 const struct recording_moment *at);
/* The oldest message, to be freed with backlog_free(); NULL: empty. */
struct backlog_item *backlog_take(struct backlog *b);
void backlog_free(struct backlog_item *i);
/* Drops all messages of that owner as lost. */
void backlog_drop(struct backlog *b, const void *owner);
size_t backlog_count(const struct backlog *b);

#endif
