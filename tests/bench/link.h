/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pair of processes, sender on CPU 0 and receiver on CPU 1, that hand messages over one at a time, by one of
 * several means, on command of the orchestrator: floor, peer and ours are measured by the same two processes.
 */
#ifndef LINK_H
#define LINK_H

#include <stdatomic.h>

#include "bench.h"

#define LINK_SAMPLES 20000
#define LINK_BURST   60 /* messages; less than the receiver's queue holds */

enum link_mode {
	LINK_STOP,
	LINK_FUTEX,     /* a store and a futex: the floor of any event-driven hand-over */
	LINK_OURS,      /* publish_local -> sim_wait, sim_take */
	LINK_RAW,       /* iceoryx's C binding: waitset, take */
	LINK_OURS_RATE, /* bursts of LINK_BURST: sent while the receiver waits, then taken while the sender does */
	LINK_RAW_RATE,
};

struct link_arena {
	_Atomic uint32_t command; /* bumped by the orchestrator, which then rings */
	uint32_t bell;
	_Atomic uint32_t done[2]; /* commands finished: sender, receiver */
	_Atomic int failed;
	_Atomic int ready[2];
	uint32_t mode, size_class /* enum link_class */, count;

	_Alignas(64) _Atomic uint32_t word;  /* the floor's futex */
	_Alignas(64) _Atomic uint32_t armed; /* receiver is about to wait for message n */
	_Alignas(64) _Atomic uint32_t acked; /* receiver has had message n */
	_Atomic int64_t sent_mono_ns;
	int64_t faults[2];           /* page faults in the first message: sender, receiver */
	double sample[LINK_SAMPLES]; /* rate modes: a burst's sending */
	double taken[LINK_SAMPLES];  /* and its taking, ns */
};

struct link_pair {
	struct bench *b;
	struct link_arena *arena;
	bool raw; /* the pair uses the raw binding for LINK_RAW */
	pid_t pid[2];
	char tag[32];
};

int link_start(struct bench *b, const char *tag, bool raw, struct link_pair *ret);
void link_stop(struct link_pair *p);
/* Run `count` hand-overs, or bursts; the samples are in the arena, ns. */
int link_run(struct link_pair *p, enum link_mode mode, unsigned size_class, unsigned count);
/* Median of that, ns. */
double link_latency(struct link_pair *p, enum link_mode mode, unsigned size_class, unsigned count);
/*
 * Messages a second of a rate mode, from the medians of `bursts` bursts. Sender and receiver take turns, so that neither
 * the scheduler nor which of them is ahead decides the figure.
 */
double link_rate(struct link_pair *p, enum link_mode mode, unsigned bursts);

/* Channels of a pair, by body size; the receiver of the last one spins before it sleeps. */
enum link_class { LINK_64B, LINK_6MIB, LINK_24MIB, LINK_64B_SPIN, LINK_CLASSES };
extern const size_t link_sizes[LINK_CLASSES];

#endif
