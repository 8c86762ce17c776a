/* SPDX-License-Identifier: Apache-2.0 */
/* exec_threads: posts from many threads, timers, descriptors that go inside callbacks, quit from a signal. */
#include "tests/support/test.h"

#include "exec.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define THREADS 4
#define POSTS   2000

static struct exec *make(void)
{
	struct exec *x;

	assert_int_equal(exec_threads_create(&x), 0);
	return x;
}

struct poster {
	struct counter *counter;
	int next; /* the post of this thread that must run next: order is kept per thread */
	int sent;
	pthread_t thread;
};

struct counter {
	struct exec *x;
	int total, wrong;
	struct poster posters[THREADS];
};

struct one_post {
	struct exec_post post;
	struct poster *from;
	int number;
};

static void count_post(void *arg)
{
	struct one_post *p = arg;
	struct counter *c = p->from->counter;

	c->wrong += p->from->next++ != p->number;
	if (++c->total == THREADS * POSTS)
		exec_quit(c->x);
}

static void *post_many(void *arg)
{
	static struct one_post items[THREADS][POSTS];
	struct poster *p = arg;
	struct one_post *mine = items[p - p->counter->posters];

	for (int i = 0; i < POSTS; i++) {
		mine[i] = (struct one_post){ .from = p, .number = i };
		exec_post_init(&mine[i].post, p->counter->x, count_post, &mine[i]);
		exec_post(&mine[i].post);
	}
	return NULL;
}

TEST(posts_from_threads_all_run)
{
	struct counter c = { .x = make() };

	for (int i = 0; i < THREADS; i++) {
		c.posters[i].counter = &c;
		assert_int_equal(pthread_create(&c.posters[i].thread, NULL, post_many, &c.posters[i]), 0);
	}
	assert_int_equal(exec_run(c.x), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(c.posters[i].thread, NULL);
	assert_int_equal(c.total, THREADS * POSTS);
	assert_int_equal(c.wrong, 0);
	exec_destroy(c.x);
}

struct chain {
	struct exec *x;
	struct exec_timer timer, never, far;
	struct exec_post start;
	int left, early, started;
	int64_t due;
};

static void chain_step(void *arg)
{
	struct chain *c = arg;

	c->early += exec_now(c->x) < c->due;
	if (!c->left--) {
		exec_quit(c->x);
		return;
	}
	/* now and then one in the past, one for now, one a little later */
	c->due = exec_now(c->x) + (c->left % 3 - 1) * 50000;
	exec_timer_at(&c->timer, c->due);
	exec_timer_at(&c->never, c->due - 1000);
	exec_timer_cancel(&c->never);
}

static void never_runs(void *arg)
{
	(void)arg;
	fail_msg("a cancelled timer ran");
}

/* One round later, when only the far timer is set. */
static void chain_start(void *arg)
{
	struct chain *c = arg;

	if (!c->started++)
		exec_post(&c->start);
	else
		chain_step(c);
}

TEST(timers_are_never_early_and_near_ones_come_first)
{
	struct chain c = { .x = make(), .left = 300 };

	exec_timer_init(&c.timer, c.x, chain_step, &c);
	exec_timer_init(&c.never, c.x, never_runs, &c);
	exec_timer_init(&c.far, c.x, never_runs, &c);
	exec_timer_at(&c.far, exec_now(c.x) + 3600 * INT64_C(1000000000));
	exec_post_init(&c.start, c.x, chain_start, &c);
	exec_post(&c.start);
	assert_int_equal(exec_run(c.x), 0);
	assert_int_equal(c.early, 0);
	exec_destroy(c.x);
}

#define PAIRS 20

struct watch {
	struct exec_io io;
	struct all *all;
	int peer;
};

struct all {
	struct exec *x;
	struct watch w[PAIRS];
	int ran;
};

/* The first that runs removes, closes and frees all the others, which are ready in the same batch. */
static void remove_all(void *arg, uint32_t events)
{
	struct watch *w = arg;
	struct all *all = w->all;

	(void)events;
	all->ran++;
	for (int i = 0; i < PAIRS; i++) {
		exec_io_del(&all->w[i].io);
		close(all->w[i].io.fd);
		close(all->w[i].peer);
		memset(&all->w[i], 0xa5, sizeof(all->w[i]));
	}
	exec_quit(all->x);
}

TEST(removed_descriptors_are_silent)
{
	struct all all = { .x = make() };

	for (int i = 0; i < PAIRS; i++) {
		struct watch *w = &all.w[i];
		int fds[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
		w->all = &all;
		w->peer = fds[1];
		assert_int_equal(exec_io_add(all.x, &w->io, fds[0], EPOLLIN, remove_all, w), 0);
		assert_int_equal(write(fds[1], "x", 1), 1);
	}
	assert_int_equal(exec_run(all.x), 0);
	assert_int_equal(all.ran, 1);
	exec_destroy(all.x);
}

struct busy { /* a timer that is due again as soon as it has run, until the two others have run */
	struct exec *x;
	struct exec_timer again, later;
	struct exec_io io;
	int turns, reads;
	bool late;
};

static void once_more(void *arg)
{
	struct busy *b = arg;

	b->turns++;
	if (!b->late || !b->reads)
		exec_timer_at(&b->again, exec_now(b->x));
	else
		exec_timer_at(&b->later, exec_now(b->x) + 1000000); /* alone: now the loop has to sleep for it */
}

static void was_read(void *arg, uint32_t events)
{
	struct busy *b = arg;

	(void)events;
	b->reads++;
	exec_io_del(&b->io);
}

static void later(void *arg)
{
	struct busy *b = arg;

	if (exec_timer_armed(&b->again))
		b->late = true;
	else
		exec_quit(b->x);
}

TEST(a_timer_that_is_due_at_once_starves_no_other_work)
{
	struct busy b = { .x = make() };
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(exec_io_add(b.x, &b.io, fds[0], EPOLLIN, was_read, &b), 0);
	exec_timer_init(&b.again, b.x, once_more, &b);
	exec_timer_init(&b.later, b.x, later, &b);
	exec_timer_at(&b.later, exec_now(b.x) + 2000000);
	exec_timer_at(&b.again, exec_now(b.x));
	assert_int_equal(exec_run(b.x), 0);
	assert_int_equal(b.reads, 1);
	assert_true(b.late && b.turns > 1);
	close(fds[0]);
	close(fds[1]);
	exec_destroy(b.x);
}

struct bell {
	struct exec *x;
	struct exec_io io;
	struct exec_timer timer;
	int fd, rings, heard;
};

static void heard(void *arg, uint32_t events)
{
	struct bell *b = arg;

	assert_int_equal(events & EPOLLIN, EPOLLIN);
	b->heard++;
}

/* Then some time without a ring. */
static void ring(void *arg)
{
	static const uint64_t one = 1;
	struct bell *b = arg;

	if (b->rings == 3) {
		exec_quit(b->x);
		return;
	}
	exec_timer_at(&b->timer, exec_now(b->x) + 2000000);
	assert_int_equal(write(b->fd, &one, sizeof(one)), sizeof(one));
	b->rings++;
}

TEST(a_bell_runs_once_per_ring)
{
	struct bell b = { .x = make(), .fd = eventfd(0, EFD_NONBLOCK) };

	assert_int_equal(exec_io_add(b.x, &b.io, b.fd, EXEC_BELL, heard, &b), 0);
	exec_timer_init(&b.timer, b.x, ring, &b);
	ring(&b);
	assert_int_equal(exec_run(b.x), 0);
	assert_int_equal(b.heard, 3);
	exec_destroy(b.x);
	close(b.fd);
}

static struct exec *signal_exec; /* what the handler ends */

static void on_signal(int sig)
{
	(void)sig;
	exec_quit(signal_exec);
}

static void raise_it(void *arg)
{
	(void)arg;
	raise(SIGUSR1);
}

TEST(quit_works_from_a_signal_handler)
{
	struct sigaction sa = { .sa_handler = on_signal }, old;
	struct exec_post post;

	signal_exec = make();
	assert_int_equal(sigaction(SIGUSR1, &sa, &old), 0);
	exec_post_init(&post, signal_exec, raise_it, NULL);
	exec_post(&post);
	assert_int_equal(exec_run(signal_exec), 0);
	sigaction(SIGUSR1, &old, NULL);
	exec_destroy(signal_exec);
}

static void *quit_thread(void *arg)
{
	exec_quit(arg);
	return NULL;
}

TEST(quit_works_from_a_thread_and_before_run)
{
	struct exec *x = make();
	pthread_t t;

	exec_quit(x);
	assert_int_equal(exec_run(x), 0);
	assert_int_equal(pthread_create(&t, NULL, quit_thread, x), 0);
	assert_int_equal(exec_run(x), 0);
	pthread_join(t, NULL);
	exec_destroy(x);
}

struct nested {           /* one exec in an epoll, whose turns several threads take */
	struct counter c; /* first */
	struct exec_timer timer;
	int epoll_fd, stop_fd, timers;
};

/* Inside a turn: sees what another thread's turn has counted. */
static void count(struct nested *n)
{
	if (++n->c.total == THREADS * POSTS + 1)
		assert_int_equal(write(n->stop_fd, &(uint64_t){ 1 }, sizeof(uint64_t)), sizeof(uint64_t));
}

static void tick(void *arg)
{
	struct nested *n = arg;

	if (++n->timers < 500)
		exec_timer_at(&n->timer, exec_now(n->c.x) + n->timers % 3 * 20000);
	else
		count(n);
}

static void watch_again(const struct nested *n, int op)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLONESHOT, .data.ptr = n->c.x };

	assert_int_equal(epoll_ctl(n->epoll_fd, op, exec_fd(n->c.x), &ev), 0);
}

static void *take_turns(void *arg)
{
	struct nested *n = arg;
	struct epoll_event ev;
	int64_t due;

	for (;;) {
		assert_int_equal(epoll_wait(n->epoll_fd, &ev, 1, -1), 1);
		if (!ev.data.ptr)
			return NULL;
		assert_int_equal(exec_turn(n->c.x, &due), 0);
		watch_again(n, EPOLL_CTL_MOD);
	}
}

static void count_only(void *arg)
{
	struct one_post *p = arg;

	p->from->counter->wrong += p->from->next++ != p->number;
	count((struct nested *)(void *)p->from->counter);
}

static void *post_more(void *arg)
{
	static struct one_post items[THREADS][POSTS];
	struct poster *p = arg;
	struct one_post *mine = items[p - p->counter->posters];

	for (int i = 0; i < POSTS; i++) {
		mine[i] = (struct one_post){ .from = p, .number = i };
		exec_post_init(&mine[i].post, p->counter->x, count_only, &mine[i]);
		exec_post(&mine[i].post);
	}
	return NULL;
}

/* Posts and timers, all of them, each thread's in order; the plain counters show that turns never overlap. */
TEST(turns_of_many_threads_lose_nothing)
{
	struct nested n = { .c.x = make(), .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
	struct epoll_event stop = { .events = EPOLLIN };
	pthread_t workers[THREADS];

	n.stop_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(epoll_ctl(n.epoll_fd, EPOLL_CTL_ADD, n.stop_fd, &stop), 0);
	exec_timer_init(&n.timer, n.c.x, tick, &n);
	exec_timer_at(&n.timer, 0);
	assert_int_equal(exec_turn(n.c.x, &(int64_t){ 0 }), 0);
	watch_again(&n, EPOLL_CTL_ADD);
	for (int i = 0; i < THREADS; i++) {
		n.c.posters[i].counter = &n.c;
		assert_int_equal(pthread_create(&workers[i], NULL, take_turns, &n), 0);
		assert_int_equal(pthread_create(&n.c.posters[i].thread, NULL, post_more, &n.c.posters[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(n.c.posters[i].thread, NULL);
		pthread_join(workers[i], NULL);
	}
	assert_int_equal(n.c.wrong, 0);
	assert_int_equal(n.timers, 500);
	close(n.stop_fd);
	close(n.epoll_fd);
	exec_destroy(n.c.x);
}

static bool readable(const struct exec *x, int timeout_ms)
{
	struct pollfd p = { .fd = exec_fd(x), .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

static void count_turn(void *arg)
{
	++*(int *)arg;
}

struct again {
	struct exec_post post;
	int left;
};

static void post_again(void *arg)
{
	struct again *a = arg;

	if (a->left--)
		exec_post(&a->post);
}

TEST(work_left_by_a_turn_makes_the_descriptor_readable)
{
	struct again a = { .left = 3 };
	struct exec *x = make();
	int64_t due;

	exec_post_init(&a.post, x, post_again, &a);
	exec_post(&a.post);
	for (int i = 0; i < 4; i++) {
		assert_true(readable(x, 0));
		assert_int_equal(exec_turn(x, &due), 0);
		assert_int_equal(a.left, 2 - i);
	}
	assert_false(readable(x, 0));
	exec_destroy(x);
}

TEST(a_turn_does_not_wait_and_says_when_the_next_is_due)
{
	struct exec *x = make();
	struct exec_post post;
	struct exec_timer t;
	int64_t due, soon;
	int n = 0;

	exec_timer_init(&t, x, count_turn, &n);
	assert_int_equal(exec_turn(x, &due), 0);
	assert_int_equal(due, INT64_MAX);
	assert_false(readable(x, 0));
	exec_post_init(&post, x, count_turn, &n);
	exec_post(&post);
	assert_true(readable(x, 0));
	soon = exec_now(x) + 20000000;
	exec_timer_at(&t, soon);
	assert_int_equal(exec_turn(x, &due), 0);
	assert_int_equal(n, 1);
	assert_int_equal(due, soon);
	assert_true(readable(x, -1)); /* the alarm; no quit or post woke it */
	assert_true(exec_now(x) >= soon);
	assert_int_equal(exec_turn(x, &due), 0);
	assert_int_equal(n, 2);
	exec_destroy(x);
}

static struct exec *called;
static int n_calls;

static void count_call(void *arg)
{
	n_calls++;
	if (arg) /* from inside: at once */
		exec_call(called, count_call, NULL);
}

static void *run_called(void *arg)
{
	assert_int_equal(exec_run(arg), 0);
	return NULL;
}

/* The calling thread goes on when the function has returned. */
TEST(exec_call_waits_for_its_function)
{
	pthread_t thread;

	called = make();
	assert_int_equal(pthread_create(&thread, NULL, run_called, called), 0);
	for (int i = 1; i <= 1000; i++) {
		exec_call(called, count_call, called);
		assert_int_equal(n_calls, 2 * i);
	}
	exec_quit(called);
	pthread_join(thread, NULL);
	exec_destroy(called);
}

TEST(bad_descriptors_are_errors)
{
	struct exec *x = make();
	struct exec_io io = { 0 };

	assert_int_equal(exec_io_add(x, &io, -1, EPOLLIN, remove_all, NULL), -EBADF);
	assert_int_equal(exec_io_add(x, &io, 0, EPOLLIN | EPOLLONESHOT, remove_all, NULL), -EINVAL);
	assert_int_equal(exec_io_mod(&io, EPOLLIN), -ENOENT);
	exec_io_del(&io);
	exec_destroy(x);
}
