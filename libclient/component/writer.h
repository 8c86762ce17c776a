/* SPDX-License-Identifier: Apache-2.0 */
/* Private: a writer, and how it delivers. */
#ifndef COMPONENT_WRITER_H
#define COMPONENT_WRITER_H

#include "host_channel.h"

#define WRITER_LOANS 8

struct heap;
struct heap_msg;

struct sim_node_writer {
	struct list link;       /* sim_node::writers */
	struct list on_channel; /* host_channel::writers */
	struct sim_node *n;
	struct host_channel *ch;
	struct sim_publisher *pub;   /* NULL: offline */
	const struct sim_type *type; /* referenced */
	enum sim_transport transport;
	bool latched, local;
	size_t max_body;
	char frame_id[SIM_FRAME_ID_MAX + 1];
	_Atomic bool busy; /* a thread is inside */
	struct heap *heap;
	struct {
		struct sim_slot *slot; /* NULL: no loan */
		struct heap_msg *heap; /* NULL: a slot of the data plane */
	} loan[WRITER_LOANS];
	uint64_t sequence; /* of the last message */
	/* of the last message sent through shared memory; 0: none, or it has come back */
	uint64_t last_slot;
	_Atomic uint32_t publisher_id; /* the id in its slots; 0: no slot was loaned yet */
	_Atomic uint64_t seen;         /* sequence of its last message that came back to this host's readers */
	_Atomic uint64_t written, refused, intra;
};

/*
 * Notes a message that came through shared memory. Returns true if a writer of this host sent it and its readers here
 * already have it.
 */
bool writer_note(struct host_channel *ch, const struct sim_slot *header);

#endif
