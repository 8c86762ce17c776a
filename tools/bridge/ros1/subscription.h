/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A topic that this node subscribes to while the channel has subscribers, or while its type is unknown, which its first
 * publisher gives; and a link to each publisher, which is asked for its TCPROS address and then read. A broken link is
 * reconnected, after pauses that grow from 0.1 s to 10 s. Thread: the loop's, unless stated otherwise.
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

#define SUBSCRIPTION_LINKS_MAX 32u /* publishers read for one topic */

struct ask;
struct sim_bridge;
struct subscription;

struct link {              /* to one publisher */
	struct link *next; /* of the subscription */
	struct subscription *subscription;
	char uri[ROS1_TEXT_MAX];
	bool ours;                   /* a publisher of this simd: its /clock is ignored */
	int64_t pause_dur_ns;        /* until the next try */
	struct exec_timer due;       /* timer of the next try */
	struct ask *ask;             /* NULL: no request pending */
	struct incoming *connection; /* NULL: not connected */
	char said[256];              /* the last warning about an unreadable type; the same one is not logged again */
};

struct incoming { /* a connection on which messages are received */
	struct sim_bridge *bridge;
	struct link *link;
	struct stream *stream;
	unsigned id;
	char node[ROS1_TEXT_MAX];
	uint32_t skip; /* remaining bytes of a message that is too large */
	bool greeted;
	bool lied;   /* it has violated the protocol */
	bool learnt; /* it was only asked for its type, and has given it */
	uint64_t bytes, messages;
};

struct subscription {
	struct topic_in in; /* first member; for /clock only its name is used */
	struct sim_bridge *bridge;
	const struct ros_type *type; /* while in.waits is true any type, "*", as in rostopic */
	bool clock;                  /* this topic drives simd's time */
	bool wanted;
	struct link *list;
};

struct links {
	struct subscription all[TOPICS_IN_MAX + 1];
	unsigned n; /* set by subscriptions_open(), then unchanged, as are the members below */
	bool late;  /* some started without a type */
};

/* Reads the options "subscribe" and "use_sim_time". Errors are logged. Thread: the host's, also for the next two. */
int subscriptions_open(struct sim_bridge *b);
void subscriptions_close(struct sim_bridge *b); /* call after the loop has ended */
void subscriptions_listen(struct sim_bridge *b, const char *channel, int on);
/* The type is known: offers the channel; messages follow when it has subscribers. */
void subscription_learnt(struct subscription *s);
/* Appends to the text which topics wait for a type. */
void subscriptions_report(const struct sim_bridge *b, char *text, size_t size);
/* Ends all links; wanted ones are connected again when the master lists their publishers. */
void subscriptions_drop(struct sim_bridge *b);

/* The URIs of the topic's publishers; all: the complete list, else some that may be new. */
struct xmlrpc_value;
void subscription_publishers(struct sim_bridge *b, const char *topic, const struct xmlrpc_value *uris, bool all);

/* incoming.c: opens the link's connection. -ENOENT, -ENOMEM, with the reason in why. */
int incoming_open(struct sim_bridge *b, struct link *l, const struct address *at, char why[STREAM_WHY_MAX]);
void incoming_end(struct incoming *c); /* c may be NULL */
/*
 * The connection has ended: reconnects after a pause. greeted: headers had been exchanged, so pauses start from the
 * shortest.
 */
void link_lost(struct link *l, bool greeted);

/* sim_time.c: the newest stamp of the followed publisher drives simd, on the thread "ros1-sim-time". */
struct sim_time {
	struct far_time far;
	const struct link *followed;
};
void sim_time_take(struct sim_bridge *b, struct link *from, const void *data, size_t len);
void sim_time_lost(struct sim_bridge *b, const struct link *from);

#endif
