/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decoder in front of another one, for converters, whose ABI has no stamp and frame: passes everything on and notes
 * those of the message's own header. Thread: one per decoder.
 */
#ifndef DEC_WATCH_H
#define DEC_WATCH_H

#include <stdbool.h>

#include <sim/decode.h>

#include "message_in.h"

struct dec_watch {
	struct sim_dec dec; /* first member; the interface for reading; its err is that of `from` */
	struct sim_dec *from;
	struct message_in *to;
	unsigned depth; /* of nested messages */
	bool noted;
};

/* Borrows both. to: receives stamp and frame of the first header that is not nested. */
void dec_watch_begin(struct dec_watch *w, struct sim_dec *from, struct message_in *to);

/* Stores a stamp and a frame in `to`; -EMSGSIZE if the frame does not fit a slot. */
void dec_watch_note(struct sim_dec *d, int64_t stamp_sim_ns, const char *frame, size_t len, struct message_in *to);

#endif
