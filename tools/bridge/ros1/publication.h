/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A topic that this node publishes, under one name, and those who subscribe to it. Each has an outbox of its own: who is slow loses the
 * oldest messages that wait, and delays nobody. Lanes put messages there, the loop writes them; what a slow one holds for longer than
 * PUBLICATION_HOLD_DUR_NS is copied, so that its slot goes back.
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

struct subscriber {       /* a connection on which we send; the loop's, but for its outbox */
	struct list link; /* publication::subscribers, or sim_bridge::greeting while its header has not come */
	struct sim_bridge *bridge;
	struct stream *stream;
	struct publication *publication; /* NULL: it has not named its topic */
	unsigned id;
	char peer[ROS1_TEXT_MAX], node[ROS1_TEXT_MAX];
	struct outbox outbox;
	struct outbox_topic *topic;
	struct exec_post wake;
	struct outbox_item *item; /* on its way; NULL: none */
	size_t at;                /* bytes of it that are out */
	uint64_t bytes;
};

struct publication {
	struct sim_bridge *bridge;
	struct publication *next; /* of the bridge; the loop's, with refs */
	unsigned refs;            /* topics */
	char *name, *type, *md5, *definition;
	unsigned queue;
	_Atomic bool latch;
	_Atomic unsigned n_subscribers;
	_Atomic uint64_t bytes;
	pthread_mutex_t lock; /* guards what follows, before that of an outbox; the list is changed by the loop alone */
	struct list subscribers; /* newest first */
	struct message *latched;
};

/*
 * Of that name, one that is there or a new one; a reference. queue, latch: the larger wins. -EEXIST another type has the name, with a
 * sentence in why; -ENOMEM. Thread: the host's main thread.
 */
int publication_get(struct sim_bridge *b, const char *name, const struct ros_type *t, unsigned queue, bool latch,
		    struct publication **ret, char *why, size_t why_size);
/* The last one ends its connections. */
void publication_unref(struct publication *p);

/*
 * Send a message, whose reference it takes. What points into the slot is held: *job is then made, or used again, with one more in
 * `left`. task NULL: nothing is held. 0 or -ENOMEM. Thread: any.
 */
int publication_send(struct publication *p, struct message *m, struct sim_task *task, struct job **job);

/* Nobody would get it. */
static inline bool publication_idle(const struct publication *p)
{
	return !p->latch && !atomic_load_explicit(&p->n_subscribers, memory_order_relaxed);
}

/* ---- the loop's ---- */

struct publication *publication_find(struct sim_bridge *b, const char *name); /* NULL: there is none */
/* A reference less; any thread. NULL is fine. */
void message_drop(struct sim_bridge *b, struct message *m);
/* A timer's: what has been held for too long is copied. */
void publications_release(void *bridge);
/* All its connections end. */
void publication_end_subscribers(struct publication *p);
/* Enter a subscriber into the publication that it wants: it is welcomed. -ENOENT, -EINVAL, -ENOMEM, with a sentence in why. */
int publication_add(struct sim_bridge *b, const char *name, const struct tcpros_header *h, struct subscriber *s,
		    char *why, size_t why_size);

/* subscriber.c: struct listener_options::came, on the port of TCPROS, and what its streams call. */
extern const struct stream_ops subscriber_ops;
void *subscriber_came(void *bridge, struct stream *s, const char *from);
/* It gets the message, too; any thread, with the lock of its publication. */
void subscriber_put(struct subscriber *s, struct message *m);
void subscriber_end(struct subscriber *s);

#endif
