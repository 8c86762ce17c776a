/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays logs. A producer reads ahead from a merge (merge.h), within limits of time and of bytes; a consumer passes each\n * message to a sink when it is due: at a rate, or as fast as the sink takes them. Both are threads, or, in tests, are\n * called step by step.
 *
 *   the line   the player's time: log time, where each loop continues after the one before; only a seek jumps in it
 *   latched    at the beginning, after a seek and in each loop, the last latched messages from before that time come\n *            first, with that time
 *   late       a late message is passed on as soon as possible and counted, never skipped
 *
 * Thread: player_pause() and the functions below it: any. Only the consumer calls the sink, only the producer the merge,\n * unless said otherwise.
 */
#ifndef PLAYER_H
#define PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge.h"

struct player;

struct player_item {
	struct player_item *next; /* private to the player */
	unsigned input;           /* index in the merge */
	uint32_t loop;
	int64_t line_ns;
	struct log_message m; /* data follows the item in memory */
};

/* Receives the messages. A negative result ends the playing with that result. */
struct player_sink {
	/*
	 * now(): the pacing clock. wake(): the CLOCK_MONOTONIC time at which to check again whether it has reached
	 * until_ns.
	 */
	int64_t (*now)(void *ctx);
	int64_t (*wake)(void *ctx, int64_t until_ns);
	/* Sets the time to log_ns: at the beginning, a loop, or a seek. jump and advance NULL: time is not driven. */
	int (*jump)(void *ctx, int64_t log_ns);
	int (*advance)(void *ctx, int64_t from_ns, int64_t log_ns); /* advances time; blocks while it may not advance */
	/* called now and then while time does not move; may be NULL */
	int (*idle)(void *ctx);
	/* Prepares the next message ahead of its time, so that publishing it is quick; may be NULL. */
	void (*prepare)(void *ctx, const struct player_item *item);
	void (*forget)(void *ctx); /* discards what was prepared */
	int (*publish)(void *ctx, const struct player_item *item);
	/* Called on the producer's thread. arrives NULL: all messages are wanted. */
	bool (*arrives)(void *ctx, unsigned input, const struct log_message *m);
	void (*damaged)(void *ctx, unsigned input, const char *why);
	/*
	 * Also on the producer's thread; set both or none (NULL: nothing is latched). only_latched(true) selects only
	 * latched channels from the inputs until only_latched(false); returns false if there are no latched channels,
	 * and all stay selected. latched(): whether the message is latched; of messages of one channel with equal keys
	 * each replaces the one before.
	 */
	bool (*only_latched)(void *ctx, bool only);
	bool (*latched)(void *ctx, unsigned input, const struct log_message *m, uint64_t *ret_key);
};

struct player_options {
	struct merge *merge;            /* borrowed */
	const struct player_sink *sink; /* borrowed */
	void *ctx;
	int64_t rate_e6;          /* as in struct pace */
	int64_t begin_ns, end_ns; /* log times, both inclusive */
	int64_t first_ns;         /* of all logs: no latched messages at or before it */
	int64_t delay_dur_ns;     /* before the first message, by the sink's clock */
	int64_t preload_dur_ns;   /* how far to read ahead, in log time */
	size_t preload_bytes;     /* limit of what is read ahead, but at least one message */
	int64_t tick_dur_ns;      /* longest interval between two advances; 0: time advances only with messages */
	bool loop, lockstep, paused;
	bool spin; /* busy-wait for the last microseconds before a message */
};

struct player_status {
	int64_t log_ns; /* current position */
	int64_t rate_e6;
	uint64_t published, late;
	int64_t latest_dur_ns; /* worst lateness */
	uint32_t loops;        /* completed */
	unsigned input;        /* input of the last message */
	uint64_t damages;
	size_t ahead_bytes;
	bool paused, over, started;
};

#define PLAYER_LATE_DUR_NS INT64_C(10000000) /* messages later than this count as late */

/* -EINVAL: rate out of range, or end before beginning. */
int player_create(const struct player_options *o, struct player **ret);
/* Call after player_stop(). NULL-safe. */
void player_destroy(struct player *p);

/* Starts both threads: play-read, play-out. */
int player_start(struct player *p);
/* Stops publishing; does not block. */
void player_halt(struct player *p);
/*
 * player_halt(), and waits for both threads: blocking calls of the sink must return. Returns 0, also if it was halted
 * early, or the sink's error.
 */
int player_stop(struct player *p);
/* Whether playing has ended by itself; waits up to wall_dur_ns for that. */
bool player_over(struct player *p, int64_t wall_dur_ns);

void player_pause(struct player *p, bool pause);
int player_set_rate(struct player *p, int64_t rate_e6); /* -ERANGE */
int player_seek(struct player *p, int64_t log_ns);      /* -ERANGE: not within begin .. end */
/* publishes one message; -EBUSY: not paused; -ENODATA: at the end */
int player_next(struct player *p);
void player_status(struct player *p, struct player_status *ret);

/* ---- the two threads' work step by step, for tests instead of player_start() ---- */
enum player_turn {
	PLAYER_AGAIN,   /* something was done; call again */
	PLAYER_WAIT,    /* nothing to do until *ret_until_ns of the sink's clock, or a call */
	PLAYER_STARVED, /* waits for the producer */
	PLAYER_STANDS,  /* paused */
	PLAYER_OVER,
};
int player_turn(struct player *p, int64_t *ret_until_ns);
/* Reads one message. 1; 0: no room, or no more messages. */
int player_fill(struct player *p);

#endif
