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
#include "mem.h"
#include "net_private.h"
#include "timeutil.h"

LOG_TOPIC("world");

#define READ_MAX    65536u         /* of one client at once */
#define LAST_DUR_NS (2 * NS_PER_S) /* for an ended session to take what it was sent last */

static const char *host_of(const struct net_options *o)
{
	return o->host ? o->host : "127.0.0.1";
}

/* ---- writing ---- */

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

/* False: all has been said. */
static bool write_peer(struct peer *p)
{
	const void *data;
	size_t len;

	p->blocked = false;
	while (!p->blocked && (len = output_of(p, &data))) {
		ssize_t r = stream_write(p->stream, &(struct iovec){ (void *)(uintptr_t)data, len }, 1);

		if (r > 0)
			sent(p, (size_t)r);
		p->blocked = r < (ssize_t)len; /* or it is gone, which ended() says */
	}
	return p->blocked || goes_on(p);
}

static void peer_destroy(struct peer *p)
{
	session_close(p->s, exec_now(p->n->x));
	tls_destroy(p->tls);
	stream_destroy(p->stream);
	list_remove(&p->link);
	mem_free(p);
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
		if (!p->s)
			continue;
		net_udp_write(n, p->s, now_mono_ns);
		until = p->blocked || write_peer(p) ? kept_until(p, now_mono_ns) : now_mono_ns;
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
	int64_t now = exec_now(p->n->x);
	bool there = true;

	(void)why;
	net_soon(p->n);
	if (p->tls)
		there = net_decrypt(p, data, len, now);
	else
		session_input(p->s, data, len, now);
	if (p->tls && (!there || !p->s)) /* the answer of a handshake; why it ends */
		there = write_peer(p) && there;
	return there ? (ssize_t)len : -EPROTO;
}

static void ended(void *arg, int error, const char *why)
{
	struct peer *p = arg;

	net_soon(p->n);
	if (!p->s)
		net_tell_end(p, error, why);
	peer_destroy(p);
}

static const struct stream_ops peer_ops = { .take = take, .room = room, .ended = ended };

/* By TLS a stranger first. */
static int meet(struct net *n, struct peer *p)
{
	int r;

	if (n->keys)
		return tls_create(TLS_SERVER, &(struct tls_options){ .keys = n->keys }, &p->tls);
	r = session_open(n->w, exec_now(n->x), &p->s);
	if (r == 0)
		listener_mood(p->stream, PEER_LEAVES);
	return r;
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

/* What is due, and what goes. */
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
