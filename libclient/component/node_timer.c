/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of nodes. Reality: libsimclient's timer wakes a task, which runs the callback on a worker. Simulation: the
 * host asks which timers are due, and runs them between the messages of a turn.
 */
#include "node_timer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sim/timer.h>

#include "err.h"
#include "mem.h"
#include "place.h"
#include "timeutil.h"

/* The callback may destroy t. */
static void call(struct sim_node_timer *t, int64_t due_sim_ns, uint64_t missed)
{
	struct whose_run run;

	whose_begin(&run, &t->call);
	t->fn(t->user, due_sim_ns, missed);
	whose_end(&run);
}

/* ---- reality ---- */

/* On the thread "sim-timer". */
static void timer_due(void *user, const struct sim_timer_event *ev)
{
	struct sim_node_timer *t = user;

	pthread_mutex_lock(&t->lock);
	t->missed += ev->missed + t->waiting; /* its last run has not begun: one run stands for both */
	t->waiting = 1;
	t->due_sim_ns = ev->due_sim_ns;
	pthread_mutex_unlock(&t->lock);
	sched_notify(t->task);
}

static bool timer_step(void *user)
{
	struct sim_node_timer *t = user;
	int64_t due;
	uint64_t missed;
	bool any;

	pthread_mutex_lock(&t->lock);
	any = t->waiting;
	t->waiting = 0;
	due = t->due_sim_ns;
	missed = t->missed;
	t->missed = 0;
	t->stats.fired += any;
	t->stats.missed += missed;
	pthread_mutex_unlock(&t->lock);
	if (any)
		call(t, due, missed);
	return false;
}

/* ---- simulation: inside the host's turn ---- */

struct sim_node_timer *node_timer_due(struct sim_host *h, int64_t until_sim_ns, int64_t *ret_due_sim_ns)
{
	struct sim_node_timer *t, *first = NULL;

	pthread_mutex_lock(&h->lock);
	list_for_each(t, &h->timers, link)
		if (t->active && t->due_sim_ns <= until_sim_ns && (!first || t->due_sim_ns < first->due_sim_ns))
			first = t;
	pthread_mutex_unlock(&h->lock);
	if (first)
		*ret_due_sim_ns = first->due_sim_ns;
	return first;
}

void node_timer_fire(struct sim_node_timer *t, int64_t now_sim_ns)
{
	int64_t due = t->due_sim_ns;
	uint64_t missed = (uint64_t)(now_sim_ns - due) / (uint64_t)t->period_dur_ns;

	if (t->one_shot)
		t->active = false;
	else
		t->due_sim_ns = ns_add(due, (int64_t)(missed + 1) * t->period_dur_ns);
	t->last_sim_ns = now_sim_ns;
	pthread_mutex_lock(&t->lock);
	t->stats.fired++;
	t->stats.missed += t->one_shot ? 0 : missed;
	pthread_mutex_unlock(&t->lock);
	call(t, due, t->one_shot ? 0 : missed);
}

void node_timer_restart(struct sim_host *h, int64_t now_sim_ns)
{
	struct sim_node_timer *t;

	pthread_mutex_lock(&h->lock);
	list_for_each(t, &h->timers, link) {
		t->last_sim_ns = now_sim_ns;
		t->due_sim_ns = ns_add(now_sim_ns, t->period_dur_ns);
	}
	pthread_mutex_unlock(&h->lock);
}

/* As sim/timer.h: after a jump back before its last call it begins a new phase, else it keeps the phase. */
void node_timer_jump(struct sim_host *h, int64_t now_sim_ns)
{
	struct sim_node_timer *t;

	pthread_mutex_lock(&h->lock);
	list_for_each(t, &h->timers, link) {
		if (now_sim_ns >= t->last_sim_ns)
			continue;
		t->last_sim_ns = now_sim_ns;
		t->due_sim_ns = ns_add(now_sim_ns, t->period_dur_ns);
	}
	pthread_mutex_unlock(&h->lock);
}

void node_timer_stats(struct sim_node_timer *t, uint64_t *ret_fired, uint64_t *ret_missed)
{
	pthread_mutex_lock(&t->lock);
	*ret_fired = t->stats.fired;
	*ret_missed = t->stats.missed;
	pthread_mutex_unlock(&t->lock);
}

/* ---- create and destroy ---- */

static void name_make(struct sim_node_timer *t, const char *name)
{
	uint32_t number;

	pthread_mutex_lock(&t->n->h->lock);
	number = t->n->n_timers++;
	pthread_mutex_unlock(&t->n->h->lock);
	if (name)
		snprintf(t->name, sizeof(t->name), "%s", name);
	else if (number)
		snprintf(t->name, sizeof(t->name), "%s_timer%u", t->n->name, number);
	else
		snprintf(t->name, sizeof(t->name), "%s_timer", t->n->name);
}

/* Under host::lock. */
static void insert(struct sim_node_timer *t)
{
	struct list *all = &t->n->h->timers, *behind = all->prev;

	t->place = place_take(t->n->h, PLACE_TIMER, t->n->name, t->name);
	while (behind != all && list_entry(behind, struct sim_node_timer, link)->place > t->place)
		behind = behind->prev;
	list_insert(behind, &t->link);
}

/*
 * Adds the timer to the host's list, if its name is unique: checked here because in simulation no task of that name
 * exists.
 */
static int enlist(struct sim_node_timer *t)
{
	struct sim_host *h = t->n->h;
	struct sim_node_timer *other;
	int r = 0;

	pthread_mutex_lock(&h->lock);
	list_for_each(other, &h->timers, link)
		if (strcmp(other->name, t->name) == 0)
			r = err_set(-EEXIST, "there is a timer \"%s\" in this host already; give each its own name",
				    t->name);
	if (r == 0)
		insert(t);
	pthread_mutex_unlock(&h->lock);
	return r;
}

static int timer_start(struct sim_node_timer *t)
{
	struct sim_host *h = t->n->h;
	int r;

	if (host_simulates(h)) {
		host_enter(h);
		t->last_sim_ns = sim_host_now(h);
		t->due_sim_ns = ns_add(t->last_sim_ns, t->period_dur_ns);
		t->active = true;
		host_leave(h);
		return 0;
	}
	r = sched_task_create(h->sched, t->name, timer_step, t, &t->task);
	if (r < 0)
		return r;
	return sim_timer_create(h->client, t->period_dur_ns, t->one_shot ? SIM_TIMER_ONE_SHOT : 0, timer_due, t,
				&t->timer);
}

int sim_node_timer_create(struct sim_node *n, const char *name, int64_t period_dur_ns, bool one_shot,
			  sim_node_timer_fn fn, void *user, struct sim_node_timer **ret)
{
	struct sim_node_timer *t;
	int r;

	if (!n || !fn || !ret)
		return err_set(-EINVAL, "sim_node_timer_create: no node, no callback, or the output pointer is NULL");
	if (period_dur_ns <= 0)
		return err_set(-EINVAL, "node %s: a timer's period is more than 0 ns, not %lld", n->name,
			       (long long)period_dur_ns);
	if (name && (!*name || strlen(name) > TIMER_NAME_MAX))
		return err_set(-EINVAL, "node %s: a timer's name has 1 to %d characters", n->name, TIMER_NAME_MAX);
	t = MEM_NEW(struct sim_node_timer);
	if (!t)
		return err_nomem();
	pthread_mutex_init(&t->lock, NULL);
	t->n = n;
	t->period_dur_ns = period_dur_ns;
	t->one_shot = one_shot;
	t->fn = fn;
	t->user = user;
	name_make(t, name);
	whose_add(&t->call, WHOSE_TIMER, n->name, t->name);
	list_init(&t->link);
	r = enlist(t);
	if (r == 0)
		r = timer_start(t);
	if (r < 0) {
		sim_node_timer_destroy(t);
		return r;
	}
	*ret = t;
	return 0;
}

void sim_node_timer_destroy(struct sim_node_timer *t)
{
	if (!t)
		return;
	host_enter(t->n->h);
	pthread_mutex_lock(&t->n->h->lock);
	list_remove(&t->link);
	pthread_mutex_unlock(&t->n->h->lock);
	host_leave(t->n->h);
	place_leave(t->n->h, PLACE_TIMER, t->n->name, t->name, t->place);
	sim_timer_destroy(t->timer);
	sched_task_destroy(t->task);
	whose_remove(&t->call);
	pthread_mutex_destroy(&t->lock);
	mem_free(t);
}
