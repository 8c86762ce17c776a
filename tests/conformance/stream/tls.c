/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of stream.h with TLS, and what only TLS has: a handshake that fails, an announced end. */
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "protect.h"
#include "timeutil.h"

const struct suite suite = {
	.host = "127.0.0.1", .begin = protect_begin, .end = protect_end, .protect = protect_stream
};

TEST_WITH(both_sides_know_the_name_of_the_other, suite_set_up, suite_tear_down)
{
	struct tls_peer p;

	suite_dial();
	assert_false(stream_tls_peer(suite_near.s, &p));
	UNTIL(suite_near.n_opened && suite_far.n_opened);
	assert_true(stream_tls_peer(suite_near.s, &p));
	assert_string_equal(p.name, "server");
	assert_true(stream_tls_peer(suite_far.s, &p));
	assert_string_equal(p.name, "alice");
}

/* Each side gets the reason. */
TEST_WITH(an_untrusted_peer_gets_the_reason, suite_set_up, suite_tear_down)
{
	protect.dials = protect.foreign;
	suite_dial();
	UNTIL(suite_near.n_ended && suite_far.n_ended);
	assert_int_equal(suite_near.n_opened + suite_far.n_opened, 0);
	assert_int_equal(suite_near.error, -EPROTO);
	assert_string_equal(suite_near.why, "TLS: its certificate is of an authority that is not in ca.pem");
	assert_int_equal(suite_far.error, -EPROTO);
	assert_non_null(strstr(suite_far.why, "the other side refuses this certificate"));
}

static int dial_plain(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_port = htons((uint16_t)suite_port());
	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* The server sends nothing back. */
TEST_WITH(garbage_instead_of_a_handshake_ends_the_connection, suite_set_up, suite_tear_down)
{
	static const char noise[] = "GET / HTTP/1.1\r\n\r\n";
	int fd = dial_plain();
	char c;

	assert_int_equal(send(fd, noise, sizeof(noise), MSG_NOSIGNAL), sizeof(noise));
	UNTIL(suite_far.n_ended);
	assert_int_equal(suite_far.error, -EPROTO);
	assert_string_equal(suite_far.why, "TLS: what came is no TLS");
	assert_int_equal(suite_far.n_opened, 0);
	assert_true(recv(fd, &c, 1, 0) <= 0);
	close(fd);
}

/* Opens a listener without TLS, and accepts the near end's connection. */
static int accept_plain(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), peer;
	socklen_t len = sizeof(a);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	suite_dial_at(ntohs(a.sin_port));
	UNTIL((peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
	close(fd);
	return peer;
}

/* Dials a server that sends nothing, or something other than TLS. */
static void dials_to(const char *answer, int error)
{
	int peer = accept_plain();

	assert_int_equal(send(peer, answer, strlen(answer), MSG_NOSIGNAL), strlen(answer));
	if (!*answer)
		suite_run(5 * NS_PER_S);
	UNTIL(suite_near.n_ended);
	assert_int_equal(suite_near.error, error);
	assert_int_equal(suite_near.n_opened, 0);
	close(peer);
}

TEST_WITH(a_handshake_with_a_silent_server_times_out, suite_set_up, suite_tear_down)
{
	dials_to("", -ETIMEDOUT);
}

TEST_WITH(a_server_without_tls_is_refused, suite_set_up, suite_tear_down)
{
	dials_to("HTTP/1.1 400 Bad Request\r\n\r\n", -EPROTO);
}

TEST_WITH(a_stream_can_be_ended_during_the_handshake, suite_set_up, suite_tear_down)
{
	int peer = accept_plain();
	char hello[4096];

	UNTIL(recv(peer, hello, sizeof(hello), 0) > 0);
	stream_end(suite_near.s, NS_PER_S);
	suite_run(0);
	assert_int_equal(suite_near.n_ended, 1);
	assert_int_equal(suite_near.error, 0);
	close(peer);
}

/* Carries t's output to fd, and fd's input to t. Returns whether t goes on. */
static bool carry(struct tls *t, int fd)
{
	static uint8_t in[65536];
	const void *data;
	size_t len = tls_output(t, &data);
	uint8_t byte;
	ssize_t n;

	if (len)
		tls_sent(t, (size_t)send(fd, data, len, MSG_NOSIGNAL));
	suite_run(0);
	n = recv(fd, in, sizeof(in), MSG_DONTWAIT);
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	tls_input(t, in, (size_t)n);
	return tls_read(t, &byte, 1) >= 0;
}

/* A connection that is cut without close_notify may have been cut by an attacker. */
TEST_WITH(the_end_of_a_stream_is_announced_to_the_peer, suite_set_up, suite_tear_down)
{
	const struct tls_options o = { .keys = protect.dials, .host = "localhost" };
	int fd = dial_plain();
	struct tls *t;

	assert_int_equal(tls_create(TLS_CLIENT, &o, &t), 0);
	UNTIL((carry(t, fd), suite_far.n_opened));
	stream_destroy(suite_far.s);
	suite_far.s = NULL;
	AWAIT(!carry(t, fd));
	assert_int_equal(tls_state(t), TLS_CLOSED);
	tls_destroy(t);
	close(fd);
}

/* Until the stream is open, writing is refused. */
TEST_WITH(nothing_is_written_before_it_is_open, suite_set_up, suite_tear_down)
{
	suite_dial();
	assert_int_equal(stream_write(suite_near.s, &(struct iovec){ &protect, 1 }, 1), -ENOTCONN);
	stream_destroy(suite_near.s);
	suite_near.s = NULL;
	UNTIL(!suite_far.s || suite_far.n_ended);
	assert_int_equal(suite_far.n, 0);
}
