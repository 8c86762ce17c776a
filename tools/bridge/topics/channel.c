/* SPDX-License-Identifier: Apache-2.0 */
/* A channel and the topics that the rig makes of it; what all topics of a bridge share. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "msg_file.h"
#include "pb_type.h"
#include "ros/ros_definition.h"
#include "ros/ros_generic.h"
#include "ros/ros_type.h"
#include "topics.h"

enum { PLAIN = -2, ONLY = -1 }; /* `i` without a list: the rig has no options for the channel; it has one topic */

/* Logs an error of topic i of the list, or of the only one; names the key only if the rig has it. */
static void complain(struct topics *s, const struct sim_bridge_channel *ch, int i, const char *why)
{
	char key[40] = "";

	if (i != PLAIN)
		snprintf(key, sizeof(key), i >= 0 ? "options.%s[%d]: " : "options.%s: ", s->key, i);
	log_at(s, 0, "%s: %s%s", ch->name, key, why);
}

static const char *sent_name(const struct topic_out *t)
{
	return t->protobuf ? t->protobuf : t->conversion.type->name;
}

/*
 * Warns of a name that no ROS 2 package can have. A protobuf message needs no package, and one of schemas/ros has one
 * already.
 */
static void log_odd_name(struct topics *s, const struct sim_bridge_channel *ch, const struct topic_out *t)
{
	struct ros_definition d;
	const char *odd = t->conversion.generic && !t->protobuf ? ros_generic_odd_name(ch->type) : NULL;

	if (odd && !ros_definition_find(s->known, t->conversion.type->name, &d))
		log_at(s, 1, "%s: \"%s\" is not a valid name in ROS 2: no package can be built of %s", ch->name, odd,
		       t->conversion.type->name);
}

/* Logs which message the channel becomes, and how: the receiver needs its definition. */
static void log_conversion(struct topics *s, const struct sim_bridge_channel *ch, const struct topic_out *t)
{
	const char *loss = t->conversion.defined ? pb_type_loss(t->conversion.defined) : NULL;

	if (t->automatic)
		log_at(s, 2,
		       "%s: not a valid ROS name, so it is published as %s (\"%s\": {\"topic\": ...} in the "
		       "options of the channel gives it another)",
		       ch->name, t->name, s->key);
	log_at(s, 2, "%s: %s goes out as %s (%s)", ch->name, ch->type->name, sent_name(t),
	       t->protobuf ? "protobuf" : conversion_out_how(&t->conversion));
	if (loss)
		log_at(s, 2, "%s: %s", ch->name, loss);
	log_odd_name(s, ch, t);
}

static int open_one(struct topics *s, const struct sim_bridge_channel *ch, json_t *j, int i, struct sim_bridge_topic *f)
{
	char why[512] = "";
	struct topic_options w;
	int r = topic_options_read(j, TOPIC_OUT, s->keys, &w, why, sizeof(why));

	if (r == 0)
		r = s->open(s->arg, ch, &w, &f->out[f->n], why, sizeof(why));
	if (r == -ENOTSUP || r == -ELIBBAD)
		log_at(s, r == -ENOTSUP ? 1 : 0, "%s: %s", ch->name, why);
	else if (r < 0 && r != -EBUSY)
		complain(s, ch, i, why[0] ? why : strerror(-r));
	else if (r == 0)
		log_conversion(s, ch, f->out[f->n++]);
	return r;
}

static int open_list(struct topics *s, const struct sim_bridge_channel *ch, json_t *list, struct sim_bridge_topic *f)
{
	json_t *one;
	size_t i;
	int r = 0;

	if (json_array_size(list) < 1 || json_array_size(list) > TOPICS_FAN_MAX) {
		log_at(s, 0, "%s: options.%s: a list must have 1 to %u topics", ch->name, s->key, TOPICS_FAN_MAX);
		return -EINVAL;
	}
	json_array_foreach(list, i, one)
		r = r < 0 ? r : open_one(s, ch, one, (int)i, f);
	return r;
}

static void append(char *text, size_t size, const char *what)
{
	size_t n = strlen(text);

	snprintf(text + n, size - n, "%s%s", n ? ", " : "", what);
}

void topics_type_name(const struct topics *s, const char *type, char *ret, size_t size)
{
	const char *name = s->msg_names ? strchr(type, '/') : NULL;

	if (name)
		snprintf(ret, size, "%.*s/msg%s", (int)(name - type), type, name);
	else
		snprintf(ret, size, "%s", type);
}

static void name_it(struct topics *s, const struct sim_bridge_channel *ch, const struct sim_bridge_topic *f)
{
	char names[256] = "", types[256] = "", type[192];

	if (!SIM_BRIDGE_HOST_HAS(s->host, carries))
		return;
	for (unsigned i = 0; i < f->n; i++) {
		append(names, sizeof(names), f->out[i]->name);
		topics_type_name(s, sent_name(f->out[i]), type, sizeof(type));
		append(types, sizeof(types), type);
	}
	s->host->carries(s->host->ctx, ch, names, types);
}

int topics_open_channel(struct topics *s, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	json_t *j = json_loads(ch->options, JSON_REJECT_DUPLICATES, NULL), *mine = json_object_get(j, s->key);
	struct sim_bridge_topic *t = calloc(1, sizeof(*t));
	json_t *plain = json_object();
	int r = !t || !plain ? -ENOMEM : j ? 0 : -EINVAL;

	if (r == 0 && json_is_array(mine))
		r = open_list(s, ch, mine, t);
	else if (r == 0)
		r = open_one(s, ch, mine ? mine : plain, mine ? ONLY : PLAIN, t);
	json_decref(plain);
	json_decref(j);
	if (r < 0) {
		topics_close_channel(s, t);
		return r;
	}
	name_it(s, ch, t);
	*ret = t;
	return 0;
}

void topics_close_channel(struct topics *s, struct sim_bridge_topic *t)
{
	while (t && t->n)
		s->close(s->arg, t->out[--t->n]);
	free(t);
}

struct map_message topic_message(const struct sim_message *m)
{
	return (struct map_message){
		.body = m->body,
		.size = m->body_size,
		.header = { m->header.stamp_sim_ns, (uint32_t)m->header.sequence, m->header.frame_id },
	};
}

int topics_register(struct sim_bridge_registry *r)
{
	int e = 0;

	for (const struct map *m = map_table; m->sim && e >= 0; m++)
		e = r->add_publisher(r->ctx, m->sim, m->ros);
	for (const struct map_in *m = map_in_table; m->ros && e >= 0; m++)
		e = r->add_subscriber(r->ctx, m->sim, m->ros);
	if (e >= 0) /* all other types: by a converter of the rig, or field by field */
		e = r->add_publisher(r->ctx, "*", "*");
	if (e >= 0)
		e = r->add_subscriber(r->ctx, "*", "*");
	return e;
}

void topics_init(struct topics *s)
{
	pthread_mutex_init(&s->lock, NULL);
}

void topics_finish(struct topics *s)
{
	while (s->n_buf) {
		iov_buf_finish(s->buf[--s->n_buf]);
		free(s->buf[s->n_buf]);
	}
	for (unsigned i = 0; i < TOPICS_CALLS_MAX; i++)
		topics_call_finish(&s->call[i]);
	pthread_mutex_destroy(&s->lock);
}
