/* SPDX-License-Identifier: Apache-2.0 */
/* net_compat.h */
#include "net_compat.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "err.h"
#include "events.h"
#include "list.h"
#include "log.h"
#include "mem.h"
#include "timeutil.h"

LOG_TOPIC("compat");

#define READ_MAX 4096u
#define SILENT_S 10 /* silence after which TCP keepalive probes the client */

struct compat_peer {
	struct list link; /* list net_compat::peers */
	struct net_compat *nc;
	struct stream *stream;
	struct compat_client *cl;
};

struct net_compat {
	struct compat *c;
	struct net *n;
	struct listener *listener;
	struct list peers; /* list by compat_peer::link */
	struct log_limit refused, came, left;
};

/* ---- clients ---- */

static void peer_destroy(struct compat_peer *p, int64_t now_mono_ns)
{
	compat_close(p->cl, now_mono_ns);
	stream_destroy(p->stream);
	list_remove(&p->link);
	mem_free(p);
}

static int64_t now_of(const struct net_compat *nc)
{
	return exec_now(net_exec(nc->n));
}

static void say_end(struct compat_peer *p, int64_t now_mono_ns)
{
	const char *why = compat_ends(p->cl);

	log_limited(&p->nc->left, now_mono_ns, LOG_LEVEL_INFO, "tr2016 %u: disconnected: %s", compat_number(p->cl),
		    why ? why : "its connection is lost");
	peer_destroy(p, now_mono_ns);
}

/* Unused bytes wait in the stream, and then at the client, while it does not read its answers. */
static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	struct compat_peer *p = arg;
	size_t used = 0, n;
	uint8_t *room;

	(void)why;
	while (used < len && (n = compat_room(p->cl, &room))) {
		n = n < len - used ? n : len - used;
		memcpy(room, data + used, n);
		compat_add(p->cl, n, now_of(p->nc));
		used += n;
	}
	stream_pause(p->stream, used < len);
	net_soon(p->nc->n);
	return (ssize_t)used;
}

static void room(void *arg)
{
	const struct compat_peer *p = arg;

	net_soon(p->nc->n);
}

static void ended(void *arg, int error, const char *why)
{
	struct compat_peer *p = arg;

	(void)error;
	(void)why;
	say_end(p, now_of(p->nc));
}

static const struct stream_ops peer_ops = { .take = take, .room = room, .ended = ended };

static void refused(void *arg, const char *from, const char *why)
{
	struct net_compat *nc = arg;

	(void)from;
	log_limited(&nc->refused, now_of(nc), LOG_LEVEL_WARN, "a client of tr2016 was not admitted: %s", why);
}

static void *came(void *arg, struct stream *s, const char *from)
{
	struct net_compat *nc = arg;
	struct compat_peer *p = MEM_NEW(struct compat_peer);
	int r = p ? compat_open(nc->c, now_of(nc), &p->cl) : err_nomem();

	if (r < 0) {
		refused(nc, from, err_why());
		mem_free(p);
		return NULL;
	}
	p->nc = nc;
	p->stream = s;
	listener_mood(s, PEER_LEAVES); /* compat itself limits their number */
	list_append(&nc->peers, &p->link);
	log_limited(&nc->came, now_of(nc), LOG_LEVEL_INFO, "tr2016 %u: connected", compat_number(p->cl));
	net_soon(nc->n);
	return p;
}

/* ---- the loop ---- */

static void write_peer(struct compat_peer *p, int64_t now_mono_ns)
{
	const uint8_t *data;
	size_t len;
	ssize_t r = 1;

	for (unsigned i = 0; i < 4 && r > 0 && (len = compat_output(p->cl, &data)); i++) {
		r = stream_write(p->stream, &(struct iovec){ (void *)(uintptr_t)data, len }, 1);
		if (r > 0)
			compat_sent(p->cl, (size_t)r, now_mono_ns);
	}
}

static void turn_peer(struct compat_peer *p, int64_t now_mono_ns)
{
	uint8_t *room;

	write_peer(p, now_mono_ns);
	if (compat_over(p->cl, now_mono_ns))
		say_end(p, now_mono_ns);
	else if (compat_room(p->cl, &room))
		stream_pause(p->stream, false);
}

static int64_t turn(void *user, int64_t now_mono_ns)
{
	struct net_compat *nc = user;
	struct compat_peer *p, *next;
	int64_t wake = compat_turn(nc->c, now_mono_ns, (int64_t)time(NULL));

	list_for_each_safe(p, next, &nc->peers, link)
		turn_peer(p, now_mono_ns);
	return wake;
}

/* ---- create and destroy ---- */

int net_compat_create(struct compat *c, struct net *n, const struct net_options *at, struct net_compat **ret)
{
	const char closed[] =
		"clients of tr2016 are neither known nor encrypted, so they come from this machine alone; give";
	struct net_compat *nc = MEM_NEW(struct net_compat);
	const struct listener_options o = {
		.bounds = { .peers = 1 },
		.stream = { .ops = &peer_ops, .buffer = READ_MAX, .silent_s = SILENT_S, .quick_ack = true },
		.arg = nc,
		.came = came,
		.refused = refused,
	};
	int r;

	if (!nc)
		return err_nomem();
	nc->c = c;
	nc->n = n;
	nc->refused = (struct log_limit)LOG_LIMIT(NS_PER_S, 1);
	nc->came = nc->left = (struct log_limit)EVENTS_LIMIT;
	list_init(&nc->peers);
	r = net_listen(n, at, closed, &o, &nc->listener);
	if (r < 0) {
		net_compat_destroy(nc);
		return r;
	}
	net_also(n, turn, nc);
	*ret = nc;
	return 0;
}

void net_compat_destroy(struct net_compat *nc)
{
	struct compat_peer *p, *next;

	if (!nc)
		return;
	listener_destroy(nc->listener);
	list_for_each_safe(p, next, &nc->peers, link)
		peer_destroy(p, now_of(nc));
	mem_free(nc);
}

uint16_t net_compat_port(const struct net_compat *nc)
{
	return (uint16_t)listener_port(nc->listener);
}
