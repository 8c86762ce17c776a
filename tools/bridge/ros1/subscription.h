/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A topic that this node subscribes to while somebody wants its messages, or while it has no type, which its first publisher gives; and a link to each of its publishers, which is asked where it
 * sends the topic, and then read. A link that breaks is made again, after pauses that grow from 0.1 s to 10 s. Thread: the loop's, but for
 * what says otherwise.
 */
#ifndef SUBSCRIPTION_H
#define SUBSCRIPTION_H

#include <stdbool.h>

#include "address.h"
#include "exec.h"
#include "far_time.h"
#include "names.h"
#include "stream.h"
#include "topics.h"

#define SUBSCRIPTION_LINKS_MAX 32u /* publishers of a topic that are read */

struct ask;
struct sim_bridge;
struct subscription;

struct link {              /* to a publisher */
	struct link *next; /* of the subscription */
	struct subscription *subscription;
	char uri[ROS1_TEXT_MAX];
	bool ours;                   /* of this simd: its /clock is not followed */
	int64_t pause_dur_ns;        /* before the next try */
	struct exec_timer due;       /* that */
	struct ask *ask;             /* NULL: it is not being asked */
	struct incoming *connection; /* NULL: there is none */
	char said[256];              /* the last warning about an unreadable type; the same one is not logged again */
};

struct incoming { /* a connection on which messages come */
	struct sim_bridge *bridge;
	struct link *link;
	struct stream *stream;
	unsigned id;
	char node[ROS1_TEXT_MAX];
	uint32_t skip; /* bytes that are left of what is too large */
	bool greeted;
	bool lied;   /* it has said what it must not */
	bool learnt; /* it was asked for the type of its messages alone, and has said it */
	uint64_t bytes, messages;
};

struct subscription {
	struct topic_in in; /* first; of /clock only its name */
	struct sim_bridge *bridge;
	const struct ros_type *type; /* while in.waits is true any, "*", as rostopic says */
	bool clock;                  /* it drives simd */
	bool wanted;
	struct link *list;
};

struct links {
	struct subscription all[TOPICS_IN_MAX + 1];
	unsigned n; /* set by subscriptions_open(), then unchanged, as is what follows */
	bool late;  /* some of them have begun without a type */
};

/* From the options "subscribe" and "use_sim_time". Errors are logged. Thread: the host's, as the next two. */
int subscriptions_open(struct sim_bridge *b);
void subscriptions_close(struct sim_bridge *b); /* when the loop has ended */
void subscriptions_listen(struct sim_bridge *b, const char *channel, int on);
/* The type is known now: its channel is offered, and its messages come when they are wanted. */
void subscription_learnt(struct subscription *s);
/* Adds to the text which topics wait for a type. */
void subscriptions_report(const struct sim_bridge *b, char *text, size_t size);
/* All links end; those that are wanted are made again when the master names their publishers again. */
void subscriptions_drop(struct sim_bridge *b);

/* Who publishes the topic: all of them, or, all false, some that may not be known yet. */
struct xmlrpc_value;
void subscription_publishers(struct sim_bridge *b, const char *topic, const struct xmlrpc_value *uris, bool all);

/* incoming.c: the link's connection begins. -ENOENT, -ENOMEM, with a sentence in why. */
int incoming_open(struct sim_bridge *b, struct link *l, const struct address *at, char why[STREAM_WHY_MAX]);
void incoming_end(struct incoming *c); /* NULL is fine */
/* It has ended: the link is made again. If its header had been answered, the pauses between tries start from the shortest. */
void link_lost(struct link *l, bool greeted);

/* sim_time.c: the newest stamp of the publisher that is followed drives simd, on the thread "ros1-sim-time". */
struct sim_time {
	struct far_time far;
	const struct link *followed;
};
void sim_time_take(struct sim_bridge *b, struct link *from, const void *data, size_t len);
void sim_time_lost(struct sim_bridge *b, const struct link *from);

#endif
