/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel and what the rig makes of it: one topic, or several, as a vehicle's status becomes six reports in Autoware. Its
 * options are under "ros2" in the channel's options: an object, or a list of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "ros2.h"

enum { PLAIN = -2, ONLY = -1 }; /* of no list: the rig has no options of the channel; it has one topic */

/* What is wrong with the topic at index i, or with the only one; a key is named only where the rig has it. */
static void complain(struct sim_bridge *b, const struct sim_bridge_channel *ch, int i, const char *why)
{
	char key[40] = "";

	if (i != PLAIN)
		snprintf(key, sizeof(key), i >= 0 ? "options.ros2[%d]: " : "options.ros2: ", i);
	log_error(b, "%s: %s%s", ch->name, key, why);
}

static int open_one(struct sim_bridge *b, const struct sim_bridge_channel *ch, json_t *j, int i,
		    struct ros2_topic **ret)
{
	char why[512] = "";
	struct topic_options w;
	int r = topic_options_read(j, TOPIC_OUT, &w, why, sizeof(why));

	if (r == 0)
		r = ros2_topic_open(b, ch, &w, ret, why, sizeof(why));
	if (r == -ENOTSUP || r == -ELIBBAD)
		log_at(b, r == -ENOTSUP ? 1 : 0, "%s: %s", ch->name, why);
	else if (r < 0)
		complain(b, ch, i, why[0] ? why : strerror(-r));
	return r;
}

static int open_list(struct sim_bridge *b, const struct sim_bridge_channel *ch, json_t *list,
		     struct sim_bridge_topic *t)
{
	json_t *one;
	size_t i;
	int r = 0;

	if (json_array_size(list) < 1 || json_array_size(list) > ROS2_FAN_MAX) {
		log_error(b, "%s: options.ros2: a list must have 1 to %u topics", ch->name, ROS2_FAN_MAX);
		return -EINVAL;
	}
	json_array_foreach(list, i, one) {
		r = open_one(b, ch, one, (int)i, &t->out[t->n]);
		if (r < 0)
			break;
		t->n++;
	}
	return r;
}

/* The graph gives the time, so we do not: "*" in the rig lists /clock too, which is no mistake. */
static int time_comes_in(struct sim_bridge *b, const struct sim_bridge_channel *ch)
{
	if (!b->sim_time.on || strcmp(ch->name, "/clock") != 0)
		return 0;
	log_info(b,
		 "/clock is not sent: use_sim_time takes the time from the graph (\"!/clock\" in the bridge's channels "
		 "says so in the rig too)");
	return -EBUSY;
}

static void append(char *text, size_t size, const char *what)
{
	size_t n = strlen(text);

	snprintf(text + n, size - n, "%s%s", n ? ", " : "", what);
}

static void name_it(struct sim_bridge *b, const struct sim_bridge_channel *ch, const struct sim_bridge_topic *t)
{
	char names[256] = "", types[256] = "";

	if (!SIM_BRIDGE_HOST_HAS(b->host, carries))
		return;
	for (unsigned i = 0; i < t->n; i++) {
		append(names, sizeof(names), t->out[i]->texts);
		append(types, sizeof(types), t->out[i]->conversion.type->name);
	}
	b->host->carries(b->host->ctx, ch, names, types);
}

int ros2_channel_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	json_t *j = json_loads(ch->options, JSON_REJECT_DUPLICATES, NULL), *mine = json_object_get(j, "ros2");
	struct sim_bridge_topic *t = calloc(1, sizeof(*t));
	json_t *plain = json_object();
	int r = !t || !plain ? -ENOMEM : j ? 0 : -EINVAL;

	if (r == 0 && !mine)
		r = time_comes_in(b, ch);
	if (r == 0 && json_is_array(mine))
		r = open_list(b, ch, mine, t);
	else if (r == 0 && (r = open_one(b, ch, mine ? mine : plain, mine ? ONLY : PLAIN, &t->out[0])) == 0)
		t->n = 1;
	json_decref(plain);
	json_decref(j);
	if (r < 0) {
		ros2_channel_close(b, t);
		return r;
	}
	name_it(b, ch, t);
	*ret = t;
	return 0;
}

int ros2_channel_write(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m)
{
	struct map_message in = {
		.body = m->body,
		.size = m->body_size,
		.header = { m->header.stamp_sim_ns, (uint32_t)m->header.sequence, m->header.frame_id },
	};
	int r = 0;

	for (unsigned i = 0; i < t->n; i++) {
		int e = ros2_topic_write(b, t->out[i], &in);

		r = r < 0 ? r : e;
	}
	return r;
}

void ros2_channel_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	if (t)
		ros2_large_drain(b, t);
	while (t && t->n)
		ros2_topic_close(b, t->out[--t->n]);
	free(t);
}
