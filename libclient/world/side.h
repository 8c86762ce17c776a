/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of a session, without a socket and without a clock: bytes of the server go in, bytes for it come
 * out ("Order" in schemas/wire/world.md). The states of the client's objects are kept, to be sent again to a server
 * that has lost them. Objects that an earlier process with its identity has left on the server are removed: objects of
 * a new process are new ones. Thread: the owner's.
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
	const char *name; /* all of these are kept */
	const char *token;
	enum side_role role;
	uint8_t identity[SIDE_IDENTITY];
	int64_t lookahead_dur_ns;
	uint32_t level;
	double radius;
	unsigned history;      /* states kept of each object, at least 2 */
	uint8_t own_codes[16]; /* bit c - 128: object code c above 127 that it will send */
	bool datagrams;        /* use datagrams if the server has them */
};

/* An object of this client, as it is put. */
struct side_object {
	/*
	 * its number, for one that is created here, less than `objects` of the Welcome; or the whole id of one that was
	 * handed over
	 */
	uint64_t id;
	uint32_t code;
	struct motion_real motion;
	const void *body; /* NULL: unchanged */
	size_t len;
};

struct side_tick {
	uint64_t tick;
	int64_t time_sim_ns, step_dur_ns;
	uint32_t pace_permille, waited_for;
	int32_t step_advice_e6;
	enum side_role role; /* the role that it has now */
};

enum side_event_kind {
	SIDE_WELCOME, /* again: its objects still exist there */
	SIDE_TICK,    /* the world is at tick; changes: of other clients' objects, and of its own */
	SIDE_NOTE,
	SIDE_GONE,   /* id: no client owns it any more */
	SIDE_WANTED, /* connection asks for object id, which is this client's */
	SIDE_OWNER,  /* connection owns id now; refused: it does not, the owner keeps it */
	SIDE_ENDED,  /* the server has said Bye; sentence; again: reconnecting may succeed */
};

struct side_event {
	enum side_event_kind kind;
	struct side_tick tick;
	const struct remote_event *changes;
	size_t n_changes;
	uint64_t id, from, to;
	int64_t time_sim_ns;
	uint32_t connection;
	bool refused, again, slow; /* slow: with SIDE_ENDED: time has waited too long for this host */
	uint16_t udp_port;         /* with SIDE_WELCOME; 0: no datagrams */
	int error;                 /* with SIDE_ENDED: the errno for it */
	const void *payload;       /* of a note; like sentence valid until the next call with its side */
	size_t len;
	const char *sentence;
};

/* -EINVAL; -ENOMEM. */
int side_create(const struct side_options *o, struct side **ret) __attribute__((warn_unused_result));
void side_destroy(struct side *s);

/* A connection is established: Hello is sent first. Objects, what was put and what is seen are kept. */
int side_begin(struct side *s) __attribute__((warn_unused_result));
/* The connection is lost. */
void side_end(struct side *s);
bool side_is_in(const struct side *s); /* whether there was a Welcome, and no end since */

/* Returns room for input; side_add() then tells how many bytes came and when. -ENOMEM. */
int side_room(struct side *s, uint8_t **ret, size_t *ret_size) __attribute__((warn_unused_result));
void side_add(struct side *s, size_t n, int64_t now_mono_ns);
/*
 * Returns the next event: 1; 0 no more for now; negative, with a sentence: the connection cannot be used any more:
 * -EBADMSG the input is not this protocol, -ENOMEM, -E2BIG.
 */
int side_next(struct side *s, struct side_event *ret) __attribute__((warn_unused_result));

/* The bytes for the server, from the first that was not sent; valid until the next call. */
size_t side_output(const struct side *s, const void **ret);
void side_sent(struct side *s, size_t n);

/* ---- datagrams: for a connection whose Welcome had a udp_port ---- */

/* Receives a datagram from there. side_next() returns its events. As datagram_input(). */
int side_datagram(struct side *s, const void *data, size_t len, int64_t now_mono_ns)
	__attribute__((warn_unused_result));
/* Returns all that is due, as datagram_output(); nothing if there are no datagrams. */
int side_datagrams(struct side *s, int64_t now_mono_ns, struct datagram_out *ret) __attribute__((warn_unused_result));
/* Handles timeouts. Returns when to call it, or side_datagrams(), next; INT64_MAX: there are no datagrams. */
int64_t side_turn(struct side *s, int64_t now_mono_ns);
/* Whether datagrams pass in both directions; else everything goes over TCP. */
bool side_has_datagrams(const struct side *s);

/*
 * Each returns 0; -ENOTCONN no Welcome yet, or none any more (objects, and the places it looks from, are then sent with
 * the next Welcome: that is not an error); -EAGAIN the server does not read; -ENOMEM. With a sentence.
 */
/* Also as sim_world_put(). */
int side_put(struct side *s, const struct side_object *o) __attribute__((warn_unused_result));
int side_remove(struct side *s, uint64_t id) __attribute__((warn_unused_result)); /* also -ENOENT */
/* Reports that all changes of the ticks up to `tick` have been put. */
int side_done(struct side *s, uint64_t tick, int64_t now_mono_ns) __attribute__((warn_unused_result));
/* The client's own time stands still until the next side_done(). */
int side_pause(struct side *s) __attribute__((warn_unused_result));
int side_note(struct side *s, uint64_t from, uint64_t to, bool all, int64_t time_sim_ns, const void *payload,
	      size_t len) __attribute__((warn_unused_result)); /* also -EMSGSIZE */
/* give: gives the object to that connection; else asks for it. */
int side_ownership(struct side *s, uint64_t id, bool give, uint32_t connection, bool refused)
	__attribute__((warn_unused_result));
int side_interest(struct side *s, const double (*centres)[3], unsigned n, double radius)
	__attribute__((warn_unused_result)); /* also -EINVAL */
int side_bye(struct side *s) __attribute__((warn_unused_result));

/* ---- state ---- */

uint32_t side_connection(const struct side *s);      /* 0: never any */
uint32_t side_objects(const struct side *s);         /* how many objects it may have */
uint64_t side_world(const struct side *s);           /* identifies the run of the server */
uint64_t side_id(const struct side *s, uint64_t id); /* the whole id; 0: no connection yet */
const struct side_tick *side_tick(const struct side *s);
/*
 * The i-th type that the operator of the server has added, as in the last Welcome; false: there are no more. Not
 * checked; valid until the next Welcome.
 */
struct side_type {
	uint32_t code;
	const char *name, *proto;
};
bool side_type(const struct side *s, size_t i, struct side_type *ret);
const struct remotes *side_remotes(const struct side *s);

#endif
