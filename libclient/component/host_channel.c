/* SPDX-License-Identifier: Apache-2.0 */
#include "host_channel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel_name.h"
#include "err.h"
#include "mem.h"

/* ---- find or make ---- */

static struct host_channel *host_channel_find(struct sim_host *h, const char *name)
{
	struct host_channel *ch;

	list_for_each(ch, &h->channels, link)
		if (strcmp(ch->name, name) == 0)
			return ch;
	return NULL;
}

static int host_channel_new(struct sim_host *h, const char *name, struct host_channel **ret)
{
	struct host_channel *ch = MEM_NEW(struct host_channel);

	if (!ch)
		return err_nomem();
	ch->h = h;
	snprintf(ch->name, sizeof(ch->name), "%s", name);
	list_init(&ch->sinks);
	list_init(&ch->writers);
	pthread_mutex_init(&ch->lock, NULL);
	pthread_mutex_init(&ch->setup, NULL);
	list_append(&h->channels, &ch->link);
	*ret = ch;
	return 0;
}

static int full_name(const struct sim_host *h, const char *channel, char ret[SIM_CHANNEL_MAX + 1])
{
	if (!channel)
		return err_set(-EINVAL, "a channel's name has 1 to %d characters", SIM_CHANNEL_MAX);
	if (h->client)
		return sim_channel_full_name(h->client, channel, ret, SIM_CHANNEL_MAX + 1);
	return channel_name_full("", channel, ret);
}

static int check_type(const struct host_channel *ch, const struct sim_type *type)
{
	if (!type || !ch->type || sim_type_equal(ch->type, type))
		return 0;
	if (strcmp(ch->type->name, type->name) == 0)
		return err_set(
			-EMEDIUMTYPE,
			"channel %s carries another version of %s in this host (hash %016llx, not %016llx); rebuild "
			"both sides from the same definition",
			ch->name, type->name, (unsigned long long)ch->type->hash, (unsigned long long)type->hash);
	return err_set(-EMEDIUMTYPE,
		       "channel %s is of %s in this host, and %s was asked for; use one type on both sides", ch->name,
		       ch->type->name, type->name);
}

/*
 * Keeps a type for as long as the channel lives, which may be longer than the component's library that holds its table:
 * makes a copy unless the type is counted.
 */
static int keep_type(const struct sim_type *type, const struct sim_type **ret)
{
	char *json;
	int r;

	if (type->flags & SIM_TYPE_COUNTED) {
		*ret = sim_type_ref(type);
		return 0;
	}
	r = sim_type_to_json(type, &json);
	if (r < 0)
		return r;
	r = sim_type_from_json(json, strlen(json), ret);
	free(json);
	return r;
}

int host_channel_get(struct sim_host *h, const char *name, const struct sim_type *type, struct host_channel **ret)
{
	char full[SIM_CHANNEL_MAX + 1];
	struct host_channel *ch;
	int r = full_name(h, name, full);

	if (r < 0)
		return r;
	pthread_mutex_lock(&h->lock);
	ch = host_channel_find(h, full);
	if (!ch)
		r = host_channel_new(h, full, &ch);
	if (r == 0)
		r = check_type(ch, type);
	if (r == 0 && !ch->type && type)
		r = keep_type(type, &ch->type);
	if (ch)
		ch->refs++;
	pthread_mutex_unlock(&h->lock);
	if (r < 0)
		host_channel_unref(ch);
	else
		*ret = ch;
	return r;
}

void host_channel_ref(struct host_channel *ch)
{
	pthread_mutex_lock(&ch->h->lock);
	ch->refs++;
	pthread_mutex_unlock(&ch->h->lock);
}

void host_channel_unref(struct host_channel *ch)
{
	bool last;

	if (!ch)
		return;
	pthread_mutex_lock(&ch->h->lock);
	last = --ch->refs == 0;
	if (last)
		list_remove(&ch->link);
	pthread_mutex_unlock(&ch->h->lock);
	if (!last)
		return;
	sim_type_unref(ch->type);
	pthread_mutex_destroy(&ch->lock);
	pthread_mutex_destroy(&ch->setup);
	mem_free(ch);
}

/* ---- readers ---- */

/* Under setup. */
static int host_channel_receive(struct host_channel *ch, const struct sink *s)
{
	struct intake *in;
	int r;

	if (!ch->h->client || ch->intake)
		return 0;
	r = intake_create(ch, s->depth, s->latched, &in);
	if (r < 0)
		return r;
	pthread_mutex_lock(&ch->lock);
	ch->intake = in;
	pthread_mutex_unlock(&ch->lock);
	return host_receives(ch->h) ? intake_start(in) : 0;
}

static void insert(struct host_channel *ch, struct sink *s)
{
	struct list *behind = ch->sinks.prev;

	while (behind != &ch->sinks && list_entry(behind, struct sink, link)->place > s->place)
		behind = behind->prev;
	list_insert(behind, &s->link);
}

static void sink_add(struct host_channel *ch, struct sink *s)
{
	pthread_mutex_lock(&ch->lock);
	insert(ch, s);
	atomic_fetch_add(&ch->n_sinks, 1);
	pthread_mutex_unlock(&ch->lock);
}

/* Removes a reader. After the last one the intake is not needed: returns it. */
static struct intake *sink_remove(struct host_channel *ch, struct sink *s)
{
	struct intake *idle = NULL;

	pthread_mutex_lock(&ch->lock);
	if (!list_empty(&s->link) && atomic_fetch_sub(&ch->n_sinks, 1) == 1) {
		idle = ch->intake;
		ch->intake = NULL;
	}
	if (ch->next == &s->link)
		ch->next = s->link.next;
	list_remove(&s->link);
	pthread_mutex_unlock(&ch->lock);
	return idle;
}

int host_channel_add(struct host_channel *ch, struct sink *s)
{
	struct intake *idle = NULL;
	int r;

	host_enter(ch->h);
	pthread_mutex_lock(&ch->setup);
	sink_add(ch, s);
	r = host_channel_receive(ch, s);
	if (r < 0)
		idle = sink_remove(ch, s);
	pthread_mutex_unlock(&ch->setup);
	host_leave(ch->h);
	intake_destroy(idle);
	return r;
}

void host_channel_remove(struct host_channel *ch, struct sink *s)
{
	struct intake *idle;

	host_enter(ch->h);
	pthread_mutex_lock(&ch->setup);
	idle = sink_remove(ch, s);
	pthread_mutex_unlock(&ch->setup);
	host_leave(ch->h);
	intake_destroy(idle);
}

int host_channel_start(struct host_channel *ch)
{
	int r = 0;

	pthread_mutex_lock(&ch->setup);
	if (ch->intake)
		r = intake_start(ch->intake);
	pthread_mutex_unlock(&ch->setup);
	return r;
}

int host_channel_deaf(struct host_channel *ch, int r)
{
	char node[NODE_NAME_MAX + 1] = "", others[64] = "";
	const struct sink *s;
	size_t n;

	pthread_mutex_lock(&ch->lock);
	s = list_first(&ch->sinks, struct sink, link);
	n = list_count(&ch->sinks);
	snprintf(node, sizeof(node), "%s", s ? s->node : "");
	pthread_mutex_unlock(&ch->lock);
	if (n > 1)
		snprintf(others, sizeof(others), ", as those of %zu other nodes,", n - 1);
	return err_prefix(r, "node %s: its reader of %s%s gets nothing any more", node, ch->name, others);
}

uint64_t host_channel_lost(struct host_channel *ch)
{
	uint64_t n;

	pthread_mutex_lock(&ch->lock);
	n = ch->intake ? intake_lost(ch->intake) : 0;
	pthread_mutex_unlock(&ch->lock);
	return n;
}

/* ---- delivery ---- */

/* Takes m: the last reader gets the caller's reference. */
static void hand_out(struct host_channel *ch, struct msg *m, int64_t now_sim_ns)
{
	struct sink *s, *next;

	list_for_each_safe(s, next, &ch->sinks, link) {
		bool last = &next->link == &ch->sinks;

		s->put(s, last ? m : msg_ref_held(m), now_sim_ns);
		if (last)
			return;
	}
	msg_unref(m);
}

/* Takes m. Callbacks may destroy readers, their own as well. */
static void hand_out_in_turn(struct host_channel *ch, struct msg *m, int64_t now_sim_ns)
{
	for (struct list *at = ch->sinks.next; at != &ch->sinks; at = ch->next) {
		struct sink *s = list_entry(at, struct sink, link);

		ch->next = at->next;
		s->put(s, msg_ref_held(m), now_sim_ns);
	}
	ch->next = NULL;
	msg_unref(m);
}

static int deliver_in_turn(struct host_channel *ch, struct msg *m, int64_t now_sim_ns)
{
	if (ch->delivering) {
		msg_unref(m);
		return err_set(-EDEADLK, "channel %s: one of its own callbacks writes to it, which would never end",
			       ch->name);
	}
	ch->delivering = true;
	host_channel_ref(ch); /* callbacks may destroy its last reader and its writer */
	hand_out_in_turn(ch, m, now_sim_ns);
	ch->delivering = false;
	host_channel_unref(ch);
	return 0;
}

int host_channel_deliver(struct host_channel *ch, struct msg *m, int64_t now_sim_ns)
{
	struct sim_host *h = ch->h;
	int r = 0;

	if (host_simulates(h)) {
		host_enter(h);
		r = deliver_in_turn(ch, m, now_sim_ns);
		host_leave(h);
		return r;
	}
	pthread_mutex_lock(&ch->lock);
	hand_out(ch, m, now_sim_ns);
	pthread_mutex_unlock(&ch->lock);
	return 0;
}
