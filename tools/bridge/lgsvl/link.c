/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to lgsvl_bridge. Its thread connects, reads, and sends what is to be said when no lane does; whoever has `wire`
 * writes, and waits for a peer that reads slowly, but not for one that has stopped.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lgsvl.h"

#define IN_ROOM  (FRAME_HEAD_MAX + TOPICS_BODY_MAX)
#define BUSY_MS  20 /* a lane writes: how soon to look again for what is to be said */
#define SAID_MAX (1u << 20)

static int64_t mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void report(struct sim_bridge *b, enum sim_bridge_status status, const char *text)
{
	atomic_store(&b->status, (int)status);
	b->host->status(b->host->ctx, status, text);
}

static void poke(struct sim_bridge *b)
{
	uint64_t one = 1;

	(void)!write(b->wake, &one, sizeof(one));
}

/* The first reason is the one that is told. wire is held or not. */
static void give_up(struct sim_bridge *b, int fd, const char *why)
{
	pthread_mutex_lock(&b->lock);
	if (!b->why[0])
		snprintf(b->why, sizeof(b->why), "%s", why);
	pthread_mutex_unlock(&b->lock);
	shutdown(fd, SHUT_RDWR); /* wakes the thread, and a lane that waits */
}

/* ---- writing; wire is held ---- */

static int wait_writable(struct sim_bridge *b, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	char why[120];
	int n = poll(&p, 1, (int)b->stall_ms);

	if (n > 0 || (n < 0 && errno == EINTR))
		return 0;
	snprintf(why, sizeof(why), "it has taken nothing for %ld ms", b->stall_ms);
	give_up(b, fd, why);
	return -ETIMEDOUT;
}

static void skip(struct msghdr *m, size_t n)
{
	while (n && n >= m->msg_iov->iov_len) {
		n -= m->msg_iov->iov_len;
		m->msg_iov++;
		m->msg_iovlen--;
	}
	if (n) {
		m->msg_iov->iov_base = (uint8_t *)m->msg_iov->iov_base + n;
		m->msg_iov->iov_len -= n;
	}
}

static int send_all(struct sim_bridge *b, struct iovec *iov, unsigned count)
{
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = count };
	size_t left = 0;

	for (unsigned i = 0; i < count; i++)
		left += iov[i].iov_len;
	while (left) {
		ssize_t n = sendmsg(b->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		int r = n >= 0 || errno == EINTR ? 0 : -errno;

		if (r == -EAGAIN)
			r = wait_writable(b, b->fd);
		if (r < 0) {
			give_up(b, b->fd, strerror(-r));
			return r;
		}
		if (n > 0) {
			left -= (size_t)n;
			skip(&m, (size_t)n);
		}
	}
	return 0;
}

/* What is to be said, in pieces, since it may become more meanwhile. */
static int send_said(struct sim_bridge *b)
{
	uint8_t part[4096];
	int r = 0;

	for (;;) {
		struct iovec iov = { .iov_base = part };

		pthread_mutex_lock(&b->lock);
		iov.iov_len = b->n_said - b->n_sent < sizeof(part) ? b->n_said - b->n_sent : sizeof(part);
		if (iov.iov_len)
			memcpy(part, b->said + b->n_sent, iov.iov_len);
		b->n_sent += iov.iov_len;
		pthread_mutex_unlock(&b->lock);
		if (!iov.iov_len || r < 0)
			return r;
		r = send_all(b, &iov, 1);
	}
}

int lgsvl_send(struct sim_bridge *b, const char *topic, const struct iov_buf *o)
{
	uint8_t head[FRAME_HEAD_MAX];
	struct iovec iov[1 + IOV_BUF_PIECES];
	int r;

	if (o->total > UINT32_MAX)
		return -EMSGSIZE;
	iov[0] = (struct iovec){ head, frame_publish(topic, (uint32_t)o->total, head, sizeof(head)) };
	pthread_mutex_lock(&b->wire);
	r = b->fd < 0 ? -ENOTCONN : send_said(b);
	if (r == 0)
		r = send_all(b, iov, 1 + iov_buf_iov(o, iov + 1));
	pthread_mutex_unlock(&b->wire);
	return r;
}

/* ---- what is to be said ---- */

/* lock is held. */
static bool has_said(const struct sim_bridge *b, const uint8_t *frame, size_t n)
{
	uint32_t len;

	for (size_t at = 0; at < b->n_said;) {
		size_t end = at + 1;

		for (int i = 0; i < 2; i++) {
			memcpy(&len, b->said + end, sizeof(len));
			end += sizeof(len) + len;
		}
		if (end - at == n && memcmp(b->said + at, frame, n) == 0)
			return true;
		at = end;
	}
	return false;
}

/* lock is held. */
static int add_said(struct sim_bridge *b, const uint8_t *frame, size_t n)
{
	uint8_t *more;

	if (b->n_said + n > SAID_MAX)
		return -ENOSPC;
	if (b->n_said + n > b->said_room) {
		more = realloc(b->said, 2 * (b->n_said + n));
		if (!more)
			return -ENOMEM;
		b->said = more;
		b->said_room = 2 * (b->n_said + n);
	}
	memcpy(b->said + b->n_said, frame, n);
	b->n_said += n;
	return 0;
}

int lgsvl_say(struct sim_bridge *b, enum frame_op op, const char *topic, const char *type)
{
	uint8_t frame[2 * FRAME_HEAD_MAX];
	size_t n = frame_add(op, topic, type, frame, sizeof(frame));
	int r = n ? 0 : -ENAMETOOLONG;

	pthread_mutex_lock(&b->lock);
	if (r == 0 && !has_said(b, frame, n))
		r = add_said(b, frame, n);
	pthread_mutex_unlock(&b->lock);
	poke(b);
	return r;
}

static bool has_more_to_say(struct sim_bridge *b)
{
	bool more;

	pthread_mutex_lock(&b->lock);
	more = b->n_sent < b->n_said;
	pthread_mutex_unlock(&b->lock);
	return more;
}

/* Unless a lane writes, which says it with its next message: then we look again. How long to wait; -1: for ever. */
static int say_it(struct sim_bridge *b)
{
	if (!has_more_to_say(b))
		return -1;
	if (pthread_mutex_trylock(&b->wire) != 0)
		return BUSY_MS;
	(void)send_said(b);
	pthread_mutex_unlock(&b->wire);
	return -1;
}

/* ---- connecting ---- */

static bool stopped(struct sim_bridge *b, int timeout_ms)
{
	struct pollfd p = { .fd = b->wake, .events = POLLIN };
	uint64_t n;

	if (poll(&p, 1, timeout_ms) > 0)
		(void)!read(b->wake, &n, sizeof(n));
	return atomic_load(&b->stop);
}

static int await(struct sim_bridge *b, int fd, int64_t end_mono_ms)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLOUT }, { .fd = b->wake, .events = POLLIN } };
	socklen_t size = sizeof(int);
	int error = 0;

	while (!atomic_load(&b->stop)) {
		int64_t left = end_mono_ms - mono_ms();

		if (left <= 0)
			return -ETIMEDOUT;
		(void)poll(p, 2, (int)left);
		if (p[1].revents && stopped(b, 0))
			break;
		if (p[0].revents)
			return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? -errno : -error;
	}
	return -ECANCELED;
}

static int connect_to(struct sim_bridge *b, const struct addrinfo *a, int64_t end_mono_ms, int *ret_fd)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, r = 0;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0)
		r = errno == EINPROGRESS ? await(b, fd, end_mono_ms) : -errno;
	if (r < 0)
		close(fd);
	else
		*ret_fd = fd;
	return r;
}

static int connect_any(struct sim_bridge *b, int *ret_fd, char *why, size_t why_size)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *all;
	int64_t end_mono_ms = mono_ms() + b->connect_ms;
	int r = getaddrinfo(b->address.host, b->address.port, &hints, &all);

	if (r != 0) {
		snprintf(why, why_size, "%s: %s", b->address.host, gai_strerror(r));
		return -ENOENT;
	}
	r = -ENOENT;
	for (const struct addrinfo *a = all; a && r < 0 && r != -ECANCELED; a = a->ai_next)
		r = connect_to(b, a, end_mono_ms, ret_fd);
	freeaddrinfo(all);
	snprintf(why, why_size, "%s:%s: %s%s", b->address.host, b->address.port, strerror(-r),
		 r == -ECONNREFUSED ? "; is lgsvl_bridge running?" : "");
	return r;
}

/* ---- reading ---- */

struct input {
	uint8_t *data;
	size_t n, skip; /* skip: bytes of a message that is too long, still to come */
};

static void take(struct sim_bridge *b, const struct frame *f)
{
	for (unsigned i = 0; i < b->n_in; i++) {
		struct lgsvl_in *in = &b->in[i];

		if (strlen(in->in.name) != f->topic_len || memcmp(in->in.name, f->topic, f->topic_len) != 0 ||
		    !atomic_load(&in->listened))
			continue;
		if (f->message)
			topic_in_take(&in->in, f->message, f->len);
		else
			topic_in_drop(&in->in, -EMSGSIZE);
	}
}

static void use_skip(struct input *in)
{
	size_t n = in->n < in->skip ? in->n : in->skip;

	in->skip -= n;
	in->n -= n;
	memmove(in->data, in->data + n, in->n);
}

/* All whole frames that there are. */
static int take_all(struct sim_bridge *b, struct input *in, char *why, size_t why_size)
{
	size_t at = 0;
	struct frame f;
	int r = 0;

	use_skip(in);
	while (at < in->n && (r = frame_parse(in->data + at, in->n - at, TOPICS_BODY_MAX, &f, why, why_size)) > 0) {
		take(b, &f);
		at += f.total;
		if (f.message)
			continue;
		in->skip = f.len;
		break;
	}
	in->n -= at;
	memmove(in->data, in->data + at, in->n);
	if (r > 0 && in->skip && in->n)
		return take_all(b, in, why, why_size);
	return r < 0 ? r : 0;
}

/* 0: go on. */
static int read_some(struct sim_bridge *b, int fd, struct input *in)
{
	ssize_t n = recv(fd, in->data + in->n, IN_ROOM - in->n, MSG_DONTWAIT);
	char why[160] = "";

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		give_up(b, fd, n < 0 ? strerror(errno) : "it has closed the connection");
		return -ENOTCONN;
	}
	in->n += (size_t)n;
	if (take_all(b, in, why, sizeof(why)) == 0)
		return 0;
	give_up(b, fd, why);
	return -EPROTO;
}

static void serve(struct sim_bridge *b, int fd, struct input *in)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = b->wake, .events = POLLIN } };
	uint64_t n;

	for (;;) {
		int timeout_ms = say_it(b);

		(void)poll(p, 2, timeout_ms);
		if (p[1].revents)
			(void)!read(b->wake, &n, sizeof(n));
		if (atomic_load(&b->stop) || (p[0].revents && read_some(b, fd, in) < 0))
			return;
	}
}

/* What was sent last shall arrive: a socket that is closed with something unread in it throws away what the peer has not read. */
static void end_gently(int fd, uint8_t *scratch)
{
	int64_t end_mono_ms = mono_ms() + LGSVL_CLOSE_DUR_MS, left;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	shutdown(fd, SHUT_WR);
	while ((left = end_mono_ms - mono_ms()) > 0 && poll(&p, 1, (int)left) > 0)
		if (recv(fd, scratch, IN_ROOM, MSG_DONTWAIT) <= 0)
			return;
}

/* ---- the thread ---- */

static void set_fd(struct sim_bridge *b, int fd)
{
	pthread_mutex_lock(&b->wire);
	b->fd = fd;
	pthread_mutex_unlock(&b->wire);
}

/* The next connection has heard nothing yet: the host opens all channels again. */
static void forget_said(struct sim_bridge *b)
{
	pthread_mutex_lock(&b->lock);
	b->n_said = b->n_sent = 0;
	pthread_mutex_unlock(&b->lock);
}

static void end(struct sim_bridge *b, int fd, uint8_t *scratch)
{
	bool asked = atomic_load(&b->stop);

	if (asked) /* no lane is inside: whoever disconnects has waited for them */
		end_gently(fd, scratch);
	set_fd(b, -1);
	close(fd);
}

static void tell_why(struct sim_bridge *b, char *why, size_t why_size)
{
	pthread_mutex_lock(&b->lock);
	snprintf(why, why_size, "%s:%s: %s", b->address.host, b->address.port, b->why);
	pthread_mutex_unlock(&b->lock);
}

static void *link_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct input in = { .data = malloc(IN_ROOM) };
	char why[480] = "no memory";
	int fd = -1, r = in.data ? connect_any(b, &fd, why, sizeof(why)) : -ENOMEM;

	if (r == 0) {
		set_fd(b, fd);
		snprintf(why, sizeof(why), "lgsvl_bridge at %s:%s", b->address.host, b->address.port);
		report(b, SIM_BRIDGE_CONNECTED, why);
		topics_offer(&b->common);
		serve(b, fd, &in);
		end(b, fd, in.data);
		tell_why(b, why, sizeof(why));
	}
	free(in.data);
	forget_said(b);
	if (!atomic_load(&b->stop))
		report(b, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, why);
	return NULL;
}

int lgsvl_link_open(struct sim_bridge *b)
{
	int r;

	lgsvl_link_join(b);
	atomic_store(&b->stop, false);
	b->why[0] = '\0'; /* nobody else is there yet */
	report(b, SIM_BRIDGE_CONNECTING, "");
	r = -pthread_create(&b->thread, NULL, link_main, b);
	b->running = r == 0;
	if (b->running)
		pthread_setname_np(b->thread, "lgsvl");
	return r;
}

void lgsvl_link_close(struct sim_bridge *b)
{
	atomic_store(&b->stop, true);
	poke(b);
}

void lgsvl_link_join(struct sim_bridge *b)
{
	if (!b->running)
		return;
	pthread_join(b->thread, NULL);
	b->running = false;
}
