/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How deep the queues of subscribers are. Where memory is short a queue gets what there is; it gives way to a publisher that would find
 * no room on its channel, and gets more when there is more. A queue changes in the client: it is told that the channel's queues are to
 * change (an event), asks how deep its own is to be, makes another port, and says so when the old one is gone. Only then it counts as
 * shorter.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_QUEUES_H
#define REGISTRY_QUEUES_H

#include <stdint.h>

struct channel;
struct client;
struct simd;
struct subscriber;

/* Reserves a queue as deep as its channel's class has room for, sub->wanted at most. -ENOSPC with a sentence: not even for the least. */
int queues_reserve(struct subscriber *sub);
/*
 * A publisher of cl found no room on the channel: it needs `slots` more of a class, and the queues what they hold. -EAGAIN with a sentence:
 * they are getting shorter; -ENOSPC, and the sentence that there is stays: that would not do, or a client has not done it in time.
 */
int queues_give_way(const struct client *cl, struct channel *ch, int cls, uint32_t slots);
/* Its client has only one of that depth. Returns the one that it is to have. */
uint32_t queues_told(struct subscriber *sub, uint32_t depth);
/* Once a second: those that were cut, and windows, get more where there is more, and no publisher waits for it. */
void queues_look(struct simd *s);

#endif
