/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A topic that this node publishes, under one name, and its subscribers. Each has an outbox of its own: a slow
 * subscriber loses the oldest queued messages and delays no other. Lanes queue messages, the loop writes them; a
 * message that holds its slot longer than PUBLICATION_HOLD_DUR_NS is copied, so that the slot is freed.
 */
#ifndef PUBLICATION_H
#define PUBLICATION_H

#include "list.h"
#include "message.h"
#include "names.h"
#include "outbox.h"
#include "stream.h"
#include "tcpros.h"

#define PUBLICATION_HOLD_DUR_NS INT64_C(50000000)
#define PUBLICATION_QUEUE_MAX   1000u

struct publication;
struct ros_type;
struct sim_bridge;

struct subscriber {       /* a connection on which we send; used by the loop, except its outbox */
	struct list link; /* publication::subscribers, or sim_bridge::greeting until its header has arrived */
	struct sim_bridge *bridge;
	struct stream *stream;
	struct publication *publication; /* NULL: topic not known yet */
	unsigned id;
	char peer[ROS1_TEXT_MAX], node[ROS1_TEXT_MAX];
	struct outbox outbox;
	struct outbox_topic *topic;
	struct exec_post wake;
	struct outbox_item *item; /* being sent; NULL: none */
	size_t at;                /* bytes of it sent */
	uint64_t bytes;
};

struct publication {
	struct sim_bridge *bridge;
	struct publication *next; /* in sim_bridge::publications; used by the loop, as is refs */
	unsigned refs;            /* number of topics */
	char *name, *type, *md5, *definition;
	unsigned queue;
	_Atomic bool latch;
	_Atomic unsigned n_subscribers;
	_Atomic uint64_t bytes;
	pthread_mutex_t lock; /* guards the members below; taken before an outbox's; only the loop changes the list */
	struct list subscribers; /* newest first */
	struct message *latched;
};

/*
 * Returns a reference to the publication of that name, creating it if necessary. queue, latch: the larger value wins.
 * -EEXIST, with the reason in why: the name has another type; -ENOMEM. Thread: the host's main thread.
 */
int publication_get(struct sim_bridge *b, const char *name, const struct ros_type *t, unsigned queue, bool latch,
		    struct publication **ret, char *why, size_t why_size);
/* The last reference ends its connections. */
void publication_unref(struct publication *p);

/*
 * Queues a message for all subscribers; takes over the caller's reference. If it points into the slot it holds the
 * slot: *job is created if NULL, and its `left` incremented. task NULL: it is copied instead. 0 or -ENOMEM. Thread:
 * any.
 */
int publication_send(struct publication *p, struct message *m, struct sim_task *task, struct job **job);

/* Whether the topic has neither subscribers nor a latch. */
static inline bool publication_idle(const struct publication *p)
{
	return !p->latch && !atomic_load_explicit(&p->n_subscribers, memory_order_relaxed);
}

/* ---- for the loop ---- */

struct publication *publication_find(struct sim_bridge *b, const char *name); /* NULL: not found */
/* Drops a reference; any thread. m may be NULL. */
void message_drop(struct sim_bridge *b, struct message *m);
/* A timer function: copies messages that have held their slot for too long. */
void publications_release(void *bridge);
/* Ends all its connections. */
void publication_end_subscribers(struct publication *p);
/* Adds a subscriber to the publication that its header names. -ENOENT, -EINVAL, -ENOMEM, with the reason in why. */
int publication_add(struct sim_bridge *b, const char *name, const struct tcpros_header *h, struct subscriber *s,
		    char *why, size_t why_size);

/*
 * subscriber.c: subscriber_came() is a listener_options::came, for the TCPROS port, subscriber_ops are for its streams.
 */
extern const struct stream_ops subscriber_ops;
void *subscriber_came(void *bridge, struct stream *s, const char *from);
/* Queues the message for the subscriber, with a reference. Thread: any, holding the publication's lock. */
void subscriber_put(struct subscriber *s, struct message *m);
void subscriber_end(struct subscriber *s);

#endif
