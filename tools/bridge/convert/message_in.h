/* SPDX-License-Identifier: Apache-2.0 */
/* A foreign message as it came in: a body of one of our types, and what its header said. */
#ifndef MESSAGE_IN_H
#define MESSAGE_IN_H

#include <stddef.h>
#include <stdint.h>

#include <sim/slot.h>

#define MESSAGE_IN_NO_STAMP INT64_MIN

struct message_in {
	void *buf;                        /* in: where the body goes, aligned to 8 */
	size_t room;                      /* in: bytes there */
	size_t size;                      /* out: of the body */
	int64_t stamp_sim_ns;             /* out: MESSAGE_IN_NO_STAMP: it has none */
	char frame[SIM_FRAME_ID_MAX + 1]; /* out: "": it has none */
};

#endif
