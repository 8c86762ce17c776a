/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection graph: publishers and subscribers, by the names that topics have here. Each update contains everything
 * that exists, and the names of what was removed. Thread: watch.c's.
 */
#include <stdio.h>
#include <string.h>

#include "foxglove.h"

static void add_once(json_t *list, json_t *name)
{
	json_t *has;
	size_t i;

	json_array_foreach(list, i, has)
		if (json_equal(has, name))
			return;
	if (name)
		(void)json_array_append(list, name);
}

/* Distinct client names of a list of endpoints. */
static json_t *names_of(const json_t *endpoints)
{
	json_t *list = json_array(), *one;
	size_t i;

	json_array_foreach(endpoints, i, one)
		add_once(list, json_object_get(one, "client"));
	return list;
}

/* Adds the bridges that carry a published channel to its subscribers. */
static void add_bridges(json_t *list, const json_t *channel)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(channel, "bridges"), i, one)
		add_once(list, one);
}

/* Adds the topics made from a channel of the rig, or the channel itself. */
static void add_topics(struct sim_bridge *b, json_t *list, const char *channel, const char *ids, json_t *names)
{
	bool found = false;

	pthread_mutex_lock(&b->common.lock);
	for (unsigned i = 0; i < b->common.n_out; i++) {
		const struct topic_out *t = b->common.out[i];

		if (strcmp(t->channel, channel) != 0)
			continue;
		found = true;
		(void)json_array_append_new(list, json_pack("{s:s,s:O}", "name", t->name, ids, names));
	}
	pthread_mutex_unlock(&b->common.lock);
	if (!found)
		(void)json_array_append_new(list, json_pack("{s:s,s:O}", "name", channel, ids, names));
}

static json_t *graph_of(struct sim_bridge *b, const json_t *channels, const json_t *services)
{
	json_t *published = json_array(), *subscribed = json_array(), *served = json_array(), *one;
	size_t i;

	json_array_foreach(channels, i, one) {
		const char *name = json_string_value(json_object_get(one, "name"));
		json_t *who = names_of(json_object_get(one, "publishers")),
		       *whom = names_of(json_object_get(one, "subscribers"));

		if (json_array_size(who))
			add_bridges(whom, one);
		if (name && json_array_size(who))
			add_topics(b, published, name, "publisherIds", who);
		if (name && json_array_size(whom))
			add_topics(b, subscribed, name, "subscriberIds", whom);
		json_decref(who);
		json_decref(whom);
	}
	json_array_foreach(services, i, one)
		(void)json_array_append_new(served,
					    json_pack("{s:O,s:[O]}", "name", json_object_get(one, "name"),
						      "providerIds",
						      json_object_get(json_object_get(one, "provider"), "client")));
	return json_pack("{s:s,s:o,s:o,s:o}", "op", "connectionGraphUpdate", "publishedTopics", published,
			 "subscribedTopics", subscribed, "advertisedServices", served);
}

static bool has_name(const json_t *graph, const char *list, const json_t *name)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(graph, list), i, one)
		if (json_equal(json_object_get(one, "name"), name))
			return true;
	return false;
}

static void add_removed(json_t *removed, const json_t *last, const json_t *now, const char *list, const char *other)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(last, list), i, one) {
		json_t *name = json_object_get(one, "name");

		if (!has_name(now, list, name) && !(other && has_name(now, other, name)))
			add_once(removed, name);
	}
}

json_t *graph_update(struct sim_bridge *b, const char *channels, const char *services, json_t **last,
		     json_t **ret_whole)
{
	json_t *c = json_loads(channels, 0, NULL), *s = json_loads(services, 0, NULL);
	json_t *now = graph_of(b, json_object_get(c, "channels"), json_object_get(s, "services")), *update = NULL;
	json_t *topics = json_array(), *gone = json_array();

	add_removed(topics, *last, now, "publishedTopics", "subscribedTopics");
	add_removed(topics, *last, now, "subscribedTopics", "publishedTopics");
	add_removed(gone, *last, now, "advertisedServices", NULL);
	if (!json_equal(*last, now)) {
		update = json_copy(now);
		(void)json_object_set(update, "removedTopics", topics);
		(void)json_object_set(update, "removedServices", gone);
	}
	*ret_whole = json_copy(now);
	(void)json_object_set_new(*ret_whole, "removedTopics", json_array());
	(void)json_object_set_new(*ret_whole, "removedServices", json_array());
	json_decref(*last);
	*last = now;
	json_decref(topics);
	json_decref(gone);
	json_decref(c);
	json_decref(s);
	return update;
}
