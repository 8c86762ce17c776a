/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of other nodes that the rig offers to the clients of simd: the option "call". Each has a writer of requests
 * and a reader of replies, and acts as a client of rmw_cyclonedds or, if the server uses rmw_fastrtps, as one of that.
 * simd makes one request at a time per service.
 *
 * Thread: requests on the host's, replies on Cyclone's; discovery of servers and timeouts on "ros2-graph".
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

struct ros2_server {                  /* the node that gets the requests */
	dds_instance_handle_t writer; /* its writer of replies; 0: no server */
	dds_guid_t participant;
	bool of_cyclonedds; /* its messages begin with a request identity */
	dds_time_t ready;   /* no request before this time */
};

/* Reasons to ignore a reply. */
enum remote_odd { REMOTE_ODD_CLOSED, REMOTE_ODD_NEVER_ASKED, REMOTE_ODD_HUGE, REMOTE_ODD_N };

struct ros2_remote {
	struct sim_bridge *bridge;
	const struct topics_call *call;
	struct ros2_halves types;
	dds_entity_t request_topic, response_topic, writer, reader;
	struct ddsi_sertype *request_sertype;
	dds_guid_t writer_guid, reader_guid;
	uint64_t client;     /* identity in requests to rmw_cyclonedds: the writer's instance handle, as there */
	void *body;          /* body of the reply being read; used by the reader's thread alone */
	bool served;         /* offered to the host's clients; used by the host's thread alone */
	_Atomic bool stale;  /* remote endpoints appeared or disappeared */
	unsigned n_servers;  /* number last logged; used by "ros2-graph" alone */
	const char *refused; /* why the server found may not be asked; NULL: no reason. Used by "ros2-graph" alone */
	/* guarded by remotes.lock */
	struct ros2_server server;
	struct sim_pending *pending; /* NULL: no request */
	void *request;               /* copy of the request while it waits for a server */
	size_t request_size;
	bool sent;
	dds_instance_handle_t asked; /* reply writer of the server that the request went to; valid once sent */
	int64_t sequence;            /* number of the last request sent */
	dds_time_t find, due;        /* deadlines for finding a server, and for its answer */
	uint64_t n_failed, n_odd[REMOTE_ODD_N];
};

struct ros2_remotes {
	struct ros2_remote all[TOPICS_CALLS_MAX];
	unsigned n;           /* set by open() */
	pthread_mutex_t lock; /* a leaf, except for Cyclone's internal locks */
	dds_time_t wake;      /* latest time of the next look by "ros2-graph" */
	struct limit lines;
};

/*
 * Creates the services that the option lists. Errors are logged. Call before "ros2-graph" starts; close() after it
 * ends, which answers open requests.
 */
int ros2_remotes_open(struct sim_bridge *b);
void ros2_remotes_close(struct sim_bridge *b);
/* Offers the services to the host's clients, or withdraws them. Thread: the host's main one. */
void ros2_remotes_serve(struct sim_bridge *b, bool on);
/*
 * Looks for servers and for requests that are ready or late. Returns in how many ns it wants to be called again.
 * Thread: the graph's.
 */
int64_t ros2_remotes_look(struct sim_bridge *b);

#endif
