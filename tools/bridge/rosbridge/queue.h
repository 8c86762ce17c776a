/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits for the server: messages and operations, in order; those that are urgent before the others. A topic has a bound; beyond it the
 * oldest of its messages gives its place to the next one, so that a slow server gets what is new, delays nobody and starves no topic: behind
 * each urgent message one of the others goes.
 *
 * Thread: any; `lock` is a leaf.
 */
#ifndef QUEUE_H
#define QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "iov_buf.h"

#define QUEUE_LARGE    (64u * 1024) /* bytes: of such messages the newest alone waits */
#define QUEUE_MAX      1000u
#define QUEUE_BYTES    (256u << 20)
#define QUEUE_OPS_MAX  4096u
#define QUEUE_FREE_MAX 256u

struct queue_topic {
	unsigned max; /* messages that may wait; 0: of large ones one, of others what the queue says */
	bool urgent;
	bool stale; /* a newer one makes those before it worthless: they go without being counted */
	/* guarded by the queue's lock */
	struct queue_item *first, *last; /* of its messages, by next_of_topic */
	unsigned n;
	uint64_t dropped;
};

struct queue_item {
	struct queue_item *next, *next_of_topic;
	struct queue_topic *topic; /* NULL: an operation, or its topic has gone */
	char *head;                /* what stands before the body: of an operation, all */
	size_t head_len, head_room;
	struct iov_buf *body; /* NULL: there is none; else '}' follows it */
};

struct topics;

enum queue_place { QUEUE_LAST, QUEUE_URGENT, QUEUE_FIRST };

struct queue_list {
	struct queue_item *first, *last;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t less;   /* something has been taken, or it is closed */
	struct topics *topics; /* whose pool bodies go back to */
	unsigned max;          /* messages of a topic that wait */
	bool wait;             /* for room, rather than to drop */
	long wait_ms;          /* so long at most */
	bool open;             /* messages are taken */
	struct queue_list urgent, others;
	bool others_next; /* an urgent message has gone, and none of the others since */
	struct queue_item *free;
	unsigned n_ops, n_free;
	size_t bytes;
	_Atomic bool dropped; /* something was, since that was asked last */
};

void queue_init(struct queue *q, struct topics *topics);
void queue_finish(struct queue *q);

/* Open it, or close it, which forgets all that waits: whoever connects again says all again. */
void queue_open(struct queue *q, bool on);

/*
 * A message behind all else, or all else that is urgent; takes body. head: what stands before it. 1: it is queued, and nothing else was; 0: something was.
 * -ENOTCONN it is not open; -ETIMEDOUT there was no room for wait_ms; -ENOMEM.
 */
int queue_message(struct queue *q, struct queue_topic *t, const char *head, struct iov_buf *body);

/*
 * An operation, whether the queue is open or not; it is never dropped. QUEUE_FIRST: before all that waits; QUEUE_URGENT: behind what is urgent,
 * as what is said of an urgent topic has to be. body may be NULL. -ENOBUFS there are QUEUE_OPS_MAX; else as queue_message().
 */
int queue_op(struct queue *q, enum queue_place place, const char *text, struct iov_buf *body);

/* What goes out next, taken; NULL: nothing waits. queue_done() follows. */
struct queue_item *queue_take(struct queue *q);
void queue_done(struct queue *q, struct queue_item *i);
bool queue_empty(struct queue *q);

/* Its messages that wait go out without it. */
void queue_forget_topic(struct queue *q, struct queue_topic *t);

#endif
