/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decoder in front of another, for converters, whose ABI knows neither stamp nor frame: it hands everything on and keeps
 * what the message's own header says. Thread: one's.
 */
#ifndef DEC_WATCH_H
#define DEC_WATCH_H

#include <stdbool.h>

#include <sim/decode.h>

#include "message_in.h"

struct dec_watch {
	struct sim_dec dec; /* first: what is read from; its err is that of `from` */
	struct sim_dec *from;
	struct message_in *to;
	unsigned depth; /* of nested messages */
	bool noted;
};

/* Borrows both. to: stamp and frame are those of the first header that is not nested. */
void dec_watch_begin(struct dec_watch *w, struct sim_dec *from, struct message_in *to);

/* A stamp and a frame into `to`; a frame that no slot has room for is -EMSGSIZE. */
void dec_watch_note(struct sim_dec *d, int64_t stamp_sim_ns, const char *frame, size_t len, struct message_in *to);

#endif
