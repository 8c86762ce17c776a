/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of a session, without a socket and without a clock: bytes of the server go in, bytes for it come out ("Order" in
 * schemas/wire/world.md). What a client says of its objects is kept, so that it can be said again to a server that lost it. What another process
 * of its identity has left there goes: objects of a new process are new ones.
 * Thread: the owner's.
 */
#ifndef WORLD_SIDE_H
#define WORLD_SIDE_H

#include "datagram.h"
#include "frame.h"
#include "remote.h"

struct side;

#define SIDE_IDENTITY  16u
#define SIDE_NOTE_MAX  2048u
#define SIDE_NAME_MAX  63u
#define SIDE_PLACES    8u
#define SIDE_QUEUE_MAX (4u << 20) /* bytes that wait for the server */

enum side_role { SIDE_REGULATING = 1, SIDE_CONSTRAINED, SIDE_OBSERVER };

struct side_options {
	const char *name; /* all kept */
	const char *token;
	enum side_role role;
	uint8_t identity[SIDE_IDENTITY];
	int64_t lookahead_dur_ns;
	uint32_t level;
	double radius;
	unsigned history;      /* states of each object, at least 2 */
	uint8_t own_codes[16]; /* bit c - 128: object codes beyond 127 that it will send */
	bool datagrams;        /* where the server has them */
};

/* An object of one's own, as it is said. */
struct side_object {
	/* the number of one that is made here, less than `objects` of the Welcome; or the whole id of one that was handed over */
	uint64_t id;
	uint32_t code;
	struct motion_real motion;
	const void *body; /* NULL: as it was */
	size_t len;
};

struct side_tick {
	uint64_t tick;
	int64_t time_sim_ns, step_dur_ns;
	uint32_t pace_permille, waited_for;
	int32_t step_advice_e6;
	enum side_role role; /* the one that it has now */
};

enum side_event_kind {
	SIDE_WELCOME, /* again: its objects are still there */
	SIDE_TICK,    /* the world is at tick; changes: what has happened to others' objects, and to one's own */
	SIDE_NOTE,
	SIDE_GONE,   /* id: nobody has it any more */
	SIDE_WANTED, /* connection would have object id, which is this client's */
	SIDE_OWNER,  /* connection has id now; refused: it has not, its owner keeps it */
	SIDE_ENDED,  /* the server has said Bye; sentence; again: to come again is of use */
};

struct side_event {
	enum side_event_kind kind;
	struct side_tick tick;
	const struct remote_event *changes;
	size_t n_changes;
	uint64_t id, from, to;
	int64_t time_sim_ns;
	uint32_t connection;
	bool refused, again, slow; /* slow: of SIDE_ENDED: time has waited for this host for too long */
	uint16_t udp_port;         /* of SIDE_WELCOME; 0: no datagrams */
	int error;                 /* of SIDE_ENDED: what it comes to */
	const void *payload;       /* of a note; as sentence until the next call with its side */
	size_t len;
	const char *sentence;
};

/* -EINVAL; -ENOMEM. */
int side_create(const struct side_options *o, struct side **ret) __attribute__((warn_unused_result));
void side_destroy(struct side *s);

/* A connection is there: Hello is the first that goes out. What was said and what is seen stays. */
int side_begin(struct side *s) __attribute__((warn_unused_result));
/* It is gone. */
void side_end(struct side *s);
bool side_is_in(const struct side *s); /* there was a Welcome, and no end since */

/* Room for what comes, of which side_add says how many came and when. -ENOMEM. */
int side_room(struct side *s, uint8_t **ret, size_t *ret_size) __attribute__((warn_unused_result));
void side_add(struct side *s, size_t n, int64_t now_mono_ns);
/*
 * The next that has happened. 1; 0 nothing more for now; negative, with a sentence: the connection is of no use any more: -EBADMSG what came
 * is no such protocol, -ENOMEM, -E2BIG.
 */
int side_next(struct side *s, struct side_event *ret) __attribute__((warn_unused_result));

/* What is for the server, from the first byte that was not sent; valid until the next call. */
size_t side_output(const struct side *s, const void **ret);
void side_sent(struct side *s, size_t n);

/* ---- datagrams: of a connection whose Welcome had a udp_port ---- */

/* One that came from there. What it tells side_next() returns. As of datagram_input(). */
int side_datagram(struct side *s, const void *data, size_t len, int64_t now_mono_ns)
	__attribute__((warn_unused_result));
/* All that is due, as of datagram_output(); nothing where there are no datagrams. */
int side_datagrams(struct side *s, int64_t now_mono_ns, struct datagram_out *ret) __attribute__((warn_unused_result));
/* Lets age what has to. Returns when that, or side_datagrams(), is to be called next; INT64_MAX: there are none. */
int64_t side_turn(struct side *s, int64_t now_mono_ns);
/* They go both ways; else all goes by the connection. */
bool side_has_datagrams(const struct side *s);

/*
 * Each: 0; -ENOTCONN no Welcome yet, or none any more (what was put, and where it looks from, is said when there is one: that is no failure); -EAGAIN
 * the server does not read; -ENOMEM. With a sentence.
 */
/* Also as sim_world_put(). */
int side_put(struct side *s, const struct side_object *o) __attribute__((warn_unused_result));
int side_remove(struct side *s, uint64_t id) __attribute__((warn_unused_result)); /* also -ENOENT */
/* All of ticks up to that one is put. */
int side_done(struct side *s, uint64_t tick, int64_t now_mono_ns) __attribute__((warn_unused_result));
/* Its own time stands until the next side_done(). */
int side_pause(struct side *s) __attribute__((warn_unused_result));
int side_note(struct side *s, uint64_t from, uint64_t to, bool all, int64_t time_sim_ns, const void *payload,
	      size_t len) __attribute__((warn_unused_result)); /* also -EMSGSIZE */
/* give: to that connection; else it is asked for, by this one. */
int side_ownership(struct side *s, uint64_t id, bool give, uint32_t connection, bool refused)
	__attribute__((warn_unused_result));
int side_interest(struct side *s, const double (*centres)[3], unsigned n, double radius)
	__attribute__((warn_unused_result)); /* also -EINVAL */
int side_bye(struct side *s) __attribute__((warn_unused_result));

/* ---- what there is ---- */

uint32_t side_connection(const struct side *s);      /* 0: never any */
uint32_t side_objects(const struct side *s);         /* that it may have */
uint64_t side_world(const struct side *s);           /* which run of the server */
uint64_t side_id(const struct side *s, uint64_t id); /* whole; 0: no connection yet */
const struct side_tick *side_tick(const struct side *s);
/* The i-th type that the operator of its server has added, as the last Welcome had it; false: there are no more. Not checked; valid until the next Welcome. */
struct side_type {
	uint32_t code;
	const char *name, *proto;
};
bool side_type(const struct side *s, size_t i, struct side_type *ret);
const struct remotes *side_remotes(const struct side *s);

#endif
