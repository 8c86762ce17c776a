/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of other nodes, offered by the rig to the clients of simd: the option "call". The master is asked which node
 * offers one; its connection is kept for the next request. simd sends one request at a time. Thread: the loop's, unless
 * stated otherwise.
 */
#ifndef REMOTE_H
#define REMOTE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "exec.h"
#include "service.h"
#include "topics.h"

struct ask;
struct stream;

struct remote {
	struct sim_bridge *bridge;
	const struct topics_call *call;
	struct service_type type;
	bool served; /* used by the host's thread */
	/* a request is pending; its three fields belong to the requesting thread, and from `asking` on to the loop */
	atomic_bool taken;
	struct sim_pending *pending; /* NULL: no request */
	uint8_t *request;            /* as sent; free with free() */
	size_t len;
	struct exec_post asked;
	bool asking; /* the loop has the request; before that, the end of a connection must not answer it */
	struct exec_timer due;
	struct ask *ask;       /* to the master; NULL: none */
	struct stream *stream; /* NULL: not connected */
	bool opened, greeted;
};

struct remotes {
	struct remote all[TOPICS_CALLS_MAX];
	unsigned n; /* set by remotes_open() */
};

/* Reads the option. Errors are logged. Thread: the host's main one. */
int remotes_open(struct sim_bridge *b);
/* Answers pending requests. Call after the loop has ended. */
void remotes_close(struct sim_bridge *b);
/* Offers the services, or withdraws them. Thread: the host's main one, or a lane's. */
void remotes_serve(struct sim_bridge *b, bool on);

#endif
