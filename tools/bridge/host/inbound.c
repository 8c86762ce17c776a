/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from the far side into channels of the rig. Only channels that the rig lists under "inbound" may be
 * written; nothing is delivered while time is paused, unless the rig allows it.
 *
 * Thread: any of the plug-in's; main for host_inbound_watch(). Guarded by inbound_lock, which is not held while
 * the plug-in is called.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sim/clock.h>

#include "host.h"
#include "log.h"
#include "mem.h"
#include "timeutil.h"

LOG_TOPIC("inbound");

#define INBOUND_BODY_DEFAULT (64u * 1024)

static bool listed(const struct host *h, const char *channel)
{
	json_t *list = json_object_get(h->config, "inbound"), *item;
	const char *prefix = json_string_value(json_object_get(h->config, "prefix"));
	char full[2 * SIM_CHANNEL_MAX + 2];
	size_t i;

	snprintf(full, sizeof(full), "%s%s%s", *channel == '/' || !prefix ? "" : prefix, *channel == '/' ? "" : "/",
		 channel);
	json_array_foreach(list, i, item)
		if (json_is_string(item) && !strcmp(json_string_value(item), full))
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

/* Messages of a type without strings and lists are all of one size. */
static bool one_size(const struct sim_type *type)
{
	for (uint32_t i = 0; i < type->n_fields; i++) {
		const struct sim_field *f = &type->fields[i];

		if (f->kind == SIM_KIND_STRING || (f->array != SIM_ARRAY_NONE && f->array != SIM_ARRAY_FIXED) ||
		    (f->type && !one_size(f->type)))
			return false;
	}
	return true;
}

static int open_channel(struct host *h, const char *channel, const struct sim_type *type, size_t max_body,
			struct host_inbound **ret)
{
	struct sim_publisher_options o = { .size = sizeof(o),
					   .max_body = max_body         ? max_body
						       : one_size(type) ? 0
									: INBOUND_BODY_DEFAULT,
					   .flags = SIM_PUB_LOCAL };
	struct host_inbound *in = &h->inbound[h->n_inbound];
	int r;

	if (!plugin_brings(h->plugin, type->name) && !converters_find(h->converters, type->name, NULL, 0))
		return -ENOTSUP;
	if (h->n_inbound == HOST_INBOUND_MAX)
		return -ENOSPC;
	*in = (struct host_inbound){ .name = mem_strdup(channel), .type = type };
	if (!in->name)
		return -ENOMEM;
	r = sim_advertise(h->client, channel, type, &o, &in->pub);
	if (r < 0) {
		log_warn("%s cannot be written: %s", channel, sim_why());
		mem_free(in->name);
		in->name = NULL;
		return r;
	}
	h->n_inbound++;
	*ret = in;
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

/* The channel, opened if need be. -EINVAL: it has another type. */
static int get_channel(struct host *h, const char *channel, const struct sim_type *type, size_t max_body,
		       struct host_inbound **ret)
{
	*ret = find(h, channel);
	if (!*ret)
		return open_channel(h, channel, type, max_body, ret);
	return (*ret)->type->hash == type->hash ? 0 : -EINVAL;
}

static int write_body(struct host *h, const char *channel, const struct sim_type *type, const void *body, size_t size)
{
	struct host_inbound *in;
	int r = get_channel(h, channel, type, 0, &in);

	return r < 0 ? r : sim_publish_local_copy(in->pub, body, size, 0);
}

static bool may_pause(const struct host *h)
{
	return !json_is_true(json_object_get(h->config, "inbound_while_paused"));
}

/* 0: such a message may come in now. */
static int may_come(struct host *h, const char *channel, const struct sim_type *type)
{
	struct sim_clock_sample now;
	int r = allowed(h, channel, type);

	if (r < 0)
		return r;
	sim_now_sample(h->client, &now);
	return now.flags & SIM_CLOCK_PAUSED && may_pause(h) ? -ECANCELED : 0;
}

int host_inbound_publish(void *ctx, const char *channel, const struct sim_type *type, const void *body, size_t size)
{
	struct host *h = ctx;
	int r = may_come(h, channel, type);

	if (r == -EACCES || r == -EINVAL)
		return r;
	if (sim_msg_check(type, body, size) < 0)
		return -EINVAL;
	if (r < 0)
		return r;
	pthread_mutex_lock(&h->inbound_lock);
	r = write_body(h, channel, type, body, size);
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
	pthread_mutex_lock(&h->inbound_lock);
	r = get_channel(h, channel, type, 0, &in);
	if (r == 0)
		r = sim_loan(in->pub, room, &slot);
	pthread_mutex_unlock(&h->inbound_lock);
	if (r == 0)
		*ret_body = sim_slot_body_mut(slot);
	return r;
}

static int publish_loan(struct host *h, const char *channel, struct sim_slot *slot, size_t size, int64_t stamp_sim_ns,
			const char *frame)
{
	struct host_inbound *in = find(h, channel);

	if (!in)
		return -EINVAL;
	if ((frame && strlen(frame) > SIM_FRAME_ID_MAX) || sim_slot_set_size(slot, size) < 0 ||
	    sim_msg_check(in->type, sim_slot_body_mut(slot), size) < 0) {
		(void)sim_unloan(in->pub, slot);
		return -EINVAL;
	}
	if (stamp_sim_ns)
		slot->stamp_sim_ns = stamp_sim_ns;
	snprintf(slot->frame_id, sizeof(slot->frame_id), "%s", frame ? frame : "");
	return sim_publish_local(in->pub, slot);
}

/* With the lock: a publisher is of one thread at a time, and whoever looks for its subscribers meanwhile would see none. */
int host_inbound_publish_loan(void *ctx, const char *channel, void *body, size_t size, int64_t stamp_sim_ns,
			      const char *frame)
{
	struct host *h = ctx;
	int r;

	if (!channel || !body)
		return -EINVAL;
	pthread_mutex_lock(&h->inbound_lock);
	r = publish_loan(h, channel, (struct sim_slot *)body - 1, size, stamp_sim_ns, frame);
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

int host_inbound_offer_large(void *ctx, const char *channel, const struct sim_type *type, size_t max_body)
{
	struct host *h = ctx;
	struct host_inbound *in;
	int r = allowed(h, channel, type);

	if (r < 0)
		return r;
	pthread_mutex_lock(&h->inbound_lock);
	r = get_channel(h, channel, type, max_body, &in);
	if (r == 0 && in->offered)
		r = -EALREADY;
	else if (r == 0)
		in->offered = true;
	pthread_mutex_unlock(&h->inbound_lock);
	return r;
}

/* Whether somebody has begun, or the last one ceased, to listen since we looked last. */
static bool changed(struct host *h, unsigned i, struct host_inbound *ret)
{
	struct host_inbound *in = &h->inbound[i];
	bool has, differs;

	pthread_mutex_lock(&h->inbound_lock);
	has = i < h->n_inbound && in->offered && sim_publisher_has_subscribers(in->pub);
	differs = i < h->n_inbound && in->offered && has != in->listened;
	if (differs)
		in->listened = has;
	*ret = i < h->n_inbound ? *in : (struct host_inbound){ 0 };
	pthread_mutex_unlock(&h->inbound_lock);
	return differs;
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
	struct host_inbound in;
	bool offers = false;

	if (!SIM_BRIDGE_HAS(h->plugin->ops, listen))
		return false;
	for (unsigned i = 0; i < HOST_INBOUND_MAX; i++) {
		bool differs = changed(h, i, &in);

		if (!in.name)
			break;
		offers = offers || in.offered;
		if (!differs)
			continue;
		log_info("%s: %s", in.name,
			 in.listened ? "first subscriber connected" : "last subscriber disconnected");
		h->plugin->ops->listen(h->bridge, in.name, in.listened);
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
