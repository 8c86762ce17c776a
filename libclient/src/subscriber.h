/* SPDX-License-Identifier: Apache-2.0 */
/* Private: a subscriber, its port in the present generation of the data plane, and older ports of which slots are still held. */
#ifndef SRC_SUBSCRIBER_H
#define SRC_SUBSCRIBER_H

#include <sim/subscriber.h>

#include "client.h"
#include "attachment.h"
#include "messages.h"
#include "session.h"

#define SUB_SEEN 64u /* publishers of a shard whose sequence numbers are followed at once; a power of two */

/* Counted: by the subscriber, by the helper thread while it waits on it, and by recovery while it wakes who waits. */
struct sub_port {
	struct list link; /* sim_subscriber::old */
	_Atomic uint32_t refs;
	struct attachment *att; /* referenced */
	struct ipc_sub *sub;
	uint32_t depth;
	_Atomic(struct ipc_waiter *) waiter; /* NULL: made by the subscriber's thread when it first waits */
	bool attached;    /* sub belongs to waiter: only once somebody waits, as each message then posts it */
	uint32_t held;    /* by the subscriber's thread */
	bool renews;      /* it takes over from one of the same attachment, of which nothing may be lost */
	uint32_t repeats; /* messages that it may repeat of that one; by the subscriber's thread */
};

/* The descriptor to poll: a thread turns wake-ups of the data plane into an eventfd. */
struct sub_fd {
	int fd;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	/* guarded by lock */
	bool armed; /* the descriptor is not readable; the thread is to wait */
	bool stop;
	struct sub_port *port; /* referenced */
};

struct sim_subscriber {
	struct handle h;
	_Atomic(struct sub_port *) next; /* posted by recovery */
	_Atomic uint32_t bell;           /* futex: bumped with it, and when the client has failed */
	_Atomic bool cancelled;          /* the wait that is under way, or the next one, is to end */
	uint64_t session_serial;         /* session that knows it; under setup */
	uint64_t counted_serial;         /* the same, once `name` is of that session too; guarded by client::lock */
	_Atomic int error;               /* it could not be registered again; 0: fine */
	char refused[WHY_MAX];           /* why, if it could not; guarded by client::lock */
	struct sub_port *newest;         /* next or port, whichever is newer; under setup */
	struct sub_port *port;
	struct sub_port *before; /* renewed by port: what lies in it comes first. NULL: nothing */
	_Atomic bool draining;   /* there is one */
	uint32_t n_before;       /* no more than so many messages */
	struct list old;         /* sub_port::link */
	_Atomic uint32_t n_old;  /* how many */
	/* under setup */
	_Atomic bool
		depth_due; /* simd is to be asked how deep its queue is to be, or told; by whoever reads its events */
	int64_t depth_mono_ns;  /* when to ask */
	unsigned n_looks;       /* whether it can be asked, since it was last */
	_Atomic bool renew_due; /* simd has asked for it; by whoever reads its events */
	struct sub_port *fresh; /* takes over when it is connected. NULL: none */
	bool fresh_connected;   /* ... as it was found to be */
	int64_t renew_mono_ns;  /* when to look again */
	struct sim_client *c;
	const struct sim_type *type; /* referenced; NULL: any */
	uint32_t wanted;             /* messages that its queue is to hold */
	_Atomic uint32_t depth;      /* that it holds */
	unsigned flags;
	int64_t spin_dur_ns;
	struct messages messages;
	struct message *peeked; /* taken by a wait, handed out by the next take */
	struct sim_subscriber_stats stats;
	struct {
		uint32_t publisher_id;
		uint64_t sequence;
	} seen[SUB_SEEN];
	struct sub_fd *fd;                 /* SIM_SUB_FD */
	_Atomic uint32_t id;               /* simd's, 0: none */
	struct list link;                  /* client::subs */
	char channel[SIM_CHANNEL_MAX + 1]; /* as asked for */
	char name[SIM_CHANNEL_MAX + 1];    /* full; of the newest port; changed under client::lock too */
};

void sub_port_unref(struct sub_port *p); /* NULL is fine */

/* In, after adopting a new port. As handle_enter(). */
int subscriber_enter(struct sim_subscriber *s);
void subscriber_attend(struct sim_subscriber *s) __attribute__((cold));
/* Take the oldest valid message into `peeked`, unless one is there. 0, -EAGAIN, -ENOBUFS, -ESTALE, -ENOMEM. Inside. */
int subscriber_fill(struct sim_subscriber *s);
/* The sentence for a failed take: r, or why the subscriber did not come back after a restart. */
int subscriber_error(const struct sim_subscriber *s, int r);

/* ---- sub_wait.c ---- */

int sub_fd_start(struct sim_subscriber *s);
void sub_fd_stop(struct sim_subscriber *s);
void sub_fd_port(struct sim_subscriber *s);  /* s->port has changed */
void sub_fd_rearm(struct sim_subscriber *s); /* everything has been taken */

/* ---- for recovery; under setup ---- */

/* Announce it to simd (once a session), and make a port if the attachment or the channel's full name is new; it is posted. */
int subscriber_register(struct sim_subscriber *s, struct session *ses, struct attachment *l);
void subscriber_ring(struct sim_subscriber *s);
/* How many of those that simd counts for that channel, by its full name, are this client's. client::subs_seq moves with it. */
uint32_t subscribers_own(struct sim_client *c, const struct session *ses, const char *name);
/*
 * Another port in place of one whose queue may be damaged, or is to have another depth, where simd has asked for that. l: the present
 * attachment, NULL: none.
 * Returns when to come again, INT64_MAX: not needed.
 */
int64_t subscriber_renew(struct sim_subscriber *s, struct session *ses, struct attachment *l);
/* Its old port has no more messages. Inside. */
void subscriber_drained(struct sim_subscriber *s);
bool subscriber_settle(struct sim_subscriber *s); /* as publisher_settle() */

#endif
