/* SPDX-License-Identifier: Apache-2.0 */
/* System calls for a single message and for a step, by the process that makes them. Waiting itself is not counted. */
#include "scenario/client/imu.h"

#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 20
#define PEERS  4

static struct world w;
static struct bridge_peer b;

static struct {
	unsigned recv, recvmsg, recvmmsg, send, sendmsg, write, empty;
} calls;

/* Linked with --wrap. */
#define WRAP(type, name, params, args) \
	__typeof__(name) __real_##name, __wrap_##name; \
	type __wrap_##name params \
	{ \
		type r = __real_##name args; \
\
		calls.name++; \
		calls.empty += r < 0; \
		return r; \
	}

WRAP(ssize_t, recv, (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags))
WRAP(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags))
WRAP(int, recvmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *t), (fd, m, n, flags, t))
WRAP(ssize_t, send, (int fd, const void *buf, size_t n, int flags), (fd, buf, n, flags))
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
WRAP(ssize_t, write, (int fd, const void *buf, size_t n), (fd, buf, n))

static void one(struct sim_client *c, struct sim_publisher *p)
{
	struct outcome done = { 0 };

	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	exec_sim_settle(w.x);
	assert_int_equal(bridge_next(&b, 0), 1);
	bridge_answer(&b, 0);
	exec_sim_settle(w.x);
	sim_process(c);
	assert_int_equal(done.ok, 1);
}

TEST(a_single_message_makes_no_unneeded_system_call)
{
	struct sim_publisher *p;
	struct sim_client *c;

	world_create(&w, test_seed(5), "");
	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	c = world_client(&w, "sensor", 0);
	p = imu_advertise(c, "imu", 0);
	one(c, p);
	memset(&calls, 0, sizeof(calls));
	for (unsigned i = 0; i < ROUNDS; i++)
		one(c, p);
	assert_int_equal(calls.write, ROUNDS);   /* the client rings */
	assert_int_equal(calls.recvmsg, ROUNDS); /* the bridge takes it, and answers */
	assert_int_equal(calls.send, ROUNDS);
	assert_int_equal(calls.sendmsg, 2 * ROUNDS); /* simd hands it on, and completes it */
	assert_int_equal(calls.recv, ROUNDS);
	assert_int_equal(calls.recvmmsg, ROUNDS); /* the client receives the completion */
	assert_int_equal(calls.empty, 0);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	bridge_end(&b);
	world_destroy(&w);
}

/* ---- a turn of lock-step ---- */

static struct {
	struct sim_client *c;
	struct sim_step *s;
} peers[PEERS];

static bool inside;
static int (*world_wait)(void *arg, int fd, short events, int64_t timeout_dur_ns);

/* The driver waits: the participants run. */
static int wait_while_peers_run(void *arg, int fd, short events, int64_t timeout_dur_ns)
{
	struct sim_step_turn turn;

	if (inside)
		return world_wait(arg, fd, events, timeout_dur_ns);
	inside = true;
	for (unsigned i = 0; i < PEERS; i++)
		if (sim_step_wait(peers[i].s, 0, &turn) == 0)
			assert_int_equal(sim_step_done(peers[i].s), 0);
	inside = false;
	return world_wait(arg, fd, events, 0);
}

/*
 * Independent of the number of participants of equal rank: one request and one grant, and the last participant answers
 * for all.
 */
TEST(a_step_costs_no_packet_for_each_participant)
{
	struct sim_client *c;
	struct sim_driver *d;
	char name[16];

	world_create(&w, test_seed(5), "");
	world_wait = w.env.wait;
	for (unsigned i = 0; i < PEERS; i++) {
		snprintf(name, sizeof(name), "peer%u", i);
		peers[i].c = world_client(&w, name, 0);
		assert_int_equal(sim_step_join(peers[i].c, 0, &peers[i].s), 0);
	}
	c = world_client(&w, "engine", 0);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	w.env.wait = wait_while_peers_run;
	for (unsigned i = 0; i < 3; i++) /* the first turns are packets */
		assert_int_equal(sim_driver_advance(d, MS, NULL), 0);
	memset(&calls, 0, sizeof(calls));
	for (unsigned i = 0; i < ROUNDS; i++)
		assert_int_equal(sim_driver_advance(d, MS, NULL), 0);
	assert_int_equal(calls.send, 3 * ROUNDS);
	assert_int_equal(calls.sendmsg + calls.write, 0);
	w.env.wait = world_wait;
	sim_driver_release(d);
	sim_disconnect(c);
	for (unsigned i = 0; i < PEERS; i++) {
		sim_step_leave(peers[i].s);
		sim_disconnect(peers[i].c);
	}
	world_destroy(&w);
}
