/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frees slots that killed processes had in hand, found by ipc_scan(). A slot is freed only when no living process can
 * be using it:
 *
 * A slot with the origin of an ended publisher can still be (1) in the publisher's process; (2) with a bridge, or in
 * simd's queue; (3) with a subscriber of its channel, in the queue or in hand; (4) with another publisher of the
 * channel, which has just pushed it out of simd's queue. So it is freed when (1) the process has exited and RouDi has
 * freed its ports; (2) dispatch has reaped the publisher: it has found its queue empty since, and has released all its
 * messages; (3) every process that has ever subscribed to the channel has exited and its ports are freed: one that has
 * unsubscribed may still hold what it took. In three cases the 10 s of the next paragraph must pass too: the channel
 * has other publishers, or simd's queue was full (4); simd's queue has replaced another one in the last 10 s, which
 * RouDi removes later than simd releases it; or simd may receive from a publisher that dispatch does not know.
 *
 * The other lost slots (without origin or owner, with a reference count of 0, or referred to by no port, such as those
 * of a dead publisher whose channel has subscribers) look like slots that a process is working on between two
 * instructions. They are freed when they were the same in each look over 10 s, and in all these looks every attached
 * process was known to simd, no process was stopped, and no dead process had ports that were not freed yet: no living
 * process can have been between these instructions all the time. If only simd is attached and dispatch is empty, the
 * same holds for all slots that do not belong to simd's own publishers.
 *
 * While an application without a session is attached, nothing is freed: it may have subscribed to anything.
 *
 * An origin that a client claims for its publishers counts only if the publisher has ended: origins of living
 * publishers, and of simd itself, are skipped. Thread: simd-main.
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

/* To be called before the answer to the client that subscribes to that channel. -ENOMEM. */
int slot_reclaim_heard(const struct client *cl, const char *channel);
/* The publisher ends, by itself or with its client. dispatched: dispatch knows it, so slot_reclaim_reaped() follows. */
void slot_reclaim_ended(const struct client *cl, uint32_t publisher_id, uint64_t origin, const char *channel,
			bool dispatched);
/* Dispatch holds nothing of the publisher any more. overflowed: simd's queue of the channel has been full. */
void slot_reclaim_reaped(struct simd *s, uint32_t publisher_id, bool overflowed);
/* RouDi has freed the ports of that application, which has exited; its files may remain. */
void slot_reclaim_forgotten(struct simd *s, const char *app);
/* The generation of the data plane has ended, and with it the slots lost in it. */
void slot_reclaim_restart(struct simd *s);

/* Slots freed since the start. */
uint64_t slot_reclaim_count(const struct simd *s);
/* Why no slots are freed: a sentence; "": they are. */
const char *slot_reclaim_why(const struct simd *s);

#endif
