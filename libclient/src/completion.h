/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion records: what a publisher remembers of each message that simd accepted, so that its callback runs exactly
 * once. The publishing thread arms a record before the slot goes out. The first to end it claims it: simd's completion,
 * the loss of simd or of the data plane, or the publishing thread that takes the message back. The claim is a
 * compare-and-swap; nothing is allocated.
 *
 * The table is larger than any window, because simd frees a credit before its completion is read here. A full table
 * counts as "no credit": the producer waits, unless only its own thread can read completions.
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

/* The cells that a message has claimed. */
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
	uint32_t publisher_id;  /* that it was accepted under */
	_Atomic uint32_t flush; /* client::flushes when it was armed */
};

/* The waiting side of sim_publish_sync. */
struct sync_done {
	_Atomic uint32_t done; /* futex */
	uint32_t reason;
};

struct records {
	struct record *table; /* RECORDS_MAX */
	/* by the publishing thread */
	_Atomic uint32_t armed;   /* records armed so far and not taken back */
	_Atomic uint32_t waiters; /* the producer is in record_wait_free() */
	char apart[64];           /* keeps both sides' members in different cache lines */
	/* under client::lock */
	_Atomic uint32_t ended; /* of those, records that are free again after their callback */
	_Atomic uint32_t freed; /* futex: incremented when a record is free again and a producer waits */
};

/* Whether some are armed, or done without their callback. Under client::lock. */
static inline bool records_outstanding(const struct records *t)
{
	return atomic_load_explicit(&t->armed, memory_order_acquire) !=
	       atomic_load_explicit(&t->ended, memory_order_relaxed);
}

int records_init(struct records *t, struct sim_publisher *pub);
void records_finish(struct records *t);

/* A free record for that sequence, to be armed; NULL: none. */
struct record *record_find_free(struct records *t, uint64_t sequence);
/* Returns when a record was freed since `seen` was read from records::freed, or after timeout_dur_ns. */
void record_wait_free(struct records *t, uint32_t seen, int64_t timeout_dur_ns);
void record_arm(struct records *t, struct record *rec, uint64_t sequence);
/* Takes an armed record back. True: the message never went out, and its record is not ended elsewhere. */
bool record_take_back(struct records *t, struct record *rec);

/* Ends the record of a message that simd completed. False: unknown, or ended before. */
bool record_complete(struct sim_client *c, struct records *t, uint64_t sequence, enum sim_reason reason);
/* Ends all armed records with that reason. */
void records_fail(struct sim_client *c, struct records *t, enum sim_reason reason);
/* Reads the completion socket. Under lock. */
void completion_drain(struct sim_client *c, struct session *s);
/* Runs the callbacks that are due; returns how many. No lock held. */
int completion_run(struct sim_client *c);

void claim_release(const struct claim *cl);

#endif
