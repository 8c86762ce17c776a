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
	_Atomic bool busy; /* somebody is inside */
	struct heap *heap;
	struct {
		struct sim_slot *slot; /* NULL: no loan */
		struct heap_msg *heap; /* NULL: a slot of the data plane */
	} loan[WRITER_LOANS];
	uint64_t sequence;             /* of the last message */
	uint64_t last_slot;            /* of the last that went through shared memory; 0: none, or it has come back */
	_Atomic uint32_t publisher_id; /* as slots have it; 0: none has been loaned */
	_Atomic uint64_t seen;         /* sequence of the last one that came back to this host's readers */
	_Atomic uint64_t written, refused, intra;
};

/* A message has come: of a writer of this host? True: its readers here have it already. */
bool writer_note(struct host_channel *ch, const struct sim_slot *header);

#endif
