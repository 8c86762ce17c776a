/* SPDX-License-Identifier: Apache-2.0 */
/* Private: a reader; one of a component feeds a fusion. */
#ifndef COMPONENT_READER_H
#define COMPONENT_READER_H

#include "cache.h"
#include "host_channel.h"
#include "fusion.h"
#include "pending.h"
#include "whose.h"

/* What a component's reader feeds. */
struct reader_feed {
	struct fusion *fusion;              /* NULL: the reader is not a component's */
	_Atomic uint32_t *clock_generation; /* newest generation seen by any of its inputs */
	unsigned input;
	void (*wake)(void *user); /* a tuple can be fetched; not called under reader::lock */
	void *user;
};

struct sim_node_reader {
	struct list link; /* sim_node::readers */
	struct sink sink;
	struct sim_node *n;
	struct host_channel *ch;
	uint32_t depth, room;  /* of history and of pending */
	sim_node_reader_fn fn; /* NULL: observed only */
	void *user;
	struct whose_call call;
	struct sched_task *task; /* reality, with fn */
	struct reader_feed feed;
	struct pending pending;     /* for fn, in reality */
	_Atomic uint64_t processed; /* written by the thread that runs fn */
	/* guarded by host_channel::lock */
	struct cache history;
	struct msg **observed;
	uint32_t n_observed;
	uint32_t clock_generation;
	int64_t last_sim_ns, gap_sim_ns; /* arrival of the last message, and the interval to the one before; -1: none */
	uint64_t received, overrun;
	uint64_t by_shm, by_network; /* of those received; by_network: of those counted in by_shm */
};

/* As sim_node_reader_create(). feed NULL: none; fn and feed exclude each other. */
int reader_create(struct sim_node *n, const char *channel, const struct sim_type *type,
		  const struct sim_node_reader_options *o, sim_node_reader_fn fn, void *user,
		  const struct reader_feed *feed, struct sim_node_reader **ret);

#endif
