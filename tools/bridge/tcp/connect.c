/* SPDX-License-Identifier: Apache-2.0 */
/* See connect.h. */
#include "connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int64_t tcp_mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool stopped(struct tcp_link *l, int timeout_ms)
{
	struct pollfd p = { .fd = l->wake, .events = POLLIN };
	uint64_t n;

	if (poll(&p, 1, timeout_ms) > 0)
		(void)!read(l->wake, &n, sizeof(n));
	return atomic_load(&l->stop);
}

static int await(struct tcp_link *l, int fd, int64_t end_mono_ms)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLOUT }, { .fd = l->wake, .events = POLLIN } };
	socklen_t size = sizeof(int);
	int error = 0;

	while (!atomic_load(&l->stop)) {
		int64_t left = end_mono_ms - tcp_mono_ms();

		if (left <= 0)
			return -ETIMEDOUT;
		(void)poll(p, 2, (int)left);
		if (p[1].revents && stopped(l, 0))
			break;
		if (p[0].revents)
			return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? -errno : -error;
	}
	return -ECANCELED;
}

static int connect_to(struct tcp_link *l, const struct addrinfo *a, int64_t end_mono_ms, int *ret_fd)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, r = 0;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0)
		r = errno == EINPROGRESS ? await(l, fd, end_mono_ms) : -errno;
	if (r < 0)
		close(fd);
	else
		*ret_fd = fd;
	return r;
}

int tcp_connect(struct tcp_link *l, int *ret_fd, char *why, size_t why_size)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *all;
	int64_t end_mono_ms = tcp_mono_ms() + l->connect_ms;
	int r = getaddrinfo(l->address.host, l->address.port, &hints, &all);

	if (r != 0) {
		snprintf(why, why_size, "%s: %s", l->address.host, gai_strerror(r));
		return -ENOENT;
	}
	r = -ENOENT;
	for (const struct addrinfo *a = all; a && r < 0 && r != -ECANCELED; a = a->ai_next)
		r = connect_to(l, a, end_mono_ms, ret_fd);
	freeaddrinfo(all);
	if (r == -ECONNREFUSED)
		snprintf(why, why_size, "%s:%s: %s; is %s running?", l->address.host, l->address.port, strerror(-r),
			 l->ops->dialect->peer);
	else
		snprintf(why, why_size, "%s:%s: %s", l->address.host, l->address.port, strerror(-r));
	return r;
}
