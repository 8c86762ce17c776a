/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's connection to a peer that speaks frames (frame.h): made when asked for, within connect_ms; all on a thread of its own, which
 * writes what waits in the outbox and hands over each Publish that comes; ended with a sentence where the peer goes, lies or takes nothing
 * for stall_ms. It is made again by who opens it again.
 *
 * Locks: `lock`, then the outbox's, which is a leaf.
 */
#ifndef TCP_LINK_H
#define TCP_LINK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

#include <sim/bridge.h>

#include "address.h"
#include "exec.h"
#include "frame.h"
#include "iov_buf.h"
#include "outbox.h"

struct stream;

struct tcp_link_ops {
	const struct frame_dialect *dialect;
	const char *thread; /* its name */
	size_t body_max;    /* of a message that comes in; longer ones are handed over without it */
	/* How it stands, in words: CONNECTING, CONNECTED, UNEXPECTEDLY_DISCONNECTED. Threads: of tcp_link_open(), the link's. */
	void (*status)(void *arg, enum sim_bridge_status status, const char *text);
	void (*take)(void *arg, const struct frame *f);
	/* After each turn of the thread, no lock held: when to look again at the latest, ns; -1: whenever. NULL: there is nothing to look at. */
	int64_t (*look)(void *arg);
	/* The connection has ended, before that is reported. NULL: nothing to do. */
	void (*ended)(void *arg);
	/* Buffers of messages, empty, and back. These and `answer`: of a link on which messages are sent. Thread: any. */
	struct iov_buf *(*get_buf)(void *arg);
	void (*put_buf)(void *arg, struct iov_buf *o);
	void (*answer)(void *arg, struct sim_task *task, int result);
};

struct tcp_link {
	const struct tcp_link_ops
		*ops; /* these: set before tcp_link_init(); the times and the address before tcp_link_open() */
	void *arg;
	long connect_ms, stall_ms;
	struct address address;
	struct outbox outbox; /* its max, wait and wait_ms are the owner's */

	/* private */
	pthread_t thread;
	bool running; /* there is a thread to be joined */
	_Atomic int status;
	_Atomic bool stop, alive; /* alive: the thread runs */
	struct exec *x;           /* the thread's, and what follows */
	struct exec_post wake;
	struct exec_timer due; /* something may be sent, or is to be looked at */
	struct stream *stream;
	size_t skip; /* bytes of a message that is too long, still to come */
	bool connected, ending;
	char why[480];
	struct outbox_item *item; /* on its way out; NULL: none */
	uint8_t head[FRAME_HEAD_MAX];
	struct iovec iov[1 + IOV_BUF_PIECES], *at;
	unsigned n;

	pthread_mutex_t lock; /* guards what follows */
	uint64_t *said;       /* hashes of the frames that this connection has been told */
	size_t n_said, said_room;
};

/* 0 or a negative errno; tcp_link_finish() is right in either case, and where all is zero. */
int tcp_link_init(struct tcp_link *l);
void tcp_link_finish(struct tcp_link *l); /* closes and joins */

/* "host:port"; what is not there is 127.0.0.1 and 9090. -EINVAL, with a sentence. */
int tcp_link_address(const char *text, struct address *ret, char *why, size_t why_size);

/* Begin to connect to l->address, on a thread of its own, when an earlier one was joined; end without waiting; wait. */
int tcp_link_open(struct tcp_link *l);
/* The same to where `other` goes, with its times. Thread: as tcp_link_open() of the other, or its own. */
int tcp_link_open_beside(struct tcp_link *l, const struct tcp_link *other);
void tcp_link_close(struct tcp_link *l); /* what waits still goes out, as long as the peer takes it */
void tcp_link_join(struct tcp_link *l);
bool tcp_link_alive(const struct tcp_link *l); /* false: join() does not wait */

/*
 * Say what this connection has not been told yet, in that order; before what is sent after it. Thread: any. -ENOBUFS too much waits,
 * -ENOMEM.
 */
int tcp_link_say(struct tcp_link *l, const struct iovec *frames, unsigned n);
/* The same of one AddReader or AddWriter. -ENAMETOOLONG. */
int tcp_link_say_add(struct tcp_link *l, uint8_t op, const char *topic, const char *type);

/* An empty message, each time it is asked for. Thread: any. -ENAMETOOLONG, -ENOBUFS, -ENOMEM. */
int tcp_link_send_empty(struct tcp_link *l, const char *topic);
/* Let messages of a topic of l->outbox wait, or go; and look. Thread: any. */
void tcp_link_hold(struct tcp_link *l, struct outbox_topic *t, bool on);

/*
 * Send a message of a topic of l->outbox; takes o, which comes from get_buf(). task: what o points to stays as it is until the task is
 * answered; NULL: only until this returns. A small message is copied anyway, and its task is not answered. As outbox_put(). Thread: any.
 */
int tcp_link_put(struct tcp_link *l, struct outbox_topic *t, struct iov_buf *o, struct sim_task *task);

#endif
