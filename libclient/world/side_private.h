/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by side.c, side_in.c, side_own.c and side_udp.c. */
#ifndef WORLD_SIDE_PRIVATE_H
#define WORLD_SIDE_PRIVATE_H

#include "side.h"
#include "wire/world.pb-c.h"

/* An object of this client. */
struct own {
	uint64_t id; /* its number, or the whole id of one that was handed over */
	uint32_t generation, code;
	bool there;       /* it was put, and not removed since */
	bool gone_unsaid; /* it was removed while no server was connected */
	bool away;        /* it belongs to another client: its number is in use */
	bool body_sure;   /* with datagrams: the server has the body */
	uint32_t bodies;  /* number of its present body */
	struct motion_real motion;
	struct body *body; /* a reference; NULL: empty */
};

#define SIDE_BODIES 1024u /* bodies in flight in datagrams */

/* A Heartbeat whose sections have not all come. */
struct side_beat {
	struct side_tick tick;
	uint32_t sections;
	int64_t sent_mono_ns, arrived_mono_ns; /* by the server's clock; by this client's */
};

/* Datagrams of one connection. */
struct side_udp {
	struct datagram *d; /* NULL: there are no datagrams */
	uint16_t port;      /* of the server */
	int64_t in_mono_ns; /* time of the last valid one */
	int64_t ping_mono_ns;
	int64_t now_mono_ns;                      /* time of the call, while one is processed */
	struct side_beat beats[REMOTE_TICKS_MAX]; /* by tick % REMOTE_TICKS_MAX: of ticks later than side::tick */
	struct {
		uint64_t tag, id;
		uint32_t bodies;
	} bodies[SIDE_BODIES]; /* by tag % SIDE_BODIES */
	uint64_t tag;          /* latest tag used */
};

struct side {
	struct side_options o;
	char *name, *token;
	struct frame_reader in;
	struct wire_buf out;
	size_t sent; /* bytes of out */
	enum { SIDE_OUT, SIDE_HELLO, SIDE_IN } state;
	uint32_t connection, objects; /* of the last Welcome; 0: there was none */
	uint64_t world;
	enum side_role granted; /* as of the last Welcome; 0: there was none */
	struct side_tick tick;
	int64_t beat_mono_ns, arrived_mono_ns,
		in_mono_ns; /* of the latest Heartbeat: by the server's clock, by this client's; of the latest bytes */
	uint32_t notes;     /* notes sent so far */
	double places[SIDE_PLACES][3], look_radius; /* where it looks from, as sent */
	unsigned n_places;
	bool looks;
	bool learns; /* the server has objects of this identity from before this process: the next tick shows them */
	struct remotes *remotes;
	struct own *own; /* ascending by id */
	uint32_t n_own, own_size;
	ProtobufCMessage *message; /* the last one unpacked; an event may point into it */
	ProtobufCMessage *welcome; /* the last one, for its types; NULL: there was none */
	struct side_udp udp;
};

/* ---- side.c ---- */

void side_forget_types(struct side *s);

/* Whether a frame may be sent: 0; -ENOTCONN; -EAGAIN. */
int side_may_send(const struct side *s) __attribute__((warn_unused_result));
int side_look_again(struct side *s) __attribute__((warn_unused_result));
int side_send(struct side *s, enum frame_code code, const ProtobufCMessage *m) __attribute__((warn_unused_result));

/* ---- side_in.c ---- */

/* Takes a Section's body: 0, or why not. by_datagram: one that does not fit counts as lost, without further effect. */
int side_take_section(struct side *s, const void *body, size_t len, bool by_datagram)
	__attribute__((warn_unused_result));
/* Completes the tick: 1 an event. */
int side_take_tick(struct side *s, const struct side_beat *b, bool whole, struct side_event *ret)
	__attribute__((warn_unused_result));
struct side_beat side_beat_of(const struct side *s, const Sim__World__Heartbeat *m, int64_t now_mono_ns);

/* ---- side_udp.c ---- */

/* Sets up datagrams from a Welcome. -EBADMSG; -ENOMEM. */
int side_udp_begin(struct side *s, const Sim__World__Welcome *m) __attribute__((warn_unused_result));
void side_udp_end(struct side *s);
/* Stores a Heartbeat until its sections have come. */
void side_udp_beat(struct side *s, const struct side_beat *b);
/* The next tick that is complete: 1 an event, 0 none. */
int side_udp_tick(struct side *s, struct side_event *ret) __attribute__((warn_unused_result));
/* Sends a frame by datagram. False: it must go over TCP. with_body: the object whose body it contains, or NULL. */
bool side_udp_send(struct side *s, uint8_t code, const void *body, size_t len, const struct own *with_body);

/* ---- side_own.c ---- */

/* The server has that body of an object. */
void side_own_sure(struct side *s, uint64_t id, uint32_t bodies);

/* After a Welcome: sends everything again. again: the server still has it. */
int side_own_again(struct side *s, bool again) __attribute__((warn_unused_result));
/* Handles an Ownership message of the server. -ENOMEM. */
int side_own_moved(struct side *s, uint64_t id, uint32_t connection) __attribute__((warn_unused_result));
void side_own_gone(struct side *s, uint64_t id); /* it no longer exists, whichever client owned it */
/*
 * Handles the tick from which a new process learns the objects that an earlier one of its identity has left: removes
 * them, and sends what was put meanwhile.
 */
int side_own_learn(struct side *s) __attribute__((warn_unused_result));
void side_own_finish(struct side *s);

#endif
