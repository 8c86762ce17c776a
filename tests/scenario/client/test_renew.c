/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A publisher's process dies inside the data plane: the channel's subscribers get new ports, and receive each message
 * once.
 */
#include "scenario/client/imu.h"

#include <sys/socket.h>

#include "libclient/src/attachment.h"
#include "libclient/src/session.h"
#include "libclient/src/subscriber.h"
#include "registry/channel.h"

static struct world w;
static struct sim_client *reader, *writer;
static struct sim_subscriber *s;
static struct sim_publisher *p;
static uint64_t published, taken;

static int setup(void **state)
{
	(void)state;
	world_create(&w, test_seed(3), "");
	reader = world_client(&w, "reader", 0);
	writer = world_client(&w, "writer", 0);
	s = imu_subscribe(reader, "t", 0);
	p = imu_advertise(writer, "t", SIM_PUB_LOCAL);
	published = taken = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(reader);
	sim_disconnect(writer);
	world_destroy(&w);
	return 0;
}

static void publish(unsigned n)
{
	while (n--) {
		assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
		published++;
	}
}

static void take(unsigned n)
{
	while (n-- && taken < published)
		imu_expect(s, ++taken);
}

/* As if it was killed: simd sees the hang-up. */
static void victim_dies(bool goodbye)
{
	struct sim_client *c = world_client(&w, "victim", 0);
	struct sim_publisher *own = imu_advertise(c, "t", SIM_PUB_LOCAL);

	if (goodbye)
		assert_int_equal(session_post(c, c->session, "Goodbye", NULL, VARLINK_ONEWAY), 0);
	ipc_mem_kill(c->att->ipc);
	shutdown(c->session->sock, SHUT_RDWR);
	world_run(&w, 10 * MS);
	sim_publisher_destroy(own);
	sim_disconnect(c);
}

static void run(int64_t dur_ns)
{
	for (int64_t t = 0; t < dur_ns; t += 10 * MS) {
		world_run(&w, 10 * MS);
		sim_process(reader);
	}
}

/* The reader is always some messages behind, so that they lie in the old port and in the new one. */
TEST_WITH(each_message_arrives_once, setup, teardown)
{
	const struct sub_port *before = s->port;
	struct sim_subscriber_stats st;

	publish(12);
	victim_dies(false);
	for (unsigned i = 0; i < 60; i++) {
		run(10 * MS);
		publish(1);
		take(1);
	}
	assert_ptr_not_equal(s->port, before);
	take(100);
	assert_null(s->before);
	publish(5);
	take(5);
	assert_int_equal(taken, published);
	assert_int_equal(sim_wait(s, 0), 0);
	sim_subscriber_stats(s, &st);
	assert_int_equal(st.lost, 0);
	assert_int_equal(st.invalid, 0);
	assert_int_equal(st.received, published);
}

/* Held messages stay readable; while the client takes none, the queue keeps the newest. */
TEST_WITH(a_queue_that_is_not_read_meanwhile_keeps_the_newest, setup, teardown)
{
	const struct sim_message *held;

	publish(2);
	assert_int_equal(sim_take(s, &held), 0);
	taken = 1;
	for (unsigned i = 0; i < 5; i++) {
		victim_dies(false);
		publish(3);
		run(1200 * MS);
	}
	assert_int_equal(held->header.sequence, 1);
	assert_int_equal(sim_release(s, held), 0);
	take(100);
	assert_int_equal(taken, published);
	assert_int_equal(sim_wait(s, 0), 0);
}

TEST_WITH(an_orderly_disconnect_renews_no_port, setup, teardown)
{
	const struct sub_port *before = s->port;

	victim_dies(true);
	run(2 * S);
	assert_ptr_equal(s->port, before);
}

TEST_WITH(ports_are_renewed_at_most_once_a_second, setup, teardown)
{
	const struct channel *ch = channel_find(w.simd, "/car/t");
	const struct sub_port *before = s->port;
	int64_t renewed = 0;
	unsigned n = 0, asked = 0;

	for (unsigned i = 0; i < 150; i++) {
		victim_dies(false);
		run(20 * MS);
		asked += ch->renewed_mono_ns != renewed;
		renewed = ch->renewed_mono_ns;
		n += s->port != before;
		before = s->port;
		publish(1);
		take(1);
	}
	assert_in_range(asked, 3, 6);
	assert_in_range(n, 3, 6);
	assert_int_equal(taken, published);
}

/* simd publishes the clock. Subscribers of other channels have kept their ports over its restarts before. */
TEST_WITH(the_clock_port_is_renewed_after_simd_dies, setup, teardown)
{
	struct sim_subscriber *clock;
	const struct sub_port *before = s->port, *clock_before;

	assert_int_equal(sim_subscribe(reader, "/clock", NULL, NULL, &clock), 0);
	clock_before = clock->port;
	world_kill_simd(&w);
	world_start_simd(&w);
	world_until(&w, reader, SIM_CLIENT_CONNECTED);
	world_until(&w, writer, SIM_CLIENT_CONNECTED);
	run(500 * MS);
	assert_ptr_not_equal(clock->port, clock_before);
	assert_ptr_equal(s->port, before);
	publish(3);
	take(3);
	sim_subscriber_destroy(clock);
	world_bury(&w);
}

TEST_GROUP(NULL, NULL)
