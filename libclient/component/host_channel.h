/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: what a host knows of a channel. It receives once for the whole process (an intake), whatever the number of readers, and
 * hands each message to all of them, in one order.
 */
#ifndef COMPONENT_HOST_CHANNEL_H
#define COMPONENT_HOST_CHANNEL_H

#include "host.h"
#include "msg.h"

struct intake;
struct sim_node_writer;

/* Who gets what comes: a reader. */
struct sink {
	struct list link; /* host_channel::sinks */
	uint64_t place;   /* place.h: their order */
	const char *node; /* whose it is */
	/* Takes m. Under host_channel::lock, or in simulation inside the host's turn, without it: it may run callbacks. */
	void (*put)(struct sink *s, struct msg *m, int64_t now_sim_ns);
	uint32_t depth; /* messages that it may keep hold of */
	bool latched;
};

struct host_channel {
	struct list link; /* sim_host::channels */
	struct sim_host *h;
	const struct sim_type *type; /* as its first reader or writer has it, referenced; NULL: any so far */
	uint32_t refs;               /* guarded by host::lock */
	pthread_mutex_t setup;       /* before lock: readers come and go; held while simd is asked */
	pthread_mutex_t lock;        /* also of what its readers hold */
	struct list sinks;           /* guarded by lock */
	struct list writers;         /* sim_node_writer::on_channel; guarded by lock */
	struct intake *intake;       /* NULL: no reader, or offline; changed under setup and lock */
	bool delivering;             /* simulation: its callbacks run; guarded by host::turn */
	struct list *next;           /* ... and then this sink's, or sinks; guarded by host::turn */
	_Atomic uint32_t n_sinks;
	char name[SIM_CHANNEL_MAX + 1]; /* full */
};

/* Find or make; referenced. -EINVAL the name; -EMEDIUMTYPE it has another type in this host; -ENOMEM. */
int host_channel_get(struct sim_host *h, const char *name, const struct sim_type *type, struct host_channel **ret);
void host_channel_ref(struct host_channel *ch);
void host_channel_unref(struct host_channel *ch); /* NULL is fine */

/* Deliver to s from now on; the first one subscribes. As sim_subscribe(). */
int host_channel_add(struct host_channel *ch, struct sink *s);
/* s gets nothing more when this returns. */
void host_channel_remove(struct host_channel *ch, struct sink *s);

/* Nothing will ever come again, for err_why(): r, with a sentence that names the readers. */
int host_channel_deaf(struct host_channel *ch, int r);

/* Reality: the host has started. */
int host_channel_start(struct host_channel *ch);

/* Hand m, which has come at now_sim_ns, to all readers. Takes it. -EDEADLK simulation: it is being delivered to already. */
int host_channel_deliver(struct host_channel *ch, struct msg *m, int64_t now_sim_ns);

uint64_t host_channel_lost(struct host_channel *ch); /* gaps in what came through shared memory */

/* ---- intake.c: one subscriber, and in reality its thread ---- */

int intake_create(struct host_channel *ch, uint32_t depth, bool latched, struct intake **ret);
void intake_destroy(struct intake *in); /* NULL is fine; messages that are still referred to live on */
int intake_start(struct intake *in);    /* reality: receive from now on; may be called twice */
/* Simulation: the next message, referenced; -EAGAIN none. Messages of this host's own writers are left out. */
int intake_take(struct intake *in, struct msg **ret);
uint64_t intake_lost(const struct intake *in);

#endif
