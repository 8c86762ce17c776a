/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of clients, in JSON and binary. An invalid one is answered with a status, and logged with decreasing
 * frequency. Thread: the server's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foxglove.h"

#define COMPLAINTS_MAX 10000u /* by one client, which is then disconnected */

void client_complain(struct client *c, const char *fmt, ...)
{
	char why[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (foxglove_worth_saying(++c->n_complaints)) {
		char text[300];

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = (char)(why[i] && (why[i] < ' ' || why[i] > '~') ? '?' : why[i]);
		log_info(c->bridge, "client %u (%s): %s (%llu so far)", c->id, c->peer, text,
			 (unsigned long long)c->n_complaints);
	}
	pthread_mutex_lock(&c->bridge->lock);
	if (c->n_complaints > COMPLAINTS_MAX)
		c->over = true;
	else
		client_status(c, 2, "%s", why);
	pthread_mutex_unlock(&c->bridge->lock);
}

/* ---- server information ---- */

static json_t *server_info(const struct client *c)
{
	const struct sim_bridge *b = c->bridge;
	json_t *capabilities =
		json_pack("[s,s,s,s,s]", "time", "parameters", "parametersSubscribe", "connectionGraph", "assets");
	const char *name = SIM_BRIDGE_HOST_HAS(b->host, bridge) && b->host->bridge ? b->host->bridge : "";

	if (c->control && capabilities) {
		(void)json_array_append_new(capabilities, json_string("clientPublish"));
		(void)json_array_append_new(capabilities, json_string("services"));
	}
	return json_pack("{s:s,s:s,s:o,s:[s,s],s:s,s:{s:s,s:s,s:s}}", "op", "serverInfo", "name", "simd",
			 "capabilities", capabilities, "supportedEncodings", "json", "cdr", "sessionId", b->session,
			 "metadata", "simd", sim_version(), "control", c->control ? "true" : "false", "bridge", name);
}

/* Caller holds the bridge's lock. */
void client_greet(struct client *c)
{
	client_say(c, server_info(c));
	for (const struct channel *ch = c->bridge->channels; ch; ch = ch->next)
		channel_advertise(ch, c);
	if (c->control)
		client_say(c, json_pack("{s:s,s:o}", "op", "advertiseServices", "services",
					foxglove_services_text(c->bridge)));
}

/* ---- subscriptions ---- */

static struct subscription *subscription_of(const struct client *c, uint32_t id)
{
	struct subscription *s = c->subscriptions;

	while (s && s->id != id)
		s = s->next_of_client;
	return s;
}

static bool is_id(const json_t *j, uint32_t *ret)
{
	json_int_t n = json_integer_value(j);

	if (!json_is_integer(j) || n < 0 || n > UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

/* Returns NULL, or the reason of a failure. Caller holds the lock. */
static const char *subscribe_one(struct client *c, uint32_t id, uint32_t channel_id)
{
	struct channel *ch = c->bridge->channels;
	struct subscription *s;
	struct job *done = NULL;

	while (ch && ch->id != channel_id)
		ch = ch->next;
	if (!ch)
		return "there is no such channel";
	for (s = c->subscriptions; s; s = s->next_of_client)
		if (s->id == id || s->channel == ch)
			return s->id == id ? "the id is another subscription's" : "it is subscribed to already";
	if (c->n_subscriptions == FOXGLOVE_SUBSCRIPTIONS_MAX)
		return "there are too many subscriptions";
	s = client_subscribe(c, ch, id);
	if (!s)
		return "no memory";
	if (ch->latched)
		client_queue(s, ch->latched, ch->latched_sim_ns, &done); /* already a copy: holds no job */
	return NULL;
}

static void on_subscribe(struct client *c, json_t *j)
{
	json_t *list = json_object_get(j, "subscriptions"), *one;
	size_t i;

	json_array_foreach(list, i, one) {
		uint32_t id = 0, channel = 0;
		const char *why = "\"id\" and \"channelId\" must be whole numbers";

		if (is_id(json_object_get(one, "id"), &id) && is_id(json_object_get(one, "channelId"), &channel)) {
			pthread_mutex_lock(&c->bridge->lock);
			why = subscribe_one(c, id, channel);
			pthread_mutex_unlock(&c->bridge->lock);
		}
		if (why)
			client_complain(c, "subscribe: channel %u, id %u: %s", channel, id, why);
		if (c->over)
			break;
	}
	watch_wake(c->bridge);
}

static void on_unsubscribe(struct client *c, json_t *j)
{
	json_t *list = json_object_get(j, "subscriptionIds"), *one;
	size_t i;

	json_array_foreach(list, i, one) {
		struct subscription *s = NULL;
		uint32_t id = 0;

		pthread_mutex_lock(&c->bridge->lock);
		if (is_id(one, &id))
			s = subscription_of(c, id);
		if (s)
			client_unsubscribe(s);
		pthread_mutex_unlock(&c->bridge->lock);
		if (!s)
			client_complain(c, "unsubscribe: %u: there is no such subscription", id);
		if (c->over)
			break;
	}
}

/* ---- parameters, graph, assets ---- */

static const char *text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static void on_get_parameters(struct client *c, json_t *j)
{
	calls_get_parameters(c, json_object_get(j, "parameterNames"), json_string_value(json_object_get(j, "id")));
}

static void on_set_parameters(struct client *c, json_t *j)
{
	calls_set_parameters(c, json_object_get(j, "parameters"), json_string_value(json_object_get(j, "id")));
}

static void set_wanted(struct client *c, bool *which, _Atomic unsigned *n, bool on)
{
	pthread_mutex_lock(&c->bridge->lock);
	if (*which != on) {
		*which = on;
		if (on)
			atomic_fetch_add(n, 1);
		else
			atomic_fetch_sub(n, 1);
	}
	c->graph_new = c->graph;
	pthread_mutex_unlock(&c->bridge->lock);
	watch_wake(c->bridge);
}

static void on_want_parameters(struct client *c, json_t *j)
{
	(void)j;
	set_wanted(c, &c->parameters, &c->bridge->watch.n_parameters, true);
}

static void on_no_parameters(struct client *c, json_t *j)
{
	(void)j;
	set_wanted(c, &c->parameters, &c->bridge->watch.n_parameters, false);
}

static void on_want_graph(struct client *c, json_t *j)
{
	(void)j;
	set_wanted(c, &c->graph, &c->bridge->watch.n_graph, true);
}

static void on_no_graph(struct client *c, json_t *j)
{
	(void)j;
	set_wanted(c, &c->graph, &c->bridge->watch.n_graph, false);
}

static void on_asset(struct client *c, json_t *j)
{
	uint32_t request = 0;

	if (is_id(json_object_get(j, "requestId"), &request))
		calls_asset(c, text_of(j, "uri"), request);
	else
		client_complain(c, "fetchAsset: \"requestId\" must be a whole number");
}

/* ---- dispatching operations ---- */

static const struct {
	const char *op;
	void (*run)(struct client *c, json_t *j);
	bool changes; /* only for clients with control */
} ops[] = {
	{ "subscribe", on_subscribe, false },
	{ "unsubscribe", on_unsubscribe, false },
	{ "advertise", client_advertise, true },
	{ "unadvertise", client_unadvertise, true },
	{ "getParameters", on_get_parameters, false },
	{ "setParameters", on_set_parameters, true },
	{ "subscribeParameterUpdates", on_want_parameters, false },
	{ "unsubscribeParameterUpdates", on_no_parameters, false },
	{ "subscribeConnectionGraph", on_want_graph, false },
	{ "unsubscribeConnectionGraph", on_no_graph, false },
	{ "fetchAsset", on_asset, false },
};

static void run_op(struct client *c, const char *op, json_t *j)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strcmp(ops[i].op, op) != 0)
			continue;
		if (ops[i].changes && !c->control)
			client_complain(
				c,
				"%s: this connection is read-only: control needs \"control\": \"true\" in the rig, and the token in the address",
				op);
		else
			ops[i].run(c, j);
		return;
	}
	client_complain(c, "there is no operation \"%.60s\"", op);
}

void client_text(struct client *c, const char *text, size_t len)
{
	json_error_t err = { .text = "" };
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &err);

	if (!json_is_object(j))
		client_complain(c, "this is not a JSON object: %.100s", j ? "something else" : err.text);
	else
		run_op(c, text_of(j, "op"), j);
	json_decref(j);
}

static uint32_t get_u32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void on_request(struct client *c, const uint8_t *data, size_t len)
{
	uint32_t encoding_len = len >= 13 ? get_u32(data + 9) : 0;

	if (len < 13 || encoding_len > len - 13) {
		client_complain(c, "a truncated service request");
		return;
	}
	client_request(c, get_u32(data + 1), get_u32(data + 5), (const char *)data + 13, encoding_len,
		       data + 13 + encoding_len, len - 13 - encoding_len);
}

void client_binary(struct client *c, const uint8_t *data, size_t len)
{
	uint8_t op = len ? data[0] : 0;

	if (op != 1 && op != 2)
		client_complain(c, "there is no binary operation %u", op);
	else if (!c->control)
		client_complain(
			c,
			"this connection is read-only: control needs \"control\": \"true\" in the rig, and the token in the address");
	else if (op == 2)
		on_request(c, data, len);
	else if (len < 5)
		client_complain(c, "a truncated message");
	else
		client_publish(c, get_u32(data + 1), data + 5, len - 5);
}
