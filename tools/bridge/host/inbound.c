/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from the far side into channels of the rig. Only channels that the rig lists under "inbound" may be written;
 * nothing is delivered while time is paused, unless the rig allows it.
 *
 * Thread: any of the plug-in's; main for host_inbound_watch(). Guarded by inbound_lock. It is not held while the
 * plug-in is called, nor while a channel is opened, which can take simd a second: the plug-in's network thread must be
 * able to loan meanwhile.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/clock.h>

#include "host.h"
#include "jsonx.h"
#include "log.h"
#include "mem.h"
#include "timeutil.h"

LOG_TOPIC("inbound");

#define FULL_MAX (2 * SIM_CHANNEL_MAX + 2)

static void full_name(const struct host *h, const char *channel, char ret[FULL_MAX])
{
	const char *prefix = json_string_value(json_object_get(h->config, "prefix"));

	snprintf(ret, FULL_MAX, "%s%s%s", *channel == '/' || !prefix ? "" : prefix, *channel == '/' ? "" : "/",
		 channel);
}

static bool listed(const struct host *h, const char *channel)
{
	json_t *list = json_object_get(h->config, "inbound"), *item;
	char full[FULL_MAX];
	size_t i;

	full_name(h, channel, full);
	json_array_foreach(list, i, item)
		if (json_is_string(item) && !fnmatch(json_string_value(item), full, FNM_NOESCAPE))
			return true;
	return false;
}

static struct host_inbound *find(struct host *h, const char *channel)
{
	for (unsigned i = 0; i < h->n_inbound; i++)
		if (!strcmp(h->inbound[i].name, channel))
			return &h->inbound[i];
	return NULL;
}

/* How to open a channel; from and flags are set by host_inbound_offer_from() only. */
struct offer {
	size_t max_body;
	const char *from;
	unsigned flags;
};

static int advertise(struct host *h, const char *channel, const struct sim_type *type, const struct offer *f,
		     struct sim_publisher **ret)
{
	struct sim_publisher_options o = { .size = sizeof(o),
					   .max_body = f->max_body,
					   .flags = SIM_PUB_NO_WAIT | SIM_PUB_INBOUND };

	if (!f->from)
		return sim_advertise(h->client, channel, type, &o, ret);
	o.flags = SIM_PUB_NO_WAIT | (f->flags & SIM_BRIDGE_OFFER_LATCH ? SIM_PUB_LATCH : 0);
	return sim_advertise_from(h->client, channel, type, &o, f->from, ret);
}

/* Caller holds opening_lock. */
static int open_channel(struct host *h, const char *channel, const struct sim_type *type, const struct offer *f)
{
	struct host_inbound in = { .name = mem_strdup(channel), .type = type, .from_afar = f->from != NULL };
	int r = 0;

	if (!plugin_brings(h->plugin, type->name) && !converters_find(h->converters, type->name, NULL, 0))
		r = -ENOTSUP;
	else if (h->n_inbound == HOST_INBOUND_MAX)
		r = -ENOSPC;
	else if (!in.name)
		r = -ENOMEM;
	else if ((r = advertise(h, channel, type, f, &in.pub)) < 0)
		log_warn("%s cannot be written: %s", channel, sim_why());
	if (r < 0) {
		mem_free(in.name);
		return r;
	}
	pthread_mutex_lock(&h->inbound_lock);
	h->inbound[h->n_inbound++] = in;
	pthread_mutex_unlock(&h->inbound_lock);
	return 0;
}

static int allowed(struct host *h, const char *channel, const struct sim_type *type)
{
	if (!channel || !type)
		return -EINVAL;
	if (listed(h, channel))
		return 0;
	pthread_mutex_lock(&h->inbound_lock);
	log_limited(&h->inbound_limit, mono_now_ns(), LOG_LEVEL_WARN,
		    "%s is not written: the rig does not list it under \"inbound\"", channel);
	pthread_mutex_unlock(&h->inbound_lock);
	return -EACCES;
}

/* Caller holds inbound_lock. -ENOENT: not opened yet. -EINVAL: the channel has another type. */
static int known_channel(struct host *h, const char *channel, const struct sim_type *type, struct host_inbound **ret)
{
	*ret = find(h, channel);
	if (!*ret)
		return -ENOENT;
	return (*ret)->type->hash == type->hash ? 0 : -EINVAL;
}

/* Returns the channel, which it opens if necessary. On success the caller must release inbound_lock. */
static int lock_channel(struct host *h, const char *channel, const struct sim_type *type, const struct offer *f,
			struct host_inbound **ret)
{
	int r;

	pthread_mutex_lock(&h->inbound_lock);
	r = known_channel(h, channel, type, ret);
	if (r == 0)
		return 0;
	pthread_mutex_unlock(&h->inbound_lock);
	if (r != -ENOENT)
		return r;
	pthread_mutex_lock(&h->opening_lock);
	if (!find(h, channel))
		r = open_channel(h, channel, type, f);
	else
		r = 0; /* another thread has opened it */
	pthread_mutex_lock(&h->inbound_lock);
	pthread_mutex_unlock(&h->opening_lock);
	if (r == 0)
		r = known_channel(h, channel, type, ret);
	if (r < 0)
		pthread_mutex_unlock(&h->inbound_lock);
	return r;
}

static bool may_pause(const struct host *h)
{
	return !json_is_true(json_object_get(h->config, "inbound_while_paused"));
}

static bool is_paused(const struct host *h)
{
	struct sim_clock_sample now;

	sim_now_sample(h->client, &now);
	return now.flags & SIM_CLOCK_PAUSED;
}

/* Returns 0 if the channel may be written now. */
static int may_come(struct host *h, const char *channel, const struct sim_type *type)
{
	int r = allowed(h, channel, type);

	if (r < 0)
		return r;
	return may_pause(h) && is_paused(h) ? -ECANCELED : 0;
}

/* A message from another machine is dispatched to the other bridges only. */
static bool has_bridges(const struct host_inbound *in)
{
	return in->from_afar ? in->to_bridges : sim_publisher_bridges(in->pub).connected > 0;
}

/*
 * Whether messages go through dispatch. Nothing is dispatched in a pause; with inbound_while_paused a message is then
 * published on this machine only.
 */
static bool dispatches(const struct host *h, const struct host_inbound *in)
{
	return has_bridges(in) && (may_pause(h) || !is_paused(h));
}

int host_inbound_publish(void *ctx, const char *channel, const struct sim_type *type, const void *body, size_t size)
{
	struct host *h = ctx;
	struct host_inbound *in;
	int r = may_come(h, channel, type);

	if (r == -EACCES || r == -EINVAL)
		return r;
	if (sim_msg_check(type, body, size) < 0)
		return -EINVAL;
	if (r < 0)
		return r;
	r = lock_channel(h, channel, type, &(struct offer){ 0 }, &in);
	if (r < 0)
		return r;
	if (in->from_afar)
		r = -EINVAL;
	else if (dispatches(h, in))
		r = sim_try_queue_copy(in->pub, body, size, 0, NULL, NULL, NULL);
	else
		r = sim_publish_local_copy(in->pub, body, size, 0);
	pthread_mutex_unlock(&h->inbound_lock);
	return r;
}

/* ---- in place ---- */

int host_inbound_loan(void *ctx, const char *channel, const struct sim_type *type, size_t room, void **ret_body)
{
	struct host *h = ctx;
	struct host_inbound *in;
	struct sim_slot *slot;
	int r = may_come(h, channel, type);

	if (r < 0)
		return r;
	r = lock_channel(h, channel, type, &(struct offer){ 0 }, &in);
	if (r < 0)
		return r;
	r = sim_loan(in->pub, room, &slot);
	pthread_mutex_unlock(&h->inbound_lock);
	if (r == 0)
		*ret_body = sim_slot_body_mut(slot);
	return r;
}

/*
 * o: origin on another machine, NULL: none; its stamp and frame are passed as the other arguments. Caller holds
 * inbound_lock.
 */
static int publish_loan(struct host *h, const char *channel, struct sim_slot *slot, size_t size, int64_t stamp_sim_ns,
			const char *frame, const struct sim_bridge_origin *o)
{
	struct host_inbound *in = find(h, channel);

	if (!in)
		return -EINVAL;
	if (in->from_afar != (o != NULL)) {
		(void)sim_unloan(in->pub, slot);
		return -EINVAL;
	}
	if ((frame && strlen(frame) > SIM_FRAME_ID_MAX) || sim_slot_set_size(slot, size) < 0 ||
	    sim_msg_check(in->type, sim_slot_body_mut(slot), size) < 0) {
		(void)sim_unloan(in->pub, slot);
		return -EINVAL;
	}
	if (stamp_sim_ns)
		slot->stamp_sim_ns = stamp_sim_ns;
	snprintf(slot->frame_id, sizeof(slot->frame_id), "%s", frame ? frame : "");
	if (o) {
		slot->origin_host = o->host;
		slot->origin_sequence = o->sequence;
	}
	if (dispatches(h, in))
		return sim_try_queue(in->pub, slot, NULL, NULL, NULL);
	return sim_publish_local(in->pub, slot);
}

/*
 * Publishes under the lock: a publisher is used by one thread at a time, and a query of its subscribers meanwhile would
 * find none.
 */
int host_inbound_publish_loan(void *ctx, const char *channel, void *body, size_t size, int64_t stamp_sim_ns,
			      const char *frame)
{
	struct host *h = ctx;
	int r;

	if (!channel || !body)
		return -EINVAL;
	pthread_mutex_lock(&h->inbound_lock);
	r = publish_loan(h, channel, (struct sim_slot *)body - 1, size, stamp_sim_ns, frame, NULL);
	pthread_mutex_unlock(&h->inbound_lock);
	return r;
}

int host_inbound_publish_from(void *ctx, const char *channel, void *body, size_t size,
			      const struct sim_bridge_origin *o)
{
	struct host *h = ctx;
	int r;

	if (!channel || !body || !o || !o->host || !o->sequence)
		return -EINVAL;
	pthread_mutex_lock(&h->inbound_lock);
	r = publish_loan(h, channel, (struct sim_slot *)body - 1, size, o->stamp_sim_ns, o->frame, o);
	pthread_mutex_unlock(&h->inbound_lock);
	return r;
}

void host_inbound_unloan(void *ctx, const char *channel, void *body)
{
	struct host *h = ctx;
	struct host_inbound *in;

	if (!channel || !body)
		return;
	pthread_mutex_lock(&h->inbound_lock);
	in = find(h, channel);
	if (in)
		(void)sim_unloan(in->pub, (struct sim_slot *)body - 1);
	pthread_mutex_unlock(&h->inbound_lock);
}

int host_inbound_offer(void *ctx, const char *channel, const struct sim_type *type)
{
	return host_inbound_offer_large(ctx, channel, type, 0);
}

static int offer(struct host *h, const char *channel, const struct sim_type *type, const struct offer *f)
{
	struct host_inbound *in;
	int r = allowed(h, channel, type);

	if (r == 0)
		r = lock_channel(h, channel, type, f, &in);
	if (r < 0)
		return r;
	if (in->offered)
		r = -EALREADY;
	else
		in->offered = true;
	pthread_mutex_unlock(&h->inbound_lock);
	host_wake(h); /* main checks for subscribers */
	return r;
}

int host_inbound_offer_large(void *ctx, const char *channel, const struct sim_type *type, size_t max_body)
{
	return offer(ctx, channel, type, &(struct offer){ .max_body = max_body });
}

int host_inbound_offer_from(void *ctx, const char *channel, const struct sim_type *type, size_t max_body,
			    const char *from, unsigned flags)
{
	if (!from)
		return -EINVAL;
	return offer(ctx, channel, type, &(struct offer){ .max_body = max_body, .from = from, .flags = flags });
}

void host_inbound_withdraw(void *ctx, const char *channel)
{
	struct sim_publisher *pub = NULL;
	struct host_inbound *in;
	struct host *h = ctx;

	pthread_mutex_lock(&h->opening_lock); /* keeps other threads from adding channels */
	pthread_mutex_lock(&h->inbound_lock);
	in = find(h, channel);
	if (in) {
		pub = in->pub;
		mem_free(in->name);
		*in = h->inbound[--h->n_inbound];
		h->inbound[h->n_inbound] = (struct host_inbound){ 0 };
	}
	pthread_mutex_unlock(&h->inbound_lock);
	pthread_mutex_unlock(&h->opening_lock);
	sim_publisher_destroy(pub);
}

/*
 * Whether the channel has listeners. For messages from another machine these are subscribers on this machine, and
 * bridges other than this one, which sends nothing back. simd itself, which subscribes to all that bridges may carry,
 * does not count.
 */
static bool has_listeners(struct host_inbound *in, bool carried_by_us)
{
	struct sim_bridges b;

	if (!in->from_afar)
		return sim_publisher_has_subscribers(in->pub); /* counts simd, which subscribes for other machines */
	b = sim_publisher_bridges(in->pub);
	in->to_bridges = b.connected > (carried_by_us ? 1u : 0u);
	return in->to_bridges || sim_publisher_subscribers_elsewhere(in->pub) > 0;
}

/* Copies the i-th channel's name, "" after the last one. Returns whether its messages come from another machine. */
static bool name_of(struct host *h, unsigned i, char ret[SIM_CHANNEL_MAX + 1])
{
	bool from_afar = false;

	pthread_mutex_lock(&h->inbound_lock);
	snprintf(ret, SIM_CHANNEL_MAX + 1, "%s", i < h->n_inbound ? h->inbound[i].name : "");
	if (i < h->n_inbound)
		from_afar = h->inbound[i].from_afar;
	pthread_mutex_unlock(&h->inbound_lock);
	return from_afar;
}

struct seen {
	bool offered, differs, has;
};

/* Looks for listeners, and compares with the last look. */
static struct seen look(struct host *h, const char *name, bool carried_by_us)
{
	struct seen s = { 0 };
	struct host_inbound *in;

	pthread_mutex_lock(&h->inbound_lock);
	in = find(h, name);
	s.offered = in && in->offered;
	s.has = s.offered && has_listeners(in, carried_by_us);
	s.differs = s.offered && s.has != in->listened;
	if (s.differs)
		in->listened = s.has;
	pthread_mutex_unlock(&h->inbound_lock);
	return s;
}

void host_name_topic(struct host *h, const char *channel, bool inbound, const char *name, const char *type)
{
	json_t *params =
		json_pack("{s:s, s:s, s:s, s:b}", "channel", channel, "name", name, "type", type, "inbound", inbound);
	char *text = params ? jsonx_text(params) : NULL, *reply = NULL;

	if (!text || sim_call(h->client, "NameTopic", text, &reply) < 0) /* fails with an older simd, or without one */
		log_debug("%s: not named to simd: %s", channel,
			  text ? sim_why() : "its name or type is not UTF-8, or memory is short");
	free(reply);
	mem_free(text);
	json_decref(params);
}

void host_inbound_named(void *ctx, const char *channel, const char *name, const char *type)
{
	char full[FULL_MAX];
	struct host *h = ctx;

	full_name(h, channel, full);
	host_name_topic(h, full, true, name, type);
}

void host_inbound_replay(struct host *h)
{
	pthread_mutex_lock(&h->inbound_lock);
	for (unsigned i = 0; i < h->n_inbound; i++)
		h->inbound[i].listened = false;
	pthread_mutex_unlock(&h->inbound_lock);
}

bool host_inbound_watch(struct host *h)
{
	char name[SIM_CHANNEL_MAX + 1], full[FULL_MAX];
	bool offers = false;

	if (!SIM_BRIDGE_HAS(h->plugin->ops, listen))
		return false;
	for (unsigned i = 0; i < HOST_INBOUND_MAX; i++) {
		bool from_afar = name_of(h, i, name);
		struct seen s;

		if (!*name)
			break;
		full_name(h, name, full);
		s = look(h, name, from_afar && host_topic_carried(h, full));
		offers = offers || s.offered;
		if (!s.differs)
			continue;
		log_info("%s: %s", name, s.has ? "first subscriber connected" : "last subscriber disconnected");
		h->plugin->ops->listen(h->bridge, name, s.has);
	}
	return offers;
}

void host_inbound_finish(struct host *h)
{
	for (unsigned i = 0; i < h->n_inbound; i++) {
		sim_publisher_destroy(h->inbound[i].pub);
		mem_free(h->inbound[i].name);
	}
	h->n_inbound = 0;
}
