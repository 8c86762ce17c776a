/* SPDX-License-Identifier: Apache-2.0 */
/* See listener.h. */
#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "stream_private.h"
#include "timeutil.h"

#define RETRY_DUR_NS (100 * NS_PER_MS) /* pause when no descriptor is free for a connection */
#define BACKLOG      512
#define AT_ONCE      32 /* half a batch of the loop: closed connections are noticed before new ones need their places */

struct peer {
	struct peer *next; /* the listener's list; newest first */
	struct listener *listener;
	struct stream *stream;
	enum peer_mood mood;
	char host[LISTENER_FROM_MAX];
};

struct listener {
	struct exec *x;
	struct listener_options o;
	int fd;
	struct exec_io io;
	struct exec_timer again;
	struct peer *peers;
	unsigned n;
	char path[ADDRESS_HOST_MAX]; /* "": a port, not a path */
};

/* ---- places ---- */

static void on_left(void *arg)
{
	struct peer *p = arg, **at = &p->listener->peers;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->listener->n--;
	mem_free(p);
}

static unsigned count_of(const struct listener *l, const char *host)
{
	unsigned n = 0;

	for (const struct peer *p = l->peers; p; p = p->next)
		n += strcmp(p->host, host) == 0;
	return n;
}

/*
 * Returns the peer to close for a new one, of all peers or of that host: silent before idle, old before new. NULL: all
 * are busy.
 */
static struct peer *weakest(const struct listener *l, const char *host)
{
	struct peer *goes = NULL;

	for (struct peer *p = l->peers; p; p = p->next)
		if (p->mood != PEER_BUSY && (!host || strcmp(p->host, host) == 0) && (!goes || p->mood >= goes->mood))
			goes = p;
	return goes;
}

static bool make_place(const struct listener *l, const char *host)
{
	const struct listener_bounds *b = &l->o.bounds;
	bool too_many = b->peers_of_one && count_of(l, host) >= b->peers_of_one;
	struct peer *goes = too_many || l->n >= b->peers ? weakest(l, too_many ? host : NULL) : NULL;

	if (goes)
		stream_give_up(goes->stream, -EBUSY, "another one needs its place");
	return goes || (!too_many && l->n < b->peers);
}

void listener_mood(struct stream *s, enum peer_mood mood)
{
	struct peer *p = stream_peer(s);

	if (!p)
		return;
	stream_deadline(s, mood == PEER_RESTS ? p->listener->o.bounds.idle_dur_ns : 0);
	stream_seat(s, mood == PEER_LEAVES ? NULL : on_left, mood == PEER_LEAVES ? NULL : p, 0);
	p->mood = mood;
	if (mood == PEER_LEAVES)
		on_left(p);
}

/* ---- accepting ---- */

/* Host and peer names: "127.0.0.1" and "127.0.0.1:4711"; for a path both are "user 1000". */
static void name_peer(int fd, const struct sockaddr_storage *a, socklen_t n, char host[LISTENER_FROM_MAX],
		      char from[LISTENER_FROM_MAX])
{
	struct ucred cred = { .uid = (uid_t)-1 };
	char h[80] = "?", port[16] = "?";

	if (a->ss_family == AF_UNIX) {
		(void)fd_peer_cred(fd, &cred);
		snprintf(host, LISTENER_FROM_MAX, "user %u", cred.uid);
		snprintf(from, LISTENER_FROM_MAX, "user %u", cred.uid);
		return;
	}
	(void)getnameinfo((const struct sockaddr *)a, n, h, sizeof(h), port, sizeof(port),
			  NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(host, LISTENER_FROM_MAX, "%s", h);
	snprintf(from, LISTENER_FROM_MAX, "%s:%s", h, port);
}

static int seat(struct listener *l, int fd, const char *host, const char *from)
{
	struct peer *p = MEM_NEW(struct peer);
	struct stream *s = NULL;
	void *arg;
	int r = p ? stream_adopt(l->x, fd, &l->o.stream, &s) : -ENOMEM;

	if (r < 0) {
		if (!p)
			fd_close(fd);
		mem_free(p);
		return r;
	}
	*p = (struct peer){ .next = l->peers, .listener = l, .stream = s, .mood = PEER_SILENT };
	snprintf(p->host, sizeof(p->host), "%s", host);
	l->peers = p;
	l->n++;
	stream_seat(s, on_left, p, l->o.bounds.header);
	stream_deadline(s, l->o.bounds.header_dur_ns);
	arg = l->o.came(l->o.arg, s, from);
	stream_hand(s, l->o.stream.ops, arg);
	if (!arg)
		stream_destroy(s);
	return 0;
}

/* Writes why the connection was refused. */
static void say_why(const struct listener *l, int r, const char *host, char *why, size_t size)
{
	unsigned most = l->o.bounds.peers_of_one, n = most ? count_of(l, host) : 0;

	if (r != -EBUSY)
		snprintf(why, size, "%s", strerror(-r));
	else if (most && n >= most)
		snprintf(why, size, "%u of %s are connected", n, host);
	else
		snprintf(why, size, "%u are connected", l->n);
}

static void rest(struct listener *l, int error)
{
	(void)exec_io_mod(&l->io, 0);
	exec_timer_at(&l->again, exec_now(l->x) + RETRY_DUR_NS);
	if (l->o.refused)
		l->o.refused(l->o.arg, NULL, strerror(error));
}

/* Returns false if no connection waits, or this process has no free descriptor. */
static bool accept_one(struct listener *l)
{
	struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
	char host[LISTENER_FROM_MAX], from[LISTENER_FROM_MAX], why[LISTENER_FROM_MAX + 32];
	socklen_t n = sizeof(a);
	int fd = accept4(l->fd, (struct sockaddr *)&a, &n, SOCK_NONBLOCK | SOCK_CLOEXEC), r = -EBUSY;

	if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
		return true;
	if (fd < 0 && errno != EAGAIN)
		rest(l, errno);
	if (fd < 0)
		return false;
	name_peer(fd, &a, n, host, from);
	if (make_place(l, host))
		r = seat(l, fd, host, from);
	else
		fd_close(fd);
	if (r < 0 && l->o.refused) {
		say_why(l, r, host, why, sizeof(why));
		l->o.refused(l->o.arg, from, why);
	}
	return true;
}

static void on_peer(void *arg, uint32_t events)
{
	(void)events;
	for (unsigned i = 0; i < AT_ONCE && accept_one(arg); i++)
		continue;
}

static void on_again(void *arg)
{
	struct listener *l = arg;

	(void)exec_io_mod(&l->io, EPOLLIN);
}

/* ---- address ---- */

static int listen_on(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, r;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	r = -errno;
	fd_close(fd);
	return r;
}

/*
 * Of several addresses the first IPv4 one that works, else an IPv6 one: clients that dial a name try that first as
 * well.
 */
static int listen_at(const struct address *at, char why[STREAM_WHY_MAX])
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *all;
	char port[8];
	int r;

	snprintf(port, sizeof(port), "%u", at->port);
	r = getaddrinfo(at->host, port, &hints, &all);
	if (r) {
		snprintf(why, STREAM_WHY_MAX, "%.100s: %s", at->host, gai_strerror(r));
		return -EADDRNOTAVAIL;
	}
	r = -EADDRNOTAVAIL;
	for (int v6 = 0; v6 < 2; v6++)
		for (const struct addrinfo *a = all; a && r < 0; a = a->ai_next)
			if ((a->ai_family == AF_INET6) == v6)
				r = listen_on(a);
	freeaddrinfo(all);
	if (r < 0)
		snprintf(why, STREAM_WHY_MAX, "%.100s, port %u: %s", at->host, at->port, strerror(-r));
	return r;
}

static int open_it(struct listener *l, const struct address *at, char why[STREAM_WHY_MAX])
{
	int r;

	if (*at->host != '/') {
		l->fd = listen_at(at, why);
	} else {
		l->fd = fd_unix_listen(at->host, SOCK_STREAM, 0660);
		snprintf(why, STREAM_WHY_MAX, "%s", l->fd < 0 ? err_why() : "");
		snprintf(l->path, sizeof(l->path), "%s", l->fd < 0 ? "" : at->host);
	}
	if (l->fd < 0)
		return l->fd;
	r = exec_io_add(l->x, &l->io, l->fd, EPOLLIN, on_peer, l);
	if (r < 0)
		snprintf(why, STREAM_WHY_MAX, "%.100s: %s", at->host, strerror(-r));
	return r;
}

int listener_create(struct exec *x, const struct address *at, const struct listener_options *o, struct listener **ret,
		    char why[STREAM_WHY_MAX])
{
	struct listener *l = MEM_NEW(struct listener);
	int r = -ENOMEM;

	snprintf(why, STREAM_WHY_MAX, "no memory");
	if (l) {
		l->x = x;
		l->o = *o;
		l->fd = -1;
		exec_timer_init(&l->again, x, on_again, l);
		r = open_it(l, at, why);
	}
	if (r < 0)
		listener_destroy(l);
	else
		*ret = l;
	return r;
}

unsigned listener_port(const struct listener *l)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a = { .any = { .sa_family = AF_UNSPEC } };
	socklen_t n = sizeof(a);

	if (getsockname(l->fd, &a.any, &n) < 0 || a.any.sa_family == AF_UNIX)
		return 0;
	return ntohs(a.any.sa_family == AF_INET6 ? a.in6.sin6_port : a.in.sin_port);
}

void listener_destroy(struct listener *l)
{
	if (!l)
		return;
	while (l->peers)
		listener_mood(l->peers->stream, PEER_LEAVES);
	exec_io_del(&l->io);
	exec_timer_cancel(&l->again);
	fd_close(l->fd);
	if (*l->path)
		(void)unlink(l->path);
	mem_free(l);
}
