/* SPDX-License-Identifier: Apache-2.0 */
/* What side.c, side_in.c and side_own.c share. */
#ifndef WORLD_SIDE_PRIVATE_H
#define WORLD_SIDE_PRIVATE_H

#include "side.h"
#include "wire/world.pb-c.h"

/* An object that this client says. */
struct own {
	uint64_t id; /* its number, or whole: one that was handed over */
	uint32_t generation, code;
	bool there;       /* it was put, and not removed since */
	bool gone_unsaid; /* it was removed while there was no server */
	bool away;        /* it is another's: its number is in use */
	bool body_sure;   /* where there are datagrams: the server has the body */
	uint32_t bodies;  /* that it has had */
	struct motion_real motion;
	struct body *body; /* a reference; NULL: empty */
};

#define SIDE_BODIES 1024u /* that are on their way in datagrams */

/* A Heartbeat, until its sections are here. */
struct side_beat {
	struct side_tick tick;
	uint32_t sections;
	int64_t sent_mono_ns, arrived_mono_ns; /* the server's; ours */
};

/* Datagrams of one connection. */
struct side_udp {
	struct datagram *d; /* NULL: there are none */
	uint16_t port;      /* of the server */
	int64_t in_mono_ns; /* the last that was good */
	int64_t ping_mono_ns;
	int64_t now_mono_ns;                      /* while one is taken */
	struct side_beat beats[REMOTE_TICKS_MAX]; /* by tick % REMOTE_TICKS_MAX: of ticks later than side::tick */
	struct {
		uint64_t tag, id;
		uint32_t bodies;
	} bodies[SIDE_BODIES]; /* by tag % SIDE_BODIES */
	uint64_t tag;          /* the newest */
};

struct side {
	struct side_options o;
	char *name, *token;
	struct frame_reader in;
	struct wire_buf out;
	size_t sent; /* of out */
	enum { SIDE_OUT, SIDE_HELLO, SIDE_IN } state;
	uint32_t connection, objects; /* of the last Welcome; 0: there was none */
	uint64_t world;
	enum side_role granted; /* by the last Welcome; 0: there was none */
	struct side_tick tick;
	int64_t beat_mono_ns, arrived_mono_ns,
		in_mono_ns; /* of the newest Heartbeat: the server's, ours; of the newest bytes */
	uint32_t notes;     /* that it has sent, as long as it lives */
	double places[SIDE_PLACES][3], look_radius; /* where it looks from, as it has said */
	unsigned n_places;
	bool looks;
	bool learns; /* the server has objects of this identity from before this process: the next tick shows them */
	struct remotes *remotes;
	struct own *own; /* ascending by id */
	uint32_t n_own, own_size;
	ProtobufCMessage *message; /* the last one, which an event may point into */
	ProtobufCMessage *welcome; /* the last one, for its types; NULL: there was none */
	struct side_udp udp;
};

/* ---- side.c ---- */

void side_forget_types(struct side *s);

/* Room for a frame that is to be sent: 0; -ENOTCONN; -EAGAIN. */
int side_may_send(const struct side *s) __attribute__((warn_unused_result));
int side_look_again(struct side *s) __attribute__((warn_unused_result));
int side_send(struct side *s, enum frame_code code, const ProtobufCMessage *m) __attribute__((warn_unused_result));

/* ---- side_in.c ---- */

/* A Section's body: 0, or what it was not. by_datagram: then one that does not fit is lost, and no more. */
int side_take_section(struct side *s, const void *body, size_t len, bool by_datagram)
	__attribute__((warn_unused_result));
/* The tick is there: 1 an event. */
int side_take_tick(struct side *s, const struct side_beat *b, bool whole, struct side_event *ret)
	__attribute__((warn_unused_result));
struct side_beat side_beat_of(const struct side *s, const Sim__World__Heartbeat *m, int64_t now_mono_ns);

/* ---- side_udp.c ---- */

/* What a Welcome has. -EBADMSG; -ENOMEM. */
int side_udp_begin(struct side *s, const Sim__World__Welcome *m) __attribute__((warn_unused_result));
void side_udp_end(struct side *s);
/* A Heartbeat waits for its sections. */
void side_udp_beat(struct side *s, const struct side_beat *b);
/* The next tick that is whole: 1 an event, 0 none. */
int side_udp_tick(struct side *s, struct side_event *ret) __attribute__((warn_unused_result));
/* A frame goes by datagram: false: it has to go by the connection. With the body of an object: of which. */
bool side_udp_send(struct side *s, uint8_t code, const void *body, size_t len, const struct own *with_body);

/* ---- side_own.c ---- */

/* The server has that body of an object. */
void side_own_sure(struct side *s, uint64_t id, uint32_t bodies);

/* A Welcome is there: all that is said is said again. again: the server has it still. */
int side_own_again(struct side *s, bool again) __attribute__((warn_unused_result));
/* An Ownership of the server that happened. -ENOMEM. */
int side_own_moved(struct side *s, uint64_t id, uint32_t connection) __attribute__((warn_unused_result));
void side_own_gone(struct side *s, uint64_t id); /* it is, whoever had it */
/*
 * The tick is there from which a new process learns what another one of its identity has left: that goes, and what was put meanwhile is said.
 */
int side_own_learn(struct side *s) __attribute__((warn_unused_result));
void side_own_finish(struct side *s);

#endif
