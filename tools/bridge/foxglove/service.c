/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of simd's clients, for connections with control: requests and responses are JSON, described by JSON Schema,
 * so that any client can use them without a message definition. Thread: the host's for services and answers, the
 * server's for requests.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "enc_json.h"
#include "foxglove.h"
#include "generic.h"
#include "json_reader.h"

struct request { /* waits for its answer */
	struct sim_bridge *bridge;
	unsigned client;
	uint32_t service, call;
	const struct sim_type *response; /* reference-counted */
};

/* ---- schemas ---- */

static json_t *schema_of(const struct sim_type *t, unsigned depth);

static const char *word_of(const struct sim_field *f)
{
	switch (f->kind) {
	case SIM_KIND_BOOL:
		return "boolean";
	case SIM_KIND_FLOAT32:
	case SIM_KIND_FLOAT64:
		return "number";
	case SIM_KIND_STRING:
		return "string";
	case SIM_KIND_MESSAGE:
		return "object";
	default:
		return "integer";
	}
}

static json_t *time_schema(void)
{
	return json_pack("{s:s,s:{s:{s:s},s:{s:s}}}", "type", "object", "properties", "sec", "type", "integer",
			 "nanosec", "type", "integer");
}

static json_t *field_schema(const struct sim_field *f, unsigned depth)
{
	json_t *one;

	if (f->kind == SIM_KIND_MESSAGE)
		one = schema_of(f->type, depth + 1);
	else if (f->kind == SIM_KIND_TIME || f->kind == SIM_KIND_DURATION)
		one = time_schema();
	else
		one = json_pack("{s:s}", "type", word_of(f));
	if (f->array == SIM_ARRAY_NONE)
		return one;
	if (f->kind == SIM_KIND_UINT8) {
		json_decref(one);
		return json_pack("{s:s,s:s}", "type", "string", "contentEncoding", "base64");
	}
	return json_pack("{s:s,s:o}", "type", "array", "items", one);
}

static json_t *schema_of(const struct sim_type *t, unsigned depth)
{
	json_t *fields = json_object();

	for (uint32_t i = 0; depth < SIM_TYPE_DEPTH_MAX && i < t->n_fields; i++)
		(void)json_object_set_new(fields, t->fields[i].name, field_schema(&t->fields[i], depth));
	return json_pack("{s:s,s:o}", "type", "object", "properties", fields);
}

static char *schema_text(const struct sim_type *t)
{
	json_t *j = schema_of(t, 0);
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	return text;
}

/* The advertisement, with the members of the protocol's present version and of older ones ("requestSchema"). */
static char *describe(uint32_t id, const char *name, const struct sim_service_type *t)
{
	char *request = schema_text(t->request), *response = schema_text(t->response), *text = NULL;
	json_t *j = NULL;

	if (request && response)
		j = json_pack("{s:I,s:s,s:s,s:s,s:s,s:{s:s,s:s,s:s,s:s},s:{s:s,s:s,s:s,s:s}}", "id", (json_int_t)id,
			      "name", name, "type", t->name, "requestSchema", request, "responseSchema", response,
			      "request", "encoding", "json", "schemaName", t->request->name, "schemaEncoding",
			      "jsonschema", "schema", request, "response", "encoding", "json", "schemaName",
			      t->response->name, "schemaEncoding", "jsonschema", "schema", response);
	if (j)
		text = json_dumps(j, JSON_COMPACT);
	json_decref(j);
	free(request);
	free(response);
	return text;
}

/* ---- advertising ---- */

static void tell_all(struct sim_bridge *b, const struct service *s, bool on)
{
	for (struct client *c = b->clients; c; c = c->next) {
		if (!c->control)
			continue;
		if (on)
			client_say(c, json_pack("{s:s,s:[o]}", "op", "advertiseServices", "services",
						json_loads(s->text, 0, NULL)));
		else
			client_say(c, json_pack("{s:s,s:[I]}", "op", "unadvertiseServices", "serviceIds",
						(json_int_t)s->id));
	}
}

static void service_free(struct service *s)
{
	free(s->name);
	free(s->text);
	free(s);
}

static void remove_service(struct sim_bridge *b, const char *name)
{
	struct service **at = &b->services, *s;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	s = *at;
	if (!s)
		return;
	*at = s->next;
	tell_all(b, s, false);
	service_free(s);
}

static void add_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	struct service *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	s->id = ++b->n_ids;
	s->type = type;
	s->name = strdup(name);
	s->text = describe(s->id, name, type);
	if (!s->name || !s->text) {
		service_free(s);
		return;
	}
	s->next = b->services;
	b->services = s;
	tell_all(b, s, true);
}

void foxglove_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	pthread_mutex_lock(&b->lock);
	remove_service(b, name);
	if (type)
		add_service(b, name, type);
	pthread_mutex_unlock(&b->lock);
	foxglove_server_wake(b);
}

void foxglove_services_finish(struct sim_bridge *b)
{
	while (b->services) {
		struct service *s = b->services;

		b->services = s->next;
		service_free(s);
	}
}

json_t *foxglove_services_text(struct sim_bridge *b)
{
	json_t *list = json_array();

	calls_advertise(list);
	for (const struct service *s = b->services; s; s = s->next)
		(void)json_array_append_new(list, json_loads(s->text, 0, NULL));
	return list;
}

/* ---- answers ---- */

void client_answer_call(struct client *c, uint32_t service, uint32_t call, const void *data, size_t len)
{
	uint8_t head[17] = { 3 };

	put_le(head + 1, service, 4);
	put_le(head + 5, call, 4);
	put_le(head + 9, 4, 4);
	memcpy(head + 13, "json", 4);
	if (!client_say_bytes(c, head, sizeof(head), data, len))
		client_refuse_call(c, service, call, "the response is too long for this client's queue at present");
}

void client_refuse_call(struct client *c, uint32_t service, uint32_t call, const char *why)
{
	client_say(c, json_pack("{s:s,s:I,s:I,s:s}", "op", "serviceCallFailure", "serviceId", (json_int_t)service,
				"callId", (json_int_t)call, "message", why));
}

static int encode(struct sim_bridge *b, const struct sim_type *t, const void *body, size_t size, struct iov_buf **ret)
{
	struct iov_buf *o = topics_get_buf(&b->common);
	struct enc_json j;
	int r;

	if (!o)
		return -ENOMEM;
	iov_buf_reset(o);
	json_begin(&j, ROS_GENERIC_ROS2, JSON_NAN_NULL, NULL, o);
	r = generic_emit(t, body, size, &j.enc);
	if (r == 0)
		r = json_finish(&j);
	if (r < 0)
		topics_put_buf(&b->common, o);
	else
		*ret = o;
	return r;
}

/* A sim_answer_fn. */
static void on_answer(void *user, int result, const char *why, const void *response, size_t size)
{
	struct request *q = user;
	struct sim_bridge *b = q->bridge;
	struct iov_buf *o = NULL;
	int r = result == 0 ? encode(b, q->response, response, size, &o) : result;
	struct iovec iov[IOV_BUF_PIECES];
	struct client *c;

	pthread_mutex_lock(&b->lock);
	c = client_find(b, q->client);
	if (c)
		c->n_calls--;
	if (c && r == 0 && iov_buf_iov(o, iov) == 1)
		client_answer_call(c, q->service, q->call, iov[0].iov_base, iov[0].iov_len);
	else if (c)
		client_refuse_call(c, q->service, q->call, why && *why ? why : strerror(-r));
	pthread_mutex_unlock(&b->lock);
	if (o)
		topics_put_buf(&b->common, o);
	foxglove_server_wake(b);
	sim_type_unref(q->response);
	free(q);
}

/* ---- requests ---- */

static int read_request(struct sim_bridge *b, const struct sim_type *t, const uint8_t *data, size_t len, void *body,
			size_t *ret_size)
{
	struct named_reader *r = &b->reader;
	int e;

	json_reader_begin(r, (const char *)data, len);
	if (r->dec.err)
		return r->dec.err;
	e = generic_read(t, &r->dec, body, SIM_SERVICE_BODY_MAX, ret_size);
	return r->dec.err ? r->dec.err : e;
}

/* Caller holds the lock, which keeps the type valid. */
static int call(struct client *c, const struct service *s, uint32_t call_id, const uint8_t *data, size_t len)
{
	struct sim_bridge *b = c->bridge;
	struct request *q = calloc(1, sizeof(*q));
	void *body = aligned_alloc(64, SIM_SERVICE_BODY_MAX);
	size_t size = 0;
	int r = q && body ? read_request(b, s->type->request, data, len, body, &size) : -ENOMEM;

	if (r == 0) {
		*q = (struct request){ b, c->id, s->id, call_id, sim_type_ref(s->type->response) };
		r = b->host->call(b->host->ctx, s->name, s->type, body, size, 0, on_answer, q);
		if (r < 0)
			sim_type_unref(q->response);
	}
	free(body);
	if (r < 0)
		free(q);
	return r;
}

void client_request(struct client *c, uint32_t service, uint32_t call_id, const char *encoding, size_t encoding_len,
		    const uint8_t *data, size_t len)
{
	struct sim_bridge *b = c->bridge;
	struct service *s;
	const char *why = NULL;
	int r;

	if (encoding_len != 4 || memcmp(encoding, "json", 4) != 0)
		why = "requests are read as json";
	else if (calls_request(c, service, call_id, data, len))
		return;
	pthread_mutex_lock(&b->lock);
	for (s = b->services; s && s->id != service; s = s->next)
		;
	if (!why && !s)
		why = "there is no such service, or it was removed";
	if (!why) {
		r = call(c, s, call_id, data, len);
		c->n_calls += r == 0;
		why = r == 0                                                            ? NULL
		      : r == -EBUSY                                                     ? "too many requests wait"
		      : r == -EBADMSG || r == -EMSGSIZE || r == -ERANGE || r == -EINVAL ? "the request is malformed"
											: strerror(-r);
	}
	if (why)
		client_refuse_call(c, service, call_id, why);
	pthread_mutex_unlock(&b->lock);
}
