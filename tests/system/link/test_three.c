/* SPDX-License-Identifier: Apache-2.0 */
/* Three machines, each of which sends to and receives from all: no message goes in a circle, and none arrives twice. */
#include "traffic.h"

#include <sim/msg/Vector3.h>

static struct machine m[3];
static struct net_switch *net;
static struct traffic *t, *other;

/* One more bridge, for which what comes in is dispatched: to the link too. */
#define COUNTS ",{\"name\":\"count\",\"plugin\":\"null\",\"channels\":[\"*\"]}"

static int start(void **state)
{
	(void)state;
	net = machines_start(m, 3, test_seed(3));
	for (unsigned i = 0; i < 3; i++)
		machine_simd_start(&m[i], machine_conf(&m[i], 3, MACHINE_NEVER_LATE, COUNTS));
	return 0;
}

static int end(void **state)
{
	(void)state;
	machines_end(m, 3, net);
	traffic_free(t);
	traffic_free(other);
	t = other = NULL;
	return 0;
}

TEST_PROCESSES()

TEST_WITH(no_message_travels_in_a_circle, start, end)
{
	pid_t p[4];

	t = traffic_new("/camera", 32, 32);
	for (unsigned i = 0; i < 3; i++)
		p[i] = machine_fork(&m[i], traffic_read, t);
	p[3] = machine_fork(&m[0], traffic_send, t);
	for (unsigned i = 0; i < 3; i++)
		AWAIT(atomic_load(&t->reader[i].received) >= 50);
	atomic_store(&t->stop, true);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(machine_wait(p[i]), 0);
	for (unsigned i = 0; i < 3; i++) {
		const struct traffic_reader *r = &t->reader[i];

		if (atomic_load(&r->wrong))
			fail_msg("%s", r->what);
		assert_int_equal(atomic_load(&r->backward), 0);
		assert_true(atomic_load(&r->remote) == 0 || atomic_load(&r->remote) == atomic_load(&r->received));
	}
	for (unsigned i = 0; i < 3; i++)
		machine_simd_stop(&m[i]);
	assert_true(machine_logged(&m[1], "link: 0 messages sent"));
	assert_false(machine_logged(&m[1], ", 0 of other machines not sent on"));
	assert_true(machine_logged(&m[2], "0 messages sent"));
}

static int advertise(void *arg)
{
	const struct sim_client_options o = { .size = sizeof(o), .name = (char *)arg + 1, .socket = "/tmp/rt/control" };
	struct sim_client *c;
	struct sim_publisher *pub;

	if (sim_connect(&o, &c) < 0 || sim_advertise(c, arg, &sim_Vector3_type, NULL, &pub) < 0)
		return 1;
	for (;;)
		pause();
}

/* Two manifests that arrive while the link of a third machine is stopped: it reads both. */
TEST_WITH(manifests_that_arrive_while_a_link_is_stopped_are_all_read, start, end)
{
	static char of_a[] = "/of_a", of_c[] = "/of_c";
	pid_t link;

	for (unsigned i = 0; i < 3; i++)
		AWAIT(machine_logged_times(&m[i], "is linked") == 2);
	link = (pid_t)machine_bridge(&m[1], "link", "pid");
	assert_true(link > 0);
	assert_int_equal(kill(link, SIGSTOP), 0);
	machine_fork(&m[0], advertise, of_a);
	machine_fork(&m[2], advertise, of_c);
	AWAIT(machine_logged(&m[2], "/of_a (sim/Vector3) is imported from machine a"));
	AWAIT(machine_logged(&m[0], "/of_c (sim/Vector3) is imported from machine c"));
	assert_int_equal(kill(link, SIGCONT), 0);
	AWAIT(machine_logged(&m[1], "/of_a (sim/Vector3) is imported from machine a") &&
	      machine_logged(&m[1], "/of_c (sim/Vector3) is imported from machine c"));
}

/* Two machines publish one channel: the third one gets both. */
TEST_WITH(two_machines_may_publish_one_channel, start, end)
{
	pid_t p[3];
	uint64_t a, b;

	t = traffic_new("/camera", 32, 32);
	other = traffic_new("/camera", 32, 32);
	other->first = 1000000;
	p[0] = machine_fork(&m[0], traffic_send, t);
	p[1] = machine_fork(&m[1], traffic_send, other);
	p[2] = machine_fork(&m[2], traffic_read, t);
	AWAIT((a = atomic_load(&t->reader[0].host)) != 0);
	AWAIT((b = atomic_load(&t->reader[0].host)) != 0 && b != a);
	assert_true(machine_says(&m[2], "list", "/camera"));
	atomic_store(&t->stop, true);
	atomic_store(&other->stop, true);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(machine_wait(p[i]), 0);
}
