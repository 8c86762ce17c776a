/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: a host, what hangs off it, and who may do what.
 *
 * Locks, in the order in which they may be taken together:
 *   host::turn      recursive; simulation alone: who delivers, runs callbacks or moves time holds it
 *   host::lock      the lists of nodes, channels and timers
 *   host_channel::setup  readers come and go
 *   host_channel::lock   who gets what comes on a channel, the order in which it comes, and what its readers hold
 *   those of a fusion, of a group of the scheduler: leaves
 * No callback runs with any but host::turn held. No lock is shared with another process.
 */
#ifndef COMPONENT_HOST_H
#define COMPONENT_HOST_H

#include <pthread.h>
#include <stdatomic.h>

#include <sim/node.h>
#include <sim/clock.h>
#include <sim/step.h>

#include "channel_name.h"
#include "list.h"
#include "scheduler.h"

#define TASK_NAME_MAX (NODE_NAME_MAX + 1 + SIM_CHANNEL_MAX)
#define DEPTH_MAX     256u

struct sim_host {
	struct sim_client *client; /* NULL: offline */
	bool own_client;           /* connected here */
	char name[41];             /* of the client; "": it was given */
	enum sim_run_mode mode;
	uint32_t rank;
	struct sched *sched; /* reality */
	char *notes;         /* simulation: of the configuration that is not used there */
	pthread_mutex_t lock;
	struct list nodes;    /* sim_node::link */
	struct list channels; /* host_channel::link, in the order in which they came */
	struct list timers;   /* sim_node_timer::link, by place */
	struct list places;   /* place::link (place.c) */
	uint32_t n_places;
	uint64_t last_place;
	int failed; /* negative errno: it cannot go on; guarded by lock, as failure */
	char failure[400];
	_Atomic bool started;
	_Atomic uint32_t stop; /* futex: 1, callbacks are to end */
	pthread_mutex_t turn;
	/* simulation, guarded by turn */
	struct sim_step *step;
	uint32_t clock_generation;
	struct turn_messages *taken; /* simulate.c */
	_Atomic int64_t now_sim_ns;  /* of the turn, or as it was advanced offline */
};

struct sim_node {
	struct list link; /* sim_host::nodes */
	struct sim_host *h;
	char name[NODE_NAME_MAX + 1];
	const char *class_name; /* of the component that it belongs to; NULL: none */
	struct sim_component *component;
	struct list readers;          /* sim_node_reader::link; guarded by host::lock */
	struct list writers;          /* sim_node_writer::link; likewise */
	uint32_t n_timers;            /* made so far, for their names; likewise */
	struct node_service *service; /* NULL: offline */
};

static inline bool host_simulates(const struct sim_host *h)
{
	return h->mode == SIM_RUN_SIMULATION;
}

/* In simulation: nobody else delivers, runs callbacks or moves time until leave. */
static inline void host_enter(struct sim_host *h)
{
	if (host_simulates(h))
		pthread_mutex_lock(&h->turn);
}

static inline void host_leave(struct sim_host *h)
{
	if (host_simulates(h))
		pthread_mutex_unlock(&h->turn);
}

/* Threads receive: it is in reality, and has been started. */
static inline bool host_receives(struct sim_host *h)
{
	return !host_simulates(h) && atomic_load(&h->started);
}

/* It cannot go on, for err_why(): sim_host_run() returns r. The first failure counts. Any thread. */
void host_fail(struct sim_host *h, int r);

/* ---- simulate.c: turns of lock-step ---- */

int simulate_start(struct sim_host *h); /* joins; refuses a wall source that runs */
int simulate_run(struct sim_host *h);
void simulate_finish(struct sim_host *h);

/* ---- node_timer.c ---- */

/* The first of the host's timers that is due by then; NULL: none. *ret_due_sim_ns. Inside turn. */
struct sim_node_timer *node_timer_due(struct sim_host *h, int64_t until_sim_ns, int64_t *ret_due_sim_ns);
/* Run it; it is due again behind now_sim_ns. Inside turn. */
void node_timer_fire(struct sim_node_timer *t, int64_t now_sim_ns);
/* The host starts: each is due one period from now. Inside turn. */
void node_timer_restart(struct sim_host *h, int64_t now_sim_ns);
/* Time has jumped. Inside turn. */
void node_timer_jump(struct sim_host *h, int64_t now_sim_ns);

#endif
