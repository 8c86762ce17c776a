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

#define LAST_DUR_NS (2 * NS_PER_S) /* for an ended session to take what it was sent last */

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
	n->listen_fd = n->epoll_fd = n->udp_fd = -1;
	list_init(&n->peers);
	list_init(&n->strangers);
	n->refused = (struct log_limit)LOG_LIMIT(NS_PER_S, 1);
	n->failed = (struct log_limit)LOG_LIMIT(NS_PER_S, 10);
	n->rested = (struct log_limit)LOG_LIMIT(10 * NS_PER_S, 1);
	n->rest_mono_ns = INT64_MAX;
	r = listen_on(n, o);
	if (r == 0 && !o->tcp_only)
		r = net_udp_open(n);
	if (r == 0 && n->udp_fd >= 0) {
		r = watch(n, EPOLL_CTL_ADD, n->udp_fd, EPOLLIN, &n->udp_fd);
		world_set_udp(w, net_port(n));
	}
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
	fd_close(n->udp_fd);
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
	if (r < 0)
		return r;
	list_append(&n->peers, &p->link);
	return 0;
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

		if (fd < 0) {
			net_rest(n, errno, now_mono_ns);
			return;
		}
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

/* Until when a client that does not read is kept: for ever, as far as the socket goes, or its session is over. */
static int64_t kept_until(struct peer *p, int64_t now_mono_ns)
{
	if (!session_ends(p->s))
		return INT64_MAX;
	if (!p->until_mono_ns)
		p->until_mono_ns = now_mono_ns + LAST_DUR_NS;
	return p->until_mono_ns;
}

/* Returns when the next one that does not take its last bytes is closed. */
static int64_t write_all(struct net *n, int64_t now_mono_ns)
{
	int64_t wake = INT64_MAX, until;
	struct peer *p, *next;

	list_for_each_safe(p, next, &n->peers, link) {
		net_udp_write(n, p->s, now_mono_ns);
		until = p->blocked || write_peer(n, p) ? kept_until(p, now_mono_ns) : now_mono_ns;
		if (until <= now_mono_ns)
			peer_destroy(n, p, now_mono_ns);
		else if (until < wake)
			wake = until;
	}
	return wake;
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

int net_also(struct net *n, const struct net_source *s)
{
	struct net_source *mine = &n->sources[n->n_sources];
	int r = n->n_sources < NET_SOURCES ? watch(n, EPOLL_CTL_ADD, s->fd, EPOLLIN, mine) : -ENOSPC;

	if (r < 0)
		return err_sys(r, "the server's loop");
	*mine = *s;
	n->n_sources++;
	return 0;
}

static int64_t turn_sources(struct net *n, int64_t now_mono_ns)
{
	int64_t wake = INT64_MAX;

	for (unsigned i = 0; i < n->n_sources; i++) {
		const struct net_source *s = &n->sources[i];
		int64_t again = s->turn ? s->turn(s->user, now_mono_ns) : INT64_MAX;

		wake = again < wake ? again : wake;
	}
	return wake;
}

static struct net_source *source_of(struct net *n, const void *who)
{
	for (unsigned i = 0; i < n->n_sources; i++)
		if (who == &n->sources[i])
			return &n->sources[i];
	return NULL;
}

/* What is due, what goes, what comes. Returns 1 when it is to stop. */
static int turn(struct net *n, int64_t until_mono_ns)
{
	struct epoll_event events[EVENTS];
	struct timespec ts = { 0 };
	int64_t now = mono_now_ns(), wake = world_turn(n->w, now), late = close_late(n, now), last,
		rest = net_listen_again(n, now), others = turn_sources(n, now);
	int got, stop = 0;

	last = write_all(n, now);
	if (until_mono_ns != INT64_MAX && list_empty(&n->peers)) /* it stops, and all have been told */
		return 0;
	wake = wake < late ? wake : late;
	wake = wake < last ? wake : last;
	wake = wake < rest ? wake : rest;
	wake = wake < others ? wake : others;
	wake = wake < until_mono_ns ? wake : until_mono_ns;
	if (wake > now)
		ts = (struct timespec){ (wake - now) / NS_PER_S, (wake - now) % NS_PER_S };
	got = epoll_pwait2(n->epoll_fd, events, EVENTS, wake == INT64_MAX ? NULL : &ts, NULL);
	if (got < 0)
		return errno == EINTR ? 0 : err_sys(-errno, "the server's loop");
	now = mono_now_ns();
	for (int i = 0; i < got; i++) {
		const struct net_source *other = source_of(n, events[i].data.ptr);

		if (events[i].data.ptr == n)
			stop = 1;
		else if (events[i].data.ptr == &n->udp_fd)
			net_udp_read(n, now);
		else if (other)
			other->ready(other->user, now);
		else
			on_event(n, &events[i], now);
	}
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
	until = mono_now_ns() + grace_dur_ns;
	do
		r = turn(n, until);
	while (r >= 0 && !list_empty(&n->peers) && mono_now_ns() < until);
	return 0;
}
