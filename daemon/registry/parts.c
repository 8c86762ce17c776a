/* SPDX-License-Identifier: Apache-2.0 */
/* What one user has; contract in parts.h. Thread: simd-main. */
#include "parts.h"

#include "channel.h"
#include "client.h"
#include "err.h"
#include "simd.h"

#include <errno.h>
#include <sim/slot.h>

/* ---- numbers ---- */

static bool publishes(const struct channel *ch, uid_t uid)
{
	const struct publisher *p;

	list_for_each(p, &ch->publishers, in_channel)
		if (p->cl->uid == uid)
			return true;
	return false;
}

static bool is_of_user(const struct channel *ch, uid_t uid)
{
	const struct subscriber *sub;

	list_for_each(sub, &ch->subscribers, in_channel)
		if (sub->cl->uid == uid)
			return true;
	return publishes(ch, uid);
}

/*
 * Whether a client may join the channel with one more of `what`, of which its user has n. A channel that is not in use
 * yet counts for the user as well.
 */
static int part_ok(const struct client *cl, const struct channel *ch, const char *what, uint32_t n, uint32_t limit)
{
	const struct simd *s = cl->s;
	const struct channel *other;
	uint32_t channels = 0;
	int r = client_part_ok(cl, what, n, limit);

	if (r == 0 && !ch->n_publishers && !ch->n_subscribers) {
		list_for_each(other, &s->channels, link)
			channels += is_of_user(other, cl->uid);
		r = client_part_ok(cl, "channels", channels, s->limits.channels);
	}
	return r < 0 ? err_prefix(r, "channel %s", ch->name) : 0;
}

int parts_publisher_ok(const struct client *cl, const struct channel *ch)
{
	const struct client *other;
	uint32_t n = 0;

	list_for_each(other, &cl->s->clients, link)
		n += other->uid == cl->uid ? other->n_publishers : 0;
	return part_ok(cl, ch, "publishers", n, cl->s->limits.publishers);
}

int parts_subscriber_ok(const struct client *cl, const struct channel *ch)
{
	const struct client *other;
	uint32_t n = 0;

	list_for_each(other, &cl->s->clients, link)
		n += other->uid == cl->uid ? other->n_subscribers : 0;
	return part_ok(cl, ch, "subscribers", n, cl->s->limits.subscribers);
}

/* ---- slots ---- */

static uint32_t slots_of(const struct client *cl, int cls)
{
	const struct subscriber *sub;
	const struct publisher *p;
	uint32_t n = 0;

	list_for_each(p, &cl->publishers, in_client)
		n += p->pool == cls ? pools_per_publisher(&cl->s->pools, cls) : 0;
	list_for_each(sub, &cl->subscribers, in_client)
		n += sub->pool == cls ? sub->reserved : 0;
	return n;
}

static uint32_t slots_of_user(const struct simd *s, uid_t uid, int cls)
{
	const struct channel *ch;
	const struct client *cl;
	uint32_t n = 0;

	list_for_each(cl, &s->clients, link)
		n += cl->uid == uid ? slots_of(cl, cls) : 0;
	list_for_each(ch, &s->channels, link)
		n += ch->pool == cls && publishes(ch, uid) ? ch->reserved : 0;
	return n;
}

static int64_t bytes_of_user(const struct simd *s, uid_t uid)
{
	int64_t n = 0;

	for (unsigned i = 0; i < s->pools.n; i++)
		n += slots_of_user(s, uid, (int)i) * pools_slot_bytes(&s->pools, (int)i);
	return n;
}

uint32_t parts_slots_left(const struct client *cl, int cls)
{
	const struct simd *s = cl->s;

	if (client_is_unbounded(cl))
		return UINT32_MAX;
	return pools_part_left(&s->pools, cls, s->limits.per_user_percent, slots_of_user(s, cl->uid, cls),
			       bytes_of_user(s, cl->uid));
}

int parts_slots_ok(const struct client *cl, const struct channel *ch, int cls, uint32_t more)
{
	const struct pools *p = &cl->s->pools;
	uint32_t left = parts_slots_left(cl, cls);

	if (more <= left)
		return 0;
	if (p->memory)
		return err_set(
			-ENOSPC,
			"channel %s needs %u slots of up to %llu bytes, %lld MiB; user %u has %lld MiB of the data "
			"plane, and limits.per_user_percent (%u %%) allows it %lld MiB more: end publishers or "
			"subscribers, or raise it",
			ch->name, more, (unsigned long long)p->c[cls].size,
			(long long)(more * pools_slot_bytes(p, cls) >> 20), cl->uid,
			(long long)(bytes_of_user(cl->s, cl->uid) >> 20), cl->s->limits.per_user_percent,
			(long long)(left * pools_slot_bytes(p, cls) >> 20));
	return err_set(
		-ENOSPC,
		"channel %s needs %u slots of up to %llu bytes; of the %u there are, user %u has %u, and "
		"limits.per_user_percent (%u %%) allows it %u more: end publishers or subscribers, raise the pool's "
		"count in \"pools\", or leave out \"pools\"",
		ch->name, more, (unsigned long long)p->c[cls].size, p->c[cls].count, cl->uid,
		slots_of_user(cl->s, cl->uid, cls), cl->s->limits.per_user_percent, left);
}

/* Slots that the queues of the client's user would take in addition if the channel moved to that class. */
static uint32_t queues_move(const struct client *cl, const struct channel *ch, int cls)
{
	const struct subscriber *sub;
	uint32_t n = 0;

	if (ch->pool == cls)
		return 0;
	list_for_each(sub, &ch->subscribers, in_channel)
		n += sub->cl->uid == cl->uid ? subscriber_holds(sub) + HELD_BY_SUBSCRIBER : 0;
	return n;
}

/* The widest window for which the user's part has room beside `others`; the least if it has none. */
static uint32_t window_for(const struct client *cl, const struct channel *ch, int cls, uint64_t slot_size,
			   uint32_t others)
{
	uint32_t least = channel_window_least(ch, slot_size, cls), window = channel_window(ch, slot_size, cls);
	uint32_t left = parts_slots_left(cl, cls);

	while (window > least && others + window > left)
		window = window / 2 > least ? window / 2 : least;
	return window;
}

int parts_publish_ok(const struct client *cl, const struct channel *ch, uint64_t max_body, bool local,
		     uint32_t *ret_window)
{
	int own = pools_body_class(&cl->s->pools, max_body), cls = channel_class_with(ch, max_body, own);
	uint32_t others, window = 0;
	int r = 0;

	*ret_window = 0;
	if (client_is_unbounded(cl))
		return 0;
	if (own < 0)
		return err_prefix(own, "channel %s", ch->name);
	others = queues_move(cl, ch, cls);
	if (own != cls)
		r = parts_slots_ok(cl, ch, own, pools_per_publisher(&cl->s->pools, own));
	else
		others += pools_per_publisher(&cl->s->pools, own);
	if (!local && (ch->pool != cls || !publishes(ch, cl->uid)))
		window = window_for(cl, ch, cls, pools_slot_of(max_body), others);
	if (r == 0)
		r = parts_slots_ok(cl, ch, cls, others + window);
	if (r == 0)
		*ret_window = window;
	return r;
}
