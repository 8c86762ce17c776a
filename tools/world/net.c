/* SPDX-License-Identifier: Apache-2.0 */
/* net.h */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "err.h"
#include "fd.h"
#include "loop/stream_tls.h"
#include "mem.h"
#include "net_private.h"
#include "timeutil.h"

LOG_TOPIC("world");

#define HANDSHAKE_S 5
#define READ_MAX    65536u         /* bytes read from one client at once */
#define LAST_DUR_NS (2 * NS_PER_S) /* time for a client to read its last bytes after its session has ended */

#define STRANGERS_MAX      256u /* clients whose handshake is not complete; and of one address: */
#define STRANGERS_EACH_MAX 16u

static const char *host_of(const struct net_options *o)
{
	return o->host ? o->host : "127.0.0.1";
}

/* ---- writing ---- */

/* Returns false if everything was sent. */
static bool write_peer(struct peer *p)
{
	const void *data;
	size_t len;

	while (!stream_waits(p->stream) && (len = session_output(p->s, &data))) {
		ssize_t r = stream_write(p->stream, &(struct iovec){ (void *)(uintptr_t)data, len }, 1);

		if (r < 0) /* ended() reports it */
			return true;
		session_sent(p->s, (size_t)r);
	}
	return stream_waits(p->stream) || !session_ends(p->s);
}

static void peer_destroy(struct peer *p)
{
	session_close(p->s, exec_now(p->n->x));
	stream_destroy(p->stream);
	list_remove(&p->link);
	mem_free(p);
}

/* Until when a client that does not read is kept: without limit while its session lasts, unless the socket fails. */
static int64_t kept_until(struct peer *p, int64_t now_mono_ns)
{
	if (!session_ends(p->s))
		return INT64_MAX;
	if (!p->until_mono_ns)
		p->until_mono_ns = now_mono_ns + LAST_DUR_NS;
	return p->until_mono_ns;
}

/* Returns when the next client that does not read its last bytes has to be closed. */
static int64_t write_all(struct net *n, int64_t now_mono_ns)
{
	int64_t wake = INT64_MAX, until;
	struct peer *p, *next;

	list_for_each_safe(p, next, &n->peers, link) {
		if (!p->s)
			continue;
		net_udp_write(n, p->s, now_mono_ns);
		until = write_peer(p) ? kept_until(p, now_mono_ns) : now_mono_ns;
		if (until <= now_mono_ns)
			peer_destroy(p);
		else if (until < wake)
			wake = until;
	}
	return wake;
}

/* ---- clients ---- */

static void room(void *arg)
{
	struct peer *p = arg;

	if (!write_peer(p))
		net_soon(p->n);
}

static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	struct peer *p = arg;

	(void)why;
	net_soon(p->n);
	session_input(p->s, data, len, exec_now(p->n->x));
	return (ssize_t)len;
}

static void tell_why(struct peer *p, const char *why)
{
	log_limited(&p->n->failed, exec_now(p->n->x), LOG_LEVEL_WARN, "%s: %s", p->from, why);
}

/* Makes a session for the client, which is a stranger no more. */
static int admit(struct peer *p)
{
	struct tls_peer who;
	int r = session_open(p->n->w, exec_now(p->n->x), &p->s);

	if (r < 0)
		return r;
	if (stream_tls_peer(p->stream, &who))
		session_set_certificate(p->s, who.name);
	listener_mood(p->stream, PEER_LEAVES);
	net_soon(p->n);
	return 0;
}

/* TLS: the client is authenticated. */
static void opened(void *arg)
{
	struct peer *p = arg;
	int r = admit(p);

	if (r == 0)
		return;
	(void)err_set(r, "it was not admitted: %s", strerror(-r));
	tell_why(p, err_why());
	stream_end(p->stream, 0);
}

/* A stranger that disconnects before it is authenticated is not logged. */
static void ended(void *arg, int error, const char *why)
{
	struct peer *p = arg;

	net_soon(p->n);
	if (!p->s && error == -ETIMEDOUT) {
		(void)err_set(error, "its handshake was not done in %d s", HANDSHAKE_S);
		why = err_why();
	}
	if (error == -EPROTO || (!p->s && (error == -EBUSY || error == -ETIMEDOUT)))
		tell_why(p, why);
	peer_destroy(p);
}

static const struct stream_ops peer_ops = { .opened = opened, .take = take, .room = room, .ended = ended };

/* With TLS the client is a stranger first. */
static int meet(struct net *n, struct peer *p)
{
	return n->keys ? stream_tls(p->stream, TLS_SERVER, &(struct tls_options){ .keys = n->keys }) : admit(p);
}

static void refused(void *arg, const char *from, const char *why)
{
	struct net *n = arg;

	log_limited(&n->refused, exec_now(n->x), LOG_LEVEL_WARN, "%s: %s",
		    from ? "a client was not admitted" : "no client can be accepted for now", why);
}

static void *came(void *arg, struct stream *s, const char *from)
{
	struct net *n = arg;
	struct peer *p = MEM_NEW(struct peer);
	int r = -ENOMEM;

	if (p) {
		p->n = n;
		p->stream = s;
		snprintf(p->from, sizeof(p->from), "%s", from);
		r = meet(n, p);
	}
	if (r < 0) {
		refused(n, from, strerror(-r));
		mem_free(p);
		return NULL;
	}
	list_append(&n->peers, &p->link);
	net_soon(n);
	return p;
}

/* ---- the loop ---- */

static bool all_told(const struct net *n)
{
	struct peer *p;

	list_for_each(p, &n->peers, link)
		if (p->s)
			return false;
	return true;
}

/* Does what is due in the world, and writes to the clients. */
static void on_turn(void *arg)
{
	struct net *n = arg;
	int64_t now = exec_now(n->x), wake = world_turn(n->w, now), also = n->also ? n->also(n->user, now) : INT64_MAX,
		last = write_all(n, now);

	if (n->stops && all_told(n))
		exec_quit(n->x);
	wake = wake < also ? wake : also;
	exec_timer_at(&n->turn, wake < last ? wake : last);
}

void net_soon(struct net *n)
{
	exec_timer_at(&n->turn, 0);
}

void net_also(struct net *n, int64_t (*turn)(void *user, int64_t now_mono_ns), void *user)
{
	n->also = turn;
	n->user = user;
}

struct exec *net_exec(const struct net *n)
{
	return n->x;
}

static void on_grace(void *arg)
{
	exec_quit(arg);
}

static void on_stop(void *arg, uint32_t events)
{
	struct net *n = arg;

	(void)events;
	exec_io_del(&n->stop);
	exec_timer_at(&n->grace, exec_now(n->x) + n->grace_dur_ns);
	n->stops = true;
	world_stop(n->w);
	net_soon(n);
}

int net_stop_at(struct net *n, int stop_fd, int64_t grace_dur_ns)
{
	n->grace_dur_ns = grace_dur_ns;
	return exec_io_add(n->x, &n->stop, stop_fd, EPOLLIN, on_stop, n);
}

/* ---- create and destroy ---- */

int net_listen(const struct net *n, const struct net_options *at, const char *closed, const struct listener_options *o,
	       struct listener **ret)
{
	struct address a = { .port = at->port };
	char why[STREAM_WHY_MAX];
	struct in_addr number;
	int r;

	if (inet_pton(AF_INET, host_of(at), &number) != 1)
		return err_set(-EINVAL, "listen on %s: it is no address of four numbers", at->host);
	if (closed && ntohl(number.s_addr) >> 24 != 127)
		return err_set(-EACCES, "listen on %s: %s an address of 127.0.0.0/8", at->host, closed);
	snprintf(a.host, sizeof(a.host), "%s", host_of(at));
	r = listener_create(n->x, &a, o, ret, why);
	return r < 0 ? err_set(r, "listen on %s", why) : 0;
}

static int listen_on(struct net *n, const struct net_options *o)
{
	const struct listener_options l = {
		.bounds = { .peers = STRANGERS_MAX,
			    .peers_of_one = STRANGERS_EACH_MAX,
			    .header_dur_ns = HANDSHAKE_S * NS_PER_S },
		.stream = { .ops = &peer_ops, .buffer = READ_MAX },
		.arg = n,
		.came = came,
		.refused = refused,
	};

	return net_listen(n, o, o->keys ? NULL : "plain text is for this machine alone; give --keys, or", &l,
			  &n->listener);
}

int net_create(struct exec *x, const struct net_options *o, struct world *w, struct net **ret)
{
	struct net *n = MEM_NEW(struct net);
	int r;

	if (!n)
		return err_nomem();
	n->x = x;
	n->w = w;
	n->keys = o->keys;
	n->udp_fd = -1;
	exec_timer_init(&n->turn, x, on_turn, n);
	exec_timer_init(&n->grace, x, on_grace, x);
	list_init(&n->peers);
	n->refused = (struct log_limit)LOG_LIMIT(NS_PER_S, 1);
	n->failed = (struct log_limit)LOG_LIMIT(NS_PER_S, 10);
	r = listen_on(n, o);
	if (r == 0 && !o->tcp_only)
		r = net_udp_open(n, host_of(o));
	if (r == 0 && n->udp_fd >= 0)
		world_set_udp(w, net_port(n));
	if (r < 0) {
		net_destroy(n);
		return r;
	}
	net_soon(n);
	*ret = n;
	return 0;
}

void net_destroy(struct net *n)
{
	struct peer *p, *next;

	if (!n)
		return;
	listener_destroy(n->listener);
	list_for_each_safe(p, next, &n->peers, link)
		peer_destroy(p);
	exec_timer_cancel(&n->turn);
	exec_timer_cancel(&n->grace);
	exec_io_del(&n->stop);
	exec_io_del(&n->udp);
	fd_close(n->udp_fd);
	mem_free(n);
}

uint16_t net_port(const struct net *n)
{
	return (uint16_t)listener_port(n->listener);
}
