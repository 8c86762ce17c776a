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
#include "world_load.h"

#define SMALL 256u

struct client {
	struct load *load;
	unsigned index;
	int fd;
	struct side *side; /* NULL: one that passes over */
	uint8_t head[FRAME_HEAD], small[SMALL];
	uint32_t n_head, n_small, left; /* of the frame that is coming */
	struct wire_buf out;
	size_t sent;
	uint64_t connection, tick;
	int64_t time_sim_ns, step_dur_ns;
	uint64_t first_tick;
	int64_t first_mono_ns;
};

static uint8_t scratch[1 << 18];

/* ---- what a client says ---- */

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

static int flush(struct client *c)
{
	const void *data = c->out.data + c->sent;
	size_t n = c->side ? side_output(c->side, &data) : c->out.len - c->sent;
	ssize_t sent = n ? send(c->fd, data, n, MSG_NOSIGNAL) : 0;

	if (sent < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (c->side) {
		side_sent(c->side, (size_t)sent);
	} else {
		c->sent += (size_t)sent;
		if (c->sent == c->out.len)
			c->sent = c->out.len = 0;
	}
	return 0;
}

/* ---- what it hears ---- */

static void count(struct client *c)
{
	struct load_counters *n = &c->load->n;
	int64_t now = mono_now_ns(), due;

	if (!c->first_tick) {
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

static int hear(struct client *c)
{
	ssize_t n = recv(c->fd, scratch, sizeof(scratch), 0);

	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -ECONNRESET;
	atomic_fetch_add_explicit(&c->load->n.bytes, (uint64_t)n, memory_order_relaxed);
	return c->side ? decode_all(c, scratch, (size_t)n) : eat_all(c, scratch, (size_t)n);
}

/* ---- all of them ---- */

static int connect_client(struct client *c, int epoll_fd)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(c->load->o.port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c };
	const int on = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (fd_set_nonblock(c->fd, true) < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &e) < 0)
		return -errno;
	return c->side ? side_begin(c->side) : put_hello(c);
}

static int connect_all(struct load *l, struct client *clients, int epoll_fd)
{
	const struct side_options looks = {
		.name = "looks on", .role = SIDE_OBSERVER, .identity = { 255, 255, 255, 255 }, .history = 2
	};
	int r = 0;

	for (unsigned i = 0; i < l->o.clients + l->o.looks_on && r == 0; i++) {
		clients[i].load = l;
		clients[i].index = i;
		if (i == l->o.clients)
			r = side_create(&looks, &clients[i].side);
		if (r == 0)
			r = connect_client(&clients[i], epoll_fd);
		if (r == 0)
			r = flush(&clients[i]);
	}
	return r;
}

int load_main(void *arg)
{
	struct load *l = arg;
	struct client *clients = calloc(l->o.clients + 1, sizeof(*clients));
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC), r, n;
	struct epoll_event e[64];

	if (l->o.cpu >= 0)
		bench_pin(l->o.cpu);
	(void)fd_limit_raise(l->o.clients + 64, &(struct rlimit){ 0 });
	r = clients && epoll_fd >= 0 ? connect_all(l, clients, epoll_fd) : -ENOMEM;
	while (r == 0) {
		n = epoll_wait(epoll_fd, e, 64, -1);
		for (int i = 0; i < n && r == 0; i++) {
			struct client *c = e[i].data.ptr;
			size_t before;

			do { /* edge-triggered: to the end */
				before = atomic_load_explicit(&l->n.bytes, memory_order_relaxed);
				r = hear(c);
			} while (r == 0 && atomic_load_explicit(&l->n.bytes, memory_order_relaxed) != before);
			if (r == 0)
				r = flush(c);
		}
	}
	fprintf(stderr, "bench: clients of a world: %s\n", strerror(-r));
	return 1;
}
