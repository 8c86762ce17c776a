/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatch thread pool: as many threads as are needed, and no more, serve a number of event loops (exec.h), of which
 * each is served by one thread at a time. A loop that is ready waits in the pool's epoll for whoever comes; one thread serves
 * all while that suffices. Where a ready loop has waited for longer than the backlog, another thread is woken: by a thread
 * between two turns, or, should all be inside long ones, by a tick of the owner's loop, which is armed only under load. A
 * thread that finds nothing to do for the idle time sleeps again. A single loop is run as it is, by one thread.
 *
 * Thread: the owner's, but for pool_awake() (any).
 */
#ifndef DISPATCH_POOL_H
#define DISPATCH_POOL_H

#include <stdint.h>

#include "exec.h"

#define POOL_EXECS_MAX   64
#define POOL_THREADS_MAX 64

struct pool;

struct pool_options {
	struct exec *const *execs; /* n of them, keeps until destroy; the array is copied */
	unsigned n;                /* 1 .. POOL_EXECS_MAX */
	unsigned threads;          /* at most; 1 .. POOL_THREADS_MAX */
	int64_t backlog_dur_ns, idle_dur_ns;
	struct exec *owner;       /* keeps until destroy; whose thread calls */
	void (*begin)(void *arg); /* on each thread, first; NULL: nothing */
	void *arg;
};

/* The threads are called simd-work.0 and so on. -EINVAL, -ENOMEM, -EAGAIN and others of the system, with a sentence. */
int pool_create(const struct pool_options *o, struct pool **ret);
/* Ends the threads, in the middle of whatever their loops still had to do. NULL is fine. */
void pool_destroy(struct pool *p);
/* Threads that are not asleep for want of work. NULL: 1. */
unsigned pool_awake(const struct pool *p);

#endif
