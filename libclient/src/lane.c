/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bridge side of dispatch: lanes (SEQPACKET, schemas/wire/lane.h), and slots that are found by reference in their
 * generation of the data plane. A lane keeps the attachments it has seen while any of its deliveries is unanswered, so
 * that deliveries from before a restart stay readable; after a while without work it releases them.
 *
 * Thread: one per lane; sim_lane_done() and sim_lane_status() from any (a packet is one send).
 */
#include <sim/lane.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "client.h"
#include "err.h"
#include "fd.h"
#include "attachment.h"
#include "mem.h"
#include "messages.h"
#include "session.h"
#include "tsan.h"
#include "timeutil.h"
#include "wire/lane.h"

#define ATTACHMENTS_KEPT  16 /* the most a process can have: none is dropped while it may be read */
#define IDLE_DUR_NS       (1 * NS_PER_S)
#define ATTACH_DUR_NS     (3 * NS_PER_S) /* a delivery may arrive before this process has attached to its generation */
#define SEND_DUR_NS       (1 * NS_PER_S)
#define PUMP_SLICE_DUR_NS (50 * NS_PER_MS)

const char tsan_lanes;

struct sim_bridge_session {
	struct sim_client *c;
};

struct sim_lane {
	struct sim_client *c;
	int fd;
	bool closed;
	bool gone_reported;
	unsigned flags;                            /* enum sim_lane_flag */
	_Atomic int outstanding;                   /* deliveries handed out and not answered */
	struct attachment *atts[ATTACHMENTS_KEPT]; /* newest first; referenced; used by the receiving thread */
	union {
		_Alignas(8) char bytes[LANE_PACKET_MAX + 1];
		struct lane_head head;
	} in;
};

static int lane_create(struct sim_client *c, int fd, struct sim_lane **ret) /* takes fd */
{
	struct sim_lane *l = mem_alloc(sizeof(*l));

	/* blocking: a receive without time-out waits in recv() itself; all other calls use MSG_DONTWAIT */
	if (!l || fd_set_nonblock(fd, false) < 0) {
		fd_close(fd);
		mem_free(l);
		return err_nomem();
	}
	memset(l, 0, offsetof(struct sim_lane, in));
	l->c = c;
	l->fd = fd;
	*ret = l;
	return 0;
}

/* Sets how long a receive without time-out blocks before it checks whether attachments can be released. */
static void lane_patience(struct sim_lane *l, int64_t dur_ns)
{
	struct timeval t = { .tv_sec = dur_ns / NS_PER_S };

	(void)setsockopt(l->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

/* Called when nothing came for a while: releases attachments. A dead attachment gets no more deliveries. */
static void lane_idle(struct sim_lane *l, bool waits)
{
	if (!l->atts[0] || atomic_load_explicit(&l->outstanding, memory_order_acquire) > 0)
		return;
	if (!waits && !l->atts[1] && ipc_alive(l->atts[0]->ipc))
		return;
	for (int i = 0; i < ATTACHMENTS_KEPT; i++) {
		attachment_unref(l->atts[i]);
		l->atts[i] = NULL;
	}
	if (waits)
		lane_patience(l, 0);
}

void sim_lane_destroy(struct sim_lane *l)
{
	if (!l)
		return;
	fd_close(l->fd);
	for (int i = 0; i < ATTACHMENTS_KEPT; i++)
		attachment_unref(l->atts[i]);
	mem_free(l);
}

int sim_lane_fd(const struct sim_lane *l)
{
	return l ? l->fd : -EINVAL;
}

/* ---- sending ---- */

static int lane_send(const struct sim_lane *l, const void *packet, size_t size)
{
	int r;

	for (;;) {
		if (send(l->fd, packet, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno == EPIPE || errno == ECONNRESET)
			return err_set(-EPIPE, "the lane is closed");
		if (errno != EAGAIN)
			return err_sys(-errno, "lane");
		r = client_sleep(l->c, l->fd, POLLOUT, SEND_DUR_NS);
		if (r <= 0)
			return err_set(-EAGAIN, "simd does not read this lane");
	}
}

int sim_lane_done(struct sim_lane *l, const struct sim_lane_result *results, unsigned count)
{
	struct {
		struct lane_head head;
		struct lane_done done[LANE_BATCH];
	} p;
	int r;

	if (!l || !results || count == 0 || count > LANE_BATCH)
		return err_set(-EINVAL, "sim_lane_done: 1 to %d results a packet", LANE_BATCH);
	p.head = (struct lane_head){ LANE_DONE, (uint16_t)count, (uint32_t)(count * sizeof(p.done[0])) };
	for (unsigned i = 0; i < count; i++)
		p.done[i] = (struct lane_done){ results[i].id, results[i].result, results[i].service_us };
	tsan_release(&tsan_lanes);
	r = lane_send(l, &p, sizeof(p.head) + p.head.length);
	atomic_fetch_sub_explicit(&l->outstanding, (int)count, memory_order_release);
	return r;
}

_Static_assert(SIM_LANE_KEEPS_DATA == (int)LANE_STATUS_KEEPS_DATA, "one number for both");

void sim_lane_set_flags(struct sim_lane *lane0, unsigned flags)
{
	if (lane0)
		lane0->flags = flags;
}

int sim_lane_status(struct sim_lane *lane0, enum sim_bridge_status status, uint64_t sent, uint64_t failed,
		    uint64_t dropped, uint64_t bytes, const char *detail)
{
	struct {
		struct lane_head head;
		struct lane_status status;
		char text[512];
	} p;
	size_t n;

	if (!lane0 || (unsigned)status >= SIM_BRIDGE_STATUS_COUNT)
		return err_set(-EINVAL, "sim_lane_status: no lane, or %d is not a status", (int)status);
	n = (size_t)snprintf(p.text, sizeof(p.text), "%s", detail ? detail : "");
	n = n < sizeof(p.text) ? n : sizeof(p.text) - 1;
	p.head = (struct lane_head){ LANE_STATUS, 1, (uint32_t)(sizeof(p.status) + n) };
	p.status = (struct lane_status){ .status = status,
					 .flags = lane0->flags,
					 .sent = sent,
					 .failed = failed,
					 .dropped = dropped,
					 .bytes = bytes };
	return lane_send(lane0, &p, sizeof(p.head) + p.head.length);
}

int sim_lane_carries(struct sim_lane *l, uint32_t channel_id, int result, const char *name, const char *type)
{
	struct {
		struct lane_head head;
		struct lane_carries carries;
		char text[LANE_CARRIES_MAX];
	} p;
	size_t n, m;

	if (!l || result > 0)
		return err_set(-EINVAL, "sim_lane_carries: no lane, or %d is neither 0 nor a negative errno", result);
	n = name ? strnlen(name, sizeof(p.text)) : 0;
	m = type && !result ? strnlen(type, sizeof(p.text) - n) : 0;
	memcpy(p.text, name ? name : "", n);
	memcpy(p.text + n, type ? type : "", m);
	p.head = (struct lane_head){ LANE_CARRIES, 1, (uint32_t)(sizeof(p.carries) + n + m) };
	p.carries = (struct lane_carries){ .channel_id = channel_id, .result = result, .name_len = (uint32_t)n };
	return lane_send(l, &p, sizeof(p.head) + p.head.length);
}

/* ---- slots ---- */

static bool lane_knows(const struct sim_lane *l, uint32_t generation)
{
	return l->atts[0] && l->atts[0]->iox_generation == generation;
}

/* Keeps the client's present attachment, if it is new. */
static void lane_learn(struct sim_lane *l)
{
	struct attachment *now = NULL;

	if (client_attachment(l->c, &now) < 0)
		return;
	if (l->atts[0] == now) {
		attachment_unref(now);
		return;
	}
	if (!l->atts[0])
		lane_patience(l, IDLE_DUR_NS);
	attachment_unref(l->atts[ATTACHMENTS_KEPT - 1]);
	memmove(&l->atts[1], &l->atts[0], (ATTACHMENTS_KEPT - 1) * sizeof(l->atts[0]));
	l->atts[0] = now;
}

static struct attachment *lane_attachment(struct sim_lane *l, uint32_t generation)
{
	int64_t until = client_now(l->c) + ATTACH_DUR_NS;

	if (lane_knows(l, generation))
		return l->atts[0];
	for (;;) {
		lane_learn(l);
		for (int i = 0; i < ATTACHMENTS_KEPT && l->atts[i]; i++) {
			if (l->atts[i]->iox_generation == generation)
				return l->atts[i];
		}
		/* an older generation than the known one will not come back; a newer one is being attached */
		if ((l->atts[0] && l->atts[0]->iox_generation > generation) || client_now(l->c) >= until)
			return NULL;
		client_sleep(l->c, -1, 0, 5 * NS_PER_MS);
		if (client_pumps(l->c))
			client_work(l->c);
	}
}

/*
 * Finds a slot and prefetches its header, which lies in the publisher's cache, so that the headers of a packet load in
 * parallel.
 */
static int import_slot(struct sim_lane *l, const struct lane_deliver *d, const void **ret)
{
	struct attachment *att = lane_attachment(l, d->iox_generation);
	int r;

	if (!att)
		return -ESTALE;
	r = ipc_import(att->ipc, d->ref, d->size, ret);
	if (r < 0)
		return r;
	__builtin_prefetch(*ret);
	__builtin_prefetch((const char *)*ret + sizeof(struct sim_slot) / 2);
	return 0;
}

static int read_slot(const void *slot, size_t size, struct sim_message *ret)
{
	tsan_acquire(slot);
	return message_read(ret, slot, size) ? 0 : -EBADMSG;
}

/* ---- receiving ---- */

static int bad_packet(struct sim_lane *l, const char *why)
{
	l->closed = true;
	shutdown(l->fd, SHUT_RDWR);
	return err_set(-EBADMSG, "lane: %s; the lane is closed", why);
}

_Static_assert(sizeof(struct sim_lane_ticket) == sizeof(struct lane_ticket) &&
		       offsetof(struct sim_lane_ticket, predecessor) == offsetof(struct lane_ticket, predecessor),
	       "one struct for both");
_Static_assert(SIM_LANE_ROW_SHIFT == LANE_ROW_SHIFT, "one number for both");

/* Answers deliveries whose slot is unreadable; passes the others, and all with a ticket, to the caller. */
static int on_deliver(struct sim_lane *l, struct sim_lane_packet *ret)
{
	const struct lane_deliver *d = (const void *)(l->in.bytes + sizeof(l->in.head));
	const size_t plain = l->in.head.count * sizeof(*d), tickets = l->in.head.count * sizeof(struct lane_ticket);
	const void *slots[LANE_BATCH];
	int result[LANE_BATCH];
	unsigned n = 0;

	if (l->in.head.count == 0 || l->in.head.count > LANE_BATCH ||
	    (l->in.head.length != plain && l->in.head.length != plain + tickets))
		return bad_packet(l, "a DELIVER packet has the wrong size");
	ret->tickets = l->in.head.length == plain ? NULL : (const void *)(d + l->in.head.count);
	atomic_fetch_add_explicit(&l->outstanding, l->in.head.count, memory_order_relaxed);
	for (unsigned i = 0; i < l->in.head.count; i++)
		result[i] = import_slot(l, &d[i], &slots[i]);
	for (unsigned i = 0; i < l->in.head.count; i++) {
		struct sim_delivery *to = &ret->deliveries[n];
		int r = result[i] < 0 ? result[i] : read_slot(slots[i], d[i].size, &to->message);

		if (r < 0) {
			struct sim_lane_result refused = { d[i].delivery, r, 0 };

			sim_lane_done(l, &refused, 1);
			if (!ret->tickets)
				continue;
			to->message.body = NULL;
		}
		to->id = d[i].delivery;
		to->channel_id = d[i].channel_id;
		n++;
	}
	ret->event = SIM_LANE_DELIVER;
	ret->count = n;
	return n ? 1 : 0;
}

static int on_flush(struct sim_lane *l, struct sim_lane_packet *ret)
{
	if (l->in.head.length != sizeof(*ret->tickets))
		return bad_packet(l, "a FLUSH packet has the wrong size");
	ret->event = SIM_LANE_FLUSH;
	ret->count = l->in.head.count;
	ret->tickets = (const void *)(l->in.bytes + sizeof(l->in.head));
	return 1;
}

static int on_text(struct sim_lane *l, enum sim_lane_event event, struct sim_lane_packet *ret)
{
	ret->event = event;
	ret->text = l->in.bytes + sizeof(l->in.head);
	ret->text[l->in.head.length] = '\0';
	return 1;
}

static int on_open(struct sim_lane *l, int *fds, unsigned n_fds, struct sim_lane_packet *ret)
{
	int r;

	if (n_fds != 1)
		return bad_packet(l, "an OPEN packet brought no descriptor");
	r = lane_create(l->c, fd_steal(&fds[0]), &ret->lane);
	if (r < 0)
		return r;
	ret->event = SIM_LANE_OPEN;
	ret->count = l->in.head.count;
	return 1;
}

static int on_packet(struct sim_lane *l, int *fds, unsigned n_fds, struct sim_lane_packet *ret)
{
	switch (l->in.head.op) {
	case LANE_DELIVER:
		return on_deliver(l, ret);
	case LANE_CHANNEL:
		return on_text(l, SIM_LANE_CHANNEL, ret);
	case LANE_CONNECT:
		return on_text(l, l->in.head.count ? SIM_LANE_CONNECT : SIM_LANE_DISCONNECT, ret);
	case LANE_OPEN:
		return on_open(l, fds, n_fds, ret);
	case LANE_FLUSH:
		return on_flush(l, ret);
	case LANE_CLOSE:
		ret->event = SIM_LANE_CLOSE;
		return 1;
	default:
		return bad_packet(l, "a packet of an unknown kind came; simd and this library do not match");
	}
}

/* The peer has closed its end: reported once as an event, then as an error. */
static int lane_gone(struct sim_lane *l, struct sim_lane_packet *ret)
{
	if (l->gone_reported)
		return err_set(-EPIPE, "the lane is closed");
	l->gone_reported = l->closed = true;
	ret->event = SIM_LANE_GONE;
	return 1;
}

/*
 * Reads one packet: 1, 0 no packet (or all of it was answered here: call again), negative. flags: MSG_DONTWAIT, or 0 to
 * wait.
 */
static int lane_read(struct sim_lane *l, int flags, struct sim_lane_packet *ret, bool *ret_empty)
{
	int fds[FD_PASS_MAX], r;
	unsigned n_fds = 0;
	ssize_t n = fd_recv(l->fd, l->in.bytes, LANE_PACKET_MAX, fds, FD_PASS_MAX, &n_fds, flags);

	*ret_empty = n == -EAGAIN;
	if (n == -EAGAIN ||
	    n == -ECONNRESET) /* a reset is reported once, before packets that were sent earlier: read those too */
		return 0;
	if (n == 0)
		return lane_gone(l, ret);
	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(l->in.head) || l->in.head.length != (size_t)n - sizeof(l->in.head))
		r = bad_packet(l, "a packet's length does not match its head");
	else
		r = on_packet(l, fds, n_fds, ret);
	for (unsigned i = 0; i < n_fds; i++)
		fd_close(fds[i]);
	return r;
}

int sim_lane_recv(struct sim_lane *l, int timeout_ms, struct sim_lane_packet *ret)
{
	int64_t now, end;
	int flags;

	if (!l || !ret)
		return err_set(-EINVAL, "sim_lane_recv: no lane, or the output pointer is NULL");
	if (l->closed && l->gone_reported)
		return err_set(-EPIPE, "the lane is closed");
	end = timeout_ms < 0 ? INT64_MAX : ns_add(client_now(l->c), timeout_ms * NS_PER_MS);
	flags = timeout_ms < 0 && !l->c->env && !client_pumps(l->c) ? 0 : MSG_DONTWAIT;
	for (;;) {
		bool empty;
		int r = lane_read(l, flags, ret, &empty);

		if (r != 0)
			return r;
		if (!empty)
			continue;
		lane_idle(l, flags == 0);
		if (flags == 0)
			continue;
		now = client_now(l->c);
		if (now >= end)
			return 0;
		r = client_sleep(l->c, l->fd, POLLIN,
				 client_pumps(l->c) && end - now > PUMP_SLICE_DUR_NS ? PUMP_SLICE_DUR_NS : end - now);
		if (r < 0)
			return r;
		if (client_pumps(l->c))
			client_work(l->c);
	}
}

/* ---- the session ---- */

/* All deliveries of an earlier simd have been answered, or died with its lanes: this simd may free their slots. */
static int send_idle(struct sim_lane *lane0)
{
	struct lane_head head = { LANE_IDLE, 0, 0 };

	return lane_send(lane0, &head, sizeof(head));
}

static int attach_reply(struct sim_client *c, struct varlink_msg *m, json_t *config, char **ret_json,
			struct sim_lane **ret_lane0)
{
	int fd = varlink_msg_take_fd(m, 0), r;

	if (fd < 0)
		return err_set(-EPROTO, "simd handed out no lane");
	r = lane_create(c, fd, ret_lane0);
	if (r < 0)
		return r;
	json_object_del(config, "fds");
	*ret_json = json_dumps(config, JSON_COMPACT);
	r = *ret_json ? send_idle(*ret_lane0) : err_nomem();
	if (r < 0) {
		free(*ret_json);
		sim_lane_destroy(*ret_lane0);
	}
	return r;
}

int sim_bridge_attach(struct sim_client *c, const char *name, char **ret_config_json, struct sim_bridge_session **ret,
		      struct sim_lane **ret_lane0)
{
	struct sim_bridge_session *b;
	struct varlink_msg m;
	struct sim_lane *lane0 = NULL;
	json_t *config;
	char *json = NULL;
	int r = client_guard(c);

	if (r < 0)
		return r;
	if (!name || !ret_config_json || !ret || !ret_lane0 || !(c->flags & SIM_CLIENT_BRIDGE))
		return err_set(-EINVAL,
			       "sim_bridge_attach: connect with SIM_CLIENT_BRIDGE, and give pointers for the results");
	b = MEM_NEW(struct sim_bridge_session);
	if (!b)
		return err_nomem();
	b->c = c;
	r = client_call(c, "AttachBridge", json_pack("{ss}", "bridge", name), &m, &config);
	if (r == 0) {
		r = attach_reply(c, &m, config, &json, &lane0);
		varlink_msg_finish(&m);
	}
	if (r < 0) {
		mem_free(b);
		return r;
	}
	*ret_config_json = json;
	*ret = b;
	*ret_lane0 = lane0;
	return 0;
}

void sim_bridge_session_destroy(struct sim_bridge_session *s)
{
	mem_free(s);
}
