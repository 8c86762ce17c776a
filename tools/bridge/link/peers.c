/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other machines. Each host has a writer of manifests, which keeps the last one for hosts that come later, and a writer
 * of type definitions, with which other hosts import channels whose types they were not built with. A definition is
 * only used under its own hash. Threads: "link", the only one that uses b->thr; open and close: that of create().
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "service.h"

#define LOOK_DUR_NS  INT64_C(1000000000)
#define AGAIN_DUR_NS INT64_C(50000000) /* pause before sending again after an error */

/* ---- types ---- */

static const struct sim_type *type_of(const struct sim_bridge *b, uint64_t hash, const char *name)
{
	for (unsigned i = 0; i < b->thr.n_types; i++)
		if (b->thr.types[i]->hash == hash && strcmp(b->thr.types[i]->name, name) == 0)
			return b->thr.types[i];
	return NULL;
}

static void take_type(void *arg, struct blob_in *in, dds_instance_handle_t writer)
{
	struct sim_bridge *b = arg;
	const struct sim_type *type = NULL;
	int r = in->r;

	(void)writer;
	if (r == 0)
		r = sim_type_from_json(in->body, in->head.body_size, &type);
	if (r == 0 && type_of(b, type->hash, type->name)) {
		sim_type_unref(type);
		return;
	}
	if (r == 0 && b->thr.n_types == LINK_TYPES_MAX)
		r = -ENOSPC;
	if (r == 0) {
		b->thr.types[b->thr.n_types++] = type;
		return;
	}
	sim_type_unref(type);
	if (limit_allows(&b->thr.lines))
		log_warn(b, "the definition of a type from another machine is ignored: %s",
			 in->why        ? in->why
			 : r == -ENOSPC ? "there are too many"
					: sim_why());
}

static bool was_sent(const struct sim_bridge *b, uint64_t hash)
{
	for (unsigned i = 0; i < b->thr.n_sent; i++)
		if (b->thr.sent[i] == hash)
			return true;
	return false;
}

static int send_type(struct sim_bridge *b, const struct sim_type *type)
{
	char *text = NULL;
	int r;

	if (was_sent(b, type->hash) || b->thr.n_sent == LINK_TYPES_MAX)
		return 0;
	r = sim_type_to_json(type, &text);
	if (r == 0)
		r = link_write(b, b->type_writer, ++b->sequence, text, strlen(text));
	free(text);
	if (r == 0)
		b->thr.sent[b->thr.n_sent++] = type->hash;
	return r;
}

/* ---- our manifest ---- */

struct own { /* a copy, because nothing is sent while the lock is held */
	struct manifest m;
	const struct sim_type **types; /* reference-counted */
	unsigned n_types;
};

static void add_type(struct own *o, const struct sim_type *type)
{
	o->types[o->n_types++] = sim_type_ref(type);
}

static void add_channel(struct own *o, const struct sim_bridge_topic *t)
{
	struct manifest_channel *c = &o->m.channels[o->m.n_channels++];

	*c = (struct manifest_channel){ .max_body = t->max_body, .reliable = t->reliable, .keep = t->keep };
	snprintf(c->name, sizeof(c->name), "%s", t->name);
	snprintf(c->type.name, sizeof(c->type.name), "%s", t->type->name);
	c->type.hash = t->type->hash;
	add_type(o, t->type);
}

static int collect(struct sim_bridge *b, struct own *o)
{
	unsigned room;

	pthread_mutex_lock(&b->lock);
	room = b->n_exports + 2 * b->n_services + 1;
	o->m.channels = calloc(room, sizeof(*o->m.channels));
	o->m.services = calloc(room, sizeof(*o->m.services));
	o->types = calloc(room, sizeof(*o->types));
	snprintf(o->m.host, sizeof(o->m.host), "%s", b->name);
	o->m.id = b->id;
	if (o->m.channels && o->m.services && o->types) {
		for (unsigned i = 0; i < b->n_exports; i++)
			if (atomic_load(&b->exports[i]->announced))
				add_channel(o, b->exports[i]);
		for (unsigned i = 0; i < b->n_services; i++) {
			o->m.services[o->m.n_services++] = b->services[i];
			add_type(o, b->own_services[i]->type.request);
			add_type(o, b->own_services[i]->type.response);
		}
		b->changed = false;
	}
	pthread_mutex_unlock(&b->lock);
	return o->m.channels && o->m.services && o->types ? 0 : -ENOMEM;
}

static void own_finish(struct own *o)
{
	for (unsigned i = 0; i < o->n_types; i++)
		sim_type_unref(o->types[i]);
	free((void *)o->types);
	free(o->m.channels);
	free(o->m.services);
}

static int send_own(struct sim_bridge *b)
{
	struct own o = { 0 };
	char *text = NULL;
	int r = collect(b, &o);

	for (unsigned i = 0; i < o.n_types && r == 0; i++)
		r = send_type(b, o.types[i]);
	if (r == 0 && !(text = manifest_write(&o.m)))
		r = -ENOMEM;
	if (r == 0)
		r = link_write(b, b->manifest_writer, ++b->sequence, text, strlen(text));
	free(text);
	own_finish(&o);
	return r;
}

void link_changed(struct sim_bridge *b)
{
	pthread_mutex_lock(&b->lock);
	b->changed = true;
	pthread_mutex_unlock(&b->lock);
	waiter_poke(&b->waiter);
}

static bool has_changed(struct sim_bridge *b)
{
	bool changed;

	pthread_mutex_lock(&b->lock);
	changed = b->changed;
	pthread_mutex_unlock(&b->lock);
	return changed;
}

/* ---- manifests of others ---- */

static struct link_peer *peer_of(struct sim_bridge *b, dds_instance_handle_t writer)
{
	for (unsigned i = 0; i < b->thr.n_peers; i++)
		if (b->thr.peers[i].writer == writer)
			return &b->thr.peers[i];
	if (b->thr.n_peers == LINK_PEERS_MAX)
		return NULL;
	b->thr.peers[b->thr.n_peers] = (struct link_peer){ .writer = writer };
	return &b->thr.peers[b->thr.n_peers++];
}

static void check_name(struct sim_bridge *b, const struct link_peer *p)
{
	bool twice = strcmp(p->m->host, b->name) == 0;

	for (unsigned i = 0; i < b->thr.n_peers; i++) {
		const struct link_peer *o = &b->thr.peers[i];

		twice = twice || (o != p && o->m && o->m->id != p->m->id && strcmp(o->m->host, p->m->host) == 0);
	}
	if (twice && limit_allows(&b->thr.lines))
		log_warn(b, "two machines are called %s: set options.host of one link to another name", p->m->host);
}

static void take_manifest(void *arg, struct blob_in *in, dds_instance_handle_t writer)
{
	struct sim_bridge *b = arg;
	struct link_peer *p = peer_of(b, writer);
	struct manifest *m = NULL;
	char why[200] = "";
	int r = in->r;
	bool is_new;

	if (r == 0)
		r = manifest_read(in->body, in->head.body_size, &m, why, sizeof(why));
	if (r == 0 && !secure_is_host(b, b->manifest_reader, writer, m->host)) {
		snprintf(why, sizeof(why), "its keys are not those of a machine of that name");
		r = -EPERM;
	}
	if (r == 0 && m->id == b->id) { /* from another link of this simd */
		manifest_free(m);
		return;
	}
	if (r < 0 || !p) {
		if (limit_allows(&b->thr.lines))
			log_warn(b, "machine %s is not linked: %s", m ? m->host : "(unknown)",
				 !p        ? "there are too many"
				 : in->why ? in->why
				 : *why    ? why
					   : strerror(-r));
		manifest_free(m);
		return;
	}
	is_new = !p->m;
	manifest_free(p->m);
	p->m = m;
	if (!is_new)
		return;
	log_info(b, "machine %s is linked: %u channels, %u services", m->host, m->n_channels, m->n_services);
	check_name(b, p);
}

static void forget(struct sim_bridge *b, struct link_peer *p)
{
	if (p->m) {
		log_info(b, "machine %s is gone", p->m->host);
		link_services_gone(b, p->m);
	}
	manifest_free(p->m);
	*p = b->thr.peers[--b->thr.n_peers];
}

/* Forgets peers whose writer is no longer matched. */
static bool drop_gone(struct sim_bridge *b)
{
	dds_instance_handle_t there[LINK_PEERS_MAX + 1];
	dds_return_t n = dds_get_matched_publications(b->manifest_reader, there, LINK_PEERS_MAX + 1);
	bool any = false;

	if (n < 0)
		return false;
	n = n < (dds_return_t)LINK_PEERS_MAX + 1 ? n : (dds_return_t)LINK_PEERS_MAX + 1;
	for (unsigned i = 0; i < b->thr.n_peers;) {
		bool found = false;

		for (dds_return_t k = 0; k < n && !found; k++)
			found = there[k] == b->thr.peers[i].writer;
		if (found) {
			i++;
			continue;
		}
		forget(b, &b->thr.peers[i]);
		any = true;
	}
	return any;
}

/* Whether any machine exports the channel with that type. */
static bool anybody_has(const struct sim_bridge *b, const char *channel, uint64_t hash)
{
	for (unsigned i = 0; i < b->thr.n_peers; i++) {
		const struct manifest *m = b->thr.peers[i].m;

		for (unsigned k = 0; m && k < m->n_channels; k++)
			if (m->channels[k].type.hash == hash && strcmp(m->channels[k].name, channel) == 0)
				return true;
	}
	return false;
}

/* The type's hash of an imported channel; 0: not imported. */
static uint64_t old_hash(struct sim_bridge *b, const char *channel)
{
	uint64_t hash = 0;

	pthread_mutex_lock(&b->lock);
	for (const struct link_import *i = b->imports; i; i = i->next)
		if (strcmp(i->name, channel) == 0)
			hash = i->type->hash;
	pthread_mutex_unlock(&b->lock);
	return hash;
}

static void import_channel(struct sim_bridge *b, const struct manifest *m, const struct manifest_channel *c)
{
	const struct sim_type *type = type_of(b, c->type.hash, c->type.name);
	int r;

	if (!type || !patterns_match(&b->import, c->name))
		return;
	r = link_import_offer(b, c, type, m->host);
	if (r == -EMEDIUMTYPE && !anybody_has(b, c->name, old_hash(b, c->name))) {
		log_info(b, "%s of machine %s has another type than before: %s", c->name, m->host, c->type.name);
		link_import_withdraw(b, c->name);
		r = link_import_offer(b, c, type, m->host);
	}
	if (r == -EMEDIUMTYPE && limit_allows(&b->thr.lines))
		log_warn(
			b,
			"%s of machine %s is not imported: its type there, %s (%016llx), is not that of another machine",
			c->name, m->host, c->type.name, (unsigned long long)c->type.hash);
	if (r == -E2BIG && limit_allows(&b->thr.lines))
		log_warn(b, "%s of machine %s is not imported: %u channels are already", c->name, m->host,
			 LINK_IMPORTS_MAX);
}

static const struct sim_type *find_type(void *arg, const struct manifest_type *t)
{
	return type_of(arg, t->hash, t->name);
}

static void import_all(struct sim_bridge *b)
{
	if (atomic_load(&b->status) != SIM_BRIDGE_CONNECTED || !b->imports_any)
		return;
	for (unsigned i = 0; i < b->thr.n_peers; i++) {
		const struct manifest *m = b->thr.peers[i].m;

		for (unsigned k = 0; m && k < m->n_channels; k++)
			import_channel(b, m, &m->channels[k]);
		if (m)
			link_services_import(b, m, find_type, b);
	}
}

/* ---- the thread ---- */

static void *peers_main(void *arg)
{
	struct sim_bridge *b = arg;
	dds_subscription_matched_status_t matched;
	int64_t wait_dur_ns = 0;

	while (!atomic_load(&b->waiter.stop)) {
		int64_t due_dur_ns = link_confirm_tick(b);
		int64_t calls_dur_ns = link_services_tick(b);

		wait_dur_ns = LOOK_DUR_NS < due_dur_ns ? LOOK_DUR_NS : due_dur_ns;
		wait_dur_ns = wait_dur_ns < calls_dur_ns ? wait_dur_ns : calls_dur_ns;
		if (has_changed(b) && send_own(b) < 0) {
			link_changed(b);
			wait_dur_ns = AGAIN_DUR_NS;
		}
		waiter_wait(&b->waiter, wait_dur_ns);
		(void)dds_get_subscription_matched_status(b->manifest_reader,
							  /*
							   * reset the status, else it would wake this thread again at
							   * once
							   */
							  &matched);
		blob_take(b->type_reader, take_type, b);
		blob_take(b->manifest_reader, take_manifest, b);
		drop_gone(b);
		link_strangers_look(b);
		import_all(b);
	}
	return NULL;
}

static void take_answer(void *arg, struct blob_in *in, dds_instance_handle_t writer)
{
	struct sim_bridge *b = arg;

	(void)writer;
	if (in->r == 0 && in->head.host == b->id)
		link_confirm_answer(b, &in->head, (int)in->head.stamp_sim_ns);
}

static void on_answers(dds_entity_t reader, void *arg)
{
	blob_take(reader, take_answer, arg);
}

/*
 * The reader keeps all messages: the topic has no key, so all hosts write the same DDS instance, and with the history
 * of the writers the reader would keep only the last host's message.
 */
static int open_pair(struct sim_bridge *b, const char *name, const struct blob_place *place, const struct link_qos *q,
		     dds_listener_t *listener, dds_entity_t *topic, dds_entity_t *reader, dds_entity_t *writer)
{
	const struct link_qos reads = { .reliable = q->reliable, .keep = q->keep, .keep_all = true };

	*topic = blob_topic_create(b->participant, name, name, place);
	if (*topic < 0) {
		dds_delete_listener(listener);
		return dds_errno(*topic);
	}
	*writer = link_writer(b, *topic, q, NULL);
	*reader = link_reader(b, *topic, &reads, listener);
	if (*writer < 0 || *reader < 0)
		log_error(b, "%s: no DDS endpoint: %s", name, dds_strretcode(*writer < 0 ? *writer : *reader));
	return dds_errno(*writer < 0 ? *writer : *reader);
}

int link_peers_open(struct sim_bridge *b)
{
	const struct blob_place texts = { .taken_max = MANIFEST_TEXT_MAX }, none = { 0 };
	const struct link_qos last = { .reliable = true, .keep = true, .depth = 1 };
	const struct link_qos all = { .reliable = true, .keep = true, .keep_all = true };
	const struct link_qos answers = { .reliable = true, .depth = 1000 };
	dds_listener_t *l = dds_create_listener(b);
	int r;

	dds_lset_data_available(l, on_answers);
	r = open_pair(b, "simd/answer", &none, &answers, l, &b->answer_topic, &b->answer_reader, &b->answer_writer);
	if (r == 0)
		r = open_pair(b, "simd/host", &texts, &last, NULL, &b->manifest_topic, &b->manifest_reader,
			      &b->manifest_writer);
	if (r == 0)
		r = open_pair(b, "simd/type", &texts, &all, NULL, &b->type_topic, &b->type_reader, &b->type_writer);
	if (r == 0)
		r = waiter_open(&b->waiter, b->participant, b->manifest_reader);
	if (r == 0)
		r = dds_errno(
			dds_waitset_attach(b->waiter.set, dds_create_readcondition(b->type_reader, DDS_ANY_STATE), 0));
	b->participants = dds_create_reader(b->participant, DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL, NULL);
	b->changed = true;
	return r < 0 ? r : waiter_start(&b->waiter, "link", peers_main, b);
}

void link_peers_close(struct sim_bridge *b)
{
	waiter_close(&b->waiter);
	for (unsigned i = 0; i < b->thr.n_peers; i++)
		manifest_free(b->thr.peers[i].m);
	for (unsigned i = 0; i < b->thr.n_types; i++)
		sim_type_unref(b->thr.types[i]);
	b->thr.n_peers = b->thr.n_types = 0;
}
