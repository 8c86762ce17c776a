/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imported channels: offered to the host with the name of the machine that they are from, and read while there is a
 * listener. A message is copied once, from the network buffers into the slot in which it is published, on Cyclone's
 * thread, which must not block. Threads: offer and withdraw: that of peers.c; listen: the host's main one; messages:
 * Cyclone's, one at a time per reader.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "link.h"

#define BODY_DEFAULT     (64u << 10)
#define PAUSE_MIN_DUR_NS INT64_C(1000000000) /* pause before a refused channel is offered again; doubled each time */
#define PAUSE_MAX_DUR_NS INT64_C(60000000000)

/* ---- messages ---- */

static void *place(void *arg, const struct blob_head *h, int *ret_r)
{
	struct link_import *i = arg;
	const struct sim_bridge_host *host = i->bridge->host;
	void *body = NULL;

	if (h->type_hash != i->type->hash || h->host == i->bridge->id) {
		*ret_r = -EBADMSG;
		return NULL;
	}
	if (h->step) { /* held until its step ends, so it must not occupy a loan */
		*ret_r = -ENOBUFS;
		return NULL;
	}
	*ret_r = host->loan(host->ctx, i->name, i->type, h->body_size, &body);
	return *ret_r < 0 ? NULL : body;
}

static void unplace(void *arg, const struct blob_head *h, void *body)
{
	struct link_import *i = arg;

	(void)h;
	i->bridge->host->unloan(i->bridge->host->ctx, i->name, body);
}

/* Copies a body from the heap into a slot: it was of a step, or all loans were in use when it arrived. */
static int to_slot(struct link_import *i, struct blob_in *in)
{
	int r = 0;
	void *body;

	in->head.step = 0;
	body = place(i, &in->head, &r);
	if (!body)
		return r;
	memcpy(body, in->body, in->head.body_size);
	free(in->body);
	in->body = body;
	in->placed = true;
	return 0;
}

static int publish(struct link_import *i, struct blob_in *in)
{
	const struct sim_bridge_host *h = i->bridge->host;
	const struct sim_bridge_origin o = { in->head.host, in->head.sequence, in->head.stamp_sim_ns, in->head.frame };
	int r = in->r < 0 ? in->r : in->placed ? 0 : to_slot(i, in);

	if (r < 0)
		return r;
	in->placed = false;
	r = h->publish_from(h->ctx, i->name, in->body, in->head.body_size, &o);
	in->body = NULL;
	return r;
}

static const char *reason(int r)
{
	switch (r) {
	case -EAGAIN:
		return "bridges of this machine that carry it are too slow";
	case -ECANCELED:
		return "time is paused";
	case -EMSGSIZE:
		return "it is larger than any slot";
	case -ENOSPC:
		return "there is no memory for messages of its size";
	case -ENOMEM:
		return "the pool of slots is empty";
	case -ENOBUFS:
		return "too many of its slots are in use";
	case -EBADMSG:
		return "it does not have the channel's type, or claims to be from this machine";
	case -EINVAL:
		return "it is not a message of its type";
	default:
		return strerror(-r);
	}
}

static void drop(struct link_import *i, const struct blob_in *in, int r)
{
	atomic_fetch_add(&i->lost, 1);
	if (limit_allows(&i->lines))
		log_warn(i->bridge, "%s: a message of another machine is dropped: %s", i->name,
			 in->why ? in->why : reason(r));
}

int link_import_publish(struct link_import *i, struct blob_in *in)
{
	int r = publish(i, in);

	if (r == 0)
		atomic_fetch_add(&i->received, 1);
	else
		drop(i, in, r);
	return r;
}

static void answer(struct sim_bridge *b, const struct blob_head *h, int result)
{
	const struct blob_out o = {
		.head = { .host = h->host, .sequence = h->sequence, .stamp_sim_ns = result, .confirm = h->confirm }
	};

	(void)dds_write(b->answer_writer, &o);
}

static void take(void *arg, struct blob_in *in, dds_instance_handle_t writer)
{
	struct link_import *i = arg;
	struct sim_bridge *b = i->bridge;
	int r;

	(void)writer;
	if (atomic_load(&b->status) != SIM_BRIDGE_CONNECTED)
		return;
	if (link_exchange_hold(b, i, in))
		return;
	r = link_import_publish(i, in);
	if (in->head.flags & BLOB_CONFIRM)
		answer(b, &in->head, r);
}

static void on_data(dds_entity_t reader, void *arg)
{
	blob_take(reader, take, arg);
}

/* ---- readers ---- */

static void on_refused(dds_entity_t reader, const dds_requested_incompatible_qos_status_t status, void *arg)
{
	struct link_import *i = arg;

	(void)reader;
	(void)status;
	if (limit_allows(&i->lines))
		log_warn(i->bridge,
			 "%s: a machine sends it less reliably than another one does, so its messages are not received: set options.reliable or "
			 "options.best_effort of both links alike",
			 i->name);
}

static dds_entity_t create_reader(struct sim_bridge *b, struct link_import *i)
{
	const struct link_qos q = { .reliable = i->reliable,
				    .keep = i->keep,
				    .depth = i->reliable ? link_exchange_depth(b) : 1 };
	const struct blob_place where = { SIM_BODY_MAX, place, unplace,
					  i }; /* the channel grows if a message is longer than announced */
	char name[LINK_TOPIC_MAX], type[32];
	dds_listener_t *l;

	link_topic_name(i->name, i->type->hash, name, type);
	i->topic = blob_topic_create(b->participant, name, type, &where);
	if (i->topic < 0)
		return i->topic;
	l = dds_create_listener(i);
	dds_lset_data_available(l, on_data);
	dds_lset_requested_incompatible_qos(l, on_refused);
	return link_reader(b, i->topic, &q, l);
}

static void listen_begin(struct sim_bridge *b, struct link_import *i)
{
	if (i->reader > 0)
		return;
	link_exchange_listen(b, i, true);
	i->reader = create_reader(b, i);
	if (i->reader < 0)
		log_error(b, "%s cannot be read: %s", i->name, dds_strretcode(i->reader));
}

/* dds_delete() waits for a running callback; callbacks do not take sim_bridge::lock. */
static void listen_end(struct link_import *i)
{
	if (i->reader > 0)
		dds_delete(i->reader);
	if (i->reader)
		link_exchange_listen(i->bridge, i, false);
	if (i->topic > 0)
		dds_delete(i->topic);
	i->reader = i->topic = 0;
}

/* Caller holds sim_bridge::lock. */
static struct link_import *find(struct sim_bridge *b, const char *channel)
{
	struct link_import *i = b->imports;

	while (i && strcmp(i->name, channel) != 0)
		i = i->next;
	return i;
}

/*
 * The reader of a channel with `keep` stays open without listeners: a new reader would receive the last messages again,
 * and as the channel here keeps them too, the next listener would get them twice.
 */
void link_listen(struct sim_bridge *b, const char *channel, int on)
{
	struct link_import *i;

	pthread_mutex_lock(&b->lock);
	i = find(b, channel);
	if (i && on)
		listen_begin(b, i);
	else if (i && !i->keep)
		listen_end(i);
	pthread_mutex_unlock(&b->lock);
}

/* ---- offering ---- */

bool link_import_has(struct sim_bridge *b, const char *channel, const struct sim_type *type)
{
	const struct link_import *i;
	bool has;

	pthread_mutex_lock(&b->lock);
	i = find(b, channel);
	has = i && i->type->hash == type->hash;
	pthread_mutex_unlock(&b->lock);
	return has;
}

static struct link_import *add(struct sim_bridge *b, const struct manifest_channel *c, const struct sim_type *type)
{
	struct link_import *i = b->n_imports < LINK_IMPORTS_MAX ? calloc(1, sizeof(*i)) : NULL;

	if (!i)
		return NULL;
	i->bridge = b;
	snprintf(i->name, sizeof(i->name), "%s", c->name);
	i->type = sim_type_ref(type);
	i->max_body = c->max_body ? c->max_body : type->fixed_size > BODY_DEFAULT ? type->fixed_size : BODY_DEFAULT;
	i->reliable = c->reliable;
	i->keep = c->keep;
	i->next = b->imports;
	b->imports = i;
	b->n_imports++;
	return i;
}

/* The import is added before it is offered, because link_open() is called for the channel during the offer. */
static int get(struct sim_bridge *b, const struct manifest_channel *c, const struct sim_type *type,
	       struct link_import **ret)
{
	struct link_import *i;
	int r = 0;

	pthread_mutex_lock(&b->lock);
	i = find(b, c->name);
	if (i && i->type->hash != type->hash)
		r = -EMEDIUMTYPE;
	else if (!i && !(i = add(b, c, type)))
		r = -E2BIG;
	pthread_mutex_unlock(&b->lock);
	*ret = i;
	return r;
}

static void name_refusal(struct sim_bridge *b, const struct link_import *i, const char *host)
{
	const char *why = i->refused == -EACCES ? "the rig does not list it under \"inbound\""
			  : i->refused == -ENOTSUP || i->refused == -EINVAL || i->refused == -EMEDIUMTYPE
				  ? "there is another channel with that name here"
			  : i->refused == -EMSGSIZE || i->refused == -ENOSPC ? "no pool has slots of its size"
									     : strerror(-i->refused);

	log_warn(b, "%s of machine %s is not imported: %s", i->name, host, why);
}

int link_import_offer(struct sim_bridge *b, const struct manifest_channel *c, const struct sim_type *type,
		      const char *host)
{
	const struct sim_bridge_host *h = b->host;
	struct link_import *i;
	int r = get(b, c, type, &i);

	if (r < 0 || i->offered || mono_now_ns() < i->again_mono_ns)
		return r;
	r = h->offer_from(h->ctx, i->name, i->type, i->max_body, host, i->keep ? SIM_BRIDGE_OFFER_LATCH : 0);
	i->offered = r == 0 || r == -EALREADY;
	i->pause_dur_ns = i->pause_dur_ns ? 2 * i->pause_dur_ns : PAUSE_MIN_DUR_NS;
	if (i->pause_dur_ns > PAUSE_MAX_DUR_NS)
		i->pause_dur_ns = PAUSE_MAX_DUR_NS;
	i->again_mono_ns = mono_now_ns() + i->pause_dur_ns;
	if (!i->offered && r != i->refused) {
		i->refused = r;
		name_refusal(b, i, host);
	} else if (i->offered) {
		log_info(b, "%s (%s) is imported from machine %s", i->name, i->type->name, host);
		if (SIM_BRIDGE_HOST_HAS(h, brings))
			h->brings(h->ctx, i->name, i->name, i->type->name);
	}
	return i->offered ? 0 : r;
}

static void import_free(struct sim_bridge *b, struct link_import *i)
{
	listen_end(i);
	if (i->offered)
		b->host->withdraw(b->host->ctx, i->name);
	sim_type_unref(i->type);
	free(i);
}

void link_import_withdraw(struct sim_bridge *b, const char *channel)
{
	struct link_import **at = &b->imports, *i;

	pthread_mutex_lock(&b->lock);
	while (*at && strcmp((*at)->name, channel) != 0)
		at = &(*at)->next;
	i = *at;
	if (i) {
		*at = i->next;
		b->n_imports--;
	}
	pthread_mutex_unlock(&b->lock);
	if (i)
		import_free(b, i);
}

void link_imports_close(struct sim_bridge *b)
{
	while (b->imports) {
		struct link_import *i = b->imports;

		b->imports = i->next;
		log_info(b, "%s: %llu messages received, %llu dropped", i->name,
			 (unsigned long long)atomic_load(&i->received), (unsigned long long)atomic_load(&i->lost));
		i->offered = false; /* the host withdraws it by itself */
		import_free(b, i);
	}
}
