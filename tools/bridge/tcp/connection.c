/* SPDX-License-Identifier: Apache-2.0 */
/* See connection.h. */
#include "connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL /* from the header only: nothing to link */
#include <xxhash.h>

#include "stream.h"
#include "thread.h"
#include "timeutil.h"

#define TURN_MESSAGES 64         /* sent before anything is read */
#define LINGER_DUR_NS (NS_PER_S) /* without progress, at the end, until the last data has been taken */
#define BUFFER_MIN    (64u << 10)

static void report(struct tcp_link *l, enum sim_bridge_status status, const char *text)
{
	atomic_store(&l->status, (int)status);
	l->ops->status(l->arg, status, text);
}

/* ---- queued messages ---- */

static void item_done(void *arg, const struct outbox_item *i, int result)
{
	struct tcp_link *l = arg;

	if (i->body)
		l->ops->put_buf(l->arg, i->body);
	if (i->task)
		l->ops->answer(l->arg, i->task, result);
}

static const struct outbox_ops outbox_ops = { .done = item_done };

static bool points_elsewhere(const struct iov_buf *o)
{
	for (unsigned i = 0; i < o->n; i++)
		if (o->piece[i].ref)
			return true;
	return false;
}

/* Returns a buffer with the same bytes that references none elsewhere. Takes ownership of o. NULL: no memory. */
static struct iov_buf *own(struct tcp_link *l, struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf *copy;
	unsigned n;
	uint8_t *to;

	if (!points_elsewhere(o))
		return o;
	copy = l->ops->get_buf(l->arg);
	to = copy ? iov_buf_room(copy, o->total) : NULL;
	n = iov_buf_iov(o, iov);
	for (unsigned i = 0; to && i < n; i++) {
		memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
	l->ops->put_buf(l->arg, o);
	if (copy && !to)
		l->ops->put_buf(l->arg, copy);
	return to ? copy : NULL;
}

int tcp_link_put(struct tcp_link *l, struct outbox_topic *t, struct iov_buf *o, struct sim_task *task)
{
	bool wake;
	int r;

	if (o->total < OUTBOX_LARGE)
		task = NULL;
	if (!task)
		o = own(l, o);
	if (!o)
		return -ENOMEM;
	r = outbox_put(&l->outbox, t, o, o->total, task, &wake);
	if (wake)
		exec_post(&l->wake);
	return r;
}

/* ---- announcing; caller holds lock ---- */

static bool was_said(const struct tcp_link *l, uint64_t frame)
{
	for (size_t i = 0; i < l->n_said; i++)
		if (l->said[i] == frame)
			return true;
	return false;
}

static int say(struct tcp_link *l, const struct iovec *frame)
{
	uint64_t h = XXH64(frame->iov_base, frame->iov_len, 0), *more;
	int r;

	if (was_said(l, h))
		return 0;
	if (l->n_said == l->said_room) {
		more = realloc(l->said, (2 * l->said_room + 16) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		l->said = more;
		l->said_room = 2 * l->said_room + 16;
	}
	r = outbox_say(&l->outbox, OUTBOX_LAST, frame->iov_base, frame->iov_len, NULL, 0);
	if (r == 0)
		l->said[l->n_said++] = h;
	return r;
}

int tcp_link_say(struct tcp_link *l, const struct iovec *frames, unsigned n)
{
	int r = 0;

	pthread_mutex_lock(&l->lock);
	for (unsigned i = 0; i < n && r == 0; i++)
		r = say(l, &frames[i]);
	pthread_mutex_unlock(&l->lock);
	exec_post(&l->wake);
	return r;
}

int tcp_link_say_add(struct tcp_link *l, uint8_t op, const char *topic, const char *type)
{
	uint8_t frame[2 * FRAME_HEAD_MAX];
	struct iovec iov = { frame, frame_add(op, topic, type, frame, sizeof(frame)) };

	return iov.iov_len ? tcp_link_say(l, &iov, 1) : -ENAMETOOLONG;
}

int tcp_link_send_empty(struct tcp_link *l, const char *topic)
{
	uint8_t frame[FRAME_HEAD_MAX];
	size_t len = frame_publish(l->ops->dialect, topic, 0, frame, sizeof(frame));
	int r = len ? outbox_say(&l->outbox, OUTBOX_LAST, frame, len, NULL, 0) : -ENAMETOOLONG;

	exec_post(&l->wake);
	return r;
}

void tcp_link_hold(struct tcp_link *l, struct outbox_topic *t, bool on)
{
	outbox_hold(&l->outbox, t, on);
	exec_post(&l->wake);
}

/* ---- writing: on the link's thread, as everything below ---- */

static void begin(struct tcp_link *l)
{
	const struct outbox_item *i = l->item;

	l->n = 1;
	if (i->text) {
		l->iov[0] = (struct iovec){ i->text, i->text_len };
	} else {
		size_t len =
			frame_publish(l->ops->dialect, i->topic->name, (uint32_t)i->size, l->head, sizeof(l->head));

		l->iov[0] = (struct iovec){ l->head, len };
		l->n += iov_buf_iov(i->body, l->iov + 1);
	}
	l->at = l->iov;
}

static void skip(struct tcp_link *l, size_t n)
{
	while (l->n && n >= l->at->iov_len) {
		n -= l->at->iov_len;
		l->at++;
		l->n--;
	}
	if (n) {
		l->at->iov_base = (uint8_t *)l->at->iov_base + n;
		l->at->iov_len -= n;
	}
}

static void drop_item(struct tcp_link *l, int result)
{
	if (l->item)
		outbox_done(&l->outbox, l->item, result, exec_now(l->x));
	l->item = NULL;
}

/*
 * Writes what the socket takes. Returns after how many ns there is something to send; -1: not before a wake-up, or room
 * in the socket.
 */
static int64_t write_some(struct tcp_link *l)
{
	int64_t wait_dur_ns = -1;
	ssize_t n;

	for (unsigned i = 0; i < TURN_MESSAGES; i++) {
		if (!l->item && !(l->item = outbox_take(&l->outbox, exec_now(l->x), &wait_dur_ns)))
			return wait_dur_ns;
		if (!l->n)
			begin(l);
		n = stream_write(l->stream, l->at, l->n);
		if (n <= 0)
			return -1;
		skip(l, (size_t)n);
		if (!l->n)
			drop_item(l, 0);
	}
	return 0; /* lets other work run */
}

/* -1 means never. */
static int64_t sooner(int64_t a_dur_ns, int64_t b_dur_ns)
{
	return a_dur_ns < 0 || (b_dur_ns >= 0 && b_dur_ns < a_dur_ns) ? b_dur_ns : a_dur_ns;
}

/* Ends the connection after tcp_link_close(): queued data is still sent, as long as the peer takes it. */
static void end_if_asked(struct tcp_link *l, int64_t wait_dur_ns)
{
	if (!atomic_load(&l->stop) || l->ending)
		return;
	l->ending = !l->connected || (!l->item && wait_dur_ns < 0);
	if (l->ending)
		stream_end(l->stream, LINGER_DUR_NS);
	else
		stream_hurry(l->stream, LINGER_DUR_NS);
}

static void turn(void *arg)
{
	struct tcp_link *l = arg;
	int64_t wait_dur_ns = l->connected ? write_some(l) : -1;

	if (!l->stream)
		return;
	end_if_asked(l, wait_dur_ns);
	if (l->connected && l->ops->look)
		wait_dur_ns = sooner(wait_dur_ns, l->ops->look(l->arg));
	if (wait_dur_ns >= 0)
		exec_timer_at(&l->due, exec_now(l->x) + wait_dur_ns);
}

/* ---- reading ---- */

static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	struct tcp_link *l = arg;
	size_t at = 0;
	struct frame f;
	int r = 1;

	while (r > 0) {
		size_t over = l->skip < len - at ? l->skip : len - at;

		l->skip -= over;
		at += over;
		r = l->skip ? 0
			    : frame_parse(l->ops->dialect, data + at, len - at, (uint32_t)l->ops->body_max, &f, why,
					  STREAM_WHY_MAX);
		if (r <= 0)
			break;
		l->ops->take(l->arg, &f);
		at += f.total;
		if (!f.message)
			l->skip = f.len;
	}
	exec_post(&l->wake); /* look() may depend on what was received */
	return r < 0 ? r : (ssize_t)at;
}

/* ---- the connection ---- */

static void on_opened(void *arg)
{
	struct tcp_link *l = arg;
	char text[400];

	l->connected = true;
	outbox_open(&l->outbox, true);
	snprintf(text, sizeof(text), "%s at %s:%u", l->ops->dialect->peer, l->address.host, l->address.port);
	report(l, SIM_BRIDGE_CONNECTED, text);
	turn(l);
}

static void on_ended(void *arg, int error, const char *why)
{
	struct tcp_link *l = arg;

	snprintf(l->why, sizeof(l->why), "%s:%u: %s", l->address.host, l->address.port, why);
	if (error == -ECONNREFUSED && !l->connected)
		snprintf(l->why, sizeof(l->why), "%s:%u: %s; is %s running?", l->address.host, l->address.port, why,
			 l->ops->dialect->peer);
	exec_quit(l->x);
}

static const struct stream_ops stream_ops = { .opened = on_opened, .take = take, .room = turn, .ended = on_ended };

static int dial(struct tcp_link *l)
{
	size_t most = FRAME_HEAD_MAX + l->ops->body_max;
	const struct stream_options o = { .ops = &stream_ops,
					  .arg = l,
					  .buffer = most < BUFFER_MIN ? BUFFER_MIN : most,
					  .dial_dur_ns = l->connect_ms * NS_PER_MS,
					  .stall_dur_ns = l->stall_ms * NS_PER_MS };
	char why[STREAM_WHY_MAX] = "no memory";
	int r = stream_dial(l->x, &l->address, &o, &l->stream, why);

	if (r < 0)
		snprintf(l->why, sizeof(l->why), "%s: %s", l->address.host, why);
	return r;
}

/* Resets the state; the next connection starts without announcements. */
static void forget(struct tcp_link *l)
{
	exec_timer_cancel(&l->due);
	stream_destroy(l->stream);
	l->stream = NULL;
	l->connected = l->ending = false;
	l->skip = 0;
	if (l->ops->ended)
		l->ops->ended(l->arg);
	outbox_open(&l->outbox, false);
	drop_item(l, -ENOTCONN);
	l->n = 0;
	pthread_mutex_lock(&l->lock);
	l->n_said = 0;
	pthread_mutex_unlock(&l->lock);
}

static void *link_main(void *arg)
{
	struct tcp_link *l = arg;

	if (dial(l) == 0)
		(void)exec_run(l->x);
	forget(l);
	if (!atomic_load(&l->stop))
		report(l, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, l->why);
	atomic_store(&l->alive, false);
	return NULL;
}

int tcp_link_open(struct tcp_link *l)
{
	int r;

	tcp_link_join(l);
	atomic_store(&l->stop, false);
	report(l, SIM_BRIDGE_CONNECTING, "");
	atomic_store(&l->alive, true);
	r = thread_start(&l->thread, l->ops->thread, link_main, l);
	l->running = r == 0;
	if (r < 0)
		atomic_store(&l->alive, false);
	return r;
}

int tcp_link_open_beside(struct tcp_link *l, const struct tcp_link *other)
{
	l->address = other->address;
	l->connect_ms = other->connect_ms;
	l->stall_ms = other->stall_ms;
	return tcp_link_open(l);
}

bool tcp_link_alive(const struct tcp_link *l)
{
	return atomic_load(&l->alive);
}

void tcp_link_close(struct tcp_link *l)
{
	atomic_store(&l->stop, true);
	exec_post(&l->wake);
}

void tcp_link_join(struct tcp_link *l)
{
	if (!l->running)
		return;
	pthread_join(l->thread, NULL);
	l->running = false;
}

int tcp_link_address(const char *text, struct address *ret, char *why, size_t why_size)
{
	struct address a = { .host = "127.0.0.1", .port = 9090 };

	if (address_read(text, strlen(text), &a) < 0 || !a.port) {
		snprintf(why, why_size,
			 "\"%.60s\" is not \"host:port\" (an IPv6 address in brackets; 127.0.0.1:9090 if empty)", text);
		return -EINVAL;
	}
	*ret = a;
	return 0;
}

int tcp_link_init(struct tcp_link *l)
{
	int r;

	pthread_mutex_init(&l->lock, NULL);
	l->outbox.ops = &outbox_ops;
	l->outbox.arg = l;
	r = outbox_init(&l->outbox);
	if (r == 0)
		r = exec_threads_create(&l->x);
	if (r < 0)
		return r;
	exec_post_init(&l->wake, l->x, turn, l);
	exec_timer_init(&l->due, l->x, turn, l);
	return 0;
}

void tcp_link_finish(struct tcp_link *l)
{
	if (!l->outbox.ops)
		return;
	if (l->x)
		tcp_link_close(l);
	tcp_link_join(l);
	outbox_finish(&l->outbox);
	exec_destroy(l->x);
	pthread_mutex_destroy(&l->lock);
	free(l->said);
}
