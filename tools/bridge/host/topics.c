/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels as simd announces them, and the plug-in's side of each. An announcement precedes the first
 * delivery on its lane; several lanes announce the same channel. Thread: any lane's; guarded by topics_lock.
 */
#include <errno.h>
#include <string.h>

#include "err.h"
#include "host.h"
#include "jsonx.h"
#include "log.h"
#include "mem.h"

LOG_TOPIC("topic");

static struct host_topic **place(struct host *h, uint32_t id)
{
	for (unsigned i = 0; i < HOST_TOPICS_MAX; i++) {
		struct host_topic **t = &h->topics[(id + i) % HOST_TOPICS_MAX];

		if (!*t || (*t)->ch.id == id)
			return t;
	}
	return NULL;
}

static void topic_free(struct host *h, struct host_topic *t)
{
	if (!t)
		return;
	if (t->topic)
		h->plugin->ops->close(h->bridge, t->topic);
	sim_type_unref(t->ch.type);
	mem_free(t->name);
	mem_free(t->options);
	mem_free(t);
}

static int read_type(json_t *type, const struct sim_type **ret)
{
	char *text = jsonx_text(type);
	int r = text ? sim_type_from_json(text, strlen(text), ret) : err_nomem();

	mem_free(text);
	return r < 0 ? err_set(r, "its type cannot be read: %s", sim_why()) : 0;
}

static int topic_parse(json_t *j, struct host_topic *t)
{
	json_t *type, *options = json_object_get(j, "options");
	const char *name;
	int64_t id;
	int r;

	if ((r = jsonx_int(j, "id", 0, UINT32_MAX, &id)) < 0 ||
	    (r = jsonx_string(j, "name", SIM_CHANNEL_MAX, &name)) < 0 || (r = jsonx_object(j, "type", &type)) < 0)
		return r;
	t->ch.id = (uint32_t)id;
	t->name = mem_strdup(name);
	t->options = options ? jsonx_text(options) : mem_strdup("{}");
	if (!t->name || !t->options)
		return err_nomem();
	t->ch.name = t->name;
	t->ch.options = t->options;
	return read_type(type, &t->ch.type);
}

static void topic_open(struct host *h, struct host_topic *t)
{
	int r = -ENOTSUP;

	if (plugin_carries(h->plugin, t->ch.type->name) || converters_find(h->converters, t->ch.type->name, NULL, 0))
		r = h->plugin->ops->open(h->bridge, &t->ch, &t->topic);
	if (r < 0) {
		t->topic = NULL;
		log_warn("%s (%s) is not carried by this bridge: %s", t->name, t->ch.type->name, err_text(r));
	}
}

static int announce(struct host *h, struct host_topic *t)
{
	struct host_topic **at = place(h, t->ch.id);

	if (!at)
		return err_set(-ENOSPC, "more than %d channels", HOST_TOPICS_MAX);
	if (*at && sim_type_equal((*at)->ch.type, t->ch.type) && !strcmp((*at)->name, t->name))
		return 1; /* another lane was first */
	topic_free(h, *at);
	topic_open(h, t);
	*at = t;
	return 0;
}

void host_topic_announce(struct host *h, const char *json)
{
	json_t *j = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
	struct host_topic *t = MEM_NEW(struct host_topic);
	int r = -ENOMEM;

	if (j && t)
		r = topic_parse(j, t);
	else
		err_set(r, "not a JSON object");
	if (!r) {
		pthread_mutex_lock(&h->topics_lock);
		r = announce(h, t);
		pthread_mutex_unlock(&h->topics_lock);
	}
	if (r < 0)
		log_error("simd announced a channel that cannot be used: %s", err_why());
	if (r && t) {
		sim_type_unref(t->ch.type);
		mem_free(t->name);
		mem_free(t->options);
		mem_free(t);
	}
	json_decref(j);
}

struct host_topic *host_topic_find(struct host *h, uint32_t channel_id)
{
	struct host_topic **t;

	pthread_mutex_lock(&h->topics_lock);
	t = place(h, channel_id);
	pthread_mutex_unlock(&h->topics_lock);
	return t ? *t : NULL;
}

void host_topics_replay(struct host *h)
{
	pthread_mutex_lock(&h->topics_lock);
	for (unsigned i = 0; i < HOST_TOPICS_MAX; i++) {
		struct host_topic *t = h->topics[i];

		if (!t)
			continue;
		if (t->topic)
			h->plugin->ops->close(h->bridge, t->topic);
		t->topic = NULL;
		topic_open(h, t);
	}
	pthread_mutex_unlock(&h->topics_lock);
}

void host_topics_close(struct host *h)
{
	pthread_mutex_lock(&h->topics_lock);
	for (unsigned i = 0; i < HOST_TOPICS_MAX; i++) {
		topic_free(h, h->topics[i]);
		h->topics[i] = NULL;
	}
	pthread_mutex_unlock(&h->topics_lock);
}
