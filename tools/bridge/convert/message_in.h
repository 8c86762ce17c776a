/* SPDX-License-Identifier: Apache-2.0 */
/* An incoming message: a body of one of our types, and stamp, frame and seq of its header. */
#ifndef MESSAGE_IN_H
#define MESSAGE_IN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sim/slot.h>

#define MESSAGE_IN_NO_STAMP INT64_MIN

struct message_in {
	void *buf;                        /* in: where to write the body, aligned to 8 */
	size_t room;                      /* in: size of buf in bytes */
	size_t size;                      /* out: bytes of the body */
	int64_t stamp_sim_ns;             /* out; MESSAGE_IN_NO_STAMP: none */
	char frame[SIM_FRAME_ID_MAX + 1]; /* out; "": none */
	uint32_t sequence;                /* out: seq of the header at the beginning of a ROS 1 message; 0: none */
	/* out, only of pb_type_decode(): number of the first field that the definition lacks; 0: none */
	uint32_t unknown;
};

/* Sets the frame from len bytes of a peer: up to their end, a NUL, or as much as fits. text NULL: none. */
static inline void message_in_set_frame(struct message_in *m, const void *text, size_t len)
{
	size_t n = text ? strnlen((const char *)text, len < SIM_FRAME_ID_MAX ? len : SIM_FRAME_ID_MAX) : 0;

	if (n)
		memcpy(m->frame, text, n);
	m->frame[n] = '\0';
}

#endif
