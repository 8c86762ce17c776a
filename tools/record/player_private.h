/* SPDX-License-Identifier: Apache-2.0 */
/* What the consumer (player.c), the producer (player_read.c) and the threads around them share. */
#ifndef PLAYER_PRIVATE_H
#define PLAYER_PRIVATE_H

#include "pace.h"
#include "player.h"

#include <pthread.h>

#define LEAD_MAX_NS INT64_C(200000) /* no more than that is spent awake for a message */
#define LEAD_FADES  512             /* messages */

#define PLAYER_DAMAGES_MAX 1000 /* without a message between them: nothing more will come */

/* A latched message of before where is begun, by its number among those that are read for them. */
struct player_latched {
	uint64_t key, nth; /* key: player_sink.latched() */
	unsigned input;
	uint32_t channel;
};

/* What the producer is about. */
struct player_reading {
	enum { PLAYER_READ_ALL, PLAYER_FIND_LATCHED, PLAYER_GIVE_LATCHED } what;
	int64_t from_ns;                /* where it begins */
	uint64_t nth;                   /* of the next message while latched ones are looked for, and given */
	struct player_latched *latched; /* found: in any order; given: in that of the log */
	size_t n, cap, given;
};

struct player {
	struct player_options o;
	pthread_t reader, out;
	bool reading, giving; /* the threads run */
	int result;           /* of the consumer, once it is joined */

	/* the consumer's */
	struct pace pace;
	struct player_item *item; /* the next one */
	bool prepared, stands, waited;
	uint32_t loop;
	int64_t offset_ns; /* of the line, in this loop */
	int64_t clock_ns;  /* where time was put last */
	int64_t line_ns;
	int64_t tick_ns; /* when time moves next, by the sink's clock */
	int64_t lead_ns; /* how much earlier than due it wakes up */

	/* the producer's */
	bool any;          /* this loop has a message */
	unsigned in_a_row; /* damages */
	struct player_reading rd;

	pthread_mutex_t lock; /* of all below; no other is taken inside */
	pthread_cond_t data, room;
	struct player_item *first, *last;
	size_t bytes;
	bool ended;   /* nothing more is read */
	bool full;    /* as much was read ahead as may be; until half of it is used the producer rests */
	bool filled;  /* it was so once */
	bool starved; /* the consumer waits for data */
	bool ordered; /* and for this it does not wait longer */
	uint32_t epoch, read_epoch, read_loop;
	bool halt, over, started, paused, seek;
	int64_t seek_ns, rate_e6, at_log_ns, latest_dur_ns;
	uint32_t seek_loop, loops;
	unsigned next, input;
	uint64_t published, late, damages;
};

/* Where the line of a loop is ahead of log time. */
int64_t player_offset(const struct player *p, uint32_t loop);
/* Under lock: the consumer is to look again. */
void player_ordered(struct player *p);
/* Under lock: what was read ahead is of no use. */
void player_clear(struct player *p);

/* ---- the producer's, in player_read.c and player_latched.c ---- */

/* A copy of m, at its time in that loop. NULL: no memory. */
struct player_item *player_copy(const struct player *p, const struct log_message *m, unsigned input, uint32_t loop);
/* Takes it; frees it if it is of before a seek. */
void player_append(struct player *p, struct player_item *item, uint32_t epoch);

/* From that log time on; what is latched then comes first. Errors as merge_seek(). */
int player_read_from(struct player *p, int64_t log_ns);
/* One message each. Errors: -ENOMEM, or those of the next seek. */
int player_find_latched(struct player *p);
int player_give_latched(struct player *p, uint32_t epoch, uint32_t loop);

#endif
