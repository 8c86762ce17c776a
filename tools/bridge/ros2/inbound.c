/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topics that come in. The option "subscribe" is a JSON object, ROS topic to channel: {"/control/command/gear_cmd":
 * {"type":"autoware_vehicle_msgs/msg/GearCommand","channel":"gear"}}. Only channels that the rig lists may be written: the host checks that. A reader exists only while the channel has a subscriber, of which the host notifies us. Thread: the host's main thread; messages on Cyclone's receive thread, one at a time for each reader.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ros2.h"
#include "ros/ros_type.h"

struct taking {
	struct ros2_inbound *in;
	dds_entity_t reader;
};

/* Whether the publisher's type has the same name but another hash, so another definition: DDS compares only names. */
static bool is_other(struct ros2_inbound *in, const dds_builtintopic_endpoint_t *e)
{
	const struct ros_type *t = in->in.conversion.type;
	char hash[LEARN_HASH_MAX];

	ros2_qos_user_data(e->qos, "typehash=", hash, sizeof(hash));
	if (!*hash || strcmp(hash, t->hash) == 0)
		return false;
	log_warn(
		in->bridge,
		"%s: a publisher sends another definition of %s, which is not heard: it says %s, and the topic is read as %s",
		in->in.name, t->name, hash, t->hash);
	return true;
}

/* For a topic whose type came from its first publisher: whether this publisher has another definition. */
static bool says_other(const struct taking *t, dds_instance_handle_t writer)
{
	struct ros2_inbound *in = t->in;
	dds_builtintopic_endpoint_t *e;
	unsigned i;

	for (i = 0; i < ROS2_HEARD_MAX; i++)
		if (in->heard[i].writer == writer)
			return in->heard[i].other;
	e = dds_get_matched_publication_data(t->reader, writer);
	if (!e)
		return false;
	i = in->n_heard++ % ROS2_HEARD_MAX;
	in->heard[i].writer = writer;
	in->heard[i].other = is_other(in, e);
	dds_builtintopic_free_endpoint(e);
	return in->heard[i].other;
}

static void take_in(void *arg, const struct endpoint_sample *s)
{
	const struct taking *t = arg;
	struct ros2_inbound *in = t->in;
	struct sim_bridge *b = in->bridge;

	if (atomic_load(&b->status) != SIM_BRIDGE_CONNECTED)
		return; /* DDS continues while the bridge is disconnected, but nothing may come in */
	if (in->open && says_other(t, s->info->publication_handle))
		return;
	if (s->len)
		topic_in_take(&in->in, s->bytes, s->len);
	else
		topic_in_drop(&in->in, -EMSGSIZE);
}

static void on_data(dds_entity_t reader, void *arg)
{
	struct taking t = { .in = arg, .reader = reader };

	endpoint_take(reader, take_in, &t);
}

/* ---- the reader, while the channel has subscribers ---- */

static void on_refused(dds_entity_t reader, const dds_requested_incompatible_qos_status_t status, void *arg)
{
	struct ros2_inbound *in = arg;

	(void)reader;
	ros2_qos_refused(in->bridge, &in->refused, in->in.name, status.last_policy_id,
			 "a publisher offers less than options.subscribe asks for, and is not read");
}

static dds_entity_t create_reader(struct sim_bridge *b, struct ros2_inbound *in)
{
	char dds_name[256];
	struct endpoint e = { .name = dds_name,
			      .type = in->in.conversion.type,
			      .qos = ros2_qos_create(&in->qos, in->in.conversion.type->hash),
			      .listener = dds_create_listener(in),
			      .taken_max = topic_in_wire_max(&in->in),
			      .reads = true };
	dds_entity_t reader;

	dds_lset_data_available(e.listener, on_data);
	dds_lset_requested_incompatible_qos(e.listener, on_refused);
	snprintf(dds_name, sizeof(dds_name), "rt%s", in->in.name);
	reader = endpoint_create(b->participant, &e);
	in->topic = e.topic;
	return reader;
}

static void listen_begin(struct sim_bridge *b, struct ros2_inbound *in)
{
	dds_entity_t reader;

	if (in->reader > 0)
		return;
	reader = create_reader(b, in);
	if (reader < 0)
		log_error(b, "%s cannot be read: %s", in->in.name, dds_strretcode(reader));
	pthread_mutex_lock(&b->lock);
	in->reader = reader;
	ros2_graph_publish(b);
	pthread_mutex_unlock(&b->lock);
}

static void listen_end(struct sim_bridge *b, struct ros2_inbound *in)
{
	dds_entity_t reader = in->reader;

	pthread_mutex_lock(&b->lock);
	in->reader = 0;
	if (reader > 0)
		ros2_graph_publish(b); /* remove it from the graph first */
	pthread_mutex_unlock(&b->lock);
	if (reader > 0)
		dds_delete(reader); /* waits for a running callback */
	if (in->topic > 0)
		dds_delete(in->topic);
	in->topic = 0;
}

void ros2_inbound_listen(struct sim_bridge *b, const char *channel, int on)
{
	for (unsigned i = 0; i < b->n_inbound; i++) {
		struct ros2_inbound *in = &b->inbound[i];

		if (strcmp(in->in.channel, channel) != 0)
			continue;
		pthread_mutex_lock(&b->listening);
		in->wanted = on;
		if (!on)
			listen_end(b, in);
		else if (!atomic_load(&in->in.waits))
			listen_begin(b, in);
		pthread_mutex_unlock(&b->listening);
	}
}

void ros2_inbound_learnt(struct sim_bridge *b, struct ros2_inbound *in)
{
	topic_in_offer(&in->in);
	pthread_mutex_lock(&b->listening);
	/* another topic of the channel may have been offered before, so subscribers may exist already */
	if (in->wanted)
		listen_begin(b, in);
	pthread_mutex_unlock(&b->listening);
}

static int subscribe(void *bridge, const char *topic, const struct topic_options *w, struct topic_in **ret, char *why,
		     size_t why_size)
{
	/* as AWSIM asks and Autoware offers: the newest command only, even if it was sent before */
	static const struct ros2_qos deflt = { .reliable = true, .transient_local = true, .depth = 1 };
	struct sim_bridge *b = bridge;
	struct ros2_inbound *in = &b->inbound[b->n_inbound++];
	int r;

	*in = (struct ros2_inbound){ .bridge = b, .qos = ros2_qos_of(w, deflt) };
	*ret = &in->in;
	r = topic_in_open(&b->common, topic, w, &in->in, why, why_size);
	in->open = r == 0 && atomic_load(&in->in.waits);
	return r;
}

int ros2_inbound_open(struct sim_bridge *b)
{
	b->common.subscribe = subscribe;
	return topics_read_subscribe(&b->common);
}

void ros2_inbound_close(struct sim_bridge *b)
{
	for (unsigned i = 0; i < b->n_inbound; i++) {
		listen_end(b, &b->inbound[i]);
		topic_in_close(&b->inbound[i].in);
	}
	b->n_inbound = 0;
}
