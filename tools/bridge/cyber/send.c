/* SPDX-License-Identifier: Apache-2.0 */
/* Sends messages: a lane encodes and queues them, the link's thread writes them to the socket. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cyber.h"

/* ---- buffers ---- */

struct iov_buf *cyber_get_buf(void *bridge)
{
	struct sim_bridge *b = bridge;
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

void cyber_put_buf(void *bridge, struct iov_buf *o)
{
	struct sim_bridge *b = bridge;

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

void cyber_answer(void *bridge, struct sim_task *task, int result)
{
	struct sim_bridge *b = bridge;

	b->host->complete(b->host->ctx, task, result);
}

/* ---- on a lane ---- */

static int too_large(struct cyber_topic *t, size_t size)
{
	uint64_t n = atomic_fetch_add(&t->too_large, 1) + 1;

	if ((n & (n - 1)) == 0) /* at 1, 2, 4, 8, ... such messages */
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

static int put(struct sim_bridge *b, struct cyber_topic *t, struct iov_buf *o, struct sim_task *task)
{
	bool large = o->total >= OUTBOX_LARGE;

	if (atomic_load_explicit(&t->large, memory_order_relaxed) != large)
		atomic_store_explicit(&t->large, large, memory_order_relaxed);
	return tcp_link_put(&b->link, t->out, o, task);
}

/*
 * Encodes in parallel, queues in order. The task can be answered only once, so when a channel has several topics, their
 * messages are copied.
 */
int cyber_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task)
{
	struct iov_buf *o[TOPICS_FAN_MAX];
	int r[TOPICS_FAN_MAX], first = 0;

	for (unsigned i = 0; i < t->n; i++)
		r[i] = t->topic[i]->frames ? 0 : encode(b, t->topic[i], m, &o[i]);
	if (SIM_BRIDGE_HOST_HAS(b->host, in_order))
		b->host->in_order(b->host->ctx, task);
	for (unsigned i = 0; i < t->n; i++) {
		if (t->topic[i]->frames) /* merged with earlier frames, so encoded in order */
			r[i] = encode(b, t->topic[i], m, &o[i]);
		if (r[i] == 0)
			r[i] = put(b, t->topic[i], o[i], t->n == 1 ? task : NULL);
		first = first < 0 ? first : r[i];
	}
	return first;
}
