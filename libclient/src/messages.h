/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the messages that a subscriber has taken and not yet released, each with its copy of the slot's header.
 * They come in blocks; another is made when all are in use, so that nothing is allocated while messages flow.
 * Thread: the subscriber's.
 */
#ifndef SRC_MESSAGES_H
#define SRC_MESSAGES_H

#include <sim/slot.h>

#include <stdbool.h>

#define MESSAGES_BLOCK 16u

struct sub_port;

struct message {
	struct sim_message m; /* what the program sees */
	const struct sim_slot *slot;
	struct sub_port *port; /* whose slot it is; NULL: not in use */
	struct message *next;  /* free */
};

struct messages_block {
	struct messages_block *next;
	struct message at[MESSAGES_BLOCK];
};

struct messages { /* all zero: none */
	struct messages_block *blocks;
	struct message *free;
};

/* One that is not in use, or NULL: no memory. It is in use once it has a port. */
struct message *messages_get(struct messages *ms);
/* The one that the program calls m; NULL: none of these is, or it was released before. */
struct message *messages_find(const struct messages *ms, const struct sim_message *m);
void messages_put(struct messages *ms, struct message *m);
void messages_finish(struct messages *ms);

/* The slot's header, copied once and checked: of this version, and of a body that lies within the `size` bytes of the slot. */
bool message_read(struct sim_message *m, const void *slot, size_t size);

#endif
