/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that a bridge of one machine injects reach the others, but no other bridge of its own machine. */
#include "traffic.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <sim/msg/Ultrasonic.h>

#define CHANNEL "/in/range"

/* Brings in, and is given whatever is dispatched to it; as the one beside it, that only counts. */
#define BRINGS_IN \
	",{\"name\":\"in\",\"plugin\":\"" FAULTY "\",\"channels\":[\"*\"]," \
	"\"options\":{\"inject\":\"1000000\",\"inject_us\":\"2000\",\"inject_channel\":\"" CHANNEL "\"}}" COUNTS
#define COUNTS ",{\"name\":\"count\",\"plugin\":\"null\",\"channels\":[\"*\"]}"

static struct machine m[3];
static struct net_switch *net;

static struct heard { /* shared with the readers */
	_Atomic bool stop;
	struct {
		_Atomic uint64_t received, remote, twice; /* twice: not after the one before */
		_Atomic uint64_t host;
	} at[3];
} * heard;

static int start(void **state)
{
	(void)state;
	heard = mmap(NULL, sizeof(*heard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(heard != MAP_FAILED);
	net = machines_start(m, 3, test_seed(5));
	for (unsigned i = 0; i < 3; i++)
		machine_simd_start(&m[i], machine_conf(&m[i], 3, "", i == 1 ? BRINGS_IN : COUNTS));
	return 0;
}

static int end(void **state)
{
	(void)state;
	machines_end(m, 3, net);
	munmap(heard, sizeof(*heard));
	return 0;
}

TEST_PROCESSES()

static int hear(void *arg)
{
	const struct sim_client_options o = { .size = sizeof(o), .name = "ear" };
	struct sim_subscriber *sub;
	struct sim_client *c;
	unsigned i = (unsigned)(uintptr_t)arg;
	float last = -1;

	AWAIT(sim_connect(&o, &c) == 0);
	AWAIT(sim_subscribe(c, CHANNEL, &sim_Ultrasonic_type, NULL, &sub) == 0);
	while (!atomic_load(&heard->stop)) {
		const struct sim_message *msg;
		const struct sim_Ultrasonic *u;

		if (sim_wait(sub, 20000000) != 1)
			continue;
		while (sim_take(sub, &msg) == 0) {
			u = msg->body;
			atomic_fetch_add(&heard->at[i].received, 1);
			if (msg->header.origin_host) {
				atomic_fetch_add(&heard->at[i].remote, 1);
				atomic_store(&heard->at[i].host, msg->header.origin_host);
			}
			if (u->minimum_distance <= last)
				atomic_fetch_add(&heard->at[i].twice, 1);
			last = u->minimum_distance;
			sim_release(sub, msg);
		}
	}
	sim_subscriber_destroy(sub);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(inbound_messages_of_a_bridge_reach_other_machines, start, end)
{
	pid_t p[3];

	for (unsigned i = 0; i < 3; i++)
		p[i] = machine_fork(&m[i], hear, (void *)(uintptr_t)i);
	for (unsigned i = 0; i < 3; i++)
		AWAIT(atomic_load(&heard->at[i].received) >= 100);
	assert_true(machine_says(&m[0], "info " CHANNEL, "from another machine"));
	AWAIT(machine_says(&m[0], "bridge info link", "  " CHANNEL " <- " CHANNEL ", sim/Ultrasonic\n"));
	assert_false(machine_says(&m[1], "bridge info link", "  " CHANNEL " <- "));
	/* here it is sent to the link alone; there it is like any message of another machine */
	assert_int_equal(machine_bridge(&m[1], "in", "attempted"), 0);
	assert_int_equal(machine_bridge(&m[1], "count", "attempted"), 0);
	assert_true(machine_bridge(&m[1], "link", "attempted") >= 100);
	AWAIT(machine_bridge(&m[0], "count", "attempted") > 0);
	atomic_store(&heard->stop, true);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(machine_wait(p[i]), 0);
	assert_int_equal(atomic_load(&heard->at[1].remote), 0);
	assert_int_equal(atomic_load(&heard->at[0].remote), atomic_load(&heard->at[0].received));
	assert_int_equal(atomic_load(&heard->at[0].host), atomic_load(&heard->at[2].host));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(atomic_load(&heard->at[i].twice), 0);
	for (unsigned i = 0; i < 3; i++)
		machine_simd_stop(&m[i]);
	assert_true(machine_logged(&m[0], "link: 0 messages sent"));
	assert_true(machine_logged(&m[2], "link: 0 messages sent"));
}

/* Local publishers and those of a bridge are not of one kind: which is said by name, and nothing else changes. */
static int publish_beside(void *arg)
{
	const struct sim_client_options o = { .size = sizeof(o), .name = "beside" };
	struct sim_publisher *pub;
	struct sim_client *c;

	(void)arg;
	AWAIT(sim_connect(&o, &c) == 0);
	if (sim_advertise(c, CHANNEL, &sim_Ultrasonic_type, NULL, &pub) != -EINVAL ||
	    !strstr(sim_why(), "inbound publishers of in"))
		return 97;
	if (sim_advertise(c, "/own", &sim_Ultrasonic_type,
			  &(struct sim_publisher_options){ .size = sizeof(struct sim_publisher_options),
							   .flags = SIM_PUB_INBOUND },
			  &pub) != -EPERM)
		return 96;
	sim_disconnect(c);
	return 0;
}

TEST_WITH(inbound_and_own_messages_do_not_share_a_channel, start, end)
{
	AWAIT(machine_channel(&m[1], CHANNEL, "messages") > 0);
	assert_int_equal(machine_run(&m[1], publish_beside, NULL), 0);
}
