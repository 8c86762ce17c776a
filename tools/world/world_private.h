/* SPDX-License-Identifier: Apache-2.0 */
/* What world.c and session*.c share. */
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

/* Datagrams of a session. */
struct session_udp {
	struct datagram *d; /* NULL: it has none */
	struct session_address address;
	bool bound;                        /* one that authenticated has come from address */
	int64_t now_mono_ns;               /* while one is taken, or time passes */
	int64_t in_mono_ns, whole_mono_ns; /* the last one; the last tick of which it has all, or that went by TCP */
	struct bucket bucket;
	struct {
		uint64_t tick;
		uint32_t left; /* frames that are on their way */
		bool lost;
	} ticks[RING]; /* by tick % RING */
};

struct session {
	struct list link; /* world::sessions, in the order in which they came */
	struct world *w;
	struct frame_reader in;
	struct wire_buf out;
	size_t sent; /* of out */
	bool ends;
	bool greeted;          /* a Hello has come, right or wrong: who has not sent one is sent nothing */
	int64_t hello_mono_ns; /* by then; INT64_MAX: it has */
	struct member *m;      /* NULL: it does not take part, not yet or not any more */
	char name[NAME_MAX_LEN + 1], certificate[NAME_MAX_LEN + 1];
	const struct access_entry *access; /* its entry; NULL: there is no list, or no Hello yet */
	bool paused;                       /* its own time stands, as it has said */
	bool refusal_said;                 /* by session_refuse() */
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
	bool wants_udp;
	struct session_udp udp;
	/* session_bounds.c */
	int64_t share, share_mono_ns;   /* frames that it may send; up to when that has grown */
	struct bucket asks;             /* what others are told for it: Want, Give */
	struct bucket again, again_one; /* all is sent whole again; one section is */
	bool again_all;                 /* that is due, as soon as it may be */
	int64_t partial_mono_ns;        /* a frame has begun then and is not whole; INT64_MAX: none */
	struct session_info info;
	struct sample samples[2]; /* the older one first, each a second after the other */
};

struct encoded {
	struct encoded_key {
		const struct section *section;
		uint64_t base;
	} key;
	size_t at, len; /* in world::frames; len 0: not yet */
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
	uint32_t n_strangers;        /* of the sessions those that never took part */
	uint32_t n_silent;           /* of these those that have not said Hello, and are not ended */
	struct snapshot *ring[RING]; /* by tick % RING */
	struct snapshot *newest;     /* of ring; NULL: no tick yet */
	/* frames of the newest tick, each made once, whoever gets it */
	struct wire_buf frames;
	struct table encoded; /* of struct encoded */
	/* to be told at the next tick, if they have happened */
	struct give *gives;
	uint32_t n_gives, gives_size;
	uint16_t udp_port;   /* 0: no datagrams */
	uint32_t *forgotten; /* connections of members that are no more, whose objects are still there */
	uint32_t n_forgotten, forgotten_size;
	uint64_t ahead, notes, notes_lost, floods, withheld;
	int64_t now_mono_ns; /* of the call that is under way */
};

/* ---- session_out.c ---- */

/* A frame of one of the messages; without memory the session ends. */
void session_put(struct session *s, enum frame_code code, const ProtobufCMessage *m);
/* Bye, or Refused before Welcome, and the end. Who has not sent a Hello is sent neither. */
void session_tell_end(struct session *s, Sim__World__Bye__Reason reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The newest tick: sections, what is gone, heartbeat. surely: all of it by TCP. */
void session_put_tick(struct session *s, bool surely, int64_t now_mono_ns);
/* Part of the newest tick by TCP, as the datagram with it is lost. */
bool session_put_section(struct session *s, const struct section *section, uint64_t base);
void session_put_heartbeat(struct session *s, int64_t now_mono_ns);

/* ---- session_udp.c ---- */

/* Into its Welcome, where it is to have datagrams. keys: to the server, to the client; the caller wipes them. False: it has none. */
bool session_udp_begin(struct session *s, uint8_t keys[2][PACKET_KEY], int64_t now_mono_ns);
void session_udp_end(struct session *s);
/* The tick that is to be told may go by datagram. */
bool session_udp_is_open(struct session *s, int64_t now_mono_ns);
bool session_udp_is_full(const struct session *s); /* too much is on its way */
/* What is lost of the newest tick is noticed and goes again anyway. */
bool session_udp_mends(const struct session *s, int64_t now_mono_ns);
/* A part of the newest tick: index of its sections, or the heartbeat. False: it has to go by TCP. */
#define SESSION_UDP_HEARTBEAT UINT32_MAX
bool session_udp_put(struct session *s, uint32_t index, uint8_t code, const void *body, size_t len);
/* Returns when there is something to do next. */
int64_t session_udp_turn(struct session *s, int64_t now_mono_ns);

/* ---- session_bounds.c ---- */

void session_share_init(struct session *s, int64_t now_mono_ns);
/* It has said Hello, or will not any more. */
void session_not_silent(struct session *s);
/* Of too many that are silent the oldest one goes. */
void world_bound_silent(struct world *w);
/* It grows: by a tick's; by the time since the last call. */
void session_share_tick(struct session *s);
void session_share_time(struct session *s, int64_t now_mono_ns);
/* For a frame of that length. False: it had nothing left, and ends. */
bool session_pays(struct session *s, size_t len);
/* Whether another one may be told something for it now. */
bool session_may_ask(struct session *s, int64_t now_mono_ns);
/* What another one says. False, and counted: too much waits already, and a client is not to end by what others say. */
bool session_pass_on(struct session *to, enum frame_code code, const ProtobufCMessage *m);
/* The answer to what it has said itself: if more waits then than may ever, it ends. */
void session_answer(struct session *s, enum frame_code code, const ProtobufCMessage *m);
/* A section whole again, NULL: all of them, with the next tick or as soon as it may have that. */
void session_again(struct session *s, const struct section_key *key, int64_t now_mono_ns);
void session_again_due(struct session *s, int64_t now_mono_ns);

/* After what came at that moment; whole: frames were among it. */
void session_partial(struct session *s, bool whole, int64_t now_mono_ns);
/* When the frame that has begun is too late, if no more of it comes; INT64_MAX: none has begun. */
int64_t session_partial_until(const struct session *s);

/* ---- session_standing.c ---- */

/* It has kept time waiting. */
void session_was_slow(struct session *s);
/* It takes part no more, and time may be waiting for it just now. */
void session_goes_late(struct session *s);
/* It takes part from now on: waited for at once, or when it has earned that. */
void session_begin_standing(struct session *s);

/* ---- session_access.c ---- */

/* Whether it is let in; else it is told, and ends. */
bool session_admit(struct session *s, const Sim__World__Hello *h);
uint32_t session_objects_max(const struct session *s);
/* It may not: that is counted, and logged the first time. */
void session_refuse(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* These do that where the answer is no. */
bool session_may_put(struct session *s, uint64_t id, uint32_t code);
bool session_may_get(struct session *s, uint64_t id);
bool session_may_note(struct session *s);

/* ---- session.c ---- */

/* A frame of a datagram. Negative: it was of no use. */
int session_take_datagram(struct session *s, const struct frame *f, int64_t now_mono_ns);
/* To be called now and then, for session_rates(). */
void session_sample(struct session *s, int64_t now_mono_ns);

/* ---- world.c ---- */

void world_say(const struct session *s, enum world_event what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
struct session *world_session(const struct world *w, uint32_t connection); /* NULL: it is not here */
/* It takes part no more; it may have to be told yet. lost: its connection alone, so its objects stay for the grace. */
void world_leave(struct session *s, bool lost, int64_t now_mono_ns);
/* A member is no more: what is still its own goes, and its number after that. */
void world_forget(struct world *w, uint32_t connection);
int world_add_give(struct world *w, uint64_t id, uint32_t from, uint32_t to);
/* The frame of a section against a base, of the newest tick. -ENOMEM. */
int world_frame(struct world *w, const struct section *section, uint64_t base, const uint8_t **ret, size_t *ret_len);

#endif
