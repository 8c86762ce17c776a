/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion records: what a publisher remembers of each message that simd accepted, so that its
 * callback runs exactly once. A record is armed by the publishing thread before the slot goes out, and
 * claimed once, by whoever ends it: simd's completion, the loss of simd or of the data plane, or the
 * publishing thread that takes the message back. The claim is a compare-and-swap; nothing is allocated.
 *
 * The table is larger than any window, because simd frees a credit before its completion is read here.
 * A full table counts as "no credit": the producer waits, unless it is the one who has to read.
 *
 * Thread: record_arm, record_take_back by the publishing thread; the rest under client::lock.
 */
#ifndef SRC_COMPLETION_H
#define SRC_COMPLETION_H

#include <sim/publisher.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "session.h"

#define RECORDS_MAX 256u /* a power of two, at least 2 * WIRE_WINDOW_MAX */

enum record_state {
	RECORD_FREE,
	RECORD_ARMED,
	RECORD_DONE, /* claimed; its callback has not run yet */
};

/* What a message has claimed. */
struct claim {
	_Atomic uint64_t *credit, *token; /* NULL: none */
	uint64_t value;                   /* wire_claim() */
	uint32_t credit_cell, token_cell; /* + 1, as in the slot */
};

struct record {
	_Atomic uint32_t state; /* enum record_state */
	uint32_t reason;        /* with DONE */
	_Atomic uint64_t sequence;
	sim_done_fn cb;
	void *user;
	struct sync_done *sync; /* sim_publish_sync waits for it; else NULL */
	struct record *next;    /* client::done_first */
	struct sim_publisher *pub;
	uint32_t publisher_id;  /* under which it was accepted */
	_Atomic uint32_t flush; /* client::flushes then */
};

/* The waiting side of sim_publish_sync. */
struct sync_done {
	_Atomic uint32_t done; /* futex */
	uint32_t reason;
};

struct records {
	struct record *table; /* RECORDS_MAX */
	/* by the publishing thread */
	_Atomic uint32_t armed;   /* how many ever were, and not taken back */
	_Atomic uint32_t waiters; /* it is in record_wait_free() */
	char apart[64];           /* so that no line goes to and fro with each message */
	/* under client::lock */
	_Atomic uint32_t ended; /* how many of these are free again: called back */
	_Atomic uint32_t freed; /* futex: bumped when a record is free again and someone waits */
};

/* Some are armed, or done but not yet called back. Under client::lock. */
static inline bool records_outstanding(const struct records *t)
{
	return atomic_load_explicit(&t->armed, memory_order_acquire) !=
	       atomic_load_explicit(&t->ended, memory_order_relaxed);
}

int records_init(struct records *t, struct sim_publisher *pub);
void records_finish(struct records *t);

/* A free record for that sequence, not yet armed; NULL: none. */
struct record *record_find_free(struct records *t, uint64_t sequence);
/* Returns when a record was freed since `seen` was read from records::freed, or after a while. */
void record_wait_free(struct records *t, uint32_t seen, int64_t timeout_dur_ns);
void record_arm(struct records *t, struct record *rec, uint64_t sequence);
/* True: the message never went out and nobody else ends it. */
bool record_take_back(struct records *t, struct record *rec);

/* simd completed it. False: unknown, or ended before. */
bool record_complete(struct sim_client *c, struct records *t, uint64_t sequence, enum sim_reason reason);
/* All that are armed end with that reason. */
void records_fail(struct sim_client *c, struct records *t, enum sim_reason reason);
/* Read the completion socket. Under lock. */
void completion_drain(struct sim_client *c, struct session *s);
/* Run the callbacks that are due; returns how many. No lock held. */
int completion_run(struct sim_client *c);

void claim_release(const struct claim *cl);

#endif
