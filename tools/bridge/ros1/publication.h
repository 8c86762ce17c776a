/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A topic that this node publishes, under one name, and those who subscribe to it. Each has a queue of its own: who is slow loses the
 * oldest messages that wait, and delays nobody. What the socket takes at once is written by who publishes, the rest by the I/O
 * thread; what a slow one holds for longer than PUBLICATION_HOLD_DUR_NS is copied, so that its slot goes back.
 */
#ifndef PUBLICATION_H
#define PUBLICATION_H

#include "io.h"
#include "message.h"
#include "net.h"
#include "tcpros.h"

#define PUBLICATION_HOLD_DUR_NS INT64_C(50000000)
#define PUBLICATION_HELD_MAX    (128u << 20) /* bytes of copies that a subscriber may hold */
#define PUBLICATION_QUEUE_MAX   1000u

struct publication;
struct ros_type;

struct subscriber { /* a connection on which we send */
	struct io_source io;
	struct sim_bridge *bridge;
	struct publication *publication; /* NULL: it has not said of what */
	struct subscriber *next;         /* of the publication, or of those that have not said */
	unsigned id;
	char peer[NET_TEXT_MAX], node[NET_TEXT_MAX];
	uint8_t *in; /* its header, as far as it is there */
	size_t in_len;
	/* guarded by the publication's lock */
	struct message **ring;
	unsigned room, first, n;
	size_t at;   /* bytes of the first message that are sent */
	bool ending; /* it is closed when all is sent */
	uint64_t sent, dropped, bytes;
};

struct publication {
	struct sim_bridge *bridge;
	struct publication *next; /* of the bridge; guarded by its lock, with refs */
	unsigned refs;            /* topics */
	char *name, *type, *md5, *definition;
	_Atomic unsigned n_subscribers;
	pthread_mutex_t lock; /* below the bridge's; guards what follows. The list is changed by the I/O thread alone */
	unsigned queue;
	bool latch;
	struct subscriber *subscribers;
	struct message *latched;
	uint64_t bytes;
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
 * Send a message, whose reference it takes. What cannot be sent at once and points into the slot is held: *job is then made, or
 * used again, with one more in `left`. task NULL: nothing is held. 0 or -ENOMEM. Thread: any.
 */
int publication_send(struct publication *p, struct message *m, struct sim_task *task, struct job **job);

/* Nobody would get it. */
static inline bool publication_idle(const struct publication *p)
{
	return !p->latch && !atomic_load_explicit(&p->n_subscribers, memory_order_relaxed);
}

/* The I/O thread's: what has been held for too long is copied. Returns when to look again, CLOCK_MONOTONIC. */
int64_t publications_release(struct sim_bridge *b);

/* A connection on the port of TCPROS. Takes fd. Thread: the I/O thread. */
void subscriber_accept(struct sim_bridge *b, int fd, const char *peer);
/* Enter it into the publication that it wants. Of subscriber.c, for publication.c and the reverse: the I/O thread's. */
int publication_add(struct sim_bridge *b, const char *name, const struct tcpros_header *h, struct subscriber *s,
		    char *why, size_t why_size);
void publication_remove(struct subscriber *s);
void publication_end_subscribers(struct publication *p);
/* Write as much as it takes. The lock is held. Negative errno: it is broken. */
int subscriber_write(struct subscriber *s, struct job **done);
/* Put a message into its queue; the lock is held. */
void subscriber_queue(struct subscriber *s, struct message *m, struct job **done);

#endif
