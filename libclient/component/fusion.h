/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: makes tuples of the messages of one to four inputs, for a component (sim/component.h explains the three kinds).
 * Input 0 drives. Tuples wait in a cache of input 0's pending size.
 *
 * Thread: any; its own lock, held for a few instructions. References that fall are given back outside it.
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
	uint32_t pending; /* tuples that wait, 1..256 */
	/* hold, by-time: messages of an input that wait for partners, or may yet be the nearest, 1..256 each */
	uint32_t depth[SIM_COMPONENT_INPUTS];
	int64_t tolerance_dur_ns; /* by-time */
};

struct fusion_stats {
	uint64_t fetched;
	uint64_t overrun;                         /* tuples, or messages of input 0 that waited, skipped for the newest */
	uint64_t unmatched[SIM_COMPONENT_INPUTS]; /* messages of input 0 dropped for want of this one */
};

int fusion_create(const struct fusion_options *o, struct fusion **ret); /* -EINVAL, -ENOMEM */
void fusion_destroy(struct fusion *f);

/* Borrows m. True: there is something to fetch now that was not there before. */
bool fusion_put(struct fusion *f, unsigned input, struct msg *m);
/* The next tuple; returns references, which the caller gives back. False: none. */
bool fusion_fetch(struct fusion *f, struct tuple *ret);
/* Time has jumped: what it holds belongs to the old run, and goes. */
void fusion_clear(struct fusion *f);
void fusion_stats(struct fusion *f, struct fusion_stats *ret);

#endif
