/* SPDX-License-Identifier: Apache-2.0 */
/* See stream.h. */
#include "stream.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "fd.h"
#include "mem.h"
#include "timeutil.h"

enum state { DIALLING, OPEN, ENDING, OVER };

struct stream {
	struct exec *x;
	struct stream_options o;
	enum state state;
	int fd; /* -1: none */
	struct exec_io io;
	struct exec_timer timer;        /* dialling, a peer that takes nothing, ending */
	struct exec_post over;          /* ended() is due */
	struct addrinfo *all, *address; /* of a dial: all, and the one that is tried */
	bool blocked;                   /* the socket took less than there was */
	uint8_t *data;
	size_t n;
	int error;
	char why[STREAM_WHY_MAX];
};

/* ---- its end ---- */

static void close_fd(struct stream *s)
{
	exec_io_del(&s->io);
	fd_close(s->fd);
	s->fd = -1;
}

static void on_over(void *arg)
{
	struct stream *s = arg;

	s->o.ops->ended(s->o.arg, s->error, s->why);
}

/* why NULL: that of the errno. */
static void give_up(struct stream *s, int error, const char *why)
{
	if (s->state == OVER)
		return;
	s->state = OVER;
	s->error = error;
	snprintf(s->why, sizeof(s->why), "%s", why ? why : strerror(-error));
	exec_timer_cancel(&s->timer);
	close_fd(s);
	exec_post(&s->over);
}

/* ---- dialling ---- */

static void on_event(void *arg, uint32_t events);

static void set_options(int fd)
{
	int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

/* Begin to connect to the address that is tried. */
static int try_address(struct stream *s)
{
	const struct addrinfo *a = s->address;
	int r;

	s->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -errno;
	set_options(s->fd);
	if (connect(s->fd, a->ai_addr, a->ai_addrlen) < 0 && errno != EINPROGRESS)
		return -errno;
	r = exec_io_add(s->x, &s->io, s->fd, EPOLLOUT, on_event, s);
	return r;
}

/* Until one of them can be tried; r: why the last one could not. */
static void try_next(struct stream *s, int r)
{
	for (; s->address; s->address = s->address->ai_next) {
		close_fd(s);
		r = try_address(s);
		if (r == 0)
			return;
	}
	give_up(s, r, NULL);
}

static void on_connected(struct stream *s)
{
	socklen_t size = sizeof(int);
	int error = 0;

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error) {
		s->address = s->address->ai_next;
		try_next(s, -error);
		return;
	}
	exec_timer_cancel(&s->timer);
	s->state = OPEN;
	(void)exec_io_mod(&s->io, EPOLLIN);
	s->o.ops->opened(s->o.arg);
}

/* ---- reading ---- */

static void use(struct stream *s)
{
	char why[STREAM_WHY_MAX] = "";
	ssize_t used = s->o.ops->take(s->o.arg, s->data, s->n, why);

	if (used < 0) {
		give_up(s, (int)used, *why ? why : NULL);
		return;
	}
	s->n -= (size_t)used;
	memmove(s->data, s->data + used, s->n);
	if (s->n == s->o.buffer)
		give_up(s, -EMSGSIZE, NULL);
}

static void read_some(struct stream *s)
{
	ssize_t n = recv(s->fd, s->data + s->n, s->o.buffer - s->n, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		give_up(s,
			s->state == ENDING ? 0
			: n < 0            ? -errno
					   : -ECONNRESET,
			n < 0 ? NULL : "it has closed the connection");
		return;
	}
	s->n += (size_t)n;
	if (s->state == ENDING)
		s->n = 0;
	else
		use(s);
}

/* ---- writing ---- */

/* The peer has taken something, or there was nothing for it to take: from now on it may take nothing for so long. */
static void watch(struct stream *s, bool blocked)
{
	s->blocked = blocked;
	(void)exec_io_mod(&s->io, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN);
	if (blocked && s->o.stall_dur_ns)
		exec_timer_at(&s->timer, ns_add(exec_now(s->x), s->o.stall_dur_ns));
	else
		exec_timer_cancel(&s->timer);
}

ssize_t stream_write(struct stream *s, const struct iovec *iov, unsigned n)
{
	struct msghdr m = { .msg_iov = (struct iovec *)iov, .msg_iovlen = n };
	size_t total = 0;
	ssize_t sent;

	if (s->state != OPEN)
		return -ENOTCONN;
	for (unsigned i = 0; i < n; i++)
		total += iov[i].iov_len;
	sent = sendmsg(s->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		give_up(s, -errno, NULL);
		return s->error;
	}
	if (sent < 0)
		sent = 0;
	if ((size_t)sent < total && (sent > 0 || !s->blocked))
		watch(s, true);
	return sent;
}

/* ---- the loop ---- */

static void on_event(void *arg, uint32_t events)
{
	struct stream *s = arg;

	if (s->state == DIALLING) {
		on_connected(s);
		return;
	}
	if (s->blocked && events & EPOLLOUT && s->state == OPEN) {
		watch(s, false);
		s->o.ops->room(s->o.arg);
	}
	if (s->fd >= 0 && events & ~(uint32_t)EPOLLOUT)
		read_some(s);
}

/* The time in which this thread did not run is none in which the peer took nothing. */
static bool takes_something(const struct stream *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLOUT };

	return poll(&p, 1, 0) > 0 && p.revents & POLLOUT;
}

static void on_timer(void *arg)
{
	struct stream *s = arg;
	char why[STREAM_WHY_MAX];

	if (s->state == ENDING) {
		give_up(s, 0, "");
	} else if (s->state == DIALLING) {
		give_up(s, -ETIMEDOUT, NULL);
	} else if (!takes_something(s)) {
		snprintf(why, sizeof(why), "it has taken nothing for %lld ms",
			 (long long)(s->o.stall_dur_ns / NS_PER_MS));
		give_up(s, -ETIMEDOUT, why);
	}
}

static struct stream *stream_new(struct exec *x, const struct stream_options *o)
{
	struct stream *s = MEM_NEW(struct stream);

	if (!s)
		return NULL;
	s->x = x;
	s->o = *o;
	s->fd = -1;
	exec_timer_init(&s->timer, x, on_timer, s);
	exec_post_init(&s->over, x, on_over, s);
	s->data = mem_alloc(o->buffer);
	if (s->data)
		return s;
	stream_destroy(s);
	return NULL;
}

int stream_dial(struct exec *x, const struct address *a, const struct stream_options *o, struct stream **ret,
		char why[STREAM_WHY_MAX])
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	struct stream *s = stream_new(x, o);
	char port[8];
	int r;

	if (!s)
		return -ENOMEM;
	snprintf(port, sizeof(port), "%u", a->port);
	r = getaddrinfo(a->host, port, &hints, &s->all);
	if (r != 0) {
		snprintf(why, STREAM_WHY_MAX, "%s", gai_strerror(r));
		stream_destroy(s);
		return -ENOENT;
	}
	if (o->dial_dur_ns)
		exec_timer_at(&s->timer, ns_add(exec_now(x), o->dial_dur_ns));
	s->address = s->all;
	try_next(s, -ENOENT);
	*ret = s;
	return 0;
}

int stream_adopt(struct exec *x, int fd, const struct stream_options *o, struct stream **ret)
{
	struct stream *s = stream_new(x, o);
	int r;

	if (!s) {
		fd_close(fd);
		return -ENOMEM;
	}
	s->fd = fd;
	s->state = OPEN;
	r = exec_io_add(x, &s->io, fd, EPOLLIN, on_event, s);
	if (r < 0)
		stream_destroy(s);
	else
		*ret = s;
	return r;
}

void stream_hurry(struct stream *s, int64_t stall_dur_ns)
{
	if (s->o.stall_dur_ns == stall_dur_ns)
		return;
	s->o.stall_dur_ns = stall_dur_ns;
	if (s->state == OPEN)
		watch(s, s->blocked);
}

void stream_end(struct stream *s, int64_t linger_dur_ns)
{
	if (s->state != OPEN) {
		give_up(s, 0, "");
		return;
	}
	s->state = ENDING;
	s->n = 0;
	watch(s, false);
	(void)shutdown(s->fd, SHUT_WR);
	exec_timer_at(&s->timer, ns_add(exec_now(s->x), linger_dur_ns));
}

void stream_destroy(struct stream *s)
{
	if (!s)
		return;
	close_fd(s);
	exec_timer_cancel(&s->timer);
	exec_post_cancel(&s->over);
	if (s->all)
		freeaddrinfo(s->all);
	mem_free(s->data);
	mem_free(s);
}
