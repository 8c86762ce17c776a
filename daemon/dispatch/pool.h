/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatch thread pool: as many threads as are needed, and no more, run a number of event loops (exec.h); each loop
 * is run by one thread at a time. A ready loop waits in the pool's epoll for the next free thread; one thread runs all
 * loops while that suffices. If a ready loop has waited for longer than the backlog, another thread is woken: by a
 * thread between two turns, or, if all threads are inside long turns, by a tick of the owner's loop, which is armed
 * only under load. A thread without work for the idle time sleeps again. A single loop is run directly by one thread.
 *
 * Thread: the owner's; pool_awake(): any.
 */
#ifndef DISPATCH_POOL_H
#define DISPATCH_POOL_H

#include <stdint.h>

#include "exec.h"

#define POOL_EXECS_MAX   64
#define POOL_THREADS_MAX 64

struct pool;

struct pool_options {
	struct exec *const *execs; /* n of them, borrowed until destroy; the array is copied */
	unsigned n;                /* 1 .. POOL_EXECS_MAX */
	unsigned threads;          /* at most; 1 .. POOL_THREADS_MAX */
	int64_t backlog_dur_ns, idle_dur_ns;
	struct exec *owner;       /* borrowed until destroy; its thread calls these functions */
	void (*begin)(void *arg); /* called first on each thread; NULL: none */
	void *arg;
};

/*
 * The threads are named simd-work.0 and so on. -EINVAL, -ENOMEM, -EAGAIN and others of the system, with err_why() set.
 */
int pool_create(const struct pool_options *o, struct pool **ret);
/* Ends the threads, without waiting for work that their loops still have. NULL is fine. */
void pool_destroy(struct pool *p);
/* Threads that do not sleep for lack of work. NULL: 1. */
unsigned pool_awake(const struct pool *p);

#endif
