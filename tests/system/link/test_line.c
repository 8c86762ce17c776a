/* SPDX-License-Identifier: Apache-2.0 */
/* Two machines, a simd on each: a channel of one is subscribed to on the other. */
#include "traffic.h"

static struct machine m[2];
static struct net_switch *net;
static struct traffic *t;

static int start_with(const char *extra_a, const char *more_b)
{
	net = machines_start(m, 2, test_seed(1));
	machine_simd_start(&m[0], machine_conf(&m[0], 2, extra_a, ""));
	machine_simd_start(&m[1], machine_conf(&m[1], 2, "", more_b));
	return 0;
}

static int start(void **state)
{
	(void)state;
	return start_with("", "");
}

/* On a busy machine every image of the best-effort kind may lose a fragment. */
static int start_reliable(void **state)
{
	(void)state;
	return start_with(",\"reliable\":[\"camera\"]", "");
}

static int start_confirming(void **state)
{
	(void)state;
	return start_with(",\"confirm\":[\"camera\"],\"confirm_ms\":1000", "");
}

static int start_with_bridge(void **state)
{
	(void)state;
	return start_with("", ",{\"name\":\"count\",\"plugin\":\"null\",\"channels\":[\"camera\"]}");
}

static int end(void **state)
{
	(void)state;
	machines_end(m, 2, net);
	traffic_free(t);
	t = NULL;
	return 0;
}

TEST_PROCESSES()

static void check_reader(const struct traffic_reader *r)
{
	if (atomic_load(&r->wrong))
		fail_msg("%s", r->what);
	assert_int_equal(atomic_load(&r->backward), 0);
	assert_int_equal(atomic_load(&r->remote), atomic_load(&r->received));
}

static void finish(pid_t a, pid_t b)
{
	atomic_store(&t->stop, true);
	assert_int_equal(machine_wait(a), 0);
	if (b)
		assert_int_equal(machine_wait(b), 0);
	machine_simd_stop(&m[0]);
	machine_simd_stop(&m[1]);
}

TEST_WITH(a_channel_arrives_byte_for_byte_with_its_header, start, end)
{
	pid_t sender, reader;

	t = traffic_new("/camera", 64, 48);
	sender = machine_fork(&m[0], traffic_send, t);
	reader = machine_fork(&m[1], traffic_read, t);
	AWAIT(atomic_load(&t->reader[0].received) >= 20);
	assert_true(machine_says(&m[1], "list", "HOST"));
	assert_true(machine_says(&m[1], "info /camera", "from another machine: a"));
	assert_false(machine_says(&m[0], "list", "HOST"));
	check_reader(&t->reader[0]);
	finish(sender, reader);
}

/* Six MiB each, on the way from slot to slot. */
TEST_FULL_WITH(large_images_arrive, start_reliable, end)
{
	pid_t sender, reader;

	t = traffic_new("/camera", 2048, 1024);
	t->pause_us = 50000;
	sender = machine_fork(&m[0], traffic_send, t);
	reader = machine_fork(&m[1], traffic_read, t);
	AWAIT(atomic_load(&t->reader[0].received) >= 5);
	check_reader(&t->reader[0]);
	finish(sender, reader);
}

/* Discovery and heartbeats go on; not one message does. */
TEST_WITH(nothing_travels_without_a_subscriber, start, end)
{
	const uint64_t image = 64 * 48 * 3;
	uint64_t before, sent;
	pid_t sender, reader;

	t = traffic_new("/camera", 64, 48);
	sender = machine_fork(&m[0], traffic_send, t);
	AWAIT(machine_says(&m[1], "list", "/camera"));
	before = machine_sent(&m[0]);
	sent = atomic_load(&t->ok);
	AWAIT(atomic_load(&t->ok) >= sent + 100);
	assert_in_range(machine_sent(&m[0]) - before, 0, 20 * image);
	reader = machine_fork(&m[1], traffic_read, t);
	AWAIT(atomic_load(&t->reader[0].received) >= 100);
	assert_true(machine_sent(&m[0]) - before > 100 * image);
	finish(sender, reader);
}

/* Whether that many messages go by, and not so many bytes. */
static bool is_silent(unsigned messages, uint64_t bytes)
{
	uint64_t before = machine_sent(&m[0]), sent = atomic_load(&t->ok);

	AWAIT(atomic_load(&t->ok) >= sent + messages);
	return machine_sent(&m[0]) - before < bytes;
}

/* The subscriber that leaves ends the traffic. */
TEST_FULL_WITH(traffic_ends_with_the_last_subscriber, start, end)
{
	const uint64_t image = 64 * 48 * 3;
	struct traffic *reading;
	pid_t sender, reader;

	t = traffic_new("/camera", 64, 48);
	reading = traffic_new("/camera", 64, 48);
	sender = machine_fork(&m[0], traffic_send, t);
	reader = machine_fork(&m[1], traffic_read, reading);
	AWAIT(atomic_load(&reading->reader[0].received) >= 10);
	atomic_store(&reading->stop, true);
	assert_int_equal(machine_wait(reader), 0);
	AWAIT(machine_logged(&m[1], "/camera: last subscriber disconnected"));
	AWAIT(is_silent(50, 10 * image));
	traffic_free(reading);
	finish(sender, 0);
}

/* Bridges of the other machine count as subscribers, and get the messages. */
TEST_WITH(bridges_on_the_other_machine_get_the_messages, start_with_bridge, end)
{
	pid_t sender;

	t = traffic_new("/camera", 64, 48);
	sender = machine_fork(&m[0], traffic_send, t);
	AWAIT(machine_logged(&m[1], "/camera: first subscriber connected"));
	AWAIT(machine_channel(&m[1], "/camera", "delivered") >= 10);
	assert_int_equal(machine_channel(&m[1], "/camera", "failed"), 0);
	finish(sender, 0);
}

/*
 * The callback gets true once the subscriber of the other machine has the message, and false when that one has exited.
 */
TEST_FULL_WITH(messages_are_confirmed_by_the_other_machine, start_confirming, end)
{
	pid_t sender, reader;
	uint64_t ok;

	t = traffic_new("/camera", 64, 48);
	reader = machine_fork(&m[1], traffic_read, t);
	sender = machine_fork(&m[0], traffic_send, t);
	AWAIT(atomic_load(&t->reader[0].received) >= 20);
	AWAIT(atomic_load(&t->ok) >= 20);
	ok = atomic_load(&t->ok);
	assert_int_equal(switch_partition(net, 1u << m[1].port, 0, INT64_MAX), 0);
	AWAIT(atomic_load(&t->failed) > 0);
	switch_heal(net);
	AWAIT(atomic_load(&t->ok) > ok + 50);
	finish(sender, reader);
}

/* The last message of a latched channel reaches each late subscriber, once. */
TEST_FULL_WITH(a_latched_message_reaches_late_subscribers, start, end)
{
	pid_t sender, reader, next;

	t = traffic_new("/car/tf_static", 16, 16);
	t->flags = SIM_PUB_LATCH;
	t->pause_us = 60000000;
	sender = machine_fork(&m[0], traffic_send, t);
	AWAIT(machine_says(&m[1], "list", "/car/tf_static"));
	AWAIT(atomic_load(&t->ok) >= 1);
	reader = machine_fork(&m[1], traffic_read, t);
	AWAIT(atomic_load(&t->reader[0].received) >= 1);
	check_reader(&t->reader[0]);
	assert_int_equal(atomic_load(&t->reader[0].received), 1);
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	AWAIT(machine_logged(&m[1], "/car/tf_static: last subscriber disconnected"));
	reader = machine_fork(&m[1], traffic_read, t);
	AWAIT(atomic_load(&t->reader[1].received) >= 1);
	AWAIT(machine_logged_times(&m[1], "/car/tf_static: first subscriber connected") == 2);
	t->first = 2; /* a duplicate would be there before the next one */
	next = machine_fork(&m[0], traffic_send, t);
	AWAIT(atomic_load(&t->reader[1].newest) == 2);
	assert_int_equal(atomic_load(&t->reader[1].received), 2);
	assert_int_equal(atomic_load(&t->reader[1].backward), 0);
	kill(next, SIGKILL);
	waitpid(next, NULL, 0);
	kill(sender, SIGKILL);
	waitpid(sender, NULL, 0);
	atomic_store(&t->stop, true);
	assert_int_equal(machine_wait(reader), 0);
}
