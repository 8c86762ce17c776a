/* SPDX-License-Identifier: Apache-2.0 */
/* See order.h. flush_lock and lock are never held together. */
#include "order.h"

#include "timeutil.h"

void order_init(struct host_order *o)
{
	pthread_mutex_init(&o->lock, NULL);
	pthread_mutex_init(&o->flush_lock, NULL);
	list_init(&o->waiting);
}

void order_finish(struct host_order *o)
{
	pthread_mutex_destroy(&o->lock);
	pthread_mutex_destroy(&o->flush_lock);
}

void order_turn_init(struct host_turn *t)
{
	pthread_cond_init(&t->came, NULL);
	list_init(&t->link);
}

void order_turn_finish(struct host_turn *t)
{
	pthread_cond_destroy(&t->came);
}

static bool is_next(const struct host_order *o, const struct host_turn *t)
{
	return o->passed >= t->ticket.predecessor || t->ticket.ticket < o->free_below;
}

static void wake(struct host_order *o)
{
	struct host_turn *t;

	list_for_each(t, &o->waiting, link)
		if (is_next(o, t))
			pthread_cond_signal(&t->came);
}

static void pass_all(struct host_order *o, uint64_t ticket)
{
	if (ticket <= o->passed)
		return;
	o->passed = ticket;
	wake(o);
}

void order_begin(struct host_order *o, struct host_turn *t, const struct sim_lane_ticket *ticket,
		 const struct sim_task *task)
{
	t->ticket = *ticket;
	t->task = task;
	t->mine = false;
	t->waited_dur_ns = 0;
	if (ticket->predecessor)
		return;
	pthread_mutex_lock(&o->lock);
	pass_all(o, ticket->ticket - 1);
	pthread_mutex_unlock(&o->lock);
}

bool order_is_next(struct host_order *o, const struct host_turn *t)
{
	bool yes;

	pthread_mutex_lock(&o->lock);
	yes = is_next(o, t);
	pthread_mutex_unlock(&o->lock);
	return yes;
}

/* From the first lock-step turn on, simd says when to flush. Waits for a timed flush that still runs. */
static void step(struct host_order *o)
{
	if (atomic_load_explicit(&o->stepping, memory_order_relaxed))
		return;
	pthread_mutex_lock(&o->flush_lock);
	atomic_store(&o->stepping, true);
	pthread_mutex_unlock(&o->flush_lock);
}

void order_wait(struct host_order *o, struct host_turn *t)
{
	int64_t begin_mono_ns;

	if (t->mine)
		return;
	t->mine = true;
	pthread_mutex_lock(&o->lock);
	if (!is_next(o, t)) {
		begin_mono_ns = mono_now_ns();
		list_append(&o->waiting, &t->link);
		while (!is_next(o, t))
			pthread_cond_wait(&t->came, &o->lock);
		list_remove(&t->link);
		t->waited_dur_ns = mono_now_ns() - begin_mono_ns;
	}
	pthread_mutex_unlock(&o->lock);
	step(o);
}

void order_pass(struct host_order *o, struct host_turn *t)
{
	order_wait(o, t);
	pthread_mutex_lock(&o->lock);
	pass_all(o, t->ticket.ticket);
	pthread_mutex_unlock(&o->lock);
	t->task = NULL;
}

void order_row_ends(struct host_order *o, bool fails)
{
	pthread_mutex_lock(&o->lock);
	o->rows++;
	if (fails)
		o->free_below = o->rows << SIM_LANE_ROW_SHIFT;
	wake(o);
	pthread_mutex_unlock(&o->lock);
}
