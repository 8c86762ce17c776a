/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exported channels, each with a DDS writer. A message from another machine is not sent on, so there are no loops;
 * without a reader on another machine nothing is sent. Cyclone reads a large body directly from its slot; the task is
 * answered when it has finished. Threads: open and close: the host's main one; publish: lanes and "link-large".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "link.h"

#define CLOCK "/clock" /* time is sent by time.c instead */

void link_topic_name(const char *channel, uint64_t type_hash, char name[LINK_TOPIC_MAX], char type[32])
{
	snprintf(name, LINK_TOPIC_MAX, "simd/ch%s", channel);
	snprintf(type, 32, "simd::%016llx", (unsigned long long)type_hash);
}

/* ---- open and close ---- */

static void on_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *arg)
{
	struct sim_bridge_topic *t = arg;

	(void)writer;
	atomic_store(&t->large.readers_ever, (int)status.total_count);
	atomic_store(&t->readers, (int)status.current_count);
	if (status.current_count_change > 0)
		atomic_store(&t->early.again, true);
	if (status.current_count_change < 0)
		link_confirm_lost(t->bridge, t);
}

/* For large channels only the newest message matters, unless the rig has them in an option. */
static void set_qos(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	t->confirm = patterns_match(&b->confirm, t->name);
	t->keep = patterns_match(&b->keep, t->name);
	t->reliable = t->confirm || t->keep || patterns_match(&b->reliable, t->name) ||
		      (t->max_body <= BLOB_COPIED_MAX && !patterns_match(&b->best_effort, t->name));
	t->large.reliable = t->reliable;
}

static int create_writer(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	const struct link_qos q = { .reliable = t->reliable,
				    .keep = t->keep,
				    .depth = t->reliable ? link_exchange_depth(b) : 1 };
	const struct blob_place nowhere = { 0 };
	dds_listener_t *l = dds_create_listener(t);
	char name[LINK_TOPIC_MAX], type[32];

	dds_lset_publication_matched(l, on_matched);
	link_topic_name(t->name, t->type->hash, name, type);
	t->topic = blob_topic_create(b->participant, name, type, &nowhere);
	if (t->topic < 0) {
		dds_delete_listener(l);
		return dds_errno(t->topic);
	}
	t->writer = link_writer(b, t->topic, &q, l);
	return dds_errno(t->writer);
}

static void topic_free(struct sim_bridge_topic *t)
{
	link_exchange_unsubscribe(t);
	link_exchange_forget(t);
	pthread_mutex_destroy(&t->early.lock);
	if (t->writer > 0)
		dds_delete(t->writer);
	if (t->topic > 0)
		dds_delete(t->topic);
	free(t);
}

static int refuse(struct sim_bridge *b, const struct sim_bridge_channel *ch, int r, const char *why)
{
	log_at(b, 2, "%s: %s", ch->name, why);
	return r;
}

int link_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	struct sim_bridge_topic *t;
	bool full;
	int r;

	if (!patterns_match(&b->export, ch->name))
		return refuse(b, ch, -ENOTSUP, "options.export of the link leaves it out");
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct sim_bridge_topic){ .bridge = b, .name = ch->name, .type = ch->type };
	pthread_mutex_init(&t->early.lock, NULL);
	if (SIM_BRIDGE_HOST_HAS(b->host, max_body))
		t->max_body = b->host->max_body(b->host->ctx, ch);
	if (strcmp(ch->name, CLOCK) == 0) {
		log_info(b, "%s: time is not sent as messages: see options.time", ch->name);
		*ret = t; /* the topic has no writer */
		return 0;
	}
	set_qos(b, t);
	atomic_store(&t->announced, !link_import_has(b, ch->name, ch->type));
	r = create_writer(b, t);
	pthread_mutex_lock(&b->lock);
	full = b->n_exports == LINK_EXPORTS_MAX;
	if (r == 0 && !full)
		b->exports[b->n_exports++] = t;
	pthread_mutex_unlock(&b->lock);
	if (r < 0 || full) {
		topic_free(t);
		return r < 0 ? r : -ENOSPC;
	}
	link_changed(b);
	*ret = t;
	return 0;
}

void link_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	large_drain(&b->large, t);
	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->n_exports; i++) {
		if (b->exports[i] != t)
			continue;
		b->exports[i] = b->exports[--b->n_exports];
		break;
	}
	pthread_mutex_unlock(&b->lock);
	link_confirm_lost(b, t);
	link_changed(b);
	topic_free(t);
}

/* ---- sending ---- */

void link_sending_end(struct link_sending *s, int result)
{
	int none = 0;

	if (result < 0)
		atomic_compare_exchange_strong(&s->result, &none, result);
	if (atomic_fetch_sub(&s->left, 1) != 1)
		return;
	s->b->host->complete(s->b->host->ctx, s->task, atomic_load(&s->result));
	free(s);
}

static void on_released(void *arg)
{
	link_sending_end(arg, 0);
}

struct blob_head link_head(const struct sim_bridge *b, const struct sim_slot *s, size_t body_size)
{
	struct blob_head h = { .type_hash = s->type_hash,
			       .host = b->id,
			       .sequence = s->sequence,
			       .stamp_sim_ns = s->stamp_sim_ns,
			       .body_size = body_size };

	snprintf(h.frame, sizeof(h.frame), "%s", s->frame_id);
	return h;
}

/* Answers the task when the slot is no longer read and, if requested, the message is confirmed. */
static int send_later(struct sim_bridge *b, struct sim_bridge_topic *t, struct blob_out *o, struct sim_task *task,
		      bool refers)
{
	int needed = t->confirm ? atomic_load(&t->readers) : 0;
	struct link_sending *s = malloc(sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	*s = (struct link_sending){ .b = b, .task = task };
	atomic_init(&s->left, 1 + (refers ? 1 : 0) + (needed > 0 ? 1 : 0));
	if (refers) {
		o->released = on_released;
		o->arg = s;
	}
	if (needed > 0) {
		o->head.confirm = link_confirm_begin(b, t, s, needed);
		o->head.flags |= BLOB_CONFIRM;
		if (!o->head.confirm)
			link_sending_end(s, -EBUSY);
	}
	r = dds_errno(large_write(&b->large, &t->large, t->writer, o, blob_size(o->head.body_size)));
	link_sending_end(s, r);
	return 1;
}

int link_send(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task)
{
	struct blob_out o = { .head = link_head(b, &m->header, m->body_size), .body = m->body };
	bool refers = m->body_size > BLOB_COPIED_MAX;

	atomic_fetch_add(&b->sent, 1);
	if (task && (refers || t->confirm))
		return send_later(b, t, &o, task, refers);
	return dds_errno(large_write(&b->large, &t->large, t->writer, &o, blob_size(m->body_size)));
}

static void announce(struct sim_bridge_topic *t)
{
	if (!atomic_exchange(&t->announced, true))
		link_changed(t->bridge);
}

int link_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task)
{
	if (t->writer <= 0)
		return 0;
	if (m->header.origin_host) {
		atomic_fetch_add(&b->transit, 1);
		return 0;
	}
	if (!atomic_load_explicit(&t->announced, memory_order_relaxed))
		announce(t);
	if (!t->keep && !atomic_load(&t->readers)) {
		atomic_fetch_add(&b->skipped, 1);
		return 0;
	}
	if (link_exchange_sent(t, &m->header))
		return 0;
	return large_take(&b->large, t, m, task) ? 1 : link_send(b, t, m, task);
}
