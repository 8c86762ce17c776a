/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message on its way to the subscribers of a topic: encoded once, its large arrays in the slot, and sent from there to however many there are.
 * While it is held, the slot is too: a job remembers whom to answer then. Thread: what a publication's lock guards is said there.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <sim/bridge.h>

#include "topics.h"

#define MESSAGE_IOV (IOV_BUF_PIECES + 1)

/* One call of publish() that is answered later: when `left` comes to 0. */
struct job {
	struct sim_task *task;
	_Atomic unsigned left;
	_Atomic int result;
	struct job *next; /* of those to be answered */
};

struct message {
	unsigned refs; /* guarded by the publication's lock */
	bool bare;     /* a header of TCPROS: whole as it is, and never dropped */
	uint8_t head[4];
	struct iov_buf *out; /* of the topics' pool; NULL: */
	uint8_t *own;        /* a copy of all, or a header */
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
/* What is encoded becomes the message, which takes it, also on failure. -EMSGSIZE it is larger than TCPROS can say. */
int message_set(struct message *m, struct iov_buf *out);
/* A header: takes data, a block of malloc(). */
void message_set_bare(struct message *m, uint8_t *data, size_t n);
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

#endif
