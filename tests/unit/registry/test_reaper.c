/* SPDX-License-Identifier: Apache-2.0 */
/* When the ports of an ended process are freed, and who hears of it. */
#include "tests/support/test.h"

#include "exec/exec.h"
#include "log.h"
#include "mem.h"
#include "registry/reaper.h"
#include "registry/simd.h"

static int exit_pipe[2]; /* stands for the pidfd: readable when the process has exited */
static unsigned n_watched, n_asked, n_freed;
static bool asked_old;

static int peer_exit_fd(void *user, pid_t pid)
{
	(void)user;
	(void)pid;
	n_watched++;
	return dup(exit_pipe[0]);
}

static void free_app(void *user, const char *app, bool old)
{
	(void)user;
	assert_string_equal(app, "sensor.1");
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
	n_watched = n_asked = n_freed = 0;
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

static void watch_end(uint32_t generation, pid_t pid, bool unclean)
{
	struct remains *m = mem_calloc(1, sizeof(*m));

	assert_non_null(m);
	*m = (struct remains){
		.app = "sensor.1", .generation = generation, .pid = pid, .unclean = unclean, .attached = true
	};
	reaper_watch(&s, m, on_freed);
	exec_sim_settle(s.x);
	assert_int_equal(n_asked, 0); /* the process lives */
}

static void watch(uint32_t generation)
{
	watch_end(generation, 7, true);
}

static void exits(void)
{
	assert_int_equal(write(exit_pipe[1], "x", 1), 1);
	exec_sim_settle(s.x);
	assert_int_equal(n_asked, 1);
}

TEST_WITH(after_the_exit_and_the_freeing, begin, end)
{
	watch(3);
	reaper_freed(&s, "sensor.1", true); /* of an earlier process of that name */
	exits();
	assert_false(asked_old);
	reaper_freed(&s, "another.1", true);
	assert_int_equal(n_freed, 0);
	reaper_freed(&s, "sensor.1", true);
	assert_int_equal(n_freed, 1);
	assert_true(list_empty(&s.reapers));
}

TEST_WITH(not_where_it_failed, begin, end)
{
	watch(3);
	exits();
	reaper_freed(&s, "sensor.1", false);
	assert_int_equal(n_freed, 0);
	assert_true(list_empty(&s.reapers));
}

TEST_WITH(not_of_an_earlier_generation, begin, end)
{
	watch(2);
	exits();
	assert_true(asked_old);
	reaper_freed(&s, "sensor.1", true);
	assert_int_equal(n_freed, 0);
}

TEST_WITH(not_where_the_generation_ends_meanwhile, begin, end)
{
	watch(3);
	exits();
	s.dataplane.generation = 4;
	reaper_freed(&s, "sensor.1", true);
	assert_int_equal(n_freed, 0);
}

/* Sessions of one process under one name: one descriptor, and an unclean end is not forgotten for a clean one. */
TEST_WITH(once_for_a_process, begin, end)
{
	for (int i = 0; i < 100; i++)
		watch_end(3, 7, i == 50);
	assert_int_equal(n_watched, 1);
	exits();
	reaper_freed(&s, "sensor.1", true);
	assert_int_equal(n_freed, 1);
	assert_true(list_empty(&s.reapers));
}

TEST_WITH(no_more_processes_than_the_bound, begin, end)
{
	log_set_spec("none");
	for (int i = 0; i < REAPERS_MAX + 10; i++)
		watch_end(3, 10 + i, true);
	assert_int_equal(list_count(&s.reapers), REAPERS_MAX);
}

TEST_GROUP(NULL, NULL)
