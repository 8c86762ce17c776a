/* SPDX-License-Identifier: Apache-2.0 */
/* simd killed, the data plane killed: what every handle does meanwhile, and that it works again afterwards. */
#include "scenario/client/imu.h"

#include <errno.h>

#include "err.h"
#include "registry/simd.h"

static struct world w;

/* One message all the way to the bridge and back. */
static void roundtrip(struct sim_client *c, struct sim_publisher *p, struct bridge_peer *b, struct sim_token *t)
{
	struct outcome done = { 0 };

	if (sim_try_queue(p, imu_loan(p), t, on_done, &done) < 0)
		fail_msg("%s", sim_why());
	assert_int_equal(bridge_next(b, 100), 1);
	bridge_answer(b, 0);
	world_process(&w, c);
	assert_int_equal(done.calls, 1);
	assert_int_equal(done.ok, 1);
}

static void process_both(struct sim_client *c, struct bridge_peer *b)
{
	for (int i = 0; i < 50; i++) {
		world_run(&w, 2 * MS);
		sim_process(c);
		sim_process(b->c);
	}
}

/* The bridge's side of a restarted simd: finish, wait for the session, attach again. */
static void bridge_again(struct sim_client *c, struct bridge_peer *b)
{
	char *json;

	assert_int_equal(sim_lane_recv(b->lane, 0, &b->p), 1);
	assert_int_equal(b->p.event, SIM_LANE_GONE);
	assert_int_equal(sim_lane_recv(b->lane, 0, &b->p), -EPIPE);
	sim_lane_destroy(b->lane);
	sim_bridge_session_destroy(b->s);
	process_both(c, b);
	assert_int_equal(sim_client_state(b->c), SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_bridge_attach(b->c, "log", &json, &b->s, &b->lane), 0);
	free(json);
	bridge_connected(&w, b);
}

static int (*plain_wait)(void *arg, int fd, short events, int64_t timeout_dur_ns);
static unsigned stop_roudi_in; /* RouDi is stopped at that wait of a client from now; 0: not */
static unsigned feed_roudi_in; /* likewise: RouDi gets a CPU again */
static unsigned kill_roudi_in; /* likewise: RouDi is killed, and simd reports it */

/* A client's wait, which lies between two steps of its recovery. */
static int slow_wait(void *arg, int fd, short events, int64_t timeout_dur_ns)
{
	(void)arg;
	if (stop_roudi_in && --stop_roudi_in == 0)
		ipc_mem_roudi_stop(w.bus, true);
	if (feed_roudi_in && --feed_roudi_in == 0)
		ipc_mem_roudi_starve(w.bus, false);
	if (kill_roudi_in && --kill_roudi_in == 0)
		world_kill_roudi(&w);
	return plain_wait(&w, fd, events, timeout_dur_ns);
}

static int setup(void **state)
{
	(void)state;
	world_create(&w, test_seed(2), ", \"dispatch\": {\"wait_ms\": 200}");
	plain_wait = w.env.wait;
	w.env.wait = slow_wait;
	stop_roudi_in = feed_roudi_in = kill_roudi_in = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_destroy(&w);
	return 0;
}

/* Expects time frozen and flagged, also in a page that the program kept. */
static void expect_stale(struct sim_client *c, const struct sim_clock_page *page, const struct sim_clock_sample *before)
{
	struct sim_clock_sample stale;

	world_run(&w, 500 * MS);
	sim_now_sample(c, &stale);
	assert_true(stale.flags & SIM_CLOCK_STALE);
	assert_int_equal(stale.rate_e6, 0);
	assert_int_equal(stale.clock_generation, before->clock_generation);
	assert_true(stale.sim_ns >= before->sim_ns);
	assert_int_equal(sim_now(c), stale.sim_ns);
	assert_ptr_equal(sim_clock_page(c), page);
	assert_true(page->flags & SIM_CLOCK_STALE);
	assert_int_equal(sim_sleep_until(c, stale.sim_ns + 1, -1), -ENOTCONN);
}

TEST_WITH(clients_reconnect_to_a_restarted_simd, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0), *local = imu_advertise(c, "local", SIM_PUB_LOCAL);
	struct sim_subscriber *s = imu_subscribe(c, "imu", 0), *ls = imu_subscribe(c, "local", 0);
	struct outcome done = { 0 };
	struct sim_token *t, *kept;
	struct bridge_peer b;
	struct sim_clock_sample before, after;
	const struct sim_clock_page *page = sim_clock_page(c);
	struct sim_slot *old_loan;

	assert_int_equal(sim_token_open(c, "first", &kept), 0);
	assert_int_equal(sim_token_open(c, "t", &t), 0);
	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	roundtrip(c, p, &b, t);
	imu_expect(s, 1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(sim_try_queue(p, imu_loan(p), i ? NULL : t, on_done, &done), 0);
	old_loan = imu_loan(p);
	sim_now_sample(c, &before);
	world_kill_simd(&w);
	world_process(&w, c);
	assert_int_equal(done.calls, 4);
	assert_int_equal(done.ok, 0);
	assert_int_equal(done.reason, SIM_REASON_LOST);
	assert_int_equal(sim_client_state(c), SIM_CLIENT_RECONNECTING);
	assert_true(*sim_client_why(c));

	expect_stale(c, page, &before);

	/* refused; local subscribers continue to be served */
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), -ENOTCONN);
	assert_int_equal(done.calls, 5);
	assert_int_equal(sim_publish_local(local, imu_loan(local)), 0);
	imu_expect(ls, 1);
	for (int i = 2; i <= 5; i++)
		imu_expect(s, (uint64_t)i);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	imu_expect(s, 6);
	assert_int_equal(sim_publisher_bridges(p).total, 0);
	assert_int_equal(sim_token_open(c, "x", &t), -ENOTCONN);

	world_start_simd(&w);
	bridge_again(c, &b);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	sim_now_sample(c, &after);
	assert_false(after.flags & SIM_CLOCK_STALE);
	assert_ptr_equal(sim_clock_page(c), page);
	assert_int_equal(sim_publisher_bridges(p).connected, 1);
	/* the loan is of the same generation of the data plane: still good, and its numbers are the new ones */
	assert_int_equal(sim_try_queue(p, old_loan, t, on_done, &done), 0);
	assert_int_equal(bridge_next(&b, 100), 1);
	assert_int_equal(b.p.deliveries[0].message.header.sequence, 7);
	bridge_answer(&b, 0);
	world_process(&w, c);
	assert_int_equal(done.ok, 1);
	roundtrip(c, p, &b, t);
	roundtrip(c, p, &b, kept);
	imu_expect(s, 7);
	sim_token_close(t);
	sim_token_close(kept);
	sim_subscriber_destroy(s);
	sim_subscriber_destroy(ls);
	sim_publisher_destroy(local);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	bridge_end(&b);
}

TEST_WITH(clients_reconnect_to_a_restarted_data_plane, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0), *rx = world_client(&w, "receiver", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0), *quiet = imu_advertise(c, "quiet", 0);
	struct sim_subscriber *s = imu_subscribe(rx, "imu", 0);
	struct outcome done = { 0 };
	const struct sim_message *held;
	struct sim_slot *old[2], *none;
	struct bridge_peer b;
	struct sim_token *t;

	assert_int_equal(sim_token_open(c, "t", &t), 0);
	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	roundtrip(c, p, &b, t);
	assert_int_equal(sim_take(s, &held), 0);
	old[0] = imu_loan(p);
	old[1] = imu_loan(p);
	/* one with the bridge, one queued */
	assert_int_equal(sim_try_queue(p, imu_loan(p), t, on_done, &done), 0);
	assert_int_equal(bridge_next(&b, 100), 1);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);

	world_kill_roudi(&w);
	process_both(c, &b);
	sim_process(rx);
	assert_int_equal(done.calls, 2);
	assert_int_equal(done.ok, 0);
	assert_int_equal(done.reason, SIM_REASON_RESTART);
	assert_int_equal(sim_client_state(c), SIM_CLIENT_REATTACHING);
	assert_int_equal(sim_loan(p, 8, &none), -ESTALE);
	assert_int_equal(sim_try_queue(p, old[0], NULL, on_done, &done), -ESTALE);
	assert_int_equal(done.calls, 3);
	assert_int_equal(sim_take(s, &(const struct sim_message *){ NULL }), -ESTALE);
	assert_int_equal(held->header.sequence, 1); /* still readable */
	assert_true(b.p.deliveries[0].message.header.sequence == 2);

	world_start_roudi(&w);
	process_both(c, &b);
	bridge_answer(&b, 0); /* the delivery finishes on its old slot */
	process_both(c, &b);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	world_until(&w, rx, SIM_CLIENT_CONNECTED);
	assert_int_equal(done.calls, 3);
	/* a loan of an earlier generation is taken and refused, and its slot is released */
	assert_int_equal(sim_try_queue(p, old[1], NULL, on_done, &done), -ESTALE);
	assert_int_equal(done.calls, 4);
	assert_int_equal(done.reason, SIM_REASON_RESTART);
	roundtrip(c, p, &b, t);
	imu_expect(s, 4);
	assert_int_equal(sim_release(s, held), 0);
	assert_int_equal(sim_release(s, held), -EINVAL);
	roundtrip(c, quiet, &b, NULL);
	sim_token_close(t);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(quiet);
	sim_publisher_destroy(p);
	sim_disconnect(rx);
	sim_disconnect(c);
	bridge_end(&b);
}

/*
 * Published after simd has left a generation and before the client is notified: simd never sees these messages. Their
 * credits and their token are freed all the same.
 */
TEST_WITH(messages_that_simd_never_takes_return_credits_and_token, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "two", SIM_PUB_NO_WAIT);
	struct outcome done = { 0 };
	struct sim_token *t;

	assert_int_equal(sim_token_open(c, "t", &t), 0);
	world_leave_roudi(&w);
	assert_int_equal(sim_try_queue(p, imu_loan(p), t, on_done, &done), 0);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	world_process(&w, c);
	assert_int_equal(done.calls, 2);
	assert_int_equal(done.reason, SIM_REASON_RESTART);
	world_start_roudi(&w);
	world_run(&w, 5 * MS);
	sim_process(c);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_try_queue(p, imu_loan(p), t, on_done, &done), 0);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	world_process(&w, c);
	assert_int_equal(done.calls, 4);
	sim_token_close(t);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* simd has too little memory for the next generation, less each time; the one after it works. */
TEST_WITH(too_little_memory_at_a_start_is_retried, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p[2] = { imu_advertise(c, "imu", 0), imu_advertise(c, "other", 0) };
	struct sim_subscriber *s = imu_subscribe(c, "imu", 0);
	int64_t n = 1;
	int r = -1;

	for (; r < 0; n++) {
		assert_true(n < 100);
		world_kill_roudi(&w);
		world_process(&w, c);
		r = world_try_roudi(&w, n);
		assert_int_equal(w.simd->dataplane.ready, r == 0);
		if (r < 0) {
			assert_non_null(strstr(err_why(), "emory"));
			world_process(&w, c);
			world_kill_roudi(&w);
			world_process(&w, c);
			assert_int_equal(world_try_roudi(&w, 0), 0);
		}
		world_process(&w, c);
		assert_true(list_empty(&w.simd->dataplane.old)); /* nothing of the failed generations is kept */
		world_until(&w, c, SIM_CLIENT_CONNECTED);
		assert_int_equal(sim_publish_local(p[0], imu_loan(p[0])), 0);
		imu_expect(s, (uint64_t)n);
	}
	assert_true(n > 3);
	sim_subscriber_destroy(s);
	for (int i = 0; i < 2; i++)
		sim_publisher_destroy(p[i]);
	sim_disconnect(c);
}

/* simd and RouDi are both killed: the new simd has another generation. */
TEST_WITH(clients_reconnect_after_simd_and_data_plane_are_killed, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct sim_subscriber *s = imu_subscribe(c, "imu", 0);

	world_kill_simd(&w);
	world_process(&w, c);
	ipc_mem_roudi_kill(w.bus);
	assert_int_equal(ipc_mem_roudi_start(w.bus), 0);
	w.life++;
	world_start_simd(&w);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	imu_expect(s, 1);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* ---- RouDi is slow for this client alone: simd continues with its generation ---- */

struct slow {
	struct sim_client *c;
	struct sim_publisher *p[3];
	struct sim_subscriber *s[2];
	struct bridge_peer b;
	uint32_t life;
};

static const char *const slow_channels[] = { "imu", "two", "quiet" };

static void slow_begin(struct slow *k)
{
	k->c = world_client(&w, "sensor", 0);
	for (int i = 0; i < 3; i++)
		k->p[i] = imu_advertise(k->c, slow_channels[i], 0);
	for (int i = 0; i < 2; i++)
		k->s[i] = imu_subscribe(k->c, slow_channels[i], 0);
	bridge_start(&w, &k->b);
	bridge_connected(&w, &k->b);
	roundtrip(k->c, k->p[0], &k->b, NULL);
}

/* Expects that everything works again, in the same generation. */
static void slow_end(struct slow *k, uint64_t sequence)
{
	const struct sim_message *msg;

	world_until(&w, k->c, SIM_CLIENT_CONNECTED);
	assert_int_equal(w.life, k->life);
	while (sim_take(k->s[0], &msg) == 0) /* messages from before */
		assert_int_equal(sim_release(k->s[0], msg), 0);
	for (int i = 0; i < 3; i++)
		roundtrip(k->c, k->p[i], &k->b, NULL);
	imu_expect(k->s[0], sequence);
	imu_expect(k->s[1], 1);
	for (int i = 0; i < 3; i++)
		sim_publisher_destroy(k->p[i]);
	for (int i = 0; i < 2; i++)
		sim_subscriber_destroy(k->s[i]);
	sim_disconnect(k->c);
	bridge_end(&k->b);
}

/*
 * Under load after a restart RouDi answered the attach in time, but not the creation of the first port: simd does not
 * report that, and the client must not consider itself connected.
 */
TEST_WITH(a_client_whose_first_port_was_refused_is_not_connected, setup, teardown)
{
	struct slow k;

	slow_begin(&k);
	world_kill_roudi(&w);
	process_both(k.c, &k.b);
	world_start_roudi(&w);
	for (int i = 0; i < 50; i++) { /* the bridge is quicker */
		world_run(&w, 2 * MS);
		sim_process(k.b.c);
	}
	k.life = w.life;
	/* RouDi stops during the call "Attached", between the attach and the creation of the ports */
	stop_roudi_in = 1;
	for (int i = 0; i < 20; i++) {
		sim_process(k.c);
		world_run(&w, MS);
	}
	assert_int_equal(stop_roudi_in, 0);
	assert_int_equal(sim_client_state(k.c), SIM_CLIENT_REATTACHING);
	ipc_mem_roudi_stop(w.bus, false);
	slow_end(&k, 2);
}

/*
 * A RouDi that gets no CPU time keeps simd only from creating new channels, and is not replaced for it: a client waits
 * a while, or gets an error.
 */
TEST_WITH(an_overloaded_roudi_is_asked_again, setup, teardown)
{
	struct sim_client *c = world_client(&w, "engine", 0);
	struct sim_publisher *p, *none;
	uint32_t life = w.life;

	assert_int_equal(sim_advertise(c, "before", &sim_Imu_type, NULL, &p), 0);
	ipc_mem_roudi_starve(w.bus, true);
	feed_roudi_in = 200; /* RouDi gets a CPU again after 200 waits of 0.1 s */
	assert_int_equal(sim_advertise(c, "late", &sim_Imu_type, NULL, &none), 0);
	assert_int_equal(feed_roudi_in, 0);
	sim_publisher_destroy(none);
	ipc_mem_roudi_starve(w.bus, true);
	assert_int_equal(sim_advertise(c, "never", &sim_Imu_type, NULL, &none), -EAGAIN);
	assert_non_null(strstr(sim_why(), "RouDi has no CPU to answer"));
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, NULL, NULL), 0);
	ipc_mem_roudi_starve(w.bus, false);
	world_process(&w, c);
	assert_int_equal(sim_client_state(c), SIM_CLIENT_CONNECTED);
	assert_int_equal(w.life, life);
	assert_int_equal(sim_advertise(c, "never", &sim_Imu_type, NULL, &none), 0);
	sim_publisher_destroy(none);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* The same for a connected client that asks for one more port. */
/* Whether sim_advertise() noticed that the data plane ended in its n-th wait; it never waits for a port that is dead. */
static bool cut_off(unsigned n)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = NULL;
	int64_t begin = exec_now(w.x);
	int r;

	kill_roudi_in = n;
	r = sim_advertise(c, "imu", &sim_Imu_type, NULL, &p);
	if (r < 0)
		assert_int_equal(r, -ESTALE);
	assert_true(exec_now(w.x) - begin < 1000 * MS);
	sim_publisher_destroy(p);
	if (kill_roudi_in == 0) {
		world_process(&w, c);
		world_start_roudi(&w);
	}
	kill_roudi_in = 0;
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	sim_publisher_destroy(imu_advertise(c, "imu", 0));
	sim_disconnect(c);
	return r < 0;
}

TEST_WITH(an_advertise_ends_at_once_when_the_data_plane_does, setup, teardown)
{
	unsigned n = 1;

	while (cut_off(n))
		n++;
	assert_true(n > 2); /* in the call of simd, and in the wait for the connection */
}

TEST_WITH(a_port_that_is_refused_later_makes_the_client_reconnect, setup, teardown)
{
	struct outcome done = { 0 };
	struct sim_subscriber *none;
	struct slow k;

	slow_begin(&k);
	k.life = w.life;
	assert_int_equal(sim_try_queue(k.p[0], imu_loan(k.p[0]), NULL, on_done, &done), 0);
	ipc_mem_roudi_stop(w.bus, true);
	assert_int_equal(sim_subscribe(k.c, "imu", NULL, NULL, &none), -ETIMEDOUT);
	ipc_mem_roudi_stop(w.bus, false);
	world_process(&w, k.c);
	assert_int_equal(sim_client_state(k.c), SIM_CLIENT_CONNECTED); /* simd may have more to report */
	world_run(&w, 1100 * MS);
	world_process(&w, k.c);
	assert_int_equal(done.calls, 1);
	assert_int_equal(done.reason, SIM_REASON_RESTART);
	assert_int_equal(bridge_next(&k.b, 100), 1); /* the bridge gets the message all the same */
	bridge_answer(&k.b, 0);
	world_process(&w, k.c);
	assert_int_equal(done.calls, 1);
	slow_end(&k, 3);
}

/* Expects that simd has counted no message as invalid. */
static void nothing_invalid(struct sim_client *c)
{
	char *json = NULL;

	assert_int_equal(sim_call(c, "GetDispatch", NULL, &json), 0);
	assert_non_null(strstr(json, "\"invalid\":0"));
	free(json);
}

/*
 * A new generation has no history; and the probe that proves a publisher to a new simd displaces the latched message in
 * the history of the old one.
 */
TEST_WITH(latched_messages_reach_late_subscribers_after_a_restart, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0), *other = world_client(&w, "other", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", SIM_PUB_LATCH),
			     *none = imu_advertise(c, "none", SIM_PUB_LATCH);
	struct sim_subscriber *old = imu_subscribe(other, "imu", 0), *late;
	uint64_t sequence = 2;

	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	imu_expect(old, 1);
	imu_expect(old, 2);
	for (int i = 0; i < 6; i++) {
		bool roudi = i != 3;

		if (roudi)
			world_kill_roudi(&w);
		else
			world_kill_simd(&w);
		world_process(&w, c);
		world_process(&w, other);
		if (roudi)
			world_start_roudi(&w);
		else
			world_start_simd(&w);
		world_until(&w, i % 2 ? c : other, SIM_CLIENT_CONNECTED); /* either client may connect first */
		world_until(&w, i % 2 ? other : c, SIM_CLIENT_CONNECTED);
		late = imu_subscribe(other, "imu", SIM_SUB_LATCHED);
		imu_expect(late, sequence);
		if (roudi) /* to a new simd its publisher is another one */
			assert_int_equal(sim_wait(old, 0), 0);
		else
			imu_expect(old, sequence);
		if (i == 1) {
			assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
			imu_expect(old, ++sequence);
			imu_expect(late, sequence);
		}
		sim_subscriber_destroy(late);
		late = imu_subscribe(other, "none", SIM_SUB_LATCHED);
		assert_int_equal(sim_wait(late, 0), 0);
		sim_subscriber_destroy(late);
		nothing_invalid(c);
	}
	sim_subscriber_destroy(old);
	sim_publisher_destroy(none);
	sim_publisher_destroy(p);
	sim_disconnect(other);
	sim_disconnect(c);
}

/* Again and again, with messages in flight each time; nothing leaks and every callback runs once. */
TEST_WITH(clients_follow_many_generations, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct outcome done = { 0 };
	unsigned accepted = 0;

	for (int i = 0; i < 12; i++) {
		for (int n = 0; n < 7; n++)
			accepted += sim_try_queue(p, imu_loan(p), NULL, on_done, &done) == 0;
		if (i % 3 == 0) {
			world_kill_simd(&w);
			world_process(&w, c);
			world_start_simd(&w);
		} else {
			world_kill_roudi(&w);
			world_process(&w, c);
			world_start_roudi(&w);
		}
		world_run(&w, 10 * MS);
		sim_process(c);
		world_until(&w, c, SIM_CLIENT_CONNECTED);
	}
	assert_int_equal(accepted, 12 * 7);
	assert_int_equal(done.calls, accepted);
	assert_true(done.reason == SIM_REASON_RESTART || done.reason == SIM_REASON_LOST ||
		    done.reason == SIM_REASON_DISCONNECTED);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

TEST(without_simd_connecting_fails)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "sensor", .flags = SIM_CLIENT_NO_THREAD };
	struct sim_client *c;

	o.socket = "/nonexistent/control";
	assert_int_equal(sim_connect(&o, &c), -ENOENT);
	assert_non_null(strstr(sim_why(), "/nonexistent/control"));
	o.name = "bad name";
	assert_int_equal(sim_connect(&o, &c), -EINVAL);
	o.name = "";
	assert_int_equal(sim_connect(&o, &c), -EINVAL);
	o.name = "ok";
	o.size--;
	assert_int_equal(sim_connect(&o, &c), -EINVAL);
	assert_int_equal(sim_connect(NULL, &c), -EINVAL);
}

/* A program that is stopped, in a debugger say, while much happens: it learns why its connection is gone, and is back at once. */
TEST(a_client_that_does_not_read_learns_why_it_was_disconnected)
{
	struct sim_client *slow, *other;
	char *json;

	world_create(&w, test_seed(2), ", \"limits\": {\"output_kib\": 64}");
	slow = world_client(&w, "slow", 0);
	other = world_client(&w, "other", SIM_CLIENT_NO_DATA);
	for (int i = 0; i < 20000 && w.simd->n_clients == 2; i++) {
		assert_int_equal(sim_call(other, "SetSource",
					  i % 2 ? "{\"source\":\"simulation\"}" : "{\"source\":\"unity\"}", &json),
				 0);
		free(json);
	}
	assert_int_equal(w.simd->n_clients, 1);
	world_until(&w, slow, SIM_CLIENT_RECONNECTING);
	if (!strstr(sim_client_why(slow), "messages for this connection, which does not read them"))
		fail_msg("%s", sim_client_why(slow));
	world_until(&w, slow, SIM_CLIENT_CONNECTED);
	sim_disconnect(other);
	sim_disconnect(slow);
	world_destroy(&w);
}

/* simd runs, its data plane does not yet: the connect waits for it, and times out. */
TEST_WITH(a_connect_waits_for_the_data_plane, setup, teardown)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "sensor", .socket = w.path, .timeout_ms = 300, .flags = SIM_CLIENT_NO_THREAD
	};
	struct sim_client *c;
	int64_t start = exec_now(w.x);

	world_kill_roudi(&w);
	assert_int_equal(client_connect(&o, &w.env, &c), -ETIMEDOUT);
	assert_in_range(exec_now(w.x) - start, 300 * MS, 330 * MS);
	o.flags |= SIM_CLIENT_NO_DATA;
	assert_int_equal(client_connect(&o, &w.env, &c), 0); /* a tool needs no data plane */
	sim_disconnect(c);
}
