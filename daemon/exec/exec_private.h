/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What exec_threads.c and exec_sim.c share: the timer heap and the post queue (exec.c), and the table
 * through which the contract reaches the one or the other. Nobody else includes this.
 */
#ifndef EXEC_INT_H
#define EXEC_INT_H

#include "exec.h"

#include <pthread.h>
#include <stdatomic.h>

struct exec_ops {
	int64_t (*now)(struct exec *x);
	uint64_t (*random)(struct exec *x);
	uint64_t (*tie)(struct exec *x); /* exec_timer.order of a timer that is being armed */
	void (*spin)(struct exec *x, int64_t dur_ns);
	void (*wake)(struct exec *x); /* any thread, signal handlers: the loop must look again */
	int (*io_add)(struct exec *x, struct exec_io *io);
	int (*io_mod)(struct exec *x, struct exec_io *io, uint32_t events);
	void (*io_del)(struct exec *x, struct exec_io *io);
	int (*run)(struct exec *x);
	void (*destroy)(struct exec *x);
	bool is_virtual;
};

struct exec_post_item {
	struct exec_post_item *next;
	exec_fn fn;
	void *arg;
};

struct exec {
	const struct exec_ops *ops;
	struct exec_timer *timers; /* root of the heap: the one that is due first */
	atomic_bool quit;
	pthread_mutex_t lock;              /* a leaf: nothing is called while it is held */
	struct exec_post_item *post_first; /* guarded by lock */
	struct exec_post_item **post_end;  /* guarded by lock */
};

int exec_init(struct exec *x, const struct exec_ops *ops);
void exec_finish(struct exec *x); /* drops posts that have not run; tolerates a half-built one */

/* The earliest timer, NULL if none is armed. */
static inline struct exec_timer *exec_timer_first(struct exec *x)
{
	return x->timers;
}
/* Disarm it and run its callback. */
void exec_timer_fire(struct exec_timer *t);

bool exec_post_waiting(struct exec *x);
/* Run the oldest post; false: there was none. */
bool exec_post_one(struct exec *x);
/* Run what is queued now (not what is queued meanwhile); returns how many ran. */
int exec_post_batch(struct exec *x);

#endif
