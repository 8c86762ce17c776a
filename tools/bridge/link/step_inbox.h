/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other hosts have published in a step of lock-step, until it is dispatched here: messages that came, and how many each host says
 * that there are. A step may end when all of it is here; then the messages are taken, in one order (step_order.h).
 *
 *   need() of each COMMIT    got() of each message    is_missing()? ... take() take() ... settled()
 *
 * Pure: no socket, no clock. Thread: one at a time.
 */
#ifndef LINK_STEP_INBOX_H
#define LINK_STEP_INBOX_H

#include <stdbool.h>

#include "step_order.h"

#define STEP_INBOX_ITEMS_MAX 65536u /* messages that are held */
#define STEP_INBOX_NEEDS_MAX 65536u

struct step_item {
	uint64_t step;
	struct step_key key; /* channel: borrowed until it is taken */
	uint64_t channel;    /* a hash of it */
	void *what;          /* the caller's */
};

struct step_need {
	uint64_t step, host, channel, last;
};

struct step_inbox;

int step_inbox_create(struct step_inbox **ret) __attribute__((warn_unused_result));
void step_inbox_destroy(struct step_inbox *x); /* what it holds has been taken */

/* A message has come. True: it is held; false: its step is over, or there is no room: it is the caller's, to be dispatched now. */
bool step_inbox_got(struct step_inbox *x, const struct step_item *item);
/* Of a message that is sent again: it has come before, or its step is over. */
bool step_inbox_had(const struct step_inbox *x, const struct step_item *item);
/* A host has published on a channel up to `last` in a step. */
void step_inbox_need(struct step_inbox *x, const struct step_need *need);
/* Something of the steps up to this one is not here. *ret: what; ever: something of that host and channel has been. */
bool step_inbox_missing(const struct step_inbox *x, uint64_t up_to, struct step_need *ret, bool *ret_ever);
/* It is not waited for any more. */
void step_inbox_give_up(struct step_inbox *x, const struct step_need *need);
/* The next message of the steps up to this one: NULL none. Of steps one after the other, in each in order. */
void *step_inbox_take(struct step_inbox *x, uint64_t up_to);
/* The steps up to this one are over: what was missing of them is not waited for any more. */
void step_inbox_settled(struct step_inbox *x, uint64_t up_to);
/* A message of that channel, out of order; NULL: none. For a channel that is not listened to any more. */
void *step_inbox_take_of(struct step_inbox *x, const char *channel);
/* Steps begin with the one after this: nothing is needed; what is held of it and later ones stays, and all before has been taken. */
void step_inbox_begin(struct step_inbox *x, uint64_t settled);

#endif
