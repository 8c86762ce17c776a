/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The player's sink into simd: channels of logs become channels of simd, decoded straight into their slots, with the stamps and frames
 * that were recorded; time is driven, or the running clock is followed. Thread: the player's consumer; add, open and finish before and
 * after; counters any.
 */
#ifndef PLAYER_SIMD_H
#define PLAYER_SIMD_H

#include <stdbool.h>

#include <sim/clock.h>

#include "player.h"

struct player_simd;

struct player_simd_options {
	struct sim_client *client;   /* keeps */
	struct sim_driver *driver;   /* keeps; NULL: the running clock is followed */
	bool lockstep;               /* the driver holds its lease with SIM_DRIVER_LOCKSTEP */
	const char *const *channels; /* keeps; shell patterns of topics to play, with ! of those not to; none: all */
	unsigned n_channels;
	const char *const *remaps; /* keeps; "OLD:=NEW", checked */
	unsigned n_remaps;
	const char *prefix; /* keeps; before each name; NULL: none */
	/* A sentence for the user: what is skipped, what is damaged, events that were recorded. Any thread of the player. */
	void (*say)(void *ctx, const char *text);
	bool (*stopped)(void *ctx); /* true: what blocks returns -ECANCELED, also in a pause; any thread; NULL: never */
	void *ctx;
};

struct player_simd_counters {
	uint64_t queued, local; /* accepted for bridges; for local subscribers alone */
	uint64_t failed;        /* of the former: not by all bridges */
	uint64_t refused, bad;  /* no credit, no slot; not decoded */
	unsigned channels;
	unsigned skipped,
		given; /* channels of logs that are not played; those of them that simd gives itself: /clock, reserved names */
};

/* A channel that is not played, or not all of it. Borrowed until the sink is destroyed, or the next call. */
struct player_simd_left_out {
	const char *channel, *why; /* a sentence without the channel's name */
	uint64_t messages;         /* so many of its messages; 0: all of it */
	bool given;                /* simd gives it itself: nothing is missing */
	bool fields;               /* its messages are played, without the fields that `why` names */
};

extern const struct player_sink player_simd_sink;   /* with a driver */
extern const struct player_sink player_follow_sink; /* without */

int player_simd_create(const struct player_simd_options *o, struct player_simd **ret);
void player_simd_destroy(struct player_simd *s); /* NULL is fine */
/* The next input of the merge; keeps r, of which the channels that are wanted are selected. */
int player_simd_add(struct player_simd *s, struct log_reader *r, const char *path);
/* Advertise what the logs are known to have, and wait a while until the bridges of it are connected. 0, -ENOTCONN, -ENOMEM. */
int player_simd_open(struct player_simd *s);
/* All that was published goes out: for bridges to have it. */
void player_simd_finish(struct player_simd *s);
void player_simd_counters(const struct player_simd *s, struct player_simd_counters *ret);
/* The i-th of them, each once for all logs; false: there are no more. When the player has stopped. */
bool player_simd_left_out(const struct player_simd *s, unsigned i, struct player_simd_left_out *ret);

#endif
