/* SPDX-License-Identifier: Apache-2.0 */
/* net.h */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "net_private.h"
#include "timeutil.h"

LOG_TOPIC("world");

#define BACKLOG 512
#define EVENTS  64

/* ---- create and destroy ---- */

static int address_of(const struct net_options *o, struct sockaddr_in *ret)
{
	*ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(o->port) };
	if (inet_pton(AF_INET, o->host ? o->host : "127.0.0.1", &ret->sin_addr) != 1)
		return err_set(-EINVAL, "listen on %s: it is no address of four numbers", o->host);
	if (!o->keys && ntohl(ret->sin_addr.s_addr) >> 24 != 127)
		return err_set(
			-EACCES,
			"listen on %s: plain text is for this machine alone; give --keys, or an address of 127.0.0.0/8",
			o->host);
	return 0;
}

static int watch(const struct net *n, int op, int fd, uint32_t events, void *who)
{
	struct epoll_event e = { .events = events, .data.ptr = who };

	return epoll_ctl(n->epoll_fd, op, fd, &e) < 0 ? -errno : 0;
}

static int listen_on(struct net *n, const struct net_options *o)
{
	const int on = 1;
	struct sockaddr_in a;
	int r = address_of(o, &a);

	if (r < 0)
		return r;
	n->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	n->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->epoll_fd < 0 || n->listen_fd < 0)
		return err_sys(-errno, "the server's socket");
	(void)setsockopt(n->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(n->listen_fd, (const struct sockaddr *)&a, sizeof(a)) < 0 || listen(n->listen_fd, BACKLOG) < 0)
		return err_sys(-errno, "listen on %s:%u", o->host ? o->host : "127.0.0.1", o->port);
	r = watch(n, EPOLL_CTL_ADD, n->listen_fd, EPOLLIN, NULL);
	return r < 0 ? err_sys(r, "the server's socket") : 0;
}

int net_create(const struct net_options *o, struct world *w, struct net **ret)
{
	struct net *n = MEM_NEW(struct net);
	int r;

	if (!n)
		return err_nomem();
	n->w = w;
	n->keys = o->keys;
	n->listen_fd = n->epoll_fd = -1;
	list_init(&n->peers);
	list_init(&n->strangers);
	n->refused = (struct log_limit)LOG_LIMIT(NS_PER_S, 1);
	n->failed = (struct log_limit)LOG_LIMIT(NS_PER_S, 10);
	r = listen_on(n, o);
	if (r < 0) {
		net_destroy(n);
		return r;
	}
	*ret = n;
	return 0;
}

static void peer_destroy(struct net *n, struct peer *p, int64_t now_mono_ns)
{
	n->n_strangers -= p->tls && !p->s;
	session_close(p->s, now_mono_ns);
	tls_destroy(p->tls);
	fd_close(p->fd);
	list_remove(&p->link);
	mem_free(p);
}

void net_destroy(struct net *n)
{
	struct peer *p, *next;

	if (!n)
		return;
	list_splice(&n->peers, &n->strangers);
	list_for_each_safe(p, next, &n->peers, link)
		peer_destroy(n, p, mono_now_ns());
	fd_close(n->listen_fd);
	fd_close(n->epoll_fd);
	mem_free(n);
}

uint16_t net_port(const struct net *n)
{
	struct sockaddr_in a = { .sin_port = 0 };
	socklen_t len = sizeof(a);

	(void)getsockname(n->listen_fd, (struct sockaddr *)&a, &len);
	return ntohs(a.sin_port);
}

/* ---- clients ---- */

/* By TLS a stranger first. */
static int meet(struct net *n, struct peer *p, int64_t now_mono_ns)
{
	int r;

	if (n->keys)
		return net_greet(n, p, now_mono_ns);
	r = session_open(n->w, now_mono_ns, &p->s);
	if (r == 0)
		list_append(&n->peers, &p->link);
	return r;
}

static int peer_create(struct net *n, int fd, const struct sockaddr_in *from, int64_t now_mono_ns)
{
	const int on = 1;
	struct peer *p = MEM_NEW(struct peer);
	int r;

	if (!p)
		return -ENOMEM;
	p->from = *from;
	list_init(&p->link);
	r = meet(n, p, now_mono_ns);
	if (r < 0) {
		mem_free(p);
		return r;
	}
	p->fd = fd;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	r = watch(n, EPOLL_CTL_ADD, fd, EPOLLIN, p);
	if (r < 0) {
		p->fd = -1;
		peer_destroy(n, p, now_mono_ns);
	}
	return r;
}

/* Of one turn of the loop BACKLOG at most. */
static void accept_all(struct net *n, int64_t now_mono_ns)
{
	for (int i = 0; i < BACKLOG; i++) {
		struct sockaddr_in from = { .sin_port = 0 };
		socklen_t len = sizeof(from);
		int fd = accept4(n->listen_fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK), r;
		const char *why;

		if (fd < 0)
			return;
		why = net_crowded(n, &from);
		r = why ? 0 : peer_create(n, fd, &from, now_mono_ns);
		if (!why && r == 0)
			continue;
		log_limited(&n->refused, now_mono_ns, LOG_LEVEL_WARN, "a client was not admitted: %s",
			    why ? why : strerror(-r));
		fd_close(fd);
	}
}

/* False: the connection is gone. */
static bool read_peer(struct net *n, struct peer *p, int64_t now_mono_ns)
{
	ssize_t r = recv(p->fd, n->buffer, sizeof(n->buffer), 0);

	if (r > 0 && p->tls)
		return net_decrypt(n, p, (size_t)r, now_mono_ns);
	if (r > 0)
		session_input(p->s, n->buffer, (size_t)r, now_mono_ns);
	return r > 0 || (r < 0 && (errno == EAGAIN || errno == EINTR));
}

static void want_room(const struct net *n, struct peer *p, bool blocked)
{
	if (p->blocked == blocked)
		return;
	p->blocked = blocked;
	(void)watch(n, EPOLL_CTL_MOD, p->fd, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN, p);
}

static size_t output_of(struct peer *p, const void **ret)
{
	if (!p->tls)
		return session_output(p->s, ret);
	net_encrypt(p);
	return tls_output(p->tls, ret);
}

static void sent(struct peer *p, size_t n)
{
	if (p->tls)
		tls_sent(p->tls, n);
	else
		session_sent(p->s, n);
}

static bool goes_on(const struct peer *p)
{
	if (p->tls && tls_state(p->tls) == TLS_FAILED)
		return false;
	return !p->s || !session_ends(p->s);
}

/* False: the connection is gone, or all has been said. */
static bool write_peer(const struct net *n, struct peer *p)
{
	const void *data;
	size_t len;

	while ((len = output_of(p, &data))) {
		ssize_t r = send(p->fd, data, len, MSG_NOSIGNAL);

		if (r < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (r > 0)
			sent(p, (size_t)r);
		if (r < (ssize_t)len) {
			want_room(n, p, true);
			return true;
		}
	}
	want_room(n, p, false);
	return goes_on(p);
}

static void write_all(struct net *n, int64_t now_mono_ns)
{
	struct peer *p, *next;

	list_for_each_safe(p, next, &n->peers, link)
		if (!p->blocked && !write_peer(n, p))
			peer_destroy(n, p, now_mono_ns);
}

/* Strangers who are not known in time. Returns when the next one will be late. */
static int64_t close_late(struct net *n, int64_t now_mono_ns)
{
	int64_t wake = INT64_MAX;
	struct peer *p;

	while ((p = net_late(n, now_mono_ns, &wake)))
		peer_destroy(n, p, now_mono_ns);
	return wake;
}

/* ---- the loop ---- */

static void on_event(struct net *n, const struct epoll_event *e, int64_t now_mono_ns)
{
	struct peer *p = e->data.ptr;
	bool there = true;

	if (!p) {
		accept_all(n, now_mono_ns);
		return;
	}
	if (e->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		there = read_peer(n, p, now_mono_ns);
	if (p->tls && (!there || !p->s)) /* the answer of a handshake; why it ends */
		there = write_peer(n, p) && there;
	else if (there && e->events & EPOLLOUT)
		there = write_peer(n, p);
	if (!there)
		peer_destroy(n, p, now_mono_ns);
}

int net_also(struct net *n, int fd, void (*fn)(void *user, int64_t now_mono_ns), void *user)
{
	int r = watch(n, EPOLL_CTL_ADD, fd, EPOLLIN, &n->also);

	n->also = fn;
	n->also_user = user;
	return r < 0 ? err_sys(r, "the server's loop") : 0;
}

/* What is due, what goes, what comes. Returns 1 when it is to stop. */
static int turn(struct net *n, int64_t until_mono_ns)
{
	struct epoll_event events[EVENTS];
	struct timespec ts = { 0 };
	int64_t now = mono_now_ns(), wake = world_turn(n->w, now), late = close_late(n, now);
	int got, stop = 0;

	write_all(n, now);
	wake = wake < late ? wake : late;
	wake = wake < until_mono_ns ? wake : until_mono_ns;
	if (wake > now)
		ts = (struct timespec){ (wake - now) / NS_PER_S, (wake - now) % NS_PER_S };
	got = epoll_pwait2(n->epoll_fd, events, EVENTS, wake == INT64_MAX ? NULL : &ts, NULL);
	if (got < 0)
		return errno == EINTR ? 0 : err_sys(-errno, "the server's loop");
	now = mono_now_ns();
	for (int i = 0; i < got; i++)
		if (events[i].data.ptr == n)
			stop = 1;
		else if (events[i].data.ptr == &n->also)
			n->also(n->also_user, now);
		else
			on_event(n, &events[i], now);
	return stop;
}

int net_run(struct net *n, int stop_fd, int64_t grace_dur_ns)
{
	int r = watch(n, EPOLL_CTL_ADD, stop_fd, EPOLLIN, n);
	int64_t until = INT64_MAX;

	if (r < 0)
		return err_sys(r, "the server's loop");
	while ((r = turn(n, INT64_MAX)) == 0)
		;
	(void)epoll_ctl(n->epoll_fd, EPOLL_CTL_DEL, stop_fd, NULL);
	if (r < 0)
		return r;
	world_stop(n->w);
	for (until = mono_now_ns() + grace_dur_ns; !list_empty(&n->peers) && mono_now_ns() < until;)
		if (turn(n, until) < 0)
			break;
	return 0;
}
