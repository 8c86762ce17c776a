/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels: creation, type, size, opening. Publishers and subscribers are in pubsub.c.
 * Thread: simd-main.
 */
#include "channel.h"

#include "err.h"
#include "ipc.h"
#include "jsonx.h"
#include "log.h"
#include "mem.h"
#include "number.h"
#include "rig.h"
#include "shards.h"
#include "simd.h"
#include "timeutil.h"

#include "dispatch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

LOG_TOPIC("channel");

#define WAITS_DUR_NS  (100 * NS_PER_MS)  /* total time waited for credits that is worth a warning */
#define TYPE_TEXT_MAX (128 * 1024)       /* per definition: it must fit into a lane packet with its channel */
#define TYPES_KEPT    (16 * 1024 * 1024) /* all definitions together; above it, unused channels are forgotten */

struct channel *channel_find(struct simd *s, const char *full_name)
{
	struct channel *ch;

	list_for_each(ch, &s->channels, link) {
		if (!ch->replaced && strcmp(ch->name, full_name) == 0)
			return ch;
	}
	return NULL;
}

/* ---- making ---- */

/*
 * Finds the channel's entry in a rig's list. If another rig than the requesting one has it, the channel belongs to that
 * rig.
 */
static void find_view(struct channel *ch)
{
	struct simd *s = ch->s;
	char full[CHANNEL_NAME_MAX + 1];

	for (unsigned i = 0; i < s->n_rigs; i++) {
		struct conf_view rig = s->rigs[i].view;

		for (size_t k = 0; k < conf_count(rig, "channels"); k++) {
			struct conf_view v = conf_item(rig, "channels", k);

			if (channel_name_full(s->rigs[i].prefix, conf_string(v, "name"), full) == 0 &&
			    strcmp(full, ch->name) == 0) {
				ch->view = v;
				ch->rig = &s->rigs[i];
				return;
			}
		}
	}
}

static int apply_view(struct channel *ch)
{
	if (!ch->view.obj)
		return 0;
	ch->ordered = conf_bool(ch->view, "ordered");
	ch->window = (uint32_t)conf_int(ch->view, "window");
	if (conf_int(ch->view, "max_body") > 0)
		return channel_set_size(ch, (uint64_t)conf_int(ch->view, "max_body"));
	return 0;
}

static bool unused(const struct channel *ch)
{
	return ch->n_publishers == 0 && ch->n_subscribers == 0;
}

static void channel_free(struct channel *ch)
{
	struct simd *s = ch->s;

	s->channel_events->freed(s, ch->id);
	atomic_store(&s->layout_page->info[ch->id].subscribers, 0);
	if (ch->reserved)
		pools_release(&s->pools, ch->pool, ch->reserved);
	list_remove(&ch->link);
	s->by_id[ch->id] = NULL;
	s->n_channels--;
	s->type_bytes -= ch->type_json ? strlen(ch->type_json) : 0;
	mem_free(ch->type_json);
	mem_free(ch);
}

/* The channel that has been unused and closed for longest, except `keep` (may be NULL). */
static struct channel *oldest_idle(struct simd *s, const struct channel *keep)
{
	struct channel *ch, *best = NULL;

	list_for_each(ch, &s->channels, link) {
		if (ch != keep && unused(ch) && !ch->open && !ch->closing &&
		    (!best || ch->idle_mono_ns < best->idle_mono_ns))
			best = ch;
	}
	return best;
}

static int free_id(struct simd *s, uint32_t *ret)
{
	struct channel *old;

	if (s->n_channels >= s->limits.channels) {
		old = oldest_idle(s, NULL);
		if (!old && channel_reclaim(s, NULL) > 0)
			return err_set(-EAGAIN, "all %u channels are taken; idle ones are being closed: try again",
				       s->n_channels);
		if (!old)
			return err_set(-EMFILE, "%u channels are in use, limits.channels allows no more",
				       s->n_channels);
		channel_free(old);
	}
	for (uint32_t i = 1; i < WIRE_CHANNELS_MAX; i++) {
		if (!s->by_id[i]) {
			*ret = i;
			return 0;
		}
	}
	return err_set(-EMFILE, "the dispatch page has no room for a further channel");
}

static int channel_make(struct simd *s, const struct rig *rig, const char *full, struct channel **ret)
{
	struct channel *ch;
	uint32_t id = 0;
	int r = free_id(s, &id);

	if (r < 0)
		return r;
	ch = MEM_NEW(struct channel);
	if (!ch)
		return err_nomem();
	ch->s = s;
	ch->id = id;
	ch->rig = rig;
	ch->pool = -1;
	ch->ordered = true;
	snprintf(ch->name, sizeof(ch->name), "%s", full);
	list_init(&ch->publishers);
	list_init(&ch->subscribers);
	list_append(&s->channels, &ch->link);
	s->by_id[id] = ch;
	s->n_channels++;
	channel_show_subscribers(ch);
	find_view(ch);
	ch->shard = s->channel_events->shard(ch);
	ch->idle_mono_ns = exec_now(s->x);
	r = apply_view(ch);
	if (r < 0) {
		channel_free(ch);
		return r;
	}
	*ret = ch;
	return 0;
}

int channel_get(struct simd *s, const struct rig *rig, const char *name, struct channel **ret)
{
	char full[CHANNEL_NAME_MAX + 1];
	struct channel *ch;
	int r = channel_name_full(rig ? rig->prefix : "", name, full);

	if (r < 0)
		return r;
	ch = channel_find(s, full);
	if (!ch)
		return channel_make(s, rig, full, ret);
	*ret = ch;
	return 0;
}

void channel_destroy_all(struct simd *s)
{
	struct channel *ch, *tmp;

	list_for_each_safe(ch, tmp, &s->channels, link)
		channel_free(ch);
}

/* ---- type ---- */

int channel_check_type(const struct channel *ch, const char *type, const char *hash)
{
	if (!ch->typed || (ch->n_publishers == 0 && !ch->open))
		return 0;
	if (type && strcmp(type, ch->type) != 0)
		return err_set(-EMEDIUMTYPE, "channel %s carries %s, not %.63s; use another channel name", ch->name,
			       ch->type, type);
	if (hash && strcmp(hash, ch->hash) != 0)
		return err_set(-EMEDIUMTYPE,
			       "channel %s carries another version of %s (hash %s, not %.16s); rebuild both sides from "
			       "the same definition",
			       ch->name, ch->type, ch->hash, hash);
	return 0;
}

/*
 * Sets the definition. Definitions are the large part of a channel, so above TYPES_KEPT unused channels are forgotten.
 */
static void set_text(struct channel *ch, char *text)
{
	struct simd *s = ch->s;
	struct channel *old;

	s->type_bytes += strlen(text) - (ch->type_json ? strlen(ch->type_json) : 0);
	mem_free(ch->type_json);
	ch->type_json = text;
	ch->typed = true;
	while (s->type_bytes > TYPES_KEPT && (old = oldest_idle(s, ch)))
		channel_free(old);
}

int channel_set_type(struct channel *ch, const json_t *type)
{
	const char *name, *hash;
	char *text;
	int r = names_type_def(type, &name, &hash);

	if (r < 0)
		return err_prefix(r, "type of channel %s", ch->name);
	r = channel_check_type(ch, name, hash);
	if (r < 0 || (ch->typed && strcmp(hash, ch->hash) == 0))
		return r;
	text = jsonx_text(type);
	if (!text)
		return err_nomem();
	if (strlen(text) > TYPE_TEXT_MAX) {
		mem_free(text);
		return err_set(-E2BIG, "type %s: its definition is longer than %d KiB", name, TYPE_TEXT_MAX / 1024);
	}
	set_text(ch, text);
	snprintf(ch->type, sizeof(ch->type), "%s", name);
	snprintf(ch->hash, sizeof(ch->hash), "%s", hash);
	return 0;
}

/* ---- size ---- */

/* Slots that the subscribers of this channel would reserve in its class. */
static uint32_t reserved_by_subscribers(const struct channel *ch)
{
	struct subscriber *sub;
	uint32_t n = 0;

	list_for_each(sub, &ch->subscribers, in_channel)
		n += subscriber_holds(sub) + HELD_BY_SUBSCRIBER;
	return n;
}

static void move_subscribers(struct channel *ch, int pool)
{
	struct subscriber *sub;

	list_for_each(sub, &ch->subscribers, in_channel) {
		if (sub->reserved)
			pools_release(&ch->s->pools, sub->pool, sub->reserved);
		sub->reserved = subscriber_holds(sub) + HELD_BY_SUBSCRIBER;
		sub->pool = pool;
	}
}

static bool window_given(const struct channel *ch)
{
	return ch->view.obj && conf_int(ch->view, "window") > 0;
}

/* The window set by the rig, or the default for such messages. */
static uint32_t usual_window(const struct channel *ch, uint64_t slot_size, int cls)
{
	return window_given(ch) ? ch->window : pools_window(slot_size, ch->s->pools.c[cls].count);
}

uint32_t channel_window(const struct channel *ch, uint64_t slot_size, int cls)
{
	uint32_t usual = usual_window(ch, slot_size, cls);

	return ch->window && ch->window < usual ? ch->window : usual;
}

uint32_t channel_window_least(const struct channel *ch, uint64_t slot_size, int cls)
{
	uint32_t window = channel_window(ch, slot_size, cls);
	bool kept = window_given(ch) || (ch->open && ch->pool == cls);

	return kept || window < POOL_WINDOW_LEAST ? window : POOL_WINDOW_LEAST;
}

/* Reserves the window and `others` slots of the class; without room, a window that no rig sets is halved. */
static int reserve_window(struct channel *ch, int cls, uint32_t *window, uint32_t others)
{
	int r;

	while ((r = channel_reserve(ch, cls, *window + others)) == -ENOSPC && *window > POOL_WINDOW_LEAST &&
	       !window_given(ch))
		*window = *window / 2 > POOL_WINDOW_LEAST ? *window / 2 : POOL_WINDOW_LEAST;
	return r;
}

static int move(struct channel *ch, int cls, uint32_t *window)
{
	uint32_t others = reserved_by_subscribers(ch);
	int r = ch->reserved ? reserve_window(ch, cls, window, others) : channel_reserve(ch, cls, others);

	if (r < 0)
		return r;
	if (ch->reserved) {
		pools_release(&ch->s->pools, ch->pool, ch->reserved);
		ch->reserved = *window;
	}
	move_subscribers(ch, cls);
	ch->pool = cls;
	return 0;
}

/*
 * From its answer on, a publisher of larger messages uses only these cells; earlier claims in other cells end as usual.
 */
static int resize_open(struct channel *ch)
{
	atomic_store(&ch->s->layout_page->info[ch->id].window, ch->window);
	return dispatch_channel_resize(shard_of(ch->s, ch->shard), ch->id, ch->window, ch->max_body);
}

int channel_set_size(struct channel *ch, uint64_t max_body)
{
	uint64_t slot = pools_slot_of(max_body);
	uint32_t window;
	int r, cls;

	if (ch->pool >= 0 && max_body <= ch->max_body)
		return 0;
	cls = pools_class(&ch->s->pools, slot);
	if (cls < 0)
		return err_prefix(cls, "channel %s", ch->name);
	window = channel_window(ch, slot, cls);
	if (cls != ch->pool && (r = move(ch, cls, &window)) < 0)
		return r;
	ch->max_body = max_body;
	ch->slot_size = slot;
	ch->window = window;
	return ch->open ? resize_open(ch) : 0;
}

uint32_t channel_missing(const struct channel *ch)
{
	uint32_t window;

	if (!ch->open)
		return 0;
	window = usual_window(ch, ch->slot_size, ch->pool);
	window = window < ch->cells ? window : ch->cells;
	return window > ch->window ? window - ch->window : 0;
}

void channel_widen(struct channel *ch, uint32_t more)
{
	if (pools_reserve(&ch->s->pools, ch->pool, more, ch->name) < 0)
		return;
	ch->reserved += more;
	ch->window += more;
	(void)resize_open(ch); /* if this fails, dispatch counts with a smaller window than there is */
}

/* ---- open and closed ---- */

static int make_sub(struct channel *ch, struct ipc_sub **ret)
{
	struct simd *s = ch->s;
	struct ipc_sub_options o = { .depth = ch->depth };
	int r;

	if (!s->dataplane.ready)
		return err_set(-ESTALE, "channel %s: the data plane is restarting; try again in a moment", ch->name);
	r = ipc_sub_create(s->dataplane.ipc, ch->name, &o, ret);
	if (r < 0) {
		err_set(r, "channel %s: simd cannot subscribe to it: %s", ch->name, ipc_why());
		if (r == -ESTALE) /* the generation has ended without a reported reason */
			err_set(r, "%s (iceoryx: %s)", err_why(), ipc_end_error(s->dataplane.ipc));
		if ((r == -ETIMEDOUT || r == -ESTALE) && s->ops && s->ops->dataplane_broken)
			s->ops->dataplane_broken(s->user, err_why());
		return r;
	}
	s->n_simd_subs++;
	return 0;
}

/* Dispatch owns the subscriber even if it refuses the call: it has destroyed it by then. */
static int count_taken(struct simd *s, int r)
{
	if (r < 0)
		s->n_simd_subs--;
	return r;
}

static int tell_dispatch(struct channel *ch, struct ipc_sub *sub)
{
	struct dispatch_channel d = {
		.id = ch->id,
		.name = ch->name,
		.type_json = ch->type_json,
		.max_body = ch->max_body,
		.window = ch->window,
		.cells = ch->cells,
		.depth = ch->depth,
		.ordered = ch->ordered,
		.sub = sub,
	};
	int r;

	if (!number_hash(ch->hash, &d.type_hash))
		d.type_hash = 0; /* no type yet */
	r = count_taken(ch->s, dispatch_channel_add(shard_of(ch->s, ch->shard), &d));

	return r < 0 ? err_set(r, "channel %s: dispatch refused it: %s", ch->name, err_text(r)) : 0;
}

static void channel_close(struct channel *ch)
{
	struct simd *s = ch->s;

	if (dispatch_channel_del(shard_of(s, ch->shard), ch->id) < 0)
		return;
	ch->open = false;
	ch->closing = true;
	pools_release(&s->pools, ch->pool, ch->reserved);
	ch->reserved = 0;
}

int channel_open(struct channel *ch, bool inbound)
{
	struct simd *s = ch->s;
	struct wire_channel_info *info = &s->layout_page->info[ch->id];
	struct wire_channel *w = &s->dispatch_page->channel[ch->id];
	struct ipc_sub *sub;
	int r;

	if (ch->open && ch->inbound == inbound)
		return 0;
	if (ch->open)
		channel_close(ch); /* its messages go to other bridges from now on */
	if (ch->closing)
		return err_set(-EAGAIN, "channel %s is just being closed; try again in a moment", ch->name);
	if (s->n_simd_subs + s->n_subscribers >= s->limits.subscribers)
		return err_set(-EMFILE, "channel %s: %u subscribers exist, limits.subscribers allows no more", ch->name,
			       s->limits.subscribers);
	ch->inbound = inbound;
	r = reserve_window(ch, ch->pool, &ch->window, 0);
	if (r < 0)
		return r;
	ch->cells = usual_window(ch, ch->slot_size, ch->pool);
	ch->depth = 2 * ch->cells + 16 < IPC_DEPTH_MAX ? 2 * ch->cells + 16 : IPC_DEPTH_MAX;
	ch->reserved = ch->window;
	for (unsigned i = 0; i < WIRE_WINDOW_MAX; i++)
		atomic_store(&w->cell[i], 0);
	atomic_store(&info->shard, ch->shard);
	atomic_store(&info->window, ch->window);
	r = make_sub(ch, &sub);
	if (r == 0)
		r = tell_dispatch(ch, sub);
	if (r < 0) {
		atomic_store(&info->window, 0);
		pools_release(&s->pools, ch->pool, ch->reserved);
		ch->reserved = 0;
		return r;
	}
	ch->open = true;
	log_debug("channel %s open: id %u, %s, window %u", ch->name, ch->id, ch->type, ch->window);
	return s->channel_events->opened(s, ch);
}

void channel_freed(struct simd *s, uint32_t id)
{
	struct channel *ch = id < WIRE_CHANNELS_MAX ? s->by_id[id] : NULL;

	if (!ch || !ch->closing)
		return;
	atomic_store(&s->layout_page->info[id].window, 0);
	ch->closing = false;
	s->channel_events->freed(s, id);
	if (ch->replaced)
		channel_free(ch);
}

void channel_show_subscribers(const struct channel *ch)
{
	atomic_store(&ch->s->layout_page->info[ch->id].subscribers, 1 + ch->n_subscribers);
}

int channel_retype(struct channel **ch, const json_t *type)
{
	struct channel *old = *ch, *fresh;
	const char *hash = json_string_value(json_object_get(type, "hash"));
	struct subscriber *sub, *tmp;
	int r;

	if (!old->open || old->n_publishers || !hash || strcmp(hash, old->hash) == 0)
		return 0;
	r = channel_make(old->s, old->rig, old->name, &fresh);
	if (r < 0)
		return r;
	list_for_each_safe(sub, tmp, &old->subscribers, in_channel) {
		if (sub->reserved)
			pools_release(&old->s->pools, sub->pool, sub->reserved);
		sub->reserved = 0;
		sub->pool = -1;
		sub->ch = fresh;
		list_remove(&sub->in_channel);
		list_append(&fresh->subscribers, &sub->in_channel);
		fresh->n_subscribers++;
		old->n_subscribers--;
	}
	channel_show_subscribers(old);
	channel_show_subscribers(fresh);
	fresh->closed = old->closed;
	channel_close(old);
	old->replaced = true;
	log_limited(&old->s->limit, exec_now(old->s->x), LOG_LEVEL_INFO,
		    "channel %s changes its type, from %s (hash %s)", old->name, old->type, old->hash);
	*ch = fresh;
	return 0;
}

unsigned channel_reclaim(struct simd *s, const struct channel *keep)
{
	struct channel *ch;
	unsigned n = 0;

	list_for_each(ch, &s->channels, link) {
		if (!ch->open || !unused(ch) || ch == keep)
			continue;
		channel_close(ch);
		n++;
	}
	return n;
}

void channel_settle(struct simd *s, int cls)
{
	struct ipc_pool v[POOLS_MAX] = { 0 };

	if (!s->pools.c[cls].leaving)
		return;
	if (s->dataplane.ready)
		(void)ipc_pools(s->dataplane.ipc, v, POOLS_MAX);
	pools_settle(&s->pools, cls, v[cls].used);
}

int channel_reserve(struct channel *ch, int cls, uint32_t slots)
{
	int r;

	do {
		channel_settle(ch->s, cls);
		r = pools_reserve(&ch->s->pools, cls, slots, ch->name);
	} while (r == -ENOSPC && channel_reclaim(ch->s, ch) > 0);
	return r;
}

int channel_renew(struct channel *ch)
{
	struct simd *s = ch->s;
	struct ipc_sub *sub;
	int r;

	if (!ch->open)
		return 0;
	if (s->n_simd_subs + s->n_subscribers >= s->limits.subscribers)
		return err_set(-EMFILE, "channel %s: %u subscribers exist, limits.subscribers allows no more", ch->name,
			       s->limits.subscribers);
	r = make_sub(ch, &sub);
	if (r < 0)
		return r;
	r = count_taken(s, dispatch_channel_renew(shard_of(s, ch->shard), ch->id, sub));
	return r < 0 ? err_set(r, "channel %s: dispatch refused it: %s", ch->name, err_text(r)) : 0;
}

int channel_resubscribe_all(struct simd *s)
{
	struct channel *ch;

	list_for_each(ch, &s->channels, link) {
		struct ipc_sub *sub;
		int r;

		if (!ch->open)
			continue;
		r = make_sub(ch, &sub);
		if (r < 0)
			return r;
		r = count_taken(s, dispatch_channel_sub(shard_of(s, ch->shard), ch->id, sub));
		if (r < 0)
			return err_set(r, "channel %s: dispatch refused it: %s", ch->name, err_text(r));
	}
	return 0;
}

/* ---- totals ---- */

static uint64_t sane(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : v; /* a peer wrote the number: it must at least be printable */
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return sane(a + sane(b) < a ? UINT64_MAX : a + sane(b));
}

static void totals_add(struct totals *t, struct wire_counters *c)
{
	uint64_t last = sane(atomic_load_explicit(&c->last_mono_ns, memory_order_relaxed));

	t->messages = add(t->messages, atomic_load_explicit(&c->messages, memory_order_relaxed));
	t->bytes = add(t->bytes, atomic_load_explicit(&c->bytes, memory_order_relaxed));
	t->accepted = add(t->accepted, atomic_load_explicit(&c->accepted, memory_order_relaxed));
	t->wait_dur_ns = add(t->wait_dur_ns, atomic_load_explicit(&c->wait_ns, memory_order_relaxed));
	if (last > t->last_mono_ns)
		t->last_mono_ns = last;
	for (unsigned i = 0; i < SIM_REASON_COUNT; i++)
		t->dropped[i] = add(t->dropped[i], atomic_load_explicit(&c->dropped[i], memory_order_relaxed));
}

void channel_close_totals(struct channel *ch, struct wire_counters *c)
{
	totals_add(&ch->closed, c);
}

void channel_totals(const struct channel *ch, struct totals *ret)
{
	struct publisher *p;

	*ret = ch->closed;
	list_for_each(p, &ch->publishers, in_channel)
		totals_add(ret, p->counters);
}

/* Warns once per channel; `simctl dispatch` shows the total. */
static void warn_of_waits(struct channel *ch, const struct totals *t)
{
	if (ch->waits_reported || t->wait_dur_ns < WAITS_DUR_NS)
		return;
	ch->waits_reported = true;
	log_warn(
		"channel %s: its producers wait for credits (window %u, %llu ms so far): a bridge is too slow for their rate",
		ch->name, ch->window, (unsigned long long)(t->wait_dur_ns / NS_PER_MS));
}

void channel_sample(struct channel *ch, int64_t now_mono_ns)
{
	struct totals t;

	channel_totals(ch, &t);
	rate_sample(&ch->rate, now_mono_ns, t.messages, t.bytes);
	warn_of_waits(ch, &t);
}
