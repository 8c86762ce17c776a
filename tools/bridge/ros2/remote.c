/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See remote.h. A request is written on the thread that it arrives on if a server is known; else it waits for one. Its
 * reply is matched by the identity that it repeats, and may arrive before the write returns; every reader of a service
 * gets the replies to all its clients. A reply that is a duplicate, late, or to a request never made matches no open
 * request and is ignored.
 */
#include "remote.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ros2.h"
#include "rpc.h"
#include "rtps_identity.h"
#include "sertype.h"

#define CALL_DUR_NS INT64_C(4500000000) /* shorter than simd's own deadline, which would give no reason */
#define FIND_DUR_NS INT64_C(1500000000) /* how long to look for a node that serves it */
/* from discovery of a server until it has discovered us: earlier requests may be lost */
#define SETTLE_DUR_NS INT64_C(200000000)
#define SERVERS_MAX   64                 /* the most that are looked at */
#define CLIENTS_FROM  (INT64_C(1) << 32) /* numbers for ros2_qos_client(); lower ones are learn.c's */

/* ---- answers ---- */

__attribute__((format(printf, 4, 5))) static void failed(struct ros2_remote *r, struct sim_pending *p, int result,
							 const char *fmt, ...)
{
	struct sim_bridge *b = r->bridge;
	char why[300], text[400];
	uint64_t n;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(text, sizeof(text), "%.90s of ROS 2: %.280s", r->call->name, why);
	pthread_mutex_lock(&b->remotes.lock);
	n = ++r->n_failed;
	pthread_mutex_unlock(&b->remotes.lock);
	if ((n & (n - 1)) == 0) /* the first, then ever more rarely */
		log_info(b, "service %s (%llu so far)", text, (unsigned long long)n);
	(void)b->host->answer(b->host->ctx, p, result, text, NULL, 0);
}

/* The caller holds the lock. Returns the pending request, so that the next one may come. */
static struct sim_pending *take_pending(struct ros2_remote *r)
{
	struct sim_pending *p = r->pending;

	r->pending = NULL;
	free(r->request);
	r->request = NULL;
	r->sent = false;
	return p;
}

static void log_odd(struct ros2_remote *r, enum remote_odd what)
{
	static const char *const words[REMOTE_ODD_N] = {
		[REMOTE_ODD_CLOSED] = "its request was answered, or given up",
		[REMOTE_ODD_NEVER_ASKED] = "nothing with its number was asked",
		[REMOTE_ODD_HUGE] = "it is longer than 4 MiB",
	};
	struct sim_bridge *b = r->bridge;
	uint64_t n;

	pthread_mutex_lock(&b->remotes.lock);
	n = ++r->n_odd[what];
	pthread_mutex_unlock(&b->remotes.lock);
	if ((n & (n - 1)) == 0)
		log_warn(b, "service %s of ROS 2: a reply is ignored: %s (%llu so far)", r->call->name, words[what],
			 (unsigned long long)n);
}

/* Whether the reply is for this client; *ret_sequence: number of its request. */
static bool is_ours(const struct ros2_remote *r, const struct endpoint_sample *s, const struct rtps_origin *o,
		    int64_t *ret_sequence)
{
	struct rpc_id id;

	if (o && o->has_related) {
		*ret_sequence = o->related.sequence;
		return memcmp(o->related.guid, r->reader_guid.v, sizeof(r->reader_guid.v)) == 0 ||
		       memcmp(o->related.guid, r->writer_guid.v, sizeof(r->writer_guid.v)) == 0;
	}
	if (rpc_read_id(s->bytes, s->len, &id) < 0)
		return false;
	*ret_sequence = id.sequence;
	return id.client == r->client;
}

static struct sim_pending *take_if(struct ros2_remote *r, int64_t sequence, enum remote_odd *ret_odd)
{
	struct sim_pending *p = NULL;

	pthread_mutex_lock(&r->bridge->remotes.lock);
	*ret_odd = sequence > r->sequence || sequence < 1 ? REMOTE_ODD_NEVER_ASKED : REMOTE_ODD_CLOSED;
	if (r->pending && r->sent && sequence == r->sequence)
		p = take_pending(r);
	pthread_mutex_unlock(&r->bridge->remotes.lock);
	return p;
}

static void take_reply(void *arg, const struct endpoint_sample *s)
{
	struct ros2_remote *r = arg;
	struct sim_bridge *b = r->bridge;
	const struct rtps_origin *o = sertype_origin(s->data);
	bool plain = o && o->has_related;
	struct sim_pending *p;
	enum remote_odd odd;
	struct rpc_id id;
	int64_t sequence;
	size_t size = 0;
	int e;

	if (!s->len)
		log_odd(r, REMOTE_ODD_HUGE);
	if (!s->len || !is_ours(r, s, o, &sequence))
		return;
	p = take_if(r, sequence, &odd);
	if (!p) {
		log_odd(r, odd);
		return;
	}
	e = rpc_read_request(r->call->sim->response, s->bytes, s->len, plain ? NULL : &id, r->body,
			     SIM_SERVICE_BODY_MAX, &size);
	if (e == 0)
		(void)b->host->answer(b->host->ctx, p, 0, NULL, r->body, size);
	else if (e == -ENOBUFS)
		failed(r, p, -EMSGSIZE, "its answer is longer than %u bytes", SIM_SERVICE_BODY_MAX);
	else
		failed(r, p, e, "its answer is malformed: %s", topics_reason(e));
}

static void on_data(dds_entity_t reader, void *arg)
{
	endpoint_take(reader, take_reply, arg);
}

/* ---- requests ---- */

static int write_request(struct ros2_remote *r, bool of_cyclonedds, int64_t sequence, struct iov_buf *o)
{
	/* as in rmw_fastrtps: only the reader's GUID matters */
	struct rtps_id to = { .sequence = -(INT64_C(1) << 32) };
	dds_return_t e;

	if (of_cyclonedds) {
		e = dds_write(r->writer, o);
	} else {
		memcpy(to.guid, r->reader_guid.v, sizeof(to.guid));
		e = sertype_write_to(r->writer, r->request_sertype, o, &to);
	}
	if (e != DDS_RETCODE_TIMEOUT)
		return dds_errno(e);
	pthread_mutex_lock(&r->bridge->remotes.lock);
	r->sequence -= r->sequence == sequence; /* the writer did not count it either */
	pthread_mutex_unlock(&r->bridge->remotes.lock);
	return -EAGAIN;
}

static int encode(const struct ros2_remote *r, bool of_cyclonedds, int64_t sequence, const void *request, size_t size,
		  struct iov_buf *o)
{
	const struct rpc_id id = { r->client, sequence };

	return rpc_write_response(r->call->sim->request, of_cyclonedds ? &id : NULL, request, size, o);
}

/* Sends the pending request, whose server is ready. Called for one request at a time. */
static void ask(struct ros2_remote *r, const void *request, size_t size)
{
	pthread_mutex_t *lock = &r->bridge->remotes.lock;
	struct sim_pending *p = NULL;
	struct iov_buf o;
	bool of_cyclonedds;
	int64_t sequence;
	int e;

	iov_buf_init(&o);
	pthread_mutex_lock(lock);
	of_cyclonedds = r->server.of_cyclonedds;
	sequence = r->sequence + 1;
	pthread_mutex_unlock(lock);
	e = encode(r, of_cyclonedds, sequence, request, size, &o);
	pthread_mutex_lock(lock);
	if (e < 0) {
		p = take_pending(r);
	} else {
		r->sequence = sequence;
		r->asked = r->server.writer;
		r->sent = true;
	}
	pthread_mutex_unlock(lock);
	if (e == 0 && (e = write_request(r, of_cyclonedds, sequence, &o)) < 0) {
		pthread_mutex_lock(lock);
		p = take_pending(r);
		pthread_mutex_unlock(lock);
	}
	iov_buf_finish(&o);
	if (p)
		failed(r, p, e, "%s",
		       e == -ERANGE   ? "a time of the request is none in ROS"
		       : e == -EAGAIN ? "it takes no requests: too many are on their way"
				      : strerror(-e));
}

/* The caller holds the lock. */
static bool is_ready(const struct ros2_remote *r)
{
	return r->server.writer && dds_time() >= r->server.ready;
}

static bool keep_request(struct ros2_remote *r, const void *request, size_t size)
{
	r->request = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!r->request)
		return false;
	memcpy(r->request, request, size);
	r->request_size = size;
	return true;
}

static void on_request(void *user, const void *request, size_t size, struct sim_pending *p)
{
	struct ros2_remote *r = user;
	struct sim_bridge *b = r->bridge;
	dds_time_t now = dds_time();
	bool ready, poke;
	int e = 0;

	pthread_mutex_lock(&b->remotes.lock);
	ready = is_ready(r);
	if (r->pending)
		e = -EBUSY;
	else if (!ready && !keep_request(r, request, size))
		e = -ENOMEM;
	if (e == 0) {
		r->pending = p;
		r->find = now + FIND_DUR_NS;
		r->due = now + CALL_DUR_NS;
	}
	poke = !ready || now + CALL_DUR_NS < b->remotes.wake;
	pthread_mutex_unlock(&b->remotes.lock);
	if (e < 0)
		failed(r, p, e, "%s", strerror(-e));
	else if (ready)
		ask(r, request, size);
	if (poke)
		waiter_poke(&b->graph.waiter);
}

/* ---- servers ---- */

/* Called by Cyclone for the matches of either endpoint. */
static void look_again(struct ros2_remote *r)
{
	atomic_store(&r->stale, true);
	waiter_poke(&r->bridge->graph.waiter);
}

static void on_written_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *arg)
{
	(void)writer;
	(void)status;
	look_again(arg);
}

static void on_read_matched(dds_entity_t reader, const dds_subscription_matched_status_t status, void *arg)
{
	(void)reader;
	(void)status;
	look_again(arg);
}

static void print_who(const struct sim_bridge *b, const dds_builtintopic_endpoint_t *e, char ret[ROS2_WHO_MAX])
{
	const char *node = ros2_graph_node_of(b, &e->participant_key);

	if (*node)
		snprintf(ret, ROS2_WHO_MAX, "node %s", node);
	else
		ros2_print_gid(&e->participant_key, ret);
}

/* Endpoints of Humble announce no hash, only the type's name, which DDS has compared. */
static bool has_hash(const dds_builtintopic_endpoint_t *e, const struct ros_type *t, char ret[LEARN_HASH_MAX])
{
	ros2_qos_user_data(e->qos, "typehash=", ret, LEARN_HASH_MAX);
	return !*ret || !*t->hash || strcmp(ret, t->hash) == 0;
}

static void refuse(struct ros2_remote *r, const dds_builtintopic_endpoint_t *e, const char *why)
{
	char who[ROS2_WHO_MAX];

	print_who(r->bridge, e, who);
	if (r->refused != why && limit_allows(&r->bridge->remotes.lines))
		log_warn(r->bridge, "service %s of ROS 2: %s is not asked: %s", r->call->name, who, why);
	r->refused = why;
}

/* Whether the participant's request reader is matched and has the right definition. */
static bool reads_requests(struct ros2_remote *r, const dds_guid_t *participant)
{
	dds_instance_handle_t all[SERVERS_MAX];
	int n = dds_get_matched_subscriptions(r->writer, all, SERVERS_MAX);
	char hash[LEARN_HASH_MAX];
	bool found = false;

	for (int i = 0; i < n && i < SERVERS_MAX && !found; i++) {
		dds_builtintopic_endpoint_t *e = dds_get_matched_subscription_data(r->writer, all[i]);

		found = e && memcmp(e->participant_key.v, participant->v, sizeof(participant->v)) == 0 &&
			has_hash(e, r->types.request, hash);
		if (e)
			dds_builtintopic_free_endpoint(e);
	}
	return found;
}

/* Whether the endpoint's participant may be asked; fills in *ret. */
static bool may_serve(struct ros2_remote *r, const dds_builtintopic_endpoint_t *e, struct ros2_server *ret)
{
	struct sim_bridge *b = r->bridge;
	char hash[LEARN_HASH_MAX], id[8];

	if (ros2_is_ours(b, e->participant_instance_handle))
		return false;
	if (!has_hash(e, r->types.response, hash)) {
		refuse(r, e, "it has another definition of the type");
		return false;
	}
	ros2_qos_user_data(e->qos, "serviceid=", id, sizeof(id));
	ret->of_cyclonedds = *id != '\0';
	ret->participant = e->participant_key;
	if (!ret->of_cyclonedds && !b->identity) {
		refuse(r, e, "it is of rmw_fastrtps, which needs Debian's build of Cyclone DDS 0.10.2 here");
		return false;
	}
	return reads_requests(r, &e->participant_key);
}

static void log_servers(struct ros2_remote *r, unsigned n)
{
	if (n > 1 && n > r->n_servers && limit_allows(&r->bridge->remotes.lines))
		log_warn(r->bridge,
			 "service %s of ROS 2: %u nodes serve it: each gets all requests, and the first answer counts",
			 r->call->name, n);
	r->n_servers = n;
}

/* Returns the server used so far while it exists, else the first one found. */
static struct ros2_server find_server(struct ros2_remote *r, const struct ros2_server *last)
{
	dds_instance_handle_t all[SERVERS_MAX];
	int n = dds_get_matched_publications(r->reader, all, SERVERS_MAX);
	struct ros2_server first = { .writer = 0 };
	unsigned n_servers = 0;
	bool stays = false;

	for (int i = 0; i < n && i < SERVERS_MAX; i++) {
		dds_builtintopic_endpoint_t *e = dds_get_matched_publication_data(r->reader, all[i]);
		struct ros2_server s = { .writer = all[i], .ready = dds_time() + SETTLE_DUR_NS };
		bool can = e && may_serve(r, e, &s);

		if (e)
			dds_builtintopic_free_endpoint(e);
		n_servers += can && memcmp(s.participant.v, first.participant.v, sizeof(s.participant.v)) != 0;
		stays |= can && s.writer == last->writer;
		if (can && !first.writer)
			first = s;
	}
	log_servers(r, n_servers);
	return stays ? *last : first;
}

static void look_for_server(struct ros2_remote *r)
{
	pthread_mutex_t *lock = &r->bridge->remotes.lock;
	struct ros2_server last, now;
	struct sim_pending *p = NULL;

	if (!atomic_exchange(&r->stale, false))
		return;
	last = r->server; /* only this thread writes r->server */
	r->refused = NULL;
	now = find_server(r, &last);
	pthread_mutex_lock(lock);
	r->server = now;
	if (r->pending && r->sent && r->asked != now.writer)
		p = take_pending(r);
	pthread_mutex_unlock(lock);
	if (p)
		failed(r, p, -EPIPE, "its node has gone before it answered");
}

/* ---- waiting requests ---- */

/* The caller holds the lock. Returns a request that has waited too long; NULL: none. */
static struct sim_pending *take_late(struct ros2_remote *r, dds_time_t now, bool *ret_sent)
{
	if (!r->pending || (now < r->due && (r->sent || r->server.writer || now < r->find)))
		return NULL;
	*ret_sent = r->sent;
	return take_pending(r);
}

static void give_up(struct ros2_remote *r, struct sim_pending *p, bool sent)
{
	const char *other = ros2_missed_service(r->bridge, r->call->name);

	if (sent)
		failed(r, p, -ETIMEDOUT, "it does not answer in time");
	else if (r->refused)
		failed(r, p, -ENOENT, "its node is not asked: %s", r->refused);
	else if (other)
		failed(r, p, -ENOENT, "it is served as %s, which is another type", other);
	else
		failed(r, p, -ENOENT, "no node serves it");
}

static void look_at_one(struct ros2_remote *r)
{
	pthread_mutex_t *lock = &r->bridge->remotes.lock;
	struct sim_pending *p;
	void *request = NULL;
	size_t size = 0;
	bool sent;

	look_for_server(r);
	pthread_mutex_lock(lock);
	p = take_late(r, dds_time(), &sent);
	if (r->pending && !r->sent && is_ready(r)) {
		request = r->request;
		size = r->request_size;
		r->request = NULL;
	}
	pthread_mutex_unlock(lock);
	if (p)
		give_up(r, p, sent);
	if (request)
		ask(r, request, size);
	free(request);
}

/* The caller holds the lock. Returns when the request needs attention. */
static dds_time_t due_of(const struct ros2_remote *r)
{
	if (!r->pending)
		return DDS_INFINITY;
	if (r->sent)
		return r->due;
	return r->server.writer ? r->server.ready : r->find;
}

int64_t ros2_remotes_look(struct sim_bridge *b)
{
	dds_time_t now, wake;

	for (unsigned i = 0; i < b->remotes.n; i++)
		look_at_one(&b->remotes.all[i]);
	now = dds_time();
	pthread_mutex_lock(&b->remotes.lock);
	wake = b->remotes.n ? now + CALL_DUR_NS : DDS_INFINITY; /* early enough that new requests need no poke */
	for (unsigned i = 0; i < b->remotes.n; i++)
		if (due_of(&b->remotes.all[i]) < wake)
			wake = due_of(&b->remotes.all[i]);
	b->remotes.wake = wake;
	pthread_mutex_unlock(&b->remotes.lock);
	return wake == DDS_INFINITY ? wake : wake > now ? wake - now : 0;
}

/* ---- the option ---- */

static dds_qos_t *half_qos(const struct ros2_remote *r, const struct ros_type *type)
{
	int64_t number = CLIENTS_FROM + (r - r->bridge->remotes.all);
	dds_qos_t *qos = ros2_qos_client(r->bridge, number, type->hash);

	if (qos) {
		/* zero blocking time: a request must not block */
		dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, 0);
		dds_qset_ignorelocal(qos, DDS_IGNORELOCAL_PARTICIPANT);
	}
	return qos;
}

/* Creates the writer; its topic gives the domain for reading the identities of other clients and servers. */
static int create_writer(struct ros2_remote *r)
{
	struct sim_bridge *b = r->bridge;
	char name[TOPIC_NAME_MAX + 16];
	struct endpoint e = { .name = name,
			      .type = r->types.request,
			      .qos = half_qos(r, r->types.request),
			      .listener = dds_create_listener(r) };

	dds_lset_publication_matched(e.listener, on_written_matched);
	snprintf(name, sizeof(name), "rq%sRequest", r->call->name);
	r->writer = endpoint_create(b->participant, &e);
	r->request_topic = e.topic;
	r->request_sertype = e.sertype;
	if (r->writer < 0)
		return dds_errno(r->writer);
	ros2_identity_open(b, r->request_sertype);
	(void)dds_get_guid(r->writer, &r->writer_guid);
	if (b->identity)
		(void)rtps_identity_add(b->identity, &r->writer_guid); /* cannot fail: there is room for all */
	return dds_errno(dds_get_instance_handle(r->writer, &r->client));
}

static int create_reader(struct ros2_remote *r)
{
	struct sim_bridge *b = r->bridge;
	char name[TOPIC_NAME_MAX + 16];
	struct endpoint e = { .name = name,
			      .type = r->types.response,
			      .qos = half_qos(r, r->types.response),
			      .listener = dds_create_listener(r),
			      .reads = true,
			      .keeps_origin = b->identity != NULL };

	dds_lset_subscription_matched(e.listener, on_read_matched);
	dds_lset_data_available(e.listener, on_data);
	snprintf(name, sizeof(name), "rr%sReply", r->call->name);
	r->reader = endpoint_create(b->participant, &e);
	r->response_topic = e.topic;
	if (r->reader < 0)
		return dds_errno(r->reader);
	(void)dds_get_guid(r->reader, &r->reader_guid);
	if (b->identity)
		(void)rtps_identity_add(b->identity, &r->reader_guid);
	return 0;
}

static int open_one(struct sim_bridge *b, const struct topics_call *call)
{
	struct ros2_remote *r = &b->remotes.all[b->remotes.n++];
	char why[300] = "";
	int e;

	r->bridge = b;
	r->call = call;
	atomic_init(&r->stale, true);
	r->body = aligned_alloc(64, SIM_SERVICE_BODY_MAX);
	e = r->body ? ros2_halves_find(call->sim, &r->types, why, sizeof(why)) : -ENOMEM;
	if (e == 0)
		e = create_writer(r);
	if (e == 0)
		e = create_reader(r);
	if (e < 0)
		log_error(b, "options.call.%.80s: %s", call->name, *why ? why : strerror(-e));
	return e;
}

int ros2_remotes_open(struct sim_bridge *b)
{
	int r = topics_read_call(&b->common);

	for (unsigned i = 0; r == 0 && i < b->common.n_call; i++)
		r = open_one(b, &b->common.call[i]);
	return r;
}

static void close_one(struct ros2_remote *r)
{
	const dds_entity_t entities[] = { r->reader, r->writer, r->response_topic, r->request_topic };
	struct sim_bridge *b = r->bridge;
	struct sim_pending *p;

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if (entities[i] > 0)
			dds_delete(entities[i]); /* waits for a running callback */
	if (b->identity) {
		rtps_identity_remove(b->identity, &r->writer_guid);
		rtps_identity_remove(b->identity, &r->reader_guid);
	}
	pthread_mutex_lock(&b->remotes.lock);
	p = take_pending(r);
	pthread_mutex_unlock(&b->remotes.lock);
	if (p)
		failed(r, p, -ECANCELED, "the bridge ends");
	ros2_halves_finish(&r->types);
	free(r->body);
}

void ros2_remotes_close(struct sim_bridge *b)
{
	while (b->remotes.n)
		close_one(&b->remotes.all[--b->remotes.n]);
}

void ros2_remotes_serve(struct sim_bridge *b, bool on)
{
	for (unsigned i = 0; i < b->remotes.n; i++) {
		struct ros2_remote *r = &b->remotes.all[i];

		if (on == r->served)
			continue;
		r->served = on && b->host->serve(b->host->ctx, r->call->own, r->call->sim, on_request, r) == 0;
		if (!on)
			(void)b->host->serve(b->host->ctx, r->call->own, NULL, NULL, NULL);
	}
}
