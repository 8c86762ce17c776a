/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside bridge_lgsvl: one TCP connection to an lgsvl_bridge, which publishes in ROS 2 what it is sent. Lanes write straight to the
 * socket, from the slot; a thread of the connection reads.
 */
#ifndef LGSVL_H
#define LGSVL_H

#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>

#include "frame.h"
#include "topics.h"

#define LGSVL_CLOSE_DUR_MS 1000 /* for what was sent last to arrive */

struct lgsvl_address {
	char host[256], port[8];
};

struct lgsvl_in {
	struct topic_in in; /* first */
	_Atomic bool listened;
};

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct topics common;
	struct lgsvl_in in[TOPICS_IN_MAX];
	unsigned n_in;
	long connect_ms, stall_ms;

	struct lgsvl_address address; /* set before the thread begins */
	pthread_t thread;
	bool running; /* there is a thread to be joined */
	_Atomic int status;
	_Atomic bool stop;
	int wake; /* eventfd: stop, or something waits to be sent */

	pthread_mutex_t wire; /* who writes; guards fd, and orders what is sent */
	int fd;               /* -1: none */

	pthread_mutex_t lock; /* a leaf; guards what follows */
	uint8_t *said; /* frames of this connection: topics that we publish or ask for; kept, to say none twice */
	size_t n_said, n_sent, said_room; /* n_sent: of them so far */
	char why[160];                    /* the connection has to end; "": it has not */
};

/* "host", "host:port", "[::1]:port", ":port", "". 0, or -EINVAL and a sentence in why. */
int lgsvl_address_read(const char *text, struct lgsvl_address *ret, char *why, size_t why_size);

/*
 * link.c: the connection. open() begins to connect, on a thread of its own; close() ends it without waiting, join() waits. Status is
 * reported to the host.
 */
int lgsvl_link_open(struct sim_bridge *b);
void lgsvl_link_close(struct sim_bridge *b);
void lgsvl_link_join(struct sim_bridge *b);

/* Say that we publish a topic, or ask for one, unless this connection has heard it. Sent soon, before what is sent after it. */
int lgsvl_say(struct sim_bridge *b, enum frame_op op, const char *topic, const char *type);

/*
 * Send a message: o's pieces, after what is to be said. 0; -ENOTCONN; -ETIMEDOUT the peer took nothing for stall_ms, and the connection ends;
 * or the socket's. Thread: any.
 */
int lgsvl_send(struct sim_bridge *b, const char *topic, const struct iov_buf *o);

#endif
