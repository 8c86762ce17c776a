/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a client, in order. Each subscription has a limit, beyond which its oldest message is dropped; of large
 * messages only the newest is queued. All together are limited, too. So a client that is slow, or stops reading, costs
 * that much memory, and affects no other.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foxglove.h"

#define FREE_MAX 1024u

/* ---- items ---- */

static struct item *get_item(struct sim_bridge *b)
{
	struct item *i = b->free;

	if (!i)
		return calloc(1, sizeof(*i));
	b->free = i->next;
	b->n_free--;
	*i = (struct item){ .next = NULL };
	return i;
}

static void put_item(struct sim_bridge *b, struct item *i)
{
	if (b->n_free == FREE_MAX) {
		free(i);
		return;
	}
	i->next = b->free;
	b->free = i;
	b->n_free++;
}

void foxglove_queue_finish(struct sim_bridge *b)
{
	while (b->free) {
		struct item *i = b->free;

		b->free = i->next;
		free(i);
	}
}

static size_t size_of(const struct item *i)
{
	return i->message ? i->message->total : i->len;
}

static void append(struct client *c, struct item *i)
{
	i->prev = c->last;
	if (c->last)
		c->last->next = i;
	else
		c->first = i;
	c->last = i;
	c->bytes += size_of(i);
}

static void leave(struct client *c, struct item *i)
{
	if (i->prev)
		i->prev->next = i->next;
	else
		c->first = i->next;
	if (i->next)
		i->next->prev = i->prev;
	else
		c->last = i->prev;
	i->next = i->prev = NULL;
}

/* Removes the item from its subscription, of which it is the first. */
static void leave_subscription(struct item *i)
{
	struct subscription *s = i->sub;

	if (!s)
		return;
	s->first = i->next_of_sub;
	if (!s->first)
		s->last = NULL;
	s->n--;
	i->sub = NULL;
}

void client_done(struct client *c, struct item *i, struct job **done)
{
	c->bytes -= size_of(i);
	c->n_texts -= !i->message;
	message_unref(&c->bridge->pool, i->message, done);
	free(i->text);
	put_item(c->bridge, i);
}

/*
 * Queues the latched message of each channel that had one dropped because too much was queued: it is still valid, and
 * may be the last one of its channel.
 */
static void queue_missed(struct client *c)
{
	struct job *none = NULL; /* what is latched is a copy */

	c->missed = false;
	for (struct subscription *s = c->subscriptions; s; s = s->next_of_client) {
		struct channel *ch = s->channel;

		if (s->missed && ch->latched)
			client_queue(s, ch->latched, ch->latched_sim_ns, &none);
	}
}

struct item *client_take(struct client *c)
{
	struct item *i;

	if (!c->first && c->missed)
		queue_missed(c);
	i = c->first;
	if (!i) {
		c->slow = false;
		return NULL;
	}
	leave(c, i);
	leave_subscription(i);
	return i;
}

/* ---- messages ---- */

static void drop_oldest(struct subscription *s, struct job **done)
{
	struct item *i = s->first;

	leave(s->client, i);
	leave_subscription(i);
	client_done(s->client, i, done);
	s->dropped++;
}

void client_make_room(struct subscription *s, const struct message *m, struct job **done)
{
	unsigned most = m->total > MESSAGE_SMALL_MAX ? 1 : (unsigned)atomic_load(&s->client->bridge->queue);

	while (s->n && (s->n >= most || s->client->bytes + m->total > FOXGLOVE_HELD_MAX))
		drop_oldest(s, done);
}

void client_queue(struct subscription *s, struct message *m, int64_t log_sim_ns, struct job **done)
{
	struct client *c = s->client;
	struct item *i;

	client_make_room(s, m, done);
	i = c->bytes && c->bytes + m->total > FOXGLOVE_HELD_MAX ? NULL : get_item(c->bridge);
	s->missed = !i && s->channel->latch;
	if (!i) {
		c->missed |= s->missed;
		s->dropped++;
		return;
	}
	m->refs++;
	i->message = m;
	i->sub = s;
	i->sub_id = s->id;
	i->log_sim_ns = log_sim_ns;
	append(c, i);
	if (s->last)
		s->last->next_of_sub = i;
	else
		s->first = i;
	s->last = i;
	s->n++;
}

/* ---- operations ---- */

static bool add_text(struct client *c, uint8_t *text, size_t len, bool binary)
{
	struct item *i = NULL;

	if (text && c->n_texts < FOXGLOVE_TEXTS_MAX && c->bytes + len <= FOXGLOVE_HELD_MAX)
		i = get_item(c->bridge);
	if (!i) {
		free(text);
		return false;
	}
	i->text = text;
	i->len = len;
	i->binary = binary;
	c->n_texts++;
	append(c, i);
	return true;
}

void client_say_text(struct client *c, char *text)
{
	size_t len = text ? strlen(text) : 0;
	uint8_t *copy = text ? malloc(LWS_PRE + len) : NULL;

	if (copy)
		memcpy(copy + LWS_PRE, text, len);
	free(text);
	if (!c->over)
		c->over = !add_text(c, copy, len, false);
	else
		free(copy);
}

void client_say(struct client *c, json_t *j)
{
	client_say_text(c, j ? json_dumps(j, JSON_COMPACT) : NULL);
	json_decref(j);
}

bool client_say_bytes(struct client *c, const void *head, size_t head_len, const void *data, size_t len)
{
	uint8_t *copy = len <= FOXGLOVE_HELD_MAX ? malloc(LWS_PRE + head_len + len) : NULL;

	if (!copy)
		return false;
	memcpy(copy + LWS_PRE, head, head_len);
	if (len)
		memcpy(copy + LWS_PRE + head_len, data, len);
	return add_text(c, copy, head_len + len, true);
}

void client_status(struct client *c, int level, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	client_say(c, json_pack("{s:s,s:i,s:s}", "op", "status", "level", level, "message", text));
}

/* ---- subscriptions ---- */

struct subscription *client_subscribe(struct client *c, struct channel *ch, uint32_t id)
{
	struct subscription *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct subscription){ .client = c, .channel = ch, .id = id };
	s->next_of_channel = ch->subscriptions;
	ch->subscriptions = s;
	s->next_of_client = c->subscriptions;
	c->subscriptions = s;
	c->n_subscriptions++;
	atomic_fetch_add(&ch->n_subscribers, 1);
	return s;
}

void client_unsubscribe(struct subscription *s)
{
	struct subscription **at = &s->channel->subscriptions, **mine = &s->client->subscriptions;

	while (*at != s)
		at = &(*at)->next_of_channel;
	*at = s->next_of_channel;
	while (*mine != s)
		mine = &(*mine)->next_of_client;
	*mine = s->next_of_client;
	while (s->first) /* its queued messages are still sent */
		leave_subscription(s->first);
	atomic_fetch_sub(&s->channel->n_subscribers, 1);
	s->client->n_subscriptions--;
	free(s);
}

void client_forget(struct client *c, struct job **done)
{
	struct item *i;

	while (c->subscriptions)
		client_unsubscribe(c->subscriptions);
	while ((i = client_take(c)))
		client_done(c, i, done);
	if (c->sending)
		client_done(c, c->sending, done);
	c->sending = NULL;
}

struct client *client_find(struct sim_bridge *b, unsigned id)
{
	struct client *c = b->clients;

	while (c && c->id != id)
		c = c->next;
	return c;
}

/* ---- held slots ---- */

/* Returns whether the item still holds a slot. */
static bool release_one(struct client *c, struct item *i, int64_t before_mono_ns, struct job **done)
{
	struct message *m = i ? i->message : NULL;

	if (!m || !m->job)
		return false;
	if (m->since_mono_ns > before_mono_ns)
		return true;
	c->slow = true;
	if (message_own(m) < 0)
		return true;
	job_unref(m->job, done);
	m->job = NULL;
	return false;
}

bool client_release(struct client *c, int64_t before_mono_ns, struct job **done)
{
	bool held = release_one(c, c->sending, before_mono_ns, done);

	for (struct item *i = c->first; i; i = i->next)
		held |= release_one(c, i, before_mono_ns, done);
	return held;
}
