/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's connection to a peer that speaks frames (frame.h), made on request, within connect_ms. All work is on a
 * thread of its own, which writes queued messages and hands over each Publish that arrives; it ends with a reason when
 * the peer disconnects, violates the protocol, or takes nothing for stall_ms. The owner opens it again.
 *
 * Locks: `lock`, then the outbox's, which is a leaf.
 */
#ifndef TCP_CONNECTION_H
#define TCP_CONNECTION_H

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
	size_t body_max;    /* largest incoming message; longer ones are handed over without the body */
	/*
	 * Reports the status with a text: CONNECTING, CONNECTED, UNEXPECTEDLY_DISCONNECTED. Threads: of
	 * tcp_link_open(), the link's.
	 */
	void (*status)(void *arg, enum sim_bridge_status status, const char *text);
	void (*take)(void *arg, const struct frame *f);
	/*
	 * Called after each turn of the thread, without locks. Returns after how many ns at the latest to call again;
	 * -1: no limit. May be NULL.
	 */
	int64_t (*look)(void *arg);
	/* Called when the connection has ended, before that is reported. May be NULL. */
	void (*ended)(void *arg);
	/* Provide and take back empty message buffers. These and `answer` are needed for sending. Thread: any. */
	struct iov_buf *(*get_buf)(void *arg);
	void (*put_buf)(void *arg, struct iov_buf *o);
	void (*answer)(void *arg, struct sim_task *task, int result);
};

struct tcp_link {
	const struct tcp_link_ops
		*ops; /* set these before tcp_link_init(); the times and the address before tcp_link_open() */
	void *arg;
	long connect_ms, stall_ms;
	struct address address;
	struct outbox outbox; /* the owner sets its max, wait and wait_ms */

	/* private */
	pthread_t thread;
	bool running; /* thread must be joined */
	_Atomic int status;
	_Atomic bool stop, alive; /* alive: the thread runs */
	struct exec *x;           /* from here on used by the thread only */
	struct exec_post wake;
	struct exec_timer due; /* time of the next sending or look() */
	struct stream *stream;
	size_t skip; /* remaining bytes of a message that is too long */
	bool connected, ending;
	char why[480];
	struct outbox_item *item; /* being sent; NULL: none */
	uint8_t head[FRAME_HEAD_MAX];
	struct iovec iov[1 + IOV_BUF_PIECES], *at;
	unsigned n;

	pthread_mutex_t lock; /* guards the members below */
	uint64_t *said;       /* hashes of the frames announced on this connection */
	size_t n_said, said_room;
};

/* 0 or a negative errno; tcp_link_finish() may be called in either case, and on a zeroed struct. */
int tcp_link_init(struct tcp_link *l);
void tcp_link_finish(struct tcp_link *l); /* closes and joins */

/* Parses "host:port"; defaults are 127.0.0.1 and 9090. -EINVAL, with a reason. */
int tcp_link_address(const char *text, struct address *ret, char *why, size_t why_size);

/*
 * open: starts to connect to l->address, on a thread of its own; an earlier one must be joined. close: ends the
 * connection, without waiting. join: waits for the thread.
 */
int tcp_link_open(struct tcp_link *l);
/* The same to the address of `other`, with its times. Thread: as tcp_link_open() of the other, or its own. */
int tcp_link_open_beside(struct tcp_link *l, const struct tcp_link *other);
void tcp_link_close(struct tcp_link *l); /* queued data is still sent, as long as the peer takes it */
void tcp_link_join(struct tcp_link *l);
bool tcp_link_alive(const struct tcp_link *l); /* false: join() would not block */

/*
 * Sends the frames that were not yet sent on this connection, in their order and before later messages. Thread: any.
 * -ENOBUFS queue full, -ENOMEM.
 */
int tcp_link_say(struct tcp_link *l, const struct iovec *frames, unsigned n);
/* The same for one AddReader or AddWriter. -ENAMETOOLONG. */
int tcp_link_say_add(struct tcp_link *l, uint8_t op, const char *topic, const char *type);

/* Sends an empty message; repetitions are sent, too. Thread: any. -ENAMETOOLONG, -ENOBUFS, -ENOMEM. */
int tcp_link_send_empty(struct tcp_link *l, const char *topic);
/* Holds back messages of a topic of l->outbox, or releases them, and wakes the thread. Thread: any. */
void tcp_link_hold(struct tcp_link *l, struct outbox_topic *t, bool on);

/*
 * Sends a message of a topic of l->outbox; takes ownership of o, which must come from get_buf(). task: data that o
 * references stays valid until the task is answered; NULL: until this returns. A small message is copied in any case,
 * and its task is not answered. Returns as outbox_put(). Thread: any.
 */
int tcp_link_put(struct tcp_link *l, struct outbox_topic *t, struct iov_buf *o, struct sim_task *task);

#endif
