/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames over datagrams ("Datagrams" in schemas/wire/world.md), of one connection, at either side, without socket and
 * clock: datagrams in and out, the time with each call. Several small frames share a datagram, large ones are sent in
 * pieces. A frame arrives whole and once, or never; nothing is retransmitted. The sender learns of each frame, by a tag
 * of its own, that the other side has it, or that it is lost: a server uses the newest section that a client has as the
 * base of the next.
 *
 * The caller handles addresses. At the server a session has no address until datagram_input() has returned 0: an
 * authenticated datagram binds the address it came from. Until the other side has answered from there, no more bytes go
 * out than have come in.
 *
 * Thread: the owner's.
 */
#ifndef WORLD_DATAGRAM_H
#define WORLD_DATAGRAM_H

#include "packet.h"

#define DATAGRAM_FRAME_MAX  1048576u          /* code and body; longer frames go over TCP */
#define DATAGRAM_OUT_MAX    1024u             /* datagrams between two datagram_output() */
#define DATAGRAM_ACK_DUR_NS INT64_C(25000000) /* received datagrams are acknowledged within this, */
#define DATAGRAM_ACK_EVERY  128u              /* or at once when so many have come */

/* Callbacks, inside calls on a datagram; they must not call functions of the same one. */
struct datagram_ops {
	/*
	 * A frame has arrived; body is valid until return. Negative: it could not be processed, so it is not
	 * acknowledged, and counts as lost at the sender.
	 */
	int (*frame)(void *user, uint8_t code, const void *body, size_t len);
	/*
	 * The other side has taken the frame, or it counts as lost (it may still arrive). For each tag other than 0 one
	 * of the two is called, once, unless datagram_destroy() comes first.
	 */
	void (*acked)(void *user, uint64_t tag);
	void (*lost)(void *user, uint64_t tag);
};

struct datagram_options {
	uint32_t connection;
	const uint8_t *key_out, *key_in; /* PACKET_KEY bytes each; copied */
	bool server;                     /* sends only after it has received */
	uint32_t frame_in_max;           /* code and body, 2 to DATAGRAM_FRAME_MAX */
	size_t making_max;               /* bytes of incomplete frames; at least frame_in_max and 1100 more */
	const struct datagram_ops *ops;  /* kept */
	void *user;
};

struct datagram_stats {
	uint64_t in, in_bytes, out, out_bytes; /* valid datagrams received; datagrams sent */
	uint64_t refused[PACKET_REFUSALS_N];
	uint64_t malformed; /* authenticated, but malformed */
	uint64_t frames_in, frames_out;
	uint64_t untaken;     /* datagrams with a frame that was refused, so that they are not acknowledged */
	uint64_t given_up;    /* frames of which not all pieces came */
	uint64_t acked, lost; /* frames, with a tag or without */
	size_t making_bytes;
	int64_t rtt_dur_ns, rtt_least_dur_ns; /* smoothed; the least of eight. INT64_MAX: not known */
};

/*
 * Datagrams for one destination, to be sent with UDP_SEGMENT: of `segment` bytes each, except the last, which may be
 * shorter.
 */
struct datagram_out {
	const uint8_t *data; /* valid until the next call with this datagram */
	size_t len, segment; /* len 0: nothing to send */
};

struct datagram;

/* -EINVAL options; -EIO no libsodium; -ENOMEM. */
int datagram_create(const struct datagram_options *o, struct datagram **ret) __attribute__((warn_unused_result));
void datagram_destroy(struct datagram *d); /* wipes the keys; reports nothing */

/*
 * Queues a frame, code and body, for the next output. tag: for acked and lost, 0: neither. May report older frames as
 * lost. -EMSGSIZE longer than DATAGRAM_FRAME_MAX; -ENOBUFS DATAGRAM_OUT_MAX datagrams are full: output first; -EAGAIN
 * the other side's address is not confirmed yet, and it has not sent as many bytes as this needs: use TCP; -ENOMEM. On
 * an error nothing of the frame is sent, and nothing reported.
 */
int datagram_send(struct datagram *d, uint64_t tag, uint8_t code, const void *body, size_t len)
	__attribute__((warn_unused_result));
/*
 * Returns all that is due: frames, and the acknowledgement of what has come. Datagrams that the caller does not send
 * count as lost after a while. -ENOMEM: try later.
 */
int datagram_output(struct datagram *d, int64_t now_mono_ns, struct datagram_out *ret)
	__attribute__((warn_unused_result));
/*
 * Receives a datagram. Returns 0: it belongs to this connection, and is new; errors of packet_open(); -EPROTO: it
 * authenticates, but its content is malformed, and from there on ignored. Calls acked and lost, then frame.
 */
int datagram_input(struct datagram *d, const void *data, size_t len, int64_t now_mono_ns)
	__attribute__((warn_unused_result));
/* Handles timeouts. Returns when to call it, or datagram_output(), next; INT64_MAX: not before something happens. */
int64_t datagram_turn(struct datagram *d, int64_t now_mono_ns);
/* Whether the other side has answered what was sent to it. */
bool datagram_is_confirmed(const struct datagram *d);
/* datagrams that were sent and are neither acknowledged nor lost */
uint32_t datagram_in_flight(const struct datagram *d);
/*
 * Makes the next output contain a datagram even if nothing else is due: by it a client makes itself known. A server
 * sends nothing before it has received something.
 */
void datagram_ping(struct datagram *d);
void datagram_stats(const struct datagram *d, struct datagram_stats *ret);

#endif
