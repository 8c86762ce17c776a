/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The player of logs. A producer reads ahead (merge.h), within bounds of time and of bytes; a consumer gives each message to a sink when it
 * is due: at a rate, or as fast as the sink takes them. Each of the two is a thread of its own, or, in tests, is called step by step.
 *
 *   the line   what time is to the player: log time, each loop behind the one before; only a seek breaks it
 *   latched    where it begins or seeks to, and at each loop, the last latched messages of before come first, with that time
 *   late       a message is given out as soon as it can be, never skipped, and counted
 *
 * Thread: player_pause() and what is below it: any. The sink is called by the consumer alone, merge by the producer.
 */
#ifndef PLAYER_H
#define PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge.h"

struct player;

struct player_item {
	struct player_item *next; /* the player's */
	unsigned input;           /* of the merge */
	uint32_t loop;
	int64_t line_ns;
	struct log_message m; /* data: behind this */
};

/* Where messages go. Negative results end the playing, with that result. */
struct player_sink {
	/* The clock by which is paced, and at which CLOCK_MONOTONIC to look again for a moment of it. */
	int64_t (*now)(void *ctx);
	int64_t (*wake)(void *ctx, int64_t until_ns);
	/* Time is log_ns from now on: a beginning, a loop, a seek. NULL, as advance: nobody's time is driven. */
	int (*jump)(void *ctx, int64_t log_ns);
	int (*advance)(void *ctx, int64_t from_ns, int64_t log_ns); /* time goes on; blocks while it may not */
	int (*idle)(void *ctx);                                     /* nothing moves: now and then; NULL: not needed */
	/* The next one, ahead of its time, so that publishing it takes none; NULL: nothing to prepare. */
	void (*prepare)(void *ctx, const struct player_item *item);
	void (*forget)(void *ctx); /* what was prepared is not published */
	int (*publish)(void *ctx, const struct player_item *item);
	/* Both on the producer's thread. NULL: all are wanted. */
	bool (*arrives)(void *ctx, unsigned input, const struct log_message *m);
	void (*damaged)(void *ctx, unsigned input, const char *why);
	/*
	 * Likewise, both or none; NULL: nothing is latched. only_latched(): true: only channels that are latched are wanted from the inputs,
	 * until it is called with false; false: there are none, and all are wanted. latched(): whether that message is one; of those of one channel with
	 * the same key each replaces the one before it.
	 */
	bool (*only_latched)(void *ctx, bool only);
	bool (*latched)(void *ctx, unsigned input, const struct log_message *m, uint64_t *ret_key);
};

struct player_options {
	struct merge *merge;            /* keeps */
	const struct player_sink *sink; /* keeps */
	void *ctx;
	int64_t rate_e6;          /* as struct pace */
	int64_t begin_ns, end_ns; /* log times, both included */
	int64_t first_ns;         /* of all logs: nothing is latched at it, or before */
	int64_t delay_dur_ns;     /* before the first, by the sink's clock */
	int64_t preload_dur_ns;   /* read so far ahead, in log time */
	size_t preload_bytes;     /* and no more than that, but for one message */
	int64_t tick_dur_ns;      /* time moves at least so often; 0: only with messages */
	bool loop, lockstep, paused;
	bool spin; /* the last microseconds before a message are waited for awake */
};

struct player_status {
	int64_t log_ns; /* where it is */
	int64_t rate_e6;
	uint64_t published, late;
	int64_t latest_dur_ns; /* the worst lateness */
	uint32_t loops;        /* that are over */
	unsigned input;        /* of the last message */
	uint64_t damages;
	size_t ahead_bytes;
	bool paused, over, started;
};

#define PLAYER_LATE_DUR_NS INT64_C(10000000) /* a message is late when so much has passed */

/* -EINVAL: a rate, an end before the beginning. */
int player_create(const struct player_options *o, struct player **ret);
/* After player_stop(). NULL is fine. */
void player_destroy(struct player *p);

/* Start both threads: play-read, play-out. */
int player_start(struct player *p);
/* No more is given out. Does not wait. */
void player_halt(struct player *p);
/* player_halt(), and waits for both: the sink must return from what blocks. How it ended: 0, also if it was halted; what the sink said. */
int player_stop(struct player *p);
/* Whether it has ended by itself, waiting so long for that. */
bool player_over(struct player *p, int64_t wall_dur_ns);

void player_pause(struct player *p, bool pause);
int player_set_rate(struct player *p, int64_t rate_e6); /* -ERANGE */
int player_seek(struct player *p, int64_t log_ns);      /* -ERANGE outside of begin .. end */
int player_next(struct player *p);                      /* one message; -EBUSY: not paused, -ENODATA: it is over */
void player_status(struct player *p, struct player_status *ret);

/* ---- the two, step by step; for tests, instead of player_start() ---- */
enum player_turn {
	PLAYER_AGAIN,   /* something was done */
	PLAYER_WAIT,    /* until *ret_until_ns of the sink's clock, or a call */
	PLAYER_STARVED, /* for the producer */
	PLAYER_STANDS,  /* paused */
	PLAYER_OVER,
};
int player_turn(struct player *p, int64_t *ret_until_ns);
/* Read one message: 1; 0: there is no room, or no more. */
int player_fill(struct player *p);

#endif
