/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel that comes in: each message is read into the slot in which it is published, with its stamp and frame. Slots are lent by the
 * host for the present message, so the channel grows with its messages, up to max_body; an old host gets a copy, of TOPICS_BODY_MAX bytes
 * at most.
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
	uint8_t *body; /* for a host that lends no slots, and what can be read only once; NULL: not yet needed */
	size_t body_room;
};

/*
 * max_body: longer messages are dropped; 0: the size of the type if all its messages have one size, else 64 MiB. -EINVAL, with a sentence: less than the fixed part of the type.
 */
int slot_in_init(struct slot_in *s, const struct sim_bridge_host *host, const char *channel,
		 const struct sim_type *type, size_t max_body, char *why, size_t why_size);
void slot_in_finish(struct slot_in *s);

/* To the host, from connect() on. Errors as of host->offer(); several of one channel: -EALREADY from the second on. */
int slot_in_offer(const struct slot_in *s);

/* Bytes of a message over there from which on nothing of ours is made of it: what fits may have more bytes there. */
size_t slot_in_wire_max(const struct slot_in *s);

/* Read one into to->buf, of to->room. 0; 1: it says nothing of this type; -ENOBUFS: once more, with more room; other errors are final. */
typedef int (*slot_in_read_fn)(void *arg, struct message_in *to);

/*
 * Read and publish one, of about so many bytes over there; more than once if it becomes longer. Errors: those of read and of host->loan(),
 * -EBUSY all loans are out, -EMSGSIZE.
 */
int slot_in_take(struct slot_in *s, size_t wire_size, slot_in_read_fn read, void *arg);
/* The same of what can be read only once: by a copy. */
int slot_in_take_once(struct slot_in *s, size_t wire_size, slot_in_read_fn read, void *arg);

#endif
