/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels that simd announces, and the plug-in's topic for each. An announcement precedes the first delivery on its
 * lane; several lanes announce the same channel. Thread: any lane's; guarded by topics_lock.
 */
#include <errno.h>
#include <stdio.h>
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
	int64_t id, max_body = 0;
	int r;

	if (json_object_get(j, "max_body") && (r = jsonx_int(j, "max_body", 0, INT64_MAX, &max_body)) < 0)
		return r;
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
	t->max_body = (size_t)max_body;
	return read_type(type, &t->ch.type);
}

static void opening(struct host *h, bool on)
{
	pthread_mutex_lock(&h->lanes_lock);
	h->opening.on = on;
	h->opening.thread = pthread_self();
	if (on)
		h->opening.why[0] = '\0';
	pthread_mutex_unlock(&h->lanes_lock);
}

void host_topic_named(void *ctx, const struct sim_bridge_channel *ch, const char *name, const char *type)
{
	struct host *h = ctx;
	struct host_topic *t = container_of(ch, struct host_topic, ch);

	if (ch == &h->clock.clk.ch) { /* not dispatched; clock.c reports it */
		snprintf(h->clock.clk.far_name, sizeof(h->clock.clk.far_name), "%s", name ? name : "");
		snprintf(h->clock.clk.far_type, sizeof(h->clock.clk.far_type), "%s", type ? type : "");
		return;
	}
	snprintf(t->far_name, sizeof(t->far_name), "%s", name ? name : "");
	snprintf(t->far_type, sizeof(t->far_type), "%s", type ? type : "");
}

size_t host_topic_max_body(void *ctx, const struct sim_bridge_channel *ch)
{
	const struct host *h = ctx;

	return ch == &h->clock.clk.ch ? 0 : container_of(ch, struct host_topic, ch)->max_body;
}

/* Stores the reason: the plug-in's own message, without the channel's name, which readers know already. */
static void refuse(struct host *h, struct host_topic *t)
{
	size_t n = strlen(t->name);
	const char *why = h->opening.why;

	t->topic = NULL;
	if (!strncmp(why, t->name, n) && !strncmp(why + n, ": ", 2))
		why += n + 2;
	snprintf(t->why, sizeof(t->why), "%s", *why ? why : err_text(t->result));
	if (!h->opening.why[0])
		log_warn("%s (%s) is not carried by this bridge: %s", t->name, t->ch.type->name, t->why);
}

static void topic_open(struct host *h, struct host_topic *t)
{
	const char *type = t->ch.type->name, *foreign = plugin_foreign(h->plugin, type);

	t->remark[0] = '\0';
	host_topic_named(h, &t->ch, t->name, foreign);
	opening(h, true);
	t->result = -ENOTSUP;
	if (foreign || converters_find(h->converters, type, NULL, 0))
		t->result = h->plugin->ops->open(h->bridge, &t->ch, &t->topic);
	else
		snprintf(h->opening.why, sizeof(h->opening.why),
			 "%s: the bridge plug-in \"%s\" has no mapping of %s, and no converter of this bridge has one",
			 t->name, h->plugin->ops->name, type);
	opening(h, false);
	if (t->result < 0)
		refuse(h, t);
}

/* Until this is reported, simd counts the channel's messages as carried by this bridge. */
static int report(const struct host *h, struct sim_lane *lane, const struct host_topic *t)
{
	bool refused = t->result < 0;
	char type[HOST_TEXT_MAX + sizeof(t->remark) + 4];
	int r = 0;

	snprintf(type, sizeof(type), "%s%s%s%s", t->far_type, *t->remark ? " (" : "", t->remark, *t->remark ? ")" : "");
	if (lane && json_is_true(json_object_get(h->config, "reports_channels")))
		r = sim_lane_carries(lane, t->ch.id, refused ? t->result : 0, refused ? t->why : t->far_name, type);
	if (r < 0)
		log_debug("%s: not reported to simd: %s", t->name, sim_why());
	return r;
}

static int announce(struct host *h, struct sim_lane *lane, struct host_topic *t)
{
	struct host_topic **at = place(h, t->ch.id);

	if (!at)
		return err_set(-ENOSPC, "more than %d channels", HOST_TOPICS_MAX);
	if (*at && sim_type_equal((*at)->ch.type, t->ch.type) && !strcmp((*at)->name, t->name)) {
		(void)report(h, lane, *at);
		return 1; /* another lane announced it first */
	}
	topic_free(h, *at);
	topic_open(h, t);
	*at = t;
	(void)report(h, lane, t);
	return 0;
}

void host_topic_announce(struct host *h, struct sim_lane *lane, const char *json)
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
		r = announce(h, lane, t);
		pthread_mutex_unlock(&h->topics_lock);
	}
	if (r < 0)
		log_error("simd announced an invalid channel: %s", err_why());
	if (r)
		topic_free(h, t);
	json_decref(j);
}

struct host_topic *host_topic_find(struct host *h, uint32_t channel_id)
{
	struct host_topic **at, *t;

	pthread_mutex_lock(&h->topics_lock);
	at = place(h, channel_id);
	t = at ? *at : NULL;
	pthread_mutex_unlock(&h->topics_lock);
	return t;
}

bool host_topic_carried(struct host *h, const char *name)
{
	bool found = false;

	pthread_mutex_lock(&h->topics_lock);
	for (unsigned i = 0; i < HOST_TOPICS_MAX && !found; i++)
		found = h->topics[i] && h->topics[i]->topic && !strcmp(h->topics[i]->name, name);
	pthread_mutex_unlock(&h->topics_lock);
	return found;
}

/* Caller holds topics_lock; lanes_lock keeps lane 0 alive. */
static void report_all(struct host *h)
{
	pthread_mutex_lock(&h->lanes_lock);
	for (unsigned i = 0; i < HOST_TOPICS_MAX; i++)
		if (h->topics[i] && report(h, h->lane0, h->topics[i]) < 0)
			break;
	pthread_mutex_unlock(&h->lanes_lock);
}

void host_topic_remark(void *ctx, uint32_t channel_id, const char *text)
{
	struct host *h = ctx;
	struct host_topic **t;

	pthread_mutex_lock(&h->topics_lock);
	t = place(h, channel_id);
	if (t && *t) {
		snprintf((*t)->remark, sizeof((*t)->remark), "%s", text);
		pthread_mutex_lock(&h->lanes_lock);
		(void)report(h, h->lane0, *t);
		pthread_mutex_unlock(&h->lanes_lock);
	}
	pthread_mutex_unlock(&h->topics_lock);
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
	report_all(h);
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
