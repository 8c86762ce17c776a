/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message on its way to the subscribers of a topic: encoded once, its large arrays left in the slot, and sent from
 * there to any number of subscribers. While a message is held, so is its slot; a job remembers which task to answer
 * afterwards. References and jobs are guarded by a lock of the plug-in's.
 */
#ifndef TOPICS_MESSAGE_H
#define TOPICS_MESSAGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <sim/bridge.h>

#include "topics.h"

#define MESSAGE_IOV       (IOV_BUF_PIECES + 1)
#define MESSAGE_SMALL_MAX 65536u /* bytes: up to this size a message is copied instead of holding a slot */

/* One call of publish() that is answered later, when `left` reaches 0. */
struct job {
	struct sim_task *task;
	_Atomic unsigned left;
	_Atomic int result;
	struct job *next; /* in the list of jobs to answer */
};

struct message {
	_Atomic unsigned refs;
	uint8_t head[4];
	struct iov_buf *out; /* from the topics' pool, or NULL */
	uint8_t *own;        /* a copy of all bytes, or a message that did not come from a slot */
	struct iovec iov[MESSAGE_IOV];
	unsigned n_iov;
	size_t total;
	struct job *job;       /* NULL: the message holds no slot */
	int64_t since_mono_ns; /* holds its slot since */
	struct message *next;  /* in the pool */
};

struct message_pool {
	struct topics *topics; /* owner of the buffer pool */
	pthread_mutex_t lock;  /* a leaf */
	struct message *free;
	unsigned n;
};

void message_pool_init(struct message_pool *p, struct topics *topics);
void message_pool_finish(struct message_pool *p);

/* A message with one reference, the caller's. NULL: no memory. */
struct message *message_get(struct message_pool *p);
/*
 * Makes the encoded bytes the message, which takes ownership of out, also on failure. counted: a 4-byte length precedes
 * them, as in TCPROS; -EMSGSIZE if it does not fit 4 bytes.
 */
int message_set(struct message *m, bool counted, struct iov_buf *out);
/* Makes the bytes the message. Takes ownership of data, a block of malloc(). */
void message_set_own(struct message *m, uint8_t *data, size_t n);
/*
 * Copies what the message points to, so that it no longer needs the slot. The caller must then answer its job, if it
 * has one. -ENOMEM
 */
int message_own(struct message *m);
/* A copy with its own bytes. NULL: no memory. */
struct message *message_copy(struct message_pool *p, const struct message *m);
/*
 * Drops a reference; the last one returns the message to the pool. A job that nothing waits for any more is prepended
 * to *done, to be passed to jobs_answer() without a lock held.
 */
void message_unref(struct message_pool *p, struct message *m, struct job **done);

/* Drops a reference to a job. Returns true for the last one, after prepending the job to *done. */
bool job_unref(struct job *j, struct job **done);
void jobs_answer(const struct sim_bridge_host *host, struct job *done);

/*
 * Makes the message last beyond publish(). If it points into the slot, it holds the slot from now on (CLOCK_MONOTONIC):
 * *job is created if NULL, and its `left` incremented. A small message is copied instead, and any message if task is
 * NULL. -ENOMEM. The caller holds the lock of the references.
 */
int message_hold(struct message *m, struct sim_task *task, int64_t now_mono_ns, struct job **job);

/* Encodes and sends one topic of a channel. hold: the task whose slot may be held while it is sent; NULL: copy. */
typedef int (*message_write_fn)(void *arg, struct topic_out *t, const struct map_message *in, struct sim_task *task,
				struct sim_task *hold, struct job **job);
/*
 * For publish(): sends all topics of a channel, by write(s->arg, ...); /tf_static with all frames so far. Returns as
 * publish().
 */
int messages_publish(struct topics *s, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task,
		     message_write_fn write);
/* In lock-step, waits until everything earlier is out. The caller holds no lock. */
void messages_await_turn(const struct topics *s, struct sim_task *task);

#endif
