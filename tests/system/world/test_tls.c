/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-world with --keys as a process: clients that get in by TLS, those that do not, and the cost of strangers. Thread:
 * the test's; sim-world is a child.
 */
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "err.h"
#include "fd.h"
#include "server.h"
#include "tests/unit/world/client.h"
#include "loop/tls.h"

static struct server server;
static char here[TEST_PATH_MAX], other[TEST_PATH_MAX];

/* Status and text of a command of the shell. */
static int run(char said[8192], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int run(char said[8192], const char *fmt, ...)
{
	char command[1000];
	va_list ap;
	size_t n;
	FILE *f;
	int status;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(said, 1, 8191, f);
	said[n] = 0;
	status = pclose(f);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int make(void **state)
{
	char said[8192];

	(void)state;
	test_path(here, "here");
	test_path(other, "other");
	assert_int_equal(run(said, SIM_WORLD " --make-keys %s --client alice --client bob 2>&1", here), 0);
	assert_int_equal(run(said, SIM_WORLD " --make-keys %s --client alice 2>&1", other), 0);
	return 0;
}
TEST_GROUP(make, NULL)

/* Rungs are five steps long: no client is dropped because this machine is busy. */
static void start(void)
{
	server_start(&server, 0, (const char *const[]){ "--pace", "0", "--step", "2s", "--keys", here, NULL });
}

/* ---- a client by TLS ---- */

struct far {
	int fd;
	struct tls_keys *keys;
	struct tls *t;
};

static int dial_from(const char *from)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, from, &a.sin_addr), 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	a.sin_port = htons(server.port);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static bool flush(struct far *f)
{
	const void *data;
	size_t n;

	while ((n = tls_output(f->t, &data))) {
		ssize_t r = send(f->fd, data, n, MSG_NOSIGNAL);

		if (r <= 0)
			return false;
		tls_sent(f->t, (size_t)r);
	}
	return true;
}

/* Bytes that it was sent; 0 as tls_read(): the handshake went on; -ECONNRESET: the connection is gone. */
static ssize_t hear(struct far *f, void *buf, size_t size)
{
	static uint8_t in[65536];
	ssize_t r = recv(f->fd, in, sizeof(in), 0);

	if (r <= 0)
		return -ECONNRESET;
	tls_input(f->t, in, (size_t)r);
	r = tls_read(f->t, buf, size);
	return flush(f) ? r : r < 0 ? r : -ECONNRESET;
}

/* Until it is open, or has failed. */
static ssize_t shake(struct far *f, void *buf, size_t size)
{
	ssize_t r = flush(f) ? 0 : -ECONNRESET;

	while (r == 0 && tls_state(f->t) == TLS_HANDSHAKE)
		r = hear(f, buf, size);
	return r;
}

static void far_dial(struct far *f, const char *dir, const char *name, const char *from)
{
	assert_ok(tls_keys_load(dir, name, &f->keys));
	assert_ok(tls_create(TLS_CLIENT, &(struct tls_options){ .keys = f->keys, .host = "localhost" }, &f->t));
	f->fd = dial_from(from);
}

static void far_end(struct far *f)
{
	close(f->fd);
	tls_destroy(f->t);
	tls_keys_destroy(f->keys);
}

/* Whether the server gives it a Welcome. */
static bool is_welcome(const char *from)
{
	static const char hello[] = "\x1a\0\0\0\x20\x08\x01\x12\x03one\x22\x10"
				    "0123456789abcde";
	uint8_t buf[16384] = { 0 };
	struct far f;
	ssize_t r;

	far_dial(&f, here, "alice", from);
	r = shake(&f, buf, sizeof(buf));
	if (r == 0 && tls_write(f.t, hello, sizeof(hello)) == sizeof(hello) && flush(&f))
		while ((r = hear(&f, buf, sizeof(buf))) == 0)
			;
	far_end(&f);
	return r > 4 && buf[4] == 33;
}

/* Why a client that shows this is turned away, as the client has it. */
static void is_refused(const char *dir, const char *name, const char *why)
{
	uint8_t buf[100];
	struct far f;
	ssize_t r;

	far_dial(&f, dir, name, "127.0.0.1");
	r = shake(&f, buf, sizeof(buf));
	while (r == 0)
		r = hear(&f, buf, sizeof(buf));
	assert_int_equal(r, -EPROTO);
	if (!strstr(tls_why(f.t), why))
		fail_msg("%s, not %s", tls_why(f.t), why);
	far_end(&f);
}

/* ---- the test client of the protocol, by TLS: a process of its own encrypts its messages ---- */

/* Returns how it has ended: -EPIPE as it should. */
static ssize_t relay(struct far *f, int plain)
{
	struct pollfd p[2] = { { .fd = plain, .events = POLLIN }, { .fd = f->fd, .events = POLLIN } };
	uint8_t buf[16384];
	ssize_t r = shake(f, buf, sizeof(buf));

	while (r >= 0) {
		if (r > 0 && fd_write_all(plain, buf, (size_t)r) < 0)
			return -EIO;
		r = r > 0 ? tls_read(f->t, buf, sizeof(buf)) : 0;
		if (r != 0)
			continue;
		if (poll(p, 2, -1) < 0)
			return -EIO;
		if (p[0].revents) {
			ssize_t n = read(plain, buf, sizeof(buf));

			if (n <= 0)
				p[0].fd = -1;
			else if (tls_write(f->t, buf, (size_t)n) != n || !flush(f))
				return -EIO;
		}
		if (p[1].revents)
			r = hear(f, buf, sizeof(buf));
	}
	return r;
}

static pid_t come(struct client *c, const char *name, uint8_t identity)
{
	int pair[2];
	struct far f;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	far_dial(&f, here, name, "127.0.0.1");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		_exit(relay(&f, pair[1]) == -EPIPE ? 0 : 1);
	}
	close(pair[1]);
	far_end(&f);
	client_connect_fd(c, pair[0],
			  &(struct client_options){ .role = SIM__WORLD__ROLE__REGULATING, .identity = identity });
	assert_true(c->welcome);
	return pid;
}

TEST(two_clients_share_a_world_by_tls)
{
	static struct client c[2];
	pid_t pid[2];
	int status;

	start();
	pid[0] = come(&c[0], "alice", 1);
	server_says(&server, "client (certificate alice): connected");
	pid[1] = come(&c[1], "bob", 2);
	server_says(&server, "client (certificate bob): connected");
	assert_true(client_await(&c[0], 5));
	while (c[0].tick < c[1].tick)
		assert_true(client_await(&c[0], 5));
	while (c[1].tick < c[0].tick)
		assert_true(client_await(&c[1], 5));
	for (unsigned t = 0; t < 100; t++) {
		for (unsigned i = 0; i < 2; i++) {
			client_object(&c[i], 0, 30.0 * i + t, 0, 1);
			client_done(&c[i], 1);
		}
		for (unsigned i = 0; i < 2; i++)
			assert_true(client_await(&c[i], 5));
	}
	assert_int_equal(client_hash(&c[0]), client_hash(&c[1]));
	assert_int_equal(client_count(&c[0]), 2);
	assert_int_equal(kill(server.pid, SIGTERM), 0);
	for (unsigned i = 0; i < 2; i++) { /* both get the reason, and then it is over */
		while (client_await(&c[i], 1) && !c[i].bye)
			;
		assert_int_equal(c[i].reason, SIM__WORLD__BYE__REASON__STOPPED);
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0); /* close_notify */
		client_lose(&c[i], 1);
	}
	assert_int_equal(waitpid(server.pid, NULL, 0), server.pid);
	close(server.log);
}

/* ---- clients that are not admitted ---- */

TEST(clients_without_a_trusted_certificate_are_refused)
{
	char said[8192], mixed[TEST_PATH_MAX];

	start();
	is_refused(here, NULL, "wants a certificate");
	server_says(&server, "it has shown no certificate");
	test_path(mixed, "mixed");
	assert_int_equal(run(said, "mkdir %s && cp %s/ca.pem %s && cp -p %s/alice.* %s", mixed, here, mixed, other,
			     mixed),
			 0);
	is_refused(mixed, "alice", "refuses this certificate");
	server_says(&server, "of an authority that is not in ca.pem");
	is_refused(other, "alice", "of an authority that is not in ca.pem");
	is_refused(here, "server", "refuses this certificate");
	server_says(&server, "for the other side");
	assert_true(is_welcome("127.0.0.1"));
	assert_int_equal(server_stop(&server), 0);
}

TEST(openssl_connects_with_tls_1_3_only)
{
	char said[8192];

	start();
	assert_int_not_equal(run(said, "openssl s_client -connect %s -tls1_2 </dev/null 2>&1", server.address), 0);
	assert_non_null(strstr(said, "alert protocol version"));
	server_says(&server, "protocol version: the other side has no TLS 1.3");
	assert_int_equal(run(said,
			     "openssl s_client -connect %s -CAfile %s/ca.pem -cert %s/alice.pem -key %s/alice.key "
			     "-verify_return_error -verify_hostname localhost </dev/null 2>&1",
			     server.address, here, here, here),
			 0);
	assert_non_null(strstr(said, "TLSv1.3"));
	assert_non_null(strstr(said, "Verify return code: 0 (ok)"));
	assert_null(strstr(said, "New Session Ticket"));
	assert_int_equal(server_stop(&server), 0);
}

/* The end, and not a byte before it. */
static bool is_closed(int fd)
{
	uint8_t byte;
	ssize_t r = recv(fd, &byte, 1, 0);

	return r == 0 || (r < 0 && errno == ECONNRESET);
}

TEST(noise_and_plain_text_are_only_closed)
{
	uint8_t noise[1024];
	int fd;

	start();
	for (unsigned i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)(i * 167 + 13);
	for (unsigned i = 0; i < 2; i++) {
		fd = dial_from("127.0.0.1");
		if (i) /* a Hello of the protocol */
			memcpy(noise, "\x1a\0\0\0\x20\x08\x01\x12\x03one", 12);
		assert_int_equal(send(fd, noise, sizeof(noise), MSG_NOSIGNAL), sizeof(noise));
		assert_true(is_closed(fd));
		close(fd);
	}
	server_says(&server, "what came is no TLS");
	assert_true(is_welcome("127.0.0.1"));
	assert_int_equal(server_stop(&server), 0);
}

/* More of them than the bound: connections that were closed or accepted do not count. */
TEST(accepted_and_closed_connections_do_not_count_as_strangers)
{
	start();
	for (unsigned i = 0; i < 300; i++) {
		char from[32];

		snprintf(from, sizeof(from), "127.0.%u.%u", 1 + i / 250, i % 250 + 1);
		close(dial_from(from));
	}
	for (unsigned i = 0; i < 300; i++) /* its log, which is bounded, does not fill the pipe */
		AWAIT(is_welcome("127.0.0.1"));
	assert_int_equal(server_stop(&server), 0);
}

/* ---- options ---- */

TEST(with_keys_the_server_may_listen_on_any_address)
{
	server_start(&server, 0, (const char *const[]){ "--pace", "0", "--keys", here, "--listen", "0.0.0.0:0", NULL });
	server_says(&server, "listening on 0.0.0.0:");
	server_says(&server, "TLS 1.3");
	assert_true(is_welcome("127.0.0.1"));
	assert_int_equal(server_stop(&server), 0);
}

TEST(keys_readable_by_others_are_refused)
{
	char said[8192], dir[TEST_PATH_MAX];

	test_path(dir, "loose");
	assert_int_equal(run(said, "cp -rp %s %s && chmod 644 %s/server.key && %s --listen 127.0.0.1:0 --keys %s 2>&1",
			     here, dir, dir, SIM_WORLD, dir),
			 1);
	assert_non_null(strstr(said, "server.key: others can read this key (mode 0644)"));
	assert_int_equal(run(said, "%s --listen 127.0.0.1:0 --keys %s/none 2>&1", SIM_WORLD, dir), 1);
	assert_non_null(strstr(said, "ca.pem"));
}

TEST(keys_are_created_once_and_never_overwritten)
{
	char said[8192], dir[TEST_PATH_MAX];

	test_path(dir, "made");
	assert_int_equal(run(said, "%s --make-keys %s --name world.example 2>&1", SIM_WORLD, dir), 0);
	assert_non_null(strstr(said, "certificates made: 2"));
	assert_int_equal(run(said, "%s --make-keys %s --client alice 2>&1", SIM_WORLD, dir), 0);
	assert_non_null(strstr(said, "certificates made: 1"));
	assert_int_equal(run(said, "%s --make-keys %s --client alice 2>&1", SIM_WORLD, dir), 1);
	assert_non_null(strstr(said, "--client alice: its files exist already"));
	assert_int_equal(run(said, "%s --client alice 2>&1", SIM_WORLD), 2);
	assert_non_null(strstr(said, "--make-keys"));
}
