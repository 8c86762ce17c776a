/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incoming topics. Only channels that the rig lists may be written: the host checks that, and notifies the plug-in of
 * the first subscriber.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <sim/introspect.h>

#include "apollo_ros.h"
#include "topics.h"

const char *topics_reason(int r)
{
	switch (-r) {
	case EBADMSG:
		return "it is malformed";
	case ENOTSUP:
		return "it is big-endian, or no plain CDR";
	case EMSGSIZE:
		return "it, or a string in it, is too large";
	case EDOM:
		return "it holds a NaN or an infinity";
	case ERANGE:
		return "a number in it is not valid for the command";
	case ENOBUFS:
		return "no buffer is free";
	case ECANCELED:
		return "time is paused";
	case EBUSY:
		return "the queue is full";
	default:
		return strerror(-r);
	}
}

void topic_in_drop(struct topic_in *t, int r)
{
	uint64_t n = atomic_fetch_add(&t->dropped, 1) + 1;

	if ((n & (n - 1)) == 0) /* at 1, 2, 4, 8, ... dropped messages */
		log_at(t->topics, 1, "%s: a message is dropped: %s (%llu so far)", t->channel, topics_reason(r),
		       (unsigned long long)n);
}

/* Input of one message: bytes, or a decoder positioned at its beginning. */
struct source {
	const void *data;
	size_t len;
	struct sim_dec *dec;
};

struct taking {
	struct topic_in *t;
	const struct source *from;
};

/* Logs once that messages have fields which the definition lacks, as from a newer sender; they are dropped. */
static void name_unknown(struct topic_in *t, uint32_t field)
{
	if (!atomic_exchange(&t->unknown_named, true))
		log_at(t->topics, 1, "%s: messages have fields that the definition does not have, the first: number %u",
		       t->channel, field);
}

static int read_into(void *arg, struct message_in *to)
{
	const struct taking *k = arg;
	struct topic_in *t = k->t;
	int r;

	if (k->from->dec)
		return conversion_in_take(&t->conversion, k->from->dec, to);
	r = conversion_in_read(&t->conversion, t->topics->format, k->from->data, k->from->len, to);
	if (r == 0 && t->conversion.defined && to->unknown)
		name_unknown(t, to->unknown);
	return r;
}

static void take_source(struct topic_in *t, const struct source *from)
{
	struct taking k = { .t = t, .from = from };
	int r = from->dec ? slot_in_take_once(&t->slot, from->len, read_into, &k)
			  : slot_in_take(&t->slot, from->len, read_into, &k);

	if (r < 0)
		topic_in_drop(t, r);
}

void topic_in_take(struct topic_in *t, const void *data, size_t len)
{
	if (len > topic_in_wire_max(t))
		topic_in_drop(t, -EMSGSIZE);
	else
		take_source(t, &(struct source){ .data = data, .len = len });
}

void topic_in_take_from(struct topic_in *t, struct sim_dec *d, size_t len)
{
	take_source(t, &(struct source){ .dec = d, .len = len });
}

size_t topic_in_wire_max(const struct topic_in *t)
{
	return slot_in_wire_max(&t->slot);
}

static void name_it(const struct topics *s, const struct topic_in *t)
{
	char type[192];

	if (!SIM_BRIDGE_HOST_HAS(s->host, brings))
		return;
	topics_type_name(s, t->conversion.type->name, type, sizeof(type));
	s->host->brings(s->host->ctx, t->channel, t->name, type);
}

/* Several topics may feed one channel: -EALREADY means that it is offered already. */
void topic_in_offer(const struct topic_in *t)
{
	int r = slot_in_offer(&t->slot);

	if (r == 0 || r == -EALREADY)
		name_it(t->topics, t);
	else
		log_at(t->topics, 1, "%s is not read: %s: %s", t->name, t->channel,
		       r == -EACCES ? "the rig does not list this channel under \"inbound\"" : strerror(-r));
}

void topics_offer(struct topics *s)
{
	for (unsigned i = 0; i < s->n_in; i++)
		if (!atomic_load(&s->in[i]->waits))
			topic_in_offer(s->in[i]);
}

/* ---- what the rig asks for ---- */

/* The type that another topic gives the channel, or NULL. */
static const struct sim_type *type_of(const struct topics *s, const struct topic_in *but, const char *channel)
{
	for (unsigned i = 0; i < s->n_in; i++)
		if (s->in[i] != but && !atomic_load(&s->in[i]->waits) && strcmp(s->in[i]->channel, channel) == 0)
			return s->in[i]->conversion.sim;
	return NULL;
}

static int check_entry(const struct topics *s, const char *topic, const struct topic_options *w, char *why, size_t size)
{
	char name[TOPIC_NAME_MAX + 1];

	if (s->resolve && s->resolve(s->arg, topic, name, why, size) < 0)
		return -EINVAL;
	if (!s->resolve && !topic_name_ok(topic))
		topic_name_bad(topic, why, size);
	else if (!w->channel || (!w->type && !s->late))
		snprintf(why, size, "\"%s\" is missing", w->channel ? "type" : "channel");
	else if (!w->type && w->definition)
		snprintf(why, size, "\"definition\" needs a \"type\"");
	else if (w->as && w->raw)
		snprintf(why, size, "\"raw\" and \"as\" exclude each other");
	else if (strlen(w->channel) > SIM_CHANNEL_MAX)
		snprintf(why, size, "\"channel\" has more than %d bytes", SIM_CHANNEL_MAX);
	else
		return 0;
	return -EINVAL;
}

/* Opens a conversion field by field, even if there is a mapping. */
static int open_raw(const struct topics *s, const struct topic_options *w, struct conversion_in *ret, char *why,
		    size_t why_size)
{
	int r = conversion_in_open_common(s->known, s->jazzy, w->type, ret, why, why_size);

	if (r != -ENOENT)
		return r;
	r = conversion_in_open(s->host, s->known, w->type, w->definition, ret, why, why_size);
	if (r < 0 || (!ret->map_in && !ret->converter))
		return r == -ENOTSUP ? -ENOENT : r;
	conversion_in_close(ret);
	snprintf(why, why_size, "\"raw\" needs a \"definition\": %.80s is not known here", w->type);
	return -ENOENT;
}

static bool is_apollo(const struct topics *s, const char *type)
{
	return s->apollo && strncmp(type, "pb_msgs/", 8) == 0;
}

/* -ENOENT: the type is unknown here. */
static int open_conversion(const struct topics *s, const char *name, const struct topic_options *w,
			   struct conversion_in *ret, char *why, size_t why_size)
{
	int r;

	if (is_apollo(s, w->type) && !w->definition)
		return conversion_in_open_apollo(w->type, name, w->as, w->raw, ret, why, why_size);
	if (w->raw)
		return open_raw(s, w, ret, why, why_size);
	r = w->as ? conversion_in_open_as(s->host, s->known, w->type, w->as, ret, why, why_size)
		  : conversion_in_open(s->host, s->known, w->type, w->definition, ret, why, why_size);
	if (r != -ENOTSUP || w->as || w->definition)
		return r;
	return conversion_in_open_common(s->known, s->jazzy, w->type, ret, why, why_size);
}

/* Call once t->conversion is open. */
static int set_slot(struct topic_in *t, char *why, size_t why_size)
{
	const struct sim_type *has = type_of(t->topics, t, t->channel);

	if (has && !sim_type_equal(has, t->conversion.sim)) {
		snprintf(why, why_size, "it gives %s, but channel \"%.60s\" is %s already", t->conversion.sim->name,
			 t->channel, has->name);
		return -EINVAL;
	}
	t->conversion.undulation = t->undulation;
	t->conversion.origin = t->origin.given ? t->origin.at : NULL;
	if (t->conversion.defined && pb_type_loss(t->conversion.defined))
		log_at(t->topics, 2, "%s: %s", t->channel, pb_type_loss(t->conversion.defined));
	return slot_in_init(&t->slot, t->topics->host, t->channel, t->conversion.sim, t->max_body, why, why_size);
}

/* Stores the rig's options until a publisher appears. */
static int wait_for_type(struct topic_in *t, const struct topic_options *w, char *why, size_t why_size)
{
	char name[SIM_TYPE_NAME_MAX + 1];
	const char *type = w->type ? w->type : "", *msg = strstr(type, "/msg/");

	if (w->type && ros_generic_sim_name(type, name) < 0) {
		snprintf(why, why_size, "\"%.80s\" is not of the form package/Name", type);
		return -EINVAL;
	}
	if (w->as && strlen(w->as) > SIM_TYPE_NAME_MAX) {
		snprintf(why, why_size, "\"as\" has more than %d bytes", SIM_TYPE_NAME_MAX);
		return -EINVAL;
	}
	snprintf(t->type, sizeof(t->type), "%.*s%s", msg ? (int)(msg - type) : (int)strlen(type), type,
		 msg ? msg + 4 : "");
	snprintf(t->as, sizeof(t->as), "%s", w->as ? w->as : "");
	atomic_store(&t->waits, true);
	return 0;
}

int topic_in_open(struct topics *s, const char *topic, const struct topic_options *w, struct topic_in *t, char *why,
		  size_t why_size)
{
	int r;

	t->topics = s;
	t->max_body = (size_t)w->max_body;
	t->raw = w->raw;
	t->undulation = w->undulation;
	t->origin = w->origin;
	if (s->resolve)
		(void)s->resolve(s->arg, topic, t->name, why, why_size); /* check_entry() has called it successfully */
	else
		snprintf(t->name, sizeof(t->name), "%s", topic);
	snprintf(t->channel, sizeof(t->channel), "%s", w->channel);
	r = w->type ? open_conversion(s, t->name, w, &t->conversion, why, why_size) : -ENOENT;
	if (r == -ENOENT && s->late)
		return wait_for_type(t, w, why, why_size);
	if (r < 0)
		return r == -ENOMEM ? r : -EINVAL;
	return set_slot(t, why, why_size);
}

/* ---- learning from a publisher ---- */

/* Whether the publisher's type contradicts the rig, or its definition that of another topic. */
static int contradicts(const struct topic_in *t, const char *type, const char *hash, char *why, size_t why_size)
{
	const struct topics *s = t->topics;

	if (*t->type && strcmp(t->type, type) != 0) {
		snprintf(why, why_size, "it sends %.80s, and the rig says %.80s", type, t->type);
		return -EINVAL;
	}
	for (unsigned i = 0; i < s->n_in; i++) {
		const struct topic_in *o = s->in[i];
		const struct ros_type *has = o == t || atomic_load(&o->waits) ? NULL : o->conversion.type;

		if (!has || strcmp(has->name, type) != 0 || strcmp(has->hash, hash) == 0)
			continue;
		snprintf(why, why_size, "it sends another definition of %.80s than is known of %.60s: %.40s, not %.40s",
			 type, o->name, hash, has->hash);
		return -EINVAL;
	}
	return 0;
}

/* The publisher states the hash: it must be that of the definition used to read its messages. */
static int check_hash(const struct topic_in *t, const char *hash, char *why, size_t why_size)
{
	const struct ros_type *type = t->conversion.type;

	if (strcmp(type->hash, hash) == 0)
		return 0;
	snprintf(why, why_size, "it states hash %.80s for %.80s, but the definition has %.80s", hash, type->name,
		 *type->hash ? type->hash : "none");
	return -EINVAL;
}

int topic_in_learn(struct topic_in *t, const char *type, const char *hash, const char *definition, char *why,
		   size_t why_size)
{
	const struct topics *s = t->topics;
	int r = contradicts(t, type, hash, why, why_size);

	if (r < 0)
		return r;
	if (definition && apollo_ros_is(type, definition, strlen(definition)))
		r = conversion_in_open_apollo(type, t->name, *t->as ? t->as : NULL, t->raw, &t->conversion, why,
					      why_size);
	else
		r = *t->as ? conversion_in_open_as(s->host, s->known, type, t->as, &t->conversion, why, why_size)
			   : conversion_in_open_text(s->host, s->known, type, definition, t->raw, &t->conversion, why,
						     why_size);
	if (r == 0)
		r = check_hash(t, hash, why, why_size);
	if (r == 0)
		r = set_slot(t, why, why_size);
	if (r < 0)
		conversion_in_close(&t->conversion);
	else
		atomic_store(&t->waits, false);
	return r;
}

void topic_in_close(struct topic_in *t)
{
	if (t->topics)
		conversion_in_close(&t->conversion);
	slot_in_finish(&t->slot);
}

static int read_entry(struct topics *s, const char *topic, json_t *j)
{
	char why[512] = "";
	struct topic_options w;
	int r = topic_options_read(j, TOPIC_IN, s->keys, &w, why, sizeof(why));

	if (r == 0)
		r = check_entry(s, topic, &w, why, sizeof(why));
	if (r == 0 && s->n_in == TOPICS_IN_MAX) {
		snprintf(why, sizeof(why), "more than %u topics", TOPICS_IN_MAX);
		r = -ENOSPC;
	}
	if (r == 0)
		r = s->subscribe(s->arg, topic, &w, &s->in[s->n_in], why, sizeof(why));
	if (r < 0)
		log_at(s, 0, "options.subscribe[\"%.80s\"]: %s", topic, why[0] ? why : strerror(-r));
	s->n_in += r == 0;
	return r;
}

int topics_read_subscribe(struct topics *s)
{
	const char *text = bridge_option(s->host, "subscribe"), *topic;
	json_error_t err = { .text = "" };
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &err), *one;
	int r = json_is_object(j) ? 0 : -EINVAL;

	if (r < 0)
		log_at(s, 0, "options.subscribe: not a JSON object: %s", err.text);
	json_object_foreach(j, topic, one)
		r = r < 0 ? r : read_entry(s, topic, one);
	json_decref(j);
	return r;
}
