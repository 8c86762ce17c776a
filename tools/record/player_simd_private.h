/* SPDX-License-Identifier: Apache-2.0 */
/* The sink into simd: player_simd.c publishes, player_routes.c knows where to, player_routes_latched.c what holds until the next message. */
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

/* What player_simd_left_out() gives. */
struct left_out {
	struct list link; /* player_simd::left; under player_simd::lock until the player has stopped */
	char channel[SIM_CHANNEL_MAX + 2], why[600];
	uint64_t messages;
	bool given;
};

/* A channel of simd, to which several of the logs may go. */
struct out {
	struct list link; /* player_simd::outs */
	char name[SIM_CHANNEL_MAX + 2];
	const struct sim_type *type; /* referenced */
	struct sim_publisher *pub;
	size_t max_body;
	size_t refused_body; /* simd had no room for such slots; 0: it was not asked for too much */
	char refused_why[400];
	unsigned flags;        /* enum sim_publisher_flag */
	struct left_out *left; /* messages of it that were not played, of which the first was said; NULL: none */
};

/* Where the messages of one channel of one log go. Made by the producer, or before it starts; from then on the consumer's. */
struct route {
	struct codec_in *codec; /* NULL: nowhere */
	struct out *out;        /* once simd has it */
	bool shown;             /* they are printed instead */
	bool latched, refused;
	struct codec_in *ahead; /* of latched transforms, which the producer looks into; NULL: it need not */
	char name[SIM_CHANNEL_MAX + 2];
};

struct input {
	struct log_reader *reader; /* the producer's */
	const char *path;
	struct route **routes; /* by channel; under player_simd::lock */
	size_t n;
	bool *want; /* of those that were known when it was opened; NULL: none was */
	size_t n_want;
};

struct player_simd {
	struct player_simd_options o;
	struct input inputs[MERGE_INPUTS_MAX];
	unsigned n;
	pthread_mutex_t lock; /* of the routes' table and of left */
	struct list outs, left;
	int64_t time_ns; /* where the driver has put time */
	bool open;       /* all that the logs are known to have is advertised */
	bool unsettled;  /* something was published since simd was last waited for */
	uint32_t clock_generation;
	int64_t followed_ns, follow_offset_ns;
	struct sim_slot *slot; /* the next message, decoded; NULL: none */
	struct out *slot_of;
	struct message_in in;    /* of slot */
	const char *reason;      /* why the last message could not be decoded, or has no room; NULL: sim_why() */
	unsigned damages;        /* the producer's */
	struct codec_room ahead; /* the producer's, as route::ahead */
	_Atomic uint64_t queued, local, failed, refused, bad;
	_Atomic unsigned n_outs, skipped, given;
};

static inline bool player_simd_stopped(const struct player_simd *s)
{
	return s->o.stopped && s->o.stopped(s->o.ctx);
}

/* NULL: no message of it has arrived. */
struct route *route_of(struct player_simd *s, unsigned input, uint32_t channel);
/* Whether its messages are of any use. Thread: the producer's. */
bool route_arrives(struct player_simd *s, unsigned input, uint32_t channel);
/* As player_sink.only_latched() and latched(). Thread: the producer's. */
bool routes_only_latched(struct player_simd *s, bool only);
bool route_is_latched(struct player_simd *s, unsigned input, const struct log_message *m, uint64_t *ret_key);
/* Let simd have its channel, for messages of about so many encoded bytes. -ENOENT: it has refused, which was said. */
int route_open(struct player_simd *s, struct route *rt, size_t encoded);
void routes_finish(struct player_simd *s);
/* Another one, or that of the same channel and reason. NULL: no memory. Thread: any. */
struct left_out *left_out_add(struct player_simd *s, const char *channel, const char *why);
/*
 * Larger slots for its channel, for a message of so many encoded bytes. -EMSGSIZE no message needs so much; -ENOSPC: simd refuses it,
 * and out->refused_why says why; others as sim_loan().
 */
int out_grow(struct out *o, size_t encoded);

#endif
