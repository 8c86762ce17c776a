/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: makes tuples of the messages of one to four inputs, for a component (sim/component.h explains the three kinds).
 * Input 0 drives: each of its messages becomes one tuple, or is dropped and counted. An input alone is a queue, of any kind.
 *
 * Tuples wait in a ring of input 0's pending size; of the kinds that wait, where one partner may complete many messages at once,
 * it has depth[0] if that is more. When a tuple is overwritten before it was fetched, the next fetch goes on with the newest, and
 * all it passes over are counted. What came before the first fetch is fetched too (a visitor of Cyber begins with the newest).
 *
 *   all-latest  a message of input 0 is dropped while a partner has never arrived, counted at each one that has not
 *   hold        it waits until each partner has arrived once; all that waited then go, in order, with what is the latest at that
 *               moment. From then on all-latest. More than depth[0] that wait: the oldest is dropped, counted at each missing one
 *   by-time     of partner i the last depth[i] messages are kept. A message of input 0 takes the nearest of them by stamp as soon as one of
 *               them is at or after its own stamp; what comes later is too late for it. Of two as near the earlier stamp is taken,
 *               of equal stamps the first that came. Nearest is further off than the tolerance: dropped, counted at that partner (at
 *               each, where several are known at once). Tuples come in the order in which they are complete: that of input 0, as
 *               long as its stamps do not go back. More than depth[0] that wait: as with hold. Stamps of several publishers need not
 *               be in order: each message is looked at for itself, and an odd one is forgotten after depth[i] others
 *
 * Thread: any; its own lock, held for a few instructions (by-time: some for each message that is kept). References that fall are
 *         released outside it. Nothing is allocated after create.
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
	uint32_t pending; /* tuples that wait, 1..CACHE_MAX */
	/* hold ([0] alone), by-time: messages that wait for partners [0], that may yet be the nearest [1..], 1..CACHE_MAX each */
	uint32_t depth[SIM_COMPONENT_INPUTS];
	int64_t tolerance_dur_ns; /* by-time: > 0 */
};

struct fusion_stats {
	uint64_t fetched;
	uint64_t overrun; /* tuples skipped for the newest */
	uint64_t unmatched
		[SIM_COMPONENT_INPUTS]; /* messages of input 0 dropped for want of this one; one may count at several */
};

/* -EINVAL with a sentence, -ENOMEM. */
int fusion_create(const struct fusion_options *o, struct fusion **ret);
void fusion_destroy(struct fusion *f); /* nobody uses it any more; NULL is fine */

/* Borrows m. True: there is something to fetch now that was not there before. */
bool fusion_put(struct fusion *f, unsigned input, struct msg *m);
/* The next tuple; returns references, which the caller gives back. False: none. */
bool fusion_fetch(struct fusion *f, struct tuple *ret);
/* Time has jumped: what it holds belongs to the old run, and goes, the latest too. Not counted. */
void fusion_clear(struct fusion *f);
void fusion_stats(struct fusion *f, struct fusion_stats *ret);

#endif
