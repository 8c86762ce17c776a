/* SPDX-License-Identifier: Apache-2.0 */
/* A connection on which a topic comes: our header, theirs, then messages behind their lengths. Thread: the I/O thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ros/ros_type.h"
#include "ros1.h"
#include "tcpros.h"

#define GREETING_DUR_NS INT64_C(10000000000)
#define CLOCK_MAX       1024u
#define SKIP_MAX        (512u << 20) /* what says to be larger is none */

static struct incoming *of(struct io_source *io)
{
	return (struct incoming *)(void *)io;
}

static void lose(struct incoming *c)
{
	struct sim_bridge *b = c->bridge;

	pthread_mutex_lock(&b->links.lock);
	if (c->link) {
		if (c->link->subscription->clock)
			sim_time_lost(b, c->link);
		link_lost(c->link);
	}
	c->link = NULL;
	pthread_mutex_unlock(&b->links.lock);
}

static void close_it(struct incoming *c, const char *why)
{
	if (c->io.closed)
		return;
	if (why && !c->link->gone)
		node_refuses(c->bridge, "%s: its publisher %s at %s: %s", c->link->subscription->in.name, c->node,
			     c->link->uri, why);
	lose(c);
	io_close(c->bridge->io, &c->io);
}

static void free_it(struct io_source *io)
{
	struct incoming *c = of(io);

	lose(c);
	free(c->in);
	free(c);
}

static void expired(struct io_source *io)
{
	close_it(of(io), "it does not answer in time");
}

/* ---- headers ---- */

static int send_header(struct incoming *c)
{
	const struct subscription *s = c->link->subscription;
	struct tcpros_writer w = { .data = NULL };
	int err = 0, r;
	socklen_t n = sizeof(err);

	if (getsockopt(c->io.fd, SOL_SOCKET, SO_ERROR, &err, &n) < 0 || err)
		return err ? -err : -errno;
	tcpros_put(&w, "callerid", c->bridge->names.node);
	tcpros_put(&w, "md5sum", s->type->hash);
	tcpros_put(&w, "message_definition", s->type->definition);
	tcpros_put(&w, "tcp_nodelay", "1");
	tcpros_put(&w, "topic", s->in.name);
	tcpros_put(&w, "type", s->type->name);
	r = tcpros_end(&w);
	if (r == 0 && send(c->io.fd, w.data, w.len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)w.len)
		r = -EIO; /* a new socket takes that much */
	tcpros_writer_finish(&w);
	c->sent = r == 0;
	return r;
}

/* 0, or -EPROTO with a sentence. */
static int greeted(struct incoming *c, const struct tcpros_header *h, char *why, size_t why_size)
{
	const struct subscription *s = c->link->subscription;
	char theirs[200];

	tcpros_get(h, "callerid", c->node, sizeof(c->node));
	log_printable(c->node);
	if (tcpros_get(h, "error", theirs, sizeof(theirs))) {
		log_printable(theirs);
		snprintf(why, why_size, "it refuses: %s", theirs);
		return -EPROTO;
	}
	if (!tcpros_is(h, "md5sum", s->type->hash)) {
		tcpros_get(h, "md5sum", theirs, 40);
		log_printable(theirs);
		snprintf(why, why_size, "it sends another definition of %s: md5sum %s, not %s", s->type->name, theirs,
			 s->type->hash);
		return -EPROTO;
	}
	if (s->clock && *c->bridge->mark && tcpros_is(h, "simd", c->bridge->mark)) {
		c->link->ours = true;
		snprintf(why, why_size, "it is our own clock");
		return -EPROTO;
	}
	c->greeted = true;
	c->io.due_mono_ns = 0;
	log_peer(c->bridge, "%s: publisher %s", s->in.name, c->node);
	return 0;
}

/* ---- messages ---- */

static void deliver(struct incoming *c, const void *data, size_t len)
{
	struct subscription *s = c->link->subscription;

	c->messages++;
	if (atomic_load(&c->bridge->status) != SIM_BRIDGE_CONNECTED || c->link->gone)
		return;
	if (s->clock)
		sim_time_take(c->bridge, c->link, data, len);
	else
		topic_in_take(&s->in, data, len);
}

static uint32_t get_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* One part of what is there, `left` bytes at p. Returns how many it took; 0: more are needed, *ret_need in all. Negative: it is to end. */
static ssize_t take_one(struct incoming *c, const uint8_t *p, size_t left, size_t *ret_need, char *why, size_t why_size)
{
	struct tcpros_header h;
	uint32_t size;
	int r;

	*ret_need = 4;
	if (c->skip) {
		size_t n = left < c->skip ? left : c->skip;

		c->skip -= (uint32_t)n;
		return (ssize_t)n;
	}
	if (left < 4)
		return 0;
	size = get_u32(p);
	*ret_need = (size_t)size + 4;
	if (!c->greeted) {
		r = tcpros_parse(p, left, TCPROS_HEADER_MAX, &h, why, why_size);
		if (r == 1)
			r = greeted(c, &h, why, why_size);
		return r < 0 ? r : c->greeted ? (ssize_t)h.total : 0;
	}
	if (size > SKIP_MAX) {
		snprintf(why, why_size, "a message of %u bytes", size);
		return -EMSGSIZE;
	}
	if (size > (c->link->subscription->clock ? CLOCK_MAX : topic_in_wire_max(&c->link->subscription->in))) {
		if (!c->link->subscription->clock)
			topic_in_drop(&c->link->subscription->in, -EMSGSIZE);
		c->skip = size;
		return 4;
	}
	if (left - 4 < size)
		return 0;
	deliver(c, p + 4, size);
	return (ssize_t)size + 4;
}

static int take(struct incoming *c, char *why, size_t why_size)
{
	size_t at = 0, need = 0;
	ssize_t n = 1;
	uint8_t *in;

	while (at < c->len && (n = take_one(c, c->in + at, c->len - at, &need, why, why_size)) > 0)
		at += (size_t)n;
	if (n < 0)
		return (int)n;
	memmove(c->in, c->in + at, c->len - at);
	c->len -= at;
	if (need <= c->cap || c->skip)
		return 0;
	in = realloc(c->in, need);
	if (!in) {
		snprintf(why, why_size, "no memory");
		return -ENOMEM;
	}
	c->in = in;
	c->cap = need;
	return 0;
}

static void ready(struct io_source *io, uint32_t events)
{
	struct incoming *c = of(io);
	char why[400] = "";
	int r = 0;

	if (!c->sent && !(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return;
	if (!c->sent)
		r = send_header(c);
	while (r == 0) {
		ssize_t n = recv(io->fd, c->in + c->len, c->cap - c->len, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n == 0 ? -ECONNRESET : -errno;
			break;
		}
		c->len += (size_t)n;
		c->bytes += (size_t)n;
		r = take(c, why, sizeof(why));
	}
	if (r != -EAGAIN)
		close_it(c, *why ? why : c->greeted ? NULL : strerror(-r));
}

/* ---- opening ---- */

struct opening {
	struct incoming *c;
	int result;
};

static void open_on_io(void *arg)
{
	struct opening *o = arg;
	struct incoming *c = o->c;

	c->id = ++c->bridge->n_connections;
	pthread_mutex_lock(&c->bridge->links.lock);
	o->result = io_add(c->bridge->io, &c->io);
	if (o->result == 0)
		c->link->connection = c;
	pthread_mutex_unlock(&c->bridge->links.lock);
}

int incoming_open(struct sim_bridge *b, struct link *l, int fd)
{
	struct opening o = { .c = calloc(1, sizeof(*o.c)), .result = -ENOMEM };

	if (o.c)
		o.c->in = malloc(65536);
	if (!o.c || !o.c->in) {
		close(fd);
		free(o.c);
		return -ENOMEM;
	}
	o.c->io = (struct io_source){ .fd = fd,
				      .ready = ready,
				      .expired = expired,
				      .free = free_it,
				      .due_mono_ns = io_mono_ns() + GREETING_DUR_NS };
	o.c->bridge = b;
	o.c->link = l;
	o.c->cap = 65536;
	snprintf(o.c->node, sizeof(o.c->node), "?");
	io_call(b->io, open_on_io, &o);
	if (o.result < 0) {
		free(o.c->in);
		free(o.c);
	}
	return o.result;
}
