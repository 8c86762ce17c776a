/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TraCI over TCP. See traci.h. Every wait is one poll() over the socket, the peer's pidfd and the stop
 * descriptor, so that nothing here hangs on a dead or silent peer.
 */
#include "traci.h"

#include "timeutil.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_RETRY_MS 5     /* between two attempts while the peer is loading */
#define FIRST_CHUNK      65536 /* memory follows the bytes that really come, not the announced length */
#define API_MIN          19    /* SUMO 1.0 .. */

struct traci {
	int fd;
	int alive_fd, stop_fd;
	int timeout_ms;
	struct traci_out out;
	uint8_t *in;
	size_t in_cap;
	uint8_t req[TRACI_REQUEST_MAX];
};

static int64_t mono_ms(void)
{
	return mono_now_ns() / NS_PER_MS;
}

/* Wait for `events` on fd (-1: only for the others) until deadline. 0 ready, -EPIPE, -ECANCELED, -ETIMEDOUT. */
static int await(const struct traci *t, int fd, short events, int64_t deadline_ms)
{
	struct pollfd p[3] = { { .fd = fd, .events = events },
			       { .fd = t->alive_fd, .events = POLLIN },
			       { .fd = t->stop_fd, .events = POLLIN } };

	for (;;) {
		int64_t left = deadline_ms - mono_ms();
		int n = poll(p, 3, left < 0 ? 0 : left > 60000 ? 60000 : (int)left);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && p[2].revents)
			return -ECANCELED;
		if (n > 0 && p[0].revents) /* the socket counts before the death: the last answer is still read */
			return 0;
		if (n > 0 && p[1].revents)
			return -EPIPE;
		if (n == 0 && mono_ms() >= deadline_ms)
			return -ETIMEDOUT;
	}
}

/* Sends (POLLOUT) or receives (POLLIN) all n bytes. */
static int transfer(struct traci *t, uint8_t *p, size_t n, short event, int64_t deadline_ms)
{
	while (n) {
		ssize_t k = event == POLLOUT ? send(t->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT)
					     : recv(t->fd, p, n, MSG_DONTWAIT);
		int r = k == 0 && event == POLLIN ? -EPIPE : 0;

		if (k > 0) {
			p += k;
			n -= (size_t)k;
		} else if (k < 0 && errno != EAGAIN && errno != EINTR) {
			r = errno == ECONNRESET ? -EPIPE : -errno;
		} else if (r == 0) {
			r = await(t, t->fd, event, deadline_ms);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int grow(struct traci *t, size_t want)
{
	uint8_t *p;

	if (want <= t->in_cap)
		return 0;
	p = realloc(t->in, want);
	if (!p)
		return -ENOMEM;
	t->in = p;
	t->in_cap = want;
	return 0;
}

static int recv_body(struct traci *t, size_t size, int64_t deadline_ms)
{
	size_t have = 0;

	while (have < size) {
		size_t next = have ? have * 2 : FIRST_CHUNK;
		int r;

		if (next > size)
			next = size;
		r = grow(t, next);
		if (r == 0)
			r = transfer(t, t->in + have, next - have, POLLIN, deadline_ms);
		if (r < 0)
			return r;
		have = next;
	}
	return 0;
}

struct traci_out *traci_request(struct traci *t)
{
	traci_out_init(&t->out, t->req, sizeof(t->req));
	return &t->out;
}

int traci_exchange(struct traci *t, struct traci_in *ret_in)
{
	int64_t deadline_ms = mono_ms() + t->timeout_ms;
	uint8_t head[4];
	uint32_t size;
	int r;

	r = traci_out_finish(&t->out);
	if (r < 0)
		return r;
	r = transfer(t, t->req, (size_t)r, POLLOUT, deadline_ms);
	if (r == 0)
		r = transfer(t, head, sizeof(head), POLLIN, deadline_ms);
	if (r < 0)
		return r;
	size = (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
	if (size < 4)
		return -EBADMSG;
	if (size > TRACI_MESSAGE_MAX)
		return -EMSGSIZE;
	r = recv_body(t, size - 4, deadline_ms);
	if (r < 0)
		return r;
	traci_in_init(ret_in, t->in, size - 4);
	return 0;
}

static int connect_once(struct traci *t, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in me = { 0 };
	socklen_t len = sizeof(me);
	int one = 1, r;

	t->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->fd < 0)
		return -errno;
	r = connect(t->fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	/* While nobody listens TCP may connect a socket to itself, if it happens to draw that port. */
	if (r == 0 && getsockname(t->fd, (struct sockaddr *)&me, &len) == 0 && me.sin_port == a.sin_port)
		r = -ECONNREFUSED;
	if (r == 0) {
		(void)setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		return 0;
	}
	close(t->fd);
	t->fd = -1;
	return r;
}

/* While the peer loads its network its port is closed: tries again until it listens, dies, or the time is up. */
static int connect_loop(struct traci *t, uint16_t port, int64_t deadline_ms)
{
	for (;;) {
		int64_t pause_ms = mono_ms() + CONNECT_RETRY_MS;
		int r = connect_once(t, port);

		if (r != -ECONNREFUSED)
			return r;
		r = await(t, -1, 0, pause_ms < deadline_ms ? pause_ms : deadline_ms);
		if (r != -ETIMEDOUT)
			return r;
		if (mono_ms() >= deadline_ms)
			return -ETIMEDOUT;
	}
}

static int hello(struct traci *t)
{
	struct traci_out *o = traci_request(t);
	struct traci_str text;
	struct traci_in in, body;
	unsigned id;
	int r;

	traci_out_begin(o, TRACI_GET_VERSION);
	traci_out_end(o);
	traci_out_begin(o, TRACI_SET_ORDER);
	traci_out_i32(o, 1);
	traci_out_end(o);
	r = traci_exchange(t, &in);
	if (r < 0)
		return r;
	if (traci_in_status(&in, TRACI_GET_VERSION, &text) < 0 || traci_in_command(&in, &id, &body) < 0 ||
	    id != TRACI_GET_VERSION)
		return -EPROTO;
	if (traci_in_i32(&body) < API_MIN || body.failed)
		return -EPROTO;
	return traci_in_status(&in, TRACI_SET_ORDER, &text) < 0 ? -EPROTO : 0;
}

int traci_connect(const struct traci_options *o, struct traci **ret)
{
	struct traci *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->fd = -1;
	t->alive_fd = o->alive_fd;
	t->stop_fd = o->stop_fd;
	t->timeout_ms = o->timeout_ms;
	r = connect_loop(t, o->port, mono_ms() + o->timeout_ms);
	if (r == 0)
		r = hello(t);
	if (r < 0) {
		traci_close(t, false);
		return r;
	}
	*ret = t;
	return 0;
}

void traci_close(struct traci *t, bool polite)
{
	if (!t)
		return;
	if (polite && t->fd >= 0) {
		struct traci_out *o = traci_request(t);
		struct traci_in in;

		traci_out_begin(o, TRACI_CLOSE);
		traci_out_end(o);
		t->stop_fd = -1;
		t->timeout_ms = 1000;
		(void)traci_exchange(t, &in); /* the result is ignored: the connection is closed anyway */
	}
	if (t->fd >= 0)
		close(t->fd);
	free(t->in);
	free(t);
}

/* Copies SUMO's error text before the buffer that contains it is reused. */
static int told(int r, struct traci_str text, char *why, size_t cap)
{
	if (r == -EREMOTEIO)
		traci_str_copy(text, why, cap);
	return r;
}

int traci_step(struct traci *t, traci_item_fn fn, void *user, char *why, size_t cap)
{
	struct traci_out *o = traci_request(t);
	struct traci_str text = { .p = "" };
	struct traci_in in;
	int r;

	traci_out_begin(o, TRACI_SIM_STEP);
	traci_out_f64(o, 0); /* one step */
	traci_out_end(o);
	r = traci_exchange(t, &in);
	if (r < 0)
		return r;
	return told(traci_in_step(&in, fn, user, &text), text, why, cap);
}

int traci_get(struct traci *t, enum traci_domain domain, enum traci_var var, const char *id, struct traci_value *ret,
	      char *why, size_t cap)
{
	struct traci_str text = { .p = "" };
	struct traci_in in;
	int r;

	traci_out_get(traci_request(t), domain, var, id);
	r = traci_exchange(t, &in);
	if (r < 0)
		return r;
	return told(traci_in_get(&in, domain, var, ret, &text), text, why, cap);
}

int traci_subscribed(struct traci *t, unsigned command, traci_item_fn fn, void *user, char *why, size_t cap)
{
	struct traci_str text = { .p = "" };
	struct traci_in in;
	int r;

	r = traci_exchange(t, &in);
	if (r == 0)
		r = told(traci_in_status(&in, command, &text), text, why, cap);
	return r < 0 ? r : traci_in_subscription(&in, fn, user);
}

int traci_set(struct traci *t, const unsigned *commands, size_t n, char *why, size_t cap)
{
	struct traci_in in;
	int r;

	r = traci_exchange(t, &in);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct traci_str text = { .p = "" };

		r = told(traci_in_status(&in, commands[i], &text), text, why, cap);
	}
	return r;
}
