/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See service.h. A request and its answer are each a reliable blob, addressed to one machine. Each call has a number
 * and a table entry, and ends once: the thread that removes the entry answers.
 *
 * Threads: requests of our clients come on the host's thread for services; blobs on Cyclone's; services are imported by
 * the "link" thread, and withdrawn also by the one that disconnects. Locks: `imports_lock`, held also while the host is
 * called; `lock` is a leaf.
 */
#include "service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_msg.h"

#define CALLS_MAX   256u
#define CALL_DUR_NS INT64_C(10000000000) /* later than any timeout of the host towards its client */

struct imported { /* a service of another machine */
	struct sim_bridge *bridge;
	struct imported *next;
	char name[SIM_CHANNEL_MAX + 1], type_name[SIM_TYPE_NAME_MAX + 1], host[SIM_HOST_NAME_MAX + 1];
	uint64_t host_id;
	struct sim_service_type type; /* request and response types are reference-counted */
	bool offered;
	int refused; /* error of the last offer, logged when it changes */
};

struct call {            /* an unanswered call of one of our clients */
	uint64_t number; /* 0: unused */
	uint64_t host_id;
	struct sim_pending *pending;
	int64_t due_mono_ns;
};

struct link_calls {
	dds_entity_t request_topic, request_writer, request_reader, reply_topic, reply_writer, reply_reader;
	pthread_mutex_t imports_lock;
	struct imported *imports; /* guarded by imports_lock */
	pthread_mutex_t lock;
	struct call calls[CALLS_MAX]; /* guarded by lock, like `last` */
	uint64_t last;
};

/* ---- calls of our clients ---- */

static uint64_t call_begin(struct link_calls *k, uint64_t host_id, struct sim_pending *p)
{
	uint64_t number = 0;

	pthread_mutex_lock(&k->lock);
	for (unsigned i = 0; i < CALLS_MAX && !number; i++) {
		struct call *c = &k->calls[(k->last + 1 + i) % CALLS_MAX];

		if (c->number)
			continue;
		number = k->last += 1 + i;
		*c = (struct call){ number, host_id, p, mono_now_ns() + CALL_DUR_NS };
	}
	pthread_mutex_unlock(&k->lock);
	return number;
}

/*
 * Removes a call and returns its `pending`: with number: that call to host_id; number 0: any call to host_id; both 0:
 * one due by until_mono_ns. NULL: none.
 */
static struct sim_pending *call_take(struct link_calls *k, uint64_t number, uint64_t host_id, int64_t until_mono_ns)
{
	struct sim_pending *p = NULL;

	pthread_mutex_lock(&k->lock);
	for (unsigned i = 0; i < CALLS_MAX && !p; i++) {
		struct call *c = &k->calls[i];
		bool is = number    ? c->number == number && c->host_id == host_id
			  : host_id ? c->host_id == host_id
				    : c->due_mono_ns <= until_mono_ns;

		if (!c->number || !is)
			continue;
		p = c->pending;
		c->number = 0;
	}
	pthread_mutex_unlock(&k->lock);
	return p;
}

static void answer(struct sim_bridge *b, struct sim_pending *p, int result, const char *why)
{
	if (p)
		(void)b->host->answer(b->host->ctx, p, result, why, NULL, 0);
}

static int send_msg(struct sim_bridge *b, dds_entity_t writer, const struct call_msg *m)
{
	uint8_t *buf = malloc(CALL_MSG_MAX);
	size_t size = buf ? call_msg_write(m, buf) : 0;
	int r = !buf ? -ENOMEM : !size ? -EMSGSIZE : link_write(b, writer, m->number, buf, size);

	free(buf);
	return r;
}

/* A sim_bridge_serve_fn. */
static void on_client(void *user, const void *request, size_t size, struct sim_pending *p)
{
	const struct imported *s = user;
	struct sim_bridge *b = s->bridge;
	struct call_msg m = { .to = s->host_id,
			      .text = s->name,
			      .text_len = (uint32_t)strlen(s->name),
			      .body = request,
			      .body_len = (uint32_t)size };
	int r;

	m.number = call_begin(b->calls, s->host_id, p);
	if (!m.number) {
		answer(b, p, -EBUSY, "too many calls of other machines' services are unanswered");
		return;
	}
	r = send_msg(b, b->calls->request_writer, &m);
	if (r < 0)
		answer(b, call_take(b->calls, m.number, s->host_id, 0), r, "the request could not be sent");
}

static void take_reply(void *arg, struct blob_in *in, dds_instance_handle_t writer)
{
	struct sim_bridge *b = arg;
	struct sim_pending *p;
	char why[CALL_MSG_TEXT_MAX + 1];
	struct call_msg m;

	(void)writer;
	if (in->r < 0 || call_msg_read(in->body, in->head.body_size, &m) < 0 || m.to != b->id)
		return;
	p = call_take(b->calls, m.number, in->head.host, 0);
	if (!p)
		return;
	snprintf(why, sizeof(why), "%.*s", (int)m.text_len, m.text);
	(void)b->host->answer(b->host->ctx, p, m.result, *why ? why : NULL, m.result < 0 ? NULL : m.body,
			      m.result < 0 ? 0 : m.body_len);
}

static void on_replies(dds_entity_t reader, void *arg)
{
	blob_take(reader, take_reply, arg);
}

/* ---- requests of other machines ---- */

struct asked { /* a request until our service answers it */
	struct sim_bridge *b;
	uint64_t host, number;
	struct link_own_service *service;
};

static void reply(struct sim_bridge *b, uint64_t host, uint64_t number, int result, const char *why,
		  const void *response, size_t size)
{
	struct call_msg m = { .to = host, .number = number, .result = result > 0 ? -EPROTO : result };

	if (result < 0 && why) {
		m.text = why;
		m.text_len = (uint32_t)strnlen(why, CALL_MSG_TEXT_MAX);
	} else if (result == 0) {
		m.body = response;
		m.body_len = (uint32_t)size;
	}
	if (send_msg(b, b->calls->reply_writer, &m) < 0)
		log_warn(b, "an answer to another machine could not be sent");
}

static void own_unref(struct link_own_service *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	sim_type_unref(s->type.request);
	sim_type_unref(s->type.response);
	free(s);
}

static struct link_own_service *own_new(const struct sim_service_type *from)
{
	struct link_own_service *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	atomic_init(&s->refs, 1);
	snprintf(s->name, sizeof(s->name), "%s", from->name);
	s->type = (struct sim_service_type){ .abi = SIM_TYPE_ABI,
					     .size = sizeof(s->type),
					     .name = s->name,
					     .comment = "",
					     .request = sim_type_ref(from->request),
					     .response = sim_type_ref(from->response) };
	return s;
}

/* Returns a reference, which own_unref() releases; NULL: not offered here. */
static struct link_own_service *own_service(struct sim_bridge *b, const char *name)
{
	struct link_own_service *s = NULL;

	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->n_services && !s; i++)
		if (strcmp(b->services[i].name, name) == 0)
			s = b->own_services[i];
	if (s)
		atomic_fetch_add(&s->refs, 1);
	pthread_mutex_unlock(&b->lock);
	return s;
}

static void asked_free(struct asked *a)
{
	own_unref(a->service);
	free(a);
}

/* A sim_answer_fn. */
static void on_answer(void *user, int result, const char *why, const void *response, size_t size)
{
	struct asked *a = user;

	reply(a->b, a->host, a->number, result, why, response, size);
	asked_free(a);
}

static void take_request(void *arg, struct blob_in *in, dds_instance_handle_t writer)
{
	struct sim_bridge *b = arg;
	char name[SIM_CHANNEL_MAX + 1];
	struct call_msg m;
	struct asked *a;
	int r = -ENOENT;

	(void)writer;
	if (in->r < 0 || call_msg_read(in->body, in->head.body_size, &m) < 0 || m.to != b->id ||
	    m.text_len > SIM_CHANNEL_MAX)
		return;
	a = malloc(sizeof(*a));
	if (!a)
		return; /* the caller gets a timeout */
	snprintf(name, sizeof(name), "%.*s", (int)m.text_len, m.text);
	*a = (struct asked){ b, in->head.host, m.number, own_service(b, name) };
	if (a->service)
		r = b->host->call(b->host->ctx, name, &a->service->type, m.body, m.body_len, m.timeout_dur_ns,
				  on_answer, a);
	if (r == 0)
		return;
	asked_free(a);
	reply(b, in->head.host, m.number, r, r == -ENOENT ? "the machine no longer offers it" : NULL, NULL, 0);
}

static void on_requests(dds_entity_t reader, void *arg)
{
	blob_take(reader, take_request, arg);
}

/* ---- our services ---- */

static void describe(struct manifest_type *ret, const struct sim_type *t)
{
	snprintf(ret->name, sizeof(ret->name), "%s", t->name);
	ret->hash = t->hash;
}

void link_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	struct link_own_service *own = type ? own_new(type) : NULL, *old = NULL;
	unsigned i = 0;

	pthread_mutex_lock(&b->lock);
	while (i < b->n_services && strcmp(b->services[i].name, name) != 0)
		i++;
	if (i < b->n_services) {
		old = b->own_services[i];
		b->services[i] = b->services[--b->n_services];
		b->own_services[i] = b->own_services[b->n_services];
	}
	if (own && b->n_services < MANIFEST_SERVICES_MAX) {
		struct manifest_service *s = &b->services[b->n_services];

		*s = (struct manifest_service){ .name = "" };
		snprintf(s->name, sizeof(s->name), "%s", name);
		snprintf(s->type, sizeof(s->type), "%s", type->name);
		describe(&s->request, type->request);
		describe(&s->response, type->response);
		b->own_services[b->n_services++] = own;
		own = NULL;
	}
	pthread_mutex_unlock(&b->lock);
	if (own)
		log_warn(b, "service %s is not offered to other machines: %u are already", name, MANIFEST_SERVICES_MAX);
	own_unref(own);
	own_unref(old);
	link_changed(b);
}

/* ---- services of others ---- */

static bool lists(const struct manifest *m, const struct imported *s)
{
	for (unsigned i = 0; i < m->n_services; i++)
		if (strcmp(m->services[i].name, s->name) == 0 && m->services[i].request.hash == s->type.request->hash &&
		    m->services[i].response.hash == s->type.response->hash)
			return true;
	return false;
}

static void withdraw(struct imported *s)
{
	struct sim_bridge *b = s->bridge;

	if (s->offered)
		(void)b->host->serve(b->host->ctx, s->name, NULL, NULL, NULL);
	sim_type_unref(s->type.request);
	sim_type_unref(s->type.response);
	free(s);
}

/*
 * Withdraws services that m does not list. m NULL: all of that host; host_id 0: of all hosts. Caller holds
 * imports_lock.
 */
static void withdraw_unlisted(struct link_calls *k, uint64_t host_id, const struct manifest *m)
{
	struct imported **at = &k->imports;

	while (*at) {
		struct imported *s = *at;

		if ((host_id && s->host_id != host_id) || (m && lists(m, s))) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		withdraw(s);
	}
}

static struct imported *find(struct link_calls *k, const char *name)
{
	struct imported *s = k->imports;

	while (s && strcmp(s->name, name) != 0)
		s = s->next;
	return s;
}

static struct imported *add(struct sim_bridge *b, const struct manifest *m, const struct manifest_service *from,
			    const struct sim_type *request, const struct sim_type *response)
{
	struct imported *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->bridge = b;
	s->host_id = m->id;
	snprintf(s->name, sizeof(s->name), "%s", from->name);
	snprintf(s->type_name, sizeof(s->type_name), "%s", from->type);
	snprintf(s->host, sizeof(s->host), "%s", m->host);
	s->type = (struct sim_service_type){ .abi = SIM_TYPE_ABI,
					     .size = sizeof(s->type),
					     .name = s->type_name,
					     .comment = "",
					     .request = sim_type_ref(request),
					     .response = sim_type_ref(response) };
	s->next = b->calls->imports;
	b->calls->imports = s;
	return s;
}

static bool is_own(struct sim_bridge *b, const char *name)
{
	struct link_own_service *own = own_service(b, name);

	own_unref(own);
	return own != NULL;
}

static void import_one(struct sim_bridge *b, const struct manifest *m, const struct manifest_service *from,
		       link_find_type_fn *find_type, void *arg)
{
	const struct sim_type *request = find_type(arg, &from->request), *response = find_type(arg, &from->response);
	struct imported *s = find(b->calls, from->name);
	int r;

	if (!request || !response || !patterns_match(&b->import_services, from->name) || is_own(b, from->name))
		return;
	if (!s)
		s = add(b, m, from, request, response);
	if (!s || s->offered || s->host_id != m->id)
		return;
	r = b->host->serve(b->host->ctx, s->name, &s->type, on_client, s);
	s->offered = r == 0;
	if (r < 0 && r != s->refused)
		log_warn(b, "service %s of machine %s is not offered here: %s", s->name, s->host,
			 r == -EEXIST ? "somebody offers that name already" : strerror(-r));
	else if (r == 0)
		log_info(b, "service %s of machine %s is offered here", s->name, s->host);
	s->refused = r;
}

void link_services_import(struct sim_bridge *b, const struct manifest *m, link_find_type_fn *find_type, void *arg)
{
	struct link_calls *k = b->calls;

	if (!SIM_BRIDGE_HOST_HAS(b->host, answer))
		return;
	pthread_mutex_lock(&k->imports_lock);
	withdraw_unlisted(k, m->id, m);
	for (unsigned i = 0; i < m->n_services && atomic_load(&b->status) == SIM_BRIDGE_CONNECTED; i++)
		import_one(b, m, &m->services[i], find_type, arg);
	pthread_mutex_unlock(&k->imports_lock);
}

void link_services_gone(struct sim_bridge *b, const struct manifest *m)
{
	struct sim_pending *p;
	char why[100];

	snprintf(why, sizeof(why), "machine %s, which offered it, is gone", m->host);
	while ((p = call_take(b->calls, 0, m->id, 0)))
		answer(b, p, -EPIPE, why);
	pthread_mutex_lock(&b->calls->imports_lock);
	withdraw_unlisted(b->calls, m->id, NULL);
	pthread_mutex_unlock(&b->calls->imports_lock);
	while ((p = call_take(b->calls, 0, m->id, 0))) /* calls that began in the meantime */
		answer(b, p, -EPIPE, why);
}

int64_t link_services_tick(struct sim_bridge *b)
{
	int64_t now_mono_ns = mono_now_ns(), next_dur_ns = INT64_MAX;
	struct sim_pending *p;

	while ((p = call_take(b->calls, 0, 0, now_mono_ns)))
		answer(b, p, -ETIMEDOUT, "the other machine has not answered");
	pthread_mutex_lock(&b->calls->lock);
	for (unsigned i = 0; i < CALLS_MAX; i++) {
		const struct call *c = &b->calls->calls[i];

		if (c->number && c->due_mono_ns - now_mono_ns < next_dur_ns)
			next_dur_ns = c->due_mono_ns - now_mono_ns;
	}
	pthread_mutex_unlock(&b->calls->lock);
	return next_dur_ns;
}

void link_services_stop(struct sim_bridge *b)
{
	struct link_calls *k = b->calls;
	struct sim_pending *p;

	if (!k)
		return;
	pthread_mutex_lock(&k->imports_lock);
	withdraw_unlisted(k, 0, NULL);
	pthread_mutex_unlock(&k->imports_lock);
	while ((p = call_take(k, 0, 0, INT64_MAX)))
		answer(b, p, -ECANCELED, "the link is disconnected");
}

/* ---- opening ---- */

static int open_pair(struct sim_bridge *b, const char *name, void (*on_data)(dds_entity_t, void *), dds_entity_t *topic,
		     dds_entity_t *reader, dds_entity_t *writer)
{
	const struct blob_place place = { .taken_max = CALL_MSG_MAX };
	const struct link_qos q = { .reliable = true, .depth = 512 };
	dds_listener_t *l = dds_create_listener(b);

	dds_lset_data_available(l, on_data);
	*topic = blob_topic_create(b->participant, name, name, &place);
	if (*topic < 0) {
		dds_delete_listener(l);
		return dds_errno(*topic);
	}
	*writer = link_writer(b, *topic, &q, NULL);
	*reader = link_reader(b, *topic, &q, l);
	if (*writer < 0 || *reader < 0)
		log_error(b, "%s: no DDS endpoint: %s", name, dds_strretcode(*writer < 0 ? *writer : *reader));
	return dds_errno(*writer < 0 ? *writer : *reader);
}

int link_services_open(struct sim_bridge *b)
{
	struct link_calls *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	pthread_mutex_init(&k->lock, NULL);
	pthread_mutex_init(&k->imports_lock, NULL);
	b->calls = k;
	r = open_pair(b, "simd/reply", on_replies, &k->reply_topic, &k->reply_reader, &k->reply_writer);
	if (r == 0)
		r = open_pair(b, "simd/request", on_requests, &k->request_topic, &k->request_reader,
			      &k->request_writer);
	return r;
}

void link_services_close(struct sim_bridge *b)
{
	struct link_calls *k = b->calls;

	if (!k)
		return;
	link_services_stop(b);
	if (k->request_reader > 0)
		dds_delete(k->request_reader);
	if (k->reply_reader > 0)
		dds_delete(k->reply_reader);
	for (unsigned i = 0; i < b->n_services; i++)
		own_unref(b->own_services[i]);
	b->n_services = 0;
	pthread_mutex_destroy(&k->imports_lock);
	pthread_mutex_destroy(&k->lock);
	free(k);
	b->calls = NULL;
}
