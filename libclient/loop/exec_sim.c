/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct exec in virtual time: one thread; a seed chooses which of the ready callbacks (the oldest
 * post, the first due timer, each ready descriptor; timers due at the same time in a seeded order)
 * runs next; when none is ready, time jumps to the next timer.
 * The same seed and the same behaviour of the peers give the same run.
 *
 * Thread: one, except exec_post(), exec_now() and exec_quit().
 */
#include "exec_private.h"

#include "err.h"
#include "mem.h"
#include "rnd.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define CALLBACKS_MAX 10000000 /* at one instant of virtual time */

_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR && EPOLLHUP == POLLHUP &&
		       EPOLLRDHUP == POLLRDHUP && EPOLLPRI == POLLPRI,
	       "poll and epoll share their bits");

struct exec_sim {
	struct exec x;
	_Atomic int64_t now_mono_ns;
	struct rnd rnd;
	struct exec_io **ios; /* in the order they were added */
	struct pollfd *polls; /* polls[i] belongs to ios[i] */
	unsigned n_ios, max_ios;
};

static struct exec_sim *virt_of(struct exec *x)
{
	return (struct exec_sim *)x;
}

static int64_t virt_now(struct exec *x)
{
	return atomic_load_explicit(&virt_of(x)->now_mono_ns, memory_order_relaxed);
}

static uint64_t virt_tie(struct exec *x)
{
	return rnd_u64(&virt_of(x)->rnd);
}

static void virt_spin(struct exec *x, int64_t dur_ns)
{
	(void)x;
	(void)dur_ns;
}

static void virt_wake(struct exec *x)
{
	(void)x;
}

/* ---- descriptors ---- */

static int ios_grow(struct exec_sim *s)
{
	unsigned max = s->max_ios ? 2 * s->max_ios : 16;
	struct exec_io **ios = mem_realloc(s->ios, max * sizeof(*ios));
	struct pollfd *polls;

	if (!ios)
		return err_nomem();
	s->ios = ios;
	polls = mem_realloc(s->polls, max * sizeof(*polls));
	if (!polls)
		return err_nomem();
	s->polls = polls;
	s->max_ios = max;
	return 0;
}

static int virt_io_add(struct exec *x, struct exec_io *io)
{
	struct exec_sim *s = virt_of(x);

	for (unsigned i = 0; i < s->n_ios; i++)
		if (s->polls[i].fd == io->fd)
			return err_set(-EEXIST, "descriptor %d is being watched already", io->fd);
	if (s->n_ios == s->max_ios) {
		int r = ios_grow(s);

		if (r < 0)
			return r;
	}
	s->ios[s->n_ios] = io;
	s->polls[s->n_ios] = (struct pollfd){ .fd = io->fd, .events = (short)io->events };
	s->n_ios++;
	return 0;
}

static unsigned io_index(const struct exec_sim *s, const struct exec_io *io)
{
	unsigned i = 0;

	while (i < s->n_ios && s->ios[i] != io)
		i++;
	return i;
}

static int virt_io_mod(struct exec *x, struct exec_io *io, uint32_t events)
{
	struct exec_sim *s = virt_of(x);

	s->polls[io_index(s, io)].events = (short)events;
	return 0;
}

static void virt_io_del(struct exec *x, struct exec_io *io)
{
	struct exec_sim *s = virt_of(x);
	unsigned i = io_index(s, io);

	if (i == s->n_ios)
		return;
	s->n_ios--;
	memmove(&s->ios[i], &s->ios[i + 1], (s->n_ios - i) * sizeof(s->ios[0]));
	memmove(&s->polls[i], &s->polls[i + 1], (s->n_ios - i) * sizeof(s->polls[0]));
}

static uint32_t revents_of(const struct pollfd *p)
{
	/* POLLNVAL: closed while watched; epoll would have dropped it silently */
	return (uint32_t)(unsigned short)(p->revents & ~POLLNVAL);
}

static unsigned ios_ready(struct exec_sim *s)
{
	unsigned n = 0;

	if (!s->n_ios || poll(s->polls, s->n_ios, 0) <= 0)
		return 0;
	for (unsigned i = 0; i < s->n_ios; i++)
		n += revents_of(&s->polls[i]) != 0;
	return n;
}

/* Reads the eventfd, since poll() has no edges. */
static void read_bell(int fd)
{
	uint64_t n;

	(void)!read(fd, &n, sizeof(n));
}

static void io_fire(struct exec_sim *s, unsigned nth)
{
	for (unsigned i = 0; i < s->n_ios; i++) {
		if (!revents_of(&s->polls[i]) || nth--)
			continue;
		if (s->ios[i]->events == EXEC_BELL)
			read_bell(s->ios[i]->fd);
		s->ios[i]->fn(s->ios[i]->arg, revents_of(&s->polls[i]));
		return;
	}
}

/* ---- running ---- */

int exec_sim_one(struct exec *x)
{
	struct exec_sim *s = virt_of(x);
	struct exec_timer *first = exec_timer_first(x);
	bool due = first && first->due.at_ns <= virt_now(x), post = exec_post_waiting(x);
	unsigned ready = ios_ready(s), n = ready + due + post, pick;

	if (!n)
		return 0;
	pick = n > 1 ? rnd_below(&s->rnd, n) : 0;
	if (pick < ready)
		io_fire(s, pick);
	else if (pick == ready && due)
		exec_timer_fire(first);
	else
		exec_post_one(x);
	return 1;
}

static bool quitting(struct exec *x)
{
	return atomic_load_explicit(&x->quit, memory_order_acquire);
}

int exec_sim_settle(struct exec *x)
{
	int n = 0;

	while (!quitting(x) && exec_sim_one(x))
		if (++n >= CALLBACKS_MAX)
			return err_set(-ELOOP,
				       "%d callbacks ran without time moving: does somebody leave a descriptor "
				       "readable, or arm a timer for now, again and again?",
				       n);
	return n;
}

/* Moves time to the next timer up to the limit; false: there is none. */
static bool jump(struct exec *x, int64_t until_mono_ns)
{
	struct exec_timer *first = exec_timer_first(x);

	if (!first || first->due.at_ns > until_mono_ns)
		return false;
	if (first->due.at_ns > virt_now(x))
		atomic_store_explicit(&virt_of(x)->now_mono_ns, first->due.at_ns, memory_order_relaxed);
	return true;
}

void exec_sim_spend(struct exec *x, int64_t dur_ns)
{
	atomic_fetch_add_explicit(&virt_of(x)->now_mono_ns, dur_ns, memory_order_relaxed);
}

int exec_sim_run(struct exec *x, int64_t until_mono_ns)
{
	int n = 0;

	do {
		int r = exec_sim_settle(x);

		if (r < 0)
			return r;
		n += r;
		if (atomic_exchange(&x->quit, false))
			return n;
	} while (jump(x, until_mono_ns));
	if (until_mono_ns > virt_now(x))
		atomic_store_explicit(&virt_of(x)->now_mono_ns, until_mono_ns, memory_order_relaxed);
	return n;
}

static int virt_run(struct exec *x)
{
	do {
		int r = exec_sim_settle(x);

		if (r < 0)
			return r;
		if (atomic_exchange(&x->quit, false))
			return 0;
	} while (jump(x, INT64_MAX));
	return err_set(-EDEADLK,
		       "virtual time has ended: nothing is ready, no timer is armed and nobody asked to quit");
}

static int virt_turn(struct exec *x, int64_t *ret_due_mono_ns)
{
	int r = exec_sim_settle(x);
	const struct exec_timer *first = exec_timer_first(x);

	if (r < 0)
		return r;
	*ret_due_mono_ns = first ? first->due.at_ns : INT64_MAX;
	return 0;
}

static int virt_fd(const struct exec *x)
{
	(void)x;
	return err_set(-EOPNOTSUPP, "virtual time has no descriptor");
}

static bool virt_is_mine(struct exec *x)
{
	(void)x;
	return true;
}

static void virt_destroy(struct exec *x)
{
	struct exec_sim *s = virt_of(x);

	mem_free(s->ios);
	mem_free(s->polls);
	mem_free(s);
}

static const struct exec_ops virt_ops = {
	.now = virt_now,
	.tie = virt_tie,
	.spin = virt_spin,
	.wake = virt_wake,
	.io_add = virt_io_add,
	.io_mod = virt_io_mod,
	.io_del = virt_io_del,
	.run = virt_run,
	.turn = virt_turn,
	.fd = virt_fd,
	.is_mine = virt_is_mine,
	.destroy = virt_destroy,
	.is_virtual = true,
};

int exec_sim_create(uint64_t seed, int64_t start_mono_ns, struct exec **ret)
{
	struct exec_sim *s = MEM_NEW(struct exec_sim);

	if (!s)
		return err_nomem();
	s->x.ops = &virt_ops;
	rnd_seed(&s->rnd, seed);
	atomic_store_explicit(&s->now_mono_ns, start_mono_ns, memory_order_relaxed);
	*ret = &s->x;
	return 0;
}
