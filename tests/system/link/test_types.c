/* SPDX-License-Identifier: Apache-2.0 */
/* Mismatches: another type under the same name, and channels that a rig does not allow. */
#include "traffic.h"

#include <sim/msg/Imu.h>

static struct machine m[2];
static struct net_switch *net;
static struct traffic *t;

static int end(void **state)
{
	(void)state;
	machines_end(m, 2, net);
	traffic_free(t);
	t = NULL;
	return 0;
}

static void start_simds(const char *extra)
{
	for (unsigned i = 0; i < 2; i++)
		machine_simd_start(&m[i], machine_conf(&m[i], 2, i == 1 ? extra : "", ""));
}

/* Cut off before they start: otherwise it would be random how much of each other they had seen. */
static int start_parted(void **state)
{
	(void)state;
	net = machines_start(m, 2, test_seed(9));
	assert_int_equal(switch_partition(net, 1u << m[1].port, 0, INT64_MAX), 0);
	start_simds("");
	return 0;
}

static int start_importing_little(void **state)
{
	(void)state;
	net = machines_start(m, 2, test_seed(9));
	start_simds(",\"import\":[\"lidar/*\",\"!lidar/raw\"]");
	return 0;
}

/* The second lets nothing in. */
static int start_closed(void **state)
{
	char conf[4096], *inbound;

	(void)state;
	net = machines_start(m, 2, test_seed(9));
	machine_simd_start(&m[0], machine_conf(&m[0], 2, "", ""));
	snprintf(conf, sizeof(conf), "%s", machine_conf(&m[1], 2, "", ""));
	inbound = strstr(conf, "\"inbound\":[\"*\"]");
	assert_non_null(inbound);
	inbound[strlen("\"inbound\":[\"")] = '-';
	machine_simd_start(&m[1], conf);
	return 0;
}

TEST_PROCESSES()

/* A client here publishes an Imu under the name of an Image there. */
static int publish_imu(void *arg)
{
	struct traffic *k = arg;
	const struct sim_client_options o = { .size = sizeof(o), .name = "imu" };
	struct sim_publisher *pub;
	struct sim_client *c;

	if (sim_connect(&o, &c) < 0 || sim_advertise(c, "/camera", &sim_Imu_type, NULL, &pub) < 0)
		return 1;
	atomic_store(&k->reader[0].ready, true);
	AWAIT(atomic_load(&k->stop));
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

/* Both were there before the machines saw each other: each keeps its own, and says so. */
TEST_WITH(another_type_is_refused_by_name, start_parted, end)
{
	pid_t imu, sender;

	t = traffic_new("/camera", 16, 16);
	imu = machine_fork(&m[1], publish_imu, t);
	sender = machine_fork(&m[0], traffic_send, t);
	AWAIT(atomic_load(&t->reader[0].ready) && atomic_load(&t->sent) > 0);
	switch_heal(net);
	AWAIT(machine_logged(&m[1], "/camera of machine a is not imported: "));
	AWAIT(machine_logged(&m[0], "/camera of machine b is not imported: "));
	assert_true(machine_says(&m[1], "list", "sim/Imu"));
	assert_false(machine_says(&m[1], "list", "sim/Image"));
	atomic_store(&t->stop, true);
	assert_int_equal(machine_wait(sender), 0);
	assert_int_equal(machine_wait(imu), 0);
}

/*
 * A refused import does not keep a channel of our own under that name from being announced, also while the channel is
 * silent.
 */
TEST_WITH(a_local_channel_of_another_type_is_announced, start_closed, end)
{
	pid_t imu, sender;

	t = traffic_new("/camera", 16, 16);
	sender = machine_fork(&m[0], traffic_send, t);
	AWAIT(machine_logged(&m[1], "/camera of machine a is not imported: the rig does not list it"));
	imu = machine_fork(&m[1], publish_imu, t);
	AWAIT(machine_logged(&m[0], "/camera of machine b is not imported: "));
	atomic_store(&t->stop, true);
	assert_int_equal(machine_wait(sender), 0);
	assert_int_equal(machine_wait(imu), 0);
}

TEST_WITH(patterns_select_the_inbound_channels, start_importing_little, end)
{
	struct traffic *raw = traffic_new("/lidar/raw", 16, 16), *camera = traffic_new("/camera", 16, 16);
	pid_t p[3];

	t = traffic_new("/lidar/top", 16, 16);
	p[0] = machine_fork(&m[0], traffic_send, raw);
	p[1] = machine_fork(&m[0], traffic_send, camera);
	AWAIT(machine_says(&m[0], "list", "/lidar/raw") && machine_says(&m[0], "list", "/camera"));
	p[2] = machine_fork(&m[0], traffic_send, t);
	AWAIT(machine_says(&m[1], "list", "/lidar/top"));
	assert_false(machine_says(&m[1], "list", "/lidar/raw"));
	assert_false(machine_says(&m[1], "list", "/camera"));
	atomic_store(&t->stop, true);
	atomic_store(&raw->stop, true);
	atomic_store(&camera->stop, true);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(machine_wait(p[i]), 0);
	traffic_free(raw);
	traffic_free(camera);
}

/* A network without encryption is refused unless the rig says so: before anything runs. */
TEST_WITH(an_insecure_network_is_refused, NULL, end)
{
	net = machines_start(m, 1, test_seed(9));
	machine_simd_start(&m[0],
			   "\"pools\":[{\"size\":\"4KiB\",\"count\":500}],\"rigs\":[{\"name\":\"rig\",\"bridges\":[{"
			   "\"name\":\"link\",\"plugin\":\"link\",\"channels\":[\"*\"],"
			   "\"options\":{\"interface\":\"10.0.0.1\",\"peers\":[\"10.0.0.2\"]}}]}]");
	AWAIT(machine_logged(&m[0], "neither encrypts nor authenticates"));
	assert_int_equal(machine_sent(&m[0]), 0);
	machine_simd_stop(&m[0]);
}

/* Messages of a machine that is not listed as a peer are ignored. */
TEST_WITH(machines_not_listed_as_peers_are_ignored, NULL, end)
{
	char conf[2048], *peers;

	net = machines_start(m, 2, test_seed(9));
	snprintf(conf, sizeof(conf), "%s", machine_conf(&m[0], 2, "", ""));
	peers = strstr(conf, "\"10.0.0.2\"");
	assert_non_null(peers);
	memcpy(peers, "\"10.0.0.9\"", 10);
	machine_simd_start(&m[0], conf);
	machine_simd_start(&m[1], machine_conf(&m[1], 2, "", ""));
	t = traffic_new("/camera", 16, 16);
	{
		pid_t sender = machine_fork(&m[0], traffic_send, t);
		uint64_t before = machine_sent(&m[1]);

		/* long enough for a listed one: the test before this takes a tenth of it */
		AWAIT(machine_sent(&m[1]) > before + 3000);
		assert_false(machine_says(&m[1], "list", "/camera"));
		assert_false(machine_logged(&m[0], "machine b is linked"));
		atomic_store(&t->stop, true);
		assert_int_equal(machine_wait(sender), 0);
	}
}
