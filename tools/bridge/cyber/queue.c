/* SPDX-License-Identifier: Apache-2.0 */
/* See queue.h. */
#include "queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void queue_init(struct queue *q)
{
	pthread_condattr_t a;

	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&q->less, &a);
	pthread_condattr_destroy(&a);
}

void queue_finish(struct queue *q)
{
	queue_open(q, false);
	while (q->free) {
		struct queue_item *i = q->free;

		q->free = i->next;
		free(i);
	}
	pthread_cond_destroy(&q->less);
	pthread_mutex_destroy(&q->lock);
}

/* ---- channels ---- */

int queue_channel_create(const char *name, int64_t pace_dur_ns, struct queue_channel **ret)
{
	size_t n = strlen(name) + 1;
	struct queue_channel *c = calloc(1, sizeof(*c) + n);

	if (!c)
		return -ENOMEM;
	memcpy(c->name, name, n);
	c->pace_dur_ns = pace_dur_ns;
	*ret = c;
	return 0;
}

void queue_channel_destroy(struct queue *q, struct queue_channel *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&q->lock);
	c->gone = c->n > 0;
	if (c->gone)
		c = NULL;
	pthread_mutex_unlock(&q->lock);
	free(c);
}

void queue_counts(struct queue *q, const struct queue_channel *c, uint64_t *ret_sent, uint64_t *ret_dropped)
{
	pthread_mutex_lock(&q->lock);
	*ret_sent = c->sent;
	*ret_dropped = c->dropped;
	pthread_mutex_unlock(&q->lock);
}

static void link_channel(struct queue *q, struct queue_channel *c)
{
	c->next = q->channels;
	q->channels = c;
}

static void unlink_channel(struct queue *q, const struct queue_channel *c)
{
	struct queue_channel **at = &q->channels;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
}

/* ---- items; lock is held ---- */

static struct queue_item *get_item(struct queue *q)
{
	struct queue_item *i = q->free;

	if (!i)
		return malloc(sizeof(*i));
	q->free = i->next;
	q->n_free--;
	return i;
}

static void put_item(struct queue *q, struct queue_item *i)
{
	if (q->n_free == QUEUE_FREE) {
		free(i);
		return;
	}
	i->next = q->free;
	q->free = i;
	q->n_free++;
}

static size_t own_bytes(const struct queue_item *i)
{
	return i->task ? 0 : i->body->total;
}

static void append(struct queue *q, struct queue_channel *c, struct queue_item *i)
{
	if (c->last)
		c->last->next = i;
	else
		c->first = i;
	if (!c->last)
		link_channel(q, c);
	c->last = i;
	c->waiting++;
	c->n++;
	q->bytes += own_bytes(i);
}

static struct queue_item *take_first(struct queue *q, struct queue_channel *c)
{
	struct queue_item *i = c->first;

	c->waiting--;
	c->first = i->next;
	if (!c->first) {
		c->last = NULL;
		unlink_channel(q, c);
	}
	q->bytes -= own_bytes(i);
	return i;
}

/* Of an item that was taken: what its channel keeps of it. Whether the channel goes with it. */
static bool leave(struct queue_channel *c)
{
	c->n--;
	return c->gone && !c->n;
}

/* lock is not held. */
static void free_item(struct queue *q, struct queue_item *i, int result)
{
	if (!i)
		return;
	q->put_buf(q->arg, i->body);
	if (i->task)
		q->host->complete(q->host->ctx, i->task, result);
	pthread_mutex_lock(&q->lock);
	put_item(q, i);
	pthread_mutex_unlock(&q->lock);
}

/* ---- putting ---- */

static unsigned bound(const struct queue *q, const struct iov_buf *body)
{
	return body->total < QUEUE_LARGE || q->wait ? q->max : 1;
}

static bool has_room(const struct queue *q, const struct queue_channel *c, const struct iov_buf *body, bool own)
{
	return c->waiting < bound(q, body) && (!own || !q->bytes || q->bytes + body->total <= QUEUE_BYTES);
}

static int wait_for_room(struct queue *q, struct queue_channel *c, const struct iov_buf *body, bool own)
{
	struct timespec end;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += q->wait_ms / 1000;
	end.tv_nsec += q->wait_ms % 1000 * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_nsec -= 1000000000;
		end.tv_sec++;
	}
	while (q->open && r == 0 && !has_room(q, c, body, own))
		r = -pthread_cond_timedwait(&q->less, &q->lock, &end);
	return !q->open ? -ENOTCONN : has_room(q, c, body, own) ? 0 : r;
}

/* Makes room: the oldest, to be freed without the lock. NULL: there is room, or it is not this channel that has it. */
static struct queue_item *push_out(struct queue *q, struct queue_channel *c, const struct iov_buf *body, bool own)
{
	struct queue_item *oldest;

	if (has_room(q, c, body, own) || !c->first)
		return NULL;
	oldest = take_first(q, c);
	(void)leave(c);
	c->dropped++;
	atomic_store(&q->dropped, true);
	return oldest;
}

static int put_locked(struct queue *q, struct queue_channel *c, struct iov_buf *body, struct sim_task *task,
		      struct queue_item **ret_oldest)
{
	struct queue_item *i = NULL;
	bool own = !task;
	int r = q->open ? 0 : -ENOTCONN;

	if (r == 0 && q->wait)
		r = wait_for_room(q, c, body, own);
	if (r == 0 && !(i = get_item(q)))
		r = -ENOMEM;
	if (r < 0)
		return r;
	*i = (struct queue_item){ .channel = c, .turn = q->turn++, .body = body, .task = task };
	*ret_oldest = push_out(q, c, body, own);
	if (*ret_oldest || has_room(q, c, body, own)) {
		append(q, c, i);
		return 0;
	}
	c->dropped++;
	atomic_store(&q->dropped, true);
	put_item(q, i);
	return -ENOBUFS;
}

int queue_put(struct queue *q, struct queue_channel *c, struct iov_buf *body, struct sim_task *task, bool *ret_wake)
{
	struct queue_item *oldest = NULL;
	int r;

	pthread_mutex_lock(&q->lock);
	r = put_locked(q, c, body, task, &oldest);
	*ret_wake = r == 0 && (q->asleep || oldest);
	if (r == 0)
		q->asleep = false;
	pthread_mutex_unlock(&q->lock);
	free_item(q, oldest, -ENOBUFS);
	if (r < 0)
		q->put_buf(q->arg, body);
	return r < 0 ? r : task != NULL;
}

/* ---- taking ---- */

struct queue_item *queue_take(struct queue *q, int64_t now_mono_ns, int64_t *ret_wait_dur_ns)
{
	struct queue_channel *best = NULL;
	struct queue_item *i = NULL;
	int64_t wait = -1;

	pthread_mutex_lock(&q->lock);
	for (struct queue_channel *c = q->channels; c; c = c->next) {
		int64_t left = c->due_mono_ns - now_mono_ns;

		if (left > 0 && (wait < 0 || left < wait))
			wait = left;
		if (left <= 0 && (!best || c->first->turn < best->first->turn))
			best = c;
	}
	if (best)
		i = take_first(q, best);
	else
		*ret_wait_dur_ns = wait;
	q->asleep = !i;
	if (i && q->wait)
		pthread_cond_broadcast(&q->less);
	pthread_mutex_unlock(&q->lock);
	return i;
}

void queue_done(struct queue *q, struct queue_item *i, int result, int64_t now_mono_ns)
{
	struct queue_channel *c = i->channel;
	bool last;

	pthread_mutex_lock(&q->lock);
	c->sent += result == 0;
	if (i->body->total < QUEUE_LARGE)
		c->due_mono_ns = now_mono_ns + c->pace_dur_ns;
	last = leave(c);
	pthread_mutex_unlock(&q->lock);
	free_item(q, i, result);
	if (last)
		free(c);
}

/* Any that waits, and whether its channel goes with it. */
static struct queue_item *take_any(struct queue *q, bool *ret_last)
{
	struct queue_item *i;

	if (!q->channels)
		return NULL;
	i = take_first(q, q->channels);
	*ret_last = leave(i->channel);
	return i;
}

void queue_open(struct queue *q, bool on)
{
	struct queue_channel *c;
	struct queue_item *i;
	bool last;

	pthread_mutex_lock(&q->lock);
	q->open = on;
	q->asleep = true;
	pthread_cond_broadcast(&q->less);
	while (!on && (i = take_any(q, &last))) {
		c = i->channel;
		pthread_mutex_unlock(&q->lock);
		free_item(q, i, -ENOTCONN);
		if (last)
			free(c);
		pthread_mutex_lock(&q->lock);
	}
	pthread_mutex_unlock(&q->lock);
}
