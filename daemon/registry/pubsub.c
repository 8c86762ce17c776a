/* SPDX-License-Identifier: Apache-2.0 */
/* Publishers and subscribers; contract in pubsub.h. Thread: simd-main. */
#include "pubsub.h"

#include "channel.h"
#include "channel_name.h"
#include "client.h"
#include "err.h"
#include "log.h"
#include "mem.h"
#include "parts.h"
#include "queues.h"
#include "names.h"
#include "rig.h"
#include "shards.h"
#include "simd.h"
#include "slot_reclaim.h"

#include "dispatch.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

LOG_TOPIC("channel");

/* ---- admission ---- */

static int session_ok(const struct client *cl, const char *what)
{
	if (cl->role == CLIENT_TOOL)
		return err_set(-EPERM, "a tool has no data plane and cannot %s; use another role in Hello", what);
	if (cl->s->stopping)
		return err_set(-ESHUTDOWN, "simd is shutting down");
	if (!cl->s->dataplane.ready)
		return err_set(-ESTALE, "the data plane is restarting; try again in a moment");
	return 0;
}

static bool listed(const struct rig *rig, const char *full)
{
	char pattern[PATTERN_MAX + 1];

	for (size_t i = 0; i < conf_count(rig->view, "inbound"); i++) {
		names_pattern_full(rig->prefix, conf_string_at(rig->view, "inbound", i), pattern);
		if (names_glob(pattern, full))
			return true;
	}
	return false;
}

/* Messages from bridges are commands from outside: a bridge may publish only channels that the rig lists. */
static int inbound_ok(const struct client *cl, const struct channel *ch)
{
	if (cl->role != CLIENT_BRIDGE)
		return 0;
	if (cl->rig && listed(cl->rig, ch->name))
		return 0;
	return err_set(-EACCES, "bridge %s may not write channel %s: add it to \"inbound\" of rig %s to allow that",
		       cl->name, ch->name, cl->rig ? cl->rig->name : "(none)");
}

static int host_ok(const struct advertise *a)
{
	if (!a->host || channel_name_made_of(a->host, SIM_HOST_NAME_MAX, "_.-"))
		return 0;
	return err_set(-EINVAL, "\"host\": \"%.60s\" is not 1 to %d letters, digits, '_', '.' or '-'", a->host,
		       SIM_HOST_NAME_MAX);
}

static int limits_ok(const struct client *cl, const struct channel *ch)
{
	const struct simd *s = cl->s;
	int r = parts_publisher_ok(cl, ch);

	if (r < 0)
		return r;
	if (s->n_publishers >= s->limits.publishers)
		return err_set(-EMFILE, "channel %s: %u publishers exist, limits.publishers allows no more", ch->name,
			       s->n_publishers);
	if (cl->n_publishers >= s->limits.per_client)
		return err_set(-EMFILE, "channel %s: client %s has %u publishers, limits.per_client allows no more",
			       ch->name, cl->name, cl->n_publishers);
	return 0;
}

static uint32_t kind(uint32_t flags)
{
	return flags & (ADVERTISE_LOCAL | ADVERTISE_INBOUND);
}

static const char *kind_name(uint32_t flags)
{
	switch (kind(flags)) {
	case ADVERTISE_LOCAL:
		return "local-only";
	case ADVERTISE_INBOUND:
		return "inbound";
	default:
		return "dispatching";
	}
}

/*
 * Local-only publishers take no credit, so next to dispatching ones they would push messages out of simd's queue.
 * Inbound messages go to fewer bridges than those published here.
 */
static int mix_ok(const struct channel *ch, uint32_t flags)
{
	struct publisher *p;

	list_for_each(p, &ch->publishers, in_channel) {
		if (kind(p->flags) != kind(flags))
			return err_set(-EINVAL,
				       "channel %s has %s publishers of %s; one channel cannot have both kinds",
				       ch->name, kind_name(p->flags), p->cl->name);
	}
	if ((flags & ADVERTISE_LOCAL) && ch->open)
		return err_set(-EINVAL, "channel %s is carried by dispatch; a local-only publisher cannot join it",
			       ch->name);
	return 0;
}

/* ---- publishers ---- */

static bool number_taken(const struct simd *s, uint32_t id)
{
	const struct channel *ch;
	const struct publisher *p;

	list_for_each(ch, &s->channels, link)
		list_for_each(p, &ch->publishers, in_channel)
			if (p->id == id)
				return true;
	return false;
}

/*
 * The number ends with the shard, which so recognises its own claims. Numbers are reused only after millions of others.
 */
static uint32_t next_publisher(struct simd *s, uint32_t shard)
{
	uint32_t id;

	do
		id = ++s->next_publisher << WIRE_SHARD_BITS | shard;
	while (id < WIRE_SHARDS_MAX || id == UINT32_MAX || number_taken(s, id));
	return id;
}

static int publisher_add(struct client *cl, struct channel *ch, const struct advertise *a, struct publisher **ret)
{
	struct simd *s = cl->s;
	struct publisher *p = MEM_NEW(struct publisher);
	int row;

	if (!p)
		return err_nomem();
	p->pool = pools_body_class(&s->pools, (uint64_t)a->max_body);
	row = p->pool < 0 ? p->pool : client_row_get(cl);
	if (row >= 0) {
		int r = channel_reserve(ch, p->pool, pools_per_publisher(&s->pools, p->pool));

		if (r < 0) {
			client_row_put(cl, (uint32_t)row);
			row = r;
		}
	}
	if (row < 0) {
		mem_free(p);
		return row;
	}
	p->id = next_publisher(s, ch->shard);
	p->row = (uint32_t)row;
	p->flags = (uint32_t)a->flags;
	p->max_body = (uint64_t)a->max_body;
	snprintf(p->host, sizeof(p->host), "%s", a->host ? a->host : "");
	p->ch = ch;
	p->cl = cl;
	p->counters = &cl->page->row[row];
	atomic_store(&p->counters->publisher_id, p->id);
	list_append(&ch->publishers, &p->in_channel);
	list_append(&cl->publishers, &p->in_client);
	ch->n_publishers++;
	cl->n_publishers++;
	s->n_publishers++;
	*ret = p;
	return 0;
}

static void publisher_destroy(struct publisher *p)
{
	struct simd *s = p->cl->s;
	struct channel *ch = p->ch;

	slot_reclaim_ended(p->cl, p->id, atomic_load(&p->counters->origin), ch->name, !(p->flags & ADVERTISE_LOCAL));
	channel_close_totals(ch, p->counters);
	atomic_store(&p->counters->publisher_id, 0);
	client_row_put(p->cl, p->row);
	pools_release(&s->pools, p->pool, pools_per_publisher(&s->pools, p->pool));
	list_remove(&p->in_channel);
	list_remove(&p->in_client);
	ch->n_publishers--;
	p->cl->n_publishers--;
	s->n_publishers--;
	ch->idle_mono_ns = exec_now(s->x);
	mem_free(p);
}

/* window: upper limit, 0: none; queues_look() widens the window again when there is room. */
static int set_size(struct channel *ch, uint64_t max_body, uint32_t window)
{
	uint32_t before = ch->window;
	int r;

	if (window && (!before || window < before))
		ch->window = window;
	r = channel_set_size(ch, max_body);
	if (r < 0)
		ch->window = before;
	return r;
}

/* Prepares the channel; after that only the publisher itself is missing. */
static int prepare(struct client *cl, const struct advertise *a, struct channel *ch)
{
	uint32_t window;
	int r = inbound_ok(cl, ch);

	if (r == 0)
		r = limits_ok(cl, ch);
	if (r == 0)
		r = mix_ok(ch, (uint32_t)a->flags);
	if (r == 0)
		r = channel_set_type(ch, a->type);
	if (r == 0)
		r = parts_publish_ok(cl, ch, (uint64_t)a->max_body, a->flags & ADVERTISE_LOCAL, &window);
	if (r == 0)
		r = set_size(ch, (uint64_t)a->max_body, window);
	return r;
}

/* An inbound message that no bridge to other machines carries is for local subscribers only. */
static int settle_inbound(const struct client *cl, const struct channel *ch, struct advertise *a)
{
	if (!(a->flags & ADVERTISE_INBOUND))
		return 0;
	if (cl->role != CLIENT_BRIDGE)
		return err_set(-EPERM,
			       "channel %s: client %s is not a bridge, and only bridges publish inbound "
			       "messages",
			       ch->name, cl->name);
	if ((a->flags & ADVERTISE_LOCAL) || !cl->s->channel_events->linked(ch))
		a->flags = (a->flags & ~(int64_t)ADVERTISE_INBOUND) | ADVERTISE_LOCAL;
	return 0;
}

static int may_have_name(const struct client *cl, const struct channel *ch)
{
	const char *whose = cl->id == CLIENT_SIMD ? NULL : channel_name_reserved(ch->name);

	if (!whose)
		return 0;
	return err_set(-EPERM, "channel %s: only %s may publish under that name; choose another", ch->name, whose);
}

static void warn_second_clock(const struct client *cl, const struct channel *ch)
{
	if (cl->id != CLIENT_SIMD && strcmp(ch->name, CLOCK_CHANNEL) == 0)
		log_limited(&cl->s->limit, exec_now(cl->s->x), LOG_LEVEL_WARN,
			    "client %s (pid %d) publishes %s as well: subscribers get two clocks; end one of them",
			    cl->name, (int)cl->pid, CLOCK_CHANNEL);
}

static int tell_dispatch(const struct publisher *p, int *ret_bell)
{
	struct client *cl = p->cl;
	int r = client_join(cl, p->ch->shard, ret_bell);

	if (r < 0)
		return r;
	r = dispatch_publisher_add(shard_of(cl->s, p->ch->shard), p->id, p->ch->id, cl->id, p->max_body, p->counters);
	return r < 0 ? err_set(r, "channel %s: dispatch refused the publisher: %s", p->ch->name, err_text(r)) : 0;
}

/*
 * Without room for a publisher of such messages (p NULL: a new one), makes the queues of its channel shrink, or its
 * window.
 */
static int give_way(struct client *cl, struct channel *ch, const struct publisher *p, uint64_t max_body, bool local)
{
	const struct pools *pools = &cl->s->pools;
	int own = pools_body_class(pools, max_body), cls = channel_class_with(ch, max_body, own);
	uint32_t slots = own == cls && !(p && p->pool == cls) ? pools_per_publisher(pools, cls) : 0;
	bool same = local || (ch->open && ch->pool == cls);
	uint64_t size = pools_slot_of(max_body);
	uint32_t window = same ? 0 : channel_window(ch, size, cls);
	uint32_t least = same ? 0 : channel_window_least(ch, size, cls);
	int r = queues_give_way(cl, ch, cls, slots + window);

	return r == -ENOSPC && least < window ? queues_give_way(cl, ch, cls, slots + least) : r;
}

/* Makes the publisher and, unless it is local-only, opens the channel; if one fails, undoes the other. */
static int join(struct client *cl, struct advertise *a, struct channel *ch, struct publisher **ret, int *ret_bell)
{
	struct publisher *p;
	int r = publisher_add(cl, ch, a, &p);

	if (r < 0)
		return r;
	*ret_bell = -1;
	if (!(a->flags & ADVERTISE_LOCAL)) {
		r = channel_open(ch, a->flags & ADVERTISE_INBOUND); /* after its own slots: a window can be smaller */
		if (r == 0)
			r = tell_dispatch(p, ret_bell);
	}
	if (r < 0) {
		publisher_destroy(p);
		return r;
	}
	*ret = p;
	return 0;
}

int pubsub_advertise(struct client *cl, const struct advertise *asked, struct publisher **ret, int *ret_bell)
{
	struct advertise a = *asked;
	struct channel *ch = NULL;
	struct publisher *p = NULL;
	int r = session_ok(cl, "publish");

	if (r == 0)
		r = host_ok(&a);
	if (r == 0)
		r = channel_get(cl->s, cl->rig, a.channel, &ch);
	if (r == 0)
		r = may_have_name(cl, ch);
	if (r == 0)
		r = settle_inbound(cl, ch, &a);
	if (r == 0)
		r = channel_retype(&ch, a.type);
	if (r < 0)
		return r;
	r = prepare(cl, &a, ch);
	if (r == 0)
		r = join(cl, &a, ch, &p, ret_bell);
	if (r == -ENOSPC)
		r = give_way(cl, ch, NULL, (uint64_t)a.max_body, a.flags & ADVERTISE_LOCAL);
	if (r < 0)
		return r;
	warn_second_clock(cl, ch);
	log_debug("%s publishes %s (%s)", cl->name, ch->name, ch->type);
	*ret = p;
	return 0;
}

static int find_publisher(const struct client *cl, uint32_t publisher_id, struct publisher **ret)
{
	struct publisher *p;

	list_for_each(p, &cl->publishers, in_client) {
		if (p->id == publisher_id) {
			*ret = p;
			return 0;
		}
	}
	return err_set(-ENOENT, "client %s has no publisher %u", cl->name, publisher_id);
}

int pubsub_unadvertise(struct client *cl, uint32_t publisher_id)
{
	struct publisher *p;
	int r = find_publisher(cl, publisher_id, &p);

	if (r < 0)
		return r;
	if (!(p->flags & ADVERTISE_LOCAL))
		(void)dispatch_publisher_del(shard_of(cl->s, p->ch->shard), p->id);
	publisher_destroy(p);
	return 0;
}

/* Moves publisher and channel to slots of that class, or neither. */
static int move(struct publisher *p, int cls, uint64_t max_body, uint32_t window)
{
	struct pools *pools = &p->cl->s->pools;
	int pool, r = channel_reserve(p->ch, cls, pools_per_publisher(pools, cls));

	if (r < 0)
		return r;
	r = set_size(p->ch, max_body, window);
	pool = r < 0 ? cls : p->pool;
	pools_release(pools, pool, pools_per_publisher(pools, pool));
	if (r == 0)
		p->pool = cls;
	return r;
}

static int grow(struct publisher *p, int cls, uint64_t max_body)
{
	uint32_t window;
	int r = parts_publish_ok(p->cl, p->ch, max_body, p->flags & ADVERTISE_LOCAL, &window);

	if (r == 0)
		r = cls != p->pool ? move(p, cls, max_body, window) : set_size(p->ch, max_body, window);
	if (r == 0)
		p->max_body = max_body;
	return r;
}

int pubsub_enlarge(struct client *cl, uint32_t publisher_id, uint64_t max_body, struct publisher **ret)
{
	struct publisher *p;
	int cls, r = session_ok(cl, "publish");

	if (r == 0)
		r = find_publisher(cl, publisher_id, &p);
	if (r < 0)
		return r;
	*ret = p;
	if (max_body <= p->max_body)
		return 0;
	cls = pools_body_class(&cl->s->pools, max_body);
	if (cls < 0)
		return err_prefix(cls, "channel %s", p->ch->name);
	r = grow(p, cls, pools_body_max(&cl->s->pools, cls));
	return r == -ENOSPC ? give_way(cl, p->ch, p, max_body, p->flags & ADVERTISE_LOCAL) : r;
}

int pubsub_when_enlarged(const struct publisher *p, dispatch_fn fn, void *arg)
{
	int r = dispatch_publisher_resize(shard_of(p->cl->s, p->ch->shard), p->id, p->max_body, fn, arg);

	return r < 0 ? err_set(r, "channel %s: dispatch refused its larger messages: %s", p->ch->name, err_text(r)) : 0;
}

/* ---- subscribers ---- */

static int subscriber_limits(const struct client *cl, const struct channel *ch)
{
	const struct simd *s = cl->s;
	int r = parts_subscriber_ok(cl, ch);

	if (r < 0)
		return r;
	if (s->n_subscribers + s->n_simd_subs >= s->limits.subscribers)
		return err_set(-EMFILE, "channel %s: %u subscribers exist, limits.subscribers allows no more", ch->name,
			       s->limits.subscribers);
	if (ch->n_subscribers >= s->limits.subscribers_per_channel)
		return err_set(-EMFILE, "channel %s has %u subscribers, limits.subscribers_per_channel allows no more",
			       ch->name, ch->n_subscribers);
	if (cl->n_subscribers >= s->limits.per_client)
		return err_set(-EMFILE, "channel %s: client %s has %u subscribers, limits.per_client allows no more",
			       ch->name, cl->name, cl->n_subscribers);
	return 0;
}

/* The callback may give the channel a type, and so replace it by a new channel; hence the second look-up. */
static int find_to_subscribe(struct client *cl, const char *channel, struct channel **ret)
{
	struct simd *s = cl->s;
	int r = channel_get(s, cl->rig, channel, ret);

	if (r < 0 || !s->subscribers_changed)
		return r;
	s->subscribers_changed(s, *ret, true);
	return channel_get(s, cl->rig, channel, ret);
}

int pubsub_subscribe(struct client *cl, const char *channel, const char *type, const char *hash, int64_t depth,
		     struct subscriber **ret)
{
	struct simd *s = cl->s;
	struct subscriber *sub;
	struct channel *ch;
	int r = session_ok(cl, "subscribe");

	if (r == 0)
		r = find_to_subscribe(cl, channel, &ch);
	if (r == 0)
		r = channel_check_type(ch, type, hash);
	if (r == 0)
		r = subscriber_limits(cl, ch);
	if (r < 0)
		return r;
	sub = MEM_NEW(struct subscriber);
	if (!sub)
		return err_nomem();
	sub->ch = ch;
	sub->cl = cl;
	sub->wanted = (uint32_t)depth;
	r = slot_reclaim_heard(cl, ch->name);
	if (r == 0)
		r = queues_reserve(sub);
	if (r < 0) {
		mem_free(sub);
		return r;
	}
	sub->id = ++s->next_subscriber;
	list_append(&ch->subscribers, &sub->in_channel);
	list_append(&cl->subscribers, &sub->in_client);
	ch->n_subscribers++;
	channel_show_subscribers(ch); /* before the answer: the next loan already counts this subscriber */
	cl->n_subscribers++;
	s->n_subscribers++;
	log_debug("%s subscribes to %s, depth %u", cl->name, ch->name, sub->depth);
	*ret = sub;
	return 0;
}

static void subscriber_destroy(struct subscriber *sub)
{
	struct simd *s = sub->cl->s;
	const struct channel *ch = sub->ch;

	if (sub->reserved)
		pools_release(&s->pools, sub->pool, sub->reserved);
	list_remove(&sub->in_channel);
	list_remove(&sub->in_client);
	sub->ch->n_subscribers--;
	channel_show_subscribers(ch);
	sub->ch->idle_mono_ns = exec_now(s->x);
	sub->cl->n_subscribers--;
	s->n_subscribers--;
	mem_free(sub);
	if (s->subscribers_changed)
		s->subscribers_changed(s, ch, false);
}

static int find_subscriber(const struct client *cl, uint32_t subscriber_id, struct subscriber **ret)
{
	struct subscriber *sub;

	list_for_each(sub, &cl->subscribers, in_client) {
		if (sub->id == subscriber_id) {
			*ret = sub;
			return 0;
		}
	}
	return err_set(-ENOENT, "client %s has no subscriber %u", cl->name, subscriber_id);
}

int pubsub_unsubscribe(struct client *cl, uint32_t subscriber_id)
{
	struct subscriber *sub;
	int r = find_subscriber(cl, subscriber_id, &sub);

	if (r == 0)
		subscriber_destroy(sub);
	return r;
}

int pubsub_requeue(struct client *cl, uint32_t subscriber_id, uint32_t depth, struct subscriber **ret)
{
	int r = find_subscriber(cl, subscriber_id, ret);

	return r < 0 ? r : (int)queues_told(*ret, depth);
}

void pubsub_close_all(struct client *cl)
{
	struct publisher *p, *ptmp;
	struct subscriber *sub, *stmp;

	list_for_each_safe(p, ptmp, &cl->publishers, in_client)
		publisher_destroy(p);
	list_for_each_safe(sub, stmp, &cl->subscribers, in_client)
		subscriber_destroy(sub);
}
