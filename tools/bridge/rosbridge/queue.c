/* SPDX-License-Identifier: Apache-2.0 */
/* See queue.h. */
#include "queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "topics.h"

void queue_init(struct queue *q, struct topics *topics)
{
	pthread_condattr_t a;

	q->topics = topics;
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&q->less, &a);
	pthread_condattr_destroy(&a);
}

/* ---- items; lock is held ---- */

static size_t body_bytes(const struct queue_item *i)
{
	return i->body ? i->body->total : 0;
}

static struct queue_item *get_item(struct queue *q, const char *head)
{
	struct queue_item *i = q->free;
	size_t len = strlen(head);

	if (i) {
		q->free = i->next;
		q->n_free--;
	} else {
		i = calloc(1, sizeof(*i));
	}
	if (i && i->head_room < len) {
		free(i->head);
		i->head = malloc(len);
		i->head_room = i->head ? len : 0;
	}
	if (!i || (len && !i->head)) {
		free(i);
		return NULL;
	}
	memcpy(i->head, head, len);
	i->head_len = len;
	i->next = i->next_of_topic = NULL;
	i->topic = NULL;
	i->body = NULL;
	return i;
}

/* Its body is the caller's. */
static void put_item(struct queue *q, struct queue_item *i)
{
	if (q->n_free == QUEUE_FREE_MAX || i->head_room > 1024) {
		free(i->head);
		free(i);
		return;
	}
	i->next = q->free;
	q->free = i;
	q->n_free++;
}

static bool is_empty(const struct queue *q)
{
	return !q->urgent.first && !q->others.first;
}

static void append(struct queue_list *l, struct queue_item *i)
{
	if (l->last)
		l->last->next = i;
	else
		l->first = i;
	l->last = i;
}

static void prepend(struct queue_list *l, struct queue_item *i)
{
	i->next = l->first;
	l->first = i;
	if (!l->last)
		l->last = i;
}

static void leave_topic(struct queue_item *i)
{
	struct queue_topic *t = i->topic;

	if (!t)
		return;
	t->first = i->next_of_topic; /* it is its first one */
	if (!t->first)
		t->last = NULL;
	t->n--;
}

/* ---- bounds ---- */

static unsigned bound(const struct queue *q, const struct queue_topic *t, const struct iov_buf *body)
{
	if (t->max)
		return t->max;
	return body->total >= QUEUE_LARGE ? 1 : q->max;
}

static bool has_room(const struct queue *q, const struct queue_topic *t, const struct iov_buf *body)
{
	return t->n < bound(q, t, body) && (!q->bytes || q->bytes + body->total <= QUEUE_BYTES);
}

static void count_dropped(struct queue *q, struct queue_topic *t)
{
	t->dropped++;
	atomic_store(&q->dropped, true);
}

/* Each message of the topic takes the place of the one before it, this one the last. Returns the oldest. */
static struct iov_buf *push_through(struct queue *q, struct queue_topic *t, struct iov_buf *body)
{
	struct iov_buf *oldest = t->first->body;

	q->bytes += body->total - oldest->total;
	for (struct queue_item *i = t->first; i; i = i->next_of_topic)
		i->body = i->next_of_topic ? i->next_of_topic->body : body;
	if (!t->stale)
		count_dropped(q, t);
	return oldest;
}

static int wait_for_room(struct queue *q, const struct queue_topic *t, const struct iov_buf *body)
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
	while (q->open && r == 0 && !has_room(q, t, body))
		r = -pthread_cond_timedwait(&q->less, &q->lock, &end);
	return !q->open ? -ENOTCONN : has_room(q, t, body) ? 0 : r;
}

/* ---- putting ---- */

static int add_message(struct queue *q, struct queue_topic *t, const char *head, struct iov_buf *body)
{
	struct queue_item *i = get_item(q, head);
	bool alone = is_empty(q);

	if (!i)
		return -ENOMEM;
	i->topic = t;
	i->body = body;
	q->bytes += body->total;
	append(t->urgent ? &q->urgent : &q->others, i);
	if (t->last)
		t->last->next_of_topic = i;
	else
		t->first = i;
	t->last = i;
	t->n++;
	return alone;
}

int queue_message(struct queue *q, struct queue_topic *t, const char *head, struct iov_buf *body)
{
	struct iov_buf *not_sent = body;
	int r;

	pthread_mutex_lock(&q->lock);
	r = q->open ? 0 : -ENOTCONN;
	if (r == 0 && q->wait && !(t->stale && t->n)) /* the place of one that is worthless is room enough */
		r = wait_for_room(q, t, body);
	if (r == 0 && has_room(q, t, body)) {
		r = add_message(q, t, head, body);
		not_sent = r < 0 ? body : NULL;
	} else if (r == 0 && t->n) {
		not_sent = push_through(q, t, body);
	} else if (r == 0) { /* others have all the room */
		count_dropped(q, t);
	}
	pthread_mutex_unlock(&q->lock);
	if (not_sent)
		topics_put_buf(q->topics, not_sent);
	return r;
}

int queue_op(struct queue *q, enum queue_place place, const char *text, struct iov_buf *body)
{
	struct queue_item *i = NULL;
	int r = 0;

	pthread_mutex_lock(&q->lock);
	if (q->n_ops >= QUEUE_OPS_MAX) /* more where a topic's messages have become operations */
		r = -ENOBUFS;
	else if (!(i = get_item(q, text)))
		r = -ENOMEM;
	if (i) {
		r = is_empty(q);
		i->body = body;
		q->bytes += body_bytes(i);
		q->n_ops++;
		if (place == QUEUE_FIRST)
			prepend(&q->urgent, i);
		else
			append(place == QUEUE_URGENT ? &q->urgent : &q->others, i);
	}
	pthread_mutex_unlock(&q->lock);
	if (r < 0 && body)
		topics_put_buf(q->topics, body);
	return r;
}

/* ---- taking ---- */

/*
 * The urgent ones first. But a clock may come as fast as the server takes it: so where an urgent message, no operation, went last,
 * and others wait, one of these is next.
 */
static struct queue_list *next_list(struct queue *q)
{
	const struct queue_item *i = q->urgent.first;

	return i && !(i->topic && q->others_next && q->others.first) ? &q->urgent : &q->others;
}

static struct queue_item *take(struct queue *q)
{
	struct queue_list *l = next_list(q);
	struct queue_item *i = l->first;

	if (!i)
		return NULL;
	l->first = i->next;
	if (!l->first)
		l->last = NULL;
	q->others_next = l == &q->urgent && (i->topic || q->others_next);
	q->bytes -= body_bytes(i);
	if (i->topic)
		leave_topic(i);
	else
		q->n_ops--;
	i->topic = NULL;
	return i;
}

struct queue_item *queue_take(struct queue *q)
{
	struct queue_item *i;

	pthread_mutex_lock(&q->lock);
	i = take(q);
	if (i && q->wait)
		pthread_cond_broadcast(&q->less);
	pthread_mutex_unlock(&q->lock);
	return i;
}

void queue_done(struct queue *q, struct queue_item *i)
{
	if (i->body)
		topics_put_buf(q->topics, i->body);
	pthread_mutex_lock(&q->lock);
	put_item(q, i);
	pthread_mutex_unlock(&q->lock);
}

bool queue_empty(struct queue *q)
{
	bool empty;

	pthread_mutex_lock(&q->lock);
	empty = is_empty(q);
	pthread_mutex_unlock(&q->lock);
	return empty;
}

void queue_forget_topic(struct queue *q, struct queue_topic *t)
{
	pthread_mutex_lock(&q->lock);
	for (struct queue_item *i = t->first; i; i = i->next_of_topic) {
		i->topic = NULL;
		q->n_ops++; /* as which it goes out */
	}
	t->first = t->last = NULL;
	t->n = 0;
	pthread_mutex_unlock(&q->lock);
}

void queue_open(struct queue *q, bool on)
{
	struct queue_item *i;

	pthread_mutex_lock(&q->lock);
	q->open = on;
	pthread_cond_broadcast(&q->less);
	while (!on && (i = take(q))) {
		struct iov_buf *body = i->body;

		put_item(q, i);
		if (body)
			topics_put_buf(q->topics, body);
	}
	pthread_mutex_unlock(&q->lock);
}

void queue_finish(struct queue *q)
{
	queue_open(q, false);
	while (q->free) {
		struct queue_item *i = q->free;

		q->free = i->next;
		free(i->head);
		free(i);
	}
	pthread_cond_destroy(&q->less);
	pthread_mutex_destroy(&q->lock);
}
