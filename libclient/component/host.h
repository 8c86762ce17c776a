/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: a host, the objects that belong to it, and which lock guards what.
 *
 * Locks, in the order in which they may be taken together:
 *   host::turn           recursive; only in simulation: held by the thread that delivers, runs callbacks or moves time
 *   host::lock           the lists of nodes, channels and timers
 *   host_channel::setup  creating and destroying readers
 *   host_channel::lock   a channel's readers, the order of its messages, and what the readers hold
 *   locks of a fusion, of a group of the scheduler: leaves
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
	bool own_client;           /* the host has connected it */
	char name[41];             /* the client's name; "": the client was given */
	enum sim_run_mode mode;
	uint32_t rank;
	struct sched *sched; /* reality */
	char *notes;         /* simulation: the parts of the configuration that do not apply */
	pthread_mutex_t lock;
	struct list nodes;    /* sim_node::link */
	struct list channels; /* host_channel::link, in the order of creation */
	struct list timers;   /* sim_node_timer::link, by place */
	struct list places;   /* place::link (place.c) */
	uint32_t n_places;
	uint64_t last_place;
	int failed; /* negative errno: the host cannot go on; guarded by lock, as is failure */
	char failure[400];
	_Atomic bool started;
	_Atomic uint32_t stop; /* futex; 1: callbacks are to end */
	pthread_mutex_t turn;
	/* simulation, guarded by turn */
	struct sim_step *step;
	uint32_t clock_generation;
	struct turn_messages *taken; /* simulate.c */
	_Atomic int64_t now_sim_ns;  /* the turn's time, or that of sim_host_advance() */
};

struct sim_node {
	struct list link; /* sim_host::nodes */
	struct sim_host *h;
	char name[NODE_NAME_MAX + 1];
	const char *class_name; /* its component's class; NULL: not of a component */
	struct sim_component *component;
	struct list readers;          /* sim_node_reader::link; guarded by host::lock */
	struct list writers;          /* sim_node_writer::link; likewise */
	uint32_t n_timers;            /* timers made so far, for generated names; likewise */
	struct node_service *service; /* NULL: offline */
};

static inline bool host_simulates(const struct sim_host *h)
{
	return h->mode == SIM_RUN_SIMULATION;
}

/* In simulation no other thread delivers, runs callbacks or moves time until host_leave(). */
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

/* Whether threads receive: in reality, once the host has started. */
static inline bool host_receives(struct sim_host *h)
{
	return !host_simulates(h) && atomic_load(&h->started);
}

/*
 * Records that the host cannot go on, with err_why(): sim_host_run() returns r. The first failure is kept. Any thread.
 */
void host_fail(struct sim_host *h, int r);

/* ---- simulate.c: turns of lock-step ---- */

int simulate_start(struct sim_host *h); /* joins; refuses a running wall-driven source */
int simulate_run(struct sim_host *h);
void simulate_finish(struct sim_host *h);

/* ---- node_timer.c ---- */

/* The first of the host's timers that is due by until_sim_ns; NULL: none. Inside turn. */
struct sim_node_timer *node_timer_due(struct sim_host *h, int64_t until_sim_ns, int64_t *ret_due_sim_ns);
/* Runs it; it is due again after now_sim_ns. Inside turn. */
void node_timer_fire(struct sim_node_timer *t, int64_t now_sim_ns);
/* At the host's start: each timer is due one period from now. Inside turn. */
void node_timer_restart(struct sim_host *h, int64_t now_sim_ns);
/* Time has jumped. Inside turn. */
void node_timer_jump(struct sim_host *h, int64_t now_sim_ns);

#endif
