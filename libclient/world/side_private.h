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
	struct motion_real motion;
	struct body *body; /* a reference; NULL: empty */
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
};

/* ---- side.c ---- */

/* Room for a frame that is to be sent: 0; -ENOTCONN; -EAGAIN. */
int side_may_send(const struct side *s) __attribute__((warn_unused_result));
int side_look_again(struct side *s) __attribute__((warn_unused_result));
int side_send(struct side *s, enum frame_code code, const ProtobufCMessage *m) __attribute__((warn_unused_result));

/* ---- side_own.c ---- */

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
