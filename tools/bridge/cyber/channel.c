/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a channel that goes to Apollo: reads its options, chooses the type and name of each Apollo channel made from
 * it, and announces them, the type's definition before the writer.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <sim/introspect.h>
#include <sim/msg/Transforms.h>

#include "cyber.h"

struct channel_options { /* one "cyber" entry of a channel's options; borrows from its JSON; NULL or -1: not given */
	const char *topic, *type, *frame;
	json_int_t pace_ms, utm_zone;
	double undulation, origin[3];
	bool has_origin;
	json_t *rfu_frames;
};

/* ---- options ---- */

bool cyber_name_ok(const char *name, char *why, size_t why_size)
{
	size_t n = strlen(name);

	if (n && n <= CYBER_NAME_MAX)
		return true;
	snprintf(why, why_size, "\"%.60s\" is not the name of a channel: it has 1 to %u bytes", name, CYBER_NAME_MAX);
	return false;
}

static int read_text(const char *key, json_t *v, const char **ret, char *why, size_t size)
{
	*ret = json_string_value(v);
	if (*ret && **ret)
		return 0;
	snprintf(why, size, "\"%s\" must be a text that is not empty", key);
	return -EINVAL;
}

static int read_number(const char *key, json_t *v, json_int_t min, json_int_t max, json_int_t *ret, char *why,
		       size_t size)
{
	*ret = json_integer_value(v);
	if (json_is_integer(v) && *ret >= min && *ret <= max)
		return 0;
	snprintf(why, size, "\"%s\" must be a whole number from %lld to %lld", key, (long long)min, (long long)max);
	return -EINVAL;
}

static int read_origin(json_t *v, struct channel_options *o, char *why, size_t size)
{
	o->has_origin = true;
	return cyber_read_origin(v, o->origin, why, size);
}

static int read_frames(json_t *v, struct channel_options *o, char *why, size_t size)
{
	bool ok = json_is_array(v) && json_array_size(v) <= CYBER_FRAMES_MAX;
	json_t *one;
	size_t i;

	json_array_foreach(v, i, one)
		ok = ok && json_is_string(one);
	o->rfu_frames = v;
	if (ok)
		return 0;
	snprintf(why, size, "\"rfu_frames\" must be a list of at most %u names of frames", CYBER_FRAMES_MAX);
	return -EINVAL;
}

static int read_key(const char *key, json_t *v, struct channel_options *o, char *why, size_t size)
{
	static const char *const names[] = { "topic", "type", "frame" };
	const char **const to[] = { &o->topic, &o->type, &o->frame };

	for (unsigned i = 0; i < 3; i++)
		if (strcmp(key, names[i]) == 0)
			return read_text(key, v, to[i], why, size);
	if (strcmp(key, "pace_ms") == 0)
		return read_number(key, v, 0, 1000, &o->pace_ms, why, size);
	if (strcmp(key, "utm_zone") == 0)
		return read_number(key, v, -60, 60, &o->utm_zone, why, size);
	if (strcmp(key, "undulation") == 0)
		return cyber_read_undulation(v, &o->undulation, why, size);
	if (strcmp(key, "rfu_frames") == 0)
		return read_frames(v, o, why, size);
	if (strcmp(key, "origin") == 0)
		return read_origin(v, o, why, size);
	snprintf(why, size,
		 "there is no key \"%.40s\": topic, type, frame, origin, utm_zone, undulation, pace_ms, rfu_frames",
		 key);
	return -EINVAL;
}

static int read_options(const struct sim_bridge *b, json_t *j, struct channel_options *o, char *why, size_t size)
{
	const char *key;
	json_t *v;
	int r = json_is_object(j) ? 0 : -EINVAL;

	*o = (struct channel_options){
		.pace_ms = -1, .utm_zone = b->utm_zone, .undulation = b->undulation, .has_origin = b->has_origin
	};
	memcpy(o->origin, b->origin, sizeof(o->origin));
	if (r < 0)
		snprintf(why, size, "must be an object");
	json_object_foreach(j, key, v)
		r = r < 0 ? r : read_key(key, v, o, why, size);
	return r;
}

/* ---- topics ---- */

const char *cyber_topic_type(const struct cyber_topic *t)
{
	return t->own ? cyber_own_name(t->own) : apollo_type_name(t->type);
}

size_t cyber_files(const struct sim_bridge *b, const struct cyber_topic *t, struct iovec file[APOLLO_FILES_MAX])
{
	size_t n = t->own ? cyber_own_files(t->own, file) : apollo_type_files(t->type, file);

	return n && !t->own && b->definitions ? apollo_set_files(b->definitions, apollo_type_name(t->type), file) : n;
}

/* The definitions and the writer are sent as one unit. */
int cyber_announce(struct sim_bridge *b, const struct cyber_topic *t, bool define)
{
	struct iovec file[APOLLO_FILES_MAX], frame[APOLLO_FILES_MAX + 1];
	size_t n = define ? cyber_files(b, t, file) : 0, made = 0;
	uint8_t add[2 * FRAME_HEAD_MAX];
	int r = -ENOMEM;

	for (; made < n; made++) {
		uint32_t one = 1, len = (uint32_t)file[made].iov_len;
		uint8_t *to = malloc(9 + (size_t)len);

		if (!to)
			goto out;
		to[0] = 1; /* operation RegisterDesc */
		memcpy(to + 1, &one, 4);
		memcpy(to + 5, &len, 4);
		memcpy(to + 9, file[made].iov_base, len);
		frame[made] = (struct iovec){ to, 9 + (size_t)len };
	}
	frame[n] = (struct iovec){ add, frame_add(frame_cyber.writer, t->name, cyber_topic_type(t), add, sizeof(add)) };
	r = frame[n].iov_len ? tcp_link_say(&b->link, frame, (unsigned)n + 1) : -ENAMETOOLONG;
out:
	while (made)
		free(frame[--made].iov_base);
	return r;
}

void cyber_topic_free(struct sim_bridge *b, struct cyber_topic *t)
{
	cyber_probe_remove(b, t);
	outbox_topic_destroy(&b->link.outbox, t->out);
	cyber_own_close(t->own);
	free(t->name);
	free(t->frame);
	for (unsigned i = 0; t->rfu_frames[i]; i++)
		free(t->rfu_frames[i]);
	free(t);
}

/* If its messages still wait for the writer to be announced, they are sent first and known.c frees it. */
static void topic_close(struct sim_bridge *b, struct cyber_topic *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&b->probe.lock);
	t->closed = true;
	if (!t->waits)
		cyber_topic_free(b, t);
	pthread_mutex_unlock(&b->probe.lock);
}

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static int copy_frames(struct cyber_topic *t, json_t *list)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		t->rfu_frames[i] = strdup(json_string_value(one));
		if (!t->rfu_frames[i])
			return -ENOMEM;
	}
	t->options.rfu_frames = i ? (const char *const *)t->rfu_frames : NULL;
	return 0;
}

struct kind { /* what a topic carries: one of the two is set */
	const struct apollo_type *type;
	struct cyber_own *own;
};

/*
 * Links and announces the topic under one lock: otherwise cyber_frames_repeat() could queue frames before the writer.
 */
static int make_known(struct sim_bridge *b, struct cyber_topic *t)
{
	int r;

	pthread_mutex_lock(&b->probe.lock);
	t->next = b->probe.topics;
	b->probe.topics = t;
	r = cyber_known_add(b, t);
	pthread_mutex_unlock(&b->probe.lock);
	return r;
}

/* Takes ownership of kind->own, also on error. */
static int topic_create(struct sim_bridge *b, uint32_t channel, const char *name, const struct channel_options *o,
			const struct kind *kind, struct cyber_topic **ret)
{
	struct cyber_topic *t = calloc(1, sizeof(*t));
	struct outbox_topic_options pace = { .pace_dur_ns =
						     (o->pace_ms < 0 ? b->pace_ms : o->pace_ms) * INT64_C(1000000) };
	int r;

	if (!t) {
		cyber_own_close(kind->own);
		return -ENOMEM;
	}
	t->bridge = b;
	t->channel = channel;
	t->type = kind->type;
	t->own = kind->own;
	t->name = copy(name);
	t->frame = copy(o->frame);
	memcpy(t->origin, o->origin, sizeof(t->origin));
	t->options = (struct apollo_options){ .frame = t->frame,
					      .vehicle = b->vehicle,
					      .utm_zone = (int)o->utm_zone,
					      .origin = o->has_origin ? t->origin : NULL,
					      .undulation = o->undulation };
	r = outbox_topic_create(&b->link.outbox, name, &pace, &t->out);
	if (!t->name || !t->frame != !o->frame || copy_frames(t, o->rfu_frames) < 0)
		r = -ENOMEM;
	if (r == 0 && t->type && sim_type_equal(apollo_type_sim(t->type), &sim_Transforms_type) &&
	    cyber_frames_is(name))
		r = cyber_frames_of(b, name, &t->frames);
	if (r == 0)
		r = make_known(b, t);
	if (r < 0)
		topic_close(b, t);
	else
		*ret = t;
	return r;
}

/* Apollo's usual channel for the type; fixed frames get /tf_static. Without one, the name of our channel. */
static const char *default_name(const struct sim_bridge_channel *ch, const struct apollo_type *type)
{
	const char *name = type ? apollo_type_channel(type) : NULL;

	return name && strcmp(name, "/tf") == 0 && cyber_frames_is(ch->name) ? "/tf_static" : name ? name : ch->name;
}

/*
 * Chooses a converter of the rig, else Apollo's message, else a message of the same fields, whose definition the peer
 * is sent.
 */
static int kind_of(struct sim_bridge *b, const struct sim_bridge_channel *ch, const char *wanted, struct kind *ret,
		   char *why, size_t size)
{
	*ret = (struct kind){ NULL, NULL };
	if (!cyber_own_converts(b, ch->type->name, wanted))
		ret->type = apollo_type_for(b->release, ch->type->name, wanted);
	if (ret->type && sim_type_equal(apollo_type_sim(ret->type), ch->type))
		return 0;
	if (!ret->type && (!wanted || strncmp(wanted, "apollo.", 7) != 0 || cyber_own_carries(ch->type, wanted)))
		return cyber_own_open(b, ch->type, wanted, &ret->own, why, size);
	if (ret->type)
		snprintf(why, size, "%s has another definition here than in the program that sends it", ch->type->name);
	else
		snprintf(why, size, "%s has no mapping to %.80s of Apollo %s", ch->type->name, wanted,
			 b->release == APOLLO_5 ? "5" : "10");
	return -ENOTSUP;
}

static int open_one(struct sim_bridge *b, const struct sim_bridge_channel *ch, json_t *j, struct cyber_topic **ret,
		    char *why, size_t size)
{
	struct channel_options o;
	struct kind kind;
	const char *name;
	int r = read_options(b, j, &o, why, size);

	if (r == 0)
		r = kind_of(b, ch, o.type, &kind, why, size);
	if (r < 0)
		return r;
	name = o.topic ? o.topic : default_name(ch, kind.type);
	if (!cyber_name_ok(name, why, size) || (!o.topic && cyber_probe_taken(b, name, ch->id, why, size))) {
		cyber_own_close(kind.own);
		return -EINVAL;
	}
	return topic_create(b, ch->id, name, &o, &kind, ret);
}

/* ---- channels ---- */

static void name_it(struct sim_bridge *b, const struct sim_bridge_channel *ch, const struct sim_bridge_topic *t)
{
	char names[256] = "", types[256] = "";
	size_t n = 0, k = 0;

	for (unsigned i = 0; i < t->n && n < sizeof(names) && k < sizeof(types); i++) {
		const char *type = cyber_topic_type(t->topic[i]), *between = i ? ", " : "";

		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", between, t->topic[i]->name);
		k += (size_t)snprintf(types + k, sizeof(types) - k, "%s%s", between, type);
		log_info(b, "%s: %s goes out as %s on %s", ch->name, ch->type->name, type, t->topic[i]->name);
	}
	if (SIM_BRIDGE_HOST_HAS(b->host, carries))
		b->host->carries(b->host->ctx, ch, names, types);
}

/* i: the position in a list of entries; -1: a single entry */
static int add(struct sim_bridge *b, const struct sim_bridge_channel *ch, json_t *j, int i, struct sim_bridge_topic *t)
{
	char why[256] = "", key[32] = "";
	int r = open_one(b, ch, j, &t->topic[t->n], why, sizeof(why));

	if (i >= 0)
		snprintf(key, sizeof(key), "[%d]", i);
	if (r == -ENOTSUP || r == -ELIBBAD)
		log_warn(b, "%s: %s", ch->name, why);
	else if (r < 0)
		log_error(b, "%s: options.cyber%s: %s", ch->name, key, why[0] ? why : strerror(-r));
	else
		t->n++;
	return r;
}

static int add_list(struct sim_bridge *b, const struct sim_bridge_channel *ch, json_t *list, struct sim_bridge_topic *t)
{
	json_t *one;
	size_t i;
	int r = 0;

	if (json_array_size(list) < 1 || json_array_size(list) > TOPICS_FAN_MAX) {
		log_error(b, "%s: options.cyber: a list must have 1 to %u channels", ch->name, TOPICS_FAN_MAX);
		return -EINVAL;
	}
	json_array_foreach(list, i, one)
		r = r < 0 ? r : add(b, ch, one, (int)i, t);
	return r;
}

int cyber_channel_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	json_t *j = json_loads(ch->options, JSON_REJECT_DUPLICATES, NULL), *mine = json_object_get(j, "cyber");
	struct sim_bridge_topic *t = calloc(1, sizeof(*t));
	json_t *plain = json_object();
	int r = !t || !plain ? -ENOMEM : j ? 0 : -EINVAL;

	if (r == 0)
		r = json_is_array(mine) ? add_list(b, ch, mine, t) : add(b, ch, mine ? mine : plain, -1, t);
	json_decref(plain);
	json_decref(j);
	if (r < 0) {
		cyber_channel_close(b, t);
		return r;
	}
	name_it(b, ch, t);
	*ret = t;
	return 0;
}

void cyber_channel_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	while (t && t->n)
		topic_close(b, t->topic[--t->n]);
	free(t);
}
