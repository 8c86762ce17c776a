/* SPDX-License-Identifier: Apache-2.0 */
/* The depth of queues; contract in queues.h. Thread: simd-main. */
#include "queues.h"

#include "channel.h"
#include "client.h"
#include "err.h"
#include "event.h"
#include "ipc.h"
#include "parts.h"
#include "simd.h"
#include "timeutil.h"

#include <errno.h>
#include <stdio.h>

#define DEPTH_LEAST 2u
#define GIVE_DUR_NS (3 * NS_PER_S) /* how long a publisher waits for clients to shorten their queues */
#define SPARE       2              /* a queue that grows must leave as much free as it takes */

static uint32_t less(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The deepest queue that is of use and fair, regardless of room. */
static uint32_t deepest(const struct subscriber *sub)
{
	const struct channel *ch = sub->ch;
	uint32_t n = sub->wanted;

	if (ch->window < POOL_WINDOW_SMALL)
		n = less(n, ch->window);
	return less(n, pools_queue_max(&ch->s->pools, ch->pool));
}

int queues_reserve(struct subscriber *sub)
{
	struct channel *ch = sub->ch;
	struct pools *p = &ch->s->pools;
	uint32_t left;
	int r;

	sub->depth = sub->wanted;
	sub->pool = ch->pool;
	if (ch->pool < 0)
		return 0;
	sub->depth = deepest(sub);
	do {
		channel_settle(ch->s, ch->pool);
		left = pools_left(p, ch->pool);
	} while (left < sub->depth + HELD_BY_SUBSCRIBER && channel_reclaim(ch->s, ch) > 0);
	left = less(left, parts_slots_left(sub->cl, ch->pool));
	if (left > HELD_BY_SUBSCRIBER && left < sub->depth + HELD_BY_SUBSCRIBER)
		sub->depth = left - HELD_BY_SUBSCRIBER;
	sub->reserved = sub->depth + HELD_BY_SUBSCRIBER;
	r = parts_slots_ok(sub->cl, ch, ch->pool, sub->reserved);
	return r < 0 ? r : pools_reserve(p, ch->pool, sub->reserved, ch->name);
}

/* ---- giving way ---- */

/*
 * Additional slots of a class that the channel's queues would take if each held at most `cap`. uid: only that user's
 * queues; -1: all.
 */
static int64_t more_with(const struct channel *ch, int cls, uint32_t cap, int64_t uid)
{
	const struct subscriber *sub;
	int64_t n = 0;

	list_for_each(sub, &ch->subscribers, in_channel) {
		if (uid >= 0 && sub->cl->uid != (uid_t)uid)
			continue;
		n += less(subscriber_holds(sub), cap) + HELD_BY_SUBSCRIBER;
		n -= sub->pool == cls ? sub->reserved : 0;
	}
	return n;
}

static bool fits(const struct client *cl, const struct channel *ch, int cls, uint32_t cap, uint32_t slots)
{
	return more_with(ch, cls, cap, -1) + slots <= pools_left(&ch->s->pools, cls) &&
	       more_with(ch, cls, cap, cl->uid) + slots <= parts_slots_left(cl, cls);
}

static bool is_to_shrink(const struct subscriber *sub)
{
	return sub->offered && sub->offered < sub->depth;
}

/* How many queues are deeper than cap. ret_asked: whether some were asked to shrink already. */
static uint32_t n_deeper(const struct channel *ch, uint32_t cap, bool *ret_asked)
{
	const struct subscriber *sub;
	uint32_t n = 0;

	*ret_asked = false;
	list_for_each(sub, &ch->subscribers, in_channel) {
		n += subscriber_holds(sub) > cap;
		*ret_asked |= is_to_shrink(sub);
	}
	return n;
}

static void shorten(struct channel *ch, uint32_t cap)
{
	struct subscriber *sub;
	bool news = false;

	list_for_each(sub, &ch->subscribers, in_channel) {
		if (subscriber_holds(sub) <= cap || sub->offered == cap)
			continue;
		if (sub->offered > sub->depth)
			sub->depth = sub->offered; /* its client may have made the offered queue by now */
		sub->offered = cap;
		news = true;
	}
	if (news)
		event_queues(ch->s, ch->name);
}

/* The largest depth that leaves room; 0: no depth does. */
static uint32_t cap_for(const struct client *cl, struct channel *ch, int cls, uint32_t slots)
{
	uint32_t cap = IPC_DEPTH_MAX;
	char why[ERR_WHY_MAX];

	snprintf(why, sizeof(why), "%s", err_why());
	channel_settle(ch->s, cls);
	while (cap >= DEPTH_LEAST && !fits(cl, ch, cls, cap, slots))
		cap /= 2;
	err_tell("%s", why); /* the checks above may have set another error text */
	return cap < DEPTH_LEAST ? 0 : cap;
}

int queues_give_way(const struct client *cl, struct channel *ch, int cls, uint32_t slots)
{
	uint32_t cap = cap_for(cl, ch, cls, slots);
	int64_t now = exec_now(ch->s->x);
	bool asked;

	if (!cap)
		return -ENOSPC;
	if (n_deeper(ch, cap, &asked) == 0)
		return -ENOSPC;
	ch->shrinks_pool = cls;
	if (!asked)
		ch->shrinks_mono_ns = now;
	else if (now - ch->shrinks_mono_ns >= GIVE_DUR_NS)
		return -ENOSPC;
	shorten(ch, cap);
	return err_set(-EAGAIN,
		       "channel %s: its subscribers' queues are being shortened to make room; try again in a moment",
		       ch->name);
}

/* ---- getting more ---- */

uint32_t queues_told(struct subscriber *sub, uint32_t depth)
{
	uint32_t need = depth + HELD_BY_SUBSCRIBER;

	if (sub->offered && sub->offered == depth) {
		if (sub->reserved > need) {
			pools_release(&sub->ch->s->pools, sub->pool, sub->reserved - need);
			sub->reserved = need;
		}
		sub->depth = depth;
		sub->offered = 0;
	}
	return sub->offered ? sub->offered : sub->depth;
}

static bool gives_way(const struct channel *ch)
{
	return ch->shrinks_mono_ns && exec_now(ch->s->x) - ch->shrinks_mono_ns < GIVE_DUR_NS;
}

/* Bit mask of the classes in which a publisher waits for room: what queues free there is for it. */
static uint64_t awaited(const struct simd *s)
{
	const struct channel *ch;
	uint64_t classes = 0;

	list_for_each(ch, &s->channels, link)
		if (gives_way(ch))
			classes |= UINT64_C(1) << ch->shrinks_pool;
	return classes;
}

/*
 * Offers a deeper queue if that doubles the depth or reaches the depth that the client asked for; less is not worth
 * another port.
 */
static bool lengthen(struct subscriber *sub)
{
	struct channel *ch = sub->ch;
	struct pools *p = &ch->s->pools;
	uint32_t most, left;

	if (sub->pool < 0 || sub->offered || sub->depth >= sub->wanted)
		return false;
	most = deepest(sub);
	if (most <= sub->depth)
		return false;
	left = less(pools_left(p, sub->pool), parts_slots_left(sub->cl, sub->pool)) / SPARE;
	most = less(most, sub->depth + left);
	if ((most < 2 * sub->depth && most < sub->wanted) ||
	    pools_reserve(p, sub->pool, most - sub->depth, ch->name) < 0)
		return false;
	sub->reserved += most - sub->depth;
	sub->offered = most;
	return true;
}

/* Slots that each user who publishes on the channel may still have. */
static uint32_t users_left(const struct channel *ch)
{
	const struct publisher *p;
	uint32_t left = UINT32_MAX;

	list_for_each(p, &ch->publishers, in_channel)
		left = less(left, parts_slots_left(p->cl, ch->pool));
	return left;
}

static void widen(struct channel *ch)
{
	uint32_t more = channel_missing(ch);

	if (more && pools_left(&ch->s->pools, ch->pool) >= SPARE * more && users_left(ch) >= SPARE * more)
		channel_widen(ch, more);
}

void queues_look(struct simd *s)
{
	uint64_t waits_for = awaited(s);
	struct subscriber *sub;
	struct channel *ch;

	if (!s->dataplane.ready || s->stopping)
		return;
	list_for_each(ch, &s->channels, link) {
		bool news = false;

		if (ch->pool < 0 || (waits_for >> ch->pool & 1) || gives_way(ch))
			continue;
		widen(ch);
		list_for_each(sub, &ch->subscribers, in_channel)
			news |= lengthen(sub);
		if (news)
			event_queues(s, ch->name);
	}
}
