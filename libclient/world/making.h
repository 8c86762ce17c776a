/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reassembly of frames that come in pieces. The peer determines a frame's length and which piece it sends, so
 * everything is bounded: the length of a frame, the number of incomplete frames, their total bytes, and their age. When
 * there is no room, newer frames displace older ones. A frame is completed once or never. Thread: the owner's.
 */
#ifndef WORLD_MAKING_H
#define WORLD_MAKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAKING_PIECE      1100u /* bytes of each piece but the last */
#define MAKING_PIECES_MAX 954u
#define MAKING_FRAME_MAX  1048576u
#define MAKING_N          32u /* incomplete frames at a time */
#define MAKING_WINDOW     64u /* message numbers: older ones, relative to the newest, are refused */
#define MAKING_DUR_NS     INT64_C(2000000000)

struct making_piece {
	uint64_t message;      /* number, from 1 */
	uint16_t index, count; /* piece number `index` of `count` */
	const uint8_t *data;
	size_t len;
};

struct made {
	uint8_t *data; /* owned; NULL: a free place */
	uint64_t message;
	uint32_t len; /* 0: the last piece has not come yet */
	uint16_t count, have;
	int64_t begun_mono_ns;
	uint64_t pieces[(MAKING_PIECES_MAX + 63) / 64]; /* bit i: piece i has come */
};

struct making {
	struct made made[MAKING_N];
	uint32_t frame_max;
	size_t bytes, bytes_max;
	uint64_t newest; /* newest message seen; 0: none */
	uint64_t done;   /* bit i: newest - i was delivered or given up */
	uint64_t given_up;
};

/* frame_max: 1 to MAKING_FRAME_MAX; bytes_max: at least frame_max. */
void making_init(struct making *m, uint32_t frame_max, size_t bytes_max);
void making_finish(struct making *m);
/*
 * Adds a piece. Returns 1: the frame is complete: its bytes, free with mem_free. 0: kept. On an error the piece is
 * dropped: -EBADMSG it does not belong to such a frame, or has come before; -EMSGSIZE the frame is too long; -ESTALE it
 * was delivered, given up, or is too old; -ENOBUFS newer frames need the room; -ENOMEM.
 */
int making_add(struct making *m, const struct making_piece *p, int64_t now_mono_ns, uint8_t **ret, size_t *ret_len)
	__attribute__((warn_unused_result));
/* Gives up frames that were begun too long ago; returns when to call it next, INT64_MAX: there are none. */
int64_t making_turn(struct making *m, int64_t now_mono_ns);

#endif
