/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TraCI connection against peers that behave and peers that do not. The peer is a thread with a
 * listening socket on a port that the system picks.
 */
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/sources/sumo/traci.h"

struct peer {
	int listen_fd;
	uint16_t port;
	const uint8_t *answers[4]; /* one for each request, then it hangs up, or stays silent */
	size_t sizes[4];
	bool silent;
	pthread_t thread;
};

/* Version 20 and the order accepted. */
static const uint8_t HELLO[] = { 0,  0, 0, 41, 7, 0,   0,   0,   0, 0, 0, 13, 0, 0, 0, 0,
				 20, 0, 0, 0,  3, 'T', 'S', 'T', 7, 3, 0, 0,  0, 0, 0 };

static void eat_request(int fd)
{
	uint8_t head[4], body[4096];
	size_t n;

	if (recv(fd, head, 4, MSG_WAITALL) != 4)
		return;
	n = ((size_t)head[2] << 8 | head[3]) - 4;
	(void)!recv(fd, body, n < sizeof(body) ? n : sizeof(body), MSG_WAITALL);
}

static void *serve(void *arg)
{
	struct peer *p = arg;
	int fd = accept(p->listen_fd, NULL, NULL);
	uint8_t b;

	for (int i = 0; i < 4 && p->answers[i]; i++) {
		eat_request(fd);
		(void)send(fd, p->answers[i], p->sizes[i], MSG_NOSIGNAL);
	}
	if (p->silent) {
		while (recv(fd, &b, 1, 0) > 0) /* until the client gives up */
			;
	}
	close(fd);
	return NULL;
}

static void peer_start(struct peer *p)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	p->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(p->listen_fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(p->listen_fd, 1), 0);
	assert_int_equal(getsockname(p->listen_fd, (struct sockaddr *)&a, &len), 0);
	p->port = ntohs(a.sin_port);
	assert_int_equal(pthread_create(&p->thread, NULL, serve, p), 0);
}

static void peer_join(struct peer *p)
{
	pthread_join(p->thread, NULL);
	close(p->listen_fd);
}

static int dial(const struct peer *p, int stop_fd, int timeout_ms, struct traci **ret)
{
	struct traci_options o = { .port = p->port, .alive_fd = -1, .stop_fd = stop_fd, .timeout_ms = timeout_ms };

	return traci_connect(&o, ret);
}

static const uint8_t *hello(size_t *ret_size)
{
	static uint8_t fixed[sizeof(HELLO)];

	memcpy(fixed, HELLO, sizeof(HELLO));
	fixed[3] = sizeof(HELLO);
	*ret_size = sizeof(HELLO);
	return fixed;
}

TEST(a_step_is_carried_out)
{
	static const uint8_t step[] = { 0, 0, 0, 15, 7, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	struct peer p = { .answers = { NULL, step }, .sizes = { 0, sizeof(step) } };
	struct traci *t;
	char why[64];

	p.answers[0] = hello(&p.sizes[0]);
	peer_start(&p);
	assert_int_equal(dial(&p, -1, 10000, &t), 0);
	assert_int_equal(traci_step(t, NULL, NULL, why, sizeof(why)), 0);
	assert_int_equal(traci_step(t, NULL, NULL, why, sizeof(why)), -EPIPE); /* it has hung up */
	traci_close(t, false);
	peer_join(&p);
}

TEST(a_refusal_of_sumo_is_returned)
{
	static const uint8_t no[] = { 0, 0, 0, 13, 9, 2, 0xff, 0, 0, 0, 2, 'n', 'o' };
	struct peer p = { .answers = { NULL, no }, .sizes = { 0, sizeof(no) } };
	struct traci *t;
	char why[64];

	p.answers[0] = hello(&p.sizes[0]);
	peer_start(&p);
	assert_int_equal(dial(&p, -1, 10000, &t), 0);
	assert_int_equal(traci_step(t, NULL, NULL, why, sizeof(why)), -EREMOTEIO);
	assert_string_equal(why, "no");
	traci_close(t, false);
	peer_join(&p);
}

static void refused(const uint8_t *answer, size_t size, int want)
{
	struct peer p = { .answers = { answer }, .sizes = { size } };
	struct traci *t = NULL;

	peer_start(&p);
	assert_int_equal(dial(&p, -1, 10000, &t), want);
	assert_null(t);
	peer_join(&p);
}

TEST(invalid_peers_are_refused)
{
	static const uint8_t tiny[] = { 0, 0, 0, 3, 1, 2, 3 };
	static const uint8_t huge[] = { 0x7f, 0xff, 0xff, 0xff, 1, 2, 3 };
	static const uint8_t half[] = { 0, 0, 0, 100, 1, 2, 3 };
	static const uint8_t http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
	static const uint8_t junk[] = { 0, 0, 0, 8, 1, 2, 3, 4 };
	uint8_t old[sizeof(HELLO)];
	size_t n;

	refused(tiny, sizeof(tiny), -EBADMSG);
	refused(huge, sizeof(huge), -EMSGSIZE);
	refused(half, sizeof(half), -EPIPE);
	refused(http, sizeof(http) - 1, -EMSGSIZE);
	refused(junk, sizeof(junk), -EPROTO);
	memcpy(old, hello(&n), sizeof(old));
	old[16] = 7; /* an API from long ago */
	refused(old, sizeof(old), -EPROTO);
}

TEST(a_silent_peer_times_out)
{
	struct peer p = { .silent = true };
	struct traci *t = NULL;

	peer_start(&p);
	assert_int_equal(dial(&p, -1, 20, &t), -ETIMEDOUT);
	peer_join(&p);
}

TEST(stop_is_obeyed_while_waiting)
{
	struct peer p = { .silent = true };
	int stop_fd = eventfd(1, EFD_CLOEXEC);
	struct traci *t = NULL;

	peer_start(&p);
	assert_int_equal(dial(&p, stop_fd, 600000, &t), -ECANCELED);
	peer_join(&p);
	close(stop_fd);
}

TEST(a_dead_process_is_not_waited_for)
{
	int dead_fd = eventfd(1, EFD_CLOEXEC);
	struct traci_options o = { .port = 1, .alive_fd = dead_fd, .stop_fd = -1, .timeout_ms = 600000 };
	struct traci *t = NULL;

	assert_int_equal(traci_connect(&o, &t), -EPIPE); /* port 1 has no listener */
	close(dead_fd);
}
