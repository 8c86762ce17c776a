/* SPDX-License-Identifier: Apache-2.0 */
/* The task pool: every task once, in order, batches, wake-ups, threads that come and go. For TSan too. */
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "dispatch/pool.h"
#include "mem.h"

#define TASKS 20000

struct item {
	struct pool_task task; /* first */
	atomic_uint *total;
	unsigned n, *order; /* order: of one thread's runs; NULL: do not look */
	atomic_uint runs;
};

static struct item items[4 * TASKS];

static void count(struct pool_task *t)
{
	struct item *i = (struct item *)(void *)t;

	atomic_fetch_add(&i->runs, 1);
	if (i->order) {
		assert_int_equal(i->n, *i->order);
		++*i->order;
	}
	atomic_fetch_add(i->total, 1);
}

static struct pool *make(uint32_t min, uint32_t max, int64_t idle_dur_ns)
{
	struct pool_options o = { .name = "test", .threads_min = min, .threads_max = max, .idle_dur_ns = idle_dur_ns };
	struct pool *p;

	assert_int_equal(pool_create(&o, &p), 0);
	return p;
}

TEST(bad_options_are_refused)
{
	static const struct pool_options bad[] = {
		{ .name = NULL },
		{ .name = "" },
		{ .name = "elevenchars" },
		{ .name = "x", .threads_min = 2, .threads_max = 1 },
		{ .name = "x", .threads_max = POOL_THREADS_MAX + 1 },
		{ .name = "x", .idle_dur_ns = -1 },
	};
	struct pool *p = NULL;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(pool_create(&bad[i], &p), -EINVAL);
	assert_int_equal(pool_create(NULL, &p), -EINVAL);
	assert_null(p);
	pool_destroy(NULL);
}

TEST(one_thread_keeps_the_order)
{
	struct pool *p = make(1, 1, 0);
	struct pool_figures f;
	atomic_uint total = 0;
	unsigned order = 0;

	for (unsigned i = 0; i < TASKS; i++) {
		items[i] = (struct item){ .task.run = count, .total = &total, .n = i, .order = &order };
		assert_int_equal(pool_push(p, &items[i].task), 0);
	}
	pool_stop(p);
	assert_int_equal(total, TASKS);
	pool_figures(p, &f);
	assert_int_equal(f.tasks, TASKS);
	assert_int_equal(f.threads, 0);
	assert_int_equal(f.started, 1);
	assert_true(f.wakes <= f.batches);
	assert_int_equal(pool_push(p, &items[0].task), -ESHUTDOWN);
	pool_destroy(p);
}

struct pusher {
	struct pool *p;
	struct item *from;
	pthread_t thread;
};

static void *push_many(void *arg)
{
	struct pusher *u = arg;

	for (unsigned i = 0; i < TASKS; i++)
		assert_int_equal(pool_push(u->p, &u->from[i].task), 0);
	return NULL;
}

TEST(every_task_runs_once)
{
	struct pool *p = make(2, 4, 0);
	struct pusher u[4];
	atomic_uint total = 0;

	for (unsigned i = 0; i < 4 * TASKS; i++)
		items[i] = (struct item){ .task.run = count, .total = &total };
	for (unsigned i = 0; i < 4; i++) {
		u[i] = (struct pusher){ .p = p, .from = &items[i * TASKS] };
		assert_int_equal(pthread_create(&u[i].thread, NULL, push_many, &u[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(u[i].thread, NULL);
	pool_destroy(p);
	assert_int_equal(total, 4 * TASKS);
	for (unsigned i = 0; i < 4 * TASKS; i++)
		assert_int_equal(items[i].runs, 1);
}

/* A task that waits until it is let go on: the pool's thread is busy then. */
struct gate {
	struct pool_task task; /* first */
	atomic_bool entered, open;
};

static void wait_at_gate(struct pool_task *t)
{
	struct gate *g = (struct gate *)(void *)t;

	atomic_store(&g->entered, true);
	while (!atomic_load(&g->open))
		sched_yield();
}

TEST(a_backlog_goes_in_batches_with_one_wake_up)
{
	struct pool *p = make(1, 1, 0);
	struct gate g = { .task.run = wait_at_gate };
	struct pool_figures before, after;
	atomic_uint total = 0;

	assert_int_equal(pool_push(p, &g.task), 0);
	while (!atomic_load(&g.entered))
		sched_yield();
	pool_figures(p, &before);
	for (unsigned i = 0; i < 10 * POOL_BATCH; i++) {
		items[i] = (struct item){ .task.run = count, .total = &total };
		items[i].task.next = &items[i + 1].task;
	}
	assert_int_equal(pool_push_list(p, &items[0].task, &items[10 * POOL_BATCH - 1].task, 10 * POOL_BATCH), 0);
	pool_figures(p, &after);
	assert_int_equal(after.queued, 10 * POOL_BATCH);
	assert_int_equal(after.wakes, before.wakes); /* it is awake */
	atomic_store(&g.open, true);
	pool_stop(p);
	pool_figures(p, &after);
	assert_int_equal(after.batches - before.batches, 10);
	assert_int_equal(total, 10 * POOL_BATCH);
	pool_destroy(p);
}

/* A thread that leaves something behind starts the next one; without work that one ends. */
TEST(threads_come_with_a_backlog_and_go_without)
{
	struct pool *p = make(1, 3, 1000000);
	struct gate first = { .task.run = wait_at_gate }, gates[3 * POOL_BATCH];
	struct pool_figures f;

	assert_int_equal(pool_push(p, &first.task), 0);
	while (!atomic_load(&first.entered))
		sched_yield();
	for (unsigned i = 0; i < 3 * POOL_BATCH; i++) {
		gates[i] = (struct gate){ .task.run = wait_at_gate };
		assert_int_equal(pool_push(p, &gates[i].task), 0);
	}
	atomic_store(&first.open, true); /* three batches: three threads, each stuck in the first of its own */
	for (unsigned i = 0; i < 3; i++)
		while (!atomic_load(&gates[i * POOL_BATCH].entered))
			sched_yield();
	pool_figures(p, &f);
	assert_int_equal(f.threads, 3);
	assert_int_equal(f.started, 3);
	for (unsigned i = 0; i < 3 * POOL_BATCH; i++)
		atomic_store(&gates[i].open, true);
	do {
		sched_yield();
		pool_figures(p, &f);
	} while (f.threads != 1); /* the runner's limit bounds this */
	assert_int_equal(f.ended, 2);
	pool_stop(p);
	for (unsigned i = 0; i < 3 * POOL_BATCH; i++)
		assert_true(gates[i].entered);
	pool_destroy(p);
}

/* A task may push itself again. */
struct again {
	struct pool_task task; /* first */
	struct pool *p;
	unsigned left;
	atomic_bool over;
};

static void push_again(struct pool_task *t)
{
	struct again *a = (struct again *)(void *)t;

	if (a->left--)
		assert_int_equal(pool_push(a->p, t), 0);
	else
		atomic_store(&a->over, true);
}

TEST(a_task_may_push_itself)
{
	struct again a = { .task.run = push_again, .p = make(2, 2, 0), .left = 1000 };

	assert_int_equal(pool_push(a.p, &a.task), 0);
	while (!atomic_load(&a.over))
		sched_yield();
	pool_destroy(a.p);
}

/* ---- another idle wait: an eventfd, as one would have beside other descriptors ---- */

struct fd_idle {
	int fd;
	atomic_uint waits, wakes;
};

static uint32_t fd_prepare(void *arg)
{
	(void)arg;
	return 0; /* what is written is kept by the eventfd */
}

static void fd_sleep(void *arg, uint32_t ticket, int64_t timeout_dur_ns)
{
	struct fd_idle *i = arg;
	uint64_t n;

	(void)ticket;
	(void)timeout_dur_ns;
	atomic_fetch_add(&i->waits, 1);
	assert_int_equal(read(i->fd, &n, sizeof(n)), sizeof(n));
}

static void fd_rouse(void *arg)
{
	struct fd_idle *i = arg;
	uint64_t one = 1;

	atomic_fetch_add(&i->wakes, 1);
	assert_int_equal(write(i->fd, &one, sizeof(one)), sizeof(one));
}

TEST(the_idle_wait_is_pluggable)
{
	struct fd_idle fd = { .fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC) };
	struct pool_idle idle = { .prepare = fd_prepare, .wait = fd_sleep, .wake = fd_rouse, .arg = &fd };
	struct pool_options o = { .name = "test", .threads_min = 2, .idle = &idle };
	atomic_uint total = 0;
	struct pool *p;

	assert_true(fd.fd >= 0);
	assert_int_equal(pool_create(&o, &p), 0);
	for (unsigned i = 0; i < 1000; i++) {
		items[i] = (struct item){ .task.run = count, .total = &total };
		assert_int_equal(pool_push(p, &items[i].task), 0);
		if (i % 10 == 0)
			while (atomic_load(&total) <= i)
				sched_yield(); /* let them fall asleep now and then */
	}
	pool_destroy(p);
	assert_int_equal(total, 1000);
	assert_true(fd.wakes >= 1);
	close(fd.fd);
}
