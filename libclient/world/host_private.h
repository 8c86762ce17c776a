/* SPDX-License-Identifier: Apache-2.0 */
/* What host.c, host_loop.c and host_api.c share. */
#ifndef WORLD_HOST_PRIVATE_H
#define WORLD_HOST_PRIVATE_H

#include <pthread.h>

#include <sim/world.h>

#include "dial.h"
#include "side.h"

struct sim_world {
	pthread_mutex_t lock; /* over all below; not held in callbacks */
	pthread_cond_t news;  /* news, state */
	struct sim_world_events events;
	void *user;
	unsigned flags, history;
	int64_t guess_dur_ns;
	enum sim_world_role role;
	struct side *side;
	struct dial_address address;
	int fd;                          /* of the connection; -1: none */
	int epoll_fd, wake_fd, timer_fd; /* timer: when it is tried again */
	bool dialling, blocked;          /* EPOLLOUT is waited for: to be connected, for room */
	int64_t backoff_dur_ns;
	pthread_t thread, caller; /* caller: in a callback, while calling */
	bool has_thread, stop, calling;
	bool inside;                    /* somebody takes a turn */
	bool waits;                     /* the program does */
	uint64_t at_tick;               /* the one that it knows of: which a wait has returned, or a callback told */
	bool news_tick;                 /* a tick that no wait has returned */
	uint64_t done_world, done_tick; /* the last Done */
	enum sim_world_state state;
	int error;                  /* why it is not connected */
	struct sim_world_info info; /* counters and why */
};

/* ---- host_loop.c: with the lock held, unless said ---- */

/* Reads, tells, writes, connects again: what can be done now. Lets go of the lock for callbacks. Returns how many ticks came. */
int host_turn(struct sim_world *w);
/* What waits goes out, as far as it does. */
void host_flush(struct sim_world *w);
/* A connection is begun. */
void host_dial(struct sim_world *w);
bool host_in_callback(const struct sim_world *w);
/* Of an object as a callback or a caller gets it. */
void host_object(const struct sim_world *w, const struct remote *r, const struct motion_real *m, enum remote_how how,
		 struct sim_world_object *ret);
void host_tick(const struct side_tick *t, struct sim_world_tick *ret);

#endif
