/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common half of struct exec: timers in a queue and posted functions; the links of both live in
 * their owners' objects.
 *
 * Thread: the exec's, except exec_now, exec_post, exec_call and exec_quit (any).
 */
#include "exec_private.h"

#include "err.h"
#include "list.h"

#include <errno.h>
#include <semaphore.h>
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

/* The reader clears `waiting` before it calls fn: a writer that finds it set has already queued its work, so fn will see it. */
void exec_post(struct exec_post *p)
{
	struct exec *x = p->x; /* p may be freed as soon as it is in the inbox */

	if (!atomic_exchange(&p->waiting, true) && inbox_put(&x->posted, &p->item))
		x->ops->wake(x);
}

/* Moves the inbox to x->posts, oldest first; returns how many were moved. */
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

struct exec_wait {
	struct exec_post post;
	exec_fn fn;
	void *arg;
	sem_t done;
};

static void run_for(void *arg)
{
	struct exec_wait *w = arg;

	w->fn(w->arg);
	sem_post(&w->done);
}

void exec_call(struct exec *x, exec_fn fn, void *arg)
{
	struct exec_wait w = { .fn = fn, .arg = arg };

	if (x->ops->is_mine(x)) {
		fn(arg);
		return;
	}
	sem_init(&w.done, 0, 0);
	exec_post_init(&w.post, x, run_for, &w);
	exec_post(&w.post);
	while (sem_wait(&w.done) < 0 && errno == EINTR)
		continue;
	sem_destroy(&w.done);
}

/* ---- timers ---- */

void exec_timer_init(struct exec_timer *t, struct exec *x, exec_fn fn, void *arg)
{
	*t = (struct exec_timer){ .x = x, .fn = fn, .arg = arg };
}

void exec_timer_at(struct exec_timer *t, int64_t due_mono_ns)
{
	due_add(&t->x->timers, &t->due, due_mono_ns, t->x->ops->tie(t->x));
}

void exec_timer_cancel(struct exec_timer *t)
{
	if (t->due.queued)
		due_remove(&t->x->timers, &t->due);
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
