/* SPDX-License-Identifier: Apache-2.0 */
/* Contract in whose.h. Lock: calls_lock, a leaf lock except for the callback of whose_look(). */
#include "whose.h"

#include <pthread.h>

static _Thread_local struct mine { /* its address also identifies the thread */
	const char *current;
	uint32_t depth;
} mine;

static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list calls = { &calls, &calls }; /* linked by whose_call::link */

const char *whose(void)
{
	return mine.current;
}

const char *whose_enter(const char *name)
{
	struct mine *t = &mine;
	const char *before = t->current;

	t->current = name;
	return before;
}

void whose_leave(const char *before)
{
	mine.current = before;
}

/* ---- which of them run ---- */

void whose_add(struct whose_call *c, enum whose_kind kind, const char *name, const char *of)
{
	c->kind = kind;
	c->name = name;
	c->of = of;
	pthread_mutex_lock(&calls_lock);
	list_append(&calls, &c->link);
	pthread_mutex_unlock(&calls_lock);
}

void whose_remove(struct whose_call *c)
{
	if (!c->link.next)
		return;
	pthread_mutex_lock(&calls_lock);
	list_remove(&c->link);
	pthread_mutex_unlock(&calls_lock);
	for (struct whose_run *r = c->run; r; r = r->outer)
		r->call = NULL;
	c->run = NULL;
}

void whose_begin(struct whose_run *r, struct whose_call *c)
{
	uint64_t runs = atomic_load_explicit(&c->runs, memory_order_relaxed) + 1;
	struct mine *t = &mine;

	*r = (struct whose_run){ .call = c, .outer = c->run, .before = t->current };
	c->run = r;
	t->current = c->name;
	t->depth++;
	atomic_store_explicit(&c->runs, runs, memory_order_relaxed);
	atomic_store_explicit(&c->depth, t->depth, memory_order_relaxed);
	atomic_store_explicit(&c->thread, (uintptr_t)t, memory_order_relaxed);
}

void whose_end(struct whose_run *r)
{
	struct mine *t = &mine;

	t->current = r->before;
	t->depth--;
	if (!r->call)
		return;
	r->call->run = r->outer;
	if (!r->outer)
		atomic_store_explicit(&r->call->thread, 0, memory_order_relaxed);
}

void whose_look(int64_t now_mono_ns, void (*fn)(void *user, const struct whose_call *c), void *user)
{
	struct whose_call *c;

	pthread_mutex_lock(&calls_lock);
	list_for_each(c, &calls, link) {
		uint64_t runs = atomic_load_explicit(&c->runs, memory_order_relaxed);

		if (!atomic_load_explicit(&c->thread, memory_order_relaxed)) {
			c->seen_mono_ns = 0;
		} else if (!c->seen_mono_ns || c->seen_runs != runs) {
			c->seen_mono_ns = now_mono_ns;
			c->seen_runs = runs;
		} else {
			fn(user, c);
		}
	}
	pthread_mutex_unlock(&calls_lock);
}
