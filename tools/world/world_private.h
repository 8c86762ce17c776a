/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by world.c and session*.c. */
#ifndef WORLD_WORLD_PRIVATE_H
#define WORLD_WORLD_PRIVATE_H

#include "list.h"
#include "members.h"
#include "standing.h"
#include "table.h"
#include "view.h"
#include "wire/world.pb-c.h"
#include "world.h"
#include "world/bucket.h"
#include "world/datagram.h"
#include "world/frame.h"

#define RING         32u /* ticks that can serve as base of a section */
#define NAME_MAX_LEN 63u
#define NOTE_MAX     2048u
#define NOTES_PER_S  100u
#define SAID_MAX     8u  /* centres that a client may set with Interest */
#define CENTRES_MAX  64u /* centres at its own objects */

struct sample { /* for rates */
	int64_t mono_ns;
	uint64_t ticks, bytes_in, bytes_out;
};

/* Datagrams of a session. */
struct session_udp {
	struct datagram *d; /* NULL: no datagrams */
	struct session_address address;
	bool bound;          /* an authenticated datagram has come from `address` */
	int64_t now_mono_ns; /* the caller's time, during a call */
	/* last datagram; last tick that the client has completely, or that was sent by TCP */
	int64_t in_mono_ns, whole_mono_ns;
	struct bucket bucket;
	struct {
		uint64_t tick;
		uint32_t left; /* frames not acknowledged yet */
		bool lost;
	} ticks[RING]; /* by tick % RING */
};

struct session {
	struct list link; /* world::sessions, in order of connection */
	struct world *w;
	struct frame_reader in;
	struct wire_buf out;
	size_t sent; /* bytes of out already sent */
	bool ends;
	bool greeted;          /* a Hello has come, valid or not; without one nothing is sent */
	int64_t hello_mono_ns; /* deadline of the Hello; INT64_MAX: it has come */
	struct member *m;      /* NULL: does not take part (yet, or any more) */
	char name[NAME_MAX_LEN + 1], certificate[NAME_MAX_LEN + 1];
	const struct access_entry *access; /* its access list entry; NULL: no list, or no Hello yet */
	bool paused;                       /* its own time is stopped, by its Done */
	bool refusal_said;                 /* session_refuse() has logged once */
	enum barrier_role role;
	int64_t lookahead_dur_ns;
	uint8_t own_codes[16]; /* codes it reads, bit c - 128 */
	struct view view;
	struct view_centre said[SAID_MAX];   /* centres set by Interest */
	struct view_centre own[CENTRES_MAX]; /* places of its objects at the newest tick */
	unsigned n_said, n_own;
	uint64_t told_tick;    /* last tick it was sent */
	int64_t full_mono_ns;  /* since when its queue is above soft; INT64_MAX: it is not */
	int64_t notes_mono_ns; /* start of the second in which notes are counted */
	uint32_t notes;
	bool wants_udp;
	struct session_udp udp;
	/* the rest belongs to session_bounds.c */
	int64_t share, share_mono_ns;   /* frames that it may still send; time up to which that has grown */
	struct bucket asks;             /* Want and Give, which others receive */
	struct bucket again, again_one; /* resending all sections; resending one section */
	bool again_all;                 /* resending all is pending */
	int64_t partial_mono_ns;        /* when an incomplete frame began; INT64_MAX: none */
	struct session_info info;
	struct sample samples[2]; /* older one first, at least a second apart */
};

struct encoded {
	struct encoded_key {
		const struct section *section;
		uint64_t base;
	} key;
	size_t at, len; /* position in world::frames; len 0: not encoded yet */
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
	struct standing standing;
	struct list sessions; /* session::link */
	uint32_t n_sessions;
	uint32_t n_strangers;        /* sessions that have not taken part yet */
	uint32_t n_silent;           /* of those: without a Hello, and not ended */
	struct snapshot *ring[RING]; /* by tick % RING */
	struct snapshot *newest;     /* in ring; NULL: no tick yet */
	/* frames of the newest tick, each encoded once for all recipients */
	struct wire_buf frames;
	struct table encoded; /* of struct encoded */
	/* transfers to be announced at the next tick, if they took place */
	struct give *gives;
	uint32_t n_gives, gives_size;
	uint16_t udp_port;   /* 0: no datagrams */
	uint32_t *forgotten; /* connections of forgotten members that still have objects */
	uint32_t n_forgotten, forgotten_size;
	uint64_t ahead, notes, notes_lost, floods, withheld;
	int64_t now_mono_ns; /* of the current call */
};

/* ---- session_out.c ---- */

/* Queues a frame; out of memory ends the session. */
void session_put(struct session *s, enum frame_code code, const ProtobufCMessage *m);
/* Queues a Bye, or Refused before Welcome, and ends the session. A client without a Hello is sent neither. */
void session_tell_end(struct session *s, Sim__World__Bye__Reason reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Queues the newest tick: sections, Gone, Leave, heartbeat. surely: all by TCP. */
void session_put_tick(struct session *s, bool surely, int64_t now_mono_ns);
/* Queues a section of the newest tick by TCP, after its datagram was lost. */
bool session_put_section(struct session *s, const struct section *section, uint64_t base);
void session_put_heartbeat(struct session *s, int64_t now_mono_ns);

/* ---- session_udp.c ---- */

/*
 * Sets up datagrams for a Welcome, if the client wants them. keys: to the server, to the client; the caller wipes them.
 * False: no datagrams.
 */
bool session_udp_begin(struct session *s, uint8_t keys[2][PACKET_KEY], int64_t now_mono_ns);
void session_udp_end(struct session *s);
/* Whether the next tick may be sent by datagrams. */
bool session_udp_is_open(struct session *s, int64_t now_mono_ns);
bool session_udp_is_full(const struct session *s); /* too many frames are unacknowledged */
/* Whether lost frames of the newest tick are noticed and resent anyway. */
bool session_udp_mends(const struct session *s, int64_t now_mono_ns);
/* Queues a part of the newest tick as datagram: a section by its index, or the heartbeat. False: send it by TCP. */
#define SESSION_UDP_HEARTBEAT UINT32_MAX
bool session_udp_put(struct session *s, uint32_t index, uint8_t code, const void *body, size_t len);
/* Returns when to call again. */
int64_t session_udp_turn(struct session *s, int64_t now_mono_ns);

/* ---- session_bounds.c ---- */

void session_share_init(struct session *s, int64_t now_mono_ns);
/* It has sent a Hello, or has ended. */
void session_not_silent(struct session *s);
/* If too many sessions are without a Hello, ends the oldest. */
void world_bound_silent(struct world *w);
/* Increases the share: for a tick; for the time since the last call. */
void session_share_tick(struct session *s);
void session_share_time(struct session *s, int64_t now_mono_ns);
/* Takes a frame of that length from the share. False: the share is used up, and the session ends. */
bool session_pays(struct session *s, size_t len);
/* Whether another client may now be sent something on its behalf. */
bool session_may_ask(struct session *s, int64_t now_mono_ns);
/*
 * Queues a frame that comes from another client. False: dropped and counted, as too much is waiting: a client is not
 * disconnected for what others send.
 */
bool session_pass_on(struct session *to, enum frame_code code, const ProtobufCMessage *m);
/* Queues the answer to a frame of its own; if more than queue_hard waits then, the session ends. */
void session_answer(struct session *s, enum frame_code code, const ProtobufCMessage *m);
/* Resends a section whole, or with NULL all of them: with the next tick, or as soon as it is allowed. */
void session_again(struct session *s, const struct section_key *key, int64_t now_mono_ns);
void session_again_due(struct session *s, int64_t now_mono_ns);

/* After input at that time; whole: it completed frames. */
void session_partial(struct session *s, bool whole, int64_t now_mono_ns);
/* Deadline for the frame that has begun; INT64_MAX: none has begun. */
int64_t session_partial_until(const struct session *s);

/* ---- session_standing.c ---- */

/* It has kept the world waiting. */
void session_was_slow(struct session *s);
/* It leaves; the world may be waiting for it right now. */
void session_goes_late(struct session *s);
/* It joins: the world waits for it at once, or after it has earned that. */
void session_begin_standing(struct session *s);

/* ---- session_access.c ---- */

/* Whether the access list admits it; if not, the session ends with the reason. */
bool session_admit(struct session *s, const Sim__World__Hello *h);
uint32_t session_objects_max(const struct session *s);
/* Counts a refused statement; logs the first one. */
void session_refuse(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* These call session_refuse() if the answer is no. */
bool session_may_put(struct session *s, uint64_t id, uint32_t code);
bool session_may_get(struct session *s, uint64_t id);
bool session_may_note(struct session *s);

/* ---- session.c ---- */

/* Handles a frame from a datagram. Negative errno: not used. */
int session_take_datagram(struct session *s, const struct frame *f, int64_t now_mono_ns);
/* Called regularly, for session_rates(). */
void session_sample(struct session *s, int64_t now_mono_ns);

/* ---- world.c ---- */

void world_say(const struct session *s, enum world_event what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
struct session *world_session(const struct world *w, uint32_t connection); /* NULL: not connected */
/*
 * The session stops taking part; a Bye may still be queued. lost: its connection was lost, so its objects are kept for
 * the grace period.
 */
void world_leave(struct session *s, bool lost, int64_t now_mono_ns);
/* A member was forgotten: removes its remaining objects, then its number. */
void world_forget(struct world *w, uint32_t connection);
int world_add_give(struct world *w, uint64_t id, uint32_t from, uint32_t to);
/* The frame of a section against a base, for the newest tick. -ENOMEM. */
int world_frame(struct world *w, const struct section *section, uint64_t base, const uint8_t **ret, size_t *ret_len);

#endif
