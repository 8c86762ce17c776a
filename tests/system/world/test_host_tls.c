/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/world.h by TLS, with a real sim-world: admission on either side, and that there is no other way in. Thread: the
 * test's; hosts have theirs.
 */
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <sim/world.h>

#include "server.h"

#define OBJECTS 4000u /* of one host: with their bodies more than what TLS keeps waiting */

static struct server server;
static char here[TEST_PATH_MAX], other[TEST_PATH_MAX], mixed[TEST_PATH_MAX];

static void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *fmt, ...)
{
	char command[1000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

/* mixed: what the authority of `here` vouches for is trusted; alice is another's. */
static int make(void **state)
{
	(void)state;
	test_path(here, "here");
	test_path(other, "other");
	test_path(mixed, "mixed");
	run(SIM_WORLD " --make-keys %s --client alice --client bob >&2", here);
	run(SIM_WORLD " --make-keys %s --client alice >&2", other);
	run("mkdir %s && cp %s/ca.pem %s && cp -p %s/alice.* %s", mixed, here, mixed, other, mixed);
	return 0;
}
TEST_GROUP(make, NULL)

static void start(uint16_t port)
{
	server_start(&server, port, (const char *const[]){ SERVER_NEVER_LATE, "--keys", here, NULL });
}

static int try(const char *dir, const char *name, const char *address, unsigned flags, struct sim_world **ret)
{
	char keys[TEST_PATH_MAX + 64];

	snprintf(keys, sizeof(keys), "%s%s%s", dir, name ? ":" : "", name ? name : "");
	return sim_world_connect(&(struct sim_world_options){ .size = sizeof(struct sim_world_options),
							      .address = address,
							      .name = "host",
							      .keys = keys,
							      .flags = flags,
							      .timeout_ms = SERVER_NO_LIMIT_MS },
				 ret);
}

static struct sim_world *come(const char *name, unsigned flags)
{
	struct sim_world *w;

	if (try(here, name, server.address, flags, &w) < 0)
		fail_msg("%s: %s", name, sim_world_why());
	return w;
}

static struct sim_world_info info(struct sim_world *w)
{
	struct sim_world_info i;

	sim_world_get_info(w, &i);
	return i;
}

static void put(struct sim_world *w, uint64_t id, double x, int64_t time_sim_ns)
{
	uint8_t body[122] = { 0x0a, 120 };
	const struct sim_world_object o = { .id = id,
					    .code = SIM_WORLD_VEHICLE,
					    .time_sim_ns = time_sim_ns,
					    .position = { x, 0, 0 },
					    .body = body,
					    .body_size = sizeof(body) };

	memset(body + 2, 'a' + (int)(id % 26), 120);
	assert_int_equal(sim_world_put(w, &o), 0);
}

/* Both promise a tick, and it comes. */
static void go_on(struct sim_world *a, struct sim_world *b)
{
	struct sim_world_tick t[2];

	assert_int_equal(sim_world_done(a), 0);
	if (sim_world_step(b, -1, &t[1]) < 0 || sim_world_wait(a, -1, &t[0]) < 0)
		fail_msg("%s", sim_world_why());
}

/* Until both know the same tick; then their hashes say whether they have the same world. */
static void are_same(struct sim_world *a, struct sim_world *b)
{
	while (info(a).tick.tick != info(b).tick.tick)
		go_on(a, b);
	assert_int_not_equal(info(a).hash, 0);
	assert_int_equal(info(a).hash, info(b).hash);
}

static void two_are_in_step(unsigned flags)
{
	struct sim_world *a, *b;
	struct sim_world_tick t;

	start(0);
	a = come("alice", flags);
	b = come("bob", flags);
	server_says(&server, "host (certificate alice)");
	assert_int_equal(sim_world_wait(a, -1, &t), 0);
	assert_int_equal(sim_world_wait(b, -1, &t), 0);
	for (unsigned i = 0; i < 40; i++) {
		put(a, 0, i, info(a).tick.time_sim_ns + t.step_dur_ns);
		put(b, 0, -10.0 * i, info(b).tick.time_sim_ns + t.step_dur_ns);
		go_on(a, b);
		are_same(a, b);
	}
	assert_int_equal(info(a).seen, 2);
	sim_world_disconnect(a);
	sim_world_disconnect(b);
	assert_int_equal(server_stop(&server), 0);
}

TEST(two_hosts_are_in_step_by_tls)
{
	two_are_in_step(0);
}

TEST(two_hosts_are_in_step_by_tls_and_datagrams)
{
	two_are_in_step(SIM_WORLD_DATAGRAMS);
}

TEST(two_hosts_without_threads_are_in_step_by_tls)
{
	two_are_in_step(SIM_WORLD_NO_THREAD);
}

/* Far more than fits into the buffers at once, to the server and back. */
TEST(a_large_world_is_transferred_over_tls)
{
	struct sim_world *a, *b;
	struct sim_world_tick t;

	start(0);
	a = come("alice", 0);
	assert_int_equal(sim_world_wait(a, -1, &t), 0);
	for (uint64_t i = 0; i < OBJECTS; i++)
		put(a, i, (double)i / 100, t.time_sim_ns + t.step_dur_ns);
	assert_int_equal(sim_world_step(a, -1, &t), 0);
	b = come("bob", 0); /* which is sent all of it at once */
	assert_int_equal(sim_world_wait(b, -1, &t), 0);
	while (info(b).seen < OBJECTS)
		go_on(a, b);
	are_same(a, b);
	assert_true(info(b).bytes_in > 256 << 10);
	sim_world_disconnect(a);
	sim_world_disconnect(b);
	assert_int_equal(server_stop(&server), 0);
}

TEST(after_a_server_restart_hosts_do_a_new_handshake)
{
	struct sim_world *a, *b;
	struct sim_world_tick t;
	uint16_t port;

	start(0);
	a = come("alice", 0);
	assert_int_equal(sim_world_wait(a, -1, &t), 0);
	put(a, 0, 7, t.time_sim_ns);
	assert_int_equal(sim_world_step(a, -1, &t), 0);
	port = server.port;
	server_kill(&server);
	start(port);
	b = come("bob", 0);
	AWAIT(info(a).reconnects == 1);
	while (info(b).seen < 1)
		go_on(a, b);
	are_same(a, b);
	sim_world_disconnect(a);
	sim_world_disconnect(b);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- hosts that are not admitted ---- */

static void is_refused(const char *dir, const char *name, const char *address, int error, const char *why)
{
	struct sim_world *w;

	for (unsigned flags = 0; flags <= SIM_WORLD_NO_THREAD; flags += SIM_WORLD_NO_THREAD) {
		assert_int_equal(try(dir, name, address, flags, &w), error);
		if (!strstr(sim_world_why(), why))
			fail_msg("\"%s\", not \"%s\"", sim_world_why(), why);
	}
}

TEST(the_server_refuses_untrusted_certificates)
{
	start(0);
	is_refused(here, NULL, server.address, -EACCES, "wants a certificate");
	is_refused(mixed, "alice", server.address, -EACCES, "refuses this certificate");
	is_refused(here, "server", server.address, -EACCES, "refuses this certificate");
	assert_int_equal(server_stop(&server), 0);
}

TEST(a_host_refuses_an_untrusted_server)
{
	char address[32];

	server_start(&server, 0,
		     (const char *const[]){ SERVER_NEVER_LATE, "--keys", here, "--listen", "0.0.0.0:0", NULL });
	is_refused(other, "alice", server.address, -EACCES, "of an authority that is not in ca.pem");
	snprintf(address, sizeof(address), "127.0.0.2:%u", server.port);
	is_refused(here, "alice", address, -EACCES, "its certificate is not for 127.0.0.2");
	assert_int_equal(server_stop(&server), 0);
}

/* The host reveals its identity only to a server that has shown its own. */
TEST(a_host_with_keys_never_falls_back_to_plain_text)
{
	struct sim_world *w;

	server_start(&server, 0, (const char *const[]){ SERVER_NEVER_LATE, NULL });
	is_refused(here, "alice", server.address, -ECONNRESET, "it may have no keys");
	assert_int_equal(server_stop(&server), 0);
	start(0);
	assert_true(sim_world_connect(&(struct sim_world_options){ .size = sizeof(struct sim_world_options),
								   .address = server.address,
								   .name = "plain" },
				      &w) < 0);
	assert_non_null(strstr(sim_world_why(), "keys"));
	assert_int_equal(server_stop(&server), 0);
}

TEST(invalid_keys_are_reported)
{
	char address[] = "127.0.0.1:1", dir[TEST_PATH_MAX];

	is_refused(here, "carol", address, -ENOENT, "carol.pem");
	is_refused(here, "", address, -EINVAL, "DIR:NAME");
	is_refused("", NULL, address, -EINVAL, "DIR:NAME");
	is_refused("", "alice", address, -EINVAL, "DIR:NAME");
	test_path(dir, "loose");
	run("cp -rp %s %s && chmod 644 %s/alice.key", here, dir, dir);
	is_refused(dir, "alice", address, -EPERM, "others can read this key");
	run("cp %s/bob.pem %s/alice.pem && chmod 600 %s/alice.key", dir, dir, dir);
	is_refused(dir, "alice", address, -EINVAL, "alice");
}

/* ---- the example ---- */

static FILE *convoy(const char *number, const char *name)
{
	char command[1000];
	FILE *f;

	snprintf(command, sizeof(command), CONVOY " %s %s 3 %s:%s", number, server.address, here, name);
	f = popen(command, "r"); /* NOLINT(cert-env33-c) */
	assert_non_null(f);
	return f;
}

TEST(the_example_runs_with_keys)
{
	char line[256] = "";
	FILE *f[2];

	/* in real time, so that the first host does not end before the other has connected */
	server_start(&server, 0, (const char *const[]){ "--keys", here, NULL });
	f[0] = convoy("0", "alice");
	f[1] = convoy("1", "bob");
	for (unsigned i = 0; i < 2; i++) {
		while (fgets(line, sizeof(line), f[i]))
			;
		assert_int_equal(pclose(f[i]), 0);
		assert_non_null(strstr(line, "3.0 s: 2 cars"));
	}
	assert_int_equal(server_stop(&server), 0);
}
