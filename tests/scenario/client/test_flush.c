/* SPDX-License-Identifier: Apache-2.0 */
/* sim_flush(): in virtual time against the real daemon; with threads in test_threads.c. */
#include "scenario/client/imu.h"

#include <errno.h>
#include <sys/mman.h>

static struct world w;
static struct bridge_peer b;
static struct client_env plain;
static bool answering; /* whenever the client waits, the bridge answers its messages */

static int wait_and_answer(void *arg, int fd, short events, int64_t timeout_dur_ns)
{
	int r = plain.wait(arg, fd, events, timeout_dur_ns);

	if (answering && bridge_next(&b, 0))
		bridge_answer(&b, 0);
	return r;
}

static int setup(void **state)
{
	(void)state;
	world_create(&w, test_seed(5), "");
	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	plain = w.env;
	w.env.wait = wait_and_answer;
	answering = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	answering = false;
	bridge_end(&b);
	world_destroy(&w);
	return 0;
}

static void queue(struct sim_publisher *p, sim_done_fn fn, void *user)
{
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, fn, user), 0);
}

TEST_WITH(a_flush_waits_for_accepted_messages, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct outcome done = { 0 };
	int64_t start;

	assert_int_equal(sim_flush(c, 0), 0); /* no message is outstanding */
	for (int i = 0; i < 5; i++)
		queue(p, on_done, &done);
	assert_int_equal(sim_flush(c, 0), -ETIMEDOUT);
	start = exec_now(w.x);
	assert_int_equal(sim_flush(c, 30 * MS), -ETIMEDOUT);
	assert_in_range(exec_now(w.x) - start, 30 * MS, 31 * MS);
	assert_int_equal(done.calls, 0);
	answering = true;
	assert_int_equal(sim_flush(c, 100 * MS), 0);
	assert_int_equal(done.calls, 5);
	assert_int_equal(done.ok, 5);

	/* a message that ends by its deadline has completed, too; messages of a destroyed publisher are waited for */
	answering = false;
	queue(p, on_done, &done);
	sim_publisher_destroy(p);
	assert_int_equal(sim_flush(c, -1), 0);
	assert_int_equal(done.calls, 6);
	assert_int_equal(done.reason, SIM_REASON_DEADLINE);
	sim_disconnect(c);
}

/*
 * The type may be in a shared object that is unloaded then: it is not read any more, though messages are still being
 * delivered.
 */
TEST_WITH(a_type_may_be_unmapped_after_its_publisher_is_destroyed, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_type *type = mmap(NULL, sizeof(*type), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct outcome done = { 0 };
	struct sim_publisher *p;

	assert_true(type != MAP_FAILED);
	*type = sim_Imu_type;
	assert_int_equal(sim_advertise(c, "imu", type, NULL, &p), 0);
	queue(p, on_done, &done);
	sim_publisher_destroy(p);
	assert_int_equal(mprotect(type, sizeof(*type), PROT_NONE), 0);
	answering = true;
	assert_int_equal(sim_flush(c, 100 * MS), 0);
	assert_int_equal(done.ok, 1);
	sim_disconnect(c);
	munmap(type, sizeof(*type));
}

/* ---- callbacks ---- */

struct stream {
	struct sim_client *c;
	struct sim_publisher *p;
	unsigned calls;
	int flushed;
};

static void go_on(void *user, bool ok, enum sim_reason reason)
{
	struct stream *s = user;

	(void)reason;
	s->calls++;
	s->flushed = sim_flush(s->c, -1);
	if (ok)
		queue(s->p, go_on, s);
}

/* Each callback sends the next message: that is not waited for. A callback itself cannot wait. */
TEST_WITH(a_flush_does_not_wait_for_messages_sent_by_callbacks, setup, teardown)
{
	struct stream s = { .c = world_client(&w, "sensor", 0) };

	s.p = imu_advertise(s.c, "imu", 0);
	answering = true;
	for (unsigned i = 1; i < 4; i++) {
		if (i == 1)
			queue(s.p, go_on, &s);
		assert_int_equal(sim_flush(s.c, -1), 0);
		assert_int_equal(s.flushed, -EDEADLK);
		assert_in_range(s.calls, i, 10 * i);
	}
	sim_publisher_destroy(s.p);
	answering = false;
	sim_disconnect(s.c);
}

/* ---- missing peers ---- */

TEST_WITH(a_killed_simd_ends_a_flush, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct outcome done = { 0 };

	queue(p, on_done, &done);
	assert_int_equal(sim_flush(c, 0), -ETIMEDOUT);
	world_kill_simd(&w);
	assert_int_equal(sim_flush(c, 10 * MS), -ENOTCONN);
	assert_int_equal(done.calls, 1);
	assert_int_equal(done.reason, SIM_REASON_LOST);
	assert_int_equal(sim_flush(c, 10 * MS), -ENOTCONN);
	world_start_simd(&w);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_flush(c, 0), 0);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

TEST_WITH(a_restart_of_the_data_plane_ends_a_flush, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct outcome done = { 0 };

	queue(p, on_done, &done);
	world_kill_roudi(&w);
	world_start_roudi(&w);
	assert_int_equal(sim_flush(c, 500 * MS), 0); /* the message has completed, with ok = false */
	assert_int_equal(done.calls, 1);
	assert_int_equal(done.reason, SIM_REASON_RESTART);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

TEST_WITH(misuse_of_flush_is_refused, setup, teardown)
{
	struct sim_client *c = world_client(&w, "tool", SIM_CLIENT_NO_DATA);

	assert_int_equal(sim_flush(NULL, 0), -EINVAL);
	assert_int_equal(sim_flush(c, 0), 0);
	sim_disconnect(c);
}
