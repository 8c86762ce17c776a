/* SPDX-License-Identifier: Apache-2.0 */
/* See outbox.h. */
#include "outbox.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mem.h"
#include "thread.h"
#include "timeutil.h"

#define FREE_MAX 256u

/* ---- topics; lock is held ---- */

static struct outbox_topic *topic_new(const char *name, const struct outbox_topic_options *options)
{
	size_t n = strlen(name) + 1;
	struct outbox_topic *t = mem_zalloc(sizeof(*t) + n);

	if (!t)
		return NULL;
	t->options = *options;
	memcpy(t->name, name, n);
	return t;
}

static void unlist(struct outbox *o, const struct outbox_topic *t)
{
	struct outbox_topic **at = &o->topics;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	o->gone_dropped += t->dropped;
}

static void deactivate(struct outbox *o, const struct outbox_topic *t)
{
	struct outbox_topic **at = &o->active;

	while (*at != t)
		at = &(*at)->next_active;
	*at = t->next_active;
}

static void activate(struct outbox *o, struct outbox_topic *t)
{
	t->next_active = o->active;
	o->active = t;
}

/* ---- items; lock is held ---- */

static struct outbox_item *get_item(struct outbox *o)
{
	struct outbox_item *i = o->free;

	if (!i)
		return mem_alloc(sizeof(*i));
	o->free = i->next;
	o->n_free--;
	return i;
}

static void put_item(struct outbox *o, struct outbox_item *i)
{
	if (o->n_free == FREE_MAX) {
		mem_free(i);
		return;
	}
	i->next = o->free;
	o->free = i;
	o->n_free++;
}

static size_t own_bytes(const struct outbox_item *i)
{
	return i->task ? 0 : i->size;
}

static void append(struct outbox *o, struct outbox_item *i)
{
	struct outbox_topic *t = i->topic;

	if (t->last)
		t->last->next = i;
	else
		t->first = i;
	if (!t->last)
		activate(o, t);
	t->last = i;
	t->waiting++;
	t->n++;
	o->bytes += own_bytes(i);
}

static struct outbox_item *take_first(struct outbox *o, struct outbox_topic *t)
{
	struct outbox_item *i = t->first;

	t->waiting--;
	t->first = i->next;
	if (!t->first) {
		t->last = NULL;
		deactivate(o, t);
	}
	o->bytes -= own_bytes(i);
	return i;
}

/* Removes a taken item from its topic's counters. Returns the topic, if it has to be freed with the item. */
static struct outbox_topic *leave(struct outbox_item *i)
{
	struct outbox_topic *t = i->topic;

	t->n--;
	return t->gone && !t->n ? t : NULL;
}

/* Caller must not hold the lock. */
static void free_item(struct outbox *o, struct outbox_item *i, int result)
{
	if (!i)
		return;
	o->ops->done(o->arg, i, result);
	mem_free(i->text);
	pthread_mutex_lock(&o->lock);
	put_item(o, i);
	pthread_mutex_unlock(&o->lock);
}

/* ---- putting; lock is held ---- */

static unsigned bound(const struct outbox *o, const struct outbox_item *i)
{
	if (i->topic->options.max)
		return i->topic->options.max;
	return i->size >= OUTBOX_LARGE ? 1 : o->max;
}

static bool has_room(const struct outbox *o, const struct outbox_item *i)
{
	size_t more = own_bytes(i);

	return i->topic->waiting < bound(o, i) && (!more || !o->bytes || o->bytes + more <= OUTBOX_BYTES);
}

static int wait_for_room(struct outbox *o, const struct outbox_item *i)
{
	struct timespec end = timespec_from_ns(mono_now_ns() + o->wait_ms * NS_PER_MS);
	int r = 0;

	if (i->topic->options.stale && i->topic->waiting) /* a worthless message's place is room enough */
		return 0;
	while (o->open && r == 0 && !has_room(o, i))
		r = -pthread_cond_timedwait(&o->less, &o->lock, &end);
	return !o->open ? -ENOTCONN : has_room(o, i) ? 0 : r;
}

static void count_dropped(struct outbox *o, struct outbox_topic *t)
{
	t->dropped++;
	atomic_store(&o->dropped, true);
}

/* Appends i to the topic's queue, shifts the others forward one position, and returns the oldest, which is dropped. */
static struct outbox_item *push_through(struct outbox *o, struct outbox_item *i)
{
	struct outbox_topic *t = i->topic;
	struct outbox_item *oldest = take_first(o, t);
	uint64_t place = oldest->turn, left;

	for (struct outbox_item *k = t->first; k; k = k->next) {
		left = k->turn;
		k->turn = place;
		place = left;
	}
	i->turn = place;
	(void)leave(oldest);
	if (!t->options.stale)
		count_dropped(o, t);
	return oldest;
}

/* Returns 0 if the item waits, in a place of its own or in that of *ret_oldest. */
static int put_locked(struct outbox *o, struct outbox_item *i, struct outbox_item **ret_oldest)
{
	int r = o->open ? 0 : -ENOTCONN;

	if (r == 0 && o->wait)
		r = wait_for_room(o, i);
	if (r < 0)
		return r;
	i->turn = ++o->turn;
	if (!has_room(o, i) && i->topic->first)
		*ret_oldest = push_through(o, i);
	else if (!has_room(o, i)) {
		count_dropped(o, i->topic);
		return -ENOBUFS;
	}
	append(o, i);
	return 0;
}

int outbox_put(struct outbox *o, struct outbox_topic *t, void *body, size_t size, void *task, bool *ret_wake)
{
	struct outbox_item now = { .topic = t, .body = body, .size = size, .task = task }, *i, *oldest = NULL;
	int r;

	pthread_mutex_lock(&o->lock);
	i = get_item(o);
	if (i)
		*i = now;
	r = i ? put_locked(o, i, &oldest) : -ENOMEM;
	if (r < 0 && i)
		put_item(o, i);
	*ret_wake = r == 0 && (o->asleep || oldest);
	if (r == 0)
		o->asleep = false;
	pthread_mutex_unlock(&o->lock);
	free_item(o, oldest, -ENOBUFS);
	now.task = NULL;
	if (r < 0)
		o->ops->done(o->arg, &now, r);
	return r < 0 ? r : task != NULL;
}

/* ---- operations ---- */

static void prepend(struct outbox *o, struct outbox_item *i)
{
	struct outbox_topic *t = i->topic;

	if (!t->first) {
		append(o, i);
		return;
	}
	i->next = t->first;
	t->first = i;
	t->waiting++;
	t->n++;
	o->bytes += own_bytes(i);
}

int outbox_say(struct outbox *o, enum outbox_place place, const void *text, size_t text_len, void *body, size_t size)
{
	struct outbox_topic *t = o->said[place != OUTBOX_LAST];
	struct outbox_item now = { .topic = t,
				   .text = mem_dup(text, text_len),
				   .text_len = text_len,
				   .body = body,
				   .size = size },
			   *i = NULL;
	int r = now.text ? 0 : -ENOMEM;

	pthread_mutex_lock(&o->lock);
	if (r == 0 && o->said[0]->waiting + o->said[1]->waiting >= OUTBOX_OPS_MAX)
		r = -ENOBUFS;
	if (r == 0 && !(i = get_item(o)))
		r = -ENOMEM;
	if (i) {
		now.turn = place == OUTBOX_FIRST ? 0 : ++o->turn;
		*i = now;
		if (place == OUTBOX_FIRST)
			prepend(o, i);
		else
			append(o, i);
		o->asleep = false;
	}
	pthread_mutex_unlock(&o->lock);
	if (r < 0) {
		mem_free(now.text);
		o->ops->done(o->arg, &now, r);
	}
	return r;
}

/* ---- taking ---- */

/* For urgent and other topics, finds the due topic whose message is next. */
static void look(const struct outbox *o, int64_t now_mono_ns, struct outbox_topic *ret[2], int64_t *ret_wait_dur_ns)
{
	*ret_wait_dur_ns = -1;
	ret[0] = ret[1] = NULL;
	for (struct outbox_topic *t = o->active; t; t = t->next_active) {
		struct outbox_topic **best = &ret[t->options.urgent];
		int64_t left = t->due_mono_ns - now_mono_ns;

		if (t->held)
			continue;
		if (left > 0 && (*ret_wait_dur_ns < 0 || left < *ret_wait_dur_ns))
			*ret_wait_dur_ns = left;
		if (left <= 0 && (!*best || t->first->turn < (*best)->first->turn))
			*best = t;
	}
}

/*
 * Urgent items go first. But a clock may arrive as fast as the peer reads it, so after an urgent message (not an
 * operation) one of the waiting others is next.
 */
static struct outbox_item *take(struct outbox *o, int64_t now_mono_ns, int64_t *ret_wait_dur_ns)
{
	struct outbox_topic *best[2];
	bool urgent;

	look(o, now_mono_ns, best, ret_wait_dur_ns);
	urgent = best[1] && !(best[0] && o->others_next && !best[1]->first->text);
	if (!best[urgent])
		return NULL;
	o->others_next = urgent && (!best[1]->first->text || o->others_next);
	return take_first(o, best[urgent]);
}

struct outbox_item *outbox_take(struct outbox *o, int64_t now_mono_ns, int64_t *ret_wait_dur_ns)
{
	struct outbox_item *i;

	pthread_mutex_lock(&o->lock);
	i = take(o, now_mono_ns, ret_wait_dur_ns);
	o->asleep = !i;
	if (i && o->wait)
		pthread_cond_broadcast(&o->less);
	pthread_mutex_unlock(&o->lock);
	return i;
}

void outbox_done(struct outbox *o, struct outbox_item *i, int result, int64_t now_mono_ns)
{
	struct outbox_topic *last;

	pthread_mutex_lock(&o->lock);
	i->topic->sent += result == 0;
	if (i->size < OUTBOX_LARGE)
		i->topic->due_mono_ns = now_mono_ns + i->topic->options.pace_dur_ns;
	last = leave(i);
	pthread_mutex_unlock(&o->lock);
	free_item(o, i, result);
	mem_free(last);
}

bool outbox_rest(struct outbox *o)
{
	bool empty;

	pthread_mutex_lock(&o->lock);
	empty = o->asleep = !o->active;
	pthread_mutex_unlock(&o->lock);
	return empty;
}

/* ---- topics, and dropped messages ---- */

int outbox_topic_create(struct outbox *o, const char *name, const struct outbox_topic_options *options,
			struct outbox_topic **ret)
{
	struct outbox_topic *t = topic_new(name, options);

	if (!t)
		return -ENOMEM;
	pthread_mutex_lock(&o->lock);
	t->next = o->topics;
	o->topics = t;
	pthread_mutex_unlock(&o->lock);
	*ret = t;
	return 0;
}

void outbox_topic_destroy(struct outbox *o, struct outbox_topic *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&o->lock);
	unlist(o, t);
	t->gone = t->n > 0;
	t->held = false;
	if (t->gone)
		t = NULL;
	pthread_mutex_unlock(&o->lock);
	mem_free(t);
}

void outbox_hold(struct outbox *o, struct outbox_topic *t, bool on)
{
	pthread_mutex_lock(&o->lock);
	t->held = on;
	for (struct outbox_item *i = on ? NULL : t->first; i; i = i->next)
		i->turn = ++o->turn;
	pthread_mutex_unlock(&o->lock);
}

uint64_t outbox_sent(struct outbox *o, const struct outbox_topic *t)
{
	uint64_t n;

	pthread_mutex_lock(&o->lock);
	n = t->sent;
	pthread_mutex_unlock(&o->lock);
	return n;
}

uint64_t outbox_lost(struct outbox *o, const struct outbox_topic *t)
{
	uint64_t n;

	pthread_mutex_lock(&o->lock);
	n = t->dropped;
	pthread_mutex_unlock(&o->lock);
	return n;
}

void outbox_each(struct outbox *o, const struct outbox_topic *t, void (*fn)(void *arg, void *body), void *arg)
{
	pthread_mutex_lock(&o->lock);
	for (const struct outbox_item *i = t->first; i; i = i->next)
		fn(arg, i->body);
	pthread_mutex_unlock(&o->lock);
}

bool outbox_dropped(struct outbox *o, char *text, size_t size)
{
	size_t n = strlen(text);

	if (!atomic_exchange(&o->dropped, false))
		return false;
	pthread_mutex_lock(&o->lock);
	if (o->gone_dropped)
		n += (size_t)snprintf(text + n, size - n, " %llu of topics that are closed, or before a reconnection;",
				      (unsigned long long)o->gone_dropped);
	for (const struct outbox_topic *t = o->topics; t && n < size; t = t->next)
		if (t->dropped)
			n += (size_t)snprintf(text + n, size - n, " %s %llu;", t->name, (unsigned long long)t->dropped);
	pthread_mutex_unlock(&o->lock);
	return true;
}

/* ---- init and finish ---- */

int outbox_init(struct outbox *o)
{
	pthread_mutex_init(&o->lock, NULL);
	thread_cond_init(&o->less);
	o->asleep = true;
	for (int urgent = 0; urgent < 2; urgent++) {
		o->said[urgent] = topic_new("", &(struct outbox_topic_options){ .urgent = urgent });
		if (!o->said[urgent])
			return -ENOMEM;
	}
	return 0;
}

/* Takes any waiting item, and the topic that is freed with it. */
static struct outbox_item *take_any(struct outbox *o, struct outbox_topic **ret_last)
{
	struct outbox_item *i = o->active ? take_first(o, o->active) : NULL;

	*ret_last = i ? leave(i) : NULL;
	return i;
}

void outbox_open(struct outbox *o, bool on)
{
	struct outbox_topic *last;
	struct outbox_item *i;

	pthread_mutex_lock(&o->lock);
	o->open = on;
	o->asleep = true;
	pthread_cond_broadcast(&o->less);
	while (!on && (i = take_any(o, &last))) {
		pthread_mutex_unlock(&o->lock);
		free_item(o, i, -ENOTCONN);
		mem_free(last);
		pthread_mutex_lock(&o->lock);
	}
	pthread_mutex_unlock(&o->lock);
}

void outbox_finish(struct outbox *o)
{
	if (!o->ops)
		return;
	outbox_open(o, false);
	while (o->free) {
		struct outbox_item *i = o->free;

		o->free = i->next;
		mem_free(i);
	}
	mem_free(o->said[0]);
	mem_free(o->said[1]);
	pthread_cond_destroy(&o->less);
	pthread_mutex_destroy(&o->lock);
}
