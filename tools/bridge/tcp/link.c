/* SPDX-License-Identifier: Apache-2.0 */
/* See link.h. What the thread does, and what goes out. connect.c makes the connection. */
#include "link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connect.h"

#define BUSY_MS      20   /* somebody writes: how soon to look again for what is to be said */
#define CLOSE_DUR_MS 1000 /* without progress, for what was sent last to arrive */
#define SAID_MAX     (1u << 20)
#define SAID_PIECE   (64u << 10)

static void report(struct tcp_link *l, enum sim_bridge_status status, const char *text)
{
	atomic_store(&l->status, (int)status);
	l->ops->status(l->arg, status, text);
}

void tcp_link_wake(struct tcp_link *l)
{
	uint64_t one = 1;

	(void)!write(l->wake, &one, sizeof(one));
}

static void note_why(struct tcp_link *l, const char *why)
{
	pthread_mutex_lock(&l->lock);
	if (!l->why[0])
		snprintf(l->why, sizeof(l->why), "%s", why);
	pthread_mutex_unlock(&l->lock);
}

/* wire is held or not. */
static void give_up(struct tcp_link *l, int fd, const char *why)
{
	note_why(l, why);
	shutdown(fd, SHUT_RDWR); /* wakes the thread, and who waits */
}

static void give_up_stalled(struct tcp_link *l, int fd)
{
	char why[120];

	snprintf(why, sizeof(why), "it has taken nothing for %ld ms", l->stall_ms);
	give_up(l, fd, why);
}

/* ---- writing; wire is held ---- */

static int wait_writable(struct tcp_link *l, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int n = poll(&p, 1, (int)l->stall_ms);

	if (n > 0 || (n < 0 && errno == EINTR))
		return 0;
	give_up_stalled(l, fd);
	return -ETIMEDOUT;
}

static void skip(struct iovec **iov, unsigned *count, size_t n)
{
	while (n && n >= (*iov)->iov_len) {
		n -= (*iov)->iov_len;
		(*iov)++;
		(*count)--;
	}
	if (n) {
		(*iov)->iov_base = (uint8_t *)(*iov)->iov_base + n;
		(*iov)->iov_len -= n;
	}
}

ssize_t tcp_link_some(struct tcp_link *l, const struct iovec *iov, unsigned n)
{
	struct msghdr m = { .msg_iov = (struct iovec *)iov, .msg_iovlen = n };
	ssize_t sent = sendmsg(l->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent >= 0)
		return sent;
	if (errno == EAGAIN || errno == EINTR)
		return 0;
	sent = -errno;
	give_up(l, l->fd, strerror(errno));
	return sent;
}

static int send_all(struct tcp_link *l, struct iovec *iov, unsigned count)
{
	size_t left = 0;
	ssize_t n;
	int r;

	for (unsigned i = 0; i < count; i++)
		left += iov[i].iov_len;
	while (left) {
		n = tcp_link_some(l, iov, count);
		if (n < 0)
			return (int)n;
		r = n ? 0 : wait_writable(l, l->fd);
		if (r < 0)
			return r;
		left -= (size_t)n;
		skip(&iov, &count, (size_t)n);
	}
	return 0;
}

/* The next piece of what is to be said: it may become more meanwhile. 0: there is none. */
static size_t next_said(struct tcp_link *l, uint8_t *piece)
{
	size_t n;

	pthread_mutex_lock(&l->lock);
	n = l->n_said - l->n_sent < SAID_PIECE ? l->n_said - l->n_sent : SAID_PIECE;
	if (n)
		memcpy(piece, l->said + l->n_sent, n);
	pthread_mutex_unlock(&l->lock);
	return n;
}

static void said_sent(struct tcp_link *l, size_t n)
{
	pthread_mutex_lock(&l->lock);
	l->n_sent += n;
	pthread_mutex_unlock(&l->lock);
}

int tcp_link_send_said(struct tcp_link *l)
{
	struct iovec iov = { .iov_base = l->piece };
	ssize_t n = 0;

	while ((iov.iov_len = next_said(l, l->piece)) > 0) {
		n = tcp_link_some(l, &iov, 1);
		if (n <= 0)
			return (int)n;
		said_sent(l, (size_t)n);
	}
	return 1;
}

/* The same, waiting for the peer. */
static int say_all(struct tcp_link *l)
{
	int r;

	while ((r = tcp_link_send_said(l)) == 0 && (r = wait_writable(l, l->fd)) == 0)
		;
	return r < 0 ? r : 0;
}

int tcp_link_send(struct tcp_link *l, const char *topic, size_t total, struct iovec *iov, unsigned n)
{
	uint8_t head[FRAME_HEAD_MAX];
	int r;

	if (total > UINT32_MAX)
		return -EMSGSIZE;
	iov[0] = (struct iovec){ head, frame_publish(l->ops->dialect, topic, (uint32_t)total, head, sizeof(head)) };
	if (!iov[0].iov_len)
		return -ENAMETOOLONG;
	pthread_mutex_lock(&l->wire);
	r = l->fd < 0 ? -ENOTCONN : say_all(l);
	if (r == 0)
		r = send_all(l, iov, n);
	pthread_mutex_unlock(&l->wire);
	return r;
}

/* ---- what is to be said ---- */

static void *grow(void *old, size_t *room, size_t want, size_t size)
{
	void *more = old;

	if (want > *room) {
		more = realloc(old, 2 * want * size);
		*room = more ? 2 * want : *room;
	}
	return more;
}

/* lock is held. */
static bool has_said(const struct tcp_link *l, const struct iovec *frame)
{
	size_t at = 0;

	for (size_t i = 0; i < l->n_ends; at = l->ends[i++])
		if (l->ends[i] - at == frame->iov_len && memcmp(l->said + at, frame->iov_base, frame->iov_len) == 0)
			return true;
	return false;
}

/* lock is held. */
static int add_said(struct tcp_link *l, const struct iovec *frame)
{
	uint8_t *said;
	size_t *ends;

	if (l->n_said + frame->iov_len > SAID_MAX)
		return -ENOSPC;
	said = grow(l->said, &l->said_room, l->n_said + frame->iov_len, 1);
	if (!said)
		return -ENOMEM;
	l->said = said;
	ends = grow(l->ends, &l->ends_room, l->n_ends + 1, sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	l->ends = ends;
	memcpy(l->said + l->n_said, frame->iov_base, frame->iov_len);
	l->ends[l->n_ends++] = l->n_said += frame->iov_len;
	return 0;
}

int tcp_link_say(struct tcp_link *l, const struct iovec *frames, unsigned n)
{
	int r = 0;

	pthread_mutex_lock(&l->lock);
	for (unsigned i = 0; i < n && r == 0; i++)
		if (!has_said(l, &frames[i]))
			r = add_said(l, &frames[i]);
	pthread_mutex_unlock(&l->lock);
	tcp_link_wake(l);
	return r;
}

int tcp_link_say_add(struct tcp_link *l, uint8_t op, const char *topic, const char *type)
{
	uint8_t frame[2 * FRAME_HEAD_MAX];
	struct iovec iov = { frame, frame_add(op, topic, type, frame, sizeof(frame)) };

	return iov.iov_len ? tcp_link_say(l, &iov, 1) : -ENAMETOOLONG;
}

static bool has_more_to_say(struct tcp_link *l)
{
	bool more;

	pthread_mutex_lock(&l->lock);
	more = l->n_sent < l->n_said;
	pthread_mutex_unlock(&l->lock);
	return more;
}

/* The next connection has heard nothing yet. */
static void forget_said(struct tcp_link *l)
{
	pthread_mutex_lock(&l->lock);
	l->n_said = l->n_sent = l->n_ends = 0;
	pthread_mutex_unlock(&l->lock);
}

/* ---- reading ---- */

struct input {
	uint8_t *data;
	size_t room, n, skip; /* skip: bytes of a message that is too long, still to come */
};

static void use_skip(struct input *in)
{
	size_t n = in->n < in->skip ? in->n : in->skip;

	in->skip -= n;
	in->n -= n;
	memmove(in->data, in->data + n, in->n);
}

/* All whole frames that there are. */
static int take_all(struct tcp_link *l, struct input *in, char *why, size_t why_size)
{
	size_t at = 0;
	struct frame f;
	int r = 0;

	use_skip(in);
	while (at < in->n && (r = frame_parse(l->ops->dialect, in->data + at, in->n - at, (uint32_t)l->ops->body_max,
					      &f, why, why_size)) > 0) {
		l->ops->take(l->arg, &f);
		at += f.total;
		if (f.message)
			continue;
		in->skip = f.len;
		break;
	}
	in->n -= at;
	memmove(in->data, in->data + at, in->n);
	if (r > 0 && in->skip && in->n)
		return take_all(l, in, why, why_size);
	return r < 0 ? r : 0;
}

/* 0: go on. */
static int read_some(struct tcp_link *l, int fd, struct input *in)
{
	ssize_t n = recv(fd, in->data + in->n, in->room - in->n, MSG_DONTWAIT);
	char why[160] = "";

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		give_up(l, fd, n < 0 ? strerror(errno) : "it has closed the connection");
		return -ENOTCONN;
	}
	in->n += (size_t)n;
	if (take_all(l, in, why, sizeof(why)) == 0)
		return 0;
	give_up(l, fd, why);
	return -EPROTO;
}

/* ---- the thread ---- */

/*
 * What goes out by this thread: what is to be said, unless somebody writes, who says it with the next message; and what the plug-in has
 * waiting. False: the connection has failed.
 */
static bool send_turn(struct tcp_link *l, struct tcp_turn *t)
{
	int r = 1;

	*t = (struct tcp_turn){ .wait_dur_ns = -1 };
	if (!l->ops->turn && !has_more_to_say(l))
		return true;
	if (pthread_mutex_trylock(&l->wire) != 0) {
		t->wait_dur_ns = BUSY_MS * INT64_C(1000000);
		t->more = true;
		return true;
	}
	if (l->ops->turn)
		r = l->ops->turn(l->arg, t);
	else if ((r = tcp_link_send_said(l)) == 0)
		t->blocked = t->more = true;
	pthread_mutex_unlock(&l->wire);
	return r >= 0;
}

struct watch { /* of a peer that takes nothing */
	bool blocked;
	int64_t since_mono_ms, stop_mono_ms; /* it is blocked, something went out; 0: not to stop */
};

/* Whether the peer has taken nothing for too long; poll() says whether it takes something now. */
static bool stalled(const struct tcp_link *l, struct watch *w, const struct tcp_turn *t, bool writable)
{
	int64_t now = tcp_mono_ms();

	if (!t->blocked || !w->blocked || writable)
		w->since_mono_ms = now;
	w->blocked = t->blocked;
	return now - w->since_mono_ms >= l->stall_ms;
}

static bool to_stop(const struct tcp_link *l, struct watch *w, const struct tcp_turn *t)
{
	int64_t now = tcp_mono_ms();

	if (!atomic_load(&l->stop))
		return false;
	if (!w->stop_mono_ms)
		w->stop_mono_ms = now;
	return !t->more || now - (w->blocked ? w->since_mono_ms : now) > CLOSE_DUR_MS;
}

/* -1 is for ever. */
static int64_t sooner(int64_t a_dur_ns, int64_t b_dur_ns)
{
	return a_dur_ns < 0 || (b_dur_ns >= 0 && b_dur_ns < a_dur_ns) ? b_dur_ns : a_dur_ns;
}

static void await(struct tcp_link *l, struct pollfd p[2], const struct tcp_turn *t, int64_t look_dur_ns)
{
	int64_t dur_ns = sooner(t->blocked ? l->stall_ms * INT64_C(1000000) : t->wait_dur_ns, look_dur_ns);
	struct timespec ts = { dur_ns / 1000000000, dur_ns % 1000000000 };
	uint64_t n;

	if (t->blocked && atomic_load(&l->stop) && l->stall_ms > CLOSE_DUR_MS)
		ts = (struct timespec){ CLOSE_DUR_MS / 1000, 1000000 };
	p[0].events = (short)(POLLIN | (t->blocked ? POLLOUT : 0));
	p[0].revents = p[1].revents = 0;
	(void)ppoll(p, 2, dur_ns < 0 ? NULL : &ts, NULL);
	if (p[1].revents)
		(void)!read(l->wake, &n, sizeof(n));
}

static bool has_reason(struct tcp_link *l)
{
	bool has;

	pthread_mutex_lock(&l->lock);
	has = l->why[0] != '\0';
	pthread_mutex_unlock(&l->lock);
	return has;
}

static void serve(struct tcp_link *l, int fd, struct input *in)
{
	struct pollfd p[2] = { { .fd = fd }, { .fd = l->wake, .events = POLLIN } };
	struct watch w = { .blocked = false };
	struct tcp_turn t;

	while (send_turn(l, &t) && !has_reason(l) && !to_stop(l, &w, &t)) {
		await(l, p, &t, l->ops->look ? l->ops->look(l->arg) : -1);
		if ((p[0].revents & ~POLLOUT) && read_some(l, fd, in) < 0)
			return;
		if (stalled(l, &w, &t, p[0].revents & POLLOUT))
			give_up_stalled(l, fd);
	}
}

/* What was sent last shall arrive: a socket that is closed with something unread in it throws away what the peer has not read. */
static void end_gently(int fd, struct input *in)
{
	int64_t end_mono_ms = tcp_mono_ms() + CLOSE_DUR_MS, left;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	shutdown(fd, SHUT_WR);
	while ((left = end_mono_ms - tcp_mono_ms()) > 0 && poll(&p, 1, (int)left) > 0)
		if (recv(fd, in->data, in->room, MSG_DONTWAIT) <= 0)
			return;
}

static void set_fd(struct tcp_link *l, int fd)
{
	pthread_mutex_lock(&l->wire);
	l->fd = fd;
	pthread_mutex_unlock(&l->wire);
}

static void end(struct tcp_link *l, int fd, struct input *in)
{
	if (atomic_load(&l->stop)) /* nobody sends any more: whoever disconnects has waited for them */
		end_gently(fd, in);
	set_fd(l, -1);
	close(fd);
}

static void tell_why(struct tcp_link *l, char *why, size_t why_size)
{
	pthread_mutex_lock(&l->lock);
	snprintf(why, why_size, "%s:%s: %s", l->address.host, l->address.port, l->why);
	pthread_mutex_unlock(&l->lock);
}

static void *link_main(void *arg)
{
	struct tcp_link *l = arg;
	struct input in = { .room = FRAME_HEAD_MAX + l->ops->body_max };
	char why[480] = "no memory";
	int fd = -1, r;

	if (in.room < SAID_PIECE)
		in.room = SAID_PIECE;
	in.data = malloc(in.room);
	r = in.data ? tcp_connect(l, &fd, why, sizeof(why)) : -ENOMEM;
	if (r == 0) {
		set_fd(l, fd);
		snprintf(why, sizeof(why), "%s at %s:%s", l->ops->dialect->peer, l->address.host, l->address.port);
		report(l, SIM_BRIDGE_CONNECTED, why);
		serve(l, fd, &in);
		end(l, fd, &in);
		tell_why(l, why, sizeof(why));
	}
	free(in.data);
	if (l->ops->ended)
		l->ops->ended(l->arg);
	forget_said(l);
	if (!atomic_load(&l->stop))
		report(l, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, why);
	atomic_store(&l->alive, false);
	return NULL;
}

int tcp_link_open(struct tcp_link *l)
{
	int r;

	tcp_link_join(l);
	atomic_store(&l->stop, false);
	l->why[0] = '\0'; /* nobody else is there yet */
	report(l, SIM_BRIDGE_CONNECTING, "");
	atomic_store(&l->alive, true);
	r = -pthread_create(&l->thread, NULL, link_main, l);
	l->running = r == 0;
	if (r < 0)
		atomic_store(&l->alive, false);
	if (l->running)
		pthread_setname_np(l->thread, l->ops->thread);
	return r;
}

bool tcp_link_alive(const struct tcp_link *l)
{
	return atomic_load(&l->alive);
}

void tcp_link_close(struct tcp_link *l)
{
	atomic_store(&l->stop, true);
	tcp_link_wake(l);
}

void tcp_link_join(struct tcp_link *l)
{
	if (!l->running)
		return;
	pthread_join(l->thread, NULL);
	l->running = false;
}

int tcp_link_init(struct tcp_link *l)
{
	l->fd = -1;
	pthread_mutex_init(&l->wire, NULL);
	pthread_mutex_init(&l->lock, NULL);
	l->piece = malloc(SAID_PIECE);
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return l->wake < 0 ? -errno : l->piece ? 0 : -ENOMEM;
}

void tcp_link_finish(struct tcp_link *l)
{
	tcp_link_close(l);
	tcp_link_join(l);
	pthread_mutex_destroy(&l->lock);
	pthread_mutex_destroy(&l->wire);
	close(l->wake);
	free(l->piece);
	free(l->said);
	free(l->ends);
}
