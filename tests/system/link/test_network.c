/* SPDX-License-Identifier: Apache-2.0 */
/* Effects of a network on two machines: loss, reorder, partition; and restarts of their own ends. */
#include "traffic.h"

#define MS INT64_C(1000000)

static struct machine m[2];
static struct net_switch *net;
static struct traffic *t;

static int start_with(const char *options)
{
	net = machines_start(m, 2, test_seed(7));
	for (unsigned i = 0; i < 2; i++)
		machine_simd_start(&m[i], machine_conf(&m[i], 2, options, ""));
	return 0;
}

/* A silent machine counts as lost soon. */
static int start(void **state)
{
	(void)state;
	return start_with(",\"lease_ms\":1000,\"depth\":1000");
}

static int start_never_late(void **state)
{
	(void)state;
	return start_with(MACHINE_NEVER_LATE ",\"depth\":1000");
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
}

static void bad_network(double loss)
{
	const struct switch_rules rules = {
		.delay_dur_ns = 2 * MS, .loss = loss, .reorder = 0.1, .hold_dur_ns = 2 * MS
	};

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(switch_set(net, m[i].port, SWITCH_OUT, &rules), 0);
}

/* A reliable channel loses nothing within its history, and nothing comes twice or behind. */
TEST_WITH(a_lossy_network_loses_no_reliable_message, start_never_late, end)
{
	pid_t sender, reader;
	uint64_t first;

	t = traffic_new("/small", 24, 16);
	reader = machine_fork(&m[1], traffic_read, t);
	sender = machine_fork(&m[0], traffic_send, t);
	AWAIT(atomic_load(&t->reader[0].received) >= 1);
	first = atomic_load(&t->reader[0].newest) - atomic_load(&t->reader[0].received);
	bad_network(0.1);
	AWAIT(atomic_load(&t->reader[0].received) >= 200);
	bad_network(0);
	check_reader(&t->reader[0]);
	AWAIT(atomic_load(&t->reader[0].newest) - atomic_load(&t->reader[0].received) == first);
	atomic_store(&t->stop, true);
	assert_int_equal(machine_wait(sender), 0);
	assert_int_equal(machine_wait(reader), 0);
}

/* The machine is named as gone, and linked again when the network is back; its channels go on. */
TEST_WITH(a_partition_heals, start, end)
{
	pid_t sender, reader;
	uint64_t before;

	t = traffic_new("/small", 24, 16);
	reader = machine_fork(&m[1], traffic_read, t);
	sender = machine_fork(&m[0], traffic_send, t);
	AWAIT(atomic_load(&t->reader[0].received) >= 10);
	assert_int_equal(switch_partition(net, 1u << m[1].port, 0, INT64_MAX), 0);
	AWAIT(machine_logged(&m[1], "machine a is gone"));
	AWAIT(machine_logged(&m[0], "machine b is gone"));
	before = atomic_load(&t->reader[0].received);
	switch_heal(net);
	AWAIT(atomic_load(&t->reader[0].received) >= before + 20);
	check_reader(&t->reader[0]);
	atomic_store(&t->stop, true);
	assert_int_equal(machine_wait(sender), 0);
	assert_int_equal(machine_wait(reader), 0);
}

/* Either side ends, by a crash or in order, and begins again: the other one goes on where it was. */
static void restart(unsigned which, bool crash)
{
	pid_t sender, reader;
	uint64_t before;

	t = traffic_new("/small", 24, 16);
	reader = which == 1 ? 0 : machine_fork(&m[1], traffic_read, t);
	sender = which == 0 ? 0 : machine_fork(&m[0], traffic_send, t);
	for (unsigned round = 0; round < 2; round++) {
		pid_t *mine = which == 0 ? &sender : &reader;

		*mine = machine_fork(&m[which], which == 0 ? traffic_send : traffic_read, t);
		before = atomic_load(&t->reader[0].received) + atomic_load(&t->reader[1].received);
		AWAIT(atomic_load(&t->reader[0].received) + atomic_load(&t->reader[1].received) >= before + 10);
		if (round == 1)
			break;
		kill(*mine, SIGKILL);
		waitpid(*mine, NULL, 0);
		if (crash)
			machine_simd_kill(&m[which]);
		else
			machine_simd_stop(&m[which]);
		AWAIT(machine_logged(&m[1 - which], "is gone"));
		if (which == 0)
			t->first = 1000000;
		machine_simd_start(&m[which], machine_conf(&m[which], 2, ",\"lease_ms\":1000", ""));
	}
	check_reader(&t->reader[0]);
	check_reader(&t->reader[1]);
	atomic_store(&t->stop, true);
	assert_int_equal(machine_wait(sender), 0);
	assert_int_equal(machine_wait(reader), 0);
}

TEST_WITH(the_sender_s_machine_crashes_and_comes_back, start, end)
{
	restart(0, true);
}

TEST_WITH(the_reader_s_machine_is_restarted, start, end)
{
	restart(1, false);
}
