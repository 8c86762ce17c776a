/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What exec_threads.c and exec_sim.c share: the timers and the post queue (exec.c), and the table of functions by which
 * exec.h calls one or the other. Private to exec*.c.
 */
#ifndef EXEC_INT_H
#define EXEC_INT_H

#include "exec.h"

#include <stdatomic.h>

#include "list.h"

struct exec_ops {
	int64_t (*now)(struct exec *x);
	uint64_t (*tie)(struct exec *x); /* value for exec_timer.due.order when a timer is armed */
	void (*spin)(struct exec *x, int64_t dur_ns);
	void (*wake)(struct exec *x); /* any thread, signal handlers: makes the loop check for work again */
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
	struct inbox_item *posts; /* removed from the inbox, oldest first; the exec's thread only */
};

/* Returns the earliest timer, NULL if none is armed. */
static inline struct exec_timer *exec_timer_first(struct exec *x)
{
	return x->timers.first ? container_of(x->timers.first, struct exec_timer, due) : NULL;
}
/* Disarms the timer and runs its callback. */
void exec_timer_fire(struct exec_timer *t);

bool exec_post_waiting(struct exec *x);
/* Runs the oldest post, if there is one. */
void exec_post_one(struct exec *x);
/* Runs the posts that are pending now, but not those added meanwhile. */
void exec_post_batch(struct exec *x);

#endif
