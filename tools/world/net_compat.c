/* SPDX-License-Identifier: Apache-2.0 */
/* net_compat.h */
#include "net_compat.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "err.h"
#include "events.h"
#include "fd.h"
#include "list.h"
#include "log.h"
#include "mem.h"
#include "timeutil.h"

LOG_TOPIC("compat");

#define BACKLOG 64
#define EVENTS  64
#define IDLE_S  10 /* without a byte: then the system asks whether its client is there */

struct compat_peer {
	struct list link; /* net_compat::peers */
	int fd;
	uint32_t events; /* that are waited for */
	struct compat_client *cl;
};

struct net_compat {
	struct compat *c;
	int listen_fd, epoll_fd;
	struct list peers; /* compat_peer::link */
	int64_t rest_mono_ns;
	struct log_limit refused, came, left;
};

static int watch(const struct net_compat *nc, int op, int fd, uint32_t events, void *who)
{
	struct epoll_event e = { .events = events, .data.ptr = who };

	return epoll_ctl(nc->epoll_fd, op, fd, &e) < 0 ? -errno : 0;
}

/* ---- clients ---- */

static void peer_destroy(struct compat_peer *p, int64_t now_mono_ns)
{
	compat_close(p->cl, now_mono_ns);
	fd_close(p->fd);
	list_remove(&p->link);
	mem_free(p);
}

/* The connection is over. */
static void say_end(struct net_compat *nc, struct compat_peer *p, const char *why, int64_t now_mono_ns)
{
	log_limited(&nc->left, now_mono_ns, LOG_LEVEL_INFO, "tr2016 %u: disconnected: %s", compat_number(p->cl), why);
	peer_destroy(p, now_mono_ns);
}

static void set_options(int fd)
{
	const int on = 1, idle = IDLE_S, each = 2, n = 5;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof(each));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &n, sizeof(n));
}

static int peer_create(struct net_compat *nc, int fd, int64_t now_mono_ns)
{
	struct compat_peer *p = MEM_NEW(struct compat_peer);
	int r = p ? compat_open(nc->c, now_mono_ns, &p->cl) : err_nomem();

	if (r == 0) {
		p->events = EPOLLIN;
		set_options(fd);
		r = watch(nc, EPOLL_CTL_ADD, fd, EPOLLIN, p);
		if (r < 0) {
			(void)err_sys(r, "its socket");
			compat_close(p->cl, now_mono_ns);
		}
	}
	if (r < 0) {
		mem_free(p);
		return r;
	}
	p->fd = fd;
	list_append(&nc->peers, &p->link);
	log_limited(&nc->came, now_mono_ns, LOG_LEVEL_INFO, "tr2016 %u: connected", compat_number(p->cl));
	return 0;
}

static void accept_all(struct net_compat *nc, int64_t now_mono_ns)
{
	for (int i = 0; i < BACKLOG; i++) {
		int fd = accept4(nc->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), why = errno;

		if (fd >= 0 && peer_create(nc, fd, now_mono_ns) == 0)
			continue;
		if (fd < 0 && (why == EAGAIN || why == EINTR || why == ECONNABORTED || why == EPROTO))
			return;
		log_limited(&nc->refused, now_mono_ns, LOG_LEVEL_WARN, "a client of tr2016 was not admitted: %s",
			    fd < 0 ? strerror(why) : err_why());
		fd_close(fd);
		if (fd < 0) { /* as without descriptors: it would come again at once */
			nc->rest_mono_ns = now_mono_ns + NS_PER_S / 10;
			(void)watch(nc, EPOLL_CTL_MOD, nc->listen_fd, 0, NULL);
			return;
		}
	}
}

/* False: the connection is gone. */
static bool read_peer(struct compat_peer *p, int64_t now_mono_ns)
{
	const int on = 1;
	uint8_t *room;
	size_t size = compat_room(p->cl, &room);
	ssize_t r = size ? recv(p->fd, room, size, 0) : 1;

	/* It writes a byte and then the rest, without NODELAY: the rest waits at its side until the byte is acknowledged. */
	(void)setsockopt(p->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
	if (size && r > 0)
		compat_add(p->cl, (size_t)r, now_mono_ns);
	return r > 0 || (r < 0 && (errno == EAGAIN || errno == EINTR));
}

/* False: the connection is gone. */
static bool write_peer(struct compat_peer *p, int64_t now_mono_ns)
{
	const uint8_t *data;
	size_t len;

	for (unsigned i = 0; i < 4 && (len = compat_output(p->cl, &data)); i++) {
		ssize_t r = send(p->fd, data, len, MSG_NOSIGNAL);

		if (r < 0)
			return errno == EAGAIN || errno == EINTR;
		compat_sent(p->cl, (size_t)r, now_mono_ns);
	}
	return true;
}

static void watch_peer(const struct net_compat *nc, struct compat_peer *p)
{
	const uint8_t *data;
	uint8_t *room;
	const uint32_t events = (compat_room(p->cl, &room) ? (uint32_t)EPOLLIN : 0) |
				(compat_output(p->cl, &data) ? (uint32_t)EPOLLOUT : 0);

	if (events != p->events)
		(void)watch(nc, EPOLL_CTL_MOD, p->fd, events, p);
	p->events = events;
}

/* ---- the loop ---- */

static void turn_peer(struct net_compat *nc, struct compat_peer *p, int64_t now_mono_ns)
{
	const bool there = write_peer(p, now_mono_ns);
	const char *why = compat_ends(p->cl);

	if (!there || compat_over(p->cl, now_mono_ns))
		say_end(nc, p, why ? why : "its connection is lost", now_mono_ns);
	else
		watch_peer(nc, p);
}

static int64_t turn(void *user, int64_t now_mono_ns)
{
	struct net_compat *nc = user;
	struct compat_peer *p, *next;
	int64_t wake = compat_turn(nc->c, now_mono_ns, (int64_t)time(NULL));

	list_for_each_safe(p, next, &nc->peers, link)
		turn_peer(nc, p, now_mono_ns);
	if (nc->rest_mono_ns <= now_mono_ns) {
		nc->rest_mono_ns = INT64_MAX;
		(void)watch(nc, EPOLL_CTL_MOD, nc->listen_fd, EPOLLIN, NULL);
	}
	return nc->rest_mono_ns < wake ? nc->rest_mono_ns : wake;
}

/* What it has led to goes out with the loop's next turn, which is at once. */
static void ready(void *user, int64_t now_mono_ns)
{
	struct net_compat *nc = user;
	struct epoll_event events[EVENTS];
	int n = epoll_wait(nc->epoll_fd, events, EVENTS, 0);

	for (int i = 0; i < n; i++) {
		struct compat_peer *p = events[i].data.ptr;

		if (!p)
			accept_all(nc, now_mono_ns);
		else if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !read_peer(p, now_mono_ns))
			say_end(nc, p, compat_ends(p->cl) ? compat_ends(p->cl) : "its connection is lost", now_mono_ns);
	}
}

/* ---- create and destroy ---- */

static int listen_on(struct net_compat *nc, const char *host, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	const int on = 1;
	int r;

	if (inet_pton(AF_INET, host, &a.sin_addr) != 1)
		return err_set(-EINVAL, "listen on %s: it is no address of four numbers", host);
	if (ntohl(a.sin_addr.s_addr) >> 24 != 127)
		return err_set(-EACCES,
			       "listen on %s: clients of tr2016 are neither known nor encrypted, so they come from this "
			       "machine alone; give an address of 127.0.0.0/8",
			       host);
	nc->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	nc->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (nc->epoll_fd < 0 || nc->listen_fd < 0)
		return err_sys(-errno, "the socket for clients of tr2016");
	(void)setsockopt(nc->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(nc->listen_fd, (const struct sockaddr *)&a, sizeof(a)) < 0 || listen(nc->listen_fd, BACKLOG) < 0)
		return err_sys(-errno, "listen on %s:%u", host, port);
	r = watch(nc, EPOLL_CTL_ADD, nc->listen_fd, EPOLLIN, NULL);
	return r < 0 ? err_sys(r, "the socket for clients of tr2016") : 0;
}

int net_compat_create(struct compat *c, struct net *n, const char *host, uint16_t port, struct net_compat **ret)
{
	struct net_compat *nc = MEM_NEW(struct net_compat);
	int r;

	if (!nc)
		return err_nomem();
	nc->c = c;
	nc->listen_fd = nc->epoll_fd = -1;
	nc->rest_mono_ns = INT64_MAX;
	nc->refused = (struct log_limit)LOG_LIMIT(NS_PER_S, 1);
	nc->came = nc->left = (struct log_limit)EVENTS_LIMIT;
	list_init(&nc->peers);
	r = listen_on(nc, host, port);
	if (r == 0)
		r = net_also(n, &(struct net_source){ .fd = nc->epoll_fd, .ready = ready, .turn = turn, .user = nc });
	if (r < 0) {
		net_compat_destroy(nc);
		return r;
	}
	*ret = nc;
	return 0;
}

void net_compat_destroy(struct net_compat *nc)
{
	struct compat_peer *p, *next;

	if (!nc)
		return;
	list_for_each_safe(p, next, &nc->peers, link)
		peer_destroy(p, mono_now_ns());
	fd_close(nc->listen_fd);
	fd_close(nc->epoll_fd);
	mem_free(nc);
}

uint16_t net_compat_port(const struct net_compat *nc)
{
	struct sockaddr_in a = { .sin_port = 0 };
	socklen_t len = sizeof(a);

	(void)getsockname(nc->listen_fd, (struct sockaddr *)&a, &len);
	return ntohs(a.sin_port);
}
