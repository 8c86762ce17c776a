/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue for one peer that may be slow: messages by topic, and operations, which are protocol messages that must reach
 * the peer. A topic has a bound. Beyond it its oldest message is dropped, and each other one moves up to the position
 * of the one before it, so that the peer gets new messages, delays no publisher and starves no topic. Urgent topics are
 * sent before the others; after each urgent message one of the others is sent.
 *
 * A message may stay elsewhere until it is sent, for example in a slot: then it has a task, which is answered when the
 * message is sent, and its bytes are not counted as the outbox's own. The outbox does not interpret bodies.
 *
 *	outbox_put()  lanes, in parallel         outbox_take()  the thread that writes to the peer
 *	outbox_say()  any thread                   outbox_done()
 *
 * Thread: any; the lock is a leaf, and is not held while ops->done() runs. Time comes from the caller; only a put that
 * waits for room uses CLOCK_MONOTONIC. Errors are negative errnos, without a sentence.
 */
#ifndef LOOP_OUTBOX_H
#define LOOP_OUTBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTBOX_LARGE   (64u * 1024) /* bytes; of messages this large or larger only the newest of a topic waits */
#define OUTBOX_MAX     1000u        /* messages of a topic */
#define OUTBOX_BYTES   (256u << 20) /* of all messages and operations without a task */
#define OUTBOX_OPS_MAX 4096u        /* operations */

struct outbox_item {
	struct outbox_item *next; /* private: of its topic */
	struct outbox_topic *topic;
	uint64_t turn; /* private: order of sending */
	void *text;    /* an operation's text; NULL: it is a message */
	size_t text_len;
	void *body;  /* NULL: an operation without a body */
	size_t size; /* bytes of the body */
	void *task;  /* NULL: no task to answer */
};

struct outbox_ops {
	/*
	 * The item was sent (0), or will not be: -ENOBUFS dropped for others, -ENOTCONN, or the result given by the
	 * caller. Hands body and task back to the owner.
	 */
	void (*done)(void *arg, const struct outbox_item *i, int result);
};

struct outbox_topic_options {
	unsigned max; /* messages that wait; 0: the outbox's max, and of large ones one */
	bool urgent;  /* sent before topics that are not urgent */
	/*
	 * a newer message makes earlier ones worthless: they are dropped without being counted, and no put waits for
	 * room
	 */
	bool stale;
	int64_t pace_dur_ns; /* least time between two messages that are not large; 0: none */
};

struct outbox_topic {
	struct outbox_topic_options options;
	/* private, guarded by the outbox's lock */
	struct outbox_item *first, *last;
	unsigned waiting, n; /* items; n: including the one being sent */
	bool gone;           /* destroyed by its owner; freed with its last item */
	bool held;           /* outbox_hold(): its items wait */
	int64_t due_mono_ns; /* no message is sent before this time */
	uint64_t sent, dropped;
	struct outbox_topic *next_active; /* list of topics with items */
	struct outbox_topic *next;        /* list of topics that are not gone */
	/* name given by its owner */
	char name[];
};

struct outbox {
	const struct outbox_ops *ops; /* up to wait_ms: set before outbox_init() */
	void *arg;
	unsigned max; /* messages of a topic that may wait; of large ones one */
	bool wait;    /* wait for room instead of dropping */
	long wait_ms; /* longest wait for room */

	/* private */
	pthread_mutex_t lock;
	pthread_cond_t less; /* an item was taken, or the outbox was closed */
	bool open;           /* messages are accepted */
	/* outbox_take() has found nothing; the next put must wake the writer */
	bool asleep;
	bool others_next;                               /* an urgent message was sent, and none of the others since */
	struct outbox_topic *topics, *active, *said[2]; /* said: operations, and urgent operations */
	uint64_t turn, gone_dropped;
	struct outbox_item *free;
	unsigned n_free;
	size_t bytes;
	_Atomic bool dropped; /* messages were dropped since the last outbox_dropped(); the owner may read it */
};

/* Initializes the outbox, closed. 0 or -ENOMEM; outbox_finish() is valid in either case, and on a zeroed outbox. */
int outbox_init(struct outbox *o);
void outbox_finish(struct outbox *o);
/* Opens it, or closes it, which discards all items: tasks are answered with -ENOTCONN. */
void outbox_open(struct outbox *o, bool on);

/* Returns 0 or -ENOMEM. */
int outbox_topic_create(struct outbox *o, const char *name, const struct outbox_topic_options *options,
			struct outbox_topic **ret);
/* The topic accepts no more messages; those that wait are still sent. NULL is fine. */
void outbox_topic_destroy(struct outbox *o, struct outbox_topic *t);
/*
 * Holds the topic's messages back; or releases them, after all that waits now: then the caller has to wake the writer.
 */
void outbox_hold(struct outbox *o, struct outbox_topic *t, bool on);
uint64_t outbox_sent(struct outbox *o, const struct outbox_topic *t);
uint64_t outbox_lost(struct outbox *o, const struct outbox_topic *t); /* number of messages dropped */
/* Calls fn for each body that waits, with the lock held, so that no body is removed meanwhile. */
void outbox_each(struct outbox *o, const struct outbox_topic *t, void (*fn)(void *arg, void *body), void *arg);

/*
 * Appends a message to its topic; takes body. task: answered when the message is sent; NULL: no task. *ret_wake: the
 * caller has to wake the writer. 1: the task is answered later; 0: there is no task. On an error the message is dropped
 * and its body released, but not its task: -ENOTCONN closed; -ETIMEDOUT no room within wait_ms; -ENOBUFS other messages
 * use all the room; -ENOMEM.
 */
int outbox_put(struct outbox *o, struct outbox_topic *t, void *body, size_t size, void *task, bool *ret_wake);

enum outbox_place {
	OUTBOX_LAST,   /* after all that waits now */
	OUTBOX_URGENT, /* after the urgent messages, before all others: for operations about an urgent topic */
	OUTBOX_FIRST,  /* before all that waits */
};

/*
 * Appends an operation, whether the outbox is open or not; it is never dropped. Copies text, takes body, which may be
 * NULL. -ENOBUFS: there are already OUTBOX_OPS_MAX; -ENOMEM. On an error ops->done() has already released the body.
 */
int outbox_say(struct outbox *o, enum outbox_place place, const void *text, size_t text_len, void *body, size_t size);

/*
 * Takes the next item to send; the caller must call outbox_done(). NULL: nothing may be sent for *ret_wait_dur_ns; -1:
 * nothing waits, and the next put wakes the writer.
 */
struct outbox_item *outbox_take(struct outbox *o, int64_t now_mono_ns, int64_t *ret_wait_dur_ns);
/* The item was sent (0), or will not be (its errno). */
void outbox_done(struct outbox *o, struct outbox_item *i, int result, int64_t now_mono_ns);
/* Whether nothing waits; then the writer may sleep, and the next put wakes it. */
bool outbox_rest(struct outbox *o);

/*
 * Appends to text which topics lost messages since the last call: " /a 3; /b 1;". Returns false if none did. Destroyed
 * topics are counted together.
 */
bool outbox_dropped(struct outbox *o, char *text, size_t size);

#endif
