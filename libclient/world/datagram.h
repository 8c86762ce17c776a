/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames over datagrams ("Datagrams" in schemas/wire/world.md), of one connection, at either side, without socket and clock: datagrams in and
 * out, the time with each call. Small frames go several in a datagram, large ones in pieces. A frame arrives whole and once, or
 * never; nothing is sent again. The sender learns of each frame, by a tag of its own, that the other side has it, or that it is lost: a
 * server takes the newest section that a client has as the base of the next.
 *
 * Addresses are the caller's. At the server a session has no address until datagram_input() has returned 0: what authenticates binds the
 * address it came from. Until the other side has answered from there no more bytes go out than have come in.
 *
 * Thread: the owner's.
 */
#ifndef WORLD_DATAGRAM_H
#define WORLD_DATAGRAM_H

#include "packet.h"

#define DATAGRAM_FRAME_MAX  1048576u          /* code and body; what is longer goes over TCP */
#define DATAGRAM_OUT_MAX    1024u             /* datagrams between two datagram_output() */
#define DATAGRAM_ACK_DUR_NS INT64_C(25000000) /* what has come is acknowledged within this, */
#define DATAGRAM_ACK_EVERY  128u              /* or at once when so many have come */

/* Callbacks, from within calls of one datagram; they call none of the same. */
struct datagram_ops {
	/* A frame has come; body is valid until return. Negative: it could not be taken, so it is not acknowledged, and lost to the sender. */
	int (*frame)(void *user, uint8_t code, const void *body, size_t len);
	void (*acked)(void *user,
		      uint64_t tag); /* the other side has taken it. Of each tag that is not 0 one of the two, once, */
	void (*lost)(void *user,
		     uint64_t tag); /* unless datagram_destroy() comes first. What is lost may have come all the same. */
};

struct datagram_options {
	uint32_t connection;
	const uint8_t *key_out, *key_in; /* PACKET_KEY bytes each; copied */
	bool server;                     /* speaks when it is spoken to */
	uint32_t frame_in_max;           /* code and body, 2 to DATAGRAM_FRAME_MAX */
	size_t making_max;               /* bytes of frames in the making; at least frame_in_max and 1100 more */
	const struct datagram_ops *ops;  /* kept */
	void *user;
};

struct datagram_stats {
	uint64_t in, in_bytes, out, out_bytes; /* datagrams that were good; that went out */
	uint64_t refused[PACKET_REFUSALS_N];
	uint64_t malformed; /* authenticated, and not of this protocol */
	uint64_t frames_in, frames_out;
	uint64_t untaken;     /* datagrams of which something was refused, so that they are not acknowledged */
	uint64_t given_up;    /* frames in the making that were never whole */
	uint64_t acked, lost; /* frames, with a tag or without */
	size_t making_bytes;
	int64_t rtt_dur_ns, rtt_least_dur_ns; /* smooth; the least of eight. INT64_MAX: not known */
};

/* Datagrams of one size for one destination, so that UDP_SEGMENT can send them: of segment bytes each, but the last, which may be shorter. */
struct datagram_out {
	const uint8_t *data; /* valid until the next call with this datagram */
	size_t len, segment; /* len 0: nothing is to be sent */
};

struct datagram;

/* -EINVAL of options; -EIO no libsodium; -ENOMEM. */
int datagram_create(const struct datagram_options *o, struct datagram **ret) __attribute__((warn_unused_result));
void datagram_destroy(struct datagram *d); /* wipes the keys; reports nothing */

/*
 * Puts a frame, code and body, behind what goes out next. tag: for acked and lost, 0: neither. May report older frames as lost. -EMSGSIZE longer than
 * DATAGRAM_FRAME_MAX; -ENOBUFS DATAGRAM_OUT_MAX datagrams are full: output first; -EAGAIN the other side's address is not proved yet, and
 * has not sent as much as this needs: use TCP; -ENOMEM. Then nothing of it is sent, and nothing reported.
 */
int datagram_send(struct datagram *d, uint64_t tag, uint8_t code, const void *body, size_t len)
	__attribute__((warn_unused_result));
/* All that is due: frames, and the acknowledgement of what has come. What of it is not sent counts as lost in time. -ENOMEM: later. */
int datagram_output(struct datagram *d, int64_t now_mono_ns, struct datagram_out *ret)
	__attribute__((warn_unused_result));
/*
 * 0: it is of this connection, and new; as of packet_open(); -EPROTO: it authenticates, and its content is malformed, from where on nothing is taken. Calls
 * back acked and lost, then frame.
 */
int datagram_input(struct datagram *d, const void *data, size_t len, int64_t now_mono_ns)
	__attribute__((warn_unused_result));
/* Lets age what has to. Returns when it, or datagram_output(), is to be called next; INT64_MAX: not before something happens. */
int64_t datagram_turn(struct datagram *d, int64_t now_mono_ns);
/* The other side has answered what was sent to it. */
bool datagram_is_confirmed(const struct datagram *d);
uint32_t datagram_in_flight(const struct datagram *d); /* that were sent and are neither acknowledged nor lost */
/* A client makes itself known with this: the next output has a datagram even if nothing else is due. At a server nothing comes of it before something has come in. */
void datagram_ping(struct datagram *d);
void datagram_stats(const struct datagram *d, struct datagram_stats *ret);

#endif
