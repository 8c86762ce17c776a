/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small pool of threads that run short tasks. One list under one mutex; a thread takes up to POOL_BATCH tasks at
 * once, and at most one wake-up is on its way at any time: the thread that takes a batch and leaves some behind
 * wakes, or starts, the next. A system call per task, which is what makes lock-free queues lose, is so avoided.
 *
 * Tasks must not block: a pushed task waits for a thread that has been woken, or for one that finishes its batch.
 * Tasks start in the order in which they were pushed; they are owned by whoever pushed them and may be pushed
 * again, or freed, as soon as run() has begun.
 *
 * Thread: any for pool_push*(), pool_close(), pool_figures(); not from a task: pool_stop(), pool_destroy().
 */
#ifndef DISPATCH_POOL_H
#define DISPATCH_POOL_H

#include <stdint.h>

#define POOL_BATCH       32
#define POOL_THREADS_MAX 256

struct pool;

struct pool_task {              /* embedded in its owner */
	struct pool_task *next; /* private */
	void (*run)(struct pool_task *t);
};

/*
 * How an idle thread waits. prepare() is called under the pool's lock and says what to wait for; a wake() that comes
 * after it ends the wait, also when it comes before wait() was called. Returning early is harmless.
 */
struct pool_idle {
	uint32_t (*prepare)(void *arg);
	void (*wait)(void *arg, uint32_t ticket, int64_t timeout_dur_ns);
	void (*wake)(void *arg); /* one thread; also called for all, once each, at the end */
	void *arg;
};

struct pool_options {
	const char *name;             /* threads are called name.0, name.1, ...; at most 10 characters; copied */
	uint32_t threads_min;         /* 0: 1; started at once, never idle away */
	uint32_t threads_max;         /* 0: threads_min; at most POOL_THREADS_MAX */
	int64_t idle_dur_ns;          /* a further thread without work for so long ends itself; 0: 5 s */
	const struct pool_idle *idle; /* copied; NULL: a futex */
};

/* -EINVAL, -ENOMEM, or what pthread_create() says. */
int pool_create(const struct pool_options *o, struct pool **ret);
/* 0, or -ESHUTDOWN after pool_close(): the task is not taken. */
int pool_push(struct pool *p, struct pool_task *t);
/* n tasks linked by next, at the price of one. */
int pool_push_list(struct pool *p, struct pool_task *first, struct pool_task *last, uint32_t n);
/* No new tasks. Does not block; idempotent. */
void pool_close(struct pool *p);
/* Closes, runs what is queued, and waits until all threads have ended. Idempotent. */
void pool_stop(struct pool *p);
/* Stops it first. NULL is fine. */
void pool_destroy(struct pool *p);

struct pool_figures {
	uint32_t threads, idle, queued;
	uint64_t tasks, batches, wakes, started, ended;
};

void pool_figures(struct pool *p, struct pool_figures *ret);

#endif
