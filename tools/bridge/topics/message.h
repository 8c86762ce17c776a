/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message on its way to the subscribers of a topic: encoded once, its large arrays in the slot, and sent from there to however many there are.
 * While it is held, the slot is too: a job remembers whom to answer then. References and jobs are guarded by a lock of the plug-in's.
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
#define MESSAGE_SMALL_MAX 65536u /* bytes: such a message is copied rather than that it holds a slot */

/* One call of publish() that is answered later: when `left` comes to 0. */
struct job {
	struct sim_task *task;
	_Atomic unsigned left;
	_Atomic int result;
	struct job *next; /* of those to be answered */
};

struct message {
	_Atomic unsigned refs;
	uint8_t head[4];
	struct iov_buf *out; /* of the topics' pool; NULL: */
	uint8_t *own;        /* a copy of all, or what was no message of a slot */
	struct iovec iov[MESSAGE_IOV];
	unsigned n_iov;
	size_t total;
	struct job *job;       /* NULL: it is not held */
	int64_t since_mono_ns; /* so long */
	struct message *next;  /* of the pool */
};

struct message_pool {
	struct topics *topics; /* whose pool out goes back to */
	pthread_mutex_t lock;  /* a leaf */
	struct message *free;
	unsigned n;
};

void message_pool_init(struct message_pool *p, struct topics *topics);
void message_pool_finish(struct message_pool *p);

/* One reference, the caller's. NULL: no memory. */
struct message *message_get(struct message_pool *p);
/*
 * What is encoded becomes the message, which takes it, also on failure. counted: 4 bytes go before it, its length, as TCPROS
 * has it; -EMSGSIZE it is larger than they can say.
 */
int message_set(struct message *m, bool counted, struct iov_buf *out);
/* Bytes become the message: takes data, a block of malloc(). */
void message_set_own(struct message *m, uint8_t *data, size_t n);
/* Copy what it points to, so that the slot is not needed any more. A job is then the caller's to answer. -ENOMEM */
int message_own(struct message *m);
/* NULL: no memory. */
struct message *message_copy(struct message_pool *p, const struct message *m);
/*
 * One reference less; the last one puts it back into the pool. A job that is not waited for any more is put before *done, to be
 * answered by jobs_answer() without a lock.
 */
void message_unref(struct message_pool *p, struct message *m, struct job **done);

/* One holder less of a job: whether it was the last one. It is put before *done then. */
bool job_unref(struct job *j, struct job **done);
void jobs_answer(const struct sim_bridge_host *host, struct job *done);

/*
 * So that it can wait: what points into the slot holds it from now on, CLOCK_MONOTONIC; *job is then made, or used again, with one more
 * in `left`. What is small is copied, and with task NULL everything. -ENOMEM. References are locked.
 */
int message_hold(struct message *m, struct sim_task *task, int64_t now_mono_ns, struct job **job);

/* One topic of a channel: encode and send it. hold: whose the bytes are while it is sent, NULL: they are copied. */
typedef int (*message_write_fn)(void *arg, struct topic_out *t, const struct map_message *in, struct sim_task *task,
				struct sim_task *hold, struct job **job);
/* For publish(): all topics of a channel, by write(s->arg, ...), fixed frames with all that there are so far. As publish(). */
int messages_publish(struct topics *s, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task,
		     message_write_fn write);
/* In lock-step: what goes out earlier is out. Hold no lock. */
void messages_await_turn(const struct topics *s, struct sim_task *task);

#endif
