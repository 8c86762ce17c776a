/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink into simd: player_simd.c publishes, player_routes.c maps channels, player_routes_latched.c finds latched
 * ones.
 */
#ifndef PLAYER_SIMD_PRIVATE_H
#define PLAYER_SIMD_PRIVATE_H

#include "codec.h"
#include "player_simd.h"

#include "list.h"

#include <sim/publisher.h>

#include <pthread.h>
#include <stdatomic.h>

#define SAY_MAX      1024
#define DAMAGES_SAID 5
#define SHOWN_MAX    65536

/* Storage of player_simd_left_out(). */
struct left_out {
	struct list link; /* player_simd::left; guarded by player_simd::lock until the player has stopped */
	char channel[SIM_CHANNEL_MAX + 2], why[600];
	uint64_t messages;
	bool given;
};

/* A channel of simd; several channels of the logs may be mapped to it. */
struct out {
	struct list link; /* player_simd::outs */
	char name[SIM_CHANNEL_MAX + 2];
	const struct sim_type *type; /* a reference is held */
	struct sim_publisher *pub;
	size_t max_body;
	size_t refused_body; /* body size that simd had no room for; 0: never refused */
	char refused_why[400];
	unsigned flags;        /* enum sim_publisher_flag */
	struct left_out *left; /* its messages that were not played, of which the first is reported; NULL: none */
};

/*
 * Where the messages of one channel of one log go. Created by the producer, or before it starts; then owned by the
 * consumer.
 */
struct route {
	struct codec_in *codec; /* NULL: not played */
	struct out *out;        /* set once simd has the channel */
	bool shown;             /* its messages are printed instead */
	bool latched, refused;
	struct codec_in *ahead; /* decoder with which the producer looks into latched transforms; NULL: not needed */
	char name[SIM_CHANNEL_MAX + 2];
};

struct input {
	struct log_reader *reader; /* used by the producer */
	const char *path;
	struct route **routes; /* by channel; guarded by player_simd::lock */
	size_t n;
	bool *want; /* of the channels known when it was opened; NULL: no channels were known */
	size_t n_want;
};

struct player_simd {
	struct player_simd_options o;
	struct input inputs[MERGE_INPUTS_MAX];
	unsigned n;
	pthread_mutex_t lock; /* guards the tables of routes, and left */
	struct list outs, left;
	int64_t time_ns; /* time last set by the driver */
	bool open;       /* all channels that the logs are known to have are advertised */
	bool unsettled;  /* something was published since the last wait for simd */
	uint32_t clock_generation;
	int64_t followed_ns, follow_offset_ns;
	struct sim_slot *slot; /* the next message, already decoded; NULL: none */
	struct out *slot_of;
	struct message_in in;    /* the decoded message in slot */
	const char *reason;      /* why the last message could not be decoded or had no room; NULL: see sim_why() */
	unsigned damages;        /* producer only */
	struct codec_room ahead; /* producer only, for route::ahead */
	_Atomic uint64_t queued, local, failed, refused, bad;
	_Atomic unsigned n_outs, skipped, given;
};

static inline bool player_simd_stopped(const struct player_simd *s)
{
	return s->o.stopped && s->o.stopped(s->o.ctx);
}

/* NULL: no message of that channel has arrived yet. */
struct route *route_of(struct player_simd *s, unsigned input, uint32_t channel);
/* Whether messages of the channel are to be read. Thread: the producer's. */
bool route_arrives(struct player_simd *s, unsigned input, uint32_t channel);
/* As player_sink.only_latched() and latched(). Thread: the producer's. */
bool routes_only_latched(struct player_simd *s, bool only);
bool route_is_latched(struct player_simd *s, unsigned input, const struct log_message *m, uint64_t *ret_key);
/*
 * Advertises the route's channel in simd, for messages of about that many encoded bytes. -ENOENT: simd has refused,
 * which was reported.
 */
int route_open(struct player_simd *s, struct route *rt, size_t encoded);
void routes_finish(struct player_simd *s);
/* Adds an entry, or returns that of the same channel and reason. NULL: out of memory. Thread: any. */
struct left_out *left_out_add(struct player_simd *s, const char *channel, const char *why);
/*
 * Enlarges the channel's slots for a message of that many encoded bytes. -EMSGSIZE: no message can need more; -ENOSPC:
 * simd refuses, with the reason in out->refused_why; others as sim_loan().
 */
int out_grow(struct out *o, size_t encoded);

#endif
