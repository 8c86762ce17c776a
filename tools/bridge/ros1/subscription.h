/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A topic that this node subscribes to while somebody wants its messages, and a link to each of its publishers: asked for by
 * "ros1-links", which may block on a publisher that hangs, and read by the I/O thread. A link that breaks is made again, after
 * pauses that grow from 0.1 s to 10 s.
 */
#ifndef SUBSCRIPTION_H
#define SUBSCRIPTION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "far_time.h"
#include "io.h"
#include "net.h"
#include "topics.h"

#define SUBSCRIPTION_LINKS_MAX 32u /* publishers of a topic that are read */

struct sim_bridge;
struct subscription;

struct link {              /* to a publisher */
	struct link *next; /* of the subscription */
	struct subscription *subscription;
	char uri[NET_TEXT_MAX];
	_Atomic bool gone;                 /* it is no publisher any more */
	bool asking;                       /* it is being asked for */
	_Atomic bool ours;                 /* of this simd: its /clock is not followed */
	int64_t due_mono_ns, pause_dur_ns; /* of the next try */
	struct incoming *connection;       /* NULL: there is none */
};

struct incoming { /* a connection on which messages come */
	struct io_source io;
	struct sim_bridge *bridge;
	struct link *link;
	unsigned id;
	char node[NET_TEXT_MAX];
	uint8_t *in;
	size_t len, cap;
	uint32_t skip; /* bytes that are left of what is too large */
	bool sent, greeted;
	uint64_t bytes, messages;
};

struct subscription {
	struct topic_in in; /* first; of /clock only its name */
	struct sim_bridge *bridge;
	const struct ros_type *type;
	bool clock;  /* it drives simd */
	bool wanted; /* guarded by links.lock, as the list */
	struct link *list;
};

struct links {
	pthread_mutex_t lock; /* below the bridge's lock */
	pthread_cond_t changed;
	pthread_t thread;
	bool running, stop;
	int stop_fd;
	struct subscription all[TOPICS_IN_MAX + 1];
	unsigned n; /* set by subscriptions_open(), then unchanged */
};

/* From the options "subscribe" and "use_sim_time". Errors are logged. */
int subscriptions_open(struct sim_bridge *b);
/* Before the I/O thread ends, and after it. */
void subscriptions_stop(struct sim_bridge *b);
void subscriptions_close(struct sim_bridge *b);
/* All links end; those that are wanted are made again when the master names their publishers again. */
void subscriptions_drop(struct sim_bridge *b);
void subscriptions_listen(struct sim_bridge *b, const char *channel, int on);

/* Who publishes the topic: all of them, or, all false, some that may not be known yet. Thread: any. */
struct xmlrpc_value;
void subscription_publishers(struct sim_bridge *b, const char *topic, const struct xmlrpc_value *uris, bool all);

/* incoming.c: read from a socket that is being connected. Takes fd. Negative: it does not; the link is without then. */
int incoming_open(struct sim_bridge *b, struct link *l, int fd);
/* The link is without its connection. links.lock is held. */
void link_lost(struct link *l);

/* sim_time.c: the newest stamp of the publisher that is followed drives simd, on the thread "ros1-sim-time". */
struct sim_time {
	struct far_time far;
	const struct link *followed; /* the I/O thread's */
};
void sim_time_take(struct sim_bridge *b, struct link *from, const void *data, size_t len);
void sim_time_lost(struct sim_bridge *b, const struct link *from);

#endif
