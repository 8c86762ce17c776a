/* SPDX-License-Identifier: Apache-2.0 */
/* sim-world as a process, and clients by TCP on loopback. Thread: the test's; sim-world is a child. */
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "server.h"
#include "tests/unit/world/client.h"

static struct server server;

static int dial(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(server.port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void come(struct client *c, Sim__World__Role role, uint8_t identity)
{
	client_connect_fd(c, dial(), &(struct client_options){ .role = role, .identity = identity });
	assert_true(c->welcome);
}

/* Objects and a promise of each, then the heartbeat of that tick. */
static void round_of(struct client *c, unsigned n, unsigned t)
{
	for (unsigned i = 0; i < n; i++) {
		client_object(&c[i], 0, 30.0 * i + t, 0, 1);
		client_done(&c[i], 1);
	}
	for (unsigned i = 0; i < n; i++)
		assert_true(client_await(&c[i], 5));
}

/* Both are at the newest tick: the first one had only heartbeats before. */
static void level(struct client *a, const struct client *b)
{
	while (a->tick < b->tick)
		assert_true(client_await(a, 5));
}

static const char *const as_fast_as_it_goes[] = { SERVER_NEVER_LATE, NULL };

TEST(two_clients_share_a_world)
{
	static struct client c[2];

	server_start(&server, 0, as_fast_as_it_goes);
	come(&c[0], SIM__WORLD__ROLE__REGULATING, 1);
	come(&c[1], SIM__WORLD__ROLE__REGULATING, 2);
	assert_true(client_await(&c[0], 5)); /* the first tick waits for no client */
	level(&c[1], &c[0]);
	for (unsigned t = 0; t < 300; t++)
		round_of(c, 2, t);
	assert_int_equal(client_hash(&c[0]), client_hash(&c[1]));
	assert_int_equal(client_count(&c[0]), 2);
	assert_true(c[0].n_stale == 0 && c[1].n_stale == 0);
	assert_int_equal(client_find(&c[1], (uint64_t)c[0].connection << 40)->motion.v[0], 299000);
	client_lose(&c[0], 1);
	client_lose(&c[1], 1);
	assert_int_equal(server_stop(&server), 0);
}

/* Until it is killed. */
static pid_t come_and_go(void)
{
	static struct client c;
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		client_connect_fd(&c, dial(),
				  &(struct client_options){ .role = SIM__WORLD__ROLE__OBSERVER, .identity = 7 });
		client_lose(&c, 1);
	}
}

TEST(clients_that_reconnect_all_the_time_do_not_fill_the_log)
{
	pid_t pid;

	server_start(&server, 0, NULL);
	pid = come_and_go();
	server_says(&server, "connected: observer (");
	server_says(&server, " more like it before)");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(server_stop(&server), 0);
}

TEST(without_regulating_clients_time_is_paced)
{
	static struct client c;

	server_start(&server, 0, (const char *const[]){ "--step", "1ms", NULL });
	come(&c, SIM__WORLD__ROLE__OBSERVER, 1);
	for (int i = 0; i < 20; i++)
		assert_true(client_await(&c, 5));
	assert_int_equal(c.pace, 1000);
	client_lose(&c, 1);
	assert_int_equal(server_stop(&server), 0);
}

/* A KiB of it. The end comes, and not a byte before it. */
static void gets_nothing(const void *noise, size_t len)
{
	uint8_t all[1024] = { 0 }, byte;
	int fd = dial();

	memcpy(all, noise, len);
	for (size_t i = len; i < sizeof(all); i++)
		all[i] = (uint8_t)(i * 167 + 13);
	assert_int_equal(send(fd, all, sizeof(all), MSG_NOSIGNAL), sizeof(all));
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
}

TEST(a_client_that_sends_noise_is_only_closed)
{
	static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	static struct client c;

	server_start(&server, 0, as_fast_as_it_goes);
	come(&c, SIM__WORLD__ROLE__REGULATING, 1);
	gets_nothing(http, sizeof(http));
	gets_nothing("\x01\0\0\0\x23", 5);     /* a frame, but no Hello */
	gets_nothing("\x02\0\0\0\x20\x0b", 6); /* Hello that is no protobuf */
	server_says(&server, "refused: malformed frame, or one that is too long");
	server_says(&server, "refused: the first frame is not Hello");
	server_says(&server, "refused: a frame's body is not a message of its code");
	assert_true(client_await(&c, 5));
	client_done(&c, 1);
	assert_true(client_await(&c, 5)); /* the other one goes on */
	client_lose(&c, 1);
	assert_int_equal(server_stop(&server), 0);
}

TEST(connected_clients_are_notified_when_the_server_stops)
{
	static struct client c;

	server_start(&server, 0, as_fast_as_it_goes);
	come(&c, SIM__WORLD__ROLE__CONSTRAINED, 1);
	assert_int_equal(kill(server.pid, SIGTERM), 0);
	assert_true(client_await(&c, 1));
	assert_int_equal(c.reason, SIM__WORLD__BYE__REASON__STOPPED);
	assert_false(client_await(&c, 1));
	client_lose(&c, 1);
	assert_int_equal(waitpid(server.pid, NULL, 0), server.pid);
	close(server.log);
}

TEST(plain_text_is_accepted_on_loopback_only)
{
	static const char *const bad[] = { "0.0.0.0:0",   "192.0.2.1:0",     "localhost:0",
					   "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:" };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			if (freopen("/dev/null", "w", stderr))
				execl(SIM_WORLD, "sim-world", "--listen", bad[i], (char *)NULL);
			_exit(127);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	}
}
