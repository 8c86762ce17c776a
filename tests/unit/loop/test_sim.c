/* SPDX-License-Identifier: Apache-2.0 */
/* exec_sim: order, timers, seeds, descriptors. */
#include "tests/support/test.h"

#include "exec.h"
#include "rnd.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define MANY 200

struct note { /* one callback that writes down when it ran */
	struct trace *trace;
	int id;
	struct exec_timer timer;
	struct exec_post post;
};

struct trace {
	struct exec *x;
	int n, id[8 * MANY];
	int64_t at[8 * MANY];
};

static void note_run(void *arg)
{
	struct note *o = arg;
	struct trace *t = o->trace;

	t->id[t->n] = o->id;
	t->at[t->n] = exec_now(t->x);
	t->n++;
}

static struct exec *make(uint64_t seed)
{
	struct exec *x;

	assert_int_equal(exec_sim_create(seed, 1000, &x), 0);
	return x;
}

TEST(a_post_that_waits_is_not_posted_again)
{
	struct trace t = { .x = make(1) };
	struct note n = { .trace = &t };

	exec_post_init(&n.post, t.x, note_run, &n);
	exec_post(&n.post);
	exec_post(&n.post);
	assert_int_equal(exec_sim_settle(t.x), 1);
	exec_post(&n.post);
	assert_int_equal(exec_sim_settle(t.x), 1);
	exec_destroy(t.x);
}

TEST(a_cancelled_post_does_not_run)
{
	struct trace t = { .x = make(1) };
	struct exec_post none = { 0 };
	struct note notes[4];

	for (int i = 0; i < 4; i++) {
		notes[i] = (struct note){ .trace = &t, .id = i };
		exec_post_init(&notes[i].post, t.x, note_run, &notes[i]);
		exec_post(&notes[i].post);
	}
	exec_post_cancel(&notes[1].post);
	exec_post_cancel(&notes[1].post);
	exec_post_cancel(&notes[3].post); /* the last one: posts after it are not lost */
	exec_post_cancel(&none);
	exec_post(&notes[1].post);
	assert_int_equal(exec_sim_settle(t.x), 3);
	assert_int_equal(t.id[0], 0);
	assert_int_equal(t.id[1], 2);
	assert_int_equal(t.id[2], 1);
	exec_destroy(t.x);
}

TEST(posts_keep_their_order)
{
	struct trace t = { .x = make(1) };
	struct note notes[MANY];

	for (int i = 0; i < MANY; i++) {
		notes[i] = (struct note){ .trace = &t, .id = i };
		exec_post_init(&notes[i].post, t.x, note_run, &notes[i]);
		exec_post(&notes[i].post);
	}
	assert_int_equal(exec_sim_settle(t.x), MANY);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(t.id[i], i);
		assert_int_equal(t.at[i], 1000);
	}
	exec_destroy(t.x);
}

/* Random arming, re-arming and cancelling: what remains runs at its time, in order of time. */
TEST(timers_run_in_order_of_time)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct trace t = { .x = make(seed) };
		struct note notes[MANY];
		int64_t due[MANY];
		struct rnd r;
		int expected = 0;

		rnd_seed(&r, seed);
		for (int i = 0; i < MANY; i++) {
			notes[i] = (struct note){ .trace = &t, .id = i };
			exec_timer_init(&notes[i].timer, t.x, note_run, &notes[i]);
			due[i] = -1;
		}
		for (int k = 0; k < 4 * MANY; k++) {
			int i = (int)rnd_below(&r, MANY);

			if (rnd_below(&r, 4)) {
				due[i] = 1000 + (int64_t)rnd_below(&r, 500);
				exec_timer_at(&notes[i].timer, due[i]);
			} else {
				due[i] = -1;
				exec_timer_cancel(&notes[i].timer);
			}
			assert_int_equal(exec_timer_armed(&notes[i].timer), due[i] >= 0);
		}
		for (int i = 0; i < MANY; i++)
			expected += due[i] >= 0;
		assert_int_equal(exec_sim_run(t.x, 2000), expected);
		assert_int_equal(t.n, expected);
		for (int k = 0; k < t.n; k++) {
			assert_int_equal(t.at[k], due[t.id[k]]);
			assert_true(!k || t.at[k] >= t.at[k - 1]);
			due[t.id[k]] = -1; /* once only */
		}
		assert_int_equal(exec_now(t.x), 2000);
		exec_destroy(t.x);
	}
}

TEST(time_stops_at_the_limit)
{
	struct trace t = { .x = make(3) };
	struct note n = { .trace = &t, .id = 7 };

	exec_timer_init(&n.timer, t.x, note_run, &n);
	exec_timer_at(&n.timer, 5000);
	assert_int_equal(exec_sim_settle(t.x), 0);
	assert_int_equal(exec_now(t.x), 1000);
	assert_int_equal(exec_sim_run(t.x, 4999), 0);
	assert_int_equal(exec_now(t.x), 4999);
	assert_int_equal(exec_sim_run(t.x, 5000), 1);
	assert_int_equal(t.at[0], 5000);
	exec_timer_at(&n.timer, 10); /* past: as soon as possible, time does not go back */
	assert_int_equal(exec_sim_run(t.x, 5000), 1);
	assert_int_equal(t.at[1], 5000);
	exec_destroy(t.x);
}

/* A mix of posts, ties and ready descriptors: the seed decides the order, and nothing else does. */
static void run_mix(uint64_t seed, struct trace *t)
{
	struct note notes[24];

	memset(t, 0, sizeof(*t));
	t->x = make(seed);
	for (int i = 0; i < 24; i++) {
		notes[i] = (struct note){ .trace = t, .id = i };
		exec_timer_init(&notes[i].timer, t->x, note_run, &notes[i]);
		exec_post_init(&notes[i].post, t->x, note_run, &notes[i]);
		if (i % 2)
			exec_post(&notes[i].post);
		else
			exec_timer_at(&notes[i].timer, 1000);
	}
	assert_int_equal(exec_sim_settle(t->x), 24);
	exec_destroy(t->x);
}

TEST(seeds_choose_the_order)
{
	struct trace a, b;
	int different = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		run_mix(seed, &a);
		run_mix(seed, &b);
		assert_memory_equal(a.id, b.id, sizeof(a.id));
		run_mix(seed + 1, &b);
		different += memcmp(a.id, b.id, sizeof(a.id)) != 0;
	}
	assert_int_equal(different, 20);
}

struct pipe_end {
	struct exec_io io;
	struct pipe_end *other;
	int got, hup;
};

static void on_readable(void *arg, uint32_t events)
{
	struct pipe_end *p = arg;
	char c;

	if (events & EPOLLIN && read(p->io.fd, &c, 1) == 1)
		p->got += c;
	else if (events & EPOLLHUP) {
		p->hup++;
		exec_io_del(&p->io);
		exec_io_del(&p->io);
		exec_io_del(&p->other->io); /* removes another descriptor inside a callback */
	}
}

static void on_bell(void *arg, uint32_t events)
{
	assert_int_equal(events, EPOLLIN);
	++*(int *)arg;
}

TEST(a_bell_runs_once_per_write)
{
	static const uint64_t two = 2;
	struct exec *x = make(5);
	struct exec_io io = { 0 };
	int n = 0, fd = eventfd(0, EFD_NONBLOCK);

	assert_int_equal(exec_io_add(x, &io, fd, EXEC_BELL, on_bell, &n), 0);
	assert_int_equal(exec_sim_settle(x), 0);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(write(fd, &two, sizeof(two)), sizeof(two));
		assert_int_equal(exec_sim_settle(x), 1);
		assert_int_equal(n, i);
	}
	exec_destroy(x);
	close(fd);
}

TEST(descriptors_run_and_can_go_inside_callbacks)
{
	struct exec *x = make(5);
	struct pipe_end a = { 0 }, b = { 0 };
	struct exec_io again;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	a.other = &b;
	b.other = &a;
	assert_int_equal(exec_io_add(x, &a.io, fds[0], EPOLLIN, on_readable, &a), 0);
	assert_int_equal(exec_io_add(x, &b.io, fds[1], 0, on_readable, &b), 0);
	assert_int_equal(exec_io_add(x, &again, fds[0], EPOLLIN, on_readable, &a), -EEXIST);
	assert_int_equal(exec_io_add(x, &again, -1, EPOLLIN, on_readable, &a), -EBADF);
	assert_int_equal(exec_io_add(x, &again, fds[0], EPOLLOUT | EPOLLET, on_readable, &a), -EINVAL);
	assert_int_equal(write(fds[1], "\1\2", 2), 2);
	assert_int_equal(write(fds[0], "\5", 1), 1);
	assert_int_equal(exec_sim_settle(x), 2);
	assert_int_equal(a.got, 3);
	assert_int_equal(b.got, 0);
	assert_int_equal(exec_io_mod(&b.io, EPOLLIN), 0);
	assert_int_equal(exec_sim_settle(x), 1);
	assert_int_equal(b.got, 5);
	shutdown(fds[0], SHUT_RDWR); /* both ends hang up: whoever is first removes both */
	assert_int_equal(exec_sim_settle(x), 1);
	assert_int_equal(a.hup + b.hup, 1);
	exec_destroy(x);
	close(fds[0]);
	close(fds[1]);
}

static void quit_now(void *arg)
{
	exec_quit(arg);
}

TEST(running_ends_with_quit_or_says_why)
{
	struct exec *x = make(6);
	struct exec_timer t;

	assert_int_equal(exec_run(x), -EDEADLK);
	exec_timer_init(&t, x, quit_now, x);
	exec_timer_at(&t, 1000 + 3600 * INT64_C(1000000000));
	assert_int_equal(exec_run(x), 0);
	assert_int_equal(exec_now(x), 1000 + 3600 * INT64_C(1000000000));
	exec_quit(x); /* before run: the next run returns at once */
	assert_int_equal(exec_run(x), 0);
	assert_int_equal(exec_run(x), -EDEADLK);
	exec_destroy(x);
}

TEST(a_turn_runs_ready_work_without_moving_time)
{
	struct exec *x = make(7);
	struct trace t = { .x = x };
	struct note now = { .trace = &t, .id = 1 }, later = { .trace = &t, .id = 2 };
	int64_t due = 0;

	exec_timer_init(&later.timer, x, note_run, &later);
	exec_timer_at(&later.timer, 5000);
	exec_post_init(&now.post, x, note_run, &now);
	exec_post(&now.post);
	assert_int_equal(exec_turn(x, &due), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(due, 5000);
	assert_int_equal(exec_now(x), 1000);
	assert_int_equal(exec_fd(x), -EOPNOTSUPP);
	assert_int_equal(exec_sim_run(x, 6000), 1);
	assert_int_equal(exec_turn(x, &due), 0);
	assert_int_equal(due, INT64_MAX);
	exec_destroy(x);
}
