/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: makes tuples of the messages of one to four inputs, for a component (sim/component.h explains the three
 * kinds). Input 0 drives: each of its messages becomes one tuple, or is dropped and counted. With a single input every
 * kind is a queue.
 *
 * Tuples wait in a ring of input 0's pending size; in the kinds that wait, where one partner may complete many messages
 * at once, of depth[0] if that is more. If a tuple is overwritten before it was fetched, the next fetch continues with
 * the newest, and all skipped tuples are counted. Tuples made before the first fetch are fetched too (a visitor of
 * Cyber begins with the newest).
 *
 *   all-latest  a message of input 0 is dropped while a partner has never had a message; each such partner counts it
 *   hold        it waits until each partner has had one; then all waiting messages go, in order, with the latest of
 *               that moment. From then on as all-latest. If more than depth[0] wait, the oldest is dropped, counted at
 *               each missing partner
 *   by-time     of partner i the last depth[i] messages are kept. A message of input 0 takes the nearest of them by
 *               stamp as soon as one of them is at or after its own stamp; later arrivals are not considered. Of two
 *               equally near the earlier stamp is taken, of equal stamps the first that came. If the nearest is beyond
 *               the tolerance, the message is dropped, counted at that partner (at each, if several are known at once).
 *               Tuples come in the order in which they are complete: that of input 0, as long as its stamps do not go
 *               back. More than depth[0] that wait: as with hold. Stamps of several publishers need not be in order:
 *               each message is compared by itself, and one with a wrong stamp is forgotten after depth[i] others
 *
 * Thread: any; its own lock, held for a few instructions (by-time: some for each message kept). Dropped references are
 * released outside it. Nothing is allocated after create.
 */
#ifndef COMPONENT_FUSION_H
#define COMPONENT_FUSION_H

#include <stdbool.h>
#include <stdint.h>

#include <sim/component.h>

#include "cache.h"

struct fusion;

struct fusion_options {
	enum sim_fusion kind;
	uint32_t n;       /* inputs, 1..4 */
	uint32_t pending; /* ring size for tuples that wait, 1..CACHE_MAX */
	/*
	 * hold (only [0]), by-time: messages that wait for partners [0], that may still become the nearest [1..],
	 * 1..CACHE_MAX each
	 */
	uint32_t depth[SIM_COMPONENT_INPUTS];
	int64_t tolerance_dur_ns; /* by-time: > 0 */
};

struct fusion_stats {
	uint64_t fetched;
	uint64_t overrun; /* tuples skipped for the newest */
	/* messages of input 0 dropped because this input was missing; one message may count at several inputs */
	uint64_t unmatched[SIM_COMPONENT_INPUTS];
};

/* -EINVAL with a sentence, -ENOMEM. */
int fusion_create(const struct fusion_options *o, struct fusion **ret);
void fusion_destroy(struct fusion *f); /* not in use any more; NULL is fine */

/* Borrows m. Returns true if a tuple can be fetched that was not there before. */
bool fusion_put(struct fusion *f, unsigned input, struct msg *m);
/* Fetches the next tuple with its references, which the caller releases. False: none. */
bool fusion_fetch(struct fusion *f, struct tuple *ret);
/* After a jump of time: drops all it holds, the latest messages too, as they belong to the old run. Not counted. */
void fusion_clear(struct fusion *f);
void fusion_stats(struct fusion *f, struct fusion_stats *ret);

#endif
