/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that come in pieces, until they are whole. The peer says how long a frame is and which piece it sends, so all is bounded: how long a frame
 * may be, how many are in the making, their bytes together, and for how long. Where there is no room newer ones push older ones out. A
 * frame is whole once or never. Thread: the owner's.
 */
#ifndef WORLD_MAKING_H
#define WORLD_MAKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAKING_PIECE      1100u /* bytes of each piece but the last */
#define MAKING_PIECES_MAX 954u
#define MAKING_FRAME_MAX  1048576u
#define MAKING_N          32u /* in the making at once */
#define MAKING_WINDOW     64u /* message numbers: what is further behind the newest is refused */
#define MAKING_DUR_NS     INT64_C(2000000000)

struct making_piece {
	uint64_t message;      /* number, from 1 */
	uint16_t index, count; /* piece index of count */
	const uint8_t *data;
	size_t len;
};

struct made {
	uint8_t *data; /* owned; NULL: a free place */
	uint64_t message;
	uint32_t len; /* 0: the last piece has not come */
	uint16_t count, have;
	int64_t begun_mono_ns;
	uint64_t pieces[(MAKING_PIECES_MAX + 63) / 64]; /* which have come */
};

struct making {
	struct made made[MAKING_N];
	uint32_t frame_max;
	size_t bytes, bytes_max;
	uint64_t newest; /* message that was seen; 0: none */
	uint64_t done;   /* bit i: newest - i is delivered, or was given up */
	uint64_t given_up;
};

/* frame_max: 1 to MAKING_FRAME_MAX; bytes_max: at least that of one frame. */
void making_init(struct making *m, uint32_t frame_max, size_t bytes_max);
void making_finish(struct making *m);
/*
 * 1: the frame is whole: returns its bytes, free with mem_free. 0: kept. Else the piece is refused, and nothing is kept of it: -EBADMSG it is no piece of such a
 * frame, or has come before; -EMSGSIZE the frame is too long; -ESTALE it was delivered, given up, or is too old; -ENOBUFS newer ones
 * have the room; -ENOMEM.
 */
int making_add(struct making *m, const struct making_piece *p, int64_t now_mono_ns, uint8_t **ret, size_t *ret_len)
	__attribute__((warn_unused_result));
/* Gives up what was begun too long ago; returns when the next one will have been, INT64_MAX: none. */
int64_t making_turn(struct making *m, int64_t now_mono_ns);

#endif
