/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: a channel as a host sees it. The host receives it once for the whole process (an intake), whatever the
 * number of readers, and hands each message to all of them, in one order.
 */
#ifndef COMPONENT_HOST_CHANNEL_H
#define COMPONENT_HOST_CHANNEL_H

#include "host.h"
#include "msg.h"

struct intake;
struct sim_node_writer;

/* A reader, as a receiver of messages. */
struct sink {
	struct list link; /* host_channel::sinks */
	uint64_t place;   /* its place in the order, see place.h */
	const char *node; /* the node that it belongs to */
	/*
	 * Takes m. Called under host_channel::lock; in simulation inside the host's turn without that lock, as it may
	 * run callbacks.
	 */
	void (*put)(struct sink *s, struct msg *m, int64_t now_sim_ns);
	uint32_t depth; /* messages that it may hold */
	bool latched;
};

struct host_channel {
	struct list link; /* sim_host::channels */
	struct sim_host *h;
	const struct sim_type *type; /* the type of its first reader or writer, referenced; NULL: any so far */
	uint32_t refs;               /* guarded by host::lock */
	/* taken before lock: readers are created and destroyed; held while simd is asked */
	pthread_mutex_t setup;
	pthread_mutex_t lock;  /* also guards what its readers hold */
	struct list sinks;     /* guarded by lock */
	struct list writers;   /* sim_node_writer::on_channel; guarded by lock */
	struct intake *intake; /* NULL: no reader, or offline; changed under setup and lock */
	bool delivering;       /* simulation: callbacks are running; guarded by host::turn */
	struct list *next;     /* the next sink to deliver to, or sinks; guarded by host::turn */
	_Atomic uint32_t n_sinks;
	char name[SIM_CHANNEL_MAX + 1]; /* full name */
};

/* Finds or makes a channel; referenced. -EINVAL the name; -EMEDIUMTYPE it has another type in this host; -ENOMEM. */
int host_channel_get(struct sim_host *h, const char *name, const struct sim_type *type, struct host_channel **ret);
void host_channel_ref(struct host_channel *ch);
void host_channel_unref(struct host_channel *ch); /* NULL is fine */

/* Delivers to s from now on; the first one subscribes. Errors as sim_subscribe(). */
int host_channel_add(struct host_channel *ch, struct sink *s);
/* s gets no more messages when this returns. */
void host_channel_remove(struct host_channel *ch, struct sink *s);

/* Reports that no message will come any more, for err_why(): returns r, with a sentence that names the readers. */
int host_channel_deaf(struct host_channel *ch, int r);

/* Reality: starts to receive when the host starts. */
int host_channel_start(struct host_channel *ch);

/*
 * Hands m, which arrived at now_sim_ns, to all readers. Takes it. -EDEADLK simulation: the channel is already being
 * delivered to.
 */
int host_channel_deliver(struct host_channel *ch, struct msg *m, int64_t now_sim_ns);

uint64_t host_channel_lost(struct host_channel *ch); /* messages lost in shared memory, by gaps in sequences */

/* ---- intake.c: one subscriber, and in reality its thread ---- */

int intake_create(struct host_channel *ch, uint32_t depth, bool latched, struct intake **ret);
void intake_destroy(struct intake *in); /* NULL is fine; messages with references stay valid */
int intake_start(struct intake *in);    /* reality: receive from now on; may be called twice */
/* Simulation: takes the next message, referenced; -EAGAIN none. Skips messages of this host's own writers. */
int intake_take(struct intake *in, struct msg **ret);
uint64_t intake_lost(const struct intake *in);

#endif
