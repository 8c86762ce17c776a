/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds messages that other hosts published in a lock-step step until they are dispatched here, and how many there are
 * according to each host. A step may end when all have arrived; then the messages are taken, in the same order on every
 * host (step_order.h).
 *
 *   need() of each COMMIT    got() of each message    missing()? ... take() take() ... settled()
 *
 * Thread: one at a time.
 */
#ifndef LINK_STEP_INBOX_H
#define LINK_STEP_INBOX_H

#include <stdbool.h>

#include "step_order.h"

#define STEP_INBOX_ITEMS_MAX 65536u /* messages held at a time */
#define STEP_INBOX_NEEDS_MAX 65536u

struct step_item {
	uint64_t step;
	struct step_key key; /* channel: borrowed until the item is taken */
	uint64_t channel;    /* link_hash() of the channel */
	void *what;          /* owned by the caller */
};

struct step_need {
	uint64_t step, host, channel, last;
};

struct step_inbox;

int step_inbox_create(struct step_inbox **ret) __attribute__((warn_unused_result));
void step_inbox_destroy(struct step_inbox *x); /* the items must have been taken */

/*
 * For each received message. True: it is held; false: its step has ended or there is no room, and the caller publishes
 * it now.
 */
bool step_inbox_got(struct step_inbox *x, const struct step_item *item);
/* For a repeated message: whether it was received before, or its step has ended. */
bool step_inbox_had(const struct step_inbox *x, const struct step_item *item);
/* A host published messages up to number `last` on a channel in a step. */
void step_inbox_need(struct step_inbox *x, const struct step_need *need);
/*
 * Whether a message of the steps up to this one is missing. *ret: which; *ret_ever: a message of that host and channel
 * was received before.
 */
bool step_inbox_missing(const struct step_inbox *x, uint64_t up_to, struct step_need *ret, bool *ret_ever);
/* Stops waiting for the messages that `need` names. */
void step_inbox_give_up(struct step_inbox *x, const struct step_need *need);
/* Takes the next message of the steps up to this one, sorted by step and step_order(). NULL: none. */
void *step_inbox_take(struct step_inbox *x, uint64_t up_to);
/* The steps up to this one have ended: their missing messages are no longer waited for. */
void step_inbox_settled(struct step_inbox *x, uint64_t up_to);
/* Takes any message of a channel, in no order, when its last listener has gone. NULL: none. */
void *step_inbox_take_of(struct step_inbox *x, const char *channel);
/* Starts with the step after `settled`, waiting for nothing. Keeps the items, which must be of later steps. */
void step_inbox_begin(struct step_inbox *x, uint64_t settled);

#endif
