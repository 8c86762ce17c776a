/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: each of the host's becomes a reader of requests and a writer of replies. A request goes to the host without
 * waiting; its answer waits, off Cyclone's threads, until the asker's own reader is matched, for at most 100 ms, as
 * rmw_cyclonedds does: a reply that is written before is lost.
 *
 * Thread: services come and go on the host's thread, requests on Cyclone's receive thread, answers on the host's thread;
 * replies are written by "ros2-replies". b->replies.lock guards the replies and the counts of references, and is a
 * leaf but for Cyclone's inside.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <dds/ddsi/ddsi_serdata.h>

#include "bytes_type.h"
#include "ros2.h"
#include "ros/ros_type.h"
#include "rpc.h"

#define WAIT_DUR_NS  INT64_C(100000000) /* for the reader of the one who asks */
#define LOOK_DUR_NS  INT64_C(10000000)  /* how often to look for it, should nothing tell */
#define TAKE         8
#define MATCHED_MAX  256
#define REFUSAL_ROOM 1024

struct ros2_service {
	struct sim_bridge *bridge;
	const struct sim_service_type *type; /* the host's, until it says that the service has gone */
	const struct sim_type *response;     /* our own reference: answers may come later */
	char name[SIM_CHANNEL_MAX + 1];
	unsigned refs; /* one of the bridge's list, one of each request that is open */
	dds_entity_t request_topic, response_topic, writer;
	_Atomic dds_entity_t reader;                         /* 0: the service has gone */
	const struct ros_type *request_type, *response_type; /* theirs */
	struct ros_text *made[2];                            /* those two, where they had to be made */
	char id[100];                                        /* "serviceid=...;" */
	uint8_t *body;                                       /* of the request that is being read */
	_Atomic uint64_t dropped;
};

/* A request that is with the host, then its reply. */
struct ros2_request {
	struct ros2_request *next; /* sim_bridge::replies */
	struct ros2_service *service;
	struct rpc_id id;
	dds_instance_handle_t asker; /* the writer that it came from */
	int64_t until_mono_ns;
	void *body; /* of the response, aligned to 64; out points into it */
	struct out out;
};

static int64_t mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- life of one ---- */

static void service_free(struct ros2_service *s)
{
	const dds_entity_t entities[] = { atomic_load(&s->reader), s->writer, s->request_topic, s->response_topic };

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if (entities[i] > 0)
			dds_delete(entities[i]);
	ros_text_destroy(s->made[0]);
	ros_text_destroy(s->made[1]);
	sim_type_unref(s->response);
	free(s->body);
	free(s);
}

static void service_ref(struct ros2_service *s)
{
	pthread_mutex_lock(&s->bridge->replies.lock);
	s->refs++;
	pthread_mutex_unlock(&s->bridge->replies.lock);
}

static void service_unref(struct ros2_service *s)
{
	bool last;

	pthread_mutex_lock(&s->bridge->replies.lock);
	last = --s->refs == 0;
	pthread_mutex_unlock(&s->bridge->replies.lock);
	if (last)
		service_free(s);
}

static void request_free(struct ros2_request *q)
{
	service_unref(q->service);
	out_finish(&q->out);
	free(q->body);
	free(q);
}

static void drop(struct ros2_service *s, int r)
{
	struct sim_bridge *b = s->bridge;
	uint64_t n = atomic_fetch_add(&s->dropped, 1) + 1;

	if ((n & (n - 1)) == 0) /* the first, then ever more rarely */
		b->host->log(b->host->ctx, 1, "service %s: a request is dropped: %s (%llu so far)", s->name,
			     ros2_reason(r), (unsigned long long)n);
}

/* ---- replies ---- */

/* "clientid=...;" of an endpoint, with which reader and writer of one who asks are told. false: it has gone, or has none. */
static bool client_id(const dds_builtintopic_endpoint_t *e, char id[128])
{
	void *data = NULL;
	size_t size = 0;
	const char *at, *end;
	char text[256];

	id[0] = '\0';
	if (!e || !e->qos || !dds_qget_userdata(e->qos, &data, &size) || !data)
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)size, (const char *)data);
	dds_free(data);
	at = strstr(text, "clientid=");
	end = at ? strchr(at, ';') : NULL;
	if (!end || end - at >= 128)
		return false;
	memcpy(id, at, (size_t)(end - at));
	id[end - at] = '\0';
	return true;
}

static bool reader_matched(struct ros2_service *s, const char *wanted)
{
	dds_instance_handle_t readers[MATCHED_MAX];
	int n = dds_get_matched_subscriptions(s->writer, readers, MATCHED_MAX);
	bool found = false;

	for (int i = 0; i < n && i < MATCHED_MAX && !found; i++) {
		dds_builtintopic_endpoint_t *e = dds_get_matched_subscription_data(s->writer, readers[i]);
		char id[128];

		found = client_id(e, id) && strcmp(id, wanted) == 0;
		dds_builtintopic_free_endpoint(e);
	}
	return found;
}

enum asker { ASKER_READY, ASKER_NOT_YET, ASKER_GONE };

/* One who does not say its name cannot be waited for, nor can one of a service that has gone: the reply is written at once. */
static enum asker look_for_asker(struct ros2_request *q)
{
	dds_entity_t reader = atomic_load(&q->service->reader);
	dds_builtintopic_endpoint_t *e = reader ? dds_get_matched_publication_data(reader, q->asker) : NULL;
	char id[128];
	bool named;

	if (!e)
		return atomic_load(&q->service->reader) ? ASKER_GONE : ASKER_READY;
	named = client_id(e, id);
	dds_builtintopic_free_endpoint(e);
	return !named || reader_matched(q->service, id) ? ASKER_READY : ASKER_NOT_YET;
}

static void send_reply(struct ros2_request *q)
{
	struct sim_bridge *b = q->service->bridge;
	int r = dds_write(q->service->writer, &q->out);

	if (r < 0)
		b->host->log(b->host->ctx, 1, "service %s: a reply could not be written: %s", q->service->name,
			     dds_strretcode(r));
	else
		atomic_fetch_add(&b->converted, 1);
}

/* Everything that is ready, or has waited long enough. Called and returns with lock held; true: something waits. */
static bool write_replies(struct sim_bridge *b)
{
	struct ros2_request *left = NULL, **tail = &left, *q;

	while ((q = b->replies.first)) {
		enum asker asker;

		b->replies.first = q->next;
		pthread_mutex_unlock(&b->replies.lock);
		asker = b->replies.stop || mono_ns() >= q->until_mono_ns ? ASKER_READY : look_for_asker(q);
		if (asker == ASKER_READY)
			send_reply(q);
		if (asker != ASKER_NOT_YET)
			request_free(q);
		pthread_mutex_lock(&b->replies.lock);
		if (asker != ASKER_NOT_YET) {
			b->replies.n--;
			continue;
		}
		q->next = NULL;
		*tail = q;
		tail = &q->next;
	}
	b->replies.first = left;
	return left != NULL;
}

static void *replies_main(void *arg)
{
	struct sim_bridge *b = arg;

	prctl(PR_SET_NAME, "ros2-replies");
	pthread_mutex_lock(&b->replies.lock);
	while (!b->replies.stop || b->replies.first) {
		bool waits = write_replies(b);
		int64_t due_mono_ns = mono_ns() + LOOK_DUR_NS;
		struct timespec t = { .tv_sec = due_mono_ns / 1000000000, .tv_nsec = due_mono_ns % 1000000000 };

		if (b->replies.stop)
			continue;
		if (waits)
			pthread_cond_timedwait(&b->replies.changed, &b->replies.lock, &t);
		else
			pthread_cond_wait(&b->replies.changed, &b->replies.lock);
	}
	pthread_mutex_unlock(&b->replies.lock);
	return NULL;
}

static void reply(struct ros2_request *q)
{
	struct sim_bridge *b = q->service->bridge;
	bool full;

	q->until_mono_ns = mono_ns() + WAIT_DUR_NS;
	pthread_mutex_lock(&b->replies.lock);
	full = b->replies.n >= ROS2_REPLIES_MAX;
	if (!full) {
		struct ros2_request **tail = &b->replies.first;

		while (*tail)
			tail = &(*tail)->next;
		*tail = q;
		b->replies.n++;
		pthread_cond_signal(&b->replies.changed);
	}
	pthread_mutex_unlock(&b->replies.lock);
	if (!full)
		return;
	drop(q->service, -EBUSY);
	request_free(q);
}

/* A reply that says no; where the type cannot say so, the one who asks hears nothing. */
static int refuse(struct ros2_request *q, const char *why, size_t *ret_size)
{
	free(q->body);
	q->body = aligned_alloc(64, REFUSAL_ROOM);
	return q->body ? rpc_refusal(q->service->response, why, q->body, REFUSAL_ROOM, ret_size) : -ENOMEM;
}

static int keep_response(struct ros2_request *q, const void *response, size_t size)
{
	q->body = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!q->body)
		return -ENOMEM;
	memcpy(q->body, response, size);
	return 0;
}

static void on_answer(void *user, int result, const char *why, const void *response, size_t size)
{
	struct ros2_request *q = user;
	struct sim_bridge *b = q->service->bridge;
	int r = result < 0 ? refuse(q, why, &size) : keep_response(q, response, size);

	if (result < 0)
		b->host->log(b->host->ctx, r < 0 ? 1 : 2, "service %s: %s%s", q->service->name, why,
			     r < 0 ? "; its type has no way to say so, and the one who asked hears nothing" : "");
	if (r == 0)
		r = rpc_write_response(q->service->response, &q->id, q->body, size, &q->out);
	if (r < 0 && result == 0)
		drop(q->service, r);
	if (r < 0)
		request_free(q);
	else
		reply(q);
}

/* ---- requests ---- */

static void call(struct ros2_service *s, const struct rpc_id *id, dds_instance_handle_t asker, size_t size)
{
	struct sim_bridge *b = s->bridge;
	struct ros2_request *q = calloc(1, sizeof(*q));
	int r;

	if (!q) {
		drop(s, -ENOMEM);
		return;
	}
	service_ref(s);
	q->service = s;
	q->id = *id;
	q->asker = asker;
	out_init(&q->out);
	r = b->host->call(b->host->ctx, s->name, s->type, s->body, size, 0, on_answer, q);
	if (r < 0)
		on_answer(q, r, r == -EBUSY ? "too many requests are unanswered" : strerror(-r), NULL, 0);
}

static void take_in(struct ros2_service *s, const struct ddsi_serdata *d, const dds_sample_info_t *info)
{
	size_t len = ddsi_serdata_size(d), size = 0;
	struct rpc_id id;
	ddsrt_iovec_t ref;
	struct ddsi_serdata *held = ddsi_serdata_to_ser_ref(d, 0, len, &ref);
	int r = len ? rpc_read_request(s->type->request, ref.iov_base, len, &id, s->body, SIM_SERVICE_BODY_MAX, &size)
		    : -EMSGSIZE;

	ddsi_serdata_to_ser_unref(held, &ref);
	if (r < 0)
		drop(s, r);
	else
		call(s, &id, info->publication_handle, size);
}

static void on_data(dds_entity_t reader, void *arg)
{
	struct ddsi_serdata *data[TAKE];
	dds_sample_info_t info[TAKE];
	int n;

	while ((n = dds_takecdr(reader, data, TAKE, info, DDS_ANY_STATE)) > 0)
		for (int i = 0; i < n; i++) {
			if (info[i].valid_data)
				take_in(arg, data[i], &info[i]);
			ddsi_serdata_unref(data[i]);
		}
}

static void on_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *arg)
{
	struct ros2_service *s = arg;

	(void)writer;
	(void)status;
	pthread_mutex_lock(&s->bridge->replies.lock);
	pthread_cond_signal(&s->bridge->replies.changed);
	pthread_mutex_unlock(&s->bridge->replies.lock);
}

/* ---- endpoints ---- */

/* Sixteen bytes that no other service has: those of the participant, and a number. */
static void make_id(struct ros2_service *s)
{
	size_t n = (size_t)snprintf(s->id, sizeof(s->id), "serviceid=");
	uint32_t number = ++s->bridge->n_service_ids;
	dds_guid_t guid = { { 0 } };

	(void)dds_get_guid(s->bridge->participant, &guid);
	memcpy(guid.v + 12, &number, sizeof(number));
	for (size_t i = 0; i < sizeof(guid.v); i++)
		n += (size_t)snprintf(s->id + n, sizeof(s->id) - n, "%s%x", i ? "." : "", guid.v[i]);
	snprintf(s->id + n, sizeof(s->id) - n, ";");
}

static dds_qos_t *endpoint_qos(const struct ros2_service *s, const struct ros_type *type)
{
	static const struct ros2_qos services_default = { .reliable = true, .depth = 10 };
	dds_qos_t *qos = ros2_qos_create(&services_default, "");
	char data[256];
	int n;

	if (!qos)
		return NULL;
	n = snprintf(data, sizeof(data), "%stypehash=%s;", s->id, type->hash);
	dds_qset_userdata(qos, data, (size_t)n);
	return qos;
}

static int create_writer(struct ros2_service *s)
{
	dds_qos_t *qos = endpoint_qos(s, s->response_type);
	dds_listener_t *listener = dds_create_listener(s);
	char name[160], type_name[160];
	int r = ros_type_dds_name(s->response_type, type_name, sizeof(type_name));

	dds_lset_publication_matched(listener, on_matched);
	snprintf(name, sizeof(name), "rr%sReply", s->name);
	if (r == 0) {
		s->response_topic = bytes_topic_create(s->bridge->participant, name, type_name, NULL);
		s->writer = s->response_topic < 0
				    ? s->response_topic
				    : dds_create_writer(s->bridge->participant, s->response_topic, qos, listener);
		r = ros2_errno(s->writer);
	}
	dds_delete_listener(listener);
	dds_delete_qos(qos);
	return r;
}

static int create_reader(struct ros2_service *s)
{
	dds_qos_t *qos = endpoint_qos(s, s->request_type);
	dds_listener_t *listener = dds_create_listener(s);
	char name[160], type_name[160];
	dds_entity_t reader = 0;
	int r = ros_type_dds_name(s->request_type, type_name, sizeof(type_name));

	dds_lset_data_available(listener, on_data);
	snprintf(name, sizeof(name), "rq%sRequest", s->name);
	if (r == 0) {
		s->request_topic = bytes_topic_create(s->bridge->participant, name, type_name, NULL);
		reader = s->request_topic < 0
				 ? s->request_topic
				 : dds_create_reader(s->bridge->participant, s->request_topic, qos, listener);
		r = ros2_errno(reader);
	}
	if (reader > 0)
		atomic_store(&s->reader, reader);
	dds_delete_listener(listener);
	dds_delete_qos(qos);
	return r;
}

/* The writer first: who sees the reader may ask at once. */
static int create_endpoints(struct ros2_service *s)
{
	int r;

	make_id(s);
	r = create_writer(s);
	return r < 0 ? r : create_reader(s);
}

/* As ROS defines the two halves, or with our fields under the name that the service has. */
static int find_types(struct ros2_service *s, char *why, size_t why_size)
{
	const struct ros_service *ros = rpc_service(ros2_services, s->type->name);
	int r;

	if (ros) {
		s->request_type = ros->request;
		s->response_type = ros->response;
		return 0;
	}
	r = rpc_own_type(s->type->name, s->type->request, "Request", &s->made[0], why, why_size);
	if (r == 0)
		r = rpc_own_type(s->type->name, s->type->response, "Response", &s->made[1], why, why_size);
	if (r < 0)
		return r;
	s->request_type = ros_text_type(s->made[0]);
	s->response_type = ros_text_type(s->made[1]);
	return 0;
}

/* ---- what the host tells ---- */

static int check(struct sim_bridge *b, const char *name, const struct sim_service_type *type, char *why, size_t size)
{
	const struct ros_service *ros = rpc_service(ros2_services, type->name);

	if (!SIM_BRIDGE_HOST_HAS(b->host, call))
		snprintf(why, size, "this simbridge cannot call services: install a newer one");
	else if (!wish_topic_ok(name))
		wish_topic_bad(name, why, size);
	else if (b->n_services == ROS2_SERVICES_MAX)
		snprintf(why, size, "more than %u services", ROS2_SERVICES_MAX);
	else if (ros &&
		 (!rpc_same_fields(type->request, ros->request) || !rpc_same_fields(type->response, ros->response)))
		snprintf(why, size, "%s has other fields than %s has in ROS", type->name, ros->name);
	else
		return 0;
	return -EINVAL;
}

static int service_create(struct sim_bridge *b, const char *name, const struct sim_service_type *type,
			  struct ros2_service **ret, char *why, size_t why_size)
{
	struct ros2_service *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->bridge = b;
	s->type = type;
	s->response = sim_type_ref(type->response);
	s->refs = 1;
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->body = aligned_alloc(64, SIM_SERVICE_BODY_MAX);
	r = s->body ? find_types(s, why, why_size) : -ENOMEM;
	if (r == 0)
		r = create_endpoints(s);
	if (r < 0)
		service_free(s);
	else
		*ret = s;
	return r;
}

static void begin(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	struct ros2_service *s;
	char why[256] = "";
	int r = check(b, name, type, why, sizeof(why));

	if (r == 0)
		r = service_create(b, name, type, &s, why, sizeof(why));
	if (r < 0) {
		b->host->log(b->host->ctx, 1, "service %s is not offered: %s", name, why[0] ? why : strerror(-r));
		return;
	}
	pthread_mutex_lock(&b->lock);
	b->services[b->n_services++] = s;
	ros2_graph_publish(b);
	pthread_mutex_unlock(&b->lock);
	b->host->log(b->host->ctx, 2, "service %s (%s) is offered", name, type->name);
}

/* Out of the graph first; then nothing is asked any more; what was asked is still answered. */
static void end(struct sim_bridge *b, unsigned i)
{
	struct ros2_service *s = b->services[i];
	dds_entity_t reader;

	pthread_mutex_lock(&b->lock);
	reader = atomic_exchange(&s->reader, 0);
	b->services[i] = b->services[--b->n_services];
	ros2_graph_publish(b);
	pthread_mutex_unlock(&b->lock);
	dds_delete(reader); /* waits for a callback that runs */
	service_unref(s);
}

void ros2_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	for (unsigned i = 0; i < b->n_services; i++)
		if (strcmp(b->services[i]->name, name) == 0) {
			end(b, i);
			break;
		}
	if (type)
		begin(b, name, type);
}

dds_entity_t ros2_service_reader(const struct ros2_service *s)
{
	return atomic_load(&s->reader);
}
dds_entity_t ros2_service_writer(const struct ros2_service *s)
{
	return s->writer;
}

int ros2_services_open(struct sim_bridge *b)
{
	pthread_condattr_t attr;
	int r;

	pthread_mutex_init(&b->replies.lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&b->replies.changed, &attr);
	pthread_condattr_destroy(&attr);
	r = -pthread_create(&b->replies.thread, NULL, replies_main, b);
	b->replies.running = r == 0;
	return r;
}

void ros2_services_close(struct sim_bridge *b)
{
	if (!b->replies.running)
		return;
	while (b->n_services)
		end(b, 0);
	pthread_mutex_lock(&b->replies.lock);
	b->replies.stop = true;
	pthread_cond_signal(&b->replies.changed);
	pthread_mutex_unlock(&b->replies.lock);
	pthread_join(b->replies.thread, NULL);
	pthread_cond_destroy(&b->replies.changed);
	pthread_mutex_destroy(&b->replies.lock);
}
