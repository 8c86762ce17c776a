/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct exec for real: one epoll loop with a timerfd (absolute, edge-triggered, so it is never read)
 * and an eventfd for posts and quit. A round runs the due timers, what was posted, then one batch of
 * descriptors, so that none of the three can starve another.
 *
 * Thread: the one that is inside exec_run() or exec_turn(); before that, the one that sets the loop up.
 */
#include "exec_private.h"

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "timeutil.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define BATCH 64

struct exec_threads {
	struct exec x;
	int epoll_fd;
	int timer_fd;
	int wake_fd;
	uint64_t order;        /* timers with the same time run in the order in which they were armed */
	int64_t armed_mono_ns; /* when timer_fd expires; INT64_MAX: never */
	struct epoll_event batch[BATCH];
	int batch_at, batch_end; /* the batch being dispatched: io_del clears the entries it removes */
	_Atomic(pthread_t) owner;
	atomic_bool running;
};

static struct exec_threads *threads_of(struct exec *x)
{
	return (struct exec_threads *)x;
}

static bool threads_is_mine(struct exec *x)
{
	struct exec_threads *t = threads_of(x);

	return atomic_load_explicit(&t->running, memory_order_acquire) &&
	       pthread_equal(atomic_load_explicit(&t->owner, memory_order_relaxed), pthread_self());
}

static void assert_owner(struct exec_threads *t)
{
	assert(!atomic_load_explicit(&t->running, memory_order_acquire) || threads_is_mine(&t->x));
	(void)t;
}

static int64_t threads_now(struct exec *x)
{
	(void)x;
	return mono_now_ns();
}

static uint64_t threads_tie(struct exec *x)
{
	assert_owner(threads_of(x));
	return ++threads_of(x)->order;
}

static void threads_spin(struct exec *x, int64_t dur_ns)
{
	int64_t end_mono_ns = mono_now_ns() + dur_ns;

	(void)x;
	while (mono_now_ns() < end_mono_ns)
		continue;
}

/* Also called by exec_quit() inside signal handlers: preserves errno and takes no lock. */
static void threads_wake(struct exec *x)
{
	int saved = errno;
	uint64_t one = 1;
	ssize_t n = write(threads_of(x)->wake_fd, &one, sizeof(one));

	(void)n; /* EAGAIN: the counter is full, so the loop is awake */
	errno = saved;
}

static int threads_io_add(struct exec *x, struct exec_io *io)
{
	struct epoll_event ev = { .events = io->events, .data.ptr = io };

	assert_owner(threads_of(x));
	if (epoll_ctl(threads_of(x)->epoll_fd, EPOLL_CTL_ADD, io->fd, &ev) < 0)
		return err_sys(-errno, "cannot watch descriptor %d", io->fd);
	return 0;
}

static int threads_io_mod(struct exec *x, struct exec_io *io, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = io };

	assert_owner(threads_of(x));
	if (epoll_ctl(threads_of(x)->epoll_fd, EPOLL_CTL_MOD, io->fd, &ev) < 0)
		return err_sys(-errno, "cannot change the watch on descriptor %d", io->fd);
	return 0;
}

static void threads_io_del(struct exec *x, struct exec_io *io)
{
	struct exec_threads *t = threads_of(x);

	assert_owner(t);
	epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL);
	for (int i = t->batch_at; i < t->batch_end; i++)
		if (t->batch[i].data.ptr == io)
			t->batch[i].data.ptr = NULL;
}

/*
 * How long to wait: for ever, because the alarm is set for the next timer, or not at all, because that one is due
 * already: setting an alarm that goes off at once would cost more than all else in the round. Only an earlier time,
 * or one behind an alarm that went off, needs the system call.
 */
static int arm(struct exec_threads *t, int64_t now_mono_ns, int *ret_timeout_ms)
{
	struct exec_timer *first = exec_timer_first(&t->x);
	struct itimerspec it = { 0 };

	if (now_mono_ns >= t->armed_mono_ns)
		t->armed_mono_ns = INT64_MAX;
	*ret_timeout_ms = first && first->due.at_ns <= now_mono_ns ? 0 : -1;
	if (!first || !*ret_timeout_ms || first->due.at_ns >= t->armed_mono_ns)
		return 0;
	it.it_value = timespec_from_ns(first->due.at_ns > 0 ? first->due.at_ns : 1);
	if (timerfd_settime(t->timer_fd, TFD_TIMER_ABSTIME, &it, NULL) < 0)
		return err_sys(-errno, "cannot set the timer of an event loop");
	t->armed_mono_ns = first->due.at_ns;
	return 0;
}

/* Timers that callbacks arm for "now" wait for the next round. */
static void run_timers(struct exec_threads *t, int64_t now_mono_ns)
{
	uint64_t last = t->order;
	struct exec_timer *first;

	while ((first = exec_timer_first(&t->x)) && first->due.at_ns <= now_mono_ns && first->due.order <= last)
		exec_timer_fire(first);
}

static void run_events(struct exec_threads *t)
{
	for (; t->batch_at < t->batch_end; t->batch_at++) {
		struct epoll_event *ev = &t->batch[t->batch_at];
		uint64_t n;

		if (ev->data.ptr == &t->wake_fd) {
			if (read(t->wake_fd, &n, sizeof(n)) < 0)
				continue;
		} else if (ev->data.ptr && ev->data.ptr != &t->timer_fd) {
			struct exec_io *io = ev->data.ptr;

			io->fn(io->arg, ev->events);
		}
	}
	t->batch_at = t->batch_end = 0;
}

static int wait_events(struct exec_threads *t, int timeout_ms)
{
	int n = epoll_wait(t->epoll_fd, t->batch, BATCH, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : err_sys(-errno, "an event loop cannot wait");
	t->batch_at = 0;
	t->batch_end = n;
	run_events(t);
	return 0;
}

static int threads_round(struct exec_threads *t)
{
	int64_t now_mono_ns = mono_now_ns();
	int r, timeout_ms;

	run_timers(t, now_mono_ns);
	exec_post_batch(&t->x);
	r = arm(t, now_mono_ns, &timeout_ms);
	return r < 0 ? r : wait_events(t, timeout_ms);
}

/* Acquire and release: a turn on another thread sees what this one has done. */
static void own(struct exec_threads *t)
{
	bool was = atomic_exchange_explicit(&t->running, true, memory_order_acq_rel);

	assert(!was);
	(void)was;
	atomic_store_explicit(&t->owner, pthread_self(), memory_order_relaxed);
}

static void disown(struct exec_threads *t)
{
	atomic_store_explicit(&t->running, false, memory_order_release);
}

/*
 * Descriptors come first: a post from then on leaves the descriptor readable, because its wake-up is not read. The
 * alarm is set last, for timers that were armed meanwhile; a timer that is already due counts as a post.
 */
static int threads_turn(struct exec *x, int64_t *ret_due_mono_ns)
{
	struct exec_threads *t = threads_of(x);
	const struct exec_timer *first;
	int r, timeout_ms = -1;

	own(t);
	r = wait_events(t, 0);
	run_timers(t, mono_now_ns());
	exec_post_batch(x);
	if (r >= 0)
		r = arm(t, mono_now_ns(), &timeout_ms);
	if (timeout_ms == 0)
		threads_wake(x);
	first = exec_timer_first(x);
	if (r >= 0)
		*ret_due_mono_ns = first ? first->due.at_ns : INT64_MAX;
	disown(t);
	return r;
}

static int threads_fd(const struct exec *x)
{
	return ((const struct exec_threads *)x)->epoll_fd;
}

static int threads_run(struct exec *x)
{
	struct exec_threads *t = threads_of(x);
	int r = 0;

	own(t);
	while (r >= 0 && !atomic_load_explicit(&x->quit, memory_order_acquire))
		r = threads_round(t);
	atomic_store_explicit(&x->quit, false, memory_order_relaxed);
	disown(t);
	return r < 0 ? r : 0;
}

static void threads_destroy(struct exec *x)
{
	struct exec_threads *t = threads_of(x);

	fd_close(t->timer_fd);
	fd_close(t->wake_fd);
	fd_close(t->epoll_fd);
	mem_free(t);
}

static const struct exec_ops threads_ops = {
	.now = threads_now,
	.tie = threads_tie,
	.spin = threads_spin,
	.wake = threads_wake,
	.io_add = threads_io_add,
	.io_mod = threads_io_mod,
	.io_del = threads_io_del,
	.run = threads_run,
	.turn = threads_turn,
	.fd = threads_fd,
	.is_mine = threads_is_mine,
	.destroy = threads_destroy,
};

static int open_fds(struct exec_threads *t)
{
	struct epoll_event timer = { .events = EPOLLIN | EPOLLET, .data.ptr = &t->timer_fd };
	struct epoll_event wake = { .events = EPOLLIN, .data.ptr = &t->wake_fd };

	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	t->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->epoll_fd < 0 || t->timer_fd < 0 || t->wake_fd < 0 ||
	    epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, t->timer_fd, &timer) < 0 ||
	    epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, t->wake_fd, &wake) < 0)
		return err_sys(-errno, "cannot open the descriptors of an event loop");
	return 0;
}

int exec_threads_create(struct exec **ret)
{
	struct exec_threads *t = MEM_NEW(struct exec_threads);
	int r;

	if (!t)
		return err_nomem();
	t->epoll_fd = t->timer_fd = t->wake_fd = -1;
	t->armed_mono_ns = INT64_MAX;
	t->x.ops = &threads_ops;
	r = open_fds(t);
	if (r < 0) {
		threads_destroy(&t->x);
		return r;
	}
	*ret = &t->x;
	return 0;
}
