/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The task pool: see pool.h. This file alone in dispatch makes threads; the state machines never do.
 *
 * Thread: any; everything in struct pool but the idle wait is guarded by its lock.
 */
#include "pool.h"
#include "thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mem.h"

struct seat { /* of one thread */
	struct pool *p;
	pthread_t thread;
	enum { SEAT_FREE, SEAT_TAKEN, SEAT_LEFT } state; /* left: to be joined */
	char name[16];
};

struct pool {
	pthread_mutex_t lock;
	struct pool_task *first, **end; /* guarded by lock, as all that follows */
	uint32_t queued, threads, idle, min, max;
	bool waking;   /* a wake-up is on its way */
	bool starting; /* a thread is being made */
	bool closed;
	int64_t idle_dur_ns;
	struct pool_figures figures;
	char name[16];
	struct pool_idle wait;
	_Atomic uint32_t bell; /* the default idle wait: a futex */
	struct seat *seats;    /* [max] */
};

/* ---- the default idle wait ---- */

static uint32_t bell_prepare(void *arg)
{
	return atomic_load(&((struct pool *)arg)->bell);
}

static void bell_wait(void *arg, uint32_t ticket, int64_t timeout_dur_ns)
{
	struct timespec t = { .tv_sec = (time_t)(timeout_dur_ns / 1000000000),
			      .tv_nsec = (long)(timeout_dur_ns % 1000000000) };

	syscall(SYS_futex, &((struct pool *)arg)->bell, FUTEX_WAIT_PRIVATE, ticket, &t, NULL, 0);
}

static void bell_wake(void *arg)
{
	struct pool *p = arg;

	atomic_fetch_add(&p->bell, 1);
	syscall(SYS_futex, &p->bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* ---- threads ---- */

static int start_thread(struct pool *p);

/* Up to a batch off the list. */
static uint32_t take(struct pool *p, struct pool_task **ret)
{
	struct pool_task *last = NULL;
	uint32_t n = 0;

	*ret = p->first;
	for (struct pool_task *t = p->first; t && n < POOL_BATCH; t = t->next) {
		last = t;
		n++;
	}
	if (!n)
		return 0;
	p->first = last->next;
	last->next = NULL;
	if (!p->first)
		p->end = &p->first;
	p->queued -= n;
	p->figures.tasks += n;
	p->figures.batches++;
	return n;
}

/* run() may push the task again or free it: next is read before. */
static void run_batch(struct pool_task *t)
{
	while (t) {
		struct pool_task *next = t->next;

		t->run(t);
		t = next;
	}
}

enum help { HELP_NONE, HELP_WAKE, HELP_START };

/* Something is left: who else could take it? */
static enum help call_help(struct pool *p)
{
	if (!p->first || p->waking)
		return HELP_NONE;
	if (p->idle) {
		p->waking = true;
		p->figures.wakes++;
		return HELP_WAKE;
	}
	if (p->threads < p->max && !p->starting && !p->closed) {
		p->starting = true;
		return HELP_START;
	}
	return HELP_NONE;
}

static void bring(struct pool *p, enum help help)
{
	if (help == HELP_WAKE)
		p->wait.wake(p->wait.arg);
	else if (help == HELP_START)
		(void)start_thread(p); /* without one the others go on alone */
}

/* False: this thread is to end. The lock is held. */
static bool wait_for_work(struct pool *p)
{
	int64_t began = 0;
	struct timespec t;

	while (!p->first) {
		uint32_t ticket = p->wait.prepare(p->wait.arg);
		int64_t now;

		clock_gettime(CLOCK_MONOTONIC, &t);
		now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
		began = began ? began : now;
		if (p->closed || (p->threads > p->min && now - began >= p->idle_dur_ns))
			return false;
		p->idle++;
		pthread_mutex_unlock(&p->lock);
		p->wait.wait(p->wait.arg, ticket, p->idle_dur_ns);
		pthread_mutex_lock(&p->lock);
		p->idle--;
		p->waking = false;
	}
	return true;
}

static void *work(void *arg)
{
	struct seat *seat = arg;
	struct pool *p = seat->p;

	pthread_mutex_lock(&p->lock);
	p->starting = false;
	while (wait_for_work(p)) {
		struct pool_task *batch;
		enum help help;

		take(p, &batch);
		help = call_help(p);
		pthread_mutex_unlock(&p->lock);
		bring(p, help);
		run_batch(batch);
		pthread_mutex_lock(&p->lock);
	}
	p->threads--;
	p->figures.ended++;
	seat->state = SEAT_LEFT;
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* A seat for a new thread; there is one, since threads < max. The lock is held, but not while joining. */
static struct seat *take_seat(struct pool *p)
{
	struct seat *s = p->seats;

	while (s->state == SEAT_TAKEN)
		s++;
	if (s->state == SEAT_LEFT) {
		s->state = SEAT_TAKEN; /* nobody else's from here on */
		pthread_mutex_unlock(&p->lock);
		pthread_join(s->thread, NULL); /* it has let go of the lock and is on its last line */
		pthread_mutex_lock(&p->lock);
	}
	s->state = SEAT_TAKEN;
	s->p = p;
	snprintf(s->name, sizeof(s->name), "%.10s.%u", p->name, (unsigned)(s - p->seats));
	return s;
}

static int start_thread(struct pool *p)
{
	struct seat *s;
	int r;

	pthread_mutex_lock(&p->lock);
	p->threads++; /* before it runs, so that nobody starts one too many */
	s = take_seat(p);
	r = thread_start(&s->thread, s->name, work, s);
	if (r < 0) {
		p->threads--;
		p->starting = false;
		s->state = SEAT_FREE;
	} else {
		p->figures.started++;
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

/* ---- the pool ---- */

static bool good(const struct pool_options *o)
{
	uint32_t min = o->threads_min ? o->threads_min : 1, max = o->threads_max ? o->threads_max : min;

	return o->name && o->name[0] && strlen(o->name) <= 10 && min <= max && max <= POOL_THREADS_MAX &&
	       o->idle_dur_ns >= 0 && (!o->idle || (o->idle->prepare && o->idle->wait && o->idle->wake));
}

static void init(struct pool *p, const struct pool_options *o)
{
	pthread_mutex_init(&p->lock, NULL);
	p->end = &p->first;
	p->min = o->threads_min ? o->threads_min : 1;
	p->max = o->threads_max ? o->threads_max : p->min;
	p->idle_dur_ns = o->idle_dur_ns ? o->idle_dur_ns : INT64_C(5000000000);
	strcpy(p->name, o->name);
	p->wait =
		o->idle ? *o->idle
			: (struct pool_idle){ .prepare = bell_prepare, .wait = bell_wait, .wake = bell_wake, .arg = p };
}

int pool_create(const struct pool_options *o, struct pool **ret)
{
	struct pool *p;
	int r = 0;

	if (!o || !good(o))
		return -EINVAL;
	p = MEM_NEW(struct pool);
	if (!p)
		return -ENOMEM;
	init(p, o);
	p->seats = mem_calloc(p->max, sizeof(*p->seats));
	if (!p->seats)
		r = -ENOMEM;
	for (uint32_t i = 0; i < p->min && r == 0; i++)
		r = start_thread(p);
	if (r < 0) {
		pool_destroy(p);
		return r;
	}
	*ret = p;
	return 0;
}

int pool_push_list(struct pool *p, struct pool_task *first, struct pool_task *last, uint32_t n)
{
	bool wake;

	last->next = NULL;
	pthread_mutex_lock(&p->lock);
	if (p->closed) {
		pthread_mutex_unlock(&p->lock);
		return -ESHUTDOWN;
	}
	*p->end = first;
	p->end = &last->next;
	p->queued += n;
	wake = p->idle && !p->waking;
	if (wake) {
		p->waking = true;
		p->figures.wakes++;
	}
	pthread_mutex_unlock(&p->lock);
	if (wake)
		p->wait.wake(p->wait.arg);
	return 0;
}

int pool_push(struct pool *p, struct pool_task *t)
{
	return pool_push_list(p, t, t, 1);
}

void pool_close(struct pool *p)
{
	uint32_t n;

	pthread_mutex_lock(&p->lock);
	n = p->closed ? 0 : p->threads;
	p->closed = true;
	pthread_mutex_unlock(&p->lock);
	while (n--)
		p->wait.wake(p->wait.arg);
}

void pool_stop(struct pool *p)
{
	pool_close(p);
	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; p->seats && i < p->max; i++) {
		struct seat *s = &p->seats[i];

		if (s->state == SEAT_FREE)
			continue;
		pthread_mutex_unlock(&p->lock);
		pthread_join(s->thread, NULL);
		pthread_mutex_lock(&p->lock);
		s->state = SEAT_FREE;
	}
	pthread_mutex_unlock(&p->lock);
}

void pool_destroy(struct pool *p)
{
	if (!p)
		return;
	pool_stop(p);
	pthread_mutex_destroy(&p->lock);
	mem_free(p->seats);
	mem_free(p);
}

void pool_figures(struct pool *p, struct pool_figures *ret)
{
	pthread_mutex_lock(&p->lock);
	*ret = p->figures;
	ret->threads = p->threads;
	ret->idle = p->idle;
	ret->queued = p->queued;
	pthread_mutex_unlock(&p->lock);
}
