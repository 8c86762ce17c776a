/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits for one peer that may be slow: messages by topic, and operations, which are what the peer has to be told. A topic has a
 * bound. Beyond it the oldest of its messages goes, and each that stays takes the place of the one before it, so that the peer gets what
 * is new, delays nobody and starves no topic. Urgent topics go before the others; behind each urgent message one of the others goes.
 *
 * A message may lie elsewhere until it is out, in a slot for one: then it comes with a task, which is answered then, and is not counted
 * as the outbox's own bytes. What a body is, the owner knows alone.
 *
 *	outbox_put()  lanes, side by side          outbox_take()  the thread that writes to the peer
 *	outbox_say()  any thread                   outbox_done()
 *
 * Thread: any; the lock is a leaf, and is not held while ops->done() runs. Time comes from the caller; only who waits for room goes by
 * CLOCK_MONOTONIC. Errors are negative errnos, without a sentence.
 */
#ifndef LOOP_OUTBOX_H
#define LOOP_OUTBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTBOX_LARGE   (64u * 1024) /* bytes of a message of which the newest alone waits */
#define OUTBOX_MAX     1000u        /* messages of a topic */
#define OUTBOX_BYTES   (256u << 20) /* of all that has no task */
#define OUTBOX_OPS_MAX 4096u        /* operations */

struct outbox_item {
	struct outbox_item *next; /* private: of its topic */
	struct outbox_topic *topic;
	uint64_t turn; /* private: who goes first */
	void *text;    /* an operation's; NULL: it is a message */
	size_t text_len;
	void *body;  /* NULL: an operation without one */
	size_t size; /* bytes of the body */
	void *task;  /* NULL: nobody waits for an answer */
};

struct outbox_ops {
	/* The item is out (0), or will not be: -ENOBUFS others have its place, -ENOTCONN, or the caller's. Gives back body and task. */
	void (*done)(void *arg, const struct outbox_item *i, int result);
};

struct outbox_topic_options {
	unsigned max; /* messages that wait; 0: as the outbox has it, and of large ones one */
	bool urgent;  /* before all that is not */
	bool stale; /* a newer one makes those before it worthless: they go without being counted, and nobody waits for room */
	int64_t pace_dur_ns; /* between two messages that are not large; 0: none */
};

struct outbox_topic {
	struct outbox_topic_options options;
	/* private, guarded by the outbox's lock */
	struct outbox_item *first, *last;
	unsigned waiting, n; /* items; n: with the one on its way */
	bool gone;           /* is freed with its last item */
	bool held;           /* its items wait */
	int64_t due_mono_ns; /* not before */
	uint64_t sent, dropped;
	struct outbox_topic *next_active; /* of those with items */
	struct outbox_topic *next;        /* of all that are not gone */
	/* what its owner calls it */
	char name[];
};

struct outbox {
	const struct outbox_ops *ops; /* up to wait_ms: set before outbox_init() */
	void *arg;
	unsigned max; /* messages of a topic that wait; of large ones one */
	bool wait;    /* for room, rather than to drop */
	long wait_ms; /* so long at most */

	/* private */
	pthread_mutex_t lock;
	pthread_cond_t less;                            /* something was taken, or it is closed */
	bool open;                                      /* messages are taken */
	bool asleep;                                    /* who takes has found nothing to take */
	bool others_next;                               /* an urgent message has gone, and none of the others since */
	struct outbox_topic *topics, *active, *said[2]; /* said: operations, and those that are urgent */
	uint64_t turn, gone_dropped;
	struct outbox_item *free;
	unsigned n_free;
	size_t bytes;
	_Atomic bool dropped; /* something was, since outbox_dropped() said it; who owns the outbox may look */
};

/* Closed. 0 or -ENOMEM; outbox_finish() is right in either case, and where all is zero. */
int outbox_init(struct outbox *o);
void outbox_finish(struct outbox *o);
/* Open it, or close it, which forgets all that waits: tasks are answered with -ENOTCONN. */
void outbox_open(struct outbox *o, bool on);

/* -ENOMEM. */
int outbox_topic_create(struct outbox *o, const char *name, const struct outbox_topic_options *options,
			struct outbox_topic **ret);
/* No more messages of it; what waits still goes out. NULL is fine. */
void outbox_topic_destroy(struct outbox *o, struct outbox_topic *t);
/* Let its messages wait; or go, behind all that waits now: then who takes has to be woken. */
void outbox_hold(struct outbox *o, struct outbox_topic *t, bool on);
uint64_t outbox_sent(struct outbox *o, const struct outbox_topic *t);
uint64_t outbox_lost(struct outbox *o, const struct outbox_topic *t); /* dropped */
/* Each body that waits, with the lock held: none of them goes meanwhile. */
void outbox_each(struct outbox *o, const struct outbox_topic *t, void (*fn)(void *arg, void *body), void *arg);

/*
 * A message behind all others of its topic; takes body. task: what is to be answered when it is out; NULL: nothing is. *ret_wake: who
 * takes has to be woken. 1: the task is answered later; 0: it is not, as there is none. Or it is dropped, and its body is released,
 * not its task: -ENOTCONN it is not open; -ETIMEDOUT there was no room for wait_ms; -ENOBUFS others have all the room; -ENOMEM.
 */
int outbox_put(struct outbox *o, struct outbox_topic *t, void *body, size_t size, void *task, bool *ret_wake);

enum outbox_place {
	OUTBOX_LAST,   /* behind all that waits now */
	OUTBOX_URGENT, /* behind the urgent messages, before all others: for operations about an urgent topic */
	OUTBOX_FIRST,  /* before all that waits */
};

/*
 * An operation, whether it is open or not; it is never dropped. Copies text, takes body, which may be NULL. -ENOBUFS: there are
 * OUTBOX_OPS_MAX; -ENOMEM. On an error ops->done() has already given the body back.
 */
int outbox_say(struct outbox *o, enum outbox_place place, const void *text, size_t text_len, void *body, size_t size);

/* What goes out next, taken; outbox_done() follows. NULL: nothing for *ret_wait_dur_ns; -1: nothing waits. Then a put() wakes. */
struct outbox_item *outbox_take(struct outbox *o, int64_t now_mono_ns, int64_t *ret_wait_dur_ns);
/* It is out (0), or will not be. */
void outbox_done(struct outbox *o, struct outbox_item *i, int result, int64_t now_mono_ns);
/* Whether nothing waits; then who takes may rest, and the next put() wakes. */
bool outbox_rest(struct outbox *o);

/*
 * Who has lost messages, in words behind those that stand in text: " /a 3; /b 1;". False: nobody has, since this was asked last.
 * Topics that are gone are counted together.
 */
bool outbox_dropped(struct outbox *o, char *text, size_t size);

#endif
