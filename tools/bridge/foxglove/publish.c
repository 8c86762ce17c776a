/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels on which clients publish: those of the option "subscribe" whose channels the rig lists under "inbound".
 * Thread: the server's.
 */
#include <stdio.h>
#include <string.h>

#include "foxglove.h"
#include "json_reader.h"
#include "json_schema.h"
#include "ros/ros_type.h"

static struct advertised *find(struct client *c, uint32_t id)
{
	for (unsigned i = 0; i < c->n_advertised; i++)
		if (c->advertised[i].id == id)
			return &c->advertised[i];
	return NULL;
}

static struct topic_in *topic_named(struct sim_bridge *b, const char *name)
{
	for (unsigned i = 0; i < b->n_in; i++)
		if (strcmp(b->in[i].name, name) == 0)
			return &b->in[i];
	return NULL;
}

/*
 * Whether the type matches. A JSON message may also use the name of its schema, which need not be a ROS name: "T" for
 * json/T, "car.Log".
 */
static bool is_type(const struct topic_in *in, const char *type, bool json)
{
	char sim[SIM_TYPE_NAME_MAX + 1];

	return map_same_ros(in->conversion.type->name, type) ||
	       (json && json_schema_type_name(type, sim) == 0 && strcmp(sim, in->conversion.sim->name) == 0);
}

static void advertise_one(struct client *c, const json_t *j)
{
	const json_t *id = json_object_get(j, "id");
	const char *topic = "", *encoding = "", *type = "";
	struct topic_in *in;
	json_int_t n = json_integer_value(id);

	if (json_unpack((json_t *)(uintptr_t)j, "{s:s,s:s,s:s}", "topic", &topic, "encoding", &encoding, "schemaName",
			&type) < 0 ||
	    !json_is_integer(id) || n < 0 || n > UINT32_MAX) {
		client_complain(c, "advertise: a channel must have \"id\", \"topic\", \"encoding\" and \"schemaName\"");
		return;
	}
	in = topic_named(c->bridge, topic);
	if (!in)
		client_complain(
			c,
			"advertise: %.120s: the rig takes nothing there; \"subscribe\" in the options lists what it takes",
			topic);
	else if (!is_type(in, type, strcmp(encoding, "json") == 0))
		client_complain(c, "advertise: %.120s is %s, not %.80s", topic, in->conversion.type->name, type);
	else if (strcmp(encoding, "cdr") != 0 && strcmp(encoding, "json") != 0)
		client_complain(c, "advertise: %.120s: cdr and json are read, not \"%.40s\"", topic, encoding);
	else if (find(c, (uint32_t)n))
		client_complain(c, "advertise: %.120s: id %u is another channel's", topic, (uint32_t)n);
	else if (c->n_advertised == FOXGLOVE_ADVERTISED_MAX)
		client_complain(c, "advertise: %.120s: there are %u channels already", topic, FOXGLOVE_ADVERTISED_MAX);
	else
		c->advertised[c->n_advertised++] =
			(struct advertised){ (uint32_t)n, in, strcmp(encoding, "json") == 0 };
}

void client_advertise(struct client *c, json_t *j)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(j, "channels"), i, one) {
		advertise_one(c, one);
		if (c->over)
			return;
	}
}

void client_unadvertise(struct client *c, json_t *j)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(j, "channelIds"), i, one) {
		struct advertised *a = json_is_integer(one) ? find(c, (uint32_t)json_integer_value(one)) : NULL;

		if (a)
			*a = c->advertised[--c->n_advertised];
	}
}

void client_publish(struct client *c, uint32_t id, const uint8_t *data, size_t len)
{
	const struct advertised *a = find(c, id);
	struct named_reader *r = &c->bridge->reader;

	if (!a) {
		client_complain(c, "a message of channel %u, which this client has not advertised", id);
		return;
	}
	if (!a->json) {
		topic_in_take(a->in, data, len);
		return;
	}
	json_reader_begin(r, (const char *)data, len);
	if (r->dec.err)
		topic_in_drop(a->in, r->dec.err);
	else
		topic_in_take_from(a->in, &r->dec, len);
}

int foxglove_subscribe(void *bridge, const char *topic, const struct topic_options *w, struct topic_in **ret, char *why,
		       size_t why_size)
{
	struct sim_bridge *b = bridge;
	struct topic_in *in = &b->in[b->n_in++];

	*ret = in;
	return topic_in_open(&b->common, topic, w, in, why, why_size);
}
