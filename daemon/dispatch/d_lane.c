/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: the packets of schemas/wire/lane.h on one socket. Length, count and numbers of each packet are checked before
 * use; a lane that breaks the protocol is closed, and its deliveries stay held until the bridge's process has exited.
 *
 * Thread: the dispatch exec's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "dispatch_private.h"
#include "fd.h"
#include "mem.h"
#include "printable.h"

LOG_TOPIC("dispatch");

#define ROOM_MIN   2     /* one in conversion, one behind it */
#define ROOM_MAX   128   /* two packets */
#define UNREAD_MAX 4096u /* more packets than a socket buffers, so that a bridge that keeps writing is cut off */

/*
 * Deliveries that the lane can take: a quarter of a cycle's work. More would only wait there, out of reach of other
 * lanes.
 */
unsigned d_lane_room(const struct d_lane *l)
{
	const struct d_bridge *b = l->b;
	int64_t most = D_ROOM_FIRST;

	if (l->blocked)
		return 0;
	if (b->measured)
		most = b->service_dur_ns > 0 ? b->d->cycle_dur_ns / 4 / b->service_dur_ns : ROOM_MAX;
	if (b->measured)
		most = most < ROOM_MIN ? ROOM_MIN : most > ROOM_MAX ? ROOM_MAX : most;
	return l->n_out < most ? (unsigned)most - l->n_out : 0;
}

/* ---- out ---- */

static void block(struct d_lane *l)
{
	l->blocked = true;
	exec_io_mod(&l->io, EPOLLIN | EPOLLOUT);
}

/*
 * A bridge that receives no more may still send answers, as in an orderly end: the lane ends when the bridge closes it.
 * On other errors, the reader sees the shutdown and closes the lane at a safe point.
 */
static int send_failed(struct d_lane *l)
{
	int e = errno;

	l->blocked = true;
	if (e == EPIPE || e == ECONNRESET)
		return -e;
	if (e == EAGAIN || e == EINTR || e == ENOBUFS || e == ENOMEM) {
		block(l);
		return -EAGAIN;
	}
	log_warn("bridge %s: lane %u: cannot send: %s", l->b->name, l->number, strerror(e));
	shutdown(l->fd, SHUT_RDWR);
	return -e;
}

/* body and tail follow the head; head.length covers both. */
static int send_packet(struct d_lane *l, struct lane_head head, const void *body, const void *tail, size_t tail_len)
{
	struct iovec iov[3] = { { &head, sizeof(head) },
				{ (void *)(uintptr_t)body, head.length - tail_len },
				{ (void *)(uintptr_t)tail, tail_len } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = tail_len ? 3 : head.length ? 2 : 1 };

	if (sendmsg(l->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return send_failed(l);
	l->b->d->n.packets_out++;
	return 0;
}

int d_lane_control(struct d_lane *l, uint16_t op, uint16_t count, const void *body, uint32_t len)
{
	return send_packet(l, (struct lane_head){ .op = op, .count = count, .length = len }, body, NULL, 0);
}

int d_lane_announce(struct d_lane *l, const struct d_route *rt)
{
	int r;

	if (bitmap_get(l->knows, rt->ch->id))
		return 0;
	r = d_lane_control(l, LANE_CHANNEL, 1, rt->text, rt->text_len);
	if (r >= 0)
		bitmap_set(l->knows, rt->ch->id);
	return r;
}

struct lane_ticket d_lane_ticket(const struct d_bridge *b, unsigned n)
{
	uint64_t before = b->order.ticket + n;

	return (struct lane_ticket){ before + 1, before & ((UINT64_C(1) << LANE_ROW_SHIFT) - 1) ? before : 0 };
}

/* Lock-step: sends a ticket with each delivery; the tickets count once they are sent. */
static int send_in_order(struct d_lane *l, struct lane_head head, const struct lane_deliver *rec)
{
	struct lane_ticket t[LANE_BATCH];
	struct d_bridge *b = l->b;
	int r;

	for (unsigned i = 0; i < head.count; i++)
		t[i] = d_lane_ticket(b, i);
	head.length += head.count * (uint32_t)sizeof(t[0]);
	r = send_packet(l, head, rec, t, head.count * sizeof(t[0]));
	if (r < 0)
		return r;
	b->order.ticket += head.count;
	b->order.lane = l->number;
	b->order.unflushed = b->order.stepping = true;
	return 0;
}

int d_lane_deliver(struct d_lane *l, struct d_delivery *const *v, unsigned n)
{
	struct lane_deliver rec[LANE_BATCH];
	struct lane_head head = { .op = LANE_DELIVER, .count = (uint16_t)n, .length = n * (uint32_t)sizeof(rec[0]) };

	for (unsigned i = 0; i < n; i++) {
		const struct d_message *m = v[i]->m;
		int r = d_lane_announce(l, v[i]->route);

		if (r < 0)
			return r;
		rec[i] = (struct lane_deliver){
			.delivery = v[i]->number,
			.ref = m->ref,
			.size = m->size,
			.channel_id = m->ch->id,
			.iox_generation = m->generation,
		};
	}
	return v[0]->m->in_order ? send_in_order(l, head, rec) : send_packet(l, head, rec, NULL, 0);
}

/* ---- in ---- */

/* False: the lane is closed and freed. */
static bool lost(struct d_lane *l, const char *why)
{
	struct d_bridge *b = l->b;

	if (!l->number) {
		d_bridge_broken(b, why);
		return false;
	}
	if (!d_bridge_leaves(b))
		log_warn("bridge %s: lane %u is lost: %s", b->name, l->number, why);
	/* tickets on that lane may be lost: a new row begins */
	b->order.ticket = ((b->order.ticket >> LANE_ROW_SHIFT) + 1) << LANE_ROW_SHIFT;
	d_lane_close(l);
	return false;
}

static bool refuse(struct d_lane *l, const char *what)
{
	char text[160];

	snprintf(text, sizeof(text), "%s on lane %u: the lane is closed", what, l->number);
	d_bridge_violation(l->b, text);
	if (l->over)
		return false;
	l->over = true;
	return lost(l, what);
}

static bool read_done(struct d_lane *l, const struct lane_head *h)
{
	const struct lane_done *rec = (const void *)(h + 1);

	if (h->count < 1 || h->count > LANE_BATCH || h->length != h->count * sizeof(*rec))
		return refuse(l, "a DONE packet of the wrong length");
	l->worked_mono_ns = l->b->d->now;
	for (unsigned i = 0; i < h->count; i++)
		d_bridge_done(l->b, &rec[i]);
	return true;
}

/* Copies text for people and JSON: printable lines, terminated. */
static void clean(char *to, size_t room, const char *from, size_t len)
{
	size_t n = 0;

	for (size_t i = 0, line; i < len; i += line + 1) {
		const char *nl = (const char *)memchr(from + i, '\n', len - i);

		line = nl ? (size_t)(nl - from) - i : len - i;
		n += printable(to + n, room - n, from + i, line);
		if (nl && n + 1 < room)
			to[n++] = '\n';
	}
	to[n] = '\0';
}

static bool read_status(struct d_lane *l, const struct lane_head *h)
{
	const struct lane_status *s = (const void *)(h + 1);
	struct dispatch_bridge_stats *st = &l->b->stats;
	char detail[D_DETAIL];

	if (l->number || h->length < sizeof(*s) || s->status >= SIM_BRIDGE_STATUS_COUNT)
		return refuse(l, "an invalid STATUS packet");
	l->b->keeps = s->flags & LANE_STATUS_KEEPS_DATA;
	st->reported_sent = s->sent;
	st->reported_failed = s->failed;
	st->reported_dropped = s->dropped;
	st->reported_bytes = s->bytes;
	clean(detail, sizeof(detail), (const char *)(s + 1), h->length - sizeof(*s));
	d_bridge_set_status(l->b, (enum sim_bridge_status)s->status, detail);
	d_lossless_update(l->b);
	return true;
}

/* A report about a channel that was freed meanwhile is ignored. */
static bool read_carries(struct d_lane *l, const struct lane_head *h)
{
	const struct lane_carries *c = (const void *)(h + 1);
	const struct d_channel *ch;
	struct d_route *rt;

	if (h->length < sizeof(*c) || h->length > sizeof(*c) + LANE_CARRIES_MAX || c->channel_id >= WIRE_CHANNELS_MAX ||
	    c->name_len > h->length - sizeof(*c) || c->result > 0)
		return refuse(l, "a malformed CARRIES packet");
	ch = l->b->d->by_id[c->channel_id];
	rt = ch ? d_route_find(ch, l->b) : NULL;
	if (rt)
		d_route_reported(rt, c->result, (const char *)(c + 1), c->name_len, h->length - sizeof(*c));
	return true;
}

static bool read_packet(struct d_lane *l, size_t len)
{
	const struct lane_head *h = (const void *)l->b->d->rx;

	l->b->d->n.packets_in++;
	if (len < sizeof(*h) || h->length != len - sizeof(*h))
		return refuse(l, "a packet with a length mismatch");
	switch (h->op) {
	case LANE_DONE:
		return read_done(l, h);
	case LANE_STATUS:
		return read_status(l, h);
	case LANE_CARRIES:
		return read_carries(l, h);
	case LANE_IDLE:
		if (!l->b->idle_reported)
			d_event_bridge_idle(l->b);
		l->b->idle_reported = true;
		return true;
	default:
		return refuse(l, "a packet that bridges do not send");
	}
}

/* Whether all that was out is answered now: a further packet is read at the next event. */
static bool was_last(const struct d_lane *l)
{
	const struct lane_head *h = (const void *)l->b->d->rx;

	return h->op == LANE_DONE && !l->n_out;
}

/*
 * A reset is reported once, ahead of packets sent before it: the bridge closed the socket with unread packets of simd.
 */
static ssize_t receive(struct d_lane *l)
{
	struct dispatch *d = l->b->d;
	ssize_t n;

	do
		n = recv(l->fd, d->rx, sizeof(d->rx), MSG_DONTWAIT | MSG_TRUNC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	return n;
}

/* Handles one received packet; false: it was refused. */
static bool take_packet(struct d_lane *l, size_t len)
{
	return len > sizeof(l->b->d->rx) ? refuse(l, "a packet that is too long") : read_packet(l, len);
}

static void read_packets(struct d_lane *l)
{
	for (int i = 0; i < D_PACKETS; i++) {
		ssize_t n = receive(l);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0 && !l->number && d_bridge_leaves(l->b)) {
			d_bridge_left(l->b);
			return;
		}
		if (n <= 0) {
			lost(l, n < 0 ? strerror(errno) : "it was closed at the other end");
			return;
		}
		if (!take_packet(l, (size_t)n) || was_last(l))
			return;
	}
}

void d_lane_drain(struct d_lane *l)
{
	ssize_t n;

	if (l->over)
		return;
	l->over = true;
	for (unsigned i = 0; i < UNREAD_MAX && (n = receive(l)) > 0; i++)
		if (!take_packet(l, (size_t)n))
			return;
}

static void ready(void *arg, uint32_t events)
{
	struct d_lane *l = arg;
	struct dispatch *d = l->b->d;

	d_turn_begin(d);
	if (events & EPOLLOUT) {
		l->blocked = false;
		d_bridge_pump_due(l->b);
		exec_io_mod(&l->io, EPOLLIN);
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_packets(l);
	d_turn_end(d);
}

/* ---- making and ending ---- */

int d_lane_open(struct d_bridge *b, int fd, struct d_lane **ret)
{
	struct d_lane *l = MEM_NEW(struct d_lane);
	int room = 512 * 1024, r = -ENOMEM;

	if (!l)
		goto err;
	l->b = b;
	l->fd = fd;
	l->number = b->n_lanes ? ++b->next_lane : (b->next_lane = 0);
	l->worked_mono_ns = b->d->now;
	list_init(&l->out);
	fd_set_nonblock(fd, true);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	r = exec_io_add(b->d->x, &l->io, fd, EPOLLIN, ready, l);
	if (r < 0)
		goto err;
	list_append(&b->lanes, &l->link);
	b->n_lanes++;
	b->d->n_lanes++;
	atomic_fetch_add(b->d->all_lanes, 1);
	*ret = l;
	return 0;
err:
	mem_free(l);
	fd_close(fd);
	return r;
}

static int open_further(struct d_bridge *b)
{
	struct d_lane *lane0 = list_first(&b->lanes, struct d_lane, link), *l;
	struct lane_head head = { .op = LANE_OPEN };
	int sv[2], r = fd_packet_pair(sv, SOCK_NONBLOCK);

	if (r < 0)
		return r;
	r = d_lane_open(b, sv[0], &l);
	if (r < 0) {
		fd_close(sv[1]);
		return r;
	}
	head.count = (uint16_t)l->number;
	r = (int)fd_send(lane0->fd, &head, sizeof(head), &sv[1], 1, MSG_DONTWAIT);
	fd_close(sv[1]);
	if (r < 0)
		d_lane_close(l);
	return r;
}

/* Reserves a place among the lanes of all shards before opening; the opened lane then counts itself. */
int d_lane_open_further(struct d_bridge *b)
{
	atomic_uint *lanes = b->d->all_lanes;
	int r = atomic_fetch_add(lanes, 1) < b->d->lanes_max ? open_further(b) : -EBUSY;

	atomic_fetch_sub(lanes, 1);
	return r;
}

/* All its deliveries are answered, so the bridge has nothing more to send on it. */
void d_lane_retire(struct d_lane *l)
{
	(void)d_lane_control(l, LANE_CLOSE, 0, NULL,
			     0); /* if the packet does not fit, the close tells the bridge too */
	d_lane_close(l);
}

void d_lane_close(struct d_lane *l)
{
	struct d_bridge *b = l->b;
	struct d_delivery *dl;

	list_for_each(dl, &l->out, link) {
		d_bridge_off_lane(dl);
		dl->sent_mono_ns = b->d->now; /* its time restarts: nothing is ahead of it any more */
	}
	list_splice(&b->orphans, &l->out);
	b->n_lanes--;
	b->d->n_lanes--;
	atomic_fetch_sub(b->d->all_lanes, 1);
	exec_io_del(&l->io);
	fd_close(l->fd);
	list_remove(&l->link);
	mem_free(l);
}
