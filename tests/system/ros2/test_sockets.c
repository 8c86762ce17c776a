/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who can reach the bridge: a stranger in a network of its own, at the other end of two cables, sends to each address of
 * ours. And what it sends does not fill the log. Runs in a network namespace of its own.
 */
#include "test.h"

#include <errno.h>
#include <sched.h>

#include "support/wait.h"
#include "cables.h"
#include "host.h"

#define BURST 500

static unsigned lines(struct host *h, const char *text)
{
	unsigned n = 0;

	pthread_mutex_lock(&h->log_lock);
	for (const char *at = h->log; (at = strstr(at, text)); at++)
		n++;
	pthread_mutex_unlock(&h->log_lock);
	return n;
}

TEST_WITH(over_loopback_nobody_else_is_heard, cables_lay, cables_cut)
{
	static const char *const options[] = { "localhost", "true", NULL };
	static struct host h;
	struct cables_receiver r[8];
	struct sim_bridge *b;
	unsigned n;

	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	n = cables_receivers(r);
	assert_in_range(n, 2, 4);
	for (unsigned i = 0; i < n; i++) {
		assert_string_equal(r[i].device, "lo");
		for (int cable = 0; cable < CABLES; cable++)
			assert_int_equal(cables_send(cable, r[i].port, 1), ECONNREFUSED);
	}
	h.ops->destroy(b);
}

TEST_WITH(only_the_chosen_network_is_heard, cables_lay, cables_cut)
{
	static const char *const options[] = { "localhost", "false", "interface", "near1", NULL };
	static struct host h;
	struct cables_receiver r[8];
	struct sim_bridge *b;
	uint16_t port;

	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	assert_in_range(cables_receivers(r), 2, 4);
	port = r[0].port == 7400 ? r[1].port : r[0].port;
	AWAIT(cables_send(0, port, BURST) == 0 &&
	      cables_dropped(port) >= BURST); /* some are lost before the cable's ends know each other */
	assert_int_equal(lines(&h, "malformed packet"), 0);
	AWAIT(cables_send(1, port, BURST) == 0 && lines(&h, "malformed packet"));
	h.ops->destroy(b);
}

TEST_WITH(a_flood_is_counted_and_not_written, cables_lay, cables_cut)
{
	static const char *const options[] = { "localhost", "false", "interface", "10.77.0.1", NULL };
	static struct host h;
	struct cables_receiver r[8];
	struct sim_bridge *b;
	unsigned sent = 0;

	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	assert_in_range(cables_receivers(r), 2, 4);
	/* a line of its own tells how many were not written, once there is room again */
	AWAIT((sent += BURST, cables_send(0, r[0].port == 7400 ? r[1].port : r[0].port, BURST)) == 0 &&
	      lines(&h, "lines suppressed: rate limit"));
	assert_in_range(lines(&h, "malformed packet"), 1, sent - 1);
	h.ops->destroy(b);
}

static const char *refused_as(const char *const *options)
{
	static struct host h;
	struct sim_bridge *b;

	host_init(&h, PLUGIN, options);
	assert_true(h.ops->create(&h.host, &b) < 0);
	return h.log;
}

TEST(a_bad_interface_is_named)
{
	static const char *const twice[] = { "localhost", "true", "interface", "near0", NULL };
	static const char *const quoted[] = { "localhost", "false", "interface", "\"/><x y=\"", NULL };
	static const char *const missing[] = { "localhost", "false", "interface", "none7", NULL };

	assert_non_null(strstr(refused_as(twice), "set options.localhost to false"));
	assert_non_null(strstr(refused_as(quoted), "not the name or the IPv4 address of a network interface"));
	assert_non_null(strstr(refused_as(missing), "no network interface none7 with an IPv4 address is up"));
}

/* What is not UDP over IPv4 has no filter of ours. */
TEST(what_cannot_be_closed_to_others_is_not_opened)
{
	static const char *const local[] = { "localhost", "true", NULL };

	setenv("CYCLONEDDS_URI",
	       "<CycloneDDS><Domain><General><Transport>tcp</Transport></General></Domain></CycloneDDS>", 1);
	assert_non_null(strstr(refused_as(local), "other machines could reach us"));
	unsetenv("CYCLONEDDS_URI");
}

/* Nothing but a loopback that is down. */
TEST(a_network_without_an_interface_is_named)
{
	static const char *const local[] = { NULL }, *const far[] = { "localhost", "false", NULL };

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_non_null(strstr(refused_as(local), "loopback has no address 127.0.0.1 here: ip link set lo up"));
	assert_non_null(strstr(refused_as(far), "no network interface with an IPv4 address is up"));
}

TEST_PROCESSES()
