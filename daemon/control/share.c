/* SPDX-License-Identifier: Apache-2.0 */
/* See share.h. */
#include "share.h"

#include "conn.h"
#include "mem.h"
#include "simd.h"
#include "timeutil.h"

#include <unistd.h>

#define BURST_DUR_NS (20 * NS_PER_MS) /* work in one go: the calls of a program that starts */

static void share_destroy(struct share *s)
{
	exec_timer_cancel(&s->timer);
	list_remove(&s->link);
	mem_free(s);
}

static void arm(struct share *s)
{
	if (!list_empty(&s->waiting) && !s->open)
		exec_timer_at(&s->timer, s->free_mono_ns);
}

/* Runs calls of the waiting connections in turn, until the user's part is used up. */
static void on_free(void *arg)
{
	struct share *s = (struct share *)arg;
	struct exec *x = s->c->s->x;

	while (!list_empty(&s->waiting) && !s->open && s->free_mono_ns <= exec_now(x)) {
		struct conn *c = list_first(&s->waiting, struct conn, waiting);

		list_remove(&c->waiting);
		conn_run(c); /* may destroy c; s stays: no other callback is running */
	}
	arm(s);
}

struct share *share_get(struct control *c, uid_t uid)
{
	struct share *s, *next;

	list_for_each_safe(s, next, &c->shares, link) {
		if (s->uid == uid)
			return share_ref(s);
		if (!s->refs && s->free_mono_ns <= exec_now(c->s->x))
			share_destroy(s);
	}
	s = MEM_NEW(struct share);
	if (!s)
		return NULL;
	s->c = c;
	s->uid = uid;
	s->bound = uid != 0 && uid != geteuid();
	s->refs = 1;
	list_init(&s->waiting);
	exec_timer_init(&s->timer, c->s->x, on_free, s);
	list_append(&c->shares, &s->link);
	return s;
}

struct share *share_ref(struct share *s)
{
	s->refs++;
	return s;
}

void share_put(struct share *s)
{
	s->refs--;
}

void share_destroy_all(struct control *c)
{
	struct share *s, *next;

	list_for_each_safe(s, next, &c->shares, link)
		share_destroy(s);
}

struct share *share_largest(const struct control *c)
{
	struct share *s, *largest = NULL;

	list_for_each(s, &c->shares, link)
		if (s->bound && s->n_conns > (largest ? largest->n_conns : 0))
			largest = s;
	return largest;
}

bool share_wait(struct conn *c)
{
	struct share *s = c->share;

	if (!s->bound || (!s->open && s->free_mono_ns <= exec_now(c->s->x)))
		return false;
	if (list_empty(&c->waiting))
		list_append(&s->waiting, &c->waiting);
	if (!exec_timer_armed(&s->timer))
		arm(s);
	return true;
}

void share_spent(struct share *s, int64_t begin_mono_ns)
{
	int64_t now = exec_now(s->c->s->x), from = now - 2 * BURST_DUR_NS;

	if (s->free_mono_ns > from)
		from = s->free_mono_ns;
	s->free_mono_ns = from + 2 * (now - begin_mono_ns);
}

void share_open(struct share *s)
{
	s->open++;
}

void share_close(struct share *s, int64_t begin_mono_ns)
{
	s->open--;
	share_spent(s, begin_mono_ns);
	arm(s);
}
