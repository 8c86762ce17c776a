/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel that comes in: each message is read into the slot in which it is published, with its stamp and frame. Slots are lent by the
 * host for the message at hand, up to max_body; an old host gets a copy, of TOPICS_BODY_MAX bytes at most.
 *
 * Thread: the plug-in's, one message at a time.
 */
#ifndef SLOT_IN_H
#define SLOT_IN_H

#include <sim/bridge.h>

#include "message_in.h"

struct slot_in { /* borrows all but body */
	const struct sim_bridge_host *host;
	const char *channel;
	const struct sim_type *type;
	size_t max_body;
	uint8_t *body; /* for a host that lends no slots; NULL: not yet needed */
};

/*
 * max_body: 0: a message of a fixed size has that, what sensors of today send is known, else TOPICS_BODY_MAX. -EINVAL, with a sentence: less than
 * the fixed part of the type.
 */
int slot_in_init(struct slot_in *s, const struct sim_bridge_host *host, const char *channel,
		 const struct sim_type *type, size_t max_body, char *why, size_t why_size);
void slot_in_finish(struct slot_in *s);

/* To the host, from connect() on. Errors as of host->offer_large(); several of one channel: -EALREADY from the second on. */
int slot_in_offer(const struct slot_in *s);

/* Bytes of a message over there from which on nothing of ours is made of it: what fits may have more bytes there. */
size_t slot_in_wire_max(const struct slot_in *s);

/* Read one into to->buf, of to->room. 0; 1: it says nothing of this type; -ENOBUFS: once more, with more room; other errors are final. */
typedef int (*slot_in_read_fn)(void *arg, struct message_in *to);

/*
 * Read and publish one, of so many bytes over there. 0: it cannot be read twice, and gets all the room that there may be. Errors: those of read and
 * of host->loan(), -EBUSY all loans are out, -EMSGSIZE.
 */
int slot_in_take(struct slot_in *s, size_t wire_size, slot_in_read_fn read, void *arg);

#endif
