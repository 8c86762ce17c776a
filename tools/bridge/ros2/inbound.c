/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topics that come in. The option "subscribe" is a JSON object, ROS topic to channel: {"/control/command/gear_cmd":
 * {"type":"autoware_vehicle_msgs/msg/GearCommand","channel":"gear"}}. Only channels that the rig lists may be written: the host
 * checks that, and notifies us when somebody listens; only then there is a reader. Thread: the host's main thread; messages on
 * Cyclone's receive thread, one at a time for a reader.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <sim/introspect.h>

#include "ros2.h"
#include "ros/ros_type.h"

#define BODY_MAX (64u * 1024) /* as the host takes them */

const char *ros2_reason(int r)
{
	switch (-r) {
	case EBADMSG:
		return "it is malformed";
	case ENOTSUP:
		return "it is not plain little-endian CDR";
	case EMSGSIZE:
		return "it is too large, or a text in it";
	case EDOM:
		return "it holds a NaN or an infinity";
	case ERANGE:
		return "a number in it is not one that the command has";
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

static void drop(struct ros2_inbound *in, int r)
{
	struct sim_bridge *b = in->bridge;
	uint64_t n = atomic_fetch_add(&in->dropped, 1) + 1;

	if ((n & (n - 1)) == 0) /* the first, then ever more rarely */
		log_warn(b, "%s: a message is dropped: %s (%llu so far)", in->channel, ros2_reason(r),
			 (unsigned long long)n);
}

static void take_in(void *arg, const struct endpoint_sample *s)
{
	struct ros2_inbound *in = arg;
	struct sim_bridge *b = in->bridge;
	size_t size = 0;
	int r;

	if (atomic_load(&b->status) != SIM_BRIDGE_CONNECTED)
		return; /* disconnected there is no far side, although DDS goes on */
	r = s->len ? conversion_in_read(&in->conversion, WIRE_CDR, s->bytes, s->len, in->body, BODY_MAX, &size)
		   : -EMSGSIZE;
	if (r == 0)
		r = b->host->publish(b->host->ctx, in->channel, in->conversion.sim, in->body, size);
	if (r < 0)
		drop(in, r);
}

static void on_data(dds_entity_t reader, void *arg)
{
	endpoint_take(reader, take_in, arg);
}

/* ---- a reader while somebody listens ---- */

static void on_refused(dds_entity_t reader, const dds_requested_incompatible_qos_status_t status, void *arg)
{
	struct ros2_inbound *in = arg;

	(void)reader;
	ros2_qos_refused(in->bridge, &in->refused, in->name, status.last_policy_id,
			 "a publisher offers less than options.subscribe asks for, and is not read");
}

static dds_entity_t create_reader(struct sim_bridge *b, struct ros2_inbound *in)
{
	char dds_name[256];
	struct endpoint e = { .name = dds_name,
			      .type = in->conversion.type,
			      .qos = ros2_qos_create(&in->qos, in->conversion.type->hash),
			      .listener = dds_create_listener(in),
			      .reads = true };
	dds_entity_t reader;

	dds_lset_data_available(e.listener, on_data);
	dds_lset_requested_incompatible_qos(e.listener, on_refused);
	snprintf(dds_name, sizeof(dds_name), "rt%s", in->name);
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
		log_error(b, "%s cannot be read: %s", in->name, dds_strretcode(reader));
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
		ros2_graph_publish(b); /* out of the graph first */
	pthread_mutex_unlock(&b->lock);
	if (reader > 0)
		dds_delete(reader); /* waits for a callback that runs */
	if (in->topic > 0)
		dds_delete(in->topic);
	in->topic = 0;
}

void ros2_inbound_listen(struct sim_bridge *b, const char *channel, int on)
{
	for (unsigned i = 0; i < b->n_inbound; i++) {
		if (strcmp(b->inbound[i].channel, channel) != 0)
			continue;
		if (on)
			listen_begin(b, &b->inbound[i]);
		else
			listen_end(b, &b->inbound[i]);
	}
}

/* Several topics may come into one channel: it is offered once. */
void ros2_inbound_offer(struct sim_bridge *b)
{
	for (unsigned i = 0; i < b->n_inbound; i++) {
		struct ros2_inbound *in = &b->inbound[i];
		int r = b->host->offer(b->host->ctx, in->channel, in->conversion.sim);

		if (r < 0 && r != -EALREADY)
			log_warn(b, "%s is not read: %s: %s", in->name, in->channel,
				 r == -EACCES ? "the rig does not list this channel under \"inbound\"" : strerror(-r));
	}
}

/* ---- what the rig asks for ---- */

/* The type that an earlier entry gives the channel; NULL: none does. */
static const struct sim_type *type_of(const struct sim_bridge *b, const char *channel)
{
	for (unsigned i = 0; i < b->n_inbound; i++)
		if (strcmp(b->inbound[i].channel, channel) == 0)
			return b->inbound[i].conversion.sim;
	return NULL;
}

static int check_entry(const char *topic, const struct topic_options *w, char *why, size_t size)
{
	if (!topic_name_ok(topic))
		topic_name_bad(topic, why, size);
	else if (!w->type || !w->channel)
		snprintf(why, size, "\"%s\" is missing", w->type ? "channel" : "type");
	else if (strlen(w->channel) > SIM_CHANNEL_MAX)
		snprintf(why, size, "\"channel\" has more than %d bytes", SIM_CHANNEL_MAX);
	else
		return 0;
	return -EINVAL;
}

static int add(struct sim_bridge *b, const char *topic, const struct topic_options *w, char *why, size_t size)
{
	/* as AWSIM asks and Autoware offers: the newest command only, also one that was sent before */
	static const struct ros2_qos deflt = { .reliable = true, .transient_local = true, .depth = 1 };
	struct ros2_inbound *in = &b->inbound[b->n_inbound];

	const struct sim_type *has = type_of(b, w->channel);
	int r;

	*in = (struct ros2_inbound){ .bridge = b, .qos = ros2_qos_of(w, deflt) };
	r = conversion_in_open(b->host, ros2_types, w->type, w->definition, &in->conversion, why, size);
	if (r < 0)
		return r == -ENOMEM ? r : -EINVAL;
	if (has && !sim_type_equal(has, in->conversion.sim)) {
		snprintf(why, size, "it gives %s, but channel \"%.60s\" is %s already", in->conversion.sim->name,
			 w->channel, has->name);
		conversion_in_close(&in->conversion);
		return -EINVAL;
	}
	snprintf(in->name, sizeof(in->name), "%s", topic);
	snprintf(in->channel, sizeof(in->channel), "%s", w->channel);
	in->body = aligned_alloc(64, BODY_MAX);
	if (!in->body)
		conversion_in_close(&in->conversion);
	b->n_inbound += in->body != NULL;
	return in->body ? 0 : -ENOMEM;
}

static int read_entry(struct sim_bridge *b, const char *topic, json_t *j)
{
	char why[512] = "";
	struct topic_options w;
	int r = topic_options_read(j, TOPIC_IN, &w, why, sizeof(why));

	if (r == 0)
		r = check_entry(topic, &w, why, sizeof(why));
	if (r == 0 && b->n_inbound == ROS2_INBOUND_MAX) {
		snprintf(why, sizeof(why), "more than %u topics", ROS2_INBOUND_MAX);
		r = -ENOSPC;
	}
	if (r == 0)
		r = add(b, topic, &w, why, sizeof(why));
	if (r < 0)
		log_error(b, "options.subscribe[\"%.80s\"]: %s", topic, why[0] ? why : strerror(-r));
	return r;
}

int ros2_inbound_open(struct sim_bridge *b)
{
	const char *text = b->host->option(b->host->ctx, "subscribe"), *topic;
	json_error_t err = { .text = "" };
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &err), *one;
	int r = json_is_object(j) ? 0 : -EINVAL;

	if (r < 0)
		log_error(b, "options.subscribe: not a JSON object: %s", err.text);
	json_object_foreach(j, topic, one)
		r = r < 0 ? r : read_entry(b, topic, one);
	json_decref(j);
	return r;
}

void ros2_inbound_close(struct sim_bridge *b)
{
	for (unsigned i = 0; i < b->n_inbound; i++) {
		listen_end(b, &b->inbound[i]);
		conversion_in_close(&b->inbound[i].conversion);
		free(b->inbound[i].body);
	}
	b->n_inbound = 0;
}
