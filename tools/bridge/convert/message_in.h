/* SPDX-License-Identifier: Apache-2.0 */
/* A foreign message as it came in: a body of one of our types, and what its header said. */
#ifndef MESSAGE_IN_H
#define MESSAGE_IN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sim/slot.h>

#define MESSAGE_IN_NO_STAMP INT64_MIN

struct message_in {
	void *buf;                        /* in: where the body goes, aligned to 8 */
	size_t room;                      /* in: bytes there */
	size_t size;                      /* out: of the body */
	int64_t stamp_sim_ns;             /* out: MESSAGE_IN_NO_STAMP: it has none */
	char frame[SIM_FRAME_ID_MAX + 1]; /* out: "": it has none */
	uint32_t sequence; /* out: seq of the header with which a message of ROS 1 begins; 0: it has none */
	uint32_t unknown; /* out, of pb_type_decode() alone: number of the first field that the definition lacks; 0: there is none */
};

/* The frame from len bytes of a peer: to their end, a NUL, or as much as fits. NULL: none. */
static inline void message_in_set_frame(struct message_in *m, const void *text, size_t len)
{
	size_t n = text ? strnlen((const char *)text, len < SIM_FRAME_ID_MAX ? len : SIM_FRAME_ID_MAX) : 0;

	if (n)
		memcpy(m->frame, text, n);
	m->frame[n] = '\0';
}

#endif
