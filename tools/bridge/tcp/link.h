/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's TCP connection to a peer that speaks frames (frame.h): made when asked for, within connect_ms; read by a thread of its own,
 * which hands over each Publish; ended with a sentence where the peer goes, lies or takes nothing for stall_ms. It is made again by who
 * opens it again.
 *
 * Out goes what the plug-in says (which topics there are, once a connection), and messages, each after what was said before it: by
 * tcp_link_send() from any thread, which waits for the peer, or by the plug-in's `turn` on the link's thread, which does not.
 *
 * Locks: `wire`, then `lock`, which is a leaf.
 */
#ifndef TCP_LINK_H
#define TCP_LINK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

#include <sim/bridge.h>

#include "address.h"
#include "frame.h"

struct tcp_turn {            /* what the plug-in's turn has left */
	bool blocked;        /* the socket takes no more just now */
	bool more;           /* something waits, for the socket or for its time */
	int64_t wait_dur_ns; /* how long nothing is to be done, unless it is blocked or woken; -1: for ever */
};

struct tcp_link_ops {
	const struct frame_dialect *dialect;
	const char *thread; /* its name */
	size_t body_max;    /* of a message that comes in; longer ones are handed over without it */
	/* How it stands, in words: CONNECTING, CONNECTED, UNEXPECTEDLY_DISCONNECTED. Threads: of tcp_link_open(), the link's. */
	void (*status)(void *arg, enum sim_bridge_status status, const char *text);
	void (*take)(void *arg, const struct frame *f);
	/*
	 * Send what waits, as far as the socket takes it, by tcp_link_send_said() and tcp_link_some(). Negative: these failed. wire is
	 * held. NULL: all is sent by tcp_link_send().
	 */
	int (*turn)(void *arg, struct tcp_turn *ret);
	/* Between turns, no lock held: when to look again at the latest, ns; -1: whenever. NULL: there is nothing to look at. */
	int64_t (*look)(void *arg);
	/* The connection has ended: forget what waits. Before that is reported. NULL: nothing to do. */
	void (*ended)(void *arg);
};

struct tcp_link {
	const struct tcp_link_ops *ops; /* these and the address: set before tcp_link_open() */
	void *arg;
	long connect_ms, stall_ms;

	struct tcp_address address;

	pthread_t thread;
	bool running; /* there is a thread to be joined */
	_Atomic int status;
	_Atomic bool stop, alive; /* alive: the thread runs */
	int wake;                 /* eventfd: stop, or something waits to be sent */

	pthread_mutex_t wire; /* who writes; guards fd, and orders what is sent */
	int fd;               /* -1: none */
	uint8_t *piece;       /* of what is said, on its way out */

	pthread_mutex_t lock;             /* guards what follows */
	uint8_t *said;                    /* to this connection: frames; kept, to say none twice */
	size_t n_said, n_sent, said_room; /* bytes; n_sent: of them so far */
	size_t *ends;                     /* where each frame ends in said */
	size_t n_ends, ends_room;
	char why[160]; /* the connection has to end; "": it has not */
};

int tcp_link_init(struct tcp_link *l);
void tcp_link_finish(struct tcp_link *l); /* closes and joins */

/* Begin to connect to l->address, on a thread of its own, when an earlier one was joined; end without waiting; wait. */
int tcp_link_open(struct tcp_link *l);
void tcp_link_close(struct tcp_link *l);
void tcp_link_join(struct tcp_link *l);
bool tcp_link_alive(const struct tcp_link *l); /* false: join() does not wait */
/* Something waits for `turn`. Thread: any. */
void tcp_link_wake(struct tcp_link *l);

/*
 * Say what this connection has not heard, in that order and without anything between: sent soon, before what is sent after it. Thread:
 * any. -ENOSPC more than a MiB was said, -ENOMEM.
 */
int tcp_link_say(struct tcp_link *l, const struct iovec *frames, unsigned n);
/* The same of one AddReader or AddWriter. -ENAMETOOLONG. */
int tcp_link_say_add(struct tcp_link *l, uint8_t op, const char *topic, const char *type);

/*
 * Send a message: iov[0] is left free for its head. 0; -ENOTCONN; -EMSGSIZE; -ETIMEDOUT the peer took nothing for stall_ms, and the
 * connection ends; or the socket's. Changes iov. Thread: any.
 */
int tcp_link_send(struct tcp_link *l, const char *topic, size_t total, struct iovec *iov, unsigned n);

/*
 * From turn(): what is to be said, as far as the socket takes it: 1 all, 0 not yet. And some bytes: how many; 0: none just now. A
 * connection that fails ends, with its errno.
 */
int tcp_link_send_said(struct tcp_link *l);
ssize_t tcp_link_some(struct tcp_link *l, const struct iovec *iov, unsigned n);

#endif
