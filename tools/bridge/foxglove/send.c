/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the queue piece by piece. Each message is one WebSocket message in fragments: small parts are gathered in a
 * buffer, large ones are sent directly from the slot. libwebsockets writes a frame's header in front of the data, which
 * is not possible in a slot: so the header of such a fragment is made here, and both are sent raw, in the same turn of
 * the socket. (A whole message as a single frame would be simpler, but between two turns libwebsockets may answer a
 * ping, which is allowed only between fragments.)
 */
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>

#include "foxglove.h"

#define HEAD         13u    /* header of a message: operation, subscription and time */
#define DIRECT_MIN   16384u /* shorter parts are copied */
#define DIRECT_LEAST 65536u /* minimum size of a fragment from the slot, however full the socket is */

static void put_head(uint8_t *at, const struct item *i)
{
	at[0] = 1;
	put_le(at + 1, i->sub_id, 4);
	put_le(at + 5, (uint64_t)i->log_sim_ns, 8);
}

/* The next contiguous part of a message; *ret_n: its size in bytes. */
static const uint8_t *look(const struct message *m, size_t at, size_t *ret_n)
{
	unsigned i = 0;

	for (; at >= m->iov[i].iov_len; i++)
		at -= m->iov[i].iov_len;
	*ret_n = m->iov[i].iov_len - at;
	return (const uint8_t *)m->iov[i].iov_base + at;
}

static int write_out(struct client *c, uint8_t *data, size_t n, bool first, bool last)
{
	int flags = lws_write_ws_flags(c->sending->text && !c->sending->binary ? LWS_WRITE_TEXT : LWS_WRITE_BINARY,
				       first, last);

	return lws_write(c->wsi, data, n, (enum lws_write_protocol)flags) < (int)n ? -1 : 0;
}

/*
 * Number of bytes that the socket takes now: libwebsockets would copy the rest. Such long fragments are few, and keep
 * the socket busy.
 */
static size_t room(const struct client *c)
{
	uint32_t mem[SK_MEMINFO_VARS] = { 0 };
	socklen_t size = sizeof(mem);
	size_t n = 0;

	if (getsockopt(lws_get_socket_fd(c->wsi), SOL_SOCKET, SO_MEMINFO, mem, &size) == 0 &&
	    mem[SK_MEMINFO_SNDBUF] > mem[SK_MEMINFO_WMEM_QUEUED])
		n = mem[SK_MEMINFO_SNDBUF] - mem[SK_MEMINFO_WMEM_QUEUED];
	n -= n / 8; /* overhead of the kernel */
	return n < DIRECT_LEAST ? DIRECT_LEAST : n < FOXGLOVE_DIRECT_MAX ? n : FOXGLOVE_DIRECT_MAX;
}

/* Sends a fragment directly from the slot. */
static int write_direct(struct client *c, const uint8_t *data, size_t n, bool last)
{
	uint8_t head[LWS_PRE + 10], *at = head + LWS_PRE;
	size_t len = n < 126 ? 2 : n < 65536 ? 4 : 10;

	at[0] = last ? 0x80 : 0; /* opcode 0: continuation */
	at[1] = (uint8_t)(len == 2 ? n : len == 4 ? 126 : 127);
	for (size_t i = 2; i < len; i++)
		at[i] = (uint8_t)(n >> 8 * (len - 1 - i));
	/* libwebsockets writes these bytes as they are: the frame's header is made here */
	if (lws_write(c->wsi, at, len, LWS_WRITE_HTTP) < 0)
		return -1;
	return lws_write(c->wsi, (unsigned char *)(uintptr_t)data, n, LWS_WRITE_HTTP) < 0 ? -1 : 0;
}

/* Gathers consecutive small parts, up to a large one. Returns the number of bytes. */
static size_t gather(const struct client *c, uint8_t *to, size_t room)
{
	const struct message *m = c->sending->message;
	size_t at = c->at, n = 0;

	if (at == 0) {
		put_head(to, c->sending);
		at = n = HEAD;
	}
	while (n < room && at < HEAD + m->total) {
		size_t len;
		const uint8_t *from = look(m, at - HEAD, &len);

		if (len >= DIRECT_MIN)
			break;
		len = len < room - n ? len : room - n;
		memcpy(to + n, from, len);
		n += len;
		at += len;
	}
	return n;
}

static int send_message(struct client *c)
{
	const struct message *m = c->sending->message;
	uint8_t *buf = c->bridge->piece + LWS_PRE;
	size_t total = HEAD + m->total, n = gather(c, buf, FOXGLOVE_PIECE);
	const uint8_t *from;
	int r;

	if (n) {
		r = write_out(c, buf, n, c->at == 0, c->at + n == total);
	} else {
		size_t fits = room(c);

		from = look(m, c->at - HEAD, &n);
		n = n < fits ? n : fits;
		r = write_direct(c, from, n, c->at + n == total);
	}
	c->at += n;
	return r < 0 ? r : c->at == total;
}

static int send_text(struct client *c)
{
	struct item *i = c->sending;

	return write_out(c, i->text + LWS_PRE, i->len, true, true) < 0 ? -1 : 1;
}

/* Sends the time, before queued items: only the newest value matters. */
static int send_time(struct client *c)
{
	uint8_t *buf = c->bridge->piece + LWS_PRE;

	c->time_due = false;
	buf[0] = 2;
	put_le(buf + 1, (uint64_t)c->bridge->host->now(c->bridge->host->ctx), 8);
	return lws_write(c->wsi, buf, 9, LWS_WRITE_BINARY) < 9 ? -1 : 1;
}

static void end_item(struct client *c)
{
	struct sim_bridge *b = c->bridge;
	struct job *done = NULL;

	pthread_mutex_lock(&b->lock);
	client_done(c, c->sending, &done);
	c->sending = NULL;
	pthread_mutex_unlock(&b->lock);
	jobs_answer(b->host, done);
}

int client_send(struct client *c)
{
	int r;

	if (!c->sending && c->time_due)
		return send_time(c);
	if (!c->sending) {
		pthread_mutex_lock(&c->bridge->lock);
		c->sending = client_take(c);
		c->at = 0;
		pthread_mutex_unlock(&c->bridge->lock);
	}
	if (!c->sending)
		return 0;
	r = c->sending->message ? send_message(c) : send_text(c);
	if (r > 0)
		end_item(c);
	return r < 0 ? r : 1;
}
