/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The player's sink into simd: channels of logs become channels of simd; messages are decoded into their slots, with
 * the recorded stamps and frames. Drives the time, or follows the running clock. Thread: the player's consumer; add and
 * open before it starts, finish after it has ended; counters any.
 */
#ifndef PLAYER_SIMD_H
#define PLAYER_SIMD_H

#include <stdbool.h>

#include <sim/clock.h>

#include "player.h"

struct player_simd;

struct player_simd_options {
	struct sim_client *client; /* borrowed */
	struct sim_driver *driver; /* borrowed; NULL: follow the running clock */
	bool lockstep;             /* the driver holds its lease with SIM_DRIVER_LOCKSTEP */
	/* borrowed; shell patterns of topics to play, with ! before those not to play; none: all */
	const char *const *channels;
	unsigned n_channels;
	const char *const *remaps; /* borrowed; "OLD:=NEW", already checked */
	unsigned n_remaps;
	const char *prefix; /* borrowed; put before each name; NULL: none */
	/* Reports to the user what is skipped or damaged, and recorded events. Called on any thread of the player. */
	void (*say)(void *ctx, const char *text);
	/* true: blocking calls return -ECANCELED, also during a pause; called on any thread; NULL: never */
	bool (*stopped)(void *ctx);
	void *ctx;
};

struct player_simd_counters {
	uint64_t queued, local; /* accepted for bridges; accepted with local subscribers only */
	uint64_t failed;        /* of queued: not delivered to all bridges */
	uint64_t refused, bad;  /* no credit or slot; not decoded */
	unsigned channels;
	unsigned skipped,
		/*
		 * skipped: channels of logs that are not played; given: those of them that simd provides itself
		 * (/clock, reserved names)
		 */
		given;
};

/* A channel that is not played, or not completely. Borrowed until the next call, or until the sink is destroyed. */
struct player_simd_left_out {
	const char *channel, *why; /* why: without the channel's name */
	uint64_t messages;         /* messages left out; 0: all of the channel */
	bool given;                /* simd provides it itself, so nothing is missing */
	bool fields;               /* the messages are played, without the fields that `why` names */
};

extern const struct player_sink player_simd_sink;   /* drives time */
extern const struct player_sink player_follow_sink; /* follows the running clock */

int player_simd_create(const struct player_simd_options *o, struct player_simd **ret);
void player_simd_destroy(struct player_simd *s); /* NULL-safe */
/* Adds the next input of the merge; borrows r, and selects the wanted channels in it. */
int player_simd_add(struct player_simd *s, struct log_reader *r, const char *path);
/*
 * Advertises the channels that the logs are known to have, and waits briefly until their bridges are connected. 0,
 * -ENOTCONN, -ENOMEM.
 */
int player_simd_open(struct player_simd *s);
/* Sends out all published messages, so that bridges get them. */
void player_simd_finish(struct player_simd *s);
void player_simd_counters(const struct player_simd *s, struct player_simd_counters *ret);
/* The i-th channel that was left out, each once for all logs; false: no more. Call after the player has stopped. */
bool player_simd_left_out(const struct player_simd *s, unsigned i, struct player_simd_left_out *ret);

#endif
