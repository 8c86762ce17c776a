/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An incoming channel: each message is read into the slot in which it is published, with its stamp and frame. The host
 * lends each slot for one message, so that slots grow with the messages, up to max_body; with a host that cannot lend,
 * messages are copied, up to TOPICS_BODY_MAX bytes.
 *
 * Thread: the plug-in's, one message at a time.
 */
#ifndef SLOT_IN_H
#define SLOT_IN_H

#include <sim/bridge.h>

#include "message_in.h"

struct slot_in { /* owns only body */
	const struct sim_bridge_host *host;
	const char *channel;
	const struct sim_type *type;
	size_t max_body;
	/* buffer for a host that lends no slots, and for input that can be read only once; NULL: not needed so far */
	uint8_t *body;
	size_t body_room;
};

/*
 * max_body: longer messages are dropped; 0: the type's size if that is fixed, else 64 MiB. -EINVAL, with the reason:
 * less than the fixed part of the type.
 */
int slot_in_init(struct slot_in *s, const struct sim_bridge_host *host, const char *channel,
		 const struct sim_type *type, size_t max_body, char *why, size_t why_size);
void slot_in_finish(struct slot_in *s);

/*
 * Offers the channel to the host. Call from connect() on. Errors as of host->offer(); if several topics share a
 * channel, -EALREADY from the second on.
 */
int slot_in_offer(const struct slot_in *s);

/* Largest foreign message, in bytes, that is read: the foreign form of a message that fits may be longer than ours. */
size_t slot_in_wire_max(const struct slot_in *s);

/*
 * Reads a message into to->buf, of to->room bytes. 0; 1: it contains nothing of this type; -ENOBUFS: call again with
 * more room; other errors are final.
 */
typedef int (*slot_in_read_fn)(void *arg, struct message_in *to);

/*
 * Reads and publishes a message of about wire_size foreign bytes; calls read again if it needs more room. Errors: those
 * of read and of host->loan(), -EBUSY all loans are out, -EMSGSIZE.
 */
int slot_in_take(struct slot_in *s, size_t wire_size, slot_in_read_fn read, void *arg);
/* The same for input that can be read only once, through a copy. */
int slot_in_take_once(struct slot_in *s, size_t wire_size, slot_in_read_fn read, void *arg);

#endif
