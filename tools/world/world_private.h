/* SPDX-License-Identifier: Apache-2.0 */
/* What world.c, session.c and session_out.c share. */
#ifndef WORLD_WORLD_PRIVATE_H
#define WORLD_WORLD_PRIVATE_H

#include "list.h"
#include "members.h"
#include "view.h"
#include "wire/world.pb-c.h"
#include "world.h"
#include "world/frame.h"

#define RING         32u /* ticks that a client may have as base */
#define NAME_MAX_LEN 63u
#define NOTE_MAX     2048u
#define NOTES_PER_S  100u
#define SAID_MAX     8u  /* places that a client may look from by Interest */
#define CENTRES_MAX  64u /* of its own objects */

struct sample { /* for rates */
	int64_t mono_ns;
	uint64_t ticks, bytes_in, bytes_out;
};

struct session {
	struct list link; /* world::sessions, in the order in which they came */
	struct world *w;
	struct frame_reader in;
	struct wire_buf out;
	size_t sent; /* of out */
	bool ends;
	int64_t hello_mono_ns; /* by then; INT64_MAX: it has */
	struct member *m;      /* NULL: it does not take part, not yet or not any more */
	char name[NAME_MAX_LEN + 1], certificate[NAME_MAX_LEN + 1];
	enum barrier_role role;
	int64_t lookahead_dur_ns;
	uint8_t own_codes[16]; /* bit c - 128 */
	struct view view;
	struct view_centre said[SAID_MAX];   /* where it looks from, as it has said */
	struct view_centre own[CENTRES_MAX]; /* where its objects are at the newest tick */
	unsigned n_said, n_own;
	uint64_t told_tick;    /* last one it was sent */
	int64_t full_mono_ns;  /* its queue is above soft since then; INT64_MAX: it is not */
	int64_t notes_mono_ns; /* since when notes are counted */
	uint32_t notes;
	struct session_info info;
	struct sample samples[2]; /* the older one first, each a second after the other */
};

struct encoded {
	const struct section *section;
	uint64_t base;
	size_t at, len; /* in world::frames; len 0: an empty place */
};

struct give {
	uint64_t id;
	uint32_t from, to;
};

struct world {
	struct world_options o;
	struct store *store;
	struct barrier *barrier;
	struct members members;
	struct list sessions; /* session::link */
	uint32_t n_sessions;
	struct snapshot *ring[RING]; /* by tick % RING */
	struct snapshot *newest;     /* of ring; NULL: no tick yet */
	/* frames of the newest tick, each made once, whoever gets it */
	struct wire_buf frames;
	struct encoded *encoded; /* by section and base: open addressing */
	uint32_t n_encoded, encoded_mask;
	/* to be told at the next tick, if they have happened */
	struct give *gives;
	uint32_t n_gives, gives_size;
	uint64_t ahead, notes, notes_lost;
};

/* ---- session_out.c ---- */

/* A frame of one of the messages; without memory the session ends. */
void session_put(struct session *s, enum frame_code code, const ProtobufCMessage *m);
/* Bye, or Refused before Welcome, and the end. */
void session_tell_end(struct session *s, Sim__World__Bye__Reason reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The newest tick: sections, what is gone, heartbeat. */
void session_put_tick(struct session *s, int64_t now_mono_ns);

/* ---- session.c ---- */

/* To be called now and then, for session_rates(). */
void session_sample(struct session *s, int64_t now_mono_ns);

/* ---- world.c ---- */

void world_say(const struct session *s, enum world_event what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
struct session *world_session(const struct world *w, uint32_t connection); /* NULL: it is not here */
/* It takes part no more; it may have to be told yet. lost: its connection alone, so its objects stay for the grace. */
void world_leave(struct session *s, bool lost, int64_t now_mono_ns);
int world_add_give(struct world *w, uint64_t id, uint32_t from, uint32_t to);
/* The frame of a section against a base, of the newest tick. -ENOMEM. */
int world_frame(struct world *w, const struct section *section, uint64_t base, const uint8_t **ret, size_t *ret_len);

#endif
