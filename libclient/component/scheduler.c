/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks, groups, workers.
 *
 * A task is idle, ready (in its group's queue), running, or running with more to do. The thread that makes it ready
 * puts it into the queue; so it is never in two queues, and never run by two workers.
 *
 * As many idle workers look for a task as tasks are ready, or all of them: each task that is made ready from outside
 * wakes one worker; a task that a worker puts back is taken by that worker, or by another that finds it first. While no
 * other task is ready it is not put back: its next step begins at once, without the lock.
 *
 * Lock: group::lock, held for a few instructions; no step runs with it held. Workers that find nothing sleep on
 * group::bell.
 */
#include "scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "futex.h"
#include "list.h"
#include "mem.h"
#include "rnd.h"
#include "scheduler_private.h"
#include "thread.h"

#define NAMES 1024u /* hash buckets to find a task by name */

enum state { TASK_IDLE, TASK_READY, TASK_RUNNING, TASK_AGAIN };

struct group;

struct sched_task {
	struct list link;    /* group::ready */
	struct list by_name; /* sched::tasks */
	struct group *group;
	uint32_t prio;
	sched_step_fn step;
	void *user;
	_Atomic uint32_t state; /* enum state; futex: sched_task_destroy() waits on it */
	_Atomic bool dead;      /* no further step; set under group::lock */
	bool own_end;           /* guarded by it: destroyed in its own step; the worker frees it */
	_Atomic uint64_t steps; /* written by the worker that runs the step */
	char *name;
};

struct worker {
	struct group *group;
	uint32_t number;
	pthread_t thread;
	bool started;
	int placed; /* 0, or the errno of the setting that was refused; read after sched::n_placed */
};

struct group {
	struct sched *s;
	struct sched_group_conf conf;
	pthread_mutex_t lock;
	/* guarded by lock */
	struct list ready[SCHED_PRIOS];
	_Atomic uint32_t any;  /* bit p: ready[p] is not empty; also read without the lock */
	uint32_t idle, waking; /* workers that sleep; those of them that have been woken */
	_Atomic uint32_t bell; /* futex */
	_Atomic bool stop;
	struct worker *workers;
};

struct sched {
	struct group *groups;
	uint32_t n_groups, others;
	struct sched_place intake;
	struct sched_task_conf *conf; /* by name; names are copies */
	uint32_t n_conf;
	_Atomic uint32_t n_placed; /* futex: workers that have been placed */
	pthread_mutex_t lock;
	/* guarded by lock */
	struct list tasks[NAMES]; /* sched_task::by_name, indexed by its hash */
	bool started;
	struct sched_said notes;
};

static _Thread_local struct sched_task *running; /* the task whose step this thread runs */

/* ---- queues; under group::lock ---- */

static uint32_t any(const struct group *g)
{
	return atomic_load_explicit(&g->any, memory_order_relaxed);
}

static void any_set(struct group *g, uint32_t bits)
{
	atomic_store_explicit(&g->any, bits, memory_order_relaxed);
}

static void push(struct group *g, struct sched_task *t)
{
	list_append(&g->ready[t->prio], &t->link);
	any_set(g, any(g) | 1u << t->prio);
}

/* Returns true if the caller must wake a sleeping worker after it released the lock. */
static bool want_worker(struct group *g)
{
	if (g->idle <= g->waking)
		return false;
	g->waking++;
	atomic_fetch_add(&g->bell, 1);
	return true;
}

static void unqueue(struct group *g, struct sched_task *t)
{
	list_remove(&t->link);
	if (list_empty(&g->ready[t->prio]))
		any_set(g, any(g) & ~(1u << t->prio));
}

static struct sched_task *pop(struct group *g)
{
	struct sched_task *t;

	if (!any(g))
		return NULL;
	t = list_first(&g->ready[31 - __builtin_clz(any(g))], struct sched_task, link);
	unqueue(g, t);
	return t;
}

static void wake_one(struct group *g)
{
	syscall(SYS_futex, &g->bell, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

static void make_ready(struct sched_task *t)
{
	struct group *g = t->group;
	bool wake = false;

	pthread_mutex_lock(&g->lock);
	if (!t->dead) {
		push(g, t);
		wake = want_worker(g);
	}
	pthread_mutex_unlock(&g->lock);
	if (wake)
		wake_one(g);
}

void sched_notify(struct sched_task *t)
{
	uint32_t state = atomic_load_explicit(&t->state, memory_order_acquire);

	for (;;) {
		if (state == TASK_READY || state == TASK_AGAIN) {
			/* it has not begun to look: its next step sees what was done before this call */
			if (atomic_compare_exchange_weak(&t->state, &state, state))
				return;
		} else if (atomic_compare_exchange_weak(&t->state, &state,
							state == TASK_IDLE ? TASK_READY : TASK_AGAIN)) {
			if (state == TASK_IDLE)
				make_ready(t);
			return;
		}
	}
}

/* ---- workers ---- */

static void task_free(struct sched_task *t)
{
	mem_free(t->name);
	mem_free(t);
}

/* After a step, under lock. */
static void step_ended(struct group *g, struct sched_task *t, bool more)
{
	uint32_t state = TASK_RUNNING;

	running = NULL;
	if (t->own_end) {
		task_free(t);
	} else if (t->dead) {
		atomic_store(&t->state, TASK_IDLE);
		futex_wake_all(&t->state, FUTEX_PRIVATE_FLAG);
	} else if (more || !atomic_compare_exchange_strong(&t->state, &state, TASK_IDLE)) {
		atomic_store(&t->state, TASK_READY);
		push(g, t);
	}
}

static bool run_step(struct sched_task *t)
{
	bool more = t->step(t->user);

	atomic_store_explicit(&t->steps, atomic_load_explicit(&t->steps, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	return more;
}

/*
 * Whether its next step begins at once: it has more to do and no other task is ready. Read without the lock: a task
 * that becomes ready just now is seen one step later.
 */
static bool goes_on(const struct group *g, struct sched_task *t, bool more)
{
	bool again = atomic_load_explicit(&t->state, memory_order_relaxed) == TASK_AGAIN;

	if (!(more || again) || any(g) || atomic_load_explicit(&t->dead, memory_order_relaxed) ||
	    atomic_load_explicit(&g->stop, memory_order_relaxed))
		return false;
	if (again) /* the next step sees what was notified */
		atomic_exchange(&t->state, TASK_RUNNING);
	return true;
}

/* Called with the lock held; releases it while the steps run. */
static void run(struct group *g, struct sched_task *t)
{
	bool more;

	atomic_store(&t->state, TASK_RUNNING);
	pthread_mutex_unlock(&g->lock);
	running = t;
	do
		more = run_step(t);
	while (goes_on(g, t, more));
	pthread_mutex_lock(&g->lock);
	step_ended(g, t, more);
}

static void rest(struct group *g)
{
	uint32_t seen = atomic_load(&g->bell);

	g->idle++;
	pthread_mutex_unlock(&g->lock);
	if (!atomic_load(&g->stop))
		futex_wait(&g->bell, seen, INT64_MAX, FUTEX_PRIVATE_FLAG);
	pthread_mutex_lock(&g->lock);
	g->idle--;
	if (g->waking)
		g->waking--;
}

static struct sched_place place_of(const struct worker *w)
{
	struct sched_place p = w->group->conf.place;
	uint32_t i = 0;

	if (!w->group->conf.one_to_one)
		return p;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &p.cpus.set) && i++ != w->number)
			CPU_CLR(cpu, &p.cpus.set);
	p.cpus.n = 1;
	return p;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct group *g = w->group;
	struct sched_place place = place_of(w);

	w->placed = sched_place_self(&place);
	atomic_fetch_add(&g->s->n_placed, 1);
	futex_wake_all(&g->s->n_placed, FUTEX_PRIVATE_FLAG);
	pthread_mutex_lock(&g->lock);
	while (!atomic_load(&g->stop)) {
		struct sched_task *t = pop(g);

		if (t)
			run(g, t);
		else
			rest(g);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

/* ---- start and stop ---- */

/* Waits until all n started workers are placed; notes, per group, the first that could not be placed as configured. */
static void await_places(struct sched *s, uint32_t n)
{
	uint32_t seen;

	while ((seen = atomic_load(&s->n_placed)) < n)
		futex_wait(&s->n_placed, seen, INT64_MAX, FUTEX_PRIVATE_FLAG);
	for (uint32_t i = 0; i < s->n_groups; i++) {
		const struct group *g = &s->groups[i];
		char who[SCHED_NAME_MAX + 8];
		int r = 0;

		for (uint32_t j = 0; r == 0 && j < g->conf.workers; j++)
			r = g->workers[j].placed;
		snprintf(who, sizeof(who), "group %s", g->conf.name);
		sched_place_note(&s->notes, who, &g->conf.place, r);
	}
}

void sched_enter_intake(struct sched *s)
{
	int r = s ? sched_place_self(&s->intake) : 0;

	if (r == 0)
		return;
	pthread_mutex_lock(&s->lock);
	sched_place_note(&s->notes, "thread shm", &s->intake, r);
	pthread_mutex_unlock(&s->lock);
}

static int worker_start(struct worker *w)
{
	char name[16];
	int r;

	snprintf(name, sizeof(name), "%.10s.%u", w->group->conf.name, w->number % 1000);
	r = thread_start(&w->thread, name, work, w);
	if (r < 0)
		return err_sys(r, "cannot start worker %u of group %s", w->number, w->group->conf.name);
	w->started = true;
	return 0;
}

static int workers_start(struct sched *s)
{
	uint32_t n = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->n_groups; i++)
		for (uint32_t j = 0; r == 0 && j < s->groups[i].conf.workers; j++) {
			r = worker_start(&s->groups[i].workers[j]);
			n += r == 0;
		}
	await_places(s, n);
	return r;
}

int sched_start(struct sched *s)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	if (!s->started)
		r = workers_start(s);
	s->started = true;
	pthread_mutex_unlock(&s->lock);
	if (r < 0)
		sched_stop(s);
	return r;
}

void sched_stop(struct sched *s)
{
	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct group *g = &s->groups[i];

		atomic_store(&g->stop, true);
		atomic_fetch_add(&g->bell, 1);
		futex_wake_all(&g->bell, FUTEX_PRIVATE_FLAG);
	}
	for (uint32_t i = 0; i < s->n_groups; i++)
		for (uint32_t j = 0; s->groups[i].workers && j < s->groups[i].conf.workers; j++) {
			struct worker *w = &s->groups[i].workers[j];

			if (w->started)
				pthread_join(w->thread, NULL);
			w->started = false;
		}
}

/* ---- tasks ---- */

static int compare_names(const void *a, const void *b)
{
	const struct sched_task_conf *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void place(struct sched *s, struct sched_task *t)
{
	const struct sched_task_conf key = { .name = t->name };
	const struct sched_task_conf *c = bsearch(&key, s->conf, s->n_conf, sizeof(*s->conf), compare_names);

	t->group = &s->groups[c ? c->group : s->others];
	t->prio = c ? c->prio : 0;
}

static struct list *tasks_named(struct sched *s, const char *name)
{
	return &s->tasks[hash64(HASH64_INIT, name, strlen(name)) % NAMES];
}

static int enlist(struct sched *s, struct sched_task *t)
{
	struct list *named = tasks_named(s, t->name);
	struct sched_task *other;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	list_for_each(other, named, by_name)
		if (strcmp(other->name, t->name) == 0)
			r = err_set(-EEXIST,
				    "there is a task \"%s\" already; nodes, timers and readers have names of their own",
				    t->name);
	if (r == 0)
		list_append(named, &t->by_name);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int sched_task_create(struct sched *s, const char *name, sched_step_fn step, void *user, struct sched_task **ret)
{
	struct sched_task *t = MEM_NEW(struct sched_task);
	int r;

	if (!t)
		return err_nomem();
	list_init(&t->link);
	list_init(&t->by_name);
	t->step = step;
	t->user = user;
	t->name = mem_strdup(name);
	r = t->name ? enlist(s, t) : err_nomem();
	if (r < 0) {
		task_free(t);
		return r;
	}
	place(s, t);
	*ret = t;
	return 0;
}

void sched_task_destroy(struct sched_task *t)
{
	struct group *g;
	uint32_t state;

	if (!t)
		return;
	g = t->group;
	pthread_mutex_lock(&g->s->lock);
	list_remove(&t->by_name);
	pthread_mutex_unlock(&g->s->lock);

	pthread_mutex_lock(&g->lock);
	t->dead = true;
	t->own_end = running == t;
	if (!list_empty(&t->link))
		unqueue(g, t);
	pthread_mutex_unlock(&g->lock);
	if (t->own_end)
		return;
	while ((state = atomic_load(&t->state)) == TASK_RUNNING || state == TASK_AGAIN)
		futex_wait(&t->state, state, INT64_MAX, FUTEX_PRIVATE_FLAG);
	pthread_mutex_lock(&g->lock); /* until the worker that woke this thread no longer uses the lock */
	pthread_mutex_unlock(&g->lock);
	task_free(t);
}

void sched_task_info(const struct sched_task *t, struct sched_task_info *ret)
{
	*ret = (struct sched_task_info){ .name = t->name,
					 .group = t->group->conf.name,
					 .prio = t->prio,
					 .steps = atomic_load_explicit(&t->steps, memory_order_relaxed) };
}

uint32_t sched_workers(const struct sched *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_groups; i++)
		n += s->groups[i].conf.workers;
	return n;
}

void sched_notes(struct sched *s, char *ret, size_t size)
{
	pthread_mutex_lock(&s->lock);
	snprintf(ret, size, "%s", s->notes.text);
	pthread_mutex_unlock(&s->lock);
}

/* ---- create and destroy ---- */

static struct sched_place or_process(const struct sched_conf *conf, struct sched_place p)
{
	if (!p.cpus.n)
		p.cpus = conf->process;
	return p;
}

static int group_init(struct sched *s, struct group *g, const struct sched_conf *all,
		      const struct sched_group_conf *conf)
{
	g->s = s;
	g->conf = *conf;
	g->conf.place = or_process(all, conf->place);
	pthread_mutex_init(&g->lock, NULL);
	for (uint32_t i = 0; i < SCHED_PRIOS; i++)
		list_init(&g->ready[i]);
	g->workers = mem_calloc(conf->workers, sizeof(*g->workers));
	if (!g->workers)
		return err_nomem();
	for (uint32_t i = 0; i < conf->workers; i++) {
		g->workers[i].group = g;
		g->workers[i].number = i;
	}
	return 0;
}

static int copy_conf(struct sched *s, const struct sched_conf *conf)
{
	s->others = conf->others;
	s->intake = or_process(conf, conf->intake);
	s->notes = conf->notes;
	s->groups = mem_calloc(conf->n_groups, sizeof(*s->groups));
	s->conf = mem_calloc(conf->n_tasks + 1, sizeof(*s->conf));
	if (!s->groups || !s->conf)
		return err_nomem();
	for (; s->n_groups < conf->n_groups; s->n_groups++)
		if (group_init(s, &s->groups[s->n_groups], conf, &conf->groups[s->n_groups]) < 0)
			return -ENOMEM;
	for (; s->n_conf < conf->n_tasks; s->n_conf++) {
		s->conf[s->n_conf] = conf->tasks[s->n_conf];
		s->conf[s->n_conf].name = mem_strdup(conf->tasks[s->n_conf].name);
		if (!s->conf[s->n_conf].name)
			return err_nomem();
	}
	qsort(s->conf, s->n_conf, sizeof(*s->conf), compare_names);
	return 0;
}

int sched_create(struct sched_conf *conf, struct sched **ret)
{
	struct sched *s;
	int r = sched_conf_fit(conf);

	if (r < 0)
		return r;
	s = MEM_NEW(struct sched);
	if (!s)
		return err_nomem();
	for (uint32_t i = 0; i < NAMES; i++)
		list_init(&s->tasks[i]);
	pthread_mutex_init(&s->lock, NULL);
	r = copy_conf(s, conf);
	if (r < 0) {
		sched_destroy(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sched_destroy(struct sched *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_groups; i++) {
		pthread_mutex_destroy(&s->groups[i].lock);
		mem_free(s->groups[i].workers);
	}
	for (uint32_t i = 0; i < s->n_conf; i++)
		mem_free(s->conf[i].name);
	pthread_mutex_destroy(&s->lock);
	mem_free(s->conf);
	mem_free(s->groups);
	mem_free(s);
}
