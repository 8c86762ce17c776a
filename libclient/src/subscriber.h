/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: a subscriber, its port in the present generation of the data plane, and older ports with slots still held.
 */
#ifndef SRC_SUBSCRIBER_H
#define SRC_SUBSCRIBER_H

#include <sim/subscriber.h>

#include "client.h"
#include "attachment.h"
#include "messages.h"
#include "session.h"

#define SUB_SEEN 64u /* publishers of a shard whose sequence numbers are followed at a time; a power of two */

/*
 * Reference-counted: by the subscriber, by the helper thread while it waits on it, and by recovery while it wakes
 * waiters.
 */
struct sub_port {
	struct list link; /* sim_subscriber::old */
	_Atomic uint32_t refs;
	struct attachment *att; /* referenced */
	struct ipc_sub *sub;
	uint32_t depth;
	_Atomic(struct ipc_waiter *) waiter; /* NULL: created when the subscriber's thread first waits */
	/* sub is attached to waiter: only once a thread waits, as each message then posts the waiter */
	bool attached;
	uint32_t held;    /* slots held; written by the subscriber's thread */
	bool renews;      /* it replaces one of the same attachment, of which no message may be lost */
	uint32_t repeats; /* messages of the replaced port that may come again; written by the subscriber's thread */
};

/* The descriptor to poll: a thread turns wake-ups of the data plane into an eventfd. */
struct sub_fd {
	int fd;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	/* guarded by lock */
	bool armed; /* the descriptor is not readable; the thread must wait */
	bool stop;
	struct sub_port *port; /* referenced */
};

struct sim_subscriber {
	struct handle h;
	_Atomic(struct sub_port *) next; /* posted by recovery */
	_Atomic uint32_t bell;           /* futex: incremented with next, and when the client has failed */
	_Atomic bool cancelled;          /* the wait that is under way, or the next one, must end */
	uint64_t session_serial;         /* session::serial that it is registered with; under setup */
	/* the same, once `name` belongs to that session too; guarded by client::lock */
	uint64_t counted_serial;
	_Atomic int error;       /* registering again failed; 0: it did not */
	char refused[WHY_MAX];   /* the reason of error; guarded by client::lock */
	struct sub_port *newest; /* next or port, whichever is newer; under setup */
	struct sub_port *port;
	struct sub_port *before; /* replaced by port: its messages come first. NULL: none */
	_Atomic bool draining;   /* before is set */
	uint32_t n_before;       /* messages that before may still hold */
	struct list old;         /* sub_port::link */
	_Atomic uint32_t n_old;  /* length of old */
	/* under setup */
	/* must ask simd for the queue's depth, or report it; set by the thread that reads its events */
	_Atomic bool depth_due;
	int64_t depth_mono_ns;  /* when to ask */
	unsigned n_looks;       /* checks since the last request whether it can ask */
	_Atomic bool renew_due; /* simd wants the port replaced; set by the thread that reads its events */
	struct sub_port *fresh; /* replaces port once it is connected. NULL: none */
	bool fresh_connected;   /* at the last check */
	int64_t renew_mono_ns;  /* time of the next check */
	struct sim_client *c;
	const struct sim_type *type; /* referenced; NULL: any */
	uint32_t wanted;             /* queue depth that was asked for */
	_Atomic uint32_t depth;      /* queue depth that it has */
	unsigned flags;
	int64_t spin_dur_ns;
	struct messages messages;
	struct message *peeked; /* taken by a wait, returned by the next take */
	struct sim_subscriber_stats stats;
	struct {
		uint32_t publisher_id;
		uint64_t sequence;
	} seen[SUB_SEEN];
	struct sub_fd *fd;                 /* SIM_SUB_FD */
	_Atomic uint32_t id;               /* simd's, 0: none */
	struct list link;                  /* client::subs */
	char channel[SIM_CHANNEL_MAX + 1]; /* as the program gave it */
	char name[SIM_CHANNEL_MAX + 1];    /* full name; of the newest port; changed under client::lock too */
};

void sub_port_unref(struct sub_port *p); /* NULL is fine */

/* Enters, after adopting a new port. As handle_enter(). */
int subscriber_enter(struct sim_subscriber *s);
void subscriber_attend(struct sim_subscriber *s) __attribute__((cold));
/* Takes the oldest valid message into `peeked`, unless there is one. 0, -EAGAIN, -ENOBUFS, -ESTALE, -ENOMEM. Inside. */
int subscriber_fill(struct sim_subscriber *s);
/* The sentence for a failed take: r, or why registering again after a restart failed. */
int subscriber_error(const struct sim_subscriber *s, int r);

/* ---- sub_wait.c ---- */

int sub_fd_start(struct sim_subscriber *s);
void sub_fd_stop(struct sim_subscriber *s);
void sub_fd_port(struct sim_subscriber *s);  /* s->port has changed */
void sub_fd_rearm(struct sim_subscriber *s); /* all messages have been taken */

/* ---- for recovery; under setup ---- */

/*
 * Announces it to simd (once a session), and creates and posts a port if the attachment or the channel's full name is
 * new.
 */
int subscriber_register(struct sim_subscriber *s, struct session *ses, struct attachment *l);
void subscriber_ring(struct sim_subscriber *s);
/*
 * How many of the subscriptions that simd counts for that channel, by its full name, are this client's.
 * client::subs_seq changes with it.
 */
uint32_t subscribers_own(struct sim_client *c, const struct session *ses, const char *name);
/*
 * Replaces a port whose queue may be damaged, or must get another depth, if simd has asked for that. l: the present
 * attachment, NULL: none. Returns when to call again, INT64_MAX: not needed.
 */
int64_t subscriber_renew(struct sim_subscriber *s, struct session *ses, struct attachment *l);
/* The replaced port has no more messages. Inside. */
void subscriber_drained(struct sim_subscriber *s);
bool subscriber_settle(struct sim_subscriber *s); /* as publisher_settle() */

#endif
