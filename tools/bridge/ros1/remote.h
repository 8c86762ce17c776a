/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of other nodes, which the rig offers to the clients of simd: the option "call". Each has a thread of its own, "ros1-call", that may
 * block on the master and on who serves it, and keeps its connection for the next request. simd asks one at a time.
 */
#ifndef REMOTE_H
#define REMOTE_H

#include <pthread.h>
#include <stdbool.h>

#include "service.h"
#include "topics.h"

struct remote {
	struct sim_bridge *bridge;
	const struct topics_call *call;
	struct service_type type;
	pthread_t thread;
	bool running, served;
	/* guarded by remotes.lock */
	struct sim_pending *pending; /* NULL: no request */
	uint8_t *request;            /* as it is sent: malloc() */
	size_t len;
	/* the thread's */
	int fd; /* negative: none */
};

struct remotes {
	pthread_mutex_t lock; /* a leaf */
	pthread_cond_t changed;
	struct remote all[TOPICS_CALLS_MAX];
	unsigned n; /* set by remotes_open() */
	bool stop, opened;
	int stop_fd;
};

/* From the option. Errors are logged. */
int remotes_open(struct sim_bridge *b);
/* What is open is answered. */
void remotes_close(struct sim_bridge *b);
/* Offered from here on, or no more. Thread: the host's main one, or a lane's. */
void remotes_serve(struct sim_bridge *b, bool on);

#endif
