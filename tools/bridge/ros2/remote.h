/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of other nodes, which the rig offers to the clients of simd: the option "call". Each has a writer of requests and a reader of
 * replies, as a client of rmw_cyclonedds or, where its server is of rmw_fastrtps, of that. simd asks one at a time of each.
 *
 * Thread: requests on the host's, replies on Cyclone's; who serves, and what has no answer in time, on "ros2-graph".
 */
#ifndef REMOTE_H
#define REMOTE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <dds/dds.h>

#include "halves.h"
#include "limit.h"
#include "topics.h"

struct ddsi_sertype;
struct sim_bridge;
struct sim_pending;

struct ros2_server {                  /* that is asked */
	dds_instance_handle_t writer; /* of its replies; 0: there is none */
	dds_guid_t participant;
	bool of_cyclonedds; /* it has identities in its messages */
	dds_time_t ready;   /* nothing is asked before then */
};

/* Replies that are ignored. */
enum remote_odd { REMOTE_ODD_CLOSED, REMOTE_ODD_NEVER_ASKED, REMOTE_ODD_HUGE, REMOTE_ODD_N };

struct ros2_remote {
	struct sim_bridge *bridge;
	const struct topics_call *call;
	struct ros2_halves types;
	dds_entity_t request_topic, response_topic, writer, reader;
	struct ddsi_sertype *request_sertype;
	dds_guid_t writer_guid, reader_guid;
	uint64_t client;     /* in requests for rmw_cyclonedds: as it has it, the writer's handle */
	void *body;          /* of the reply that is being read; the reader's thread's */
	bool served;         /* the host's */
	_Atomic bool stale;  /* others' endpoints came or went */
	unsigned n_servers;  /* "ros2-graph" has said so many */
	const char *refused; /* why who serves it cannot be asked; NULL: nothing is against it. That thread's */
	/* guarded by remotes.lock */
	struct ros2_server server;
	struct sim_pending *pending; /* NULL: no request */
	void *request;               /* a copy of it, while it waits for its server */
	size_t request_size;
	bool sent;
	dds_instance_handle_t asked; /* its server's writer, once it is sent */
	int64_t sequence;            /* of the last request that was sent */
	dds_time_t find, due;        /* until when there must be a server, and an answer */
	uint64_t n_failed, n_odd[REMOTE_ODD_N];
};

struct ros2_remotes {
	struct ros2_remote all[TOPICS_CALLS_MAX];
	unsigned n;           /* set by open() */
	pthread_mutex_t lock; /* a leaf but for Cyclone's inside */
	dds_time_t wake;      /* when "ros2-graph" looks again at the latest */
	struct limit lines;
};

/* From the option. Errors are logged. Before "ros2-graph" runs; close() after it: what is open is answered. */
int ros2_remotes_open(struct sim_bridge *b);
void ros2_remotes_close(struct sim_bridge *b);
/* Offered from here on, or no more. Thread: the host's main one. */
void ros2_remotes_serve(struct sim_bridge *b, bool on);
/* Goes on. Returns when it wants to be called again, from now. Thread: the graph's. */
int64_t ros2_remotes_look(struct sim_bridge *b);

#endif
