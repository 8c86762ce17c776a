/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What exec_threads.c and exec_sim.c share: the timers and the post queue (exec.c), and the table
 * through which the contract reaches the one or the other. Nobody else includes this.
 */
#ifndef EXEC_INT_H
#define EXEC_INT_H

#include "exec.h"

#include <stdatomic.h>

#include "list.h"

struct exec_ops {
	int64_t (*now)(struct exec *x);
	uint64_t (*tie)(struct exec *x); /* exec_timer.due.order of a timer that is being armed */
	void (*spin)(struct exec *x, int64_t dur_ns);
	void (*wake)(struct exec *x); /* any thread, signal handlers: the loop must look again */
	int (*io_add)(struct exec *x, struct exec_io *io);
	int (*io_mod)(struct exec *x, struct exec_io *io, uint32_t events);
	void (*io_del)(struct exec *x, struct exec_io *io);
	int (*run)(struct exec *x);
	int (*turn)(struct exec *x, int64_t *ret_due_mono_ns);
	int (*fd)(const struct exec *x);
	bool (*is_mine)(struct exec *x); /* this thread is the exec's */
	void (*destroy)(struct exec *x);
	bool is_virtual;
};

struct exec {
	const struct exec_ops *ops;
	struct due_queue timers;
	atomic_bool quit;
	struct inbox posted;
	struct inbox_item *posts; /* taken from there, oldest first; the exec's thread only */
};

/* The earliest timer, NULL if none is armed. */
static inline struct exec_timer *exec_timer_first(struct exec *x)
{
	return x->timers.first ? container_of(x->timers.first, struct exec_timer, due) : NULL;
}
/* Disarm it and run its callback. */
void exec_timer_fire(struct exec_timer *t);

bool exec_post_waiting(struct exec *x);
/* Run the oldest post, if there is one. */
void exec_post_one(struct exec *x);
/* Run what waits now, not what is posted meanwhile. */
void exec_post_batch(struct exec *x);

#endif
