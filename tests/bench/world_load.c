/* SPDX-License-Identifier: Apache-2.0 */
/* world_load.h */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "bench.h"
#include "err.h"
#include "fd.h"
#include "world/side.h"
#include "loop/tls.h"
#include "world_load.h"

#define SMALL   256u
#define AT_ONCE 8u /* clients that have no Welcome yet: a server takes so many handshakes of one address and no more */

struct client {
	struct load *load;
	unsigned index;
	int fd;
	struct tls *tls;   /* NULL: plain text */
	struct side *side; /* NULL: one that passes over */
	uint8_t head[FRAME_HEAD], small[SMALL];
	uint32_t n_head, n_small, left; /* of the frame that is coming */
	struct wire_buf out;
	size_t sent;
	uint64_t connection, tick;
	int64_t time_sim_ns, step_dur_ns;
	uint64_t first_tick; /* of the window */
	int64_t first_mono_ns;
	uint32_t window;
};

static uint8_t scratch[1 << 18], plain[1 << 14];

/* ---- the client's messages ---- */

/* It swings about its place, so it never moves as was predicted. */
static int put_object(struct client *c, unsigned number)
{
	const struct load_options *o = &c->load->o;
	double at = o->apart * (c->index / 2), t = (double)c->tick * 0.1 + number;
	size_t begin = frame_begin(&c->out, FRAME_VEHICLE);

	wire_u64(&c->out, 1, c->connection << 40 | (uint64_t)number << 16 | 1);
	wire_u64(&c->out, 2, (uint64_t)(c->time_sim_ns + c->step_dur_ns));
	wire_doubles(&c->out, 3, (double[]){ at + number % 20 * 10.0 + sin(t), number / 20 * 10.0 + cos(t) }, 2);
	wire_doubles(&c->out, 5, (double[]){ cos(t), -sin(t) }, 2);
	return frame_end(&c->out, begin, FRAME_MAX_CLIENT);
}

static int put_done(struct client *c)
{
	size_t begin = frame_begin(&c->out, FRAME_DONE);

	wire_u64(&c->out, 1, c->tick);
	return frame_end(&c->out, begin, FRAME_MAX_CLIENT);
}

static int put_hello(struct client *c)
{
	uint32_t who = c->load->o.first + c->index;
	size_t begin = frame_begin(&c->out, FRAME_HELLO);
	uint8_t identity[16] = { 0 };
	uint64_t radius;

	memcpy(identity, &who, sizeof(who));
	memcpy(&radius, &c->load->o.radius, 8);
	wire_u64(&c->out, 1, 1);
	wire_bytes(&c->out, 2, "load", 4);
	wire_u64(&c->out, 3, SIDE_REGULATING);
	wire_bytes(&c->out, 4, identity, sizeof(identity));
	wire_fixed64(&c->out, 8, radius);
	return frame_end(&c->out, begin, FRAME_MAX_STRANGER);
}

static int speak(struct client *c)
{
	int r = 0;

	for (unsigned i = 0; i < c->load->o.objects && r == 0; i++)
		r = put_object(c, i);
	return r == 0 ? put_done(c) : r;
}

static size_t said(const struct client *c, const void **ret)
{
	if (c->side)
		return side_output(c->side, ret);
	*ret = c->out.data + c->sent;
	return c->out.len - c->sent;
}

static void took(struct client *c, size_t n)
{
	if (c->side) {
		side_sent(c->side, n);
		return;
	}
	c->sent += n;
	if (c->sent == c->out.len)
		c->sent = c->out.len = 0;
}

/* Returns what the socket has taken; 0: nothing for now, or there was nothing. */
static ssize_t put_bytes(const struct client *c, const void *data, size_t n)
{
	ssize_t sent = n ? send(c->fd, data, n, MSG_NOSIGNAL) : 0;

	return sent < 0 ? errno == EAGAIN ? 0 : -errno : sent;
}

static int flush_tls(struct client *c)
{
	const void *data;
	ssize_t n = 1;

	while (n > 0) {
		size_t len = said(c, &data);
		ssize_t r = len ? tls_write(c->tls, data, len) : 0;

		if (r < 0)
			return -EPROTO;
		took(c, (size_t)r);
		len = tls_output(c->tls, &data);
		n = put_bytes(c, data, len);
		if (n > 0)
			tls_sent(c->tls, (size_t)n);
	}
	return (int)n;
}

static int flush(struct client *c)
{
	const void *data;
	ssize_t n;

	if (c->tls)
		return flush_tls(c);
	n = (ssize_t)said(c, &data);
	n = put_bytes(c, data, (size_t)n);
	if (n < 0)
		return (int)n;
	took(c, (size_t)n);
	return 0;
}

/* ---- received frames ---- */

static void count(struct client *c)
{
	struct load_counters *n = &c->load->n;
	int64_t now = mono_now_ns(), due;

	if (!c->first_tick || c->window != atomic_load_explicit(&n->window, memory_order_relaxed)) {
		c->window = atomic_load_explicit(&n->window, memory_order_relaxed);
		c->first_tick = c->tick;
		c->first_mono_ns = now;
	}
	due = c->first_mono_ns + (int64_t)(c->tick - c->first_tick) * c->step_dur_ns;
	atomic_fetch_add_explicit(&n->heartbeats, 1, memory_order_relaxed);
	if (now > due + c->step_dur_ns / 4)
		atomic_fetch_add_explicit(&n->late, 1, memory_order_relaxed);
}

static void numbers_of(const struct client *c, uint64_t v[16])
{
	struct wire_cursor in = wire_cursor(c->small, c->n_small);
	struct wire_field f;

	while (wire_next(&in, &f))
		if (f.number < 16)
			v[f.number] = f.value;
}

static int on_frame(struct client *c)
{
	uint64_t v[16] = { 0 };

	numbers_of(c, v);
	switch (c->head[4]) {
	case FRAME_WELCOME:
		c->connection = v[2];
		c->tick = v[4];
		c->time_sim_ns = (int64_t)v[5];
		c->step_dur_ns = (int64_t)v[6];
		atomic_fetch_add(&c->load->n.here, 1);
		return speak(c);
	case FRAME_HEARTBEAT:
		c->tick = v[1];
		c->time_sim_ns = (int64_t)v[2];
		count(c);
		return speak(c);
	case FRAME_BYE:
	case FRAME_REFUSED:
		atomic_fetch_add(&c->load->n.ended, 1);
		return -ECONNRESET;
	default:
		return 0;
	}
}

static bool is_kept(uint8_t code)
{
	return code == FRAME_WELCOME || code == FRAME_HEARTBEAT || code == FRAME_BYE || code == FRAME_REFUSED;
}

/* Of the frame that is coming as much as there is. Returns how much that was. */
static size_t eat(struct client *c, const uint8_t *p, size_t n)
{
	size_t k;

	if (c->n_head < FRAME_HEAD) {
		c->head[c->n_head++] = *p;
		if (c->n_head == FRAME_HEAD) {
			memcpy(&c->left, c->head, 4);
			c->left--;
			c->n_small = 0;
		}
		return 1;
	}
	k = n < c->left ? n : c->left;
	if (is_kept(c->head[4]) && c->n_small + k <= SMALL) {
		memcpy(c->small + c->n_small, p, k);
		c->n_small += (uint32_t)k;
	}
	c->left -= (uint32_t)k;
	return k;
}

static int eat_all(struct client *c, const uint8_t *p, size_t n)
{
	int r = 0;

	while (n && r == 0) {
		size_t k = eat(c, p, n);

		p += k;
		n -= k;
		if (c->n_head == FRAME_HEAD && !c->left) {
			c->n_head = 0;
			r = on_frame(c);
		}
	}
	return r;
}

static int decode_all(struct client *c, const uint8_t *p, size_t n)
{
	struct load_counters *to = &c->load->n;
	struct side_event e;
	uint8_t *room;
	size_t size;
	int r = 0;

	while (n && r == 0) {
		if (side_room(c->side, &room, &size) < 0)
			return -ENOMEM;
		size = size < n ? size : n;
		memcpy(room, p, size);
		side_add(c->side, size, mono_now_ns());
		p += size;
		n -= size;
		while ((r = side_next(c->side, &e)) == 1)
			if (e.kind == SIDE_WELCOME)
				atomic_fetch_add(&to->here, 1);
	}
	atomic_store(&to->seen, remotes_count(side_remotes(c->side)));
	if (side_output(c->side, &(const void *){ NULL }))
		atomic_fetch_add(&to->stale, side_is_in(c->side)); /* it says nothing else */
	return r;
}

static int take(struct client *c, const uint8_t *p, size_t n)
{
	return c->side ? decode_all(c, p, n) : eat_all(c, p, n);
}

static int hear(struct client *c)
{
	ssize_t n = recv(c->fd, scratch, sizeof(scratch), 0);
	int r = 0;

	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -ECONNRESET;
	atomic_fetch_add_explicit(&c->load->n.bytes, (uint64_t)n, memory_order_relaxed);
	if (!c->tls)
		return take(c, scratch, (size_t)n);
	tls_input(c->tls, scratch, (size_t)n);
	while (r == 0 && (n = tls_read(c->tls, plain, sizeof(plain))) > 0)
		r = take(c, plain, (size_t)n);
	return n < 0 ? -EPROTO : r;
}

/* ---- all of them ---- */

static int begin_tls(struct client *c, const struct tls_keys *keys)
{
	const struct tls_options o = { .keys = keys, .host = "127.0.0.1" };

	return keys ? tls_create(TLS_CLIENT, &o, &c->tls) : 0;
}

static int connect_client(struct client *c, int epoll_fd, const struct tls_keys *keys)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(c->load->o.port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c };
	const int on = 1;
	int r;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (fd_set_nonblock(c->fd, true) < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &e) < 0)
		return -errno;
	r = begin_tls(c, keys);
	if (r == 0)
		r = c->side ? side_begin(c->side) : put_hello(c);
	return r < 0 ? r : flush(c);
}

struct all {
	struct load *load;
	struct client *clients;
	unsigned n, asked; /* how many there are to be; who has been connected */
	struct tls_keys *keys;
	int epoll_fd;
};

/* As many more as may be without a Welcome. */
static int connect_more(struct all *a)
{
	const struct side_options looks = {
		.name = "looks on", .role = SIDE_OBSERVER, .identity = { 255, 255, 255, 255 }, .history = 2
	};
	int r = 0;

	while (a->asked < a->n && a->asked - atomic_load(&a->load->n.here) < AT_ONCE && r == 0) {
		struct client *c = &a->clients[a->asked];

		c->load = a->load;
		c->index = a->asked++;
		if (c->index == a->load->o.clients)
			r = side_create(&looks, &c->side);
		if (r == 0)
			r = connect_client(c, a->epoll_fd, a->keys);
	}
	return r;
}

/* Edge-triggered: to the end. */
static int on_event(struct client *c)
{
	_Atomic uint64_t *bytes = &c->load->n.bytes;
	uint64_t before;
	int r;

	do {
		before = atomic_load_explicit(bytes, memory_order_relaxed);
		r = hear(c);
	} while (r == 0 && atomic_load_explicit(bytes, memory_order_relaxed) != before);
	return r < 0 ? r : flush(c);
}

int load_main(void *arg)
{
	struct load *l = arg;
	struct all a = { .load = l, .n = l->o.clients + l->o.looks_on };
	struct epoll_event e[64];
	int r, n;

	a.clients = calloc(a.n, sizeof(*a.clients));
	a.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->o.cpu >= 0)
		bench_pin(l->o.cpu);
	(void)fd_limit_raise(l->o.clients + 64, &(struct rlimit){ 0 });
	r = a.clients && a.epoll_fd >= 0 ? 0 : -ENOMEM;
	if (r == 0 && l->o.keys)
		r = tls_keys_load(l->o.keys, "load", &a.keys);
	if (r == 0)
		r = connect_more(&a);
	while (r == 0) {
		n = epoll_wait(a.epoll_fd, e, 64, -1);
		for (int i = 0; i < n && r == 0; i++)
			r = on_event(e[i].data.ptr);
		if (r == 0)
			r = connect_more(&a);
	}
	fprintf(stderr, "bench: clients of a world: %s\n", strerror(-r));
	return 1;
}
