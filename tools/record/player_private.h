/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the consumer (player.c), the producer (player_read.c, player_latched.c) and their threads
 * (player_threads.c).
 */
#ifndef PLAYER_PRIVATE_H
#define PLAYER_PRIVATE_H

#include "pace.h"
#include "player.h"

#include <pthread.h>

#define LEAD_MAX_NS INT64_C(200000) /* longest busy-wait for a message */
#define LEAD_FADES  512             /* messages over which lead_ns decays */

#define PLAYER_DAMAGES_MAX 1000 /* consecutive damaged places after which reading gives up */

/* A latched message from before the beginning: nth counts the messages that are read while looking for them. */
struct player_latched {
	uint64_t key, nth; /* key: player_sink.latched() */
	unsigned input;
	uint32_t channel;
};

/* State of the producer. */
struct player_reading {
	enum { PLAYER_READ_ALL, PLAYER_FIND_LATCHED, PLAYER_GIVE_LATCHED } what;
	int64_t from_ns; /* where playing begins */
	/* number of the next message during PLAYER_FIND_LATCHED and PLAYER_GIVE_LATCHED */
	uint64_t nth;
	struct player_latched *latched; /* while finding: in any order; while giving: in the log's order */
	size_t n, cap, given;
};

struct player {
	struct player_options o;
	pthread_t reader, out;
	bool reading, giving; /* which threads run */
	int result;           /* of the consumer, set when it is joined */

	/* consumer only */
	struct pace pace;
	struct player_item *item; /* the next message */
	bool prepared, stands, waited;
	uint32_t loop;
	int64_t offset_ns; /* of the line against log time, in this loop */
	int64_t clock_ns;  /* time given to the sink last */
	int64_t line_ns;
	int64_t tick_ns; /* when to advance time next, by the sink's clock */
	int64_t lead_ns; /* how long before the due time to wake up */

	/* producer only */
	bool any;          /* this loop has had a message */
	unsigned in_a_row; /* consecutive damages */
	struct player_reading rd;

	pthread_mutex_t lock; /* guards all below; no other lock is taken while it is held */
	pthread_cond_t data, room;
	struct player_item *first, *last;
	size_t bytes;
	bool ended;   /* the producer has read everything */
	bool full;    /* the read-ahead limit was reached: the producer waits until half of it is used */
	bool filled;  /* full has been set before */
	bool starved; /* the consumer waits for data */
	bool ordered; /* the consumer must look at new orders now */
	uint32_t epoch, read_epoch, read_loop;
	bool halt, over, started, paused, seek;
	int64_t seek_ns, rate_e6, at_log_ns, latest_dur_ns;
	uint32_t seek_loop, loops;
	unsigned next, input;
	uint64_t published, late, damages;
};

/* By how much the line of a loop is ahead of log time. */
int64_t player_offset(const struct player *p, uint32_t loop);
/* Makes the consumer check for orders. Caller holds the lock. */
void player_ordered(struct player *p);
/* Drops what was read ahead. Caller holds the lock. */
void player_clear(struct player *p);

/* ---- the producer's, in player_read.c and player_latched.c ---- */

/* Copies m, with its time in that loop. NULL: out of memory. */
struct player_item *player_copy(const struct player *p, const struct log_message *m, unsigned input, uint32_t loop);
/* Takes over item; frees it if it was read before a seek. */
void player_append(struct player *p, struct player_item *item, uint32_t epoch);

/* Reads from that log time on, preceded by what is latched then. Errors as merge_seek(). */
int player_read_from(struct player *p, int64_t log_ns);
/* Each handles one message. Errors: -ENOMEM, or those of the following seek. */
int player_find_latched(struct player *p);
int player_give_latched(struct player *p, uint32_t epoch, uint32_t loop);

#endif
