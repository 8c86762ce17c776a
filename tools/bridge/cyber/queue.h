/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits to go out. A channel has a bound: beyond it the oldest of its messages gives its place to the next one, so that a slow
 * peer gets what is new, delays nobody and starves no channel. The peer keeps only the newest unread message of a channel, so the
 * small ones of one go out with a pause between; others go meanwhile.
 *
 * A large message lies in its slot until it is sent: its task is answered then. A small one is the queue's own, and was answered.
 *
 * Thread: any; `lock` is a leaf. Time comes from the caller.
 */
#ifndef CYBER_QUEUE_H
#define CYBER_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <sim/bridge.h>

#include "iov_buf.h"

#define QUEUE_LARGE (64u * 1024) /* bytes */
#define QUEUE_MAX   1000u
#define QUEUE_BYTES (256u << 20) /* of all small ones */
#define QUEUE_FREE  256u

struct queue_item {
	struct queue_item *next; /* of its channel */
	struct queue_channel *channel;
	uint64_t turn;         /* in which order they came */
	struct iov_buf *body;  /* the queue's */
	struct sim_task *task; /* to be answered; NULL: none, and nothing in body points elsewhere */
};

struct queue_channel {
	int64_t pace_dur_ns; /* between two small messages; 0: none */
	/* guarded by the queue's lock */
	struct queue_item *first, *last;
	unsigned waiting, n; /* items; n: with the one on its way */
	bool gone;           /* is freed with its last item */
	int64_t due_mono_ns; /* not before */
	uint64_t sent, dropped;
	struct queue_channel *next; /* of those with items */
	char name[];
};

struct queue {
	const struct sim_bridge_host *host; /* up to wait_ms: set before queue_init() */
	unsigned max; /* small messages of a channel that wait; of large ones one, if they do not wait for room */
	bool wait;    /* for room, rather than to drop */
	long wait_ms; /* so long at most */
	void (*put_buf)(void *arg, struct iov_buf *o); /* where bodies go back to */
	void *arg;

	pthread_mutex_t lock;
	pthread_cond_t less; /* something was taken, or it is closed */
	bool open;           /* messages are taken */
	struct queue_channel *channels;
	uint64_t turn;
	struct queue_item *free;
	unsigned n_free;
	size_t bytes;         /* of small ones */
	bool asleep;          /* who takes has found nothing to take now */
	_Atomic bool dropped; /* something was, since that was asked last */
};

void queue_init(struct queue *q);
void queue_finish(struct queue *q);
/* Open it, or close it, which forgets all that waits: tasks are answered with -ENOTCONN. */
void queue_open(struct queue *q, bool on);

int queue_channel_create(const char *name, int64_t pace_dur_ns, struct queue_channel **ret);
void queue_counts(struct queue *q, const struct queue_channel *c, uint64_t *ret_sent, uint64_t *ret_dropped);
/* No more messages of it; what waits still goes out. */
void queue_channel_destroy(struct queue *q, struct queue_channel *c);

/*
 * A message behind all others of its channel; takes body. task: what is to be answered when it is out; NULL: nothing is. *ret_wake: who
 * takes shall look. 1: the task is answered later; 0: it is not, as there is none. -ENOTCONN it is not open; -ETIMEDOUT there was no room for
 * wait_ms; -ENOBUFS other channels have all the room; -ENOMEM.
 */
int queue_put(struct queue *q, struct queue_channel *c, struct iov_buf *body, struct sim_task *task, bool *ret_wake);

/* What goes out next, taken: queue_done() follows. NULL: nothing, for *ret_wait_dur_ns; -1: nothing waits. */
struct queue_item *queue_take(struct queue *q, int64_t now_mono_ns, int64_t *ret_wait_dur_ns);
/* It is out (result 0), or will not be. */
void queue_done(struct queue *q, struct queue_item *i, int result, int64_t now_mono_ns);

#endif
