/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of clients that simd executes, and that may take long: methods of its control interface as services,
 * parameters, assets. One thread runs them one after the other, because a step of the clock is answered only when it is
 * complete.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foxglove.h"

#define CALL_DUR_NS INT64_C(5000000000)

enum { CALL_METHOD, CALL_GET, CALL_SET, CALL_ASSET };

/* ---- simd's own services ---- */

/* X(id, method, properties of the request's schema) */
#define METHODS(X) \
	X(1, "PauseClock", "\"wait\":{\"type\":\"boolean\"}") \
	X(2, "ResumeClock", "") \
	X(3, "StepClock", "\"dur_ns\":{\"type\":\"integer\"}") \
	X(4, "SetScale", "\"scale\":{\"type\":\"number\"}") \
	X(5, "RestartBridge", "\"name\":{\"type\":\"string\"}") \
	X(6, "SetBridgeConnection", "\"name\":{\"type\":\"string\"},\"connection\":{\"type\":\"string\"}") \
	X(7, "RestartProcess", "\"name\":{\"type\":\"string\"}")

static const struct method {
	uint32_t id;
	const char *name, *schema;
} methods[] = {
#define X(id, name, properties) { id, name, "{\"type\":\"object\",\"properties\":{" properties "}}" },
	METHODS(X)
#undef X
};
#define N_METHODS (sizeof(methods) / sizeof(methods[0]))

void calls_advertise(json_t *list)
{
	static const char response[] = "{\"type\":\"object\",\"properties\":{}}";

	for (size_t i = 0; i < N_METHODS; i++) {
		const struct method *m = &methods[i];
		char name[64], request[64], answer[64];

		snprintf(name, sizeof(name), "/simd/%s", m->name);
		snprintf(request, sizeof(request), "io.simd.Control.%s_Request", m->name);
		snprintf(answer, sizeof(answer), "io.simd.Control.%s_Response", m->name);
		(void)json_array_append_new(list,
					    json_pack("{s:I,s:s,s:s,s:s,s:s,s:{s:s,s:s,s:s,s:s},s:{s:s,s:s,s:s,s:s}}",
						      "id", (json_int_t)m->id, "name", name, "type", m->name,
						      "requestSchema", m->schema, "responseSchema", response, "request",
						      "encoding", "json", "schemaName", request, "schemaEncoding",
						      "jsonschema", "schema", m->schema, "response", "encoding", "json",
						      "schemaName", answer, "schemaEncoding", "jsonschema", "schema",
						      response));
	}
}

/* ---- the queue ---- */

static void call_free(struct call *k)
{
	free(k->id);
	free(k->method);
	free(k->text);
	free(k);
}

static bool put(struct sim_bridge *b, struct call *k)
{
	struct calls *q = &b->calls;
	bool room;

	pthread_mutex_lock(&q->lock);
	room = q->n < FOXGLOVE_CALLS_MAX && !q->stop;
	if (room) {
		if (q->last)
			q->last->next = k;
		else
			q->first = k;
		q->last = k;
		q->n++;
		pthread_cond_signal(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	return room;
}

/* Queues a request. NULL: the queue is full, or no memory. Takes ownership of text, from malloc(). */
static struct call *ask(struct client *c, int kind, const char *id, const char *method, char *text, uint32_t service,
			uint32_t call_id)
{
	struct call *k = text ? calloc(1, sizeof(*k)) : NULL;

	if (!k) {
		free(text);
		return NULL;
	}
	*k = (struct call){ .client = c->id, .kind = kind, .text = text, .service = service, .call_id = call_id };
	k->id = id ? strdup(id) : NULL;
	k->method = method ? strdup(method) : NULL;
	if (put(c->bridge, k))
		return k;
	call_free(k);
	return NULL;
}

static char *object_text(const uint8_t *data, size_t len)
{
	json_t *j = len ? json_loadb((const char *)data, len, JSON_REJECT_DUPLICATES, NULL) : json_object();
	char *text = json_is_object(j) ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	return text;
}

bool calls_request(struct client *c, uint32_t service, uint32_t call, const uint8_t *data, size_t len)
{
	const struct method *m = NULL;
	char *text;

	for (size_t i = 0; i < N_METHODS; i++)
		if (methods[i].id == service)
			m = &methods[i];
	if (!m)
		return false;
	text = object_text(data, len);
	if (text && ask(c, CALL_METHOD, NULL, m->name, text, service, call))
		return true;
	pthread_mutex_lock(&c->bridge->lock);
	client_refuse_call(c, service, call, text ? "too many requests wait" : "the request is not a JSON object");
	pthread_mutex_unlock(&c->bridge->lock);
	return true;
}

void calls_get_parameters(struct client *c, json_t *names, const char *id)
{
	if (!ask(c, CALL_GET, id, NULL, json_dumps(names, JSON_COMPACT | JSON_ENCODE_ANY) ?: strdup("[]"), 0, 0))
		client_complain(c, "getParameters: too many requests wait");
}

void calls_set_parameters(struct client *c, json_t *list, const char *id)
{
	if (!ask(c, CALL_SET, id, NULL, json_dumps(list, JSON_COMPACT | JSON_ENCODE_ANY) ?: strdup("[]"), 0, 0))
		client_complain(c, "setParameters: too many requests wait");
}

void calls_asset(struct client *c, const char *uri, uint32_t request)
{
	if (!ask(c, CALL_ASSET, NULL, NULL, strdup(uri), request, 0))
		client_complain(c, "fetchAsset: too many requests wait");
}

/* ---- parameters ---- */

/* X(name, member of Clock, type reported to clients; NULL: none) */
#define PARAMETERS(X) \
	X("/clock/scale", "scale", "float64") \
	X("/clock/paused", "paused", NULL) \
	X("/clock/source", "source", NULL)

static bool is_named(json_t *names, const char *name)
{
	json_t *one;
	size_t i;

	if (!json_array_size(names))
		return true;
	json_array_foreach(names, i, one)
		if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
			return true;
	return false;
}

static void add_own(const struct sim_bridge *b, json_t *names, json_t *list)
{
	json_t *own = json_pack("{s:I,s:b,s:b,s:b}", "/bridge/queue", (json_int_t)atomic_load(&b->queue),
				"/bridge/control", b->control, "/bridge/markers", b->markers, "/use_sim_time", 1),
	       *value;
	const char *name;

	json_object_foreach(own, name, value)
		if (is_named(names, name))
			(void)json_array_append_new(list, json_pack("{s:s,s:O}", "name", name, "value", value));
	json_decref(own);
}

json_t *calls_parameters(const struct sim_bridge *b, const char *clock, json_t *names)
{
	static const char *const known[][3] = {
#define X(name, member, type) { name, member, type },
		PARAMETERS(X)
#undef X
	};
	json_t *reply = clock ? json_loads(clock, 0, NULL) : NULL, *list = json_array();

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		json_t *value = json_object_get(json_object_get(reply, "clock"), known[i][1]), *one;

		if (!value || !is_named(names, known[i][0]))
			continue;
		one = json_pack("{s:s,s:O}", "name", known[i][0], "value", value);
		if (known[i][2])
			(void)json_object_set_new(one, "type", json_string(known[i][2]));
		(void)json_array_append_new(list, one);
	}
	add_own(b, names, list);
	json_decref(reply);
	return list;
}

/* The method that sets the parameter, and its params; NULL: it cannot be set. */
static const char *method_for(const char *name, const json_t *value, char *params, size_t size)
{
	snprintf(params, size, "{}");
	if (strcmp(name, "/clock/scale") == 0 && json_is_number(value)) {
		snprintf(params, size, "{\"scale\":%.17g}", json_number_value(value));
		return "SetScale";
	}
	if (strcmp(name, "/clock/paused") == 0 && json_is_boolean(value))
		return json_is_true(value) ? "PauseClock" : "ResumeClock";
	return NULL;
}

static bool set_queue(struct sim_bridge *b, const char *name, const json_t *value)
{
	double n = json_number_value(value);

	if (strcmp(name, "/bridge/queue") != 0 || !json_is_number(value) || !(n >= 1 && n <= FOXGLOVE_QUEUE_MAX))
		return false;
	atomic_store(&b->queue, (long)n);
	return true;
}

/* Sets a parameter; on failure the reason is in why. */
static void set_parameter(struct sim_bridge *b, struct sim_client *sim, const json_t *one, char *why, size_t size)
{
	const char *name = json_string_value(json_object_get(one, "name")), *method;
	const json_t *value = json_object_get(one, "value");
	char params[80], *reply = NULL;

	if (name && set_queue(b, name, value))
		return;
	method = name ? method_for(name, value, params, sizeof(params)) : NULL;
	if (!method)
		snprintf(
			why, size,
			"setParameters: %.60s: /clock/scale, a number, /clock/paused, true or false, and /bridge/queue, 1 to %u, can be set",
			name ? name : "?", FOXGLOVE_QUEUE_MAX);
	else if (sim_call_within(sim, method, params, CALL_DUR_NS, &reply) < 0)
		snprintf(why, size, "setParameters: %.60s: %s", name, sim_why());
	free(reply);
}

/* ---- the thread ---- */

static void tell_parameters(struct client *c, const struct call *k, json_t *list)
{
	json_t *j = json_pack("{s:s,s:O}", "op", "parameterValues", "parameters", list);

	if (k->id && j)
		(void)json_object_set_new(j, "id", json_string(k->id));
	client_say(c, j);
}

static void run_parameters(struct sim_bridge *b, struct sim_client *sim, const struct call *k)
{
	json_t *asked = json_loads(k->text, JSON_DECODE_ANY, NULL), *one, *list;
	char why[400] = "", *clock = NULL;
	struct client *c;
	size_t i;

	if (k->kind == CALL_SET)
		json_array_foreach(asked, i, one)
			set_parameter(b, sim, one, why, sizeof(why));
	if (sim_call(sim, "GetClock", "{}", &clock) < 0)
		snprintf(why, sizeof(why), "parameters: %s", sim_why());
	list = calls_parameters(b, clock, k->kind == CALL_SET ? NULL : asked);
	pthread_mutex_lock(&b->lock);
	c = client_find(b, k->client);
	if (c && *why)
		client_status(c, 2, "%s", why);
	if (c && (k->kind == CALL_GET || k->id))
		tell_parameters(c, k, list);
	pthread_mutex_unlock(&b->lock);
	json_decref(list);
	json_decref(asked);
	free(clock);
}

static void run_method(struct sim_bridge *b, struct sim_client *sim, const struct call *k)
{
	char *reply = NULL, why[400] = "";
	struct client *c;
	int r = sim_call_within(sim, k->method, k->text, CALL_DUR_NS, &reply);

	if (r == -ETIMEDOUT && strcmp(k->method, "StepClock") == 0)
		snprintf(why, sizeof(why), "the step has not ended within 5 s of wall time: it goes on");
	else if (r < 0)
		snprintf(why, sizeof(why), "%s", sim_why());
	pthread_mutex_lock(&b->lock);
	c = client_find(b, k->client);
	if (c && r == 0)
		client_answer_call(c, k->service, k->call_id, reply, strlen(reply));
	else if (c)
		client_refuse_call(c, k->service, k->call_id, why);
	pthread_mutex_unlock(&b->lock);
	free(reply);
}

static void run_asset(struct sim_bridge *b, const struct call *k)
{
	uint8_t head[400] = { 4 }, *data = NULL;
	char why[300] = "";
	size_t len = 0, n;
	struct client *c;
	int r = asset_read(b->assets, k->text, &data, &len, why, sizeof(why));

	n = r < 0 ? strlen(why) : 0;
	put_le(head + 1, k->service, 4);
	head[5] = r < 0;
	put_le(head + 6, (uint32_t)n, 4);
	memcpy(head + 10, why, n);
	pthread_mutex_lock(&b->lock);
	c = client_find(b, k->client);
	if (c && !client_say_bytes(c, head, 10 + n, data, len))
		client_status(c, 2, "%.200s: too long for this client's queue at present; fetch it again", k->text);
	pthread_mutex_unlock(&b->lock);
	free(data);
}

struct sim_client *calls_connect(struct sim_bridge *b, const char *name)
{
	struct sim_client_options o = { .size = sizeof(o),
					.name = name,
					.socket = SIM_BRIDGE_HOST_HAS(b->host, socket) ? b->host->socket : NULL,
					.flags = SIM_CLIENT_NO_DATA | SIM_CLIENT_NO_THREAD };
	struct sim_client *sim = NULL;

	return sim_connect(&o, &sim) == 0 ? sim : NULL;
}

static struct call *next_call(struct calls *q)
{
	struct call *k;

	pthread_mutex_lock(&q->lock);
	while (!q->first && !q->stop)
		pthread_cond_wait(&q->changed, &q->lock);
	k = q->stop ? NULL : q->first;
	if (k) {
		q->first = k->next;
		if (!q->first)
			q->last = NULL;
		q->n--;
	}
	pthread_mutex_unlock(&q->lock);
	return k;
}

static void no_simd(struct sim_bridge *b, const struct call *k)
{
	struct client *c;

	pthread_mutex_lock(&b->lock);
	c = client_find(b, k->client);
	if (c && k->kind == CALL_METHOD)
		client_refuse_call(c, k->service, k->call_id, sim_why());
	else if (c)
		client_status(c, 2, "%s", sim_why());
	pthread_mutex_unlock(&b->lock);
}

static void *calls_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct sim_client *sim = NULL;
	struct call *k;

	while ((k = next_call(&b->calls))) {
		if (!sim && k->kind != CALL_ASSET)
			sim = calls_connect(b, "foxglove-call");
		if (k->kind == CALL_ASSET)
			run_asset(b, k);
		else if (!sim)
			no_simd(b, k);
		else if (k->kind == CALL_METHOD)
			run_method(b, sim, k);
		else
			run_parameters(b, sim, k);
		call_free(k);
		foxglove_server_wake(b);
	}
	sim_disconnect(sim);
	return NULL;
}

int calls_open(struct sim_bridge *b)
{
	struct calls *q = &b->calls;
	int r;

	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	r = -pthread_create(&q->thread, NULL, calls_main, b);
	q->running = r == 0;
	if (q->running)
		pthread_setname_np(q->thread, "foxglove-call");
	return r;
}

void calls_close(struct sim_bridge *b)
{
	struct calls *q = &b->calls;

	if (!q->running)
		return;
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	q->running = false;
	while (q->first) {
		struct call *k = q->first;

		q->first = k->next;
		call_free(k);
	}
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
}
