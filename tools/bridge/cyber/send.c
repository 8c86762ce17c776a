/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on their way out: encoded on a lane, queued, sent by the link's thread as far as the socket takes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cyber.h"

#define TURN_MESSAGES 64 /* that are sent before something is read */

/* ---- buffers ---- */

struct iov_buf *cyber_get_buf(struct sim_bridge *b)
{
	struct iov_buf *o = NULL;

	pthread_mutex_lock(&b->lock);
	if (b->n_buf)
		o = b->buf[--b->n_buf];
	pthread_mutex_unlock(&b->lock);
	if (!o && (o = malloc(sizeof(*o))))
		iov_buf_init(o);
	if (o)
		iov_buf_reset(o);
	return o;
}

void cyber_put_buf(struct sim_bridge *b, struct iov_buf *o)
{
	pthread_mutex_lock(&b->lock);
	if (b->n_buf < TOPICS_BUFS_MAX) {
		b->buf[b->n_buf++] = o;
		o = NULL;
	}
	pthread_mutex_unlock(&b->lock);
	if (o)
		iov_buf_finish(o);
	free(o);
}

static void done(void *bridge, const struct outbox_item *i, int result)
{
	struct sim_bridge *b = bridge;

	cyber_put_buf(b, i->body);
	if (i->task)
		b->host->complete(b->host->ctx, i->task, result);
}

const struct outbox_ops cyber_outbox_ops = { .done = done };

/* ---- on a lane ---- */

static bool points_elsewhere(const struct iov_buf *o)
{
	for (unsigned i = 0; i < o->n; i++)
		if (o->piece[i].ref)
			return true;
	return false;
}

/* The same bytes, none of which are in the slot. Takes o. NULL: no memory. */
static struct iov_buf *own(struct sim_bridge *b, struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf *copy;
	unsigned n;
	uint8_t *to;

	if (!points_elsewhere(o))
		return o;
	copy = cyber_get_buf(b);
	to = copy ? iov_buf_room(copy, o->total) : NULL;
	n = iov_buf_iov(o, iov);
	for (unsigned i = 0; to && i < n; i++) {
		memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
	cyber_put_buf(b, o);
	if (copy && !to)
		cyber_put_buf(b, copy);
	return to ? copy : NULL;
}

static int too_large(struct cyber_topic *t, size_t size)
{
	uint64_t n = atomic_fetch_add(&t->too_large, 1) + 1;

	if ((n & (n - 1)) == 0) /* the first, then ever more rarely */
		log_error(
			t->bridge,
			"%s: a message of %zu bytes is not sent: Cyber's shared memory holds less than %u (%llu so far)",
			t->name, size, CYBER_MESSAGE_MAX, (unsigned long long)n);
	return -EMSGSIZE;
}

static int encode(struct sim_bridge *b, struct cyber_topic *t, const struct sim_message *m, struct iov_buf **ret)
{
	struct apollo_message in = { .body = m->body,
				     .size = m->body_size,
				     .stamp_sim_ns = m->header.stamp_sim_ns,
				     .sequence = (uint32_t)m->header.sequence,
				     .frame_id = m->header.frame_id,
				     .options = &t->options };
	struct iov_buf *o = cyber_get_buf(b);
	char why[256] = "";
	int r = !o          ? -ENOMEM
		: t->own    ? cyber_own_encode(t, m, o)
		: t->frames ? cyber_frames_encode(t, &in, o, why, sizeof(why))
			    : apollo_encode(t->type, &in, o, why, sizeof(why));

	if (r == 0 && o->total >= CYBER_MESSAGE_MAX)
		r = too_large(t, o->total);
	if (r == 0)
		*ret = o;
	else if (o)
		cyber_put_buf(b, o);
	return r;
}

/* Into the outbox: a large message of a task as it is, else as a copy. 1: the task is answered when it is out. */
static int put(struct sim_bridge *b, struct cyber_topic *t, struct iov_buf *o, struct sim_task *task, bool *ret_wake)
{
	bool large = o->total >= OUTBOX_LARGE;

	if (atomic_load_explicit(&t->large, memory_order_relaxed) != large)
		atomic_store_explicit(&t->large, large, memory_order_relaxed);
	if (!task || !large) {
		task = NULL;
		o = own(b, o);
	}
	return o ? outbox_put(&b->outbox, t->out, o, o->total, task, ret_wake) : -ENOMEM;
}

/* Converted side by side, queued in order. One answer for all that a channel becomes: they are copied where it is more than one. */
int cyber_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task)
{
	struct iov_buf *o[TOPICS_FAN_MAX];
	int r[TOPICS_FAN_MAX], first = 0;
	bool wake = false, one;

	for (unsigned i = 0; i < t->n; i++)
		r[i] = t->topic[i]->frames ? 0 : encode(b, t->topic[i], m, &o[i]);
	if (SIM_BRIDGE_HOST_HAS(b->host, in_order))
		b->host->in_order(b->host->ctx, task);
	for (unsigned i = 0; i < t->n; i++) {
		one = false;
		if (t->topic[i]->frames) /* which add up: in order too */
			r[i] = encode(b, t->topic[i], m, &o[i]);
		if (r[i] == 0)
			r[i] = put(b, t->topic[i], o[i], t->n == 1 ? task : NULL, &one);
		wake |= one;
		first = first < 0 ? first : r[i];
	}
	if (wake)
		tcp_link_wake(&b->link);
	return first;
}

/* ---- on the link's thread ---- */

static void begin(struct cyber_sending *s)
{
	const struct iov_buf *o = s->item->body;

	s->iov[0] = (struct iovec){ s->head, frame_publish(&frame_cyber, s->item->topic->name, (uint32_t)o->total,
							   s->head, sizeof(s->head)) };
	s->n = 1 + iov_buf_iov(o, s->iov + 1);
	s->at = s->iov;
}

static void skip(struct cyber_sending *s, size_t n)
{
	while (s->n && n >= s->at->iov_len) {
		n -= s->at->iov_len;
		s->at++;
		s->n--;
	}
	if (n) {
		s->at->iov_base = (uint8_t *)s->at->iov_base + n;
		s->at->iov_len -= n;
	}
}

/* What is to be said, and the next message after it. 1 there is one, 0 there is none, or the socket is full; an errno. */
static int next(struct sim_bridge *b, struct tcp_turn *t)
{
	int r = tcp_link_send_said(&b->link);

	if (r == 0)
		t->blocked = t->more = true;
	if (r <= 0)
		return r;
	b->sending.item = outbox_take(&b->outbox, mono_now_ns(), &t->wait_dur_ns);
	t->more = b->sending.item || t->wait_dur_ns >= 0;
	if (b->sending.item)
		begin(&b->sending);
	return b->sending.item != NULL;
}

int cyber_turn(void *bridge, struct tcp_turn *t)
{
	struct sim_bridge *b = bridge;
	struct cyber_sending *s = &b->sending;
	ssize_t n;
	int r = 1;

	for (unsigned i = 0; i < TURN_MESSAGES && (s->item || (r = next(b, t)) > 0); i++) {
		n = tcp_link_some(&b->link, s->at, s->n);
		if (n < 0)
			return (int)n;
		skip(s, (size_t)n);
		if (!s->n) {
			outbox_done(&b->outbox, s->item, 0, mono_now_ns());
			s->item = NULL;
		} else if (!n) {
			t->blocked = t->more = true;
			return 0;
		}
	}
	if (r > 0) /* others have their turn */
		*t = (struct tcp_turn){ .more = true, .wait_dur_ns = 0 };
	return r < 0 ? r : 0;
}

void cyber_sending_drop(struct sim_bridge *b)
{
	if (b->sending.item)
		outbox_done(&b->outbox, b->sending.item, -ENOTCONN, mono_now_ns());
	b->sending.item = NULL;
}
