/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of simd for the server's clients: each is advertised there; each call_service gets one service_response.
 * Thread: the host's for services and answers, the link's for requests.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "enc_json.h"
#include "generic.h"
#include "rosbridge.h"
#include "rpc.h"

struct rosbridge_service {
	struct rosbridge_service *next;
	char *name;
	const struct sim_service_type *type;
	unsigned connection; /* on which it is advertised */
};

struct request { /* waits for its answer */
	struct sim_bridge *bridge;
	unsigned connection;
	const struct sim_type *response; /* reference-counted */
	char id[ROSBRIDGE_ID_MAX], service[TOPIC_NAME_MAX + 1];
};

/* ---- available services ---- */

static int check(struct sim_bridge *b, const char *name, const struct sim_service_type *type, char *why, size_t size)
{
	const struct ros_service *ros = rpc_service(ros2_services, type->name);

	if (!SIM_BRIDGE_HOST_HAS(b->host, call))
		snprintf(why, size, "this simbridge cannot call services: install a newer one");
	else if (!topic_name_ok(name))
		topic_name_bad(name, why, size);
	else if (ros &&
		 (!rpc_same_fields(type->request, ros->request) || !rpc_same_fields(type->response, ros->response)))
		snprintf(why, size, "%s has other fields than %s has in ROS", type->name, ros->name);
	else
		return 0;
	return -EINVAL;
}

static int advertise(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	const struct ros_service *ros = rpc_service(ros2_services, type->name);
	const char *theirs = ros ? ros->name : type->name, *slash = strchr(theirs, '/');
	char text[ROSBRIDGE_HEAD_MAX + 64];

	snprintf(text, sizeof(text), "{\"op\":\"advertise_service\",\"type\":\"%.*s%s%s\",\"service\":\"%s\"}",
		 (int)(slash ? slash - theirs : 0), theirs, slash && b->flavour == FLAVOUR_ROS2 ? "/srv" : "",
		 slash ? slash : theirs, name);
	return rosbridge_say(b, OUTBOX_LAST, text, NULL);
}

static void remove_service(struct sim_bridge *b, const char *name)
{
	struct rosbridge_service **at = &b->services, *s;
	char text[ROSBRIDGE_HEAD_MAX];

	pthread_mutex_lock(&b->services_lock);
	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	s = *at;
	if (s)
		*at = s->next;
	pthread_mutex_unlock(&b->services_lock);
	if (!s)
		return;
	if (s->connection == atomic_load(&b->connection)) {
		snprintf(text, sizeof(text), "{\"op\":\"unadvertise_service\",\"service\":\"%s\"}", name);
		(void)rosbridge_say(b, OUTBOX_LAST, text, NULL);
	}
	free(s->name);
	free(s);
}

void rosbridge_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	struct rosbridge_service *s;
	char why[256] = "";
	int r;

	remove_service(b, name);
	if (!type)
		return;
	r = check(b, name, type, why, sizeof(why));
	if (r < 0) {
		log_warn(b, "service %s is not offered: %s", name, why);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (!s || !(s->name = strdup(name))) {
		free(s);
		return;
	}
	s->type = type;
	s->connection = atomic_load(&b->connection);
	pthread_mutex_lock(&b->services_lock);
	s->next = b->services;
	b->services = s;
	pthread_mutex_unlock(&b->services_lock);
	if (advertise(b, name, type) == 0)
		log_info(b, "service %s (%s) is offered", name, type->name);
}

void rosbridge_services_finish(struct sim_bridge *b)
{
	while (b->services) {
		struct rosbridge_service *s = b->services;

		b->services = s->next;
		free(s->name);
		free(s);
	}
}

/* ---- answers ---- */

int rosbridge_encode(struct sim_bridge *b, const struct sim_type *t, const void *body, size_t size,
		     struct iov_buf **ret)
{
	struct iov_buf *o = topics_get_buf(&b->common);
	struct enc_json j;
	int r;

	if (!o)
		return -ENOMEM;
	iov_buf_reset(o);
	json_begin(&j, b->flavour == FLAVOUR_ROS2 ? ROS_GENERIC_ROS2 : ROS_GENERIC_ROS1, b->nan, NULL, o);
	r = generic_emit(t, body, size, &j.enc);
	if (r == 0)
		r = json_finish(&j);
	if (r < 0)
		topics_put_buf(&b->common, o);
	else
		*ret = o;
	return r;
}

/* Sends the response. (ROS services have no errors: a refused request gets false and the reason.) */
static void respond(struct sim_bridge *b, const char *id, const char *service, bool result, struct iov_buf *values)
{
	char head[ROSBRIDGE_ID_MAX * 2 + ROSBRIDGE_HEAD_MAX], escaped[ROSBRIDGE_ID_MAX * 2];
	size_t n = 0;

	for (; *id; id++) {
		if (*id == '"' || *id == '\\')
			escaped[n++] = '\\';
		escaped[n++] = *id;
	}
	escaped[n] = '\0';
	snprintf(head, sizeof(head), "{\"op\":\"service_response\",\"id\":\"%s\",\"service\":\"%s\",\"result\":%s%s",
		 escaped, service, result ? "true" : "false", values ? ",\"values\":" : ",\"values\":{}}");
	(void)rosbridge_say(b, OUTBOX_URGENT, head, values);
}

static void say_bad(struct sim_bridge *b, const char *service, const char *why)
{
	uint64_t n = atomic_fetch_add(&b->n_bad_requests, 1) + 1;

	if (rosbridge_worth_saying(n))
		log_info(b, "%s: a request has no answer: %s (%llu so far)", service, why, (unsigned long long)n);
}

static void refuse(struct sim_bridge *b, const char *id, const char *service, const struct sim_type *t, const char *why)
{
	_Alignas(64) uint8_t body[1024];
	struct iov_buf *values = NULL;
	size_t size = 0;

	say_bad(b, service, why);
	if (t && rpc_refusal(t, why, body, sizeof(body), &size) == 0)
		(void)rosbridge_encode(b, t, body, size, &values);
	respond(b, id, service, false, values);
}

/* A sim_answer_fn. */
static void on_answer(void *user, int result, const char *why, const void *response, size_t size)
{
	struct request *q = user;
	struct sim_bridge *b = q->bridge;
	struct iov_buf *values = NULL;
	int r = result;

	if (q->connection == atomic_load(&b->connection)) {
		if (r == 0)
			r = rosbridge_encode(b, q->response, response, size, &values);
		if (r == 0)
			respond(b, q->id, q->service, true, values);
		else
			refuse(b, q->id, q->service, q->response, why && *why ? why : strerror(-r));
	}
	sim_type_unref(q->response);
	free(q);
}

/* ---- requests ---- */

static int read_request(struct sim_dec *d, const struct sim_type *t, void *body, size_t *ret_size)
{
	int r;

	sim_dec_begin(d, "args");
	r = generic_read(t, d, body, SIM_SERVICE_BODY_MAX, ret_size);
	sim_dec_end(d);
	return d->err ? d->err : r;
}

/* Caller holds services_lock, which keeps the type valid. */
static int call(struct sim_bridge *b, struct rosbridge_service *s, struct sim_dec *d, struct request *q)
{
	void *body = aligned_alloc(64, SIM_SERVICE_BODY_MAX);
	size_t size = 0;
	int r = body ? read_request(d, s->type->request, body, &size) : -ENOMEM;

	q->response = sim_type_ref(s->type->response);
	if (r == 0)
		r = b->host->call(b->host->ctx, s->name, s->type, body, size, 0, on_answer, q);
	free(body);
	return r;
}

void rosbridge_serve(struct sim_bridge *b, struct sim_dec *d, const char *id)
{
	struct request *q = calloc(1, sizeof(*q));
	struct rosbridge_service *s;
	int r = -ENOENT;

	if (!q)
		return;
	q->bridge = b;
	q->connection = atomic_load(&b->connection);
	snprintf(q->id, sizeof(q->id), "%s", id);
	(void)rosbridge_text(d, "service", q->service, sizeof(q->service));
	pthread_mutex_lock(&b->services_lock);
	for (s = b->services; s && strcmp(s->name, q->service) != 0; s = s->next)
		;
	if (s)
		r = call(b, s, d, q);
	pthread_mutex_unlock(&b->services_lock);
	if (r == 0)
		return;
	if (r == -ENOENT) /* removed; the server has been notified */
		say_bad(b, q->service, "it is not offered");
	else
		refuse(b, q->id, q->service, q->response,
		       r == -EBUSY ? "too many requests wait" : "the request is malformed");
	sim_type_unref(q->response);
	free(q);
}
