/* SPDX-License-Identifier: Apache-2.0 */
/* When the ports of an ended process are freed, and which code is notified. */
#include "tests/support/test.h"

#include <errno.h>

#include "exec.h"
#include "mem.h"
#include "registry/client.h"
#include "registry/reaper.h"
#include "registry/simd.h"

static int exit_pipe[2]; /* stands for the pidfd: readable when the process has exited */
static unsigned n_watched, n_asked, n_freed, n_hung_up;
static bool asked_old;
static int watch_result; /* negative: of the watch */

static int peer_exit_fd(void *user, int sock, int64_t connected_mono_ns)
{
	(void)user;
	(void)sock;
	(void)connected_mono_ns;
	if (watch_result < 0)
		return watch_result;
	n_watched++;
	return dup(exit_pipe[0]);
}

static void free_app(void *user, const char *app, bool old)
{
	(void)user;
	assert_string_equal(app, "sensor");
	n_asked++;
	asked_old = old;
}

static void on_freed(struct simd *s, const struct remains *m)
{
	(void)s;
	assert_true(m->unclean);
	n_freed++;
}

static const struct simd_ops ops = { .peer_exit_fd = peer_exit_fd, .free_app = free_app };
static struct simd s;

static int begin(void **state)
{
	(void)state;
	s = (struct simd){ .ops = &ops, .dataplane = { .generation = 3, .ready = true } };
	list_init(&s.reapers);
	list_init(&s.clients);
	n_watched = n_asked = n_freed = n_hung_up = 0;
	watch_result = 0;
	assert_int_equal(pipe(exit_pipe), 0);
	return exec_sim_create(1, 0, &s.x);
}

static int end(void **state)
{
	(void)state;
	reaper_finish(&s);
	assert_true(list_empty(&s.reapers));
	exec_destroy(s.x);
	close(exit_pipe[0]);
	close(exit_pipe[1]);
	return 0;
}

static struct reaper *session(pid_t pid)
{
	struct reaper *r;

	assert_int_equal(reaper_get(&s, pid, -1, 0, &r), 0);
	return r;
}

static struct remains *of(uint32_t generation, uint32_t channels)
{
	struct remains *m = mem_calloc(1, sizeof(*m) + channels * sizeof(m->channels[0]));

	assert_non_null(m);
	*m = (struct remains){
		.app = "sensor", .generation = generation, .unclean = true, .freed = on_freed, .n_channels = channels
	};
	return m;
}

static void watch(uint32_t generation)
{
	struct reaper *r = session(7);

	reaper_add(r, of(generation, 0));
	reaper_put(r);
	exec_sim_settle(s.x);
	assert_int_equal(n_asked, 0); /* the process lives */
}

static void exits(void)
{
	assert_int_equal(write(exit_pipe[1], "x", 1), 1);
	exec_sim_settle(s.x);
}

TEST_WITH(remains_are_reported_after_the_exit_and_the_freeing, begin, end)
{
	watch(3);
	reaper_freed(&s, "sensor", true); /* of an earlier process of that name */
	exits();
	assert_int_equal(n_asked, 1);
	assert_false(asked_old);
	reaper_freed(&s, "another", true);
	assert_int_equal(n_freed, 0);
	reaper_freed(&s, "sensor", true);
	assert_int_equal(n_freed, 1);
	assert_true(list_empty(&s.reapers));
}

TEST_WITH(remains_are_not_reported_if_freeing_failed, begin, end)
{
	watch(3);
	exits();
	reaper_freed(&s, "sensor", false);
	assert_int_equal(n_asked, 1);
	assert_int_equal(n_freed, 0);
	assert_true(list_empty(&s.reapers));
}

TEST_WITH(remains_of_an_earlier_generation_are_not_reported, begin, end)
{
	watch(2);
	exits();
	assert_true(asked_old);
	reaper_freed(&s, "sensor", true);
	assert_int_equal(n_freed, 0);
	assert_true(list_empty(&s.reapers));
}

TEST_WITH(remains_are_not_reported_if_the_generation_ends_meanwhile, begin, end)
{
	watch(3);
	exits();
	s.dataplane.generation = 4;
	reaper_freed(&s, "sensor", true);
	assert_int_equal(n_asked, 1);
	assert_int_equal(n_freed, 0);
}

/* A process that connects again and again costs one descriptor, and its remains are freed once. */
TEST_WITH(a_process_is_watched_once, begin, end)
{
	struct reaper *r = session(7);

	for (int i = 0; i < 1000; i++) {
		struct reaper *again = session(7);
		struct remains *m = of(3, i == 500 ? 1 : 0);

		assert_ptr_equal(again, r);
		m->unclean = i == 500; /* is not forgotten for the clean ones */
		reaper_add(again, m);
		reaper_put(again);
	}
	assert_int_equal(n_watched, 1);
	assert_int_equal(r->n_remains, 1);
	reaper_put(r);
	assert_int_equal(list_count(&s.reapers), 1);
	assert_ptr_not_equal(session(8), r);
	exits();
	assert_int_equal(n_asked, 1);
	reaper_freed(&s, "sensor", true);
	assert_int_equal(n_freed, 1);
}

TEST_WITH(the_remains_of_a_process_are_bounded, begin, end)
{
	struct reaper *r = session(7);

	for (int i = 0; i < 1000; i++)
		reaper_add(r, of(3, 1));
	assert_int_equal(r->n_remains, REAPER_REMAINS);
}

TEST_WITH(a_process_without_remains_is_no_longer_watched, begin, end)
{
	for (int i = 0; i < 1000; i++)
		reaper_put(session(i + 1));
	assert_true(list_empty(&s.reapers));
}

TEST_WITH(processes_without_a_session_are_bounded, begin, end)
{
	for (int i = 0; i < 2 * REAPERS_IDLE; i++) {
		struct reaper *r = session(i + 1);

		reaper_add(r, of(3, 0));
		reaper_put(r);
	}
	assert_int_equal(list_count(&s.reapers), REAPERS_IDLE);
}

static void hang_up(struct client **slot)
{
	(void)slot;
	n_hung_up++;
}

/* A child that it forked keeps the socket: its sessions end all the same, and only then its ports go. */
TEST_WITH(an_exit_ends_its_sessions, begin, end)
{
	struct client one = { .hang_up = hang_up }, two = { .hang_up = hang_up }, other = { .hang_up = hang_up };

	one.process = session(7);
	two.process = session(7);
	list_append(&s.clients, &one.link);
	list_append(&s.clients, &two.link);
	list_append(&s.clients, &other.link);
	exits();
	assert_int_equal(n_hung_up, 2);
	reaper_add(one.process, of(3, 0));
	reaper_put(one.process);
	assert_int_equal(n_asked, 0);
	reaper_put(two.process);
	assert_int_equal(n_asked, 1);
}

TEST_WITH(without_a_pidfd_a_hang_up_counts_as_the_exit, begin, end)
{
	struct reaper *r;

	watch_result = -EOPNOTSUPP;
	r = session(0);
	assert_true(reaper_is_over(r));
	assert_ptr_not_equal(session(0), r); /* it may be another process */
	reaper_add(r, of(3, 0));
	reaper_put(r);
	assert_int_equal(n_asked, 1);
	watch_result = -ESRCH;
	assert_int_equal(reaper_get(&s, 7, -1, 0, &r), -ESRCH);
	watch_result = -EMFILE;
	assert_int_equal(reaper_get(&s, 7, -1, 0, &r), -EMFILE);
	assert_int_equal(list_count(&s.reapers), 2); /* the other, and the one whose ports are being freed */
}

TEST_GROUP(NULL, NULL)
