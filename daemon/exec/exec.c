/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common half of struct exec: timers in a pairing heap and posted functions; the links of both live in
 * their owners' objects.
 *
 * Thread: the exec's, except exec_now, exec_post and exec_quit (any).
 */
#include "exec_private.h"

#include "err.h"
#include "list.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

int64_t exec_now(struct exec *x)
{
	return x->ops->now(x);
}

void exec_spin(struct exec *x, int64_t dur_ns)
{
	x->ops->spin(x, dur_ns);
}

bool exec_is_virtual(const struct exec *x)
{
	return x->ops->is_virtual;
}

int exec_run(struct exec *x)
{
	return x->ops->run(x);
}

int exec_turn(struct exec *x, int64_t *ret_due_mono_ns)
{
	return x->ops->turn(x, ret_due_mono_ns);
}

int exec_fd(const struct exec *x)
{
	return x->ops->fd(x);
}

void exec_quit(struct exec *x)
{
	atomic_store_explicit(&x->quit, true, memory_order_release);
	x->ops->wake(x);
}

void exec_destroy(struct exec *x)
{
	if (x)
		x->ops->destroy(x);
}

/* ---- posts ---- */

void exec_post_init(struct exec_post *p, struct exec *x, exec_fn fn, void *arg)
{
	*p = (struct exec_post){ .x = x, .fn = fn, .arg = arg };
}

/* The reader clears `waiting` before it calls fn: who finds it set has put his work where fn will see it. */
void exec_post(struct exec_post *p)
{
	struct exec *x = p->x; /* p may be gone as soon as it lies in the box */

	if (!atomic_exchange(&p->waiting, true) && inbox_put(&x->posted, &p->item))
		x->ops->wake(x);
}

/* The list of what waits, oldest first; returns how many. */
static unsigned collect(struct exec *x)
{
	struct inbox_item **end = &x->posts;
	unsigned n = 0;

	for (; *end; end = &(*end)->next)
		n++;
	for (*end = inbox_take(&x->posted); *end; end = &(*end)->next)
		n++;
	return n;
}

void exec_post_cancel(struct exec_post *p)
{
	if (!p->x || !atomic_load(&p->waiting))
		return;
	collect(p->x);
	for (struct inbox_item **at = &p->x->posts; *at; at = &(*at)->next) {
		if (*at != &p->item)
			continue;
		*at = p->item.next;
		break;
	}
	atomic_store(&p->waiting, false);
}

bool exec_post_waiting(struct exec *x)
{
	return x->posts || !inbox_empty(&x->posted);
}

static void run_first(struct exec *x)
{
	struct exec_post *p = container_of(x->posts, struct exec_post, item);

	x->posts = p->item.next;
	(void)atomic_exchange(&p->waiting, false);
	p->fn(p->arg);
}

void exec_post_one(struct exec *x)
{
	if (collect(x))
		run_first(x);
}

void exec_post_batch(struct exec *x)
{
	for (unsigned n = collect(x); n && x->posts; n--)
		run_first(x);
}

/* ---- timers: pairing heap. prev is the parent for a first child, the left sibling otherwise. ---- */

static bool earlier(const struct exec_timer *a, const struct exec_timer *b)
{
	return a->due_mono_ns != b->due_mono_ns ? a->due_mono_ns < b->due_mono_ns : a->order < b->order;
}

static struct exec_timer *heap_meld(struct exec_timer *a, struct exec_timer *b)
{
	struct exec_timer *t;

	if (!a || !b)
		return a ? a : b;
	if (earlier(b, a)) {
		t = a;
		a = b;
		b = t;
	}
	b->next = a->child;
	if (b->next)
		b->next->prev = b;
	b->prev = a;
	a->child = b;
	return a;
}

/* Pair the siblings from left to right, then meld the pairs from right to left. */
static struct exec_timer *heap_pair(struct exec_timer *list)
{
	struct exec_timer *pairs = NULL, *root = NULL;

	while (list) {
		struct exec_timer *a = list, *b = a->next, *m;

		list = b ? b->next : NULL;
		a->next = a->prev = NULL;
		if (b)
			b->next = b->prev = NULL;
		m = heap_meld(a, b);
		m->next = pairs;
		pairs = m;
	}
	while (pairs) {
		struct exec_timer *m = pairs;

		pairs = m->next;
		m->next = NULL;
		root = heap_meld(root, m);
	}
	return root;
}

static void heap_remove(struct exec *x, struct exec_timer *t)
{
	struct exec_timer *sub = heap_pair(t->child);

	if (t == x->timers) {
		x->timers = sub;
	} else {
		if (t->prev->child == t)
			t->prev->child = t->next;
		else
			t->prev->next = t->next;
		if (t->next)
			t->next->prev = t->prev;
		x->timers = heap_meld(x->timers, sub);
	}
	t->child = t->next = t->prev = NULL;
}

void exec_timer_init(struct exec_timer *t, struct exec *x, exec_fn fn, void *arg)
{
	*t = (struct exec_timer){ .x = x, .fn = fn, .arg = arg };
}

void exec_timer_at(struct exec_timer *t, int64_t due_mono_ns)
{
	exec_timer_cancel(t);
	t->due_mono_ns = due_mono_ns;
	t->order = t->x->ops->tie(t->x);
	t->armed = true;
	t->x->timers = heap_meld(t->x->timers, t);
}

void exec_timer_cancel(struct exec_timer *t)
{
	if (!t->armed)
		return;
	heap_remove(t->x, t);
	t->armed = false;
}

void exec_timer_fire(struct exec_timer *t)
{
	exec_timer_cancel(t);
	t->fn(t->arg);
}

/* ---- descriptors ---- */

static int io_check(uint32_t events)
{
	if (events != EXEC_BELL && events & (EPOLLET | EPOLLONESHOT | EPOLLEXCLUSIVE))
		return err_set(-EINVAL, "an event loop watches descriptors level-triggered only");
	return 0;
}

int exec_io_add(struct exec *x, struct exec_io *io, int fd, uint32_t events,
		void (*fn)(void *arg, uint32_t epoll_events), void *arg)
{
	int r = io_check(events);

	if (r < 0)
		return r;
	if (fd < 0)
		return err_set(-EBADF, "an event loop cannot watch descriptor %d", fd);
	*io = (struct exec_io){ .x = x, .fd = fd, .events = events, .fn = fn, .arg = arg };
	r = x->ops->io_add(x, io);
	io->added = r >= 0;
	return r;
}

int exec_io_mod(struct exec_io *io, uint32_t events)
{
	int r = io_check(events);

	if (r < 0)
		return r;
	if (!io->added)
		return err_set(-ENOENT, "this descriptor is not being watched");
	if (events == io->events)
		return 0;
	r = io->x->ops->io_mod(io->x, io, events);
	if (r >= 0)
		io->events = events;
	return r;
}

void exec_io_del(struct exec_io *io)
{
	if (!io->added)
		return;
	io->added = false;
	io->x->ops->io_del(io->x, io);
}
