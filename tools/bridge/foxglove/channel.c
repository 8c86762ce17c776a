/* SPDX-License-Identifier: Apache-2.0 */
/* Outgoing channels: their advertisements, and their messages, converted once and only if there are subscribers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "foxglove.h"
#include "pb_type.h"
#include "ros/ros_type.h"

/* ---- channels ---- */

static void channel_free(struct channel *ch)
{
	free(ch->topic);
	free(ch->type);
	free(ch->text);
	free(ch);
}

static char *describe(const struct channel *ch, const char *encoding, const char *schema_encoding, const char *schema)
{
	json_t *j = json_pack("{s:I,s:s,s:s,s:s,s:s,s:s}", "id", (json_int_t)ch->id, "topic", ch->topic, "encoding",
			      encoding, "schemaName", ch->type, "schemaEncoding", schema_encoding, "schema", schema);
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	return text;
}

void channel_advertise(const struct channel *ch, struct client *c)
{
	char *text;

	client_say_text(c, asprintf(&text, "{\"op\":\"advertise\",\"channels\":[%s]}", ch->text) < 0 ? NULL : text);
}

static struct channel *find(struct sim_bridge *b, const char *topic, const char *type)
{
	struct channel *ch = b->channels;

	while (ch && (strcmp(ch->topic, topic) != 0 || strcmp(ch->type, type) != 0))
		ch = ch->next;
	return ch;
}

static struct channel *create(struct sim_bridge *b, const char *topic, const char *encoding, const char *type,
			      const char *schema_encoding, const char *schema)
{
	struct channel *ch = calloc(1, sizeof(*ch)), **at = &b->channels;

	if (!ch)
		return NULL;
	ch->id = ++b->n_ids;
	ch->topic = strdup(topic);
	ch->type = strdup(type);
	if (ch->topic && ch->type)
		ch->text = describe(ch, encoding, schema_encoding, schema);
	if (!ch->text) {
		channel_free(ch);
		return NULL;
	}
	while (*at)
		at = &(*at)->next;
	*at = ch;
	for (struct client *c = b->clients; c; c = c->next)
		channel_advertise(ch, c);
	return ch;
}

int channel_get(struct sim_bridge *b, const char *topic, const char *encoding, const char *type,
		const char *schema_encoding, const char *schema, bool latch, struct channel **ret)
{
	struct channel *ch;

	pthread_mutex_lock(&b->lock);
	ch = find(b, topic, type);
	if (!ch)
		ch = create(b, topic, encoding, type, schema_encoding, schema);
	if (ch) {
		ch->refs++;
		ch->latch |= latch;
	}
	pthread_mutex_unlock(&b->lock);
	foxglove_server_wake(b);
	*ret = ch;
	return ch ? 0 : -ENOMEM;
}

static void end_channel(struct sim_bridge *b, struct channel *ch, struct job **done)
{
	struct channel **at = &b->channels;

	while (*at != ch)
		at = &(*at)->next;
	*at = ch->next;
	while (ch->subscriptions)
		client_unsubscribe(ch->subscriptions);
	for (struct client *c = b->clients; c; c = c->next)
		client_say(c, json_pack("{s:s,s:[I]}", "op", "unadvertise", "channelIds", (json_int_t)ch->id));
	message_unref(&b->pool, ch->latched, done);
}

void channel_unref(struct sim_bridge *b, struct channel *ch)
{
	struct job *done = NULL;
	bool last;

	if (!ch)
		return;
	pthread_mutex_lock(&b->lock);
	last = --ch->refs == 0;
	if (last)
		end_channel(b, ch, &done);
	pthread_mutex_unlock(&b->lock);
	jobs_answer(b->host, done);
	foxglove_server_wake(b);
	if (last)
		channel_free(ch);
}

/* ---- topics ---- */

void foxglove_topic_close(void *bridge, struct topic_out *out)
{
	struct foxglove_topic *t = (struct foxglove_topic *)(void *)out;

	channel_unref(bridge, t->channel);
	topic_out_close(out);
	pb_type_destroy(t->defined);
	free(t);
}

/* A type made from a protobuf definition that ROS 2 cannot express is sent as protobuf, which viewers read, too. */
static int find_definition(struct foxglove_topic *t, const struct topic_options *w)
{
	const struct sim_type *type = t->out.conversion.generic;
	struct pb_type *p;
	char why[300];
	int r = type && !w->type ? pb_type_of_sim(type, &p, why, sizeof(why)) : -ENOENT;

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (pb_type_loss(p) || ros_generic_odd_name(type))
		t->defined = p;
	else
		pb_type_destroy(p);
	return 0;
}

static int open_defined(struct sim_bridge *b, struct foxglove_topic *t, bool latch)
{
	size_t n;
	const void *set = pb_type_set(t->defined, &n);
	char *text = malloc(base64_length(n) + 1);
	int r;

	if (!text)
		return -ENOMEM;
	*base64_write(text, set, n) = '\0';
	t->out.protobuf = pb_type_name(t->defined);
	r = channel_get(b, t->out.name, "protobuf", t->out.protobuf, "protobuf", text, latch, &t->channel);
	free(text);
	return r;
}

static int open_out(struct sim_bridge *b, struct foxglove_topic *t, const struct topic_options *w)
{
	const struct ros_type *type = t->out.conversion.type;
	const char *slash = strchr(type->name, '/');
	bool latch = w->latch < 0 ? topic_is_tf_static(t->out.name) : w->latch;
	char name[TOPIC_NAME_MAX + 8];
	int r = find_definition(t, w);

	t->out.keeps = latch;
	if (r < 0 || t->defined)
		return r < 0 ? r : open_defined(b, t, latch);
	snprintf(name, sizeof(name), "%.*s/%s%s", (int)(slash ? slash - type->name : 0), type->name, type->kind,
		 slash ? slash : type->name);
	return channel_get(b, t->out.name, "cdr", name, "ros2msg", type->definition, latch, &t->channel);
}

int foxglove_topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
			struct topic_out **ret, char *why, size_t why_size)
{
	struct sim_bridge *b = bridge;
	struct foxglove_topic *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = topic_out_open(&b->common, ch, w, &t->out, why, why_size);
	if (r == 0)
		r = open_out(b, t, w);
	if (r < 0)
		foxglove_topic_close(b, &t->out);
	else
		*ret = &t->out;
	return r;
}

#define MARKERS "visualization_msgs/MarkerArray"

void foxglove_add_markers(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic *t)
{
	char name[TOPIC_NAME_MAX + 1], why[512] = "";
	struct topic_options w;
	json_t *plain = json_object();
	int r = topic_options_read(plain, TOPIC_OUT, b->common.keys, &w, why, sizeof(why));

	json_decref(plain);
	w.topic = name;
	w.type = MARKERS;
	if (r < 0 || !b->markers || t->n != 1 || !map_find(ch->type->name, MARKERS) ||
	    strcmp(t->out[0]->conversion.type->name, MARKERS) == 0 ||
	    snprintf(name, sizeof(name), "%s/markers", t->out[0]->name) >= (int)sizeof(name))
		return;
	if (foxglove_topic_open(b, ch, &w, &t->out[t->n], why, sizeof(why)) == 0)
		t->n++;
	else
		log_warn(b, "%s: %s", name, why);
}

/* ---- messages ---- */

/* Whether a subscriber has held a slot for too long: then messages are copied, so that simd never waits. */
static bool is_slow(const struct channel *ch)
{
	const struct subscription *s = ch->subscriptions;

	while (s && !s->client->slow)
		s = s->next_of_channel;
	return s;
}

static void latch(struct sim_bridge *b, struct channel *ch, const struct message *m, int64_t log_sim_ns,
		  struct job **done)
{
	struct message *copy = message_copy(&b->pool, m);

	if (!copy)
		return;
	message_unref(&b->pool, ch->latched, done);
	ch->latched = copy;
	ch->latched_sim_ns = log_sim_ns;
}

int channel_send(struct sim_bridge *b, struct channel *ch, struct message *m, int64_t log_sim_ns, struct sim_task *task,
		 struct job **job)
{
	struct job *done = NULL;
	int r;

	pthread_mutex_lock(&b->lock);
	for (struct subscription *s = ch->subscriptions; s; s = s->next_of_channel)
		client_make_room(s, m, &done);
	r = message_hold(m, is_slow(ch) ? NULL : task, foxglove_mono_ms() * 1000000, job);
	for (struct subscription *s = r == 0 ? ch->subscriptions : NULL; s; s = s->next_of_channel)
		client_queue(s, m, log_sim_ns, &done);
	if (ch->latch && r == 0)
		latch(b, ch, m, log_sim_ns, &done);
	if (m->job)
		atomic_store(&b->holding, true);
	message_unref(&b->pool, m, &done);
	pthread_mutex_unlock(&b->lock);
	jobs_answer(b->host, done);
	foxglove_server_wake(b);
	return r;
}

static int encode(struct foxglove_topic *t, const struct map_message *in, struct iov_buf **ret)
{
	struct topics *s = t->out.topics;
	struct iov_buf *o;
	int r;

	if (!t->defined)
		return topic_out_encode(&t->out, in, ret);
	o = topics_get_buf(s);
	if (!o)
		return -ENOMEM;
	iov_buf_reset(o);
	r = pb_type_encode(t->defined, in->body, in->size, o);
	if (r < 0)
		topics_put_buf(s, o);
	else
		*ret = o;
	return r;
}

/* A message_write_fn. */
static int write_one(void *arg, struct topic_out *out, const struct map_message *in, struct sim_task *task,
		     struct sim_task *held, struct job **job)
{
	struct foxglove_topic *t = (struct foxglove_topic *)(void *)out;
	struct sim_bridge *b = arg;
	struct iov_buf *o;
	struct message *m;
	int r;

	if (!t->channel->latch && !atomic_load_explicit(&t->channel->n_subscribers, memory_order_relaxed)) {
		atomic_fetch_add_explicit(&b->skipped, 1, memory_order_relaxed);
		return 0;
	}
	r = encode(t, in, &o);
	if (r < 0)
		return r;
	m = message_get(&b->pool);
	if (!m) {
		topics_put_buf(&b->common, o);
		return -ENOMEM;
	}
	(void)message_set(m, false, o); /* cannot fail without a length */
	atomic_fetch_add_explicit(&b->converted, 1, memory_order_relaxed);
	messages_await_turn(&b->common, task);
	return channel_send(b, t->channel, m, in->header.stamp_sim_ns, held, job);
}

int foxglove_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		     struct sim_task *task)
{
	return messages_publish(&b->common, t, m, task, write_one);
}
