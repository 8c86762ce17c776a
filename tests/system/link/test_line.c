/* SPDX-License-Identifier: Apache-2.0 */
/* Two machines, a simd on each: a channel of one is subscribed to on the other. */
#include "traffic.h"

static struct machine m[2];
static struct net_switch *net;
static struct traffic *t;

static int start(void **state)
{
	(void)state;
	net = machines_start(m, 2, test_seed(1));
	for (unsigned i = 0; i < 2; i++)
		machine_simd_start(&m[i], machine_conf(&m[i], 2, "", ""));
	return 0;
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

static void finish(pid_t a, pid_t b)
{
	atomic_store(&t->stop, true);
	assert_int_equal(machine_wait(a, 20000), 0);
	assert_int_equal(machine_wait(b, 20000), 0);
}

TEST_WITH(a_channel_arrives_byte_for_byte_with_its_header, start, end)
{
	pid_t sender, reader;

	t = traffic_new("/camera", 64, 48);
	sender = machine_fork(&m[0], traffic_send, t);
	reader = machine_fork(&m[1], traffic_read, t);
	UNTIL(20000, atomic_load(&t->reader[0].received) >= 20);
	assert_true(machine_says(&m[1], "list", "a "));
	assert_true(machine_says(&m[1], "info /camera", "from another machine: a"));
	finish(sender, reader);
	if (atomic_load(&t->reader[0].wrong))
		fail_msg("%s", t->reader[0].what);
	assert_int_equal(atomic_load(&t->reader[0].backward), 0);
	assert_int_equal(atomic_load(&t->reader[0].remote), atomic_load(&t->reader[0].received));
	machine_simd_stop(&m[0]);
	machine_simd_stop(&m[1]);
}
