/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depths of subscribers' queues. If memory is short, a queue gets what is left; it shrinks for a publisher that would
 * find no room on its channel, and grows when there is room again. The client changes its queue: an event tells it that
 * the channel's queues are to change; it asks for its new depth, makes another port, and reports when the old one is
 * gone. Only then the queue counts as shorter.
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

/*
 * Reserves a queue as deep as the channel's class has room for, at most sub->wanted. -ENOSPC, with err_why() set: no
 * room even for the least depth.
 */
int queues_reserve(struct subscriber *sub);
/*
 * A publisher of cl needs `slots` more slots of a class on the channel, and finds no room: asks the channel's
 * subscribers to shrink. -EAGAIN, with err_why() set: they are shrinking. -ENOSPC, with err_why() unchanged: shrinking
 * would not free enough, or a client did not shrink in time.
 */
int queues_give_way(const struct client *cl, struct channel *ch, int cls, uint32_t slots);
/* The subscriber's client has only a queue of that depth now. Returns the depth that it is to have. */
uint32_t queues_told(struct subscriber *sub, uint32_t depth);
/* Called once a second: enlarges queues and windows that were cut, if there is room and no publisher waits for it. */
void queues_look(struct simd *s);

#endif
