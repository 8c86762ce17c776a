/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots that killed processes had in hand, found by ipc_scan() and freed: what may be freed, and when. Nothing is that a
 * living process may be using:
 *
 * A slot with the origin of a publisher that has ended can still be (1) in that process, (2) with a bridge, or in simd's queue,
 * (3) with a subscriber of its channel, in its queue or in hand, (4) in the hand of another publisher of the channel that
 * has just pushed it out of simd's queue. So it is freed when the process has exited and RouDi has freed its ports (1); dispatch
 * has reaped the publisher: it has found its queue empty since then and released all its messages (2); and every
 * process that has ever subscribed to the channel has ended likewise, one that unsubscribed may still hold what it took
 * (3). Where the channel has other publishers, or simd's queue was full (4), or has replaced another one of simd's in the
 * last 10 s, which RouDi removes later than we release it, or where simd may hear a publisher that dispatch does not know, what
 * follows is waited for too.
 *
 * The others (no origin, no owner, counted down to 0, or referred to by no port: as those of a dead publisher whose channel has
 * subscribers) are between two instructions of some process. They are freed when in each look over 10 s they were the same while every
 * process that is attached was known to simd, none was stopped, and none was dead with its ports not freed yet: then no living one
 * can have been between these instructions all the time. With nobody attached but simd, and nothing in dispatch, the same holds
 * of all slots that are not of its own publishers.
 *
 * While an application is attached that has no session here, it may have subscribed to anything: nothing is freed.
 *
 * What a client says of its publishers (their origin) can only concern publishers that have ended: one that a living publisher has, or
 * simd itself, is left out. Thread: simd-main.
 */
#ifndef REGISTRY_SLOT_RECLAIM_H
#define REGISTRY_SLOT_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct publisher;
struct simd;
struct slot_reclaim;

int slot_reclaim_create(struct simd *s);
void slot_reclaim_destroy(struct simd *s);

/* The client subscribes to that channel: before it is told so. -ENOMEM. */
int slot_reclaim_heard(const struct client *cl, const char *channel);
/* The publisher ends, by itself or with its client. dispatched: dispatch knows it, slot_reclaim_reaped() follows. */
void slot_reclaim_ended(const struct client *cl, uint32_t publisher_id, uint64_t origin, const char *channel,
			bool dispatched);
/* Nothing of the publisher is in dispatch any more. overflowed: simd's queue of the channel has been full. */
void slot_reclaim_reaped(struct simd *s, uint32_t publisher_id, bool overflowed);
/* RouDi has freed the ports of that application, which has exited; its files may stay. */
void slot_reclaim_forgotten(struct simd *s, const char *app);
/* The generation of the data plane is over, and with it what was lost in it. */
void slot_reclaim_restart(struct simd *s);

/* Slots freed since the start. */
uint64_t slot_reclaim_count(const struct simd *s);
/* Why nothing is freed: a sentence; "": it is. */
const char *slot_reclaim_why(const struct simd *s);

#endif
