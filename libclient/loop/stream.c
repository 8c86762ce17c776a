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

#include "err.h"
#include "fd.h"
#include "lookup.h"
#include "mem.h"
#include "stream_private.h"
#include "timeutil.h"

#define BUFFER_MIN 65536u

enum state {
	DIALLING,
	SHAKING /* the filter's handshake is under way */,
	OPEN,
	LEAVING /* stream_end(): waits until everything is sent */,
	ENDING,
	OVER
};

struct stream {
	struct exec *x;
	struct stream_options o;
	enum state state;
	int fd;                       /* -1: none */
	struct stream_filter *filter; /* NULL: bytes are passed to the socket unchanged */
	struct exec_io io;
	struct exec_timer timer;        /* limits dialling, a stalled peer, and the end */
	struct exec_timer deadline;     /* stream_deadline() */
	struct exec_post over;          /* calls ended() */
	struct exec_post again;         /* offers unused bytes again */
	struct lookup_ask *ask;         /* NULL: no lookup is pending */
	struct addrinfo *all, *address; /* addresses to dial, and the one being tried */
	bool blocked;                   /* the socket took less than was written */
	bool paused;
	bool late; /* the deadline has passed, and no other one was set */
	uint8_t *data;
	size_t n, room, limit; /* limit: most unused bytes */
	uint8_t *out;          /* what stream_send() could not send; NULL: nothing */
	size_t out_len;
	int64_t linger_dur_ns;
	void (*left)(void *peer); /* a listener's: frees its place */
	void *peer;
	int error;
	char why[STREAM_WHY_MAX];
};

/* ---- its end ---- */

void stream_seat(struct stream *s, void (*left)(void *peer), void *peer, size_t limit)
{
	s->left = left;
	s->peer = peer;
	s->limit = limit && limit < s->o.buffer ? limit : s->o.buffer;
}

void *stream_peer(const struct stream *s)
{
	return s->peer;
}

static void close_fd(struct stream *s)
{
	void (*left)(void *peer) = s->left;

	exec_io_del(&s->io);
	fd_close(s->fd);
	s->fd = -1;
	s->left = NULL;
	if (left)
		left(s->peer);
	s->peer = NULL;
}

struct stream_filter *stream_filter(const struct stream *s)
{
	return s->filter;
}

static bool has(const struct stream *s, enum filter_has what)
{
	return s->filter && s->filter->ops->has(s->filter) & what;
}

static void on_over(void *arg)
{
	struct stream *s = arg;

	s->o.ops->ended(s->o.arg, s->error, s->why);
}

/* why NULL: the text of the errno. */
void stream_give_up(struct stream *s, int error, const char *why)
{
	if (s->state == OVER)
		return;
	s->state = OVER;
	s->error = error;
	snprintf(s->why, sizeof(s->why), "%s", why ? why : strerror(-error));
	exec_timer_cancel(&s->timer);
	exec_timer_cancel(&s->deadline);
	exec_post_cancel(&s->again);
	close_fd(s);
	exec_post(&s->over);
}

/* Ends with the text of errno, or with the filter's sentence. */
static void fail(struct stream *s)
{
	int error = errno;

	stream_give_up(s, -error, error == EPROTO && s->filter ? err_why() : NULL);
}

/* ---- dialling ---- */

static void on_event(void *arg, uint32_t events);
static ssize_t write_some(struct stream *s, const struct iovec *iov, unsigned n);

static bool reads(const struct stream *s)
{
	return (s->state == SHAKING || s->state == OPEN) && !s->paused;
}

/* Sets the events to wait for: during the end only that the peer closes, too. */
static void watch_events(struct stream *s)
{
	bool in = s->state == ENDING || reads(s);

	(void)exec_io_mod(&s->io, (in ? EPOLLIN : 0) | (s->blocked ? EPOLLOUT : 0));
}

/* Records whether written bytes wait for the socket; if so, restarts the stall timer, else cancels it. */
static void watch(struct stream *s, bool blocked)
{
	s->blocked = blocked;
	watch_events(s);
	if (s->state == SHAKING) /* the timer limits the dial */
		return;
	if (blocked && s->o.stall_dur_ns)
		exec_timer_at(&s->timer, ns_add(exec_now(s->x), s->o.stall_dur_ns));
	else
		exec_timer_cancel(&s->timer);
}

static void begin(struct stream *s)
{
	s->state = OPEN;
	watch(s, s->blocked);
	s->o.ops->opened(s->o.arg);
}

/* Sends the filter's handshake. */
static void shake(struct stream *s)
{
	s->state = SHAKING;
	watch_events(s);
	(void)write_some(s, NULL, 0);
}

void stream_put_filter(struct stream *s, struct stream_filter *f)
{
	s->filter = f;
	if (s->state == OPEN)
		shake(s);
}

static void set_options(const struct stream *s)
{
	const int on = 1, silent_s = (int)s->o.silent_s, each_s = 2, times = 5;

	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(s->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (!silent_s)
		return;
	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPIDLE, &silent_s, sizeof(silent_s));
	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPINTVL, &each_s, sizeof(each_s));
	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

/* Starts connecting to the current address. */
static int try_address(struct stream *s)
{
	const struct addrinfo *a = s->address;

	s->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -errno;
	set_options(s);
	if (connect(s->fd, a->ai_addr, a->ai_addrlen) < 0 && errno != EINPROGRESS)
		return -errno;
	return exec_io_add(s->x, &s->io, s->fd, EPOLLOUT, on_event, s);
}

/* Tries addresses until a connect can be started; r: error of the last one. */
static void try_next(struct stream *s, int r)
{
	for (; s->address; s->address = s->address->ai_next) {
		close_fd(s);
		r = try_address(s);
		if (r == 0)
			return;
	}
	stream_give_up(s, r, NULL);
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
	if (s->filter)
		shake(s);
	else
		begin(s);
}

/* ---- reading ---- */

/* Returns false if the stream has ended. */
static bool use_once(struct stream *s)
{
	char why[STREAM_WHY_MAX] = "";
	ssize_t used = s->o.ops->take(s->o.arg, s->data, s->n, why);

	if (used < 0)
		stream_give_up(s, (int)used, *why ? why : NULL);
	if (used > 0 && s->state == OPEN) {
		s->n -= (size_t)used;
		memmove(s->data, s->data + used, s->n);
	}
	return s->state == OPEN;
}

static void use(struct stream *s)
{
	const struct stream_ops *ops;

	do {
		ops = s->o.ops;
		if (!use_once(s))
			return;
	} while (s->n && s->o.ops != ops && !s->paused);
	if (s->n >= s->limit && !s->paused)
		stream_give_up(s, -EMSGSIZE, NULL);
}

static bool make_room(struct stream *s)
{
	size_t room = 2 * s->room < BUFFER_MIN ? BUFFER_MIN : 2 * s->room;
	uint8_t *data;

	room = room < s->o.buffer ? room : s->o.buffer;
	data = mem_realloc(s->data, room);
	if (!data)
		return false;
	s->data = data;
	s->room = room;
	return true;
}

/* As recv(). During the end received bytes are discarded. */
static ssize_t receive(struct stream *s)
{
	const int on = 1;
	ssize_t n;
	int error;

	if (s->filter && s->state != ENDING)
		n = s->filter->ops->recv(s->filter, s->fd, s->data + s->n, s->room - s->n);
	else
		n = recv(s->fd, s->data + s->n, s->room - s->n, MSG_DONTWAIT);
	error = errno;
	if (s->o.quick_ack) /* the kernel resets it now and then */
		(void)setsockopt(s->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
	if (has(s, FILTER_UNSENT) && reads(s) && !s->blocked)
		watch(s, true);
	if (s->state == SHAKING && has(s, FILTER_OPEN))
		begin(s);
	errno = error;
	return n;
}

static void read_once(struct stream *s)
{
	ssize_t n;

	if (s->n == s->room && !make_room(s)) {
		stream_give_up(s, -ENOMEM, NULL);
		return;
	}
	n = receive(s);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		if (s->state == ENDING)
			stream_give_up(s, 0, "");
		else if (n < 0)
			fail(s);
		else
			stream_give_up(s, -ECONNRESET, "it has closed the connection");
		return;
	}
	s->n += (size_t)n;
	if (s->state == OPEN)
		use(s);
	else
		s->n = 0;
}

static void read_some(struct stream *s)
{
	do
		read_once(s);
	while (reads(s) && has(s, FILTER_UNREAD));
}

static void use_again(void *arg)
{
	struct stream *s = arg;

	if (s->n && reads(s))
		use(s);
	if (has(s, FILTER_UNREAD) && reads(s))
		read_some(s);
}

void stream_pause(struct stream *s, bool on)
{
	if (s->paused == on || s->state != OPEN)
		return;
	s->paused = on;
	watch_events(s);
	if (!on && (s->n || has(s, FILTER_UNREAD)))
		exec_post(&s->again);
}

void stream_hand(struct stream *s, const struct stream_ops *ops, void *arg)
{
	s->o.ops = ops;
	s->o.arg = arg;
}

bool stream_quiet(const struct stream *s)
{
	char c;

	return s->state == OPEN && !has(s, FILTER_UNREAD) && recv(s->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       errno == EAGAIN;
}

/* ---- writing ---- */

static ssize_t write_some(struct stream *s, const struct iovec *iov, unsigned n)
{
	struct msghdr m = { .msg_iov = (struct iovec *)iov, .msg_iovlen = n };
	size_t total = 0;
	ssize_t sent;

	for (unsigned i = 0; i < n; i++)
		total += iov[i].iov_len;
	sent = s->filter ? s->filter->ops->send(s->filter, s->fd, iov, n)
			 : sendmsg(s->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		fail(s);
		return s->error;
	}
	if (sent < 0)
		sent = 0;
	if (((size_t)sent < total || has(s, FILTER_UNSENT)) && (sent > 0 || !s->blocked))
		watch(s, true);
	return sent;
}

bool stream_waits(const struct stream *s)
{
	return s->blocked;
}

ssize_t stream_write(struct stream *s, const struct iovec *iov, unsigned n)
{
	return s->state != OPEN ? -ENOTCONN : s->out ? 0 : write_some(s, iov, n);
}

/* Appends to what already waits. */
static int keep(struct stream *s, const uint8_t *data, size_t len)
{
	uint8_t *out = mem_realloc(s->out, s->out_len + len);

	if (!out) {
		stream_give_up(s, -ENOMEM, NULL);
		return -ENOMEM;
	}
	memcpy(out + s->out_len, data, len);
	s->out = out;
	s->out_len += len;
	return 1;
}

int stream_send(struct stream *s, const void *data, size_t len)
{
	ssize_t n = stream_write(s, &(struct iovec){ (void *)(uintptr_t)data, len }, 1);

	if (n < 0 || (size_t)n == len)
		return n < 0 ? (int)n : 0;
	return keep(s, (const uint8_t *)data + n, len - (size_t)n);
}

/* Returns whether all that was sent is out. */
static bool flush(struct stream *s)
{
	ssize_t n = s->out || s->filter ? write_some(s, &(struct iovec){ s->out, s->out_len }, 1) : 0;

	if (n > 0) {
		s->out_len -= (size_t)n;
		memmove(s->out, s->out + n, s->out_len);
	}
	if (!s->out_len) {
		mem_free(s->out);
		s->out = NULL;
	}
	return !s->out && !has(s, FILTER_UNSENT) && s->state != OVER;
}

static void begin_to_end(struct stream *s)
{
	s->state = ENDING;
	if (s->filter)
		s->filter->ops->close(s->filter, s->fd);
	watch(s, false);
	(void)shutdown(s->fd, SHUT_WR);
	exec_timer_at(&s->timer, ns_add(exec_now(s->x), s->linger_dur_ns));
}

static void on_room(struct stream *s)
{
	watch(s, false);
	if (!flush(s))
		return;
	if (s->state == LEAVING)
		begin_to_end(s);
	else if (s->state == OPEN && s->o.ops->room)
		s->o.ops->room(s->o.arg);
}

/* ---- the loop ---- */

static void on_event(void *arg, uint32_t events)
{
	struct stream *s = arg;

	if (s->state == DIALLING) {
		on_connected(s);
		return;
	}
	if (s->blocked && events & EPOLLOUT)
		on_room(s);
	if (s->fd < 0 || !(events & ~(uint32_t)EPOLLOUT))
		return;
	if (s->io.events & EPOLLIN)
		read_some(s);
	else if (events & (EPOLLERR | EPOLLHUP))
		stream_give_up(s, -ECONNRESET, "it has closed the connection");
}

/* Checks the socket once more: time in which this thread did not run does not count as the peer's silence. */
static bool is_ready(const struct stream *s, short events)
{
	struct pollfd p = { .fd = s->fd, .events = events };

	return poll(&p, 1, 0) > 0 && p.revents & events;
}

static void on_deadline(void *arg)
{
	struct stream *s = arg;

	s->late = true;
	while (s->late && reads(s) && is_ready(s, POLLIN))
		read_some(s);
	if (s->late)
		stream_give_up(s, -ETIMEDOUT, "it does not answer in time");
}

void stream_deadline(struct stream *s, int64_t dur_ns)
{
	s->late = false;
	if (dur_ns && s->state != OVER)
		exec_timer_at(&s->deadline, ns_add(exec_now(s->x), dur_ns));
	else
		exec_timer_cancel(&s->deadline);
}

static void on_timer(void *arg)
{
	struct stream *s = arg;
	char why[STREAM_WHY_MAX];

	if (s->state == ENDING) {
		stream_give_up(s, 0, "");
	} else if (s->state <= SHAKING) {
		stream_give_up(s, -ETIMEDOUT, NULL);
	} else if (!is_ready(s, POLLOUT)) {
		snprintf(why, sizeof(why), "it has taken nothing for %lld ms",
			 (long long)(s->o.stall_dur_ns / NS_PER_MS));
		stream_give_up(s, -ETIMEDOUT, why);
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
	s->limit = o->buffer;
	exec_timer_init(&s->timer, x, on_timer, s);
	exec_timer_init(&s->deadline, x, on_deadline, s);
	exec_post_init(&s->over, x, on_over, s);
	exec_post_init(&s->again, x, use_again, s);
	return s;
}

static void on_found(void *arg, int r, struct addrinfo *all)
{
	struct stream *s = arg;

	s->ask = NULL;
	s->all = s->address = all;
	if (s->state != DIALLING)
		return;
	if (r == 0)
		try_next(s, -ENOENT);
	else
		stream_give_up(s, -ENOENT, gai_strerror(r));
}

/* Numeric addresses resolve at once; names by the resolver, if there is one. */
static int find(struct stream *s, const struct address *a, char why[STREAM_WHY_MAX])
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *all;
	char port[8];
	int r;

	snprintf(port, sizeof(port), "%u", a->port);
	r = getaddrinfo(a->host, port, &hints, &all);
	if (r == EAI_NONAME && s->o.lookup)
		return lookup_start(s->o.lookup, s->x, a->host, a->port, on_found, s, &s->ask);
	hints.ai_flags = AI_ADDRCONFIG;
	if (r == EAI_NONAME)
		r = getaddrinfo(a->host, port, &hints, &all);
	if (r == 0)
		on_found(s, 0, all);
	else
		snprintf(why, STREAM_WHY_MAX, "%s", gai_strerror(r));
	return r == 0 ? 0 : -ENOENT;
}

int stream_dial(struct exec *x, const struct address *a, const struct stream_options *o, struct stream **ret,
		char why[STREAM_WHY_MAX])
{
	struct stream *s = stream_new(x, o);
	int r;

	if (!s)
		return -ENOMEM;
	if (o->dial_dur_ns)
		exec_timer_at(&s->timer, ns_add(exec_now(x), o->dial_dur_ns));
	r = find(s, a, why);
	if (r < 0 && r != -ENOENT)
		snprintf(why, STREAM_WHY_MAX, "%s", strerror(-r));
	if (r < 0)
		stream_destroy(s);
	else
		*ret = s;
	return r;
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
	set_options(s);
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
	s->linger_dur_ns = linger_dur_ns;
	stream_deadline(s, 0);
	if (s->state != OPEN) {
		if (s->state <= SHAKING)
			stream_give_up(s, 0, "");
		return;
	}
	s->n = 0;
	s->state = LEAVING;
	if (!s->out && !has(s, FILTER_UNSENT)) {
		begin_to_end(s);
		return;
	}
	if (!s->o.stall_dur_ns)
		s->o.stall_dur_ns = linger_dur_ns;
	watch(s, true);
}

void stream_destroy(struct stream *s)
{
	if (!s)
		return;
	if (s->filter && s->fd >= 0)
		s->filter->ops->close(s->filter, s->fd);
	if (s->filter)
		s->filter->ops->destroy(s->filter);
	close_fd(s);
	exec_timer_cancel(&s->timer);
	exec_timer_cancel(&s->deadline);
	exec_post_cancel(&s->over);
	exec_post_cancel(&s->again);
	lookup_cancel(s->ask);
	if (s->all)
		freeaddrinfo(s->all);
	mem_free(s->out);
	mem_free(s->data);
	mem_free(s);
}
