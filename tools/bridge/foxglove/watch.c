/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd's own state: replies of its control interface, each on a channel whose messages are the unchanged reply, twice a
 * second while there are subscribers. And parameters and the connection graph, for clients that subscribe to their
 * changes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "foxglove.h"
#include "timeutil.h"

#define TURN_NS       100000000
#define TURNS_A_LIST  5u /* the clock: in each turn */
#define TURNS_A_GRAPH 10u

static const struct {
	const char *topic, *method, *type, *schema;
	unsigned turns;
} watched[WATCH_N] = {
	[WATCH_CHANNELS] = { "/simd/channels", "ListChannels", "io.simd.Control.ListChannels",
			     "\"mono_ns\":{\"type\":\"integer\"},\"channels\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":"
			     "{\"name\":{\"type\":\"string\"},\"type\":{\"type\":\"string\"},\"hz\":{\"type\":\"number\"},\"bytes_per_s\":{\"type\":"
			     "\"number\"},\"age_ms\":{\"type\":\"integer\"},\"messages\":{\"type\":\"integer\"},\"in_flight\":{\"type\":\"integer\"}}}}",
			     TURNS_A_LIST },
	[WATCH_BRIDGES] = { "/simd/bridges", "ListBridges", "io.simd.Control.ListBridges",
			    "\"bridges\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
			    "\"status\":{\"type\":\"string\"},\"detail\":{\"type\":\"string\"},\"sent\":{\"type\":\"integer\"},\"failed\":{\"type\":"
			    "\"integer\"},\"dropped\":{\"type\":\"integer\"}}}}",
			    TURNS_A_LIST },
	[WATCH_CLIENTS] = { "/simd/clients", "ListClients", "io.simd.Control.ListClients",
			    "\"clients\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
			    "\"pid\":{\"type\":\"integer\"}}}}",
			    TURNS_A_LIST },
	[WATCH_CLOCK] = { "/simd/clock", "GetClock", "io.simd.Control.GetClock",
			  "\"clock\":{\"type\":\"object\",\"properties\":{\"sim_ns\":{\"type\":\"integer\"},\"scale\":{\"type\":\"number\"},\"paused\":"
			  "{\"type\":\"boolean\"},\"real_time_factor\":{\"type\":\"number\"},\"steps\":{\"type\":\"integer\"}}}",
			  1 },
	[WATCH_INFO] = { "/simd/info", "GetInfo", "io.simd.Control.GetInfo",
			 "\"version\":{\"type\":\"string\"},\"uptime_ms\":{\"type\":\"integer\"},\"memory\":{\"type\":\"integer\"}",
			 TURNS_A_LIST },
};

struct eye { /* state of the thread */
	struct sim_bridge *bridge;
	struct sim_client *sim;
	char *parameters; /* as last sent */
	unsigned turn;
};

/* ---- one reply ---- */

static void send_reply(struct sim_bridge *b, struct channel *ch, char *reply)
{
	struct message *m = message_get(&b->pool);
	struct job *job = NULL;

	if (!m) {
		free(reply);
		return;
	}
	message_set_own(m, (uint8_t *)reply, strlen(reply));
	(void)channel_send(b, ch, m, b->host->now(b->host->ctx), NULL, &job);
}

static bool is_watched(const struct sim_bridge *b, int i)
{
	return b->watch.channel[i] && atomic_load(&b->watch.channel[i]->n_subscribers);
}

static void look_at(struct eye *e, int i)
{
	char *reply = NULL;

	if (sim_call(e->sim, watched[i].method, "{}", &reply) == 0)
		send_reply(e->bridge, e->bridge->watch.channel[i], reply);
}

/* ---- parameters ---- */

static void look_at_parameters(struct eye *e)
{
	struct sim_bridge *b = e->bridge;
	char *clock = NULL, *text;
	json_t *list;

	if (sim_call(e->sim, "GetClock", "{}", &clock) < 0)
		return;
	list = calls_parameters(b, clock, NULL);
	free(clock);
	text = json_dumps(list, JSON_COMPACT);
	if (!text || (e->parameters && strcmp(text, e->parameters) == 0)) {
		free(text);
		json_decref(list);
		return;
	}
	free(e->parameters);
	e->parameters = text;
	pthread_mutex_lock(&b->lock);
	for (struct client *c = b->clients; c; c = c->next)
		if (c->parameters)
			client_say(c, json_pack("{s:s,s:O}", "op", "parameterValues", "parameters", list));
	pthread_mutex_unlock(&b->lock);
	json_decref(list);
	foxglove_server_wake(b);
}

/* ---- the graph ---- */

static void tell_graph(struct sim_bridge *b, json_t *update, json_t *whole)
{
	pthread_mutex_lock(&b->lock);
	for (struct client *c = b->clients; c; c = c->next) {
		json_t *j = !c->graph ? NULL : c->graph_new ? whole : update;

		if (!j)
			continue;
		c->graph_new = false;
		client_say(c, json_incref(j));
	}
	pthread_mutex_unlock(&b->lock);
	foxglove_server_wake(b);
}

static void look_at_graph(struct eye *e)
{
	struct sim_bridge *b = e->bridge;
	char *channels = NULL, *services = NULL;
	json_t *update = NULL, *whole = NULL;

	if (sim_call(e->sim, "ListChannels", "{}", &channels) == 0 &&
	    sim_call(e->sim, "ListServices", "{}", &services) == 0)
		update = graph_update(b, channels, services, &b->watch.graph, &whole);
	if (whole)
		tell_graph(b, update, whole);
	json_decref(update);
	json_decref(whole);
	free(channels);
	free(services);
}

/* ---- the thread ---- */

static bool is_wanted(struct sim_bridge *b)
{
	bool wanted = atomic_load(&b->watch.n_graph) || atomic_load(&b->watch.n_parameters);

	for (int i = 0; i < WATCH_N; i++)
		wanted |= is_watched(b, i);
	return wanted;
}

/* Waits for a subscriber, then for the next turn. False: stop. */
static bool await_turn(struct sim_bridge *b)
{
	struct watch *w = &b->watch;
	struct timespec due = timespec_from_ns(mono_now_ns() + TURN_NS);
	bool go;

	pthread_mutex_lock(&w->lock);
	while (!w->stop && !is_wanted(b))
		pthread_cond_wait(&w->changed, &w->lock);
	while (!w->stop && pthread_cond_timedwait(&w->changed, &w->lock, &due) == 0)
		;
	go = !w->stop;
	pthread_mutex_unlock(&w->lock);
	return go;
}

static void turn(struct eye *e)
{
	struct sim_bridge *b = e->bridge;

	for (int i = 0; i < WATCH_N; i++)
		if (is_watched(b, i) && e->turn % watched[i].turns == 0)
			look_at(e, i);
	if (atomic_load(&b->watch.n_parameters) && e->turn % TURNS_A_LIST == 0)
		look_at_parameters(e);
	if (atomic_load(&b->watch.n_graph) && e->turn % TURNS_A_GRAPH == 0)
		look_at_graph(e);
	e->turn++;
}

static void *watch_main(void *arg)
{
	struct eye e = { .bridge = arg };

	while (await_turn(e.bridge)) {
		if (!e.sim)
			e.sim = calls_connect(e.bridge, "foxglove-watch");
		if (e.sim)
			turn(&e);
	}
	sim_disconnect(e.sim);
	free(e.parameters);
	json_decref(e.bridge->watch.graph);
	e.bridge->watch.graph = NULL;
	return NULL;
}

void watch_wake(struct sim_bridge *b)
{
	pthread_mutex_lock(&b->watch.lock);
	pthread_cond_signal(&b->watch.changed);
	pthread_mutex_unlock(&b->watch.lock);
}

int watch_open(struct sim_bridge *b)
{
	struct watch *w = &b->watch;
	pthread_condattr_t mono;
	int r = 0;

	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &mono);
	pthread_condattr_destroy(&mono);
	for (int i = 0; i < WATCH_N && r == 0; i++) {
		char schema[1200];

		snprintf(schema, sizeof(schema), "{\"type\":\"object\",\"properties\":{%s}}", watched[i].schema);
		r = channel_get(b, watched[i].topic, "json", watched[i].type, "jsonschema", schema, false,
				&w->channel[i]);
	}
	if (r == 0)
		r = -pthread_create(&w->thread, NULL, watch_main, b);
	w->running = r == 0;
	if (w->running)
		pthread_setname_np(w->thread, "foxglove-watch");
	return r;
}

void watch_close(struct sim_bridge *b)
{
	struct watch *w = &b->watch;

	if (w->running) {
		pthread_mutex_lock(&w->lock);
		w->stop = true;
		pthread_cond_signal(&w->changed);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
		pthread_cond_destroy(&w->changed);
		pthread_mutex_destroy(&w->lock);
	}
	w->running = false;
	for (int i = 0; i < WATCH_N; i++) {
		channel_unref(b, w->channel[i]);
		w->channel[i] = NULL;
	}
}
