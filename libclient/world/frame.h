/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of the world's protocol in a stream of bytes: a length, a code, a body ("Frames" in schemas/wire/world.md).
 * Bytes are put in as they come, complete frames come out, in place. Thread: the owner's.
 */
#ifndef WORLD_FRAME_H
#define WORLD_FRAME_H

#include "wire.h"

#define FRAME_HEAD         5u
#define FRAME_MAX_STRANGER 4096u     /* from a client before its Welcome; these limits count code and body */
#define FRAME_MAX_CLIENT   65536u    /* from a client after it */
#define FRAME_MAX_SERVER   16777216u /* from the server */

/* Codes of frames, as in world.md. */
enum frame_code {
	FRAME_BYE = 1,
	FRAME_VEHICLE = 2,
	FRAME_SECTION = 3,
	FRAME_HEARTBEAT = 5,
	FRAME_NOTE = 6,
	FRAME_PEDESTRIAN = 16,
	FRAME_TRAFFIC_LIGHT = 19,
	FRAME_HELLO = 32,
	FRAME_WELCOME = 33,
	FRAME_REFUSED = 34,
	FRAME_DONE = 35,
	FRAME_GONE = 36,
	FRAME_GONE_TOLD = 37,
	FRAME_WANT = 38,
	FRAME_GIVE = 39,
	FRAME_LEAVE = 40,
	FRAME_AGAIN = 41,
	FRAME_INTEREST = 42,
	FRAME_OWN = 128, /* and above */
};

struct frame_reader {
	uint8_t *data; /* owned */
	size_t begin, end, size;
	uint32_t max; /* may be raised between frames */
};

struct frame {
	uint8_t code;
	const uint8_t *body; /* valid until the next call with its reader */
	size_t len;
};

void frame_reader_init(struct frame_reader *r, uint32_t max);
void frame_reader_finish(struct frame_reader *r);
/* Returns room for at least one byte; frame_reader_add() then tells how many came. -ENOMEM. */
int frame_reader_room(struct frame_reader *r, uint8_t **ret, size_t *ret_size) __attribute__((warn_unused_result));
void frame_reader_add(struct frame_reader *r, size_t n);
/*
 * Returns 1: a frame; 0: not complete yet; -EMSGSIZE longer than max, -EBADMSG length 0: the stream cannot be used any
 * more.
 */
int frame_next(struct frame_reader *r, struct frame *ret) __attribute__((warn_unused_result));
/* Whether a frame has begun and is incomplete. */
bool frame_reader_is_amid(const struct frame_reader *r);

/*
 * Appends a frame to b: append its body between the two calls. frame_end: 0; -ENOMEM; -EMSGSIZE longer than max, b is
 * as it was before.
 */
size_t frame_begin(struct wire_buf *b, uint8_t code);
int frame_end(struct wire_buf *b, size_t begin, uint32_t max) __attribute__((warn_unused_result));

#endif
