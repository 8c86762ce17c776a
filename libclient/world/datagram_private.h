/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by datagram.c and datagram_in.c. Not included elsewhere. */
#ifndef WORLD_DATAGRAM_PRIVATE_H
#define WORLD_DATAGRAM_PRIVATE_H

#include "ack.h"
#include "datagram.h"
#include "making.h"

enum item { ITEM_PADDING = 0, ITEM_FRAME = 1, ITEM_PIECE = 2, ITEM_PING = 3 };

#define ITEM_FRAME_HEAD 3u  /* kind, length */
#define ITEM_PIECE_HEAD 15u /* kind, message, index, count, length */
#define ITEMS_MAX       (PACKET_PLAIN_MAX - ACK_BYTES)
#define FRAME_WHOLE_MAX (ITEMS_MAX - ITEM_FRAME_HEAD)

/* A frame in flight, until all of its datagrams are decided. */
struct sent_frame {
	uint64_t tag;
	uint32_t left; /* undecided datagrams */
	bool lost;
};

/* A datagram that is not sealed yet. */
struct segment {
	uint64_t first; /* number of its first frame; count: how many */
	uint32_t count;
	uint32_t fill; /* bytes of items */
};

struct datagram {
	struct packet packet;
	struct ack_in ack_in;
	struct ack_out ack_out;
	struct making making;
	const struct datagram_ops *ops;
	void *user;
	bool server, confirmed, ping;

	/* out */
	uint8_t *out; /* owned; PACKET_MAX for each segment */
	struct segment *segments;
	uint32_t segments_n, segments_size;
	bool sent;                 /* out was returned to the caller: the next frame begins a new output */
	uint64_t message;          /* number of the latest frame in pieces */
	struct sent_frame *frames; /* owned; number & (size - 1) */
	uint32_t frames_size;
	uint64_t frames_oldest, frames_next;

	/* in */
	uint32_t unacked;        /* received datagrams not acknowledged yet */
	int64_t unacked_mono_ns; /* time of the first of them */
	struct datagram_stats stats;
};

#endif
