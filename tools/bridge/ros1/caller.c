/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection on which a service is called: its header was read by subscriber.c, as any on that port; ours goes out, then requests
 * come, each answered before the next one is read. Thread: the I/O thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ros/ros_type.h"
#include "ros1.h"
#include "service.h"

#define CALLERS_MAX 256u
#define IN_MAX      (SERVICE_REQUEST_MAX + 4)
#define WAIT_DUR_NS INT64_C(30000000000) /* for the rest of a request, and for an answer to be read */
#define END_DUR_NS  INT64_C(1000000000)  /* so that the last answer can be read */

struct caller {
	struct io_source io;
	struct sim_bridge *bridge;
	struct caller *next;          /* services::callers */
	struct ros1_service *service; /* NULL: it is only told why not */
	struct call *call;            /* what it has asked; NULL: nothing */
	unsigned id;
	char peer[NET_TEXT_MAX], node[NET_TEXT_MAX];
	bool persistent;
	bool ending; /* when all is sent, it is closed */
	bool ended;  /* all is sent; it has to hang up */
	uint8_t *in, *out;
	size_t in_len, out_len, out_at;
};

static struct caller *of(struct io_source *io)
{
	return (struct caller *)(void *)io;
}

static void free_it(struct io_source *io)
{
	struct caller *c = of(io), **at = &c->bridge->services.callers;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->bridge->services.n_callers--;
	if (c->call)
		c->call->caller = NULL;
	if (c->service)
		service_unref(c->service);
	free(c->in);
	free(c->out);
	free(c);
}

static void close_it(struct caller *c)
{
	if (c->call)
		c->call->caller = NULL; /* before the end of the turn, when it is freed */
	c->call = NULL;
	io_close(c->bridge->io, &c->io);
}

/* ---- sending ---- */

static void send_later(struct caller *c, uint8_t *out, size_t len)
{
	free(c->out);
	c->out = out;
	c->out_len = len;
	c->out_at = 0;
	c->io.due_mono_ns = io_mono_ns() + WAIT_DUR_NS;
}

/* 0: all is out; -EAGAIN; else it is broken. */
static int flush(struct caller *c)
{
	while (c->out) {
		ssize_t n = send(c->io.fd, c->out + c->out_at, c->out_len - c->out_at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ENOBUFS ? -EAGAIN : -errno;
		c->out_at += (size_t)n;
		if (c->out_at < c->out_len)
			continue;
		free(c->out);
		c->out = NULL;
		c->io.due_mono_ns = c->persistent && !c->in_len ? 0 : io_mono_ns() + WAIT_DUR_NS;
	}
	if (c->ending && !c->call && !c->ended) {
		shutdown(c->io.fd, SHUT_WR);
		c->ended = true;
		c->io.due_mono_ns = io_mono_ns() + END_DUR_NS;
	}
	return 0;
}

static void refuse(struct caller *c, const char *why, bool last)
{
	size_t len = 0;
	uint8_t *out = caller_refusal(why, &len);

	c->ending |= last || !c->persistent || !out;
	if (out)
		send_later(c, out, len);
}

/* ---- requests ---- */

static uint32_t get_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The next one, if it is whole. */
static bool take(struct caller *c)
{
	char why[256];
	uint32_t size;

	if (c->in_len < 4)
		return false;
	size = get_u32(c->in);
	if (size > SERVICE_REQUEST_MAX) {
		snprintf(why, sizeof(why), "a request of %u bytes: %u at most", size, SERVICE_REQUEST_MAX);
		node_refuses(c->bridge, "a caller of %s at %s: %s", c->service->name, c->peer, why);
		refuse(c, why, true);
		return true;
	}
	if (c->in_len - 4 < size)
		return false;
	c->io.due_mono_ns = 0; /* the service has its own deadline */
	if (service_call(c->service, c, c->in + 4, size, &c->call, why, sizeof(why)) < 0) {
		node_refuses(c->bridge, "a caller of %s at %s: %s", c->service->name, c->peer, why);
		refuse(c, why, false);
	} else {
		c->ending |= !c->persistent;
	}
	c->in_len -= size + 4;
	memmove(c->in, c->in + 4 + size, c->in_len);
	return true;
}

/* After the last answer what comes is of no interest, until it hangs up. */
static int receive(struct caller *c)
{
	size_t at = c->ending ? 0 : c->in_len;
	ssize_t n = recv(c->io.fd, c->in + at, IN_MAX - at, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	if (!c->ending && !c->in_len)
		c->io.due_mono_ns = io_mono_ns() + WAIT_DUR_NS;
	c->in_len = c->ending ? 0 : c->in_len + (size_t)n;
	return 0;
}

/* While a request is with the host nothing more is read: who asks more waits. */
static void go_on(struct caller *c)
{
	int r;

	do {
		r = flush(c);
		if (r == 0 && c->call)
			return;
		if (r == 0 && (c->ending || !take(c)))
			r = receive(c);
	} while (r == 0);
	if (r != -EAGAIN)
		close_it(c);
}

static void ready(struct io_source *io, uint32_t events)
{
	if (events & (EPOLLERR | EPOLLHUP))
		close_it(of(io));
	else
		go_on(of(io));
}

void caller_answer(struct caller *c, uint8_t *out, size_t len)
{
	c->call = NULL;
	if (!out) {
		close_it(c);
		return;
	}
	send_later(c, out, len);
	go_on(c);
}

/* ---- the header ---- */

static int check(struct caller *c, const struct tcpros_header *h, const char *name, char *why, size_t why_size)
{
	struct sim_bridge *b = c->bridge;
	struct ros1_service *s = service_find(b, name);
	char theirs[40];

	if (!s) {
		snprintf(why, why_size, "%s does not offer service %.200s", b->names.node, name);
		return -ENOENT;
	}
	if (!tcpros_get(h, "md5sum", theirs, sizeof(theirs))) {
		snprintf(why, why_size, "the header has no md5sum");
		return -EINVAL;
	}
	if (!tcpros_is(h, "md5sum", "*") && !tcpros_is(h, "md5sum", s->type.md5)) {
		log_printable(theirs);
		snprintf(why, why_size, "%s is %s with md5sum %s, not %s", s->name, s->type.name, s->type.md5, theirs);
		return -EINVAL;
	}
	s->refs++;
	c->service = s;
	return 0;
}

/* "demo/Measure_Request" is "demo/MeasureRequest" in headers. */
static void put_half(struct tcpros_writer *w, const char *key, const struct service_type *t, const char *half)
{
	char name[sizeof(t->name) + 16];

	snprintf(name, sizeof(name), "%s%s", t->name, half);
	tcpros_put(w, key, name);
}

static void greet(struct caller *c, const char *error)
{
	struct tcpros_writer w = { .data = NULL };

	if (error) {
		tcpros_put(&w, "error", error);
	} else {
		const struct service_type *t = &c->service->type;

		tcpros_put(&w, "callerid", c->bridge->names.node);
		tcpros_put(&w, "md5sum", t->md5);
		put_half(&w, "request_type", t, "Request");
		put_half(&w, "response_type", t, "Response");
		tcpros_put(&w, "service", c->service->name);
		tcpros_put(&w, "type", t->name);
	}
	c->ending |= tcpros_end(&w) < 0 || error;
	send_later(c, w.err ? NULL : w.data, w.err ? 0 : w.len);
	if (w.err)
		tcpros_writer_finish(&w);
}

static struct caller *create(struct sim_bridge *b, int fd, const char *peer, const struct tcpros_header *h)
{
	struct caller *c = b->services.n_callers < CALLERS_MAX ? calloc(1, sizeof(*c)) : NULL;
	int one = 1;

	if (c)
		c->in = malloc(IN_MAX);
	if (!c || !c->in) {
		free(c);
		return NULL;
	}
	c->io = (struct io_source){ .fd = fd, .ready = ready, .free = free_it };
	c->bridge = b;
	c->id = ++b->n_connections;
	c->persistent = tcpros_is(h, "persistent", "1") || tcpros_is(h, "persistent", "true");
	snprintf(c->peer, sizeof(c->peer), "%s", peer);
	tcpros_get(h, "callerid", c->node, sizeof(c->node));
	log_printable(c->node);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)); /* it may wait for ever */
	c->next = b->services.callers;
	b->services.callers = c;
	b->services.n_callers++;
	return c;
}

void caller_accept(struct sim_bridge *b, int fd, const char *peer, const struct tcpros_header *h, const uint8_t *rest,
		   size_t rest_len)
{
	struct caller *c = create(b, fd, peer, h);
	char name[NET_TEXT_MAX], why[512];
	int r;

	if (!c) {
		node_refuses(b, "a caller at %s: %u are connected", peer, b->services.n_callers);
		close(fd);
		return;
	}
	tcpros_get(h, "service", name, sizeof(name));
	log_printable(name);
	r = check(c, h, name, why, sizeof(why));
	if (r < 0)
		node_refuses(b, "a caller at %s: %s", peer, why);
	c->ending = tcpros_is(h, "probe", "1");
	greet(c, r < 0 ? why : NULL);
	c->in_len = rest_len < IN_MAX && !c->ending ? rest_len : 0;
	memcpy(c->in, rest, c->in_len);
	if (io_add(b->io, &c->io) < 0)
		free_it(&c->io);
}

/* ---- all of them ---- */

void callers_end(struct sim_bridge *b, const struct ros1_service *s)
{
	for (struct caller *c = b->services.callers; c; c = c->next) {
		if (c->service != s || c->io.closed)
			continue;
		c->ending = true;
		if (!c->call)
			go_on(c);
	}
}
