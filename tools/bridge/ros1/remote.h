/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of other nodes, which the rig offers to the clients of simd: the option "call". Who serves one is asked of the master; its
 * connection is kept for the next request. simd asks one at a time. Thread: the loop's, but for what says otherwise.
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
	bool served;       /* the host's */
	atomic_bool taken; /* by a request; its three fields are then of who asks, and from `asked` on the loop's */
	struct sim_pending *pending; /* NULL: no request */
	uint8_t *request;            /* as it is sent: malloc() */
	size_t len;
	struct exec_post asked;
	bool asking; /* the loop has the request: before, nothing that ends a connection may answer it */
	struct exec_timer due;
	struct ask *ask;       /* of the master; NULL: it is not asked */
	struct stream *stream; /* NULL: none */
	bool opened, greeted;
};

struct remotes {
	struct remote all[TOPICS_CALLS_MAX];
	unsigned n; /* set by remotes_open() */
};

/* From the option. Errors are logged. Thread: the host's main one. */
int remotes_open(struct sim_bridge *b);
/* What is open is answered. The loop has ended. */
void remotes_close(struct sim_bridge *b);
/* Offered from here on, or no more. Thread: the host's main one, or a lane's. */
void remotes_serve(struct sim_bridge *b, bool on);

#endif
