/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the messages that a subscriber has taken and not yet released, each with its copy of the slot's header. They
 * are allocated in blocks, a new one when all are in use, so that nothing is allocated while messages flow. Thread: the
 * subscriber's.
 */
#ifndef SRC_MESSAGES_H
#define SRC_MESSAGES_H

#include <sim/slot.h>

#include <stdbool.h>

#define MESSAGES_BLOCK 16u

struct sub_port;

struct message {
	struct sim_message m; /* as the program sees it */
	const struct sim_slot *slot;
	struct sub_port *port; /* the slot's port; NULL: not in use */
	struct message *next;  /* free list */
};

struct messages_block {
	struct messages_block *next;
	struct message at[MESSAGES_BLOCK];
};

struct messages { /* all zero: empty */
	struct messages_block *blocks;
	struct message *free;
};

/* A message that is not in use, or NULL: no memory. It is in use once its port is set. */
struct message *messages_get(struct messages *ms);
/* The message that the program calls m; NULL: not one of these, or already released. */
struct message *messages_find(const struct messages *ms, const struct sim_message *m);
void messages_put(struct messages *ms, struct message *m);
void messages_finish(struct messages *ms);

/*
 * Copies the slot's header once and checks it: this version, and a body that lies within the `size` bytes of the slot.
 */
bool message_read(struct sim_message *m, const void *slot, size_t size);

#endif
