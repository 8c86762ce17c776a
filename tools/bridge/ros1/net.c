/* SPDX-License-Identifier: Apache-2.0 */
/* See net.h. */
#include "net.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"
#include "timeutil.h"

static int look_up(const char *host, unsigned port, int flags, struct addrinfo **ret, char *why, size_t why_size)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };
	char service[16];
	int r;

	snprintf(service, sizeof(service), "%u", port);
	r = getaddrinfo(host, service, &hints, ret);
	if (r)
		snprintf(why, why_size, "%.100s: %s", host, r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
	return r ? -EADDRNOTAVAIL : 0;
}

static int connect_to(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol), one = 1, r;

	if (fd < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS)
		return fd;
	r = -errno;
	close(fd);
	return r;
}

int net_connect(const char *host, unsigned port, char *why, size_t why_size)
{
	struct addrinfo *all, *a;
	int r = look_up(host, port, 0, &all, why, why_size);

	if (r < 0)
		return r;
	/* IPv4 first, as a refusal shows only later */
	for (a = all; a && a->ai_family != AF_INET; a = a->ai_next)
		;
	r = connect_to(a ? a : all);
	freeaddrinfo(all);
	if (r < 0)
		snprintf(why, why_size, "%.100s, port %u: %s", host, port, strerror(-r));
	return r;
}

/* ---- a call ---- */

struct exchange {
	int fd, stop;
	int64_t due_mono_ns;
	char *why;
	size_t why_size;
};

static int failed(const struct exchange *x, int r)
{
	snprintf(x->why, x->why_size, "%s", r == -ETIMEDOUT ? "it does not answer in time" : strerror(-r));
	return r;
}

static int await(const struct exchange *x, short events)
{
	struct pollfd p[2] = { { .fd = x->fd, .events = events }, { .fd = x->stop, .events = POLLIN } };
	int64_t left;
	int n;

	do {
		left = x->due_mono_ns - mono_now_ns();
		n = left > 0 ? poll(p, x->stop >= 0 ? 2 : 1, (int)(left / 1000000 + 1)) : 0;
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return failed(x, -errno);
	if (x->stop >= 0 && n && p[1].revents)
		return failed(x, -ECANCELED);
	return n ? 0 : failed(x, -ETIMEDOUT);
}

static int send_all(const struct exchange *x, const char *data, size_t n)
{
	int err = 0, r = await(x, POLLOUT);
	socklen_t len = sizeof(err);

	if (r == 0 && getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 && err)
		return failed(x, -err);
	while (r == 0 && n) {
		ssize_t sent = send(x->fd, data, n, MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return failed(x, -errno);
		if (sent < 0) {
			r = await(x, POLLOUT);
			continue;
		}
		data += sent;
		n -= (size_t)sent;
	}
	return r;
}

int net_send(int fd, const void *data, size_t n, int64_t due_mono_ns, int stop, char *why, size_t why_size)
{
	const struct exchange x = { fd, stop, due_mono_ns, why, why_size };

	return send_all(&x, data, n);
}

int net_receive(int fd, void *data, size_t n, int64_t due_mono_ns, int stop, char *why, size_t why_size)
{
	const struct exchange x = { fd, stop, due_mono_ns, why, why_size };
	char *at = data;

	while (n) {
		ssize_t got = recv(fd, at, n, 0);
		int r = 0;

		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return failed(&x, -errno);
		if (got == 0) {
			snprintf(why, why_size, "it ends the connection in the middle of an answer");
			return -EBADMSG;
		}
		if (got < 0)
			r = await(&x, POLLIN);
		if (r < 0)
			return r;
		at += got > 0 ? got : 0;
		n -= got > 0 ? (size_t)got : 0;
	}
	return 0;
}

#define RESPONSE_MAX (HTTP_HEAD_MAX + HTTP_BODY_MAX)

/* A response, in a buffer that grows with it. */
static int receive(const struct exchange *x, char **ret, struct http_message *ret_message)
{
	size_t len = 0, cap = 0;
	int whole = 0;

	while (!whole) {
		char *more = len == cap && cap < RESPONSE_MAX ? realloc(*ret, cap ? 2 * cap : 4096) : *ret;
		ssize_t n;

		if (!more)
			return failed(x, -ENOMEM);
		*ret = more;
		cap = len == cap ? (cap ? 2 * cap : 4096) : cap;
		n = recv(x->fd, *ret + len, cap - len, 0);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return failed(x, -errno);
		if (n < 0 && await(x, POLLIN) < 0)
			return mono_now_ns() >= x->due_mono_ns ? -ETIMEDOUT : -ECANCELED;
		if (n == 0) {
			snprintf(x->why, x->why_size, "it ends the connection in the middle of an answer");
			return -EBADMSG;
		}
		len += n > 0 ? (size_t)n : 0;
		whole = http_parse(*ret, len, HTTP_RESPONSE, ret_message, x->why, x->why_size);
		if (!whole && len >= RESPONSE_MAX)
			return failed(x, -EMSGSIZE);
	}
	return whole < 0 ? whole : 0;
}

static int exchange(const struct exchange *x, const struct http_uri *u, const struct xmlrpc_writer *w,
		    struct xmlrpc_doc **ret)
{
	struct http_message m;
	char head[1024], *data = NULL;
	int n = http_request_head(head, sizeof(head), u->path, u->host, w->len), r = n < 0 ? n : 0;

	if (r == 0)
		r = send_all(x, head, (size_t)n);
	if (r == 0)
		r = send_all(x, w->text, w->len);
	if (r == 0)
		r = receive(x, &data, &m);
	if (r == 0 && m.status != 200) {
		snprintf(x->why, x->why_size, "it answers with HTTP status %d", m.status);
		r = -EBADMSG;
	}
	if (r == 0)
		r = xmlrpc_parse(m.body, m.body_len, ret, x->why, x->why_size);
	free(data);
	return r;
}

int net_call(const char *uri, const struct xmlrpc_writer *w, int64_t due_mono_ns, int stop, struct xmlrpc_doc **ret,
	     char *why, size_t why_size)
{
	struct exchange x = { .stop = stop, .due_mono_ns = due_mono_ns, .why = why, .why_size = why_size };
	struct xmlrpc_doc *d = NULL;
	struct http_uri u;
	int r = http_uri_parse(uri, &u);

	if (r < 0) {
		snprintf(why, why_size, "\"%.100s\" is not of the form http://host:port", uri);
		return r;
	}
	x.fd = net_connect(u.host, u.port, why, why_size);
	if (x.fd < 0)
		return x.fd;
	r = exchange(&x, &u, w, &d);
	close(x.fd);
	if (r == 0 && d->kind != XMLRPC_RESPONSE) {
		const struct xmlrpc_value *v = d->params->first ? d->params->first->first : NULL;

		while (v && strcmp(v->name, "faultString") != 0)
			v = v->next;
		snprintf(why, why_size, "it answers with a fault: %.200s", xmlrpc_text(v));
		xmlrpc_free(d);
		return -EREMOTEIO;
	}
	if (r == 0)
		*ret = d;
	return r;
}
