/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-world as a process, and attacks by a client, or through its log, that must fail. Thread: the test's; sim-world is
 * a child.
 */
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

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

static void lockstep(struct client *c, unsigned n)
{
	while (n--) {
		client_done(c, 1);
		assert_true(client_await(c, 5));
	}
}

/* Requests for unknown objects, each of which is answered, until the server reads no more of them. */
static void ask_and_never_read(const struct client *c)
{
	static const uint8_t want[] = { 4, 0, 0, 0, 38, 0x08, 0xff, 0x01 };
	static uint8_t many[sizeof(want) * 8192];

	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = want[i % sizeof(want)];
	while (send(c->fd, many, sizeof(many), MSG_NOSIGNAL) > 0)
		;
}

TEST(a_client_that_never_reads_keeps_its_place_for_two_seconds)
{
	static struct client c, next;

	server_start(&server, 0, (const char *const[]){ SERVER_NEVER_LATE, "--clients", "1", NULL });
	come(&c, SIM__WORLD__ROLE__OBSERVER, 1);
	ask_and_never_read(&c); /* ends when its connection does */
	server_says(&server, "disconnected: it ");
	come(&next, SIM__WORLD__ROLE__REGULATING, 2);
	lockstep(&next, 10);
	client_lose(&next, 1);
	client_lose(&c, 1);
	assert_int_equal(server_stop(&server), 0);
}

static int64_t cpu_ns(void)
{
	struct timespec t;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(server.pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &t), 0);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* It may have no descriptor more than it has; ret_before: what it might. */
static void no_descriptors(struct rlimit *ret_before)
{
	assert_int_equal(prlimit(server.pid, RLIMIT_NOFILE, NULL, ret_before), 0);
	assert_int_equal(prlimit(server.pid, RLIMIT_NOFILE, &(struct rlimit){ 3, ret_before->rlim_max }, NULL), 0);
}

/* A second in which it had a fifth of a CPU at most. */
static bool rested(struct pollfd *p)
{
	int64_t start_ms = wait_now_ms(), used = cpu_ns();

	assert_int_equal(poll(p, 1, 1000), 0); /* it waits in the system's queue, and is not turned away */
	return cpu_ns() - used < (wait_now_ms() - start_ms) * 200000;
}

TEST(without_free_descriptors_the_listener_rests)
{
	static struct client c, late;
	struct rlimit before;
	struct pollfd p = { .events = POLLIN };

	server_start(&server, 0, NULL);
	come(&c, SIM__WORLD__ROLE__OBSERVER, 1);
	no_descriptors(&before);
	p.fd = dial();
	server_says(&server, "no client can be accepted for now: Too many open files");
	AWAIT(rested(&p)); /* a machine that stood may have put that down to it; one that spins never rests */
	for (int i = 0; i < 120; i++)
		assert_true(client_await(&c, 5)); /* connected clients continue */
	assert_int_equal(prlimit(server.pid, RLIMIT_NOFILE, &before, NULL), 0);
	client_connect_fd(&late, p.fd, &(struct client_options){ .role = SIM__WORLD__ROLE__OBSERVER, .identity = 2 });
	assert_true(late.welcome);
	client_lose(&late, 1);
	client_lose(&c, 1);
	assert_int_equal(server_stop(&server), 0);
}

/* Bytes that are no frame: a line in the log. */
static void send_noise(void)
{
	char answer[512];
	int fd = dial();

	assert_int_equal(send(fd, "\0\0\0\0\0", 5, MSG_NOSIGNAL), 5);
	while (recv(fd, answer, sizeof(answer), 0) > 0)
		;
	close(fd);
}

TEST(an_unread_log_blocks_nothing)
{
	static struct client c;

	server_start(&server, 0, (const char *const[]){ SERVER_NEVER_LATE, NULL });
	come(&c, SIM__WORLD__ROLE__OBSERVER, 1);
	assert_true(fcntl(server.log, F_SETPIPE_SZ, 4096) >= 4096);
	for (int i = 0; i < 200; i++) /* of some 100 bytes each */
		send_noise();
	client_lose(&c, 1);
	come(&c, SIM__WORLD__ROLE__REGULATING, 1);
	lockstep(&c, 100);
	client_lose(&c, 1);
	assert_int_equal(server_stop(&server), 0); /* nor does it end it */
}
